"""Tasks by name. A new task is one small class and one line here (or one call of `register_task`)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from specfrontier.errors import InputError
from specfrontier.profiling.tasks.base import Task

Builder = Callable[[Path | None, bool, bool], Task]
"""From `data`, `allow_code_execution` and `allow_unisolated` (see `load_task`) to a task."""

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


def load_task(
    name: str, data: Path | None = None, allow_code_execution: bool = False, allow_unisolated: bool = False
) -> Task:
    """A task by name.

    Args:
        name: one of `task_names()`.
        data: a local file of its problems, or a folder with the public file; None is the task's public source.
        allow_code_execution: let scoring run generated programs, in a sandbox. Only HumanEval asks for it.
        allow_unisolated: run them even where nothing can isolate them. For throw-away machines.

    Raises:
        InputError: if there is no such task, its problems cannot be read, or code can't be isolated here.
    """
    if name not in _BUILDERS:
        raise InputError(f"unknown task {name!r}; choose one of {', '.join(task_names())}")
    if allow_unisolated and not allow_code_execution:
        raise InputError("unisolated programs were allowed, but no programs; give --allow-code-execution as well")
    return _BUILDERS[name](data, allow_code_execution, allow_unisolated)


def _shipped(module: str) -> Builder:
    """A builder that imports its module when it is first called, so that naming tasks costs nothing."""

    def build(data: Path | None, allow_code_execution: bool, allow_unisolated: bool) -> Task:
        build = import_module(f"specfrontier.profiling.tasks.{module}").build
        return build(data, allow_code_execution, allow_unisolated)

    return build


for _name in ("arith", "gsm8k", "gpqa", "humaneval"):
    register_task(_name, _shipped(_name))
