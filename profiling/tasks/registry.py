"""Tasks by name. A new task is one small class and one line here (or one call of `register_task`)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from specfrontier.errors import InputError
from specfrontier.profiling.tasks.base import Task

Builder = Callable[[Path | None, bool], Task]
"""From a data file (None: the task's public source) and whether generated code may be run, to a task."""

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


def load_task(name: str, data: Path | None = None, allow_code_execution: bool = False) -> Task:
    """A task by name.

    Args:
        name: one of `task_names()`.
        data: a local file of its problems; None is the task's public source.
        allow_code_execution: let scoring run generated programs (in a sandbox). Only HumanEval asks for it.

    Raises:
        InputError: if there is no such task, or its problems cannot be read.
    """
    if name not in _BUILDERS:
        raise InputError(f"unknown task {name!r}; choose one of {', '.join(task_names())}")
    return _BUILDERS[name](data, allow_code_execution)


def _shipped(module: str, function: str) -> Builder:
    """A builder that imports its module when it is first called, so that naming tasks costs nothing."""

    def build(data: Path | None, allow_code_execution: bool) -> Task:
        return getattr(import_module(f"specfrontier.profiling.tasks.{module}"), function)(data, allow_code_execution)

    return build


for _name, _module in (("arith", "arith"),):
    register_task(_name, _shipped(_module, "build"))
