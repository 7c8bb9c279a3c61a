"""The best configuration under Equations 6 and 7: steps K, leniency λ and block size B.

Inputs are what profiling returns, a distance d_K and a draft cost c_d(K) per number of steps. Optimality
conditions and proofs: ``docs/theory/throughput.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specfrontier.theory.domains import counts, nonnegative, positive, probabilities
from specfrontier.theory.throughput_model import linear_acceptance_rate, throughput, verifier_agreement
from specfrontier.theory.tokens import expected_tokens

__all__ = [
    "AffineCost",
    "OperatingPoint",
    "best_block_size",
    "best_operating_point",
    "best_steps",
    "fit_affine_cost",
    "largest_leniency",
    "relaxed_best_block_size",
    "relaxed_best_steps",
]

FloatArray = NDArray[np.float64]

_RELAXED_GRID = 512


@dataclass(frozen=True)
class AffineCost:
    """c_d(K) = a + b K, the paper's empirical form of the draft cost (Section 3.3, Figure 6).

    Attributes:
        intercept: a, seconds.
        slope: b, seconds per denoising step.
    """

    intercept: float
    slope: float

    def __call__(self, steps: ArrayLike) -> FloatArray:
        """Seconds per draft of ``steps`` denoising steps (real numbers allowed)."""
        return self.intercept + self.slope * np.asarray(steps, dtype=np.float64)


def fit_affine_cost(steps: ArrayLike, draft_costs: ArrayLike) -> AffineCost:
    """Fit c_d(K) = a + b K by least squares.

    Args:
        steps: ``[n]`` values of K, at least two of them distinct.
        draft_costs: ``[n]`` seconds.

    Raises:
        ValueError: if the shapes differ or K does not vary.
    """
    K, cost = counts(steps, "steps"), nonnegative(draft_costs, "draft_costs")
    _check_same_length(steps=K, draft_costs=cost)
    if np.unique(K).size < 2:
        raise ValueError(f"steps must hold at least two distinct values, got {K.tolist()}")
    slope, intercept = np.polyfit(K, cost, deg=1)
    return AffineCost(float(intercept), float(slope))


@dataclass(frozen=True)
class OperatingPoint:
    """One configuration and what the model predicts for it.

    Attributes:
        steps: K; a real number for a relaxed optimum.
        lam: λ.
        block_size: B.
        alpha: acceptance rate, Equation 6.
        agreement: agreement with the verifier, Equation 6.
        tokens_per_round: Proposition 1.
        throughput: tokens per second, Equation 7.
    """

    steps: float
    lam: float
    block_size: int
    alpha: float
    agreement: float
    tokens_per_round: float
    throughput: float


def largest_leniency(d: ArrayLike, deviation_budget: ArrayLike) -> FloatArray:
    """The best λ under a budget on deviation: min(1, ε / d_K), and 1 where d_K = 0.

    Throughput is non-decreasing in λ and the deviation λ d_K <= ε bounds it, so the bound is attained.

    Args:
        d: d_K in [0, 1], any shape.
        deviation_budget: ε in [0, 1], the total variation allowed between target and verifier.

    Raises:
        ValueError: if an argument leaves [0, 1].
    """
    distance, budget = probabilities(d, "d"), probabilities(deviation_budget, "deviation_budget")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(budget >= distance, 1.0, budget / distance)[()]


def best_steps(
    steps: ArrayLike,
    distances: ArrayLike,
    draft_costs: ArrayLike,
    verify_cost: float,
    *,
    block_size: int,
    lam: float = 0.0,
) -> OperatingPoint:
    """Pick the profiled K of highest throughput at one leniency λ.

    Args:
        steps: ``[n]`` profiled values of K.
        distances: ``[n]`` d_K in [0, 1].
        draft_costs: ``[n]`` c_d(K), seconds.
        verify_cost: c_v, seconds.
        block_size: B.
        lam: λ in [0, 1].

    Returns:
        The optimum; the smallest K among ties.

    Raises:
        ValueError: if the arrays differ in length or a value leaves its range.
    """
    K, d, cost = _profile(steps, distances, draft_costs)
    return _best(K, d, np.full(d.shape, _one(probabilities(lam, "lam"), "lam")), cost, verify_cost, block_size)


def best_operating_point(
    steps: ArrayLike,
    distances: ArrayLike,
    draft_costs: ArrayLike,
    verify_cost: float,
    *,
    block_size: int,
    deviation_budget: float,
) -> OperatingPoint:
    """Pick K and λ of highest throughput such that the deviation λ d_K stays within ε.

    Each K uses its own largest leniency, so where ε <= d_K its rate is 1 - d_K + ε (Theorem 1).
    Arguments and errors as :func:`best_steps`, with ``deviation_budget`` ε in [0, 1] in place of λ.
    """
    K, d, cost = _profile(steps, distances, draft_costs)
    budget = _one(probabilities(deviation_budget, "deviation_budget"), "deviation_budget")
    return _best(K, d, largest_leniency(d, budget), cost, verify_cost, block_size)


def relaxed_best_steps(
    steps: ArrayLike,
    distances: ArrayLike,
    draft_costs: ArrayLike,
    verify_cost: float,
    *,
    block_size: int,
    lam: float = 0.0,
) -> OperatingPoint:
    """Maximise throughput over real K between the smallest and the largest profiled one.

    d_K is interpolated monotonically (PCHIP) and so is c_d; at an inner optimum
    -(1 - λ) d'(K) E'(α) / E(α) = c_d'(K) / (c_d(K) + c_v). Useful between profiled values, and to see how
    flat the optimum is; never below :func:`best_steps`. Arguments and errors as there, with n >= 2 distinct
    K.
    """
    from scipy.interpolate import PchipInterpolator  # not at import time: it would double it
    from scipy.optimize import minimize_scalar

    K, d, cost = _profile(steps, distances, draft_costs)
    lam, verify_cost = _one(probabilities(lam, "lam"), "lam"), _one(positive(verify_cost, "verify_cost"), "verify_cost")
    if np.unique(K).size != K.size or K.size < 2:
        raise ValueError(f"steps must hold at least two values, all distinct, got {K.tolist()}")
    order = np.argsort(K)
    distance_at = PchipInterpolator(K[order], d[order])
    cost_at = PchipInterpolator(K[order], cost[order])

    def value(at: float) -> float:
        alpha = linear_acceptance_rate(np.clip(distance_at(at), 0, 1), lam)
        return float(throughput(alpha, block_size, cost_at(at), verify_cost))

    # The objective need not be concave, so a grid (with every profiled K) finds the basin that is then
    # refined.
    grid = np.union1d(np.linspace(K.min(), K.max(), _RELAXED_GRID), K)
    best = int(np.argmax([value(at) for at in grid]))
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    found = minimize_scalar(lambda at: -value(at), bounds=bounds, method="bounded")
    at = max((float(grid[best]), float(found.x)), key=value)
    return _point(at, float(np.clip(distance_at(at), 0, 1)), lam, float(cost_at(at)), verify_cost, block_size)


def best_block_size(alpha: float, block_sizes: ArrayLike, draft_costs: ArrayLike, verify_costs: ArrayLike) -> int:
    """Pick the profiled B of highest throughput at one acceptance rate.

    With costs that do not depend on B, longer is never worse; with convex costs, lengthening B pays exactly
    as long as the marginal ratio α^(B+1) / Δc exceeds the average ratio E[N] / c.

    Args:
        alpha: acceptance rate in [0, 1].
        block_sizes: ``[n]`` profiled values of B.
        draft_costs: ``[n]`` or scalar c_d at each B, seconds.
        verify_costs: ``[n]`` or scalar c_v at each B, seconds.

    Returns:
        B; the smallest among ties.

    Raises:
        ValueError: if the arrays do not match or a value leaves its range.
    """
    sizes = np.atleast_1d(counts(block_sizes, "block_sizes"))
    if sizes.ndim != 1 or sizes.size == 0:
        raise ValueError(f"block_sizes must have shape [n] with n >= 1, got shape {np.shape(block_sizes)}")
    order = np.argsort(sizes)
    rates = np.broadcast_to(throughput(alpha, sizes, draft_costs, verify_costs), sizes.shape)
    return int(sizes[order][np.argmax(rates[order])])


def relaxed_best_block_size(alpha: ArrayLike, fixed_cost: ArrayLike, cost_per_position: ArrayLike) -> FloatArray:
    """Best real B when a round costs c_0 + c_1 B seconds.

    With β = -log α and m = 1 + β (c_0 / c_1 - 1), the optimum is B = (u - m) / β - 1 where u > 1 solves
    u - log u = m (the -1 branch of Lambert's W). Cut at 0 from below.

    Args:
        alpha: acceptance rate in [0, 1].
        fixed_cost: c_0, seconds, > 0.
        cost_per_position: c_1, seconds per drafted position, > 0 (with c_1 = 0 the longest block is best).

    Returns:
        B >= 0, of the broadcast shape; infinite at α = 1 if c_0 > c_1.

    Raises:
        ValueError: if an argument leaves its range.
    """
    rate = probabilities(alpha, "alpha")
    ratio = positive(fixed_cost, "fixed_cost") / positive(cost_per_position, "cost_per_position")
    with np.errstate(divide="ignore", invalid="ignore"):
        beta = -np.log(rate)
        excess = np.maximum(beta * (ratio - 1), 0.0)  # m - 1, which would lose its digits in m as α -> 1
        size = np.log1p(_solve_above_one(excess)) / beta - 1
    size = np.where(rate == 1, np.where(ratio > 1, np.inf, 0.0), size)
    return np.where(rate == 0, 0.0, np.maximum(size, 0.0))[()]


def _solve_above_one(excess: FloatArray) -> FloatArray:
    """w = u - 1 >= 0 with u - log u = 1 + ``excess``, by Newton from above (where it is monotone)."""
    w = np.sqrt(2 * excess) + excess
    for _ in range(12):
        with np.errstate(divide="ignore", invalid="ignore"):
            step = (w - np.log1p(w) - excess) * (1 + w) / w
        w = np.where(w > 0, w - np.nan_to_num(step, posinf=0.0, neginf=0.0), w)
    return w


def _profile(
    steps: ArrayLike, distances: ArrayLike, draft_costs: ArrayLike
) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
    K = counts(steps, "steps")
    d, cost = probabilities(distances, "distances"), nonnegative(draft_costs, "draft_costs")
    _check_same_length(steps=K, distances=d, draft_costs=cost)
    order = np.argsort(K)
    return K[order], d[order], cost[order]


def _best(
    K: NDArray[np.int64],
    d: FloatArray,
    lam: FloatArray,
    cost: FloatArray,
    verify_cost: float,
    block_size: int,
) -> OperatingPoint:
    verify_cost = _one(positive(verify_cost, "verify_cost"), "verify_cost")
    best = int(np.argmax(throughput(linear_acceptance_rate(d, lam), block_size, cost, verify_cost)))
    return _point(float(K[best]), float(d[best]), float(lam[best]), float(cost[best]), verify_cost, block_size)


def _point(
    steps: float, d: float, lam: float, draft_cost: float, verify_cost: float, block_size: int
) -> OperatingPoint:
    alpha = float(linear_acceptance_rate(d, lam))
    return OperatingPoint(
        steps=steps,
        lam=float(lam),
        block_size=block_size,
        alpha=alpha,
        agreement=float(verifier_agreement(d, lam)),
        tokens_per_round=float(expected_tokens(alpha, block_size)),
        throughput=float(throughput(alpha, block_size, draft_cost, verify_cost)),
    )


def _one(value: FloatArray, name: str) -> float:
    """``value`` as a number, refused if it is an array of several."""
    if value.ndim:
        raise ValueError(f"{name} must be one number, got shape {value.shape}")
    return float(value)


def _check_same_length(**arrays: NDArray[np.generic]) -> None:
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(set(shapes.values())) > 1 or any(len(shape) != 1 or shape[0] == 0 for shape in shapes.values()):
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"expected one-dimensional arrays of one length, got {listed}")
