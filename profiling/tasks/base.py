"""What a task is: problems, their prompts, and whether a text answers one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from specfrontier.errors import InputError


@dataclass(frozen=True)
class TaskProblem:
    """One problem of a task.

    Attributes:
        identifier: its name in every table and store; the same problem has the same one in every run.
        question: what is asked, before any formatting.
        reference: what the score compares with; its type is the task's own.
    """

    identifier: str
    question: str
    reference: Any


@runtime_checkable
class Task(Protocol):
    """A benchmark: where its problems come from, how they are asked, how an output is scored."""

    @property
    def name(self) -> str:
        """Its name in tables, stores and pair files."""
        ...

    def problems(self, n: int | None, seed: int = 0) -> list[TaskProblem]:
        """The first `n` problems of the order that `seed` gives.

        Subsets are nested: `problems(m, s)` begins with `problems(n, s)` for n <= m, so that a run can grow.

        Args:
            n: how many, >= 1; None is the task's usual number (500 for GSM8K, as in the paper; all of HumanEval).
            seed: of the order.

        Raises:
            InputError: if n is below 1 or above what there is.
        """
        ...

    def prompt(self, problem: TaskProblem) -> str:
        """The user's message. A pair's own instruction and chat template are put around it by `Pair.encode`."""
        ...

    def score(self, problem: TaskProblem, text: str) -> bool:
        """Whether a generated text (special tokens removed or not) answers the problem.

        Raises:
            InputError: if scoring needs what the user has not allowed, such as running generated code.
        """
        ...


def check_count(n: int, available: int | None, task: str) -> int:
    """`n`, if a task with `available` problems (None: no end) can give so many.

    Raises:
        InputError: if it cannot.
    """
    if n < 1:
        raise InputError(f"n is {n}; give an integer >= 1")
    if available is not None and n > available:
        raise InputError(f"n is {n}, but {task} has {available} problems here; give an integer in [1, {available}]")
    return n
