"""Tasks by name. A new task is one small class and one line here (or one call of `register_task`)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from specfrontier.errors import InputError
from specfrontier.profiling.tasks.base import Task
from specfrontier.profiling.tasks.options import TaskOptions

Builder = Callable[[TaskOptions], Task]

_BUILDERS: dict[str, Builder] = {}


def register_task(name: str, build: Builder) -> None:
    """Make a task known by `name`.

    Raises:
        InputError: if the name is taken.
    """
    if name in _BUILDERS:
        raise InputError(f"task {name!r} is already registered; choose another name")
    _BUILDERS[name] = build


def task_names() -> list[str]:
    """Names that `load_task` knows, sorted."""
    return sorted(_BUILDERS)


def load_task(name: str, options: TaskOptions = TaskOptions()) -> Task:  # noqa: B008  (frozen)
    """A task by name.

    Args:
        name: one of `task_names()`.
        options: where its problems come from, and what scoring may run.

    Raises:
        InputError: if there is no such task, its problems cannot be read, or code can't be isolated here.
    """
    if name not in _BUILDERS:
        raise InputError(f"unknown task {name!r}; choose one of {', '.join(task_names())}")
    return _BUILDERS[name](options)


def _shipped(module: str) -> Builder:
    """A builder that imports its module when it is first called, so that naming tasks costs nothing."""

    def build(options: TaskOptions) -> Task:
        found: Task = import_module(f"specfrontier.profiling.tasks.{module}").build(options)
        return found

    return build


for _name in ("arith", "gsm8k", "gpqa", "humaneval"):
    register_task(_name, _shipped(_name))
