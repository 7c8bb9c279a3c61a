"""The embedded task: held-out word problems, scored by the exact final answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from specfrontier.errors import InputError
from specfrontier.profiling.tasks import arith_problems
from specfrontier.profiling.tasks.base import TaskProblem, check_count
from specfrontier.profiling.tasks.options import TaskOptions

USUAL_NUMBER = 200
_NUMBER = re.compile(r"\s*(-?\d+)(?!\s*[-+*/=.,]?\s*\d)")


@dataclass(frozen=True)
class Arith:
    """Grade-school word problems of one to four steps, none of which any embedded model was trained on.

    The generator has no end, so any `n` is allowed; a seed names a stream, and identifiers count along it. A
    problem is asked as it is, without an instruction: that is how the embedded models were trained.
    """

    name: str = "arith"

    def problems(self, n: int | None, seed: int = 0) -> list[TaskProblem]:
        """See `Task.problems`."""
        count = check_count(USUAL_NUMBER if n is None else n, None, self.name)
        stream = islice(arith_problems.problems("test", seed), count)
        return [TaskProblem(f"{self.name}/{seed}/{i}", p.question, p.result) for i, p in enumerate(stream)]

    def prompt(self, problem: TaskProblem) -> str:
        """See `Task.prompt`."""
        return problem.question

    def score(self, problem: TaskProblem, text: str) -> bool:
        """Right if the number after the text's last marker is the result, exactly."""
        return final_answer(text) == problem.reference


def final_answer(text: str) -> int | None:
    """The whole number after the last `Answer:`; None if there is none, or if it is only the start of an expression.

    >>> final_answer("So she has 3 + 4 = 7. Answer: 7"), final_answer("Answer: 3 4"), final_answer("Answer: x")
    (7, None, None)
    """
    match = _NUMBER.match(text.rpartition(arith_problems.MARKER)[2]) if arith_problems.MARKER in text else None
    return None if match is None else int(match.group(1))


def build(options: TaskOptions) -> Arith:
    """The task, which generates its problems and runs no code."""
    if options.data is not None:
        raise InputError(
            f"task arith generates its problems and takes no data file (got {options.data}); leave --data out"
        )
    return Arith()
