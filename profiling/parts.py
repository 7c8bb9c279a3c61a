"""Parts of a run: one Parquet file for each finished problem of a configuration, its rounds nested inside.

A problem and its rounds are one file, so that they appear on disk together or not at all. Parts of one configuration
can be merged into a batch of the same schema; a problem that is in two files (a crash between the merge and the
removal) counts once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from specfrontier.errors import InputError, first_line
from specfrontier.profiling.parquet import (
    RESTORE,
    arrow_field,
    arrow_schema,
    metadata,
    read_arrow,
    write_arrow,
)
from specfrontier.schema import PROBLEMS, ROUNDS, TABLES

TABLE = "part"
NESTED = "round_records"
BATCH = "batch-"
ROUND_COLUMNS = tuple(column for column in ROUNDS if column.name not in ("config", "problem"))
PART_SCHEMA = pa.schema(
    [
        *(arrow_field(column) for column in PROBLEMS),
        pa.field(NESTED, pa.list_(pa.struct([arrow_field(column) for column in ROUND_COLUMNS])), nullable=False),
    ],
    metadata(TABLE),
)


def digest(name: str) -> str:
    """A problem's identifier as a short file name."""
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def part_path(folder: Path, problem: str) -> Path:
    """Where the part of a problem lies in the folder of its configuration."""
    return folder / f"{digest(problem)}.parquet"


def write_part(folder: Path, problem: Mapping[str, Any], rounds: Sequence[Mapping[str, Any]]) -> None:
    """Store a finished problem."""
    folder.mkdir(parents=True, exist_ok=True)
    row = {**problem, NESTED: [dict(record) for record in rounds]}
    write_arrow(pa.Table.from_pylist([row], schema=PART_SCHEMA), part_path(folder, problem["problem"]))


def read_parts(folder: Path) -> pa.Table:
    """Every finished problem of the configuration whose folder this is, each once, in a stable order."""
    return _once(_read_all(folder))


def finished_problems(folder: Path) -> set[str]:
    """Digests of the finished problems of a configuration."""
    files = _files(folder)
    done = {path.stem for path in files if not path.name.startswith(BATCH)}
    if len(done) < len(files):
        tables = _read_all(folder, ["problem"])
        done |= {digest(name) for data in tables for name in data.column("problem").to_pylist()}
    return done


def is_finished(folder: Path, problem: str) -> bool:
    """Whether a problem of the configuration is finished."""
    return part_path(folder, problem).exists() or digest(problem) in finished_problems(folder)


def merge_parts(folder: Path) -> None:
    """Merge the parts of a configuration into one batch. Safe to interrupt, and beside other processes."""
    files = _files(folder)
    if len(files) < 2:
        return
    data = _once(_read_all(folder))
    names = data.column("problem").to_pylist()
    batch = folder / f"{BATCH}{digest(chr(10).join(names))}.parquet"
    write_arrow(data, batch)
    for path in files:
        if path != batch:
            path.unlink(missing_ok=True)  # a part that came after the listing is not in `files`


def split(parts: Iterable[pa.Table]) -> tuple[pa.Table, pa.Table]:
    """Parts as the problems table and the rounds table."""
    data = pa.concat_tables([PART_SCHEMA.empty_table(), *parts]).combine_chunks()
    problems = data.select([column.name for column in PROBLEMS]).cast(arrow_schema("problems"))
    return problems, _rounds(data)


def _rounds(data: pa.Table) -> pa.Table:
    nested = data.column(NESTED).combine_chunks()
    parent = pc.list_parent_indices(nested)
    records = pc.list_flatten(nested)
    keys = {name: data.column(name).take(parent) for name in ("config", "problem")}
    columns = {column.name: pc.struct_field(records, column.name) for column in ROUND_COLUMNS}
    values = {**keys, **columns}
    return pa.table([values[column.name] for column in TABLES["rounds"]], schema=arrow_schema("rounds"))


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.suffix == ".parquet")


def _read_all(folder: Path, columns: Sequence[str] | None = None) -> list[pa.Table]:
    """All files of a folder, listed again if another process merged some of them meanwhile."""
    while True:
        try:
            return [_read(path, columns) for path in _files(folder)]
        except InputError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise


def _read(path: Path, columns: Sequence[str] | None) -> pa.Table:
    """One file; whole, in the order and the types of the schema (an older file's added columns stand last)."""
    data = read_arrow(path, TABLE, columns)
    try:
        return data if columns is not None else data.select(PART_SCHEMA.names).cast(PART_SCHEMA)
    except (KeyError, pa.ArrowException) as error:
        raise InputError(f"{path} is corrupt ({first_line(error)}); {RESTORE}") from error


def _once(tables: list[pa.Table]) -> pa.Table:
    data = pa.concat_tables([PART_SCHEMA.empty_table(), *tables])
    data = data.sort_by("problem")
    names = data.column("problem").to_pylist()
    first = [i for i, name in enumerate(names) if i == 0 or name != names[i - 1]]
    return data.take(pa.array(first, pa.int64())) if len(first) < len(names) else data
