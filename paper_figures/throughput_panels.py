"""Panels of Figure 3: acceptance rate, and throughput, against agreement with the verifier, one line an effort."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from specfrontier.paper_figures.efforts import EffortLevel, EffortStyle, efforts
from specfrontier.paper_figures.style import INK
from specfrontier.theory import pareto_mask

ACCEPTANCE_LABEL = r"Acceptance rate"
AGREEMENT_LABEL = r"Verifier agreement"
THROUGHPUT_LABEL = "Throughput (tokens/s)"


def draw_tradeoff(
    axes: Axes,
    table: pd.DataFrame,
    speed: str,
    styles: Mapping[EffortLevel, EffortStyle],
    *,
    markers: bool = True,
    envelope: bool = False,
) -> None:
    """One line an effort, from no leniency (top left) to full leniency.

    Args:
        axes: to draw on; speed across, agreement up.
        table: columns `steps` (`threshold`), `leniency`, `agreement` and `speed`, with `_se`, or `_low` and
            `_high`, where known.
        speed: column of the horizontal axis.
        styles: of each effort.
        markers: whether each row is a point of its own (a measurement), or one of a curve.
        envelope: whether to lay the frontier of all efforts, as a pale band, under the lines.
    """
    if envelope:
        _draw_envelope(axes, table, speed)
    levels = efforts(table)
    for level in sorted(set(levels.dropna())):
        rows, style = table[levels == level].sort_values("leniency", kind="stable"), styles[level]
        axes.errorbar(
            rows[speed],
            rows["agreement"],
            xerr=_error(rows, speed),
            yerr=_error(rows, "agreement"),
            color=style.colour,
            marker=style.marker if markers else None,
            markersize=3.2,
            markerfacecolor="white",
            markeredgewidth=0.8,
            elinewidth=0.6,
            label=level.label,
            zorder=3,
        )


def share_quality_axis(panels: list[Axes]) -> None:
    """Give panels one vertical range."""
    low = min(axes.dataLim.y0 for axes in panels)
    high = max(axes.dataLim.y1 for axes in panels)
    for axes in panels:
        axes.set_ylim(low - 0.04 * (high - low), high + 0.04 * (high - low))


def _draw_envelope(axes: Axes, table: pd.DataFrame, speed: str) -> None:
    points = table[[speed, "agreement"]].dropna().sort_values(speed, kind="stable").to_numpy(dtype=np.float64)
    if len(points):
        best = points[pareto_mask(points)]
        axes.plot(
            *best.T, color=INK, alpha=0.13, linewidth=6.5, solid_capstyle="round", solid_joinstyle="round", zorder=1
        )


def _error(rows: pd.DataFrame, column: str) -> np.ndarray | None:
    if f"{column}_se" in rows:
        spread = rows[f"{column}_se"].to_numpy(dtype=np.float64)
        return np.stack([spread, spread]) if np.isfinite(spread).any() else None
    if f"{column}_low" in rows:
        value = rows[column].to_numpy(dtype=np.float64)
        low, high = (rows[f"{column}_{end}"].to_numpy(dtype=np.float64) for end in ("low", "high"))
        spread = np.clip(np.stack([value - low, high - value]), 0.0, None)
        return spread if np.isfinite(spread).any() else None
    return None
