"""Task accuracy from deviation, fitted on a few measured points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from specfrontier.errors import InputError
from specfrontier.simulate.grid import points_of, predictable

__all__ = ["QualityModel", "fit_quality"]

FloatArray = NDArray[np.float64]

#: More measured points would be a grid, not a prediction.
MOST_POINTS = 3
_DRAWS = 2000


@dataclass(frozen=True)
class QualityModel:
    """logit accuracy = intercept - slope · deviation, with slope >= 0.

    Deviation is a problem's expected sum of TV(output law, p): each departure from the verifier is one more chance of
    going wrong, and by the coupling of two texts their sum bounds the probability that the text differs at all.
    Verifier agreement, the paper's proxy, is the same deviation a visited position, without a task in it.

    Attributes:
        intercept, slope: the estimates.
        draws: ``[D, 2]`` of both, from the fitted points' binomial noise.
        fitted_on: `config` keys of the fitted points, which no score may use.
    """

    intercept: float
    slope: float
    draws: FloatArray
    fitted_on: tuple[str, ...]

    def accuracy(self, deviation: FloatArray) -> FloatArray:
        """Accuracy at a deviation, in (0, 1)."""
        found: FloatArray = expit(self.intercept - self.slope * np.asarray(deviation, dtype=np.float64))
        return found

    def add_accuracy(self, predictions: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
        """`predictions` with accuracy filled in; its intervals hold the noise of the fitted points alone."""
        deviation = predictions["deviation"].to_numpy(dtype=np.float64)
        spread = expit(self.draws[:, :1] - self.draws[:, 1:] * deviation)
        low, high = np.quantile(spread, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return predictions.assign(accuracy=self.accuracy(deviation), accuracy_low=low, accuracy_high=high)


def fit_quality(
    predictions: pd.DataFrame,
    measurements: pd.DataFrame,
    configs: Sequence[str] | None = None,
    *,
    points: int = MOST_POINTS,
    seed: int = 0,
) -> QualityModel:
    """Fit on at most three measured points, by weighted least squares on empirical logits.

    Args:
        predictions: of one predictor, with `deviation`; they give each measured point its deviation.
        measurements: with accuracy and n.
        configs: `config` keys to fit on; None takes the least, the most and a middle deviation among those measured.
        points: how many to take then, 2 or 3.
        seed: of the draws for intervals.

    Raises:
        InputError: if fewer than two or more than three points are left, or they share one deviation.
    """
    table = _measured_deviations(predictions, measurements)
    chosen = table[table["config"].isin(list(configs))] if configs is not None else _spread(table, points)
    if not 2 <= len(chosen) <= MOST_POINTS:
        raise InputError(f"the quality model is fitted on {len(chosen)} points; give 2 to {MOST_POINTS} measured ones")
    x = chosen["deviation"].to_numpy(dtype=np.float64)
    n = chosen["n"].to_numpy(dtype=np.float64)
    right = chosen["accuracy"].to_numpy(dtype=np.float64) * n
    if np.ptp(x) <= 0:
        raise InputError(f"the points to fit on all deviate by {x[0]:.4g}; choose points of different leniency")
    # Half a problem on either side keeps logits finite at 0 and 1 (Haldane's correction).
    logits = np.log((right + 0.5) / (n - right + 0.5))
    variance = 1 / (right + 0.5) + 1 / (n - right + 0.5)
    noise = np.random.default_rng(seed).standard_normal((_DRAWS, len(x))) * np.sqrt(variance)
    intercept, slope = _line(x, logits[None], 1 / variance)
    draws = np.stack(_line(x, logits + noise, 1 / variance), axis=1)
    return QualityModel(float(intercept[0]), float(slope[0]), draws, tuple(chosen["config"]))


def _measured_deviations(predictions: pd.DataFrame, measurements: pd.DataFrame) -> pd.DataFrame:
    if predictions["predictor"].nunique() != 1:
        raise InputError("the quality model needs the predictions of one predictor; select one")
    usable = predictable(measurements[measurements["accuracy"].notna()])
    deviation = dict(zip([p.key for p in points_of(predictions)], predictions["deviation"], strict=True))
    found = usable.assign(deviation=[deviation.get(p.key, np.nan) for p in points_of(usable)])
    return found[found["deviation"].notna()].sort_values("deviation")


def _spread(table: pd.DataFrame, points: int) -> pd.DataFrame:
    """The extremes, and the point nearest to the middle of their range."""
    if len(table) <= points:
        return table
    x = table["deviation"].to_numpy()
    middle = int(np.argmin(np.abs(x - (x[0] + x[-1]) / 2)))
    return table.iloc[sorted({0, len(table) - 1, *([middle] if points > 2 else [])})]


def _line(x: FloatArray, y: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Intercepts and (non-negative) downward slopes of weighted least-squares lines through ``[d, n]`` values."""
    share = weight / weight.sum()
    centre = x @ share
    mean = y @ share
    slope = -((y - mean[:, None]) * (x - centre) @ share) / ((x - centre) ** 2 @ share)
    slope = np.maximum(slope, 0.0)  # more deviation from the verifier is not credited with better answers
    return mean + slope * centre, slope
