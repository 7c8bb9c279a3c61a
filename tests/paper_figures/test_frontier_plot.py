"""The frontier is drawn as the paper draws it: who is on it, its colours, its ticks, its hollow markers."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from specfrontier.paper_figures.efforts import EffortLevel, effort_of, effort_styles, efforts
from specfrontier.paper_figures.frontier_line import FrontierTicks, gradient_line
from specfrontier.paper_figures.frontier_plot import (
    LATENCY,
    THROUGHPUT,
    draw_frontier,
    frontier_mask,
)


@pytest.fixture
def table():
    return pd.DataFrame(
        {
            "steps": [1, 1, 2, 2, 4],
            "threshold": [None] * 5,
            "throughput": [100.0, 200.0, 150.0, 300.0, 250.0],
            "latency": [1.0, 0.5, 0.7, 0.3, 0.4],
            "accuracy": [0.9, 0.7, 0.8, 0.6, np.nan],
        }
    )


def test_frontier_has_the_points_that_no_other_beats_in_both_speed_and_accuracy(table):
    assert frontier_mask(table, THROUGHPUT).tolist() == [True, True, True, True, False]
    slower = table.assign(latency=[1.0, 0.8, 0.7, 0.3, 0.4])  # row 1 is now slower and worse than row 2
    assert frontier_mask(slower, LATENCY).tolist() == [True, False, True, True, False]


def test_dominated_points_are_hollow_and_frontier_points_are_not_drawn(table):
    worse = table.assign(accuracy=[0.9, 0.7, 0.65, 0.6, 0.55])
    axes = Figure().subplots()
    mask = draw_frontier(axes, worse, THROUGHPUT)
    marks = [line for line in axes.lines if line.get_linestyle() == "None" and line.get_markersize() > 0]
    drawn = np.concatenate([line.get_xdata() for line in marks if line.get_marker() not in ("|", "_", "None")])
    assert sorted(drawn) == sorted(worse["throughput"][~mask])
    assert {line.get_markerfacecolor() for line in marks} == {"none"}


def test_gradient_runs_from_one_colour_to_the_next_and_equal_colours_need_none():
    axes = Figure().subplots()
    red, blue = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    gradient_line(axes, np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 1.5]]), [red, blue, blue])
    mixed, uniform = axes.collections
    shades = mixed.get_colors()[:, :3]
    assert np.all(np.diff(shades[:, 0]) < 0)
    assert np.all(np.diff(shades[:, 2]) > 0)
    assert np.allclose(shades.mean(axis=0), [0.5, 0, 0.5], atol=1e-9)
    assert np.allclose(uniform.get_colors()[:, :3], [blue])
    assert len(uniform.get_segments()) == 1


def test_ticks_are_white_and_square_to_the_line_on_the_page_even_on_a_logarithmic_axis():
    figure = Figure(figsize=(3, 2))
    axes = figure.subplots()
    axes.set_xscale("log")
    points = np.array([[1.0, 0.0], [10.0, 1.0], [100.0, 2.0]])  # straight on the page
    axes.set_xlim(0.5, 200)
    axes.set_ylim(-0.5, 2.5)
    ticks = axes.add_artist(FrontierTicks(points))
    figure.canvas.draw()
    along = np.diff(axes.transData.transform(points), axis=0)[0]
    for start, end in ticks.get_segments():
        across = end - start
        assert abs(across @ along) < 1e-6 * np.linalg.norm(across) * np.linalg.norm(along)
    assert np.allclose(ticks.get_colors()[:, :3], 1.0)


def test_fixed_steps_come_before_thresholds_and_lightness_rises_with_effort():
    rows = pd.DataFrame({"steps": [4, 1, 512], "threshold": [np.nan, np.nan, 0.9]})
    levels = efforts(rows)
    assert sorted(levels) == [EffortLevel(False, 1.0), EffortLevel(False, 4.0), EffortLevel(True, 0.9)]
    styles = effort_styles(levels)
    lightness = [np.dot(styles[level].colour, [0.2126, 0.7152, 0.0722]) for level in sorted(levels)]
    assert lightness == sorted(lightness)
    assert len({style.marker for style in styles.values()}) == 3
    assert effort_of(None, np.nan) is None
