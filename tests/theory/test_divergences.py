"""Divergences against their definitions, and the inequalities between them."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from scipy.special import rel_entr

from specfrontier.theory import (
    DIVERGENCES,
    chi2_divergence,
    divergence_named,
    js_divergence,
    kl_divergence,
    reverse_kl_divergence,
    squared_hellinger,
    tv_distance,
)

from .strategies import law_pairs

GENERATORS = {
    "tv": lambda t: abs(t - 1) / 2,
    "kl": lambda t: t * math.log(t) if t else 0.0,
    "reverse_kl": lambda t: -math.log(t),
    "chi2": lambda t: (t - 1) ** 2,
    "hellinger": lambda t: (math.sqrt(t) - 1) ** 2 / 2,
}
every_divergence = pytest.mark.parametrize("name", DIVERGENCES)
few = settings(max_examples=30, deadline=None)


@every_divergence
def test_each_is_the_f_divergence_of_its_generator(name: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        target, p = rng.dirichlet(np.ones(6), 2)
        by_hand = sum(p[v] * GENERATORS[name](target[v] / p[v]) for v in range(6))
        np.testing.assert_allclose(DIVERGENCES[name](target, p), by_hand, atol=1e-12)


@every_divergence
@few
@given(pair=law_pairs())
def test_each_is_nonnegative_and_vanishes_between_equal_laws(name: str, pair: tuple) -> None:
    p, q = pair
    assert DIVERGENCES[name](p, q) >= 0
    assert DIVERGENCES[name](p, p) == 0


@every_divergence
@few
@given(pair=law_pairs())
def test_torch_gives_the_numbers_of_numpy(name: str, pair: tuple) -> None:
    p, q = pair
    theirs = DIVERGENCES[name](torch.tensor(p), torch.tensor(q))
    # chi^2 reaches 1e300, hence the relative part.
    np.testing.assert_allclose(theirs.numpy(), DIVERGENCES[name](p, q), rtol=1e-12, atol=1e-12)


@few
@given(pair=law_pairs())
def test_kl_is_scipys(pair: tuple) -> None:
    p, q = pair
    np.testing.assert_allclose(kl_divergence(p, q), rel_entr(p, q).sum(), rtol=1e-12, atol=1e-12)
    assert reverse_kl_divergence(p, q) == kl_divergence(q, p)


@few
@given(pair=law_pairs())
def test_the_classical_inequalities_hold(pair: tuple) -> None:
    """Pinsker; Hellinger on both sides of TV; KL <= log(1 + chi^2); JS between TV^2/2 and TV log 2."""
    p, q = pair
    tv, kl, hellinger = tv_distance(p, q), kl_divergence(p, q), squared_hellinger(p, q)
    slack = 1e-12
    assert tv <= np.sqrt(kl / 2) + 1e-7  # a square root magnifies the rounding of a KL near 0
    assert hellinger <= tv + slack
    assert tv <= np.sqrt(hellinger * (2 - hellinger)) + slack
    assert kl <= np.log1p(chi2_divergence(p, q)) + slack
    assert tv**2 / 2 - slack <= js_divergence(p, q) <= tv * np.log(2) + slack


def test_disjoint_laws_are_as_far_apart_as_can_be() -> None:
    p, q = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert tv_distance(p, q) == 1
    assert squared_hellinger(p, q) == 1
    assert kl_divergence(p, q) == reverse_kl_divergence(p, q) == chi2_divergence(p, q) == np.inf
    np.testing.assert_allclose(js_divergence(p, q), np.log(2))


def test_an_unknown_divergence_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="one of tv, kl, reverse_kl, chi2, hellinger, got 'renyi'"):
        divergence_named("renyi")
