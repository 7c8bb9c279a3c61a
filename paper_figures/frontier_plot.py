"""The paper's way to draw a frontier.

A thick line through the nondominated points, coloured by the diffusion effort that each came from, with a gradient
between points of different effort and a white tick across the line at each point; hollow markers are dominated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from specfrontier.paper_figures.efforts import EffortLevel, EffortStyle, effort_styles, efforts
from specfrontier.paper_figures.frontier_line import FrontierTicks, gradient_line
from specfrontier.paper_figures.style import INK, MUTED, Colour
from specfrontier.theory import pareto_mask


@dataclass(frozen=True)
class SpeedAxis:
    """One way to measure speed.

    Attributes:
        column: of the measurements.
        label: of the axis.
        more_is_better: True for throughput, False for latency.
    """

    column: str
    label: str
    more_is_better: bool


LATENCY = SpeedAxis("latency", "Latency (s per problem)", more_is_better=False)
THROUGHPUT = SpeedAxis("throughput", "Throughput (tokens/s)", more_is_better=True)
SPEED_AXES = (LATENCY, THROUGHPUT)

PERCENT = FuncFormatter(lambda value, _: f"{100 * value:.0f}")


def frontier_mask(table: pd.DataFrame, speed: SpeedAxis, quality: str = "accuracy") -> NDArray[np.bool_]:
    """Which rows no other row beats in both speed and quality; rows without a value are never on the frontier."""
    points = table[[speed.column, quality]].to_numpy(dtype=np.float64)
    known = np.isfinite(points).all(axis=1)
    mask = np.zeros(len(table), dtype=np.bool_)
    if known.any():
        mask[known] = pareto_mask(points[known], maximise=(speed.more_is_better, True))
    return mask


def draw_frontier(
    axes: Axes,
    table: pd.DataFrame,
    speed: SpeedAxis,
    styles: Mapping[EffortLevel, EffortStyle] | None = None,
    *,
    quality: str = "accuracy",
    dominated: bool = True,
) -> NDArray[np.bool_]:
    """Draw one set of configurations and its frontier.

    Args:
        axes: to draw on.
        table: one row a configuration: the speed's column, `quality` and, where known, `*_se`, `steps`, `threshold`.
        speed: the horizontal axis.
        styles: of each effort; made from the table if None.
        quality: column of the vertical axis, a share in [0, 1].
        dominated: whether to draw the points that are not on the frontier.

    Returns:
        The frontier's mask over the rows of `table`.
    """
    levels = efforts(table)
    styles = styles or effort_styles(levels.dropna())
    mask = frontier_mask(table, speed, quality)
    _error_bars(axes, table, levels, mask, styles, speed.column, quality, dominated)
    if dominated:
        _hollow_markers(axes, table[~mask], levels[~mask], styles, speed.column, quality)
    best = table[mask].sort_values([speed.column, quality], kind="stable")
    colours = [styles[level].colour if level else to_rgb(INK) for level in levels[best.index]]
    points = best[[speed.column, quality]].to_numpy(dtype=np.float64)
    gradient_line(axes, points, colours)
    axes.add_artist(FrontierTicks(points))
    axes.autoscale_view(scalex=False)
    return mask


def draw_plain_frontier(
    axes: Axes,
    table: pd.DataFrame,
    speed: SpeedAxis,
    colour: Colour,
    *,
    quality: str = "accuracy",
    dashed: bool = False,
    width: float = 2.2,
) -> NDArray[np.bool_]:
    """A frontier in one colour, without its dominated points; dashed for a fixed effort, solid for a joint one.

    Returns:
        The frontier's mask over the rows of `table`.
    """
    mask = frontier_mask(table, speed, quality)
    best = table[mask].sort_values([speed.column, quality], kind="stable")
    points = best[[speed.column, quality]].to_numpy(dtype=np.float64)
    style = {"linestyle": (0, (2.2, 1.1)), "dash_capstyle": "butt"} if dashed else {"solid_capstyle": "round"}
    axes.plot(*points.T, color="white", linewidth=width + 1.4, solid_capstyle="round", zorder=3)
    axes.plot(*points.T, color=colour, linewidth=width, zorder=4, **style)
    if len(points) == 1:
        axes.plot(*points.T, marker="o", color=colour, markersize=4, zorder=4)
    return mask


def draw_reference(axes: Axes, row: pd.Series, speed: SpeedAxis, label: str, *, quality: str = "accuracy") -> None:
    """One filled star for a baseline, such as the verifier alone, with its error bar."""
    axes.errorbar(
        row[speed.column],
        row[quality],
        yerr=_error(row, quality),
        marker="*",
        markersize=7,
        color=INK,
        elinewidth=0.6,
        markeredgecolor="white",
        markeredgewidth=0.4,
        linestyle="none",
        label=label,
        zorder=6,
    )


def percent_axis(axes: Axes, label: str | None = "Accuracy (%)") -> None:
    """Show shares as per cent on the vertical axis."""
    axes.yaxis.set_major_formatter(PERCENT)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    if label:
        axes.set_ylabel(label)


def effort_handles(styles: Mapping[EffortLevel, EffortStyle], *, markers: bool = True) -> list[Line2D]:
    """Legend entries of the efforts: the frontier's line and, with `markers`, the hollow marker on it."""
    return [
        Line2D(
            [],
            [],
            color=style.colour,
            marker=style.marker if markers else "none",
            linewidth=2.2,
            markersize=4,
            markerfacecolor="white",
            markeredgewidth=0.8,
            label=level.label,
        )
        for level, style in sorted(styles.items())
    ]


def _hollow_markers(
    axes: Axes,
    table: pd.DataFrame,
    levels: pd.Series,
    styles: Mapping[EffortLevel, EffortStyle],
    x: str,
    y: str,
) -> None:
    for level in sorted(set(levels.dropna())):
        rows, style = table[levels == level], styles[level]
        axes.plot(
            rows[x],
            rows[y],
            linestyle="none",
            marker=style.marker,
            markerfacecolor="none",
            markeredgecolor=style.colour,
            markeredgewidth=0.8,
            zorder=2.5,
        )


def _error_bars(
    axes: Axes,
    table: pd.DataFrame,
    levels: pd.Series,
    mask: NDArray[np.bool_],
    styles: Mapping[EffortLevel, EffortStyle],
    x: str,
    y: str,
    dominated: bool,
) -> None:
    """One standard error both ways, fainter for dominated points."""
    for (index, row), on_frontier in zip(table.iterrows(), mask, strict=True):
        if not (dominated or on_frontier):
            continue
        level = levels[index]
        axes.errorbar(
            row[x],
            row[y],
            xerr=_error(row, x),
            yerr=_error(row, y),
            fmt="none",
            ecolor=styles[level].colour if level else MUTED,
            elinewidth=0.6,
            alpha=0.7 if on_frontier else 0.28,
            zorder=2,
        )


def _error(row: pd.Series, column: str) -> float | None:
    value = row.get(f"{column}_se")
    return None if value is None or not np.isfinite(value) else float(value)
