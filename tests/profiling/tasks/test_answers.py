"""Final answers are read from text as a person would read them."""

from __future__ import annotations

import threading

import pytest

from specfrontier.profiling.tasks.answers import equal, final_answer

RIGHT = [
    ("The total is $200,000.", "200000"),
    ("The total is $200,000", "200000"),
    (r"\boxed{\$200,000}", "200000"),
    (r"\boxed{200{,}000}", "200000"),
    ("$\\boxed{1,450,000}$", "1450000"),
    ("He has 18 dollars.", "18"),
    (r"\boxed{18 dollars}", "18"),
    (r"\boxed{18\text{ dollars}}", "18"),
    (r"\boxed{\text{18 dollars}}", "18"),
    (r"\boxed{18\,\text{km/h}}", "18"),
    (r"\boxed{18 m^2}", "18"),
    ("The change is -5.", "-5"),
    ("The change is −5 degrees", "-5"),
    (r"\boxed{-\$5}", "-5"),
    (r"\boxed{$-5$}", "-5"),
    ("It lost money: -$5", "-5"),
    (r"First \boxed{18}, no, \boxed{20}.", "20"),
    (r"Steps: \boxed{3}, \boxed{6}. The answer is 9? No: \boxed{6}", "6"),
    (r"\boxed{18.}", "18"),
    (r"\boxed{18}, as asked for inside \boxed{}.", "18"),
    (r"It goes inside \boxed{ }. He has 18 dollars.", "18"),
    ("18.", "18"),
    ("The answer is 18.00.", "18"),
    ("**18**", "18"),
    ("**Answer:** 18 apples for 3 days", "18"),
    ("The answer is $18 for the 3 days.", "18"),
    ("Work...\n#### 18", "18"),
    (r"\boxed{\frac{1}{2}}", "0.5"),
    (r"\boxed{\dfrac{1}{2}}", "1/2"),
    (r"\boxed{1/2}", "0.5"),
    ("half, that is 0.5", "1/2"),
    (r"\boxed{50\%}", "50"),
    ("She keeps 50%", "50"),
    (r"\boxed{x = 18}", "18"),
    (r"\boxed{2 \times 9 = 18}", "18"),
    (r"\boxed{2 \times 9}", "18"),
    (r"\boxed{10^3}", "1000"),
    ("She makes 9 * 2 = $18 every day.", "18"),
    ("16-3-4=9", "9"),
    ("10-5", "5"),
    (r"\boxed{18}<|im_end|>", "18"),
]
WRONG = [
    ("", "18"),
    ("I don't know.", "18"),
    (r"\boxed{}", "18"),
    (r"The sum is 18, so \boxed{18", "18"),  # cut by the token limit: it might have gone on
    (r"\boxed{\text{eighteen}}", "18"),
    ("He has 18 dollars.", "-18"),
    ("-5", "5"),
    (r"\boxed{18, 20}", "18"),
    (r"\boxed{3 \text{ and } 18}", "18"),
    (r"\boxed{18:00}", "18"),
    ("200,000", "200"),
    ("200,000", "0"),
    ("1.8", "18"),
    (r"\boxed{18} or \boxed{19}", "18"),
    ("The answer is 18. Wait, the answer is 19.", "18"),
    (r"\boxed{9^{9^{9^9}}}", "9"),
    (r"\boxed{9^{999999999}}", "9"),
    (r"\boxed{" + "9" * 5000 + "}", "9"),
    (r"\boxed{99999!}", "9"),
    (r"\boxed{\undefined{}}}", "9"),
]


@pytest.mark.parametrize(("text", "reference"), RIGHT)
def test_answers_with_the_reference_s_value_are_right(text: str, reference: str) -> None:
    assert equal(final_answer(text), reference), final_answer(text)


@pytest.mark.parametrize(("text", "reference"), WRONG)
def test_other_answers_and_none_are_wrong(text: str, reference: str) -> None:
    assert not equal(final_answer(text), reference), final_answer(text)


def test_scoring_works_in_a_thread() -> None:
    """Timeouts by signals, which math-verify uses unless told not to, fail outside the main thread."""
    results: list[bool] = []
    thread = threading.Thread(target=lambda: results.append(equal(final_answer(r"\boxed{\frac{36}{2}}"), "18")))
    thread.start()
    thread.join()
    assert results == [True]
