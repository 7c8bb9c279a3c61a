"""The universal clip: optimal for every f-divergence at once, against a general convex solver."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog, minimize

from specfrontier.theory import (
    DIVERGENCES,
    Clip,
    Lossless,
    clip_floor,
    clip_for_budget,
    clip_target,
    kl_divergence,
    lam_for_budget,
    optimal_acceptance,
    optimal_target,
    tv_distance,
)

from .strategies import law_pairs

few = settings(max_examples=25, deadline=None)
ceilings = st.floats(1, 1e6)
every_divergence = pytest.mark.parametrize("name", DIVERGENCES)

#: Derivative of the generator f at t, for the solver.
SLOPES = {
    "kl": lambda t: np.log(t) + 1,
    "reverse_kl": lambda t: -1 / t,
    "chi2": lambda t: 2 * (t - 1),
    "hellinger": lambda t: (1 - 1 / np.sqrt(t)) / 2,
}


def least_divergence_by_solver(p: np.ndarray, q: np.ndarray, acceptance: float, name: str) -> float:
    """min D_f(p̃ || p) over laws p̃ = accepted + other with accepted <= q and sum accepted = acceptance.

    Minimising the divergence at given acceptance is Equation 4 read the other way, and smooth. Of the sum only
    the part below q is accepted, so any split of p̃ is a lower bound on its acceptance.
    """
    size = p.size
    measure, slope = DIVERGENCES[name], SLOPES[name]

    def target(x: np.ndarray) -> np.ndarray:
        # The optimum never falls below a p; without a floor, SLSQP strays to where the slope is 1e12.
        return np.maximum(x[:size] + x[size:], 1e-2 * p)

    start = np.concatenate([q * acceptance, p * (1 - acceptance)])
    solved = minimize(
        lambda x: float(measure(target(x), p, validate=False)),
        start,
        jac=lambda x: np.tile(slope(target(x) / p), 2),
        method="SLSQP",
        bounds=[(0, mass) for mass in q] + [(0, 1)] * size,
        constraints=[
            {"type": "eq", "fun": lambda x: x[:size].sum() - acceptance},
            {"type": "eq", "fun": lambda x: x[size:].sum() - (1 - acceptance)},
        ],
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return float(solved.fun)


@pytest.mark.parametrize("name", SLOPES)
@pytest.mark.parametrize("b", [1.2, 2.0, 5.0])
def test_no_target_with_the_clips_acceptance_deviates_less(name: str, b: float) -> None:
    rng = np.random.default_rng(int(10 * b))
    for _ in range(4):
        p, q = rng.dirichlet(np.ones(7), 2)
        clip = clip_target(p, q, b)
        paid = DIVERGENCES[name](clip, p)
        acceptance = float(np.minimum(clip, q).sum())
        # SLSQP stops at about 1e-10 of the optimum.
        np.testing.assert_allclose(paid, least_divergence_by_solver(p, q, acceptance, name), rtol=1e-6, atol=1e-9)


def test_for_total_variation_the_clip_and_linear_interpolation_tie() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(8), (2, 20))
    epsilon = 0.4 * tv_distance(p, q)
    clip = clip_target(p, q, clip_for_budget(p, q, epsilon, "tv"))
    np.testing.assert_allclose(1 - tv_distance(clip, q), optimal_acceptance(p, q, epsilon), atol=1e-9)


@every_divergence
def test_random_rivals_of_the_same_acceptance_deviate_no_less(name: str) -> None:
    """A solver can be wrong; here are rivals: perturbations of the clip projected back by a linear program."""
    rng = np.random.default_rng(3)
    p, q = rng.dirichlet(np.ones(5), 2)
    clip = clip_target(p, q, 1.7)
    acceptance = np.minimum(clip, q).sum()
    for _ in range(40):
        size = p.size
        solved = linprog(
            rng.normal(size=2 * size),
            A_eq=[np.repeat([1.0, 0.0], size), np.repeat([0.0, 1.0], size)],
            b_eq=[acceptance, 1 - acceptance],
            bounds=[(0, mass) for mass in q] + [(0, 1)] * size,
        )
        vertex = solved.x[:size] + solved.x[size:]
        share = rng.uniform()
        rival = (1 - share) * clip + share * vertex
        assert np.minimum(rival, q).sum() >= acceptance - 1e-9
        assert DIVERGENCES[name](rival / rival.sum(), p) >= DIVERGENCES[name](clip, p) - 1e-9


@every_divergence
def test_linear_interpolation_pays_at_least_as_much_for_the_same_acceptance(name: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        p, q = rng.dirichlet(np.ones(10), 2)
        clip = clip_target(p, q, 1.5)
        linear = optimal_target(p, q, tv_distance(clip, p))
        np.testing.assert_allclose(tv_distance(linear, q), tv_distance(clip, q), atol=1e-12)
        assert DIVERGENCES[name](linear, p) >= DIVERGENCES[name](clip, p) - 1e-12


@few
@given(pair=law_pairs(), b=ceilings)
def test_the_target_is_a_law_between_its_floor_and_its_ceiling(pair: tuple, b: float) -> None:
    p, q = pair
    target, floor = clip_target(p, q, b), clip_floor(p, q, b)
    assert 0 <= floor <= 1
    np.testing.assert_allclose(target.sum(), 1, atol=1e-12)
    assert np.all(target >= floor * p)
    assert np.all(target <= b * p)
    assert kl_divergence(target, p) <= np.log(b) + 1e-12
    np.testing.assert_allclose(np.minimum(target, q), np.minimum(q, b * p), atol=1e-15)


@few
@given(pair=law_pairs(), b=ceilings)
def test_the_floor_gives_back_what_the_ceiling_cuts_off(pair: tuple, b: float) -> None:
    p, q = pair
    added = np.maximum(clip_floor(p, q, b) * p - q, 0).sum()
    np.testing.assert_allclose(added, np.maximum(q - b * p, 0).sum(), atol=1e-12)


def test_the_floor_survives_rows_made_to_slow_newton_down() -> None:
    """Geometric p against geometric q/p: each step clears one token."""
    for ratio in (0.9, 0.5, 0.1, 1e-3):
        for decay in (0.9, 0.5, 0.1, 1e-3):
            p = ratio ** np.arange(40.0)[::-1]
            p /= p.sum()
            for order in (1, -1):
                q = p * decay ** np.arange(40.0)[::order]
                if q.sum() > 0:
                    q /= q.sum()
                    for b in (1.001, 1.5, 10.0, 1e5):
                        np.testing.assert_allclose(clip_target(p, q, b).sum(), 1, atol=1e-12)


@few
@given(pair=law_pairs())
def test_a_ceiling_of_one_is_lossless(pair: tuple) -> None:
    p, q = pair
    y = np.arange(p.size)
    np.testing.assert_array_equal(Clip(1.0).acceptance(p, q), Lossless().acceptance(p, q))
    np.testing.assert_allclose(Clip(1.0).output_law(p, q), p, rtol=0, atol=1e-15)
    # Where there is hardly anything to reject, the replacement is rounding noise in both.
    if tv_distance(p, q) > 1e-6:
        np.testing.assert_allclose(Clip(1.0).residual(p, q, y), Lossless().residual(p, q, y), atol=1e-9)


@every_divergence
def test_the_budget_is_spent_unless_q_is_reached_first(name: str) -> None:
    rng = np.random.default_rng(2)
    p, q = rng.dirichlet(np.full(6, 0.5), (2, 15))
    for epsilon in (0.0, 1e-6, 1e-3, 0.1, 2.0):
        b = clip_for_budget(p, q, epsilon, name)
        spent = DIVERGENCES[name](clip_target(p, q, b), p)
        reached = np.isclose(clip_target(p, q, b), q, rtol=1e-9).all(axis=-1)
        assert np.all(b >= 1)
        # b carries a rounding error of 1e-16, which the divergence sees to first order at most.
        np.testing.assert_allclose(spent[~reached], epsilon, rtol=1e-9, atol=1e-15)
        assert np.all(spent[reached] <= epsilon * (1 + 1e-9))


def test_an_ample_budget_returns_the_least_ceiling_that_reaches_q() -> None:
    p, q = np.array([0.5, 0.25, 0.25]), np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(clip_for_budget(p, q, 9.0, "kl"), 2.0)
    np.testing.assert_allclose(clip_target(p, q, 2.0), q)
    assert lam_for_budget(p, q, 1.0) == 1


def test_tokens_that_p_excludes_stay_excluded() -> None:
    p, q = np.array([0.6, 0.4, 0.0]), np.array([0.1, 0.2, 0.7])
    for name in DIVERGENCES:
        b = float(clip_for_budget(p, q, 10.0, name))
        assert clip_target(p, q, b)[2] == 0
        assert np.isfinite(kl_divergence(clip_target(p, q, b), p))


def test_ceilings_broadcast_over_rows_on_both_libraries() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(6), 3), rng.dirichlet(np.ones(6), 3)
    b = clip_for_budget(p, q, 0.05, "chi2")
    target = clip_target(p, q, b)
    np.testing.assert_allclose(DIVERGENCES["chi2"](target, p), 0.05, rtol=1e-9)
    tensors = torch.tensor(p), torch.tensor(q)
    theirs = clip_target(*tensors, clip_for_budget(*tensors, 0.05, "chi2"))
    np.testing.assert_allclose(theirs.numpy(), target, atol=1e-12)


@pytest.mark.parametrize("b", [0.99, np.inf, np.nan, [1.0, 0.5]])
def test_a_ceiling_outside_its_range_is_refused(b: object) -> None:
    p = np.array([0.5, 0.5])
    with pytest.raises(ValueError, match="b must be a finite ceiling >= 1"):
        clip_target(p, p, b)
    with pytest.raises(ValueError, match="b must be a finite ceiling >= 1"):
        clip_target(p, p, np.asarray(b))


@pytest.mark.parametrize(("epsilon", "name"), [(-1.0, "kl"), (np.nan, "kl")])
def test_a_negative_budget_is_refused(epsilon: float, name: str) -> None:
    p = np.array([0.5, 0.5])
    with pytest.raises(ValueError, match="epsilon must be a divergence budget >= 0"):
        clip_for_budget(p, p, epsilon, name)
