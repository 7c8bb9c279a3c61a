"""A generator of grade-school word problems with freely worded chains of thought.

A problem is a story of one to four arithmetic steps on a running total; its answer restates every step in one of
many wordings and ends with `Answer: N`. Wording is where leniency is harmless, digits are where it is not, so both
sides of the speed-quality frontier occur in one small task. Splits are disjoint: a question belongs to the held-out
set or to the training set by a hash of its text.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

Split = Literal["train", "test"]
MARKER = "Answer:"
LARGEST = 60
HELD_OUT_ONE_IN = 8

SHE = ("Anna", "Mia", "Lucy", "Emma", "Nora", "Ruth")
HE = ("Tom", "Ben", "Sam", "Leo", "Max", "Paul")
OBJECTS = ("apples", "books", "coins", "cards", "stamps", "shells", "pens", "marbles", "cookies", "stickers")
BAGS = ("bags", "boxes", "jars", "packs")

FIRST = ("First", "At first", "To begin", "Well")
LATER = ("Then", "Next", "Now", "So", "After that", "Later")
LAST = ("Finally", "In the end", "Then", "So", "Last")
SUBJECT_VERB = (
    ("{he}", "has"), ("{he}", "gets"), ("{he}", "holds"), ("we", "get"), ("we", "have"), ("we", "find"),
    ("that", "makes"), ("that", "gives"), ("this", "gives"), ("this", "means"), ("there", "are"), ("it", "becomes"),
)  # fmt: skip
TAILS = ("", "", " {things}", " now", " in total", " {things} now", " altogether")
LOOSE_WORDING = 0.15


@dataclass(frozen=True)
class Problem:
    """A question, a worked answer (one wording of many) and the number that is right."""

    question: str
    answer: str
    result: int
    steps: int


@dataclass(frozen=True)
class _Step:
    """One arithmetic step: the sentence that poses it, and `left operator right = result`."""

    sentence: str
    left: int
    operator: str
    right: int
    result: int


def _gain(rng: Random, total: int) -> _Step | None:
    more = rng.randint(2, 9)
    text = rng.choice(("{He} buys {n} more.", "{He} finds {n} more.", "{friend} gives {him} {n} more.",
                       "{He} wins {n} more.", "Then {he} gets {n} more."))  # fmt: skip
    return _Step(text.replace("{n}", str(more)), total, "+", more, total + more)


def _lose(rng: Random, total: int) -> _Step | None:
    less = rng.randint(2, 9)
    text = rng.choice(("{He} loses {n} of them.", "{He} gives {n} to {friend}.", "{He} sells {n} of them.",
                       "{friend} takes {n} away.", "Then {he} drops {n}."))  # fmt: skip
    return _Step(text.replace("{n}", str(less)), total, "-", less, total - less)


def _times(rng: Random, total: int) -> _Step | None:
    factor = rng.choice((2, 3))
    verb = {2: "doubles", 3: "triples"}[factor]
    text = rng.choice(("Then {he} {verb} them.", "{He} {verb} the number.", "The number then {verb}."))
    return _Step(text.replace("{verb}", verb), total, "*", factor, total * factor)


def _half(rng: Random, total: int) -> _Step | None:
    if total % 2:
        return None
    text = rng.choice(("{He} gives half to {friend}.", "{He} loses half of them.", "Then {he} keeps only half."))
    return _Step(text, total, "/", 2, total // 2)


_STEPS: tuple[Callable[[Random, int], _Step | None], ...] = (_gain, _gain, _lose, _lose, _times, _half)


def _next_step(rng: Random, total: int) -> _Step:
    while True:
        step = rng.choice(_STEPS)(rng, total)
        if step is not None and 1 <= step.result <= LARGEST:
            return step


def _opening(rng: Random) -> tuple[str, _Step | None, int]:
    """The first sentence, the step that it poses (bags of things) or none, and the total after it."""
    if rng.random() < 0.35:
        bags, each = rng.randint(2, 7), rng.randint(2, 8)
        text = rng.choice(
            (
                "{Name} has {b} {bags} with {e} {things} each.",
                "{Name} fills {b} {bags} with {e} {things} each.",
            )
        )
        text = text.replace("{b}", str(bags)).replace("{e}", str(each)).replace("{bags}", rng.choice(BAGS))
        return text, _Step("", bags, "*", each, bags * each), bags * each
    total = rng.randint(3, 40)
    text = rng.choice(("{Name} has {n} {things}.", "{Name} starts with {n} {things}.", "{Name} owns {n} {things}."))
    return text.replace("{n}", str(total)), None, total


def _explain(rng: Random, step: _Step, position: int, steps: int) -> str:
    """One sentence of the answer, in one of many wordings."""
    opener = FIRST if position == 0 else LAST if position == steps - 1 else LATER
    subject, verb = rng.choice(SUBJECT_VERB)
    if rng.random() < LOOSE_WORDING:
        verb = rng.choice(SUBJECT_VERB)[1]
    sum_ = f"{step.left} {step.operator} {step.right} = {step.result}"
    return f"{rng.choice(opener)} {subject} {verb} {sum_}{rng.choice(TAILS)}."


def generate_problem(rng: Random) -> Problem:
    """Draw one problem; every choice comes from `rng`."""
    steps = rng.randint(1, 4)
    female = rng.random() < 0.5
    name, friend = rng.choice(SHE if female else HE), rng.choice(HE if female else SHE)
    he, him = ("she", "her") if female else ("he", "him")
    words = {"{Name}": name, "{friend}": friend, "{he}": he, "{He}": he.capitalize(), "{him}": him,
             "{things}": rng.choice(OBJECTS)}  # fmt: skip

    opening, first, total = _opening(rng)
    chain = [] if first is None else [first]
    while len(chain) < steps:
        chain.append(_next_step(rng, total))
        total = chain[-1].result

    question = rng.choice(("How many {things} does {Name} have now?", "How many {things} are left with {Name}?",
                           "What is the number of {things} now?"))  # fmt: skip
    story = " ".join([opening, *(step.sentence for step in chain if step.sentence), question])
    answer = " ".join(_explain(rng, step, i, len(chain)) for i, step in enumerate(chain))
    for slot, word in words.items():
        story, answer = story.replace(slot, word), answer.replace(slot, word)
    return Problem(story, f"{answer} {MARKER} {total}", total, len(chain))


def split_of(question: str) -> Split:
    """Which split a question belongs to: a fixed hash of its text, so that the two can never overlap."""
    return "test" if zlib.crc32(question.encode()) % HELD_OUT_ONE_IN == 0 else "train"


def problems(split: Split, seed: int) -> Iterator[Problem]:
    """An endless stream of distinct-by-split problems; the same seed gives the same stream."""
    rng = Random(f"arith-{split}-{seed}")
    while True:
        problem = generate_problem(rng)
        if split_of(problem.question) == split:
            yield problem


def vocabulary_words() -> list[str]:
    """Every word and sign that a question or an answer can hold, digits apart, sorted."""
    texts: set[str] = set()
    rng = Random("arith-vocabulary")
    for _ in range(20_000):
        problem = generate_problem(rng)
        texts.update(
            f"{problem.question} {problem.answer}".replace(".", " . ").replace("?", " ? ").replace(":", " : ").split()
        )
    return sorted(word for word in texts if not word.isdigit())
