"""Parquet files of the tables in `specfrontier.schema`: written atomically, read with one clear line on any fault."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from specfrontier.errors import InputError, first_line
from specfrontier.schema import PROBLEMS, SCHEMA_VERSION, TABLES, Column

VERSION_KEY = b"specfrontier.schema_version"
TABLE_KEY = b"specfrontier.table"
PROVENANCE_KEY = b"specfrontier.provenance"

RESTORE = "restore it, or delete it and run again"

ARROW_TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "list<float64>": pa.list_(pa.float64()),
    "list<int64>": pa.list_(pa.int64()),
}
PANDAS_TYPES = {"int64": pd.Int64Dtype(), "bool": pd.BooleanDtype()}


def arrow_field(column: Column) -> pa.Field:
    """The Arrow field of a column; its meaning travels as the field's metadata."""
    return pa.field(
        column.name,
        ARROW_TYPES[column.type],
        nullable=column.nullable,
        metadata={"meaning": column.meaning},
    )


def arrow_schema(table: str, provenance: Mapping[str, Any] | None = None) -> pa.Schema:
    """The Arrow schema of a table of `specfrontier.schema`, with version and provenance in its metadata."""
    return pa.schema([arrow_field(column) for column in TABLES[table]], metadata(table, provenance))


def metadata(table: str, provenance: Mapping[str, Any] | None = None) -> dict[bytes, bytes]:
    """What every file carries beside its columns."""
    return {
        VERSION_KEY: str(SCHEMA_VERSION).encode(),
        TABLE_KEY: table.encode(),
        PROVENANCE_KEY: json.dumps(provenance or {}, sort_keys=True).encode(),
    }


def rows_to_arrow(table: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as an Arrow table with the table's schema; a missing key is null."""
    try:
        data = pa.Table.from_pylist([dict(row) for row in rows], schema=arrow_schema(table))
    except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError, OverflowError) as error:
        raise InputError(f"the {table} table does not fit its schema: {first_line(error)}") from error
    _check_nulls(data, table)
    return data


def frame_to_arrow(table: str, frame: pd.DataFrame) -> pa.Table:
    """A DataFrame as an Arrow table: the columns of the schema, then whatever else it has.

    Raises:
        InputError: if a column is missing or holds what its type cannot.
    """
    missing = [column.name for column in TABLES[table] if column.name not in frame.columns]
    if missing:
        raise InputError(f"the {table} table lacks column {missing[0]!r}; it needs every column of the schema")
    try:
        data = pa.Table.from_pandas(frame, schema=arrow_schema(table), preserve_index=False, safe=True)
        for name in (name for name in frame.columns if name not in data.column_names):
            data = data.append_column(name, pa.array(frame[name]))
    except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError) as error:
        raise InputError(f"the {table} table does not fit its schema: {first_line(error)}") from error
    _check_nulls(data, table)
    return data


def write_arrow(data: pa.Table, path: Path) -> None:
    """Write atomically: after a crash at any moment `path` holds the old file, or the whole new one."""
    with atomic_path(path) as temporary:
        pq.write_table(data, temporary, compression="zstd", write_page_checksum=True)


@contextmanager
def arrow_writer(schema: pa.Schema, path: Path) -> Iterator[pq.ParquetWriter]:
    """As `write_arrow`, for a table that comes in pieces."""
    with (
        atomic_path(path) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd", write_page_checksum=True) as writer,
    ):
        yield writer


def write_frame(table: str, frame: pd.DataFrame, path: Path, provenance: Mapping[str, Any] | None = None) -> None:
    """Write a DataFrame as a table of the schema."""
    data = frame_to_arrow(table, frame)
    write_arrow(data.replace_schema_metadata(metadata(table, provenance)), path)


def read_arrow(path: Path, table: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a file that `write_arrow` wrote, or some columns of it.

    Raises:
        InputError: if it is missing, corrupt, newer than this release, or another table.
    """
    try:
        data = pq.ParquetFile(path, page_checksum_verification=True).read(None if columns is None else list(columns))
    except FileNotFoundError as error:
        raise InputError(f"no {table} table at {path}; give the folder of a run, or its file") from error
    except (pa.ArrowException, OSError, ValueError, OverflowError, KeyError) as error:
        raise InputError(f"{path} is corrupt ({first_line(error)}); {RESTORE}") from error
    _check_metadata(data.schema.metadata or {}, path, table)
    return data if columns is not None else _with_every_column(data, path, table)


def _with_every_column(data: pa.Table, path: Path, table: str) -> pa.Table:
    """The columns in their types; those that a file of an older version could not know yet hold missing values."""
    for column in TABLES.get(table, PROBLEMS):  # a part is a row of the problems table with its rounds inside
        kind = ARROW_TYPES[column.type]
        if column.name not in data.column_names:
            if not column.nullable:
                raise InputError(f"{path} is corrupt (it lacks the column {column.name!r}); {RESTORE}")
            data = data.append_column(arrow_field(column), pa.nulls(len(data), kind))
        elif data.schema.field(column.name).type != kind:
            raise InputError(
                f"{path} is corrupt (column {column.name!r} is {data.schema.field(column.name).type}, not {kind}); "
                f"{RESTORE}"
            )
    return data


def read_frame(path: Path, table: str) -> pd.DataFrame:
    """Read a table as a DataFrame; integers and booleans that may be absent keep their type."""
    return to_frame(read_arrow(path, table), table)


def to_frame(data: pa.Table, table: str) -> pd.DataFrame:
    """Arrow to pandas: nullable integers and booleans, lists as NumPy arrays."""
    frame = data.to_pandas()
    for column in TABLES[table]:
        if column.nullable and column.type in PANDAS_TYPES:
            frame[column.name] = data.column(column.name).to_pandas(
                types_mapper={pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}.get
            )
    return frame


def read_provenance(path: Path) -> dict[str, Any]:
    """The provenance that a file carries."""
    try:
        return json.loads((pq.read_schema(path).metadata or {}).get(PROVENANCE_KEY, b"{}"))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{path} is corrupt ({first_line(error)}); {RESTORE}") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


class atomic_path:  # noqa: N801  (a context manager, named as it reads)
    """A temporary name beside `path` that becomes `path`, on disk, if the block succeeds."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Path:
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.", suffix=".tmp")
        os.close(handle)
        self.temporary = Path(name)
        return self.temporary

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                _flush(self.temporary)
                self.temporary.chmod(0o666 & ~_umask())
                os.replace(self.temporary, self.path)
                _flush(self.path.parent)
        finally:
            self.temporary.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Wait until a file, or a folder's list of names, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _check_nulls(data: pa.Table, table: str) -> None:
    for column in TABLES[table]:
        if not column.nullable and data.column(column.name).null_count:
            raise InputError(f"column {column.name!r} of the {table} table has missing values; it may not")


def _check_metadata(stored: Mapping[bytes, bytes], path: Path, table: str) -> None:
    if VERSION_KEY not in stored or TABLE_KEY not in stored:
        raise InputError(f"{path} was not written by specfrontier (it states no schema version)")
    if not stored[VERSION_KEY].isdigit():
        raise InputError(f"{path} is corrupt (its schema version is {stored[VERSION_KEY]!r}); {RESTORE}")
    version, name = int(stored[VERSION_KEY]), stored[TABLE_KEY].decode(errors="replace")
    if version > SCHEMA_VERSION:
        raise InputError(
            f"{path} has schema version {version}, this release reads up to {SCHEMA_VERSION}; upgrade specfrontier"
        )
    if name != table:
        raise InputError(f"{path} holds the table {name}, not {table}")
