"""From values to places in an SVG, with round ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from matplotlib.ticker import LogLocator, MaxNLocator
from numpy.typing import ArrayLike

from specfrontier.paper_figures.scales import is_logarithmic, log_steps

_MARGIN = 0.06


@dataclass(frozen=True)
class Scale:
    """A map from [low, high] to places from `start` to `end`, linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """The place of a value."""
        low, high, at = (math.log(v) for v in (self.low, self.high, value)) if self.logarithmic else (
            self.low, self.high, value,
        )  # fmt: skip
        return self.start + (self.end - self.start) * (at - low) / (high - low)

    @property
    def ticks(self) -> list[float]:
        """Round values inside the range."""
        locator = LogLocator(subs=log_steps(self.low, self.high)) if self.logarithmic else MaxNLocator(6)
        return [float(t) for t in locator.tick_values(self.low, self.high) if self.low <= t <= self.high]


def scale_for(values: ArrayLike, start: float, end: float, *, may_be_log: bool = False) -> Scale:
    """A scale that holds all finite values with a margin."""
    known = np.asarray(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if may_be_log and is_logarithmic(low, high):
        margin = (high / low) ** _MARGIN
        return Scale(low / margin, high * margin, start, end, logarithmic=True)
    margin = _MARGIN * (high - low) or 0.5 * abs(high) or 0.5
    return Scale(low - margin, high + margin, start, end)
