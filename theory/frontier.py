"""Geometry of the speed-quality frontier: dominance, hypervolume, distance, and all of it under uncertainty.

A configuration is a point of objectives such as (throughput, accuracy) or (latency, accuracy). Point x
dominates y if it is at least as good in every objective and better in one; the frontier is the set of points
that none dominates. Definitions and proofs: ``docs/theory/frontier.md``.

Shapes: points are ``[..., n, m]``, n configurations with m objectives. ``maximise`` is one boolean for all
objectives or one each: ``(True, True)`` for (throughput, accuracy), ``(False, True)`` for (latency,
accuracy).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specfrontier.theory.domains import finite, positive

__all__ = [
    "FrontierProbability",
    "attainment",
    "frontier_distance",
    "frontier_probability",
    "hypervolume",
    "pareto_mask",
]

FloatArray = NDArray[np.float64]
Maximise = bool | Sequence[bool]


def pareto_mask(points: ArrayLike, *, maximise: Maximise = True) -> NDArray[np.bool_]:
    """Mark the points that no other point dominates.

    Args:
        points: ``[..., n, m]``, finite.
        maximise: for each objective, whether more is better.

    Returns:
        Booleans ``[..., n]``. Of equal points on the frontier, all are marked.

    Raises:
        ValueError: if points are not finite, or ``maximise`` does not fit m.

    Examples:
        >>> pareto_mask([[1, 0.9], [2, 0.8], [1.5, 0.7]]).tolist()
        [True, True, False]
    """
    gains = _gains(points, maximise)
    if gains.shape[-1] == 1:
        return gains[..., 0] >= gains[..., 0].max(axis=-1, keepdims=True, initial=-np.inf)
    if gains.shape[-1] == 2:
        return _pareto_mask_2d(gains)
    from moocore import is_nondominated  # not at import time: it loads a C library

    if gains.size == 0:
        return np.zeros(gains.shape[:-1], dtype=np.bool_)
    flat = gains.reshape(-1, *gains.shape[-2:])
    masks = [is_nondominated(batch, maximise=True, keep_weakly=True) for batch in flat]
    return np.array(masks, dtype=np.bool_).reshape(gains.shape[:-1])


def hypervolume(points: ArrayLike, reference: ArrayLike, *, maximise: Maximise = True) -> float:
    """Volume of objective space that ``points`` dominate and that is better than ``reference``.

    In the unit of the objectives' product (for throughput and accuracy: tokens per second). Points that do
    not improve on the reference in every objective add nothing.

    Args:
        points: ``[n, m]``, finite; no points dominate nothing.
        reference: ``[m]``, for instance the verifier's speed and the drafter's accuracy.
        maximise: for each objective, whether more is better.

    Raises:
        ValueError: if shapes do not fit or a value is not finite.
    """
    gains = _gains(points, maximise)
    corner = _gains(np.asarray(reference, dtype=np.float64)[None], maximise, name="reference")[0]
    if gains.ndim != 2 or corner.shape != gains.shape[-1:]:
        raise ValueError(f"points must have shape [n, m] and reference [m], got {gains.shape} and {corner.shape}")
    from moocore import hypervolume as moocore_hypervolume

    return float(moocore_hypervolume(gains, ref=corner, maximise=True))


def frontier_distance(
    points: ArrayLike, frontier: ArrayLike, *, maximise: Maximise = True, scale: ArrayLike = 1.0
) -> FloatArray:
    """How far each point is from the frontier of a set: the additive ε-indicator, point by point.

    The least t >= 0 such that improving every objective j of the point by t · scale_j frees it from being
    strictly worse in all objectives than some point of ``frontier``:
    max(0, max_f min_j (f_j - x_j) / scale_j).

    Args:
        points: ``[..., n, m]``.
        frontier: ``[k, m]``, any set of points (its dominated members change nothing), k >= 1.
        maximise: for each objective, whether more is better.
        scale: ``[m]`` or scalar, positive; one unit of distance in each objective.

    Returns:
        ``[..., n]``; 0 on the frontier and beyond it.

    Raises:
        ValueError: if shapes do not fit or a value is not finite.
    """
    gains, goal = _gains(points, maximise), _gains(frontier, maximise, name="frontier")
    if goal.ndim != 2 or goal.shape[0] == 0 or goal.shape[-1] != gains.shape[-1]:
        raise ValueError(f"frontier must have shape [k, {gains.shape[-1]}] with k >= 1, got {goal.shape}")
    unit = positive(scale, "scale")
    if unit.shape not in ((), gains.shape[-1:]):
        raise ValueError(f"scale must be a number or have shape [{gains.shape[-1]}], got shape {unit.shape}")
    shortfall = ((goal - gains[..., None, :]) / unit).min(axis=-1)
    return np.maximum(shortfall.max(axis=-1), 0.0)


@dataclass(frozen=True)
class FrontierProbability:
    """Probability that each configuration is on the frontier, over bootstrap replicates.

    Attributes:
        probability: ``[n]`` share of replicates in which the configuration is not dominated.
        standard_error: ``[n]`` Monte Carlo error of that share from the number of replicates alone.
        replicates: R.
    """

    probability: FloatArray
    standard_error: FloatArray
    replicates: int


def frontier_probability(replicates: ArrayLike, *, maximise: Maximise = True) -> FrontierProbability:
    """Estimate which configurations are on the frontier, given that the points are uncertain.

    Args:
        replicates: ``[R, n, m]``; each replicate resamples prompts *once* for all configurations, so that
            what they share cancels in the comparison.
        maximise: for each objective, whether more is better.

    Returns:
        Shares in [0, 1]. A configuration that is on the frontier of the estimates with a share far below 1
        may owe its place to noise.

    Raises:
        ValueError: if the shape is wrong, R < 1, or a value is not finite.
    """
    draws = _replicates(replicates)
    share = pareto_mask(draws, maximise=maximise).mean(axis=0)
    count = draws.shape[0]
    return FrontierProbability(share, np.sqrt(share * (1 - share) / count), count)


def attainment(replicates: ArrayLike, goals: ArrayLike, *, maximise: Maximise = True) -> FloatArray:
    """Empirical attainment function: the chance that some configuration is at least as good as each goal.

    Args:
        replicates: ``[R, n, m]``.
        goals: ``[g, m]``, for instance (30 tokens/s, accuracy 0.9).
        maximise: for each objective, whether more is better.

    Returns:
        ``[g]`` shares of replicates in which the goal is attained. The 0.5 level set is the median frontier.

    Raises:
        ValueError: if shapes do not fit or a value is not finite.
    """
    draws = _gains(_replicates(replicates), maximise)
    goal = _gains(goals, maximise, name="goals")
    if goal.ndim != 2 or goal.shape[-1] != draws.shape[-1]:
        raise ValueError(f"goals must have shape [g, {draws.shape[-1]}], got {goal.shape}")
    # One goal at a time keeps memory at the size of the replicates.
    return np.array([(draws >= target).all(axis=-1).any(axis=-1).mean() for target in goal])


def _pareto_mask_2d(gains: FloatArray) -> NDArray[np.bool_]:
    """Sort by the first objective; a point survives if none before it is as good in the second."""
    order = np.lexsort((-gains[..., 1], -gains[..., 0]), axis=-1)
    x = np.take_along_axis(gains[..., 0], order, axis=-1)
    y = np.take_along_axis(gains[..., 1], order, axis=-1)
    index = np.arange(x.shape[-1])
    new_group = np.concatenate([np.ones_like(x[..., :1], dtype=bool), x[..., 1:] != x[..., :-1]], axis=-1)
    first = np.maximum.accumulate(np.where(new_group, index, 0), axis=-1)  # where the ties in x begin
    best_tied = np.take_along_axis(y, first, axis=-1)
    best_before = np.take_along_axis(np.maximum.accumulate(y, axis=-1), np.maximum(first - 1, 0), axis=-1)
    survives = (y >= best_tied) & ((first == 0) | (y > best_before))
    mask = np.zeros_like(survives)
    np.put_along_axis(mask, order, survives, axis=-1)
    return mask


def _gains(points: ArrayLike, maximise: Maximise, *, name: str = "points") -> FloatArray:
    """Turn every objective into one to maximise."""
    array = finite(points, name)
    if array.ndim < 2 or array.shape[-1] == 0:
        raise ValueError(f"{name} must have shape [..., n, m] with m >= 1, got shape {array.shape}")
    flags = np.asarray(maximise)
    if flags.dtype != np.bool_ or flags.shape not in ((), (array.shape[-1],)):
        raise ValueError(f"maximise must be a boolean or {array.shape[-1]} booleans, got {maximise!r}")
    return np.where(flags, array, -array)


def _replicates(replicates: ArrayLike) -> FloatArray:
    draws = finite(replicates, "replicates")
    if draws.ndim != 3 or draws.shape[0] == 0:
        raise ValueError(f"replicates must have shape [R, n, m] with R >= 1, got shape {draws.shape}")
    return draws
