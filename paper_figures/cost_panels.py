"""Panels of Figure 6: draft cost with its line a + bK, and the distribution of verify costs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from specfrontier.errors import InputError
from specfrontier.paper_figures.canvas import new_figure
from specfrontier.paper_figures.efforts import EffortLevel, EffortStyle, effort_styles, efforts
from specfrontier.paper_figures.outputs import Drawing
from specfrontier.paper_figures.style import COLUMN_IN, INK, MUTED
from specfrontier.profile import LineFit

_CENTRAL = (2.5, 97.5)  # the middle 95 % of rounds; a stall of the machine is not a cost of the model
_BINS = 28
#: What the error bars of the draft costs and the band of the verify costs are, for a caption.
SPREAD = "the middle 95 % of rounds, the band one standard deviation"


def round_costs(rounds: pd.DataFrame, configurations: pd.DataFrame) -> pd.DataFrame:
    """Draft and verify milliseconds of every speculative round, with the effort of its configuration.

    Args:
        rounds: columns config, draft_s, verify_s.
        configurations: columns config, mode, steps, threshold (measurements have them too).

    Returns:
        Columns config, steps, threshold, draft_ms, verify_ms.

    Raises:
        InputError: if no round belongs to a speculative configuration.
    """
    settings = configurations[configurations["mode"] == "speculative"][["config", "steps", "threshold"]]
    table = rounds.drop(columns=["steps"], errors="ignore").merge(settings.drop_duplicates("config"), on="config")
    if table.empty:
        raise InputError("the run holds no rounds of speculative configurations; measure some, and keep the rounds")
    table = table.assign(draft_ms=1e3 * table["draft_s"], verify_ms=1e3 * table["verify_s"])
    return table[["config", "steps", "threshold", "draft_ms", "verify_ms"]]


def draft_summary(costs: pd.DataFrame) -> pd.DataFrame:
    """Median draft cost of each fixed K: columns panel, steps, rounds, draft_ms, low_ms, high_ms (middle 95 %)."""
    fixed = costs[costs["threshold"].isna() & costs["steps"].notna()]
    rows = [
        ("draft", int(steps), len(cost), float(cost.median()), *np.percentile(cost, _CENTRAL))
        for steps, cost in fixed.groupby("steps")["draft_ms"]
    ]
    return pd.DataFrame(rows, columns=["panel", "steps", "rounds", "draft_ms", "low_ms", "high_ms"])


def verify_histogram(costs: pd.DataFrame) -> pd.DataFrame:
    """Counts behind the histogram: columns panel, from_ms, to_ms, rounds, over the middle 95 % of rounds."""
    counts, edges = np.histogram(_central(costs["verify_ms"]), bins=_BINS)
    return pd.DataFrame({"panel": "verify", "from_ms": edges[:-1], "to_ms": edges[1:], "rounds": counts})


def cost_figure(costs: pd.DataFrame, fit: LineFit | None, note: str = "") -> Drawing:
    """Draft cost and its line, and the spread of verify costs, side by side."""
    figure = new_figure(COLUMN_IN, 1.75, note)
    left, right = figure.subplots(1, 2)
    draw_draft_costs(left, costs, fit, effort_styles(efforts(costs).dropna()))
    draw_verify_costs(right, costs)
    return Drawing(figure, pd.concat([draft_summary(costs), verify_histogram(costs)], ignore_index=True))


def draw_draft_costs(
    axes: Axes, costs: pd.DataFrame, fit: LineFit | None, styles: Mapping[EffortLevel, EffortStyle]
) -> None:
    """Median draft cost of each fixed K with the middle 95 % of rounds, and the fitted line."""
    summary = draft_summary(costs)
    for level, row in zip(efforts(summary), summary.itertuples(), strict=True):
        style = styles[level]
        axes.errorbar(
            row.steps,
            row.draft_ms,
            yerr=[[row.draft_ms - row.low_ms], [row.high_ms - row.draft_ms]],
            marker=style.marker,
            color=style.colour,
            markerfacecolor="white",
            markeredgewidth=1.0,
            markersize=4.5,
            elinewidth=1.0,
            capsize=2,
            capthick=0.8,
            zorder=3,
        )
    if fit is not None and not summary.empty:
        _draw_fit(axes, fit, float(summary["steps"].max()))
    axes.set_xticks(sorted(summary["steps"]))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("Denoising steps $K$")
    axes.set_ylabel("Draft cost per round (ms)")


def draw_verify_costs(axes: Axes, costs: pd.DataFrame) -> None:
    """Histogram of verify costs over all configurations, with their mean and one standard deviation."""
    shown = _central(costs["verify_ms"])
    mean, spread = float(shown.mean()), float(shown.std(ddof=1))
    axes.axvspan(mean - spread, mean + spread, color=MUTED, alpha=0.16, linewidth=0, zorder=0)
    blue = sns.color_palette("colorblind")[0]
    sns.histplot(x=shown, ax=axes, bins=_BINS, stat="percent", color=blue, alpha=0.8, edgecolor="white", linewidth=0.3)
    axes.axvline(mean, color=INK, linewidth=1.0, zorder=4)
    _note(axes, rf"$c_v = {mean:.2f} \pm {spread:.2f}$ ms", x=0.97, align="right")
    axes.set_ylim(top=1.18 * axes.get_ylim()[1])
    axes.set_xlabel("Verify cost per round (ms)")
    axes.set_ylabel("Rounds (%)")


def _central(cost: pd.Series) -> pd.Series:
    return cost[cost.between(*np.percentile(cost, _CENTRAL))]


def _draw_fit(axes: Axes, fit: LineFit, largest: float) -> None:
    steps = np.array([0.0, 1.08 * largest])
    intercept, slope = 1e3 * fit.intercept.value, 1e3 * fit.slope.value
    axes.plot(steps, intercept + slope * steps, color=INK, linewidth=1.0, linestyle=(0, (4, 2)), zorder=2)
    axes.set_xlim(*steps)
    sign = "+" if slope >= 0 else "-"
    line = rf"$c_d(K) = {intercept:.2f} {sign} {abs(slope):.2f}\,K$ ms"
    _note(axes, f"{line}\n$R^2 = {fit.r_squared:.3f}$", x=0.03, align="left")


def _note(axes: Axes, text: str, *, x: float, align: str) -> None:
    axes.text(x, 0.98, text, transform=axes.transAxes, ha=align, va="top", fontsize=6.5, linespacing=1.3, zorder=5)
