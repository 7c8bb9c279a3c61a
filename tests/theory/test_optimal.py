"""Theorem 1 against a linear program, and Appendix B for any norm."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

from specfrontier.theory import Linear, lam_for_budget, optimal_acceptance, optimal_target, tv_distance

from .strategies import law_pairs

few = settings(max_examples=40, deadline=None)


def best_acceptance_by_linear_program(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """Equation 4: maximise sum m with m <= p̃, m <= q, |p̃ - p| <= t, sum t <= 2 epsilon, p̃ a law."""
    size = p.size
    eye, none = np.eye(size), np.zeros((size, size))
    below_target = np.hstack([-eye, eye, none])
    spread_up, spread_down = np.hstack([eye, none, -eye]), np.hstack([-eye, none, -eye])
    budget = np.concatenate([np.zeros(2 * size), np.ones(size)])[None]
    solved = linprog(
        c=np.concatenate([np.zeros(size), -np.ones(size), np.zeros(size)]),
        A_ub=np.vstack([below_target, spread_up, spread_down, budget]),
        b_ub=np.concatenate([np.zeros(size), p, -p, [2 * epsilon]]),
        A_eq=np.concatenate([np.ones(size), np.zeros(2 * size)])[None],
        b_eq=[1.0],
        bounds=[(0, 1)] * size + [(0, mass) for mass in q] + [(0, 1)] * size,
        method="highs",
    )
    assert solved.status == 0, solved.message
    return -solved.fun


@few
@given(pair=law_pairs(), share=st.floats(0, 1))
def test_theorem_1_agrees_with_the_linear_program(pair: tuple, share: float) -> None:
    p, q = pair
    epsilon = share * float(tv_distance(p, q))
    target = optimal_target(p, q, epsilon)
    np.testing.assert_allclose(tv_distance(target, p), epsilon, atol=1e-12)
    acceptance = 1 - tv_distance(target, q)
    np.testing.assert_allclose(acceptance, optimal_acceptance(p, q, epsilon), atol=1e-12)
    # HiGHS works to a feasibility tolerance of 1e-7 in each of its constraints.
    np.testing.assert_allclose(acceptance, best_acceptance_by_linear_program(p, q, epsilon), atol=1e-6)


@few
@given(pair=law_pairs(), share=st.floats(0, 1))
def test_the_target_is_the_law_of_linear_leniency(pair: tuple, share: float) -> None:
    p, q = pair
    epsilon = share * float(tv_distance(p, q))
    rule = Linear(float(lam_for_budget(p, q, epsilon)))
    np.testing.assert_allclose(rule.output_law(p, q), optimal_target(p, q, epsilon), atol=1e-12)


def test_a_budget_beyond_the_distance_reaches_the_drafter_and_equal_laws_need_none() -> None:
    p, q = np.array([0.7, 0.3]), np.array([0.5, 0.5])
    np.testing.assert_array_equal(optimal_target(p, q, 0.5), q)
    assert optimal_acceptance(p, q, 0.5) == 1
    assert lam_for_budget(p, p, 0.1) == 0


def test_budgets_broadcast_over_rows() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(4), (2, 3)), rng.dirichlet(np.ones(4), (2, 3))
    budgets = np.array([0.0, 0.01, 1.0])
    targets = optimal_target(p, q, budgets)
    np.testing.assert_array_equal(targets[:, 0], p[:, 0])
    np.testing.assert_allclose(tv_distance(targets[:, 1], p[:, 1]), 0.01)
    np.testing.assert_array_equal(targets[:, 2], q[:, 2])


NORMS: dict[str, Callable[[np.ndarray], float]] = {
    "total variation": lambda x: float(np.abs(x).sum() / 2),
    "euclidean": lambda x: float(np.linalg.norm(x)),
    "maximum": lambda x: float(np.abs(x).max()),
    "3-norm": lambda x: float(np.linalg.norm(x, 3)),
    "kolmogorov": lambda x: float(np.abs(np.cumsum(np.append(x, x[0]))).max()),
    "weighted": lambda x: float(np.sqrt(np.sum(np.arange(1, x.size + 1) * x**2))),
    "quadratic form": lambda x: float(np.sqrt(x @ (np.ones((x.size, x.size)) + np.eye(x.size)) @ x)),
}


@pytest.mark.parametrize("name", NORMS)
@few
@given(pair=law_pairs(min_size=2), r=st.floats(0, 1), seed=st.integers(0, 2**32 - 1))
def test_appendix_b_no_signed_measure_in_the_ball_is_closer_to_q(name: str, pair: tuple, r: float, seed: int) -> None:
    """Equation 8 for p_r = p + r (q - p): whatever the norm, and whether or not the rival is a law."""
    norm, (p, q) = NORMS[name], pair
    radius = r * norm(q - p)
    step = np.random.default_rng(seed).normal(size=p.size)
    if norm(step) > 0:
        rival = p + step * (radius / norm(step))
        assert norm(rival - q) >= norm(p + r * (q - p) - q) - 1e-12
