"""Figure 3: acceptance and throughput against verifier agreement, by the model and as measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from specfrontier.paper_figures.canvas import new_figure
from specfrontier.paper_figures.efforts import effort_styles, efforts
from specfrontier.paper_figures.frontier_plot import effort_handles
from specfrontier.paper_figures.measured import calibration_rows, source_note
from specfrontier.paper_figures.outputs import Drawing
from specfrontier.paper_figures.run import RunSource
from specfrontier.paper_figures.scales import set_speed_scale
from specfrontier.paper_figures.style import COLUMN_IN, PAGE_IN
from specfrontier.paper_figures.theory_curves import TheoryInputs, paper_inputs, profile_inputs, theory_curves
from specfrontier.paper_figures.throughput_panels import (
    ACCEPTANCE_LABEL,
    AGREEMENT_LABEL,
    draw_tradeoff,
    share_quality_axis,
)

_PAPER = "Dream-7B and Qwen2.5-32B on GSM8K, $K$ = 1 to 4, 50 questions"


def draw(source: RunSource | None) -> Drawing:
    """Panels (a) and (c) from the paper's numbers; with a run, all four from the pair's profile and measurements."""
    if source is None:
        return _theory_only(paper_inputs())
    pair = source.diffusion_pair(0)
    profile = source.profile(pair)
    inputs = paper_inputs() if profile is None else profile_inputs(profile)
    return _beside_measured(inputs, calibration_rows(source, pair), source)


def _theory_only(inputs: TheoryInputs) -> Drawing:
    curves = theory_curves(inputs)
    styles = effort_styles(efforts(curves))
    figure = new_figure(COLUMN_IN, 1.95, inputs.note)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, speed, title, label in zip(
        panels,
        ("acceptance", "throughput"),
        ("(a) Theoretical", "(c) Theoretical"),
        (ACCEPTANCE_LABEL, inputs.speed_label),
        strict=True,
    ):
        _panel(axes, curves, speed, title, label, styles, markers=False)
        set_speed_scale([axes], curves[speed])
    panels[0].set_ylabel(AGREEMENT_LABEL)
    figure.legend(handles=effort_handles(styles, markers=False), loc="outside upper center", ncols=len(styles))
    return Drawing(figure, curves.assign(panel="a, c"))


def _beside_measured(inputs: TheoryInputs, measured: pd.DataFrame, source: RunSource) -> Drawing:
    curves = theory_curves(inputs)
    styles = effort_styles(pd.concat([efforts(curves), efforts(measured)]).dropna())
    figure = new_figure(PAGE_IN, 2.05, f"{inputs.note} {source_note(source, measured, _PAPER)}")
    panels = figure.subplots(1, 4, sharey=True)
    _panel(panels[0], curves, "acceptance", "(a) Theoretical", ACCEPTANCE_LABEL, styles, markers=False)
    _panel(panels[1], measured, "acceptance", "(b) Measured", ACCEPTANCE_LABEL, styles, markers=True)
    _panel(panels[2], curves, "throughput", "(c) Theoretical", inputs.speed_label, styles, markers=False)
    _panel(panels[3], measured, "throughput", "(d) Measured", "Throughput (tokens/s)", styles, markers=True)
    set_speed_scale(panels[:2], np.concatenate([curves["acceptance"], measured["acceptance"]]))
    set_speed_scale(panels[2:3], curves["throughput"])
    set_speed_scale(panels[3:], measured["throughput"])
    share_quality_axis(list(panels))
    panels[0].set_ylabel(AGREEMENT_LABEL)
    figure.legend(handles=effort_handles(styles), loc="outside upper center", ncols=len(styles))
    data = [curves.assign(panel="a, c"), measured.assign(panel="b, d")]
    return Drawing(figure, pd.concat(data, ignore_index=True))


def _panel(axes: Axes, table: pd.DataFrame, speed: str, title: str, label: str, styles: dict, *, markers: bool) -> None:
    draw_tradeoff(axes, table, speed, styles, markers=markers, envelope=speed == "throughput")
    axes.set_title(title)
    axes.set_xlabel(label)
