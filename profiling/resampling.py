"""Uncertainty over prompts: ratios of sums, their standard errors, and intervals by the bootstrap.

Tokens and rounds of one prompt are not independent, prompts are. So a prompt is the unit of resampling, and every
figure of a measurement is a ratio of two sums over prompts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest

from specfrontier.profile import Estimate

FloatArray = NDArray[np.float64]
REPLICATES = 2000
LEVEL = 0.95


@dataclass(frozen=True)
class RatioEstimate:
    """A ratio of sums over prompts: value, standard error and 95 % interval; all NaN where there is no data."""

    value: float
    se: float
    low: float
    high: float
    n: int

    @property
    def estimate(self) -> Estimate:
        """As it stands in a profile."""
        return Estimate(self.value, self.low, self.high, self.n)


NOTHING = RatioEstimate(np.nan, np.nan, np.nan, np.nan, 0)


@lru_cache(maxsize=8)
def resamples(n: int, replicates: int = REPLICATES, seed: int = 0) -> FloatArray:
    """How often each of n prompts is drawn, `[replicates, n]`: the same draws for every figure and configuration, so
    that what two of them share cancels in their difference."""
    generator = np.random.default_rng(seed)
    counts = generator.multinomial(n, np.full(n, 1 / n), size=replicates)
    counts.setflags(write=False)
    return counts.astype(np.float64)


def ratio(
    numerator: ArrayLike, denominator: ArrayLike, *, replicates: int = REPLICATES, seed: int = 0
) -> RatioEstimate:
    """Sum of `numerator` [n] over sum of `denominator` [n], one entry of each a prompt.

    The standard error is the delta method's, n / (n - 1) Σ (a_i - r b_i)² / (Σ b)²; the interval is the percentile
    bootstrap over prompts. One prompt has a value and no error.
    """
    a, b = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    known = np.isfinite(a) & np.isfinite(b)
    a, b = a[known], b[known]
    if not len(a) or b.sum() <= 0:
        return NOTHING
    n, total = len(a), b.sum()
    value = float(a.sum() / total)
    if n == 1:
        return RatioEstimate(value, np.nan, np.nan, np.nan, 1)
    se = float(np.sqrt(n / (n - 1) * np.square(a - value * b).sum()) / total)
    weights = resamples(n, replicates, seed)
    sums = weights @ b
    draws = (weights @ a)[sums > 0] / sums[sums > 0]
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return RatioEstimate(value, se, float(low), float(high), n)


def share(successes: ArrayLike) -> RatioEstimate:
    """Share of problems solved, with Wilson's interval: the bootstrap would give [1, 1] if all were solved."""
    x = np.asarray(successes, np.float64)
    x = x[np.isfinite(x)]
    if not len(x):
        return NOTHING
    n, p = len(x), float(x.mean())
    se = float(np.sqrt(p * (1 - p) / (n - 1))) if n > 1 else np.nan
    interval = binomtest(int(x.sum()), n).proportion_ci(LEVEL, method="wilson")
    return RatioEstimate(p, se, float(interval.low), float(interval.high), n)


def spread(values: ArrayLike) -> Estimate:
    """Median, and the middle 95 % of the values themselves: robust to the pauses of a shared machine."""
    x = np.asarray(values, np.float64)
    x = x[np.isfinite(x)]
    if not len(x):
        return Estimate(np.nan, np.nan, np.nan, 0)
    low, middle, high = np.quantile(x, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2])
    return Estimate(float(middle), float(low), float(high), len(x))
