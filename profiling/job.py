"""A pair and a task, loaded, and the run folder that their results go to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specfrontier.decoding import Pair, PairFile, load_pair
from specfrontier.profiling.folders import writable_folder
from specfrontier.profiling.provenance import provenance
from specfrontier.profiling.store import Store
from specfrontier.profiling.tasks.base import Task, TaskProblem
from specfrontier.profiling.tasks.registry import load_task


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
    writable_folder(out)
    found = load_task(task, data, allow_code_execution)
    pair = load_pair(name, device=device)
    store = Store(out)
    store.begin_session(provenance(file, seed=seed, settings={"task": task, **(settings or {})}))
    return Job(pair, found, store)
