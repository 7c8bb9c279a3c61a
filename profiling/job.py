"""A pair and a task, loaded, and the run folder that their results go to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from specfrontier.decoding import Pair, PairFile
from specfrontier.profiling.folders import writable_folder
from specfrontier.profiling.load_options import LoadOptions
from specfrontier.profiling.provenance import provenance
from specfrontier.profiling.store import Store
from specfrontier.profiling.tasks.base import Task, TaskProblem
from specfrontier.profiling.tasks.options import TaskOptions
from specfrontier.profiling.tasks.registry import load_task


@dataclass(frozen=True)
class Job:
    """A pair, problems of a task, and where results go."""

    pair: Pair
    task: Task
    problems: list[TaskProblem]
    store: Store


def open_job(
    name: str,
    task: str,
    out: Path,
    *,
    n: int | None = None,
    source: TaskOptions = TaskOptions(),  # noqa: B008  (frozen)
    load: LoadOptions = LoadOptions(),  # noqa: B008  (frozen)
    seed: int = 0,
    settings: dict[str, Any] | None = None,
) -> Job:
    """Check task, problems and output folder, then load the models and note the session.

    Args:
        name: of the pair, or its file's path.
        task: name of the task.
        out: run folder.
        n: number of problems; None is the task's usual number.
        source: where its problems come from, and what scoring may run.
        load: how the models are loaded.
        seed: of the order of the problems.
        settings: what the user asked for, for the provenance.

    Raises:
        InputError: if the folder cannot be written, or the task or the pair cannot be loaded.
    """
    found = load_task(task, source)
    problems = found.problems(n, seed)
    writable_folder(out)
    pair = load.load(name)
    stated = {"task": task, "n": len(problems), "load": asdict(load), **(settings or {})}
    store = open_store(pair.file, out, seed=seed, settings=stated)
    return Job(pair, found, problems, store)


def open_store(file: PairFile, out: Path, *, seed: int, settings: Mapping[str, Any]) -> Store:
    """Open a run folder and note who is about to add to it."""
    store = Store(out)
    store.begin_session(provenance(file, seed=seed, settings=settings))
    return store
