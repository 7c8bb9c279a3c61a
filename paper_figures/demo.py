"""The three figures of the main job, in the manner of the paper's Figures 3, 4 and 6."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from specfrontier.paper_figures.canvas import new_figure
from specfrontier.paper_figures.cost_panels import cost_figure, round_costs
from specfrontier.paper_figures.efforts import effort_styles, efforts
from specfrontier.paper_figures.frontier_panels import Sweep, frontier_figure
from specfrontier.paper_figures.frontier_plot import effort_handles
from specfrontier.paper_figures.outputs import FORMATS, Drawing, output_folder, save_figure
from specfrontier.paper_figures.scales import set_speed_scale
from specfrontier.paper_figures.selection import (
    baseline,
    leniency_of,
    require_rows,
    rule_family,
    sweep,
    usual_block_size,
)
from specfrontier.paper_figures.style import PAGE_IN, journal_style
from specfrontier.paper_figures.throughput_panels import (
    ACCEPTANCE_LABEL,
    AGREEMENT_LABEL,
    THROUGHPUT_LABEL,
    draw_tradeoff,
    share_quality_axis,
)
from specfrontier.profile import Profile

_TRADEOFF_COLUMNS = ["steps", "threshold", "rule", "leniency", "agreement", "acceptance", "throughput"]


def demo_figures(
    profile: Profile,
    predictions: pd.DataFrame,
    measurements: pd.DataFrame,
    rounds: pd.DataFrame,
    out: Path,
    *,
    predictor: str | None = None,
    family: str = "linear",
    formats: Sequence[str] = FORMATS,
) -> list[Path]:
    """Draw prediction beside measurement, the frontier, and the costs of one pair.

    Args:
        profile: of the pair; names it, and holds the line of the draft cost.
        predictions, measurements, rounds: tables of `specfrontier.schema`.
        out: folder, made if absent.
        predictor: whose predictions are drawn; the first in the table if None.
        family: of acceptance rules; the lossless rule is part of every family.
        formats: any of pdf, svg, png.

    Returns:
        Paths of the images and of the CSV behind each: `prediction.*`, `frontier.*`, `costs.*`.

    Raises:
        InputError: if a table lacks what a figure needs, or `out` cannot be written.
    """
    folder = output_folder(out)
    measured = sweep(measurements, pair=profile.pair, family=family)
    measured = measured[measured["block_size"] == usual_block_size(measured)]
    require_rows(
        measured, f"speculative measurements of {profile.pair} under {family} leniency", "measure a grid first"
    )
    predicted = _predicted(predictions, profile.pair, predictor, measured, family)
    verifier = baseline(measurements, "autoregressive", pair=profile.pair)
    drawings = {
        "prediction": lambda: draw_prediction(predicted, measured),
        "frontier": lambda: frontier_figure([Sweep("", measured, verifier)]),
        "costs": lambda: cost_figure(round_costs(rounds, measurements), profile.draft_cost),
    }
    paths: list[Path] = []
    with journal_style():
        for name, drawing in drawings.items():
            paths += save_figure(drawing(), folder, name, formats)
    return paths


def draw_prediction(predicted: pd.DataFrame, measured: pd.DataFrame) -> Drawing:
    """Four panels as in Figure 3: acceptance and throughput against agreement, predicted and measured."""
    styles = effort_styles(pd.concat([efforts(predicted), efforts(measured)]).dropna())
    figure = new_figure(PAGE_IN, 2.05)
    panels = figure.subplots(1, 4, sharey=True)
    titles = ("(a) Predicted", "(b) Measured", "(c) Predicted", "(d) Measured")
    for axes, title, i in zip(panels, titles, range(4), strict=True):
        speed = "acceptance" if i < 2 else "throughput"
        table = measured if i % 2 else predicted
        draw_tradeoff(axes, table, speed, styles, envelope=speed == "throughput")
        axes.set_title(title)
        axes.set_xlabel(ACCEPTANCE_LABEL if i < 2 else THROUGHPUT_LABEL)
    panels[0].set_ylabel(AGREEMENT_LABEL)
    for speed, pair in (("acceptance", panels[:2]), ("throughput", panels[2:])):
        set_speed_scale(pair, np.concatenate([predicted[speed], measured[speed]]))
    share_quality_axis(list(panels))
    figure.legend(handles=effort_handles(styles), loc="outside upper center", ncols=len(styles))
    tables = [_columns(predicted).assign(source="predicted"), _columns(measured).assign(source="measured")]
    return Drawing(figure, pd.concat(tables, ignore_index=True))


def _predicted(
    predictions: pd.DataFrame, pair: str, predictor: str | None, measured: pd.DataFrame, family: str
) -> pd.DataFrame:
    """Predictions of the measured configurations alone, by one predictor."""
    rows = predictions[predictions["pair"] == pair]
    chosen = predictor if predictor is not None or rows.empty else rows["predictor"].iloc[0]
    rows = rows[(rows["predictor"] == chosen) & rows["block_size"].isin(measured["block_size"].unique())]
    rows = rows[[rule_family(spec) in (family, "lossless") for spec in rows["rule"]]]
    require_rows(rows, f"predictions of {pair} by {chosen!r}", "predict the same grid first")
    return rows.assign(leniency=[leniency_of(spec) for spec in rows["rule"]])


def _columns(table: pd.DataFrame) -> pd.DataFrame:
    errors = [f"{c}{s}" for c in ("agreement", "acceptance", "throughput") for s in ("_se", "_low", "_high")]
    return table[[c for c in [*_TRADEOFF_COLUMNS, *errors] if c in table]]
