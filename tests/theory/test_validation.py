"""Bad input is refused where it enters, naming the argument."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given

from specfrontier.theory import (
    Linear,
    Lossless,
    check_law,
    clip_for_budget,
    clip_target,
    lam_for_budget,
    optimal_acceptance,
    optimal_target,
    tv_distance,
)

from .strategies import law

UNIFORM = np.full(4, 0.25)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([0.5, np.nan, 0.25, 0.25], "NaN"),
        ([0.5, np.inf, 0.25, 0.25], "infinite"),
        ([0.75, -0.25, 0.25, 0.25], "negative"),
        ([0.3, 0.3, 0.3, 0.3], "sum to 1"),
        ([0.0, 0.0, 0.0, 0.0], "sum to 1"),
        (0.25, r"shape \[..., V\]"),
        (np.empty((2, 0)), r"shape \[..., V\]"),
        ([0.5, 0.5], "one vocabulary"),
        (["a", "b", "c", "d"], "array of probabilities"),
        ([[0.5, 0.5], [1.0]], "array of probabilities"),
    ],
)
@pytest.mark.parametrize("name", ["p", "q"])
def test_a_row_that_is_no_law_is_named(bad: object, message: str, name: str) -> None:
    rows = {"p": UNIFORM, "q": UNIFORM} | {name: bad}
    with pytest.raises(ValueError, match=rf"\b{name}\b.*{message}|{message}.*\b{name}\b"):
        Lossless().output_law(**rows)
    with pytest.raises(ValueError, match=message):
        tv_distance(**rows)


def test_leading_axes_that_do_not_broadcast_are_named() -> None:
    with pytest.raises(ValueError, match="p and q do not broadcast"):
        Lossless().acceptance(np.tile(UNIFORM, (2, 1)), np.tile(UNIFORM, (3, 1)))
    with pytest.raises(ValueError, match="y and the rows of p and q do not broadcast"):
        Lossless().residual(np.tile(UNIFORM, (2, 1)), UNIFORM, np.array([0, 1, 2]))


@pytest.mark.parametrize("y", [-1, 4, 1.5])
def test_a_token_outside_the_vocabulary_is_refused(y: float) -> None:
    with pytest.raises(ValueError, match="y must hold"):
        Lossless().residual(UNIFORM, UNIFORM, y)


@pytest.mark.parametrize("of", [torch.tensor, np.asarray], ids=["torch", "numpy"])
@pytest.mark.parametrize("wrong", [np.full(3, 1.0), "much"], ids=["shape", "text"])
def test_a_budget_that_does_not_fit_the_rows_is_named(of: Callable, wrong: object) -> None:
    rows = of(np.tile(UNIFORM, (2, 1)))
    for call in (lam_for_budget, optimal_target, optimal_acceptance, clip_for_budget):
        with pytest.raises(ValueError, match="epsilon"):
            call(rows, rows, wrong)
    with pytest.raises(ValueError, match=r"\bb\b"):
        clip_target(rows, rows, wrong)


def test_two_array_libraries_do_not_mix() -> None:
    with pytest.raises(ValueError, match="one array library"):
        Lossless().acceptance(UNIFORM, torch.tensor(UNIFORM))


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, np.nan])
def test_a_budget_outside_its_range_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        lam_for_budget(UNIFORM, UNIFORM, epsilon)


def test_float32_softmax_rows_over_a_large_vocabulary_pass() -> None:
    logits = torch.randn(3, 152_064, generator=torch.Generator().manual_seed(0)) * 4
    rows = torch.softmax(logits, dim=-1)
    assert torch.equal(check_law(rows, "p"), rows)


def test_lists_and_integers_become_floats() -> None:
    assert Linear(0.5).output_law([1, 0], [0, 1]).tolist() == [0.5, 0.5]
    one_hot = torch.tensor([1, 0])
    assert Linear(0.5).output_law(one_hot, one_hot).dtype == torch.float32


@given(p=law())
def test_every_law_passes(p: np.ndarray) -> None:
    assert check_law(p, "p") is p
