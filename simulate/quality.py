"""Task accuracy from how far a text departs from the verifier, fitted on a few measured points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from specfrontier.errors import InputError
from specfrontier.simulate.grid import points_of, predictable
from specfrontier.simulate.overshoot import Gauge

__all__ = ["Gauge", "QualityModel", "fit_quality"]

FloatArray = NDArray[np.float64]

#: More measured points would be a grid, not a prediction.
MOST_POINTS = 3
_DRAWS = 2000


@dataclass(frozen=True)
class QualityModel:
    """accuracy = ceiling · exp(-slope · x), with slope >= 0, where x is how far a text departs from the verifier.

    What spoils an answer is a token that the verifier would hardly have written. If each step away from it spoils the
    answer with a chance in proportion to its size, whatever came before, the answers that survive fall exponentially
    in the sum of the steps. Two gauges of x add up along a text:

    - `overshoot`, nats of KL (by the chain rule);
    - `deviation`, TV(output law, p) (by the coupling of two texts, which bounds the probability that they differ).

    They part where a rule lets through what p likes a little less (clips: much TV, few nats, hardly an error) rather
    than what it all but excludes (linear leniency). Verifier agreement, the paper's proxy, is deviation a visited
    position. A task that can be guessed falls to chance in the end, and not to 0 as this does.

    Attributes:
        ceiling: accuracy of texts that do not depart, in (0, 1].
        slope: share of the answers that a unit of departure spoils.
        gauge: of departure.
        draws: ``[D, 2]`` of both, from the fitted points' binomial noise.
        fitted_on: `config` keys of the fitted points, which no score may use.
    """

    ceiling: float
    slope: float
    gauge: Gauge
    draws: FloatArray
    fitted_on: tuple[str, ...]

    def accuracy(self, predictions: pd.DataFrame) -> FloatArray:
        """Accuracy of every row, in [0, 1]."""
        found: FloatArray = self.ceiling * np.exp(-self.slope * _departure(predictions, self.gauge))
        return found

    def add_accuracy(self, predictions: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
        """`predictions` with accuracy filled in; its intervals hold the noise of the fitted points alone."""
        spread = self.draws[:, :1] * np.exp(-self.draws[:, 1:] * _departure(predictions, self.gauge))
        low, high = np.quantile(spread, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return predictions.assign(accuracy=self.accuracy(predictions), accuracy_low=low, accuracy_high=high)


def fit_quality(
    predictions: pd.DataFrame,
    measurements: pd.DataFrame,
    configs: Sequence[str] | None = None,
    *,
    points: int = MOST_POINTS,
    gauge: Gauge | None = None,
    seed: int = 0,
) -> QualityModel:
    """Fit on at most three measured points, by weighted least squares on the logarithm of accuracy.

    Args:
        predictions: of one predictor; they give each measured point its departure from the verifier.
        measurements: with accuracy and n.
        configs: `config` keys to fit on; None takes the least, the most and a middle departure among those measured.
        points: how many to take then, 2 or 3.
        gauge: of departure; None takes overshoot where the predictions hold it for every point, else deviation.
            (Three noisy points cannot choose: leaving one out leaves a line through two.)
        seed: of the draws for intervals.

    Raises:
        InputError: if the predictions lack the gauge, fewer than two or more than three points are left, or these
            all depart alike.
    """
    gauge = gauge or ("overshoot" if _holds(predictions, "overshoot") else "deviation")
    if not _holds(predictions, gauge):
        raise InputError(f"the predictions hold no {gauge} for some points; predict with replay, or gauge by deviation")
    table = _measured(predictions, measurements, gauge)
    chosen = table[table["config"].isin(list(configs))] if configs is not None else _spread(table, points)
    if not 2 <= len(chosen) <= MOST_POINTS:
        raise InputError(
            f"the quality model is fitted on {len(chosen)} points; give 2 to {MOST_POINTS} measured ones, and predict "
            "their rules and efforts too"
        )
    x = chosen["departure"].to_numpy(dtype=np.float64)
    n = chosen["n"].to_numpy(dtype=np.float64)
    right = chosen["accuracy"].to_numpy(dtype=np.float64) * n
    if np.ptp(x) <= 0:
        raise InputError(f"the points to fit on all depart by {x[0]:.4g}; choose points of different leniency")
    # Jeffreys' posterior of each share: drawing counts from the shares would shrink them twice.
    again = np.random.default_rng(seed).beta(right + 0.5, n - right + 0.5, size=(_DRAWS, len(x)))
    ceiling, slope = _decay(x, np.concatenate([_share(right, n)[None], again]), n)
    draws = np.stack([ceiling[1:], slope[1:]], axis=1)
    return QualityModel(float(ceiling[0]), float(slope[0]), gauge, draws, tuple(chosen["config"]))


def _holds(predictions: pd.DataFrame, gauge: Gauge) -> bool:
    return gauge in predictions and bool(predictions[gauge].notna().all())


def _departure(predictions: pd.DataFrame, gauge: Gauge) -> FloatArray:
    """x of every row."""
    return np.maximum(predictions[gauge].to_numpy(dtype=np.float64), 0.0)


def _measured(predictions: pd.DataFrame, measurements: pd.DataFrame, gauge: Gauge) -> pd.DataFrame:
    """Measured points with their departure, ascending."""
    if predictions["predictor"].nunique() != 1:
        raise InputError("the quality model needs the predictions of one predictor; select one")
    usable = predictable(measurements[measurements["accuracy"].notna()])
    departure = dict(zip([p.key for p in points_of(predictions)], _departure(predictions, gauge), strict=True))
    found = usable.assign(departure=[departure.get(p.key, np.nan) for p in points_of(usable)])
    return found[found["departure"].notna()].sort_values("departure", kind="stable")


def _spread(table: pd.DataFrame, points: int) -> pd.DataFrame:
    """The extremes, and the point nearest to a quarter of the way, as accuracy falls most at first."""
    if len(table) <= points:
        return table
    x = table["departure"].to_numpy()
    early = int(np.argmin(np.abs(x - (x[0] + (x[-1] - x[0]) / 4))))
    return table.iloc[sorted({0, len(table) - 1, *([early] if points > 2 else [])})]


def _share(right: FloatArray, n: FloatArray) -> FloatArray:
    """Half a problem on either side keeps logarithms and variances finite where all or none were solved."""
    return (right + 0.5) / (n + 1)


def _decay(x: FloatArray, share: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ceilings <= 1 and slopes >= 0 of weighted least-squares lines through the logarithms of ``[D, P]`` shares."""
    share = np.clip(share, np.finfo(float).tiny, 1 - np.finfo(float).eps)
    y, weight = np.log(share), n * share / (1 - share)  # the inverse variance of a share's logarithm
    whole = weight.sum(axis=1, keepdims=True)
    centre, mean = (weight * x).sum(1, keepdims=True) / whole, (weight * y).sum(1, keepdims=True) / whole
    slope = -(weight * (y - mean) * (x - centre)).sum(1) / (weight * (x - centre) ** 2).sum(1)
    slope = np.maximum(slope, 0.0)  # more departure from the verifier is not credited with better answers
    intercept = mean[:, 0] + slope * centre[:, 0]
    from_one = -(weight * x * y).sum(1) / (weight * x**2).sum(1)  # the best line where the ceiling would pass 1
    return np.exp(np.minimum(intercept, 0.0)), np.where(intercept > 0, from_one, slope)
