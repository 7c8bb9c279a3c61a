"""GSM8K (Cobbe et al., 2021): grade-school word problems, scored by the final number."""

from __future__ import annotations

from dataclasses import dataclass

from specfrontier.profiling.tasks.answers import clean, equal, final_answer
from specfrontier.profiling.tasks.base import TaskProblem
from specfrontier.profiling.tasks.options import TaskOptions
from specfrontier.profiling.tasks.sources import Row, digest_identifier, hub_rows, local_rows, subset

COLUMNS = ("question", "answer")
USUAL_NUMBER = 500
"""The paper's random subset (Appendix F.1)."""


@dataclass(frozen=True)
class GSM8K:
    r"""The test set. A prompt is the question and nothing else.

    Whether an answer is asked for inside `\boxed{}` depends on the pair, not on the task (Appendix F.2: not for Dream,
    but for Gemma and Qwen3), so that instruction is the pair file's `prompt.instruction.gsm8k`.
    """

    rows: tuple[TaskProblem, ...]
    name: str = "gsm8k"

    def problems(self, n: int | None, seed: int = 0) -> list[TaskProblem]:
        """See `Task.problems`; None is 500, or all of a smaller file."""
        return subset(list(self.rows), min(USUAL_NUMBER, len(self.rows)) if n is None else n, seed, self.name)

    def prompt(self, problem: TaskProblem) -> str:
        """See `Task.prompt`."""
        return problem.question

    def score(self, problem: TaskProblem, text: str) -> bool:
        """Right if the final answer has the reference's value."""
        return equal(final_answer(text), problem.reference)


def build(options: TaskOptions) -> GSM8K:
    """The task from a file (or a folder with `gsm8k_test.jsonl`), or from the hub's `openai/gsm8k`."""
    if options.data is None:
        rows = hub_rows("openai/gsm8k", "main", "test", COLUMNS)
    else:
        rows = local_rows(options.data, "gsm8k_test.jsonl", COLUMNS)
    return GSM8K(tuple(_problem(row) for row in rows))


def _problem(row: Row) -> TaskProblem:
    reference = clean(row["answer"].rpartition("####")[2])
    return TaskProblem(digest_identifier("gsm8k", row["question"]), row["question"], reference)
