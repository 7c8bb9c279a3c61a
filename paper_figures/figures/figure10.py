"""Figure 10: Figure 7 on a second task."""

from __future__ import annotations

from specfrontier.paper_figures.figures.figure07 import draw_families
from specfrontier.paper_figures.measured import second_task
from specfrontier.paper_figures.outputs import Drawing
from specfrontier.paper_figures.run import RunSource

PAPER = "Dream-7B and Qwen2.5-32B on HumanEval"


def draw(source: RunSource) -> Drawing:
    """The run's first diffusion pair on its second task. Raises UnavailableError if there is none."""
    pair = source.diffusion_pair(0)
    return draw_families(source, pair, second_task(source, pair), PAPER)
