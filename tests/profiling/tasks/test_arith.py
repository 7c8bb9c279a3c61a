"""The embedded task asks held-out problems and scores the exact final number."""

from __future__ import annotations

from pathlib import Path

import pytest

from specfrontier.errors import InputError
from specfrontier.profiling.tasks import Task, TaskOptions, load_task
from specfrontier.profiling.tasks.arith import final_answer
from specfrontier.profiling.tasks.arith_problems import problems, split_of


@pytest.fixture
def arith() -> Task:
    return load_task("arith")


def test_every_problem_is_held_out(arith: Task) -> None:
    assert {split_of(p.question) for p in arith.problems(300, seed=3)} == {"test"}


def test_generated_answers_are_right_and_a_changed_number_is_wrong(arith: Task) -> None:
    for ours, source in zip(arith.problems(100, seed=1), problems("test", 1), strict=False):
        assert arith.prompt(ours) == source.question
        assert arith.score(ours, source.answer)
        assert arith.score(ours, source.answer + "[EOS]")
        assert not arith.score(
            ours, source.answer.replace(f"Answer: {ours.reference}", f"Answer: {ours.reference + 1}")
        )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Answer: 34", 34),
        ("Answer: 34.", 34),
        ("So 3 + 4 = 7. Answer: 7[EOS]", 7),
        ("Answer: -3", -3),
        ("Answer: 3 Answer: 34", 34),
        ("Answer: 3 4", None),
        ("Answer: 34 + 1", None),
        ("Answer: 3.5", None),
        ("Answer: 3, 4", None),
        ("Answer:", None),
        ("34", None),
        ("", None),
    ],
)
def test_final_answer_is_the_whole_number_after_the_last_marker(text: str, number: int | None) -> None:
    assert final_answer(text) == number


def test_a_data_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="takes no data file"):
        load_task("arith", TaskOptions(tmp_path))
