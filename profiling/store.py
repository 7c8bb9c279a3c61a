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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specfrontier.profiling import parts
from specfrontier.profiling.claims import Claims
from specfrontier.profiling.folders import writable_folder
from specfrontier.profiling.parquet import arrow_schema, arrow_writer, to_frame, write_text
from specfrontier.profiling.run_folder import (
    RUN_TABLES,
    Tables,
    arrow_tables,
    by_configuration,
    check_version,
    export,
    read_configuration,
    read_run,
    read_sessions,
)
from specfrontier.profiling.sessions import check_same_origin
from specfrontier.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from specfrontier.profiling.configuration import Configuration

__all__ = ["Store", "Tables", "export", "read_run"]


class Store:
    """The run folder at `folder`, created if it is not there.

    Args:
        folder: of the run; other files in it, such as figures of the run, stay as they are.

    Raises:
        InputError: if it cannot be written, or was made by a newer release.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = writable_folder(folder)
        check_version(folder)
        for name in ("configurations", "parts", "sessions", "claims"):
            (folder / name).mkdir(exist_ok=True)
        self.claims = Claims(folder / "claims")

    def begin_session(self, provenance: Mapping[str, Any]) -> None:
        """Note the provenance of a process that is about to add to the run.

        Raises:
            InputError: if the pair's earlier sessions had another file of it, or loaded it otherwise.
        """
        check_same_origin(self.folder, self.sessions(), provenance)
        count = len(list((self.folder / "sessions").iterdir()))
        name = f"{count:04d}-{os.uname().nodename}-{os.getpid()}.json"
        state = {"schema_version": SCHEMA_VERSION, **provenance}
        write_text(self.folder / "sessions" / name, json.dumps(state, indent=2) + "\n")

    def sessions(self) -> list[dict[str, Any]]:
        """Provenance of every process that worked on the run."""
        return read_sessions(self.folder)

    def declare(self, configurations: Sequence[Configuration]) -> None:
        """Add configurations to the run; those that it has keep their status."""
        for configuration in configurations:
            if not self._path(configuration.key).exists():
                self._write(configuration.key, {**configuration.row(), "status": "running", "error": None})

    def status(self, key: str) -> str:
        """`running`, `done` or `failed`."""
        return read_configuration(self._path(key))["status"]

    def error(self, key: str) -> str | None:
        """Why a configuration failed; None if it did not."""
        return read_configuration(self._path(key)).get("error")

    def mark_failed(self, key: str, error: str) -> None:
        """Record why a configuration cannot be measured; a sweep then skips it."""
        row = read_configuration(self._path(key))
        self._write(key, {**row, "status": "failed", "error": error})

    def mark_running(self, key: str) -> None:
        """Let a sweep try a configuration again."""
        row = read_configuration(self._path(key))
        self._write(key, {**row, "status": "running", "error": None})

    def mark_done(self, key: str) -> None:
        """Record that every problem asked for is finished."""
        row = read_configuration(self._path(key))
        if row["status"] != "failed":
            self._write(key, {**row, "status": "done"})

    def has(self, key: str, problem: str) -> bool:
        """Whether a problem is finished, perhaps by another process a moment ago."""
        return parts.is_finished(self._parts(key), problem)

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
        with ExitStack() as files:
            writers = {
                name: files.enter_context(arrow_writer(arrow_schema(name, provenance), self.folder / f"{name}.parquet"))
                for name in RUN_TABLES
            }
            for tables in by_configuration(self.folder):
                for name, data in tables.items():
                    writers[name].write_table(data.cast(writers[name].schema))

    def by_configuration(self) -> Iterator[Tables]:
        """Everything finished so far, a configuration at a time, so that memory holds one."""
        for tables in by_configuration(self.folder):
            yield Tables(**{name: to_frame(data, name) for name, data in tables.items()})

    def tables(self) -> Tables:
        """Everything finished so far."""
        return Tables(**{name: to_frame(data, name) for name, data in arrow_tables(self.folder).items()})

    def _parts(self, key: str) -> Path:
        return self.folder / "parts" / key

    def _path(self, key: str) -> Path:
        return self.folder / "configurations" / f"{key}.json"

    def _write(self, key: str, row: Mapping[str, Any]) -> None:
        write_text(self._path(key), json.dumps(dict(row), indent=2) + "\n")
