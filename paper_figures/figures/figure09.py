"""Figure 9: frontiers by block size, and their speed relative to the largest block at equal accuracy."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from specfrontier.paper_figures.canvas import new_figure
from specfrontier.paper_figures.efforts import EffortLevel, EffortStyle, effort_styles, efforts
from specfrontier.paper_figures.frontier_plot import SPEED_AXES, SpeedAxis, draw_plain_frontier, percent_axis
from specfrontier.paper_figures.measured import first_task, source_note
from specfrontier.paper_figures.outputs import Drawing
from specfrontier.paper_figures.run import RunSource
from specfrontier.paper_figures.scales import set_speed_scale
from specfrontier.paper_figures.selection import UnavailableError, sweep
from specfrontier.paper_figures.style import INK, PAGE_IN, Colour, named_colours

_PAPER = r"Dream-7B and Qwen2.5-32B on GSM8K, $B$ = 32, 64, 128 and $\leq$ 512"


def draw(source: RunSource) -> Drawing:
    """The first diffusion pair that was swept at several block sizes, under linear leniency.

    Raises:
        UnavailableError: if no pair was swept at two block sizes or more.
    """
    rows = _ablation(source)
    sizes = sorted(int(size) for size in rows["block_size"].unique())
    colours = {int(name): colour for name, colour in named_colours([str(size) for size in sizes]).items()}
    styles = effort_styles(efforts(rows).dropna())
    figure = new_figure(PAGE_IN, 2.3, source_note(source, rows, _PAPER))
    grid = figure.subplots(1, 4, sharey=True)
    data = [
        _draw_absolute(axes, rows, speed, colours, styles) for axes, speed in zip(grid[:2], SPEED_AXES, strict=True)
    ]
    for axes, speed, frontiers in zip(grid[2:], SPEED_AXES, list(data), strict=True):
        data.append(_draw_relative(axes, frontiers, speed, colours, reference=sizes[-1]))
    grid[0].set_title("(a) Absolute")
    grid[2].set_title(f"(b) Relative to $B$ = {sizes[-1]} at equal accuracy")
    percent_axis(grid[0])
    figure.legend(handles=_handles(colours, styles), loc="outside upper center", ncols=len(colours) + len(styles))
    return Drawing(figure, pd.concat(data, ignore_index=True))


def relative_speed(
    frontier: pd.DataFrame, reference: pd.DataFrame, speed: SpeedAxis, quality: str = "accuracy"
) -> pd.DataFrame:
    """How many times faster each point of a frontier is than the reference frontier at the point's accuracy.

    The reference is linear between its points; a point outside its range of accuracy is left out.

    Returns:
        Rows of `frontier` with the column `speedup`.
    """
    known = reference.sort_values(quality, kind="stable")
    inside = frontier[frontier[quality].between(known[quality].min(), known[quality].max())]
    at_equal_quality = np.interp(inside[quality], known[quality], known[speed.column])
    ratio = inside[speed.column] / at_equal_quality
    return inside.assign(speedup=ratio if speed.more_is_better else 1 / ratio)


def _ablation(source: RunSource) -> pd.DataFrame:
    for pair in source.diffusion_pairs:
        rows = sweep(source.measurements, pair=pair, task=first_task(source, pair), family="linear")
        if rows["block_size"].nunique() > 1:
            return rows
    raise UnavailableError(f"{source.name} holds no pair swept at two block sizes; measure with --block-sizes 8,16,32")


def _draw_absolute(
    axes: Axes,
    rows: pd.DataFrame,
    speed: SpeedAxis,
    colours: dict[int, Colour],
    styles: dict[EffortLevel, EffortStyle],
) -> pd.DataFrame:
    set_speed_scale([axes], rows[speed.column])
    frontiers = []
    for size, colour in colours.items():
        part = rows[rows["block_size"] == size]
        best = part[draw_plain_frontier(axes, part, speed, colour, width=1.6)]
        for level, (_, row) in zip(efforts(best), best.iterrows(), strict=True):
            marker = styles[level].marker if level else "o"
            axes.plot(
                row[speed.column], row["accuracy"], marker=marker, color=colour, markerfacecolor="white", zorder=6
            )
        frontiers.append(best)
    axes.set_xlabel(speed.label)
    return pd.concat(frontiers).assign(panel="a", speed=speed.column)


def _draw_relative(
    axes: Axes, frontiers: pd.DataFrame, speed: SpeedAxis, colours: dict[int, Colour], reference: int
) -> pd.DataFrame:
    base = frontiers[frontiers["block_size"] == reference]
    tables = []
    axes.axvline(1.0, color=colours[reference], linewidth=1.6, zorder=1)
    for size, colour in colours.items():
        if size == reference:
            continue
        part = relative_speed(frontiers[frontiers["block_size"] == size], base, speed).sort_values("accuracy")
        axes.plot(part["speedup"], part["accuracy"], color=colour, marker="o", markerfacecolor="white", zorder=3)
        tables.append(part)
    axes.set_xlabel("Throughput ratio" if speed.more_is_better else "Latency speedup")
    return pd.concat(tables).assign(panel="b")


def _handles(colours: dict[int, Colour], styles: dict[EffortLevel, EffortStyle]) -> list[Line2D]:
    lines = [Line2D([], [], color=colour, linewidth=2, label=f"$B$ = {size}") for size, colour in colours.items()]
    marks = [
        Line2D([], [], color=INK, marker=style.marker, linestyle="none", markerfacecolor="white", label=level.label)
        for level, style in sorted(styles.items())
    ]
    return lines + marks
