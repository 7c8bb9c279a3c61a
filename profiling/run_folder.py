"""Reading a run folder (see `specfrontier.profiling.store` for its layout), finished or not, without torch."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from specfrontier.decoding.config_table import read_table
from specfrontier.errors import InputError
from specfrontier.profiling import parts
from specfrontier.profiling.folders import writable_folder
from specfrontier.profiling.parquet import arrow_schema, read_frame, rows_to_arrow, to_frame
from specfrontier.schema import SCHEMA_VERSION

REMEDY = "delete it and run again"
MOST_NAMED = 3
RUN_TABLES = ("configurations", "problems", "rounds")


@dataclass(frozen=True)
class Tables:
    """The three tables of a run."""

    configurations: pd.DataFrame
    problems: pd.DataFrame
    rounds: pd.DataFrame


def read_run(folder: Path) -> Tables:
    """The tables of a run, finished or still running, without writing anything.

    Raises:
        InputError: if there is no run at `folder`, or a file of it is corrupt or newer than this release.
    """
    if not folder.is_dir():
        raise InputError(f"no run at {folder}; make one with `specfrontier measure`")
    check_version(folder)
    if (folder / "parts").is_dir():
        return Tables(**{name: to_frame(data, name) for name, data in arrow_tables(folder).items()})
    return Tables(**{name: read_frame(folder / f"{name}.parquet", name) for name in RUN_TABLES})


def export(folder: Path, out: Path) -> list[Path]:
    """Write a run's tables as CSV into `out`; lists become JSON arrays. Returns the files."""
    tables = read_run(folder)
    out = writable_folder(out)
    written = []
    for name in RUN_TABLES:
        frame: pd.DataFrame = getattr(tables, name)
        for column in frame.columns:
            if frame[column].map(lambda value: hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1).any():
                frame[column] = frame[column].map(lambda v: None if v is None else json.dumps(v.tolist()))
        path = out / f"{name}.csv"
        frame.to_csv(path, index=False)
        written.append(path)
    return written


def by_configuration(folder: Path) -> Iterator[dict[str, pa.Table]]:
    """Everything finished in a run, the three tables of one configuration at a time, so that memory holds one.

    Raises:
        InputError: if a file is corrupt, or there are parts whose configuration's settings are gone.
    """
    held = [path.name for path in sorted((folder / "parts").iterdir()) if path.is_dir()]  # before their settings
    rows = [read_configuration(path) for path in sorted((folder / "configurations").glob("*.json"))]
    _check_settings(folder, held, {row["config"] for row in rows})
    for row in rows:
        problems, rounds = parts.split([parts.read_parts(folder / "parts" / row["config"])])
        yield {"configurations": rows_to_arrow("configurations", [row]), "problems": problems, "rounds": rounds}


def arrow_tables(folder: Path) -> dict[str, pa.Table]:
    """All of `by_configuration` together."""
    found = list(by_configuration(folder))
    return {
        name: pa.concat_tables([arrow_schema(name).empty_table(), *(tables[name] for tables in found)])
        for name in RUN_TABLES
    }


def _check_settings(folder: Path, held: Sequence[str], known: Collection[str]) -> None:
    lost = [f"parts/{key}" for key in held if key not in known]
    if lost:
        raise InputError(
            f"{folder / 'configurations'} lacks the settings of {', '.join(lost[:MOST_NAMED])}"
            f"{' and others' if len(lost) > MOST_NAMED else ''}; restore its files, or delete those folders too"
        )


def read_configuration(path: Path) -> dict[str, Any]:
    row = read_table(path, REMEDY)
    for name in ("config", "status"):
        row.text(name)
    return dict(row)


def read_sessions(folder: Path) -> list[dict[str, Any]]:
    """What each process that worked on a run said of itself.

    Raises:
        InputError: if a file is corrupt, or newer than this release.
    """
    return [_read_session(path) for path in sorted((folder / "sessions").glob("*.json"))]


def _read_session(path: Path) -> dict[str, Any]:
    session = read_table(path, REMEDY)
    version = session.integer("schema_version", 0, low=0)
    if version > SCHEMA_VERSION:
        raise InputError(
            f"{path} has schema version {version}, this release reads up to {SCHEMA_VERSION}; upgrade specfrontier"
        )
    session.table("pair").text("name")
    return dict(session)


def check_version(folder: Path) -> None:
    """Raise InputError if a newer release worked on a run."""
    read_sessions(folder)
