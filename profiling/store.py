"""A run folder: what a sweep has finished, safe against every kind of interruption, shared by any number of processes.

run/
  configurations/KEY.json     settings and status of one configuration
  parts/KEY/*.parquet         its finished problems with their rounds, the truth of the run
  sessions/*.json             provenance of every process that worked on it
  claims/                     who works on what
  configurations.parquet, problems.parquet, rounds.parquet
                              the tables of `specfrontier.schema`, written by `finish`, for any reader of Parquet
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from specfrontier.errors import InputError
from specfrontier.profiling import parts
from specfrontier.profiling.claims import Claims
from specfrontier.profiling.configuration import Configuration
from specfrontier.profiling.folders import writable_folder
from specfrontier.profiling.parquet import (
    metadata,
    read_frame,
    rows_to_arrow,
    to_frame,
    write_arrow,
    write_text,
)
from specfrontier.schema import SCHEMA_VERSION

Status = str
RUN_TABLES = ("configurations", "problems", "rounds")


@dataclass(frozen=True)
class Tables:
    """The three tables of a run."""

    configurations: pd.DataFrame
    problems: pd.DataFrame
    rounds: pd.DataFrame


class Store:
    """The run folder at `folder`, created if it is not there.

    Args:
        folder: of the run; a folder that holds something else is refused.

    Raises:
        InputError: if it cannot be written, or was made by a newer release.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = writable_folder(folder)
        _check_version(folder)
        for name in ("configurations", "parts", "sessions", "claims"):
            (folder / name).mkdir(exist_ok=True)
        self.claims = Claims(folder / "claims")

    def begin_session(self, provenance: Mapping[str, Any]) -> None:
        """Note the provenance of a process that is about to add to the run.

        Raises:
            InputError: if the run was made with other contents of a pair's file of this name: their results
                would be mixed under one key.
        """
        pair = json.loads(json.dumps(provenance["pair"]))
        for earlier in self.sessions():
            if earlier["pair"]["name"] == pair["name"] and earlier["pair"] != pair:
                raise InputError(
                    f"{self.folder} holds results of another version of the pair {pair['name']}; give a new folder"
                )
        count = len(list((self.folder / "sessions").iterdir()))
        name = f"{count:04d}-{os.uname().nodename}-{os.getpid()}.json"
        state = {"schema_version": SCHEMA_VERSION, **provenance}
        write_text(self.folder / "sessions" / name, json.dumps(state, indent=2) + "\n")

    def sessions(self) -> list[dict[str, Any]]:
        """Provenance of every process that worked on the run."""
        return _sessions(self.folder)

    def declare(self, configurations: Sequence[Configuration]) -> None:
        """Add configurations to the run; those that it has keep their status."""
        for configuration in configurations:
            if not self._path(configuration.key).exists():
                self._write(configuration.key, {**configuration.row(), "status": "running", "error": None})

    def status(self, key: str) -> Status:
        """`running`, `done` or `failed`."""
        return _read_configuration(self._path(key))["status"]

    def error(self, key: str) -> str | None:
        """Why a configuration failed; None if it did not."""
        return _read_configuration(self._path(key)).get("error")

    def mark_failed(self, key: str, error: str) -> None:
        """Record why a configuration cannot be measured; a sweep then skips it."""
        row = _read_configuration(self._path(key))
        self._write(key, {**row, "status": "failed", "error": error})

    def mark_running(self, key: str) -> None:
        """Let a sweep try a configuration again."""
        row = _read_configuration(self._path(key))
        self._write(key, {**row, "status": "running", "error": None})

    def mark_done(self, key: str) -> None:
        """Record that every problem asked for is finished."""
        row = _read_configuration(self._path(key))
        if row["status"] != "failed":
            self._write(key, {**row, "status": "done"})

    def has(self, key: str, problem: str) -> bool:
        """Whether a problem is finished, by the file of its own (see `finished` for merged ones)."""
        return parts.part_path(self._parts(key), problem).exists()

    def finished(self, key: str) -> set[str]:
        """Digests (`parts.digest`) of the finished problems of a configuration."""
        return parts.finished_problems(self._parts(key))

    def add(self, problem: Mapping[str, Any], rounds: Sequence[Mapping[str, Any]]) -> None:
        """Store a finished problem and its rounds, at once and atomically."""
        parts.write_part(self._parts(problem["config"]), problem, rounds)

    def finish(self) -> None:
        """Merge the parts and write the three tables for other readers."""
        for folder in sorted((self.folder / "parts").iterdir()):
            parts.merge_parts(folder)
        provenance = {"sessions": self.sessions()}
        for name, data in _arrow_tables(self.folder).items():
            data = data.replace_schema_metadata(metadata(name, provenance))
            write_arrow(data, self.folder / f"{name}.parquet")

    def tables(self) -> Tables:
        """Everything finished so far."""
        return Tables(**{name: to_frame(data, name) for name, data in _arrow_tables(self.folder).items()})

    def _parts(self, key: str) -> Path:
        return self.folder / "parts" / key

    def _path(self, key: str) -> Path:
        return self.folder / "configurations" / f"{key}.json"

    def _write(self, key: str, row: Mapping[str, Any]) -> None:
        write_text(self._path(key), json.dumps(dict(row), indent=2) + "\n")


def read_run(folder: Path) -> Tables:
    """The tables of a run, finished or still running, without writing anything.

    Raises:
        InputError: if there is no run at `folder`, or a file of it is corrupt or newer than this release.
    """
    if not folder.is_dir():
        raise InputError(f"no run at {folder}; make one with `specfrontier measure`")
    _check_version(folder)
    if (folder / "parts").is_dir():
        return Tables(**{name: to_frame(data, name) for name, data in _arrow_tables(folder).items()})
    return Tables(**{name: read_frame(folder / f"{name}.parquet", name) for name in RUN_TABLES})


def read_configurations(folder: Path) -> list[Configuration]:
    """The configurations of a run."""
    names = {field.name for field in fields(Configuration)}
    rows = (_read_configuration(path) for path in sorted((folder / "configurations").glob("*.json")))
    return [Configuration(**{name: row[name] for name in names}) for row in rows]


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


def run_provenance(folder: Path) -> dict[str, Any]:
    """Provenance of every process that worked on a run."""
    return {"sessions": _sessions(folder)}


def _arrow_tables(folder: Path) -> dict[str, pa.Table]:
    rows = [_read_configuration(path) for path in sorted((folder / "configurations").glob("*.json"))]
    problems, rounds = parts.split(parts.read_parts(folder / "parts" / row["config"]) for row in rows)
    return {"configurations": rows_to_arrow("configurations", rows), "problems": problems, "rounds": rounds}


def _read_configuration(path: Path) -> dict[str, Any]:
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        row["config"], row["status"]
        return row
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is corrupt ({error}); delete it and run again") from error


def _sessions(folder: Path) -> list[dict[str, Any]]:
    found = []
    for path in sorted((folder / "sessions").glob("*.json")):
        try:
            found.append(json.loads(path.read_text(encoding="utf-8")))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path} is corrupt ({error}); delete it and run again") from error
    return found


def _check_version(folder: Path) -> None:
    for session in _sessions(folder):
        if session.get("schema_version", 0) > SCHEMA_VERSION:
            raise InputError(
                f"{folder} has schema version {session['schema_version']}, this release reads up to {SCHEMA_VERSION}; "
                "upgrade specfrontier"
            )
