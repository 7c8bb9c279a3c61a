"""What a user says about a task: where its problems come from, and what scoring may run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from specfrontier.errors import InputError


@dataclass(frozen=True)
class TaskOptions:
    """Plain values, so that they can be sent to a worker.

    Attributes:
        data: a local file of the problems, or a folder with the public file; None is the task's public source.
        allow_code_execution: let scoring run generated programs, in a sandbox. Only HumanEval asks for it.
        allow_unisolated: run them even where nothing can isolate them. For throw-away machines.

    Raises:
        InputError: if programs may run unisolated, but may not run.
    """

    data: Path | None = None
    allow_code_execution: bool = False
    allow_unisolated: bool = False

    def __post_init__(self) -> None:
        if self.allow_unisolated and not self.allow_code_execution:
            raise InputError("unisolated programs were allowed, but no programs; give --allow-code-execution as well")
