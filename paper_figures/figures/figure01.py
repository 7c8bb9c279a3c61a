"""Figure 1: diffusion trades by effort, speculative decoding by leniency, speculative diffusion by both.

The paper's figure is a sketch; this one is computed, by the throughput model, from the d_K that the paper prints.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from specfrontier.paper_figures.canvas import HALO, new_figure
from specfrontier.paper_figures.efforts import effort_styles, efforts
from specfrontier.paper_figures.frontier_line import gradient_line
from specfrontier.paper_figures.frontier_plot import SpeedAxis, effort_handles, frontier_mask
from specfrontier.paper_figures.outputs import Drawing
from specfrontier.paper_figures.run import RunSource
from specfrontier.paper_figures.scales import set_speed_scale
from specfrontier.paper_figures.style import INK, MUTED, PAGE_IN
from specfrontier.paper_figures.theory_curves import paper_inputs, theory_curves
from specfrontier.paper_figures.throughput_panels import AGREEMENT_LABEL

_TITLES = (
    r"(a) Diffusion: effort $K$",
    r"(b) Speculative decoding: leniency $\lambda$",
    r"(c) Speculative diffusion: both",
)


def draw(source: RunSource | None) -> Drawing:
    """The two tradeoffs apart, and the frontier of both together."""
    inputs = paper_inputs()
    curves = theory_curves(inputs)
    speed = SpeedAxis("throughput", inputs.speed_label, more_is_better=True)
    by_effort = curves[curves["leniency"] == 1.0]
    by_leniency = curves[curves["steps"] == curves["steps"].min()]
    styles = effort_styles(efforts(curves))
    figure = new_figure(PAGE_IN, 2.05, f"Computed by Equations 6 and 7. {inputs.note}")
    panels = figure.subplots(1, 3, sharey=True)
    set_speed_scale(panels, curves["throughput"])
    for axes, title in zip(panels, _TITLES, strict=True):
        axes.set_title(title)
        axes.set_xlabel(speed.label)
    for axes, rows in ((panels[0], by_effort), (panels[1], by_leniency)):
        _frontier(axes, rows, speed, styles)
        panels[2].plot(*rows[["throughput", "agreement"]].to_numpy().T, color=MUTED, linewidth=1.0, linestyle=":")
    curves["on_joint_frontier"] = _frontier(panels[2], curves, speed, styles)
    _label_points(panels[0], by_effort, [rf"$K={k}$" for k in by_effort["steps"]], to_right=False)
    _label_points(panels[1], by_leniency.iloc[:1], [r"$\lambda=0$"], to_right=True)
    _label_points(panels[1], by_leniency.iloc[-1:], [r"$\lambda=1$"], to_right=False)
    panels[0].set_ylabel(AGREEMENT_LABEL)
    panels[0].set_ylim(curves["agreement"].min() - 0.06, 1.05)
    figure.legend(handles=effort_handles(styles, markers=False), loc="outside upper center", ncols=len(styles))
    return Drawing(figure, curves)


def _frontier(axes: Axes, rows: pd.DataFrame, speed: SpeedAxis, styles: dict) -> pd.Series:
    mask = frontier_mask(rows, speed, "agreement")
    best = rows[mask].sort_values("throughput", kind="stable")
    colours = [styles[level].colour for level in efforts(best)]
    gradient_line(axes, best[["throughput", "agreement"]].to_numpy(), colours)
    return pd.Series(mask, index=rows.index)


def _label_points(axes: Axes, rows: pd.DataFrame, labels: list[str], *, to_right: bool) -> None:
    for (x, y), label in zip(rows[["throughput", "agreement"]].to_numpy(), labels, strict=True):
        axes.annotate(
            label,
            (x, y),
            xytext=(6 if to_right else -6, 0 if to_right else 4),
            textcoords="offset points",
            ha="left" if to_right else "right",
            va="center",
            fontsize=7,
            color=INK,
            path_effects=HALO,
        )
