"""Figure 5: frontiers of drafters that share a verifier; dashed at one diffusion step, solid over both dials."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from specfrontier.paper_figures.canvas import new_figure
from specfrontier.paper_figures.efforts import efforts
from specfrontier.paper_figures.frontier_panels import VERIFIER_LABEL
from specfrontier.paper_figures.frontier_plot import SPEED_AXES, draw_plain_frontier, draw_reference, percent_axis
from specfrontier.paper_figures.measured import first_task, one_step_rows, pair_sweep, source_note
from specfrontier.paper_figures.outputs import Drawing
from specfrontier.paper_figures.run import RunSource
from specfrontier.paper_figures.scales import set_speed_scale
from specfrontier.paper_figures.selection import UnavailableError
from specfrontier.paper_figures.style import COLUMN_IN, INK, PAGE_IN, Colour, named_colours

_PAPER = "SDAR-1.7B, SDAR-8B, Uno, DFlash and DSpark under Qwen3-8B on GSM8K and HumanEval"


def draw(source: RunSource) -> Drawing:
    """All pairs of a run under linear leniency, one couple of panels a task.

    Raises:
        UnavailableError: if the run holds fewer than two pairs with a linear sweep on a common task.
    """
    tasks = source.tasks(source.pairs[0])[:2]
    by_task = {task: _sweeps(source, task) for task in tasks}
    by_task = {task: rows for task, rows in by_task.items() if len(rows) > 1}
    if not by_task:
        raise UnavailableError(
            f"{source.name} holds fewer than two pairs with a linear sweep on {first_task(source, source.pairs[0])}; "
            "add runs with --from"
        )
    colours = named_colours(list(dict.fromkeys(pair for rows in by_task.values() for pair in rows)))
    every = pd.concat([rows for sweeps in by_task.values() for rows in sweeps.values()])
    figure = new_figure(COLUMN_IN if len(by_task) == 1 else PAGE_IN, 2.35, source_note(source, every, _PAPER))
    grid = figure.subplots(1, 2 * len(by_task), squeeze=False)[0]
    data = [
        _draw_task(grid[2 * i : 2 * i + 2], source, task, rows, colours)
        for i, (task, rows) in enumerate(by_task.items())
    ]
    figure.legend(handles=_handles(colours), loc="outside upper center", ncols=3 if len(by_task) == 1 else 6)
    return Drawing(figure, pd.concat(data, ignore_index=True))


def _sweeps(source: RunSource, task: str) -> dict[str, pd.DataFrame]:
    found: dict[str, pd.DataFrame] = {}
    for pair in source.pairs:
        try:
            found[pair] = pair_sweep(source, pair, task, "linear", "").rows
        except UnavailableError:
            continue
    return found


def _draw_task(
    panels: np.ndarray, source: RunSource, task: str, sweeps: dict[str, pd.DataFrame], colours: dict[str, Colour]
) -> pd.DataFrame:
    verifier = pair_sweep(source, next(iter(sweeps)), task, "linear", "").verifier.head(1)
    table = pd.concat(sweeps.values(), ignore_index=True)
    data = []
    for axes, speed in zip(panels, SPEED_AXES, strict=True):
        set_speed_scale([axes], np.concatenate([table[speed.column], verifier.get(speed.column, [])]))
        for pair, rows in sweeps.items():
            for name, part in (("joint", rows), ("K=1", one_step_rows(rows))):
                if part.empty or (name == "joint" and efforts(rows).nunique() == 1):
                    continue
                mask = draw_plain_frontier(axes, part, speed, colours[pair], dashed=name == "K=1")
                data.append(part[mask].assign(frontier=name, speed=speed.column))
        if len(verifier):
            draw_reference(axes, verifier.iloc[0], speed, VERIFIER_LABEL)
        axes.set_xlabel(speed.label)
    panels[1].sharey(panels[0])
    panels[1].tick_params(labelleft=False)
    panels[0].set_title(task)
    percent_axis(panels[0])
    return pd.concat(data, ignore_index=True)


def _handles(colours: dict[str, Colour]) -> list[Line2D]:
    drafters = [Line2D([], [], color=colour, linewidth=2.2, label=pair) for pair, colour in colours.items()]
    kinds = [
        Line2D([], [], color=INK, linewidth=1.6, label=r"joint ($K$ and $\lambda$)"),
        Line2D([], [], color=INK, linewidth=1.6, linestyle=(0, (2.2, 1.1)), label=r"fixed $K=1$"),
    ]
    return drafters + kinds
