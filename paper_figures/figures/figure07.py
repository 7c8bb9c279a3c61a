"""Figure 7: the first pair under each family of rules, Cactus beside linear acceptance."""

from __future__ import annotations

import pandas as pd

from specfrontier.paper_figures.frontier_panels import frontier_figure
from specfrontier.paper_figures.measured import family_sweeps, first_task, source_note
from specfrontier.paper_figures.outputs import Drawing
from specfrontier.paper_figures.run import RunSource

PAPER = "Dream-7B and Qwen2.5-32B on GSM8K"


def draw(source: RunSource) -> Drawing:
    """The run's first diffusion pair on its first task. Raises UnavailableError if there is none."""
    pair = source.diffusion_pair(0)
    return draw_families(source, pair, first_task(source, pair), PAPER)


def draw_families(source: RunSource, pair: str, task: str, paper: str) -> Drawing:
    """One couple of panels a family of rules; the manner of Figures 7, 8, 10 and 11."""
    sweeps = family_sweeps(source, pair, task)
    return frontier_figure(sweeps, source_note(source, pd.concat([s.rows for s in sweeps]), paper))
