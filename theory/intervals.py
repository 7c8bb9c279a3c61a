"""Uncertainty of the model's predictions, from the uncertainty of d_K and the costs.

Two ways, for two kinds of input. The delta method takes a covariance matrix and is exact to first order; the
bootstrap takes draws (of prompts, so that tokens of one prompt stay together) and needs no linearity.
Formulas: ``docs/theory/throughput.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specfrontier.theory.domains import check_broadcast, finite
from specfrontier.theory.throughput_model import (
    linear_acceptance_rate,
    linear_throughput_gradient,
    throughput,
    verifier_agreement,
)

__all__ = ["Interval", "agreement_interval", "bootstrap_interval", "throughput_draws", "throughput_interval"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval; all entries share one shape.

    Attributes:
        estimate: the point estimate.
        standard_error: one standard error, in the estimate's unit.
        low: lower end.
        high: upper end.
        level: nominal coverage, in (0, 1).
    """

    estimate: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray
    level: float


def throughput_interval(
    d: ArrayLike,
    draft_cost: ArrayLike,
    verify_cost: ArrayLike,
    covariance: ArrayLike,
    *,
    lam: ArrayLike,
    block_size: ArrayLike,
    level: float = 0.95,
) -> Interval:
    """Delta-method interval for Equation 7 with Equation 6 put in.

    The interval is symmetric for log T, so that its ends are positive:
    T exp(± z s / T), s² = g' Σ g with g the gradient in (d_K, c_d, c_v).

    Args:
        d: estimate of d_K in [0, 1], shape ``[...]``.
        draft_cost: estimate of c_d(K), seconds.
        verify_cost: estimate of c_v, seconds.
        covariance: Σ of the estimates, ``[..., 3, 3]``, in the order (d_K, c_d, c_v); diagonal if they were
            measured apart.
        lam: λ in [0, 1].
        block_size: B.
        level: coverage in (0, 1).

    Raises:
        ValueError: if a value leaves its range or ``covariance`` is not a covariance matrix.
    """
    alpha = linear_acceptance_rate(d, lam)
    estimate = throughput(alpha, block_size, draft_cost, verify_cost)
    partial = linear_throughput_gradient(d, lam, block_size, draft_cost, verify_cost)
    gradient = np.stack(np.broadcast_arrays(partial.d, partial.draft_cost, partial.verify_cost), axis=-1)
    matrix = _covariance(covariance)
    check_broadcast(estimate=np.asarray(estimate), covariance=matrix[..., 0, 0])
    error = np.sqrt(np.einsum("...i,...ij,...j->...", gradient, matrix, gradient))
    estimate = np.broadcast_to(estimate, error.shape)[()]
    factor = np.exp(_quantile(level) * error / estimate)
    return Interval(estimate, error, estimate / factor, estimate * factor, level)


def agreement_interval(d: ArrayLike, standard_error: ArrayLike, *, lam: ArrayLike, level: float = 0.95) -> Interval:
    """Interval for the agreement 1 - λ d_K, which is linear in d_K: ± z λ s, cut to [0, 1].

    Args:
        d: estimate of d_K in [0, 1].
        standard_error: s of that estimate, >= 0.
        lam: λ in [0, 1].
        level: coverage in (0, 1).

    Raises:
        ValueError: if a value leaves its range.
    """
    estimate = verifier_agreement(d, lam)
    spread = finite(standard_error, "standard_error")
    if np.any(spread < 0):
        raise ValueError(f"standard_error must be non-negative, got {float(spread.min())!r}")
    check_broadcast(estimate=np.asarray(estimate), standard_error=spread)
    estimate, error = np.broadcast_arrays(estimate, np.asarray(lam, dtype=np.float64) * spread)
    reach = _quantile(level) * error
    return Interval(estimate[()], error[()], np.clip(estimate - reach, 0, 1), np.clip(estimate + reach, 0, 1), level)


def throughput_draws(
    d_draws: ArrayLike,
    draft_cost_draws: ArrayLike,
    verify_cost_draws: ArrayLike,
    *,
    lam: ArrayLike,
    block_size: ArrayLike,
) -> FloatArray:
    """Throughput of every bootstrap replicate: Equations 6 and 7 on draws that broadcast.

    Args:
        d_draws: replicates of d_K, e.g. ``[R, n_K]``.
        draft_cost_draws: replicates of c_d(K), broadcasting.
        verify_cost_draws: replicates of c_v, broadcasting.
        lam: λ, broadcasting.
        block_size: B, broadcasting.

    Raises:
        ValueError: as :func:`~specfrontier.theory.throughput_model.throughput`.
    """
    return throughput(linear_acceptance_rate(d_draws, lam), block_size, draft_cost_draws, verify_cost_draws)


def bootstrap_interval(draws: ArrayLike, estimate: ArrayLike | None = None, *, level: float = 0.95) -> Interval:
    """Percentile interval from bootstrap replicates along the first axis.

    Args:
        draws: ``[R, ...]``, R >= 2 replicates of a prediction.
        estimate: ``[...]`` the value at the point estimates; None takes the replicates' mean.
        level: coverage in (0, 1).

    Raises:
        ValueError: if there are fewer than two replicates or one is not finite.
    """
    replicates = finite(draws, "draws")
    if replicates.ndim == 0 or replicates.shape[0] < 2:
        raise ValueError(f"draws must have shape [R, ...] with R >= 2, got shape {replicates.shape}")
    _quantile(level)
    low, high = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2], axis=0)
    centre = replicates.mean(axis=0) if estimate is None else finite(estimate, "estimate")
    if centre.shape != replicates.shape[1:]:
        raise ValueError(f"estimate must have the shape of one replicate, {replicates.shape[1:]}, got {centre.shape}")
    return Interval(centre, replicates.std(axis=0, ddof=1), low, high, level)


def _quantile(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}")
    return NormalDist().inv_cdf((1 + level) / 2)


def _covariance(covariance: ArrayLike) -> FloatArray:
    matrix = finite(covariance, "covariance")
    if matrix.shape[-2:] != (3, 3):
        raise ValueError(f"covariance must have shape [..., 3, 3], got shape {matrix.shape}")
    scale = np.abs(matrix).max()
    symmetric = np.allclose(matrix, np.swapaxes(matrix, -1, -2), rtol=1e-9, atol=1e-12 * scale)
    if not symmetric or np.linalg.eigvalsh(matrix).min() < -1e-9 * scale:
        raise ValueError("covariance must be symmetric and positive semi-definite")
    return matrix
