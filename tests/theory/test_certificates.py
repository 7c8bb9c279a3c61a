"""The chain of bounds from one token's KL to the accuracy of a task."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from specfrontier.theory import (
    Clip,
    Lenience,
    Linear,
    Lossless,
    SamplerMatch,
    accuracy_drop_bound,
    kl_divergence,
    kl_for_accuracy_drop,
    sequence_kl,
    token_kl,
    tv_bound,
    tv_distance,
    worst_case_sequence_kl,
)

from .strategies import law_pairs

few = settings(max_examples=60, deadline=None)


def text_laws(rng: np.random.Generator, size: int, length: int, rule: Clip) -> tuple[np.ndarray, ...]:
    """Laws of all texts under the verifier and under the rule, and each text's per-token KLs."""
    conditional = {
        prefix: rng.dirichlet(np.ones(size), 2)
        for n in range(length)
        for prefix in itertools.product(range(size), repeat=n)
    }
    verifier, relaxed, costs = [], [], []
    for text in itertools.product(range(size), repeat=length):
        rows = [conditional[text[:k]] for k in range(length)]
        verifier.append(math.prod(float(p[token]) for (p, _), token in zip(rows, text, strict=True)))
        laws = [rule.output_law(p, q) for p, q in rows]
        relaxed.append(math.prod(float(law[token]) for law, token in zip(laws, text, strict=True)))
        costs.append([float(token_kl(rule, p, q)) for p, q in rows])
    return np.array(verifier), np.array(relaxed), np.array(costs)


def test_kl_adds_along_the_text() -> None:
    """The chain rule, by enumerating every text: E[sum of per-token KL] = KL(text law || verifier's)."""
    rng = np.random.default_rng(0)
    for b in (1.3, 3.0):
        verifier, relaxed, costs = text_laws(rng, 3, 4, Clip(b))
        whole = kl_divergence(relaxed, verifier)
        np.testing.assert_allclose(relaxed @ sequence_kl(costs), whole, atol=1e-12)
        assert whole <= worst_case_sequence_kl(Clip(b), 4)
        assert tv_distance(relaxed, verifier) <= accuracy_drop_bound(whole)


@few
@given(pair=law_pairs())
def test_the_bound_covers_total_variation_either_way_round(pair: tuple) -> None:
    p, q = pair
    smaller = min(kl_divergence(p, q), kl_divergence(q, p))
    assert tv_distance(p, q) <= tv_bound(smaller) + 1e-7  # a root magnifies the rounding of a KL near 0


@few
@given(drop=st.floats(0, 1))
def test_the_budget_for_a_drop_certifies_exactly_that_drop(drop: float) -> None:
    np.testing.assert_allclose(accuracy_drop_bound(kl_for_accuracy_drop(drop)), drop, rtol=1e-9, atol=1e-12)


def test_pinsker_rules_small_budgets_and_the_other_bound_large_ones() -> None:
    assert tv_bound(0.02) == pytest.approx(0.1)
    assert tv_bound(8.0) == pytest.approx(math.sqrt(1 - math.exp(-8)))
    assert tv_bound(math.inf) == 1


@pytest.mark.parametrize(
    ("rule", "per_token"),
    [(Lossless(), 0.0), (SamplerMatch(), 0.0), (Clip(2.0), math.log(2)), (Lenience(0.5), math.log(2))],
    ids=str,
)
def test_the_worst_case_is_reached(rule: Clip, per_token: float) -> None:
    """q is p conditioned on half of p's mass: everything is kept, and every kept token is twice too likely."""
    assert rule.kl_bound == pytest.approx(per_token)
    p, q = np.full(4, 0.25), np.array([0.5, 0.5, 0.0, 0.0])
    assert token_kl(rule, p, q) == pytest.approx(per_token)
    assert worst_case_sequence_kl(rule, 7) == pytest.approx(7 * per_token)


def test_linear_leniency_has_no_certificate_where_p_is_empty() -> None:
    p, q = np.array([0.6, 0.4, 0.0]), np.array([0.3, 0.3, 0.4])
    assert token_kl(Linear(1e-3), p, q) == math.inf
    assert token_kl(Clip(1e3), p, q) < math.log(1e3)
    assert worst_case_sequence_kl(Linear(0.1), 3) == math.inf
    assert worst_case_sequence_kl(Linear(0.1), 0) == 0


def test_padding_does_not_count() -> None:
    costs = np.array([[0.1, 0.2, np.nan], [0.1, 0.2, 0.3]])
    np.testing.assert_allclose(sequence_kl(costs, emitted=[[1, 1, 0], [1, 1, 1]]), [0.3, 0.6])


@pytest.mark.parametrize("bad", [[-0.1], [np.nan]])
def test_what_is_no_kl_is_refused(bad: list) -> None:
    with pytest.raises(ValueError, match="KL divergence"):
        sequence_kl(bad)
    with pytest.raises(ValueError, match="kl must be"):
        tv_bound(bad)
    with pytest.raises(ValueError, match="drop must be"):
        kl_for_accuracy_drop(1.5)
    with pytest.raises(ValueError, match="drafted_tokens"):
        worst_case_sequence_kl(Clip(2.0), -1)
