"""Cactus's root gamma against fifty-digit arithmetic, and Cactus's law against its definition."""

from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
import torch

from specfrontier.theory import (
    COIN_DIVERGENCES,
    DIVERGENCES,
    Cactus,
    boosted_probability,
    kl_divergence,
    taylor_probability,
)

PROBABILITIES = np.concatenate(
    [10.0 ** -np.arange(2, 301, 23), np.linspace(0.05, 0.95, 5), 1 - 10.0 ** -np.array([2, 7, 12, 16])]
)
BUDGETS = [0.0, 1e-12, 1e-6, 1e-3, 0.1, 0.7, 3.0, 12.0, 50.0]

EXACT_COST: dict[str, Callable[[mp.mpf, mp.mpf], mp.mpf]] = {
    "tv": lambda p, x: 1 - x - p,
    "kl": lambda p, x: (1 - x) * mp.log((1 - x) / p) + (x * mp.log(x / (1 - p)) if x else 0),
    "reverse_kl": lambda p, x: p * mp.log(p / (1 - x)) + ((1 - p) * mp.log((1 - p) / x) if x else mp.inf),
    "chi2": lambda p, x: (1 - x - p) ** 2 / (p * (1 - p)),
    "hellinger": lambda p, x: 1 - mp.sqrt(p * (1 - x)) - mp.sqrt((1 - p) * x),
}


def exact_gamma(name: str, p: float, delta: float) -> mp.mpf:
    """Bisection on log((gamma - p)/(1 - gamma)), which resolves both ends of (p, 1)."""
    with mp.workdps(45 if p > 1e-20 else 330):
        p, delta, cost = mp.mpf(p), mp.mpf(delta), EXACT_COST[name]
        if delta == 0:
            return p
        if cost(p, mp.mpf(0)) <= delta:
            return mp.mpf(1)
        low, high = mp.mpf(-900), mp.mpf(120)
        for _ in range(56):  # to 1e-14 of a log-odds
            middle = (low + high) / 2
            rest = (1 - p) / (1 + mp.exp(middle))
            low, high = (middle, high) if cost(p, rest) <= delta else (low, middle)
        return 1 - (1 - p) / (1 + mp.exp(low))


@pytest.mark.parametrize("name", COIN_DIVERGENCES)
def test_the_root_is_exact_over_the_whole_range(name: str) -> None:
    for delta in BUDGETS:
        gammas = boosted_probability(PROBABILITIES, delta, name)
        for p, gamma in zip(PROBABILITIES, gammas, strict=True):
            exact = exact_gamma(name, p, delta)
            assert abs(gamma - exact) <= 1e-10 * exact, (name, p, delta)


@pytest.mark.parametrize("delta", BUDGETS)
def test_kl_accepts_for_certain_once_the_budget_reaches_minus_log_p(delta: float) -> None:
    p = np.exp(-delta) * np.array([1 - 1e-6, 1 + 1e-6])
    below, above = boosted_probability(np.minimum(p, 1), delta)
    assert below < 1 or delta == 0
    assert above == 1 or delta == 0


@pytest.mark.parametrize("name", COIN_DIVERGENCES)
def test_the_ends_of_the_unit_interval_give_no_nan(name: str) -> None:
    for delta in BUDGETS:
        none, certain = boosted_probability(np.array([0.0, 1.0]), delta, name)
        assert certain == 1
        assert 0 <= none <= 1
        assert none == 0 or not DIVERGENCES[name].absolutely_continuous


@pytest.mark.parametrize("name", COIN_DIVERGENCES)
def test_gamma_grows_with_the_budget_and_with_p(name: str) -> None:
    grid = np.stack([boosted_probability(PROBABILITIES, delta, name) for delta in BUDGETS])
    assert np.all(np.diff(grid, axis=0) >= 0)
    assert np.all(grid >= PROBABILITIES)
    ordered = grid[:, np.argsort(PROBABILITIES)]
    assert np.all(np.diff(ordered, axis=1) >= -1e-15)


@pytest.mark.parametrize("name", COIN_DIVERGENCES)
def test_float32_is_accurate_to_float32(name: str) -> None:
    p = torch.tensor(PROBABILITIES[PROBABILITIES > 1e-37], dtype=torch.float32)
    for delta in BUDGETS[2:]:
        single = boosted_probability(p, delta, name)
        double = boosted_probability(p.double(), float(np.float32(delta)), name)
        np.testing.assert_allclose(single.numpy(), double.numpy(), rtol=2e-5)


def test_the_taylor_form_is_the_published_one() -> None:
    p = np.array([0.0, 1e-6, 0.2, 0.7, 1.0])
    np.testing.assert_allclose(taylor_probability(p, 0.3), np.minimum(p + np.sqrt(2 * 0.3 * p * (1 - p)), 1))
    near = boosted_probability(p[1:4], 1e-10)
    np.testing.assert_allclose(taylor_probability(p[1:4], 1e-10), near, rtol=5e-3)


def test_the_taylor_form_underspends_on_unlikely_tokens_and_overspends_on_likely_ones() -> None:
    """Appendix E's reason for the exact root."""
    assert taylor_probability(np.array(1e-6), 5.0) < 0.01 * boosted_probability(np.array(1e-6), 5.0)
    assert taylor_probability(np.array(0.8), 0.1) > boosted_probability(np.array(0.8), 0.1)


def test_no_taylor_form_for_total_variation() -> None:
    with pytest.raises(ValueError, match="kink"):
        taylor_probability(np.array(0.5), 0.1, "tv")


@pytest.mark.parametrize("name", COIN_DIVERGENCES)
def test_the_modified_target_spends_the_budget_and_no_more(name: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        p, delta, y = rng.dirichlet(np.ones(6)), 0.05, 2
        gamma = boosted_probability(p[y], delta, name)
        target = (1 - gamma) / (1 - p[y]) * p
        target[y] = gamma
        np.testing.assert_allclose(DIVERGENCES[name](target, p), delta, rtol=1e-9)


def test_delta_does_not_bound_the_law_of_the_emitted_token() -> None:
    """q uniform on a few tokens of a flat p: each p̃ costs at most delta, what is emitted costs log(V/n)."""
    vocabulary, kept, delta = 4096, 64, 0.2
    p = np.full(vocabulary, 1 / vocabulary)
    q = np.where(np.arange(vocabulary) < kept, 1 / kept, 0.0)
    rule = Cactus(delta)
    assert rule.acceptance_rate(p, q) == 1
    np.testing.assert_allclose(kl_divergence(rule.output_law(p, q), p), np.log(vocabulary / kept))


@pytest.mark.parametrize("spec", ["newton", "taylor"])
def test_the_output_law_needs_no_square_array(spec: str) -> None:
    """A vocabulary whose V x V array would need half a terabyte."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, 152_064)) * 3
    p, q = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    law = Cactus(0.5, solver=spec).output_law(p, q)
    assert np.all(law >= 0)
    np.testing.assert_allclose(law.sum(), 1, atol=1e-10)


def test_an_endless_budget_raises_all_that_p_allows_to_one() -> None:
    for raised in (boosted_probability, taylor_probability):
        assert raised(np.array([0.0, 1e-300, 0.5, 1.0]), np.inf).tolist() == [0, 1, 1, 1]


def test_bad_budgets_and_divergences_are_refused() -> None:
    with pytest.raises(ValueError, match="delta must be a divergence budget"):
        boosted_probability(np.array([0.1, 0.2]), np.array([0.1, 0.2]))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="delta must be a divergence budget >= 0, got -1"):
        boosted_probability(np.array(0.5), -1.0)
    with pytest.raises(ValueError, match="divergence must be one of tv, kl"):
        boosted_probability(np.array(0.5), 1.0, "renyi")
