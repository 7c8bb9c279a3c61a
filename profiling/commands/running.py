"""What `profile`, `measure` and `demo` share: loading a pair and its task, and opening a run folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specfrontier.decoding import Pair, PairFile
    from specfrontier.profiling.store import Store
    from specfrontier.profiling.tasks.base import Task, TaskProblem


@dataclass(frozen=True)
class Job:
    """A pair and a task, and where results go."""

    pair: Pair
    task: Task
    store: Store

    def problems(self, n: int | None, seed: int) -> list[TaskProblem]:
        """Problems of the task."""
        return self.task.problems(n, seed)


def open_job(
    name: str,
    file: PairFile,
    task: str,
    out: Path,
    *,
    data: Path | None = None,
    allow_code_execution: bool = False,
    device: str | None = None,
    seed: int = 0,
    settings: dict[str, Any] | None = None,
) -> Job:
    """Check the output folder and the task before the models are loaded, then note the session.

    Raises:
        InputError: if the folder cannot be written, or the task or the pair cannot be loaded.
    """
    from specfrontier.profiling.folders import writable_folder
    from specfrontier.profiling.tasks.registry import load_task

    writable_folder(out)
    found = load_task(task, data, allow_code_execution)

    from specfrontier.decoding import load_pair
    from specfrontier.profiling.provenance import provenance
    from specfrontier.profiling.store import Store

    pair = load_pair(name, device=device)
    store = Store(out)
    store.begin_session(provenance(file, seed=seed, settings={"task": task, **(settings or {})}))
    return Job(pair, found, store)


def write_measurements(store: Store) -> Any:
    """Measure what the store holds, write `measurements.parquet` beside it, and return the table."""
    from specfrontier.profiling.measure import measure
    from specfrontier.profiling.parquet import write_frame

    table = measure(store.tables())
    write_frame("measurements", table, store.folder / "measurements.parquet", {"sessions": store.sessions()})
    return table
