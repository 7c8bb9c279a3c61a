"""Axes of speed: linear, or logarithmic with plain numbers where speeds span an order of magnitude."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from numpy.typing import ArrayLike

_LOG_RATIO = 8.0
_MARGIN = 0.05


def set_speed_scale(panels: Iterable[Axes], values: ArrayLike) -> None:
    """Give panels one horizontal range that holds all `values`, with a margin.

    The axis is logarithmic if the positive values span more than a factor of eight.
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    if known.size == 0:
        return
    low, high = float(known.min()), float(known.max())
    for axes in panels:
        if is_logarithmic(low, high):
            _logarithmic(axes, low, high)
        elif high > low:
            axes.set_xlim(low - _MARGIN * (high - low), high + _MARGIN * (high - low))


def is_logarithmic(low: float, high: float) -> bool:
    """Whether a range of speeds is wide enough for a logarithmic axis."""
    return low > 0 and high > _LOG_RATIO * low


def log_steps(low: float, high: float) -> tuple[float, ...]:
    """Multiples of powers of ten that are marked on a logarithmic axis."""
    return (1.0,) if high > 300 * low else (1.0, 3.0) if high > 30 * low else (1.0, 2.0, 5.0)


def _logarithmic(axes: Axes, low: float, high: float) -> None:
    margin = (high / low) ** _MARGIN
    axes.set_xscale("log")
    axes.set_xlim(low / margin, high * margin)
    axes.xaxis.set_major_locator(LogLocator(subs=log_steps(low, high)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
