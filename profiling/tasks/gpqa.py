"""GPQA Diamond (Rein et al., 2024): four-way multiple choice, scored by the letter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from specfrontier.profiling.tasks.base import TaskProblem
from specfrontier.profiling.tasks.options import TaskOptions
from specfrontier.profiling.tasks.sources import Row, digest_identifier, hub_rows, local_rows, subset

CORRECT = "Correct Answer"
WRONG = ("Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
COLUMNS = ("Question", CORRECT, *WRONG)
LETTERS = "ABCD"

_WRAP = r"[\s*({\[$]*(?:\\(?:text|mathrm|mathbf|textbf)\s*\{\s*\(?)?"
_NOUN = r"(?:(?:choice|option)\s*\(?)?"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\\(?:boxed|fbox)\s*\{{{_WRAP}(?i:{_NOUN})([A-D])(?![A-Za-z]|-\w)",
        rf"(?i:\banswer\s*(?:is|:)\s*:?{_WRAP}{_NOUN})([A-D])(?![A-Za-z']|-\w)",
        r"\(([A-D])\)",
        r"(?m:^[\s*]*([A-D])[\s*.):]*$)",
    )
)
"""From the most to the least explicit; within one, the last match counts."""


@dataclass(frozen=True)
class Choices:
    """A question's answers in the order shown, and the letter of the right one."""

    answers: tuple[str, ...]
    letter: str


@dataclass(frozen=True)
class GPQA:
    """The Diamond set. Choices are shuffled by the seed and the question, so that no letter is favoured."""

    rows: tuple[Row, ...]
    name: str = "gpqa"

    def problems(self, n: int | None, seed: int = 0) -> list[TaskProblem]:
        """See `Task.problems`; None is all (198)."""
        problems = [_problem(row, seed) for row in self.rows]
        return subset(problems, len(problems) if n is None else n, seed, self.name)

    def prompt(self, problem: TaskProblem) -> str:
        """The question, its choices, and what to answer with; see `Task.prompt`."""
        choices = "\n".join(f"({letter}) {a}" for letter, a in zip(LETTERS, problem.reference.answers, strict=True))
        return f"{problem.question}\n\n{choices}\n\nAnswer with the letter of the correct choice: (A), (B), (C) or (D)."

    def score(self, problem: TaskProblem, text: str) -> bool:
        """Right if the letter that the text settles on is the right one's."""
        return chosen_letter(text) == problem.reference.letter


def chosen_letter(text: str) -> str | None:
    r"""The letter that a text settles on; None if it names none.

    The last box counts, then the last "answer is", the last letter in parentheses, the last letter alone on a line.

    >>> chosen_letter(r"(A) is wrong. The correct answer is (C)."), chosen_letter(r"\boxed{\text{B}}")
    ('C', 'B')
    """
    for pattern in _PATTERNS:
        letters = pattern.findall(text)
        if letters:
            return str(letters[-1])
    return None


def build(options: TaskOptions) -> GPQA:
    """The task from a file (or a folder with `gpqa_diamond.csv`), or from the hub, where it is gated."""
    if options.data is None:
        rows = hub_rows("Idavidrein/gpqa", "gpqa_diamond", "train", COLUMNS)
    else:
        rows = local_rows(options.data, "gpqa_diamond.csv", COLUMNS)
    return GPQA(tuple(rows))


def _problem(row: Row, seed: int) -> TaskProblem:
    question, correct = row["Question"].strip(), row[CORRECT].strip()
    identifier = digest_identifier("gpqa", question)
    answers = [correct, *(row[column].strip() for column in WRONG)]
    order = list(range(len(answers)))
    Random(f"{identifier}-{seed}").shuffle(order)
    return TaskProblem(identifier, question, Choices(tuple(answers[i] for i in order), LETTERS[order.index(0)]))
