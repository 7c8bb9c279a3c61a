"""Frontiers side by side: accuracy against latency and against throughput, one such couple a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from specfrontier.paper_figures.canvas import new_figure
from specfrontier.paper_figures.efforts import EffortLevel, EffortStyle, effort_styles, efforts
from specfrontier.paper_figures.frontier_plot import (
    SPEED_AXES,
    draw_frontier,
    draw_plain_frontier,
    draw_reference,
    effort_handles,
    percent_axis,
)
from specfrontier.paper_figures.outputs import Drawing
from specfrontier.paper_figures.scales import set_speed_scale
from specfrontier.paper_figures.style import COLUMN_IN, INK, PAGE_IN


@dataclass(frozen=True)
class Sweep:
    """One set of configurations and the frontier to draw of it.

    Attributes:
        title: over its two panels; empty for none.
        rows: of the measurements, all speculative.
        verifier: rows of the verifier alone, to mark its point; may be empty.
    """

    title: str
    rows: pd.DataFrame
    verifier: pd.DataFrame = field(default_factory=pd.DataFrame)


def frontier_figure(sweeps: Sequence[Sweep], note: str = "", *, fixed_one: bool = False) -> Drawing:
    """Two panels a sweep, two sweeps a row; one colour scale of efforts for all.

    Args:
        sweeps: one or more.
        note: what was measured, printed under the figure.
        fixed_one: whether to add, dashed, the frontier of the configurations with one diffusion step.
    """
    across = min(2, len(sweeps))
    down = -(-len(sweeps) // across)
    width = COLUMN_IN if across == 1 else PAGE_IN
    figure = new_figure(width, 1.85 * down + 0.25, note)
    grid = figure.subplots(down, 2 * across, squeeze=False)
    styles = effort_styles(pd.concat([efforts(sweep.rows) for sweep in sweeps]).dropna())
    data = [
        draw_sweep(list(grid[i // across, 2 * (i % across) : 2 * (i % across) + 2]), sweep, styles, fixed_one=fixed_one)
        for i, sweep in enumerate(sweeps)
    ]
    for axes in grid.flat[2 * len(sweeps) :]:
        axes.set_axis_off()
    handles = effort_handles(styles)
    handles += [h for h in grid[0, 0].get_legend_handles_labels()[0] if h.get_label() == VERIFIER_LABEL]
    figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 5 if across == 1 else 10))
    return Drawing(figure, pd.concat(data, ignore_index=True))


VERIFIER_LABEL = "verifier alone"


def draw_sweep(
    panels: Sequence[Axes], sweep: Sweep, styles: Mapping[EffortLevel, EffortStyle], *, fixed_one: bool = False
) -> pd.DataFrame:
    """Draw latency on the first panel and throughput on the second; returns the rows with their frontier marks."""
    data = sweep.rows.assign(sweep=sweep.title)
    for axes, speed in zip(panels, SPEED_AXES, strict=True):
        reference = sweep.verifier.head(1)
        marked = reference[speed.column] if len(reference) else []
        set_speed_scale([axes], np.concatenate([sweep.rows[speed.column], marked]))
        data[f"on_{speed.column}_frontier"] = draw_frontier(axes, sweep.rows, speed, styles)
        one_step = sweep.rows[(sweep.rows["steps"] == 1) & sweep.rows["threshold"].isna()]
        if fixed_one and 0 < len(one_step) < len(sweep.rows):
            draw_plain_frontier(axes, one_step, speed, to_rgb(INK), dashed=True, width=1.1)
        if len(reference):
            draw_reference(axes, reference.iloc[0], speed, VERIFIER_LABEL)
        axes.set_xlabel(speed.label)
    panels[1].sharey(panels[0])
    panels[1].tick_params(labelleft=False)
    percent_axis(panels[0])
    panels[0].set_title(sweep.title)
    return data
