"""Figure 2: (a) why linear interpolation is optimal; (b) each tradeoff alone reaches its own part of the frontier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Polygon

from specfrontier.paper_figures.canvas import HALO, new_figure
from specfrontier.paper_figures.efforts import effort_styles, efforts
from specfrontier.paper_figures.frontier_panels import VERIFIER_LABEL
from specfrontier.paper_figures.frontier_plot import (
    THROUGHPUT,
    draw_frontier,
    draw_plain_frontier,
    draw_reference,
    effort_handles,
    percent_axis,
)
from specfrontier.paper_figures.measured import first_task, source_note
from specfrontier.paper_figures.outputs import Drawing
from specfrontier.paper_figures.run import RunSource
from specfrontier.paper_figures.scales import set_speed_scale
from specfrontier.paper_figures.selection import baseline, require_rows, sweep, usual_block_size
from specfrontier.paper_figures.simplex import CORNERS, draw_simplex, to_plane, tv_ball
from specfrontier.paper_figures.style import COLUMN_IN, INK, MUTED, PAGE_IN, named_colours
from specfrontier.theory import optimal_target, tv_distance

# An example in general position: three tokens, so that the simplex is a plane.
_P = np.array([0.62, 0.24, 0.14])
_Q = np.array([0.10, 0.38, 0.52])
_EPSILON = 0.2
_PAPER = "Dream 7B alone, Qwen2.5-1.5B drafting for Qwen2.5-32B on GSM8K"
_BLUE, _ORANGE = named_colours(["verifier", "drafter"]).values()


def draw(source: RunSource | None) -> Drawing:
    """Panel (a) by computation; panel (b) from a run, if there is one.

    Raises:
        UnavailableError: if a run is given that was not measured on drafters alone.
    """
    if source is None:
        figure = new_figure(COLUMN_IN, 2.4)
        return Drawing(figure, _draw_target(figure.subplots()))
    example = _example(source)
    figure = new_figure(PAGE_IN, 2.45, source_note(source, example.rows, _PAPER))
    left, right = figure.subplots(1, 2)
    left.set_title("(a) Optimal relaxed target")
    right.set_title("(b) Each tradeoff alone")
    data = [_draw_target(left), _draw_example(right, example)]
    return Drawing(figure, pd.concat(data, ignore_index=True))


def _draw_target(axes: Axes) -> pd.DataFrame:
    """The simplex of three tokens with the budget's ball about p, the nearest ball about q, and where they touch."""
    target = np.asarray(optimal_target(_P, _Q, _EPSILON))
    rest = float(tv_distance(target, _Q))
    triangle = draw_simplex(axes, MUTED)
    for law, radius, colour, style in ((_P, _EPSILON, _BLUE, "solid"), (_Q, rest, _ORANGE, "dashed")):
        ball = Polygon(
            to_plane(tv_ball(law, radius)),
            closed=True,
            facecolor=to_rgba(colour, 0.14),
            edgecolor=colour,
            linestyle=style,
        )
        axes.add_patch(ball)
        ball.set_clip_path(triangle)
    points = to_plane(np.stack([_P, target, _Q]))
    axes.plot(*points.T, color=INK, linewidth=1.0, zorder=3)
    for point, paint, label, shift in zip(
        points,
        (_BLUE, INK, _ORANGE),
        (r"verifier $p$", r"$\tilde{p}^\star = (1-\lambda)p + \lambda q$", r"drafter $q$"),
        ((-34, -11), (8, -9), (5, 5)),
        strict=True,
    ):
        axes.plot(*point, marker="o", markersize=5, color=paint, markeredgecolor="white", zorder=4)
        axes.annotate(label, point, xytext=shift, textcoords="offset points", fontsize=7.5, zorder=5, path_effects=HALO)
    for start, end, label in ((points[0], points[1], r"$\epsilon$"), (points[1], points[2], r"$D_{TV}(p,q)-\epsilon$")):
        axes.annotate(
            label,
            (start + end) / 2,
            xytext=(-4, 4),
            textcoords="offset points",
            ha="right",
            fontsize=7.5,
            zorder=5,
            path_effects=HALO,
        )
    for corner, name, align in zip(
        CORNERS, ("1", "2", "3"), (("right", "top"), ("left", "top"), ("center", "bottom")), strict=True
    ):
        axes.text(
            float(corner[0]), float(corner[1]), f"token {name}", ha=align[0], va=align[1], fontsize=6.5, color=MUTED
        )
    axes.set_xlim(-0.14, 1.14)
    axes.set_ylim(-0.08, 0.95)
    laws = pd.DataFrame([_P, target, _Q], columns=["token_1", "token_2", "token_3"])
    names, distances = ["verifier p", "optimal target", "drafter q"], [0.0, _EPSILON, _EPSILON + rest]
    return laws.assign(panel="a", law=names, tv_to_verifier=distances)


@dataclass(frozen=True)
class _Example:
    """Measurements of panel (b): a diffusion drafter alone, leniency alone, and the verifier alone."""

    pair: str
    other: str
    alone: pd.DataFrame
    lenient: pd.DataFrame
    verifier: pd.DataFrame

    @property
    def rows(self) -> pd.DataFrame:
        return pd.concat([self.alone, self.lenient, self.verifier], ignore_index=True)


def _example(source: RunSource) -> _Example:
    """Leniency alone is that of a drafter measured at one effort, else of the diffusion drafter at its least."""
    pair = source.diffusion_pair(0)
    task = first_task(source, pair)
    alone = baseline(source.measurements, "drafter", pair=pair, task=task)
    require_rows(alone, f"measurements of {pair}'s drafter alone", "measure the mode drafter as well")
    other = next((p for p in source.one_step_pairs if task in source.tasks(p)), pair)
    lenient = sweep(source.measurements, pair=other, task=task)
    lenient = lenient[efforts(lenient) == efforts(lenient).min()]
    lenient = lenient[lenient["block_size"] == usual_block_size(lenient)]
    verifier = baseline(source.measurements, "autoregressive", pair=pair, task=task).head(1)
    return _Example(pair, other, alone, lenient, verifier)


def _draw_example(axes: Axes, example: _Example) -> pd.DataFrame:
    data = example.rows
    set_speed_scale([axes], data["throughput"])
    styles = effort_styles(efforts(example.alone))
    draw_frontier(axes, example.alone, THROUGHPUT, styles)
    draw_plain_frontier(axes, example.lenient, THROUGHPUT, _ORANGE)
    handles: list[Artist] = [*effort_handles(styles)]
    handles += axes.plot([], [], color=_ORANGE, linewidth=2.2, label=f"{example.other}, leniency alone")
    if len(example.verifier):
        draw_reference(axes, example.verifier.iloc[0], THROUGHPUT, VERIFIER_LABEL)
        handles.append(axes.get_legend_handles_labels()[0][-1])
    axes.set_xlabel(THROUGHPUT.label)
    percent_axis(axes)
    axes.legend(handles=handles, loc="lower left", title=f"{example.pair}, diffusion alone")
    return data.assign(panel="b")
