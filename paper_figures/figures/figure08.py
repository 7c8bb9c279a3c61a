"""Figure 8: the second pair under each family of rules, Cactus beside linear acceptance."""

from __future__ import annotations

from specfrontier.paper_figures.figures.figure07 import draw_families
from specfrontier.paper_figures.measured import first_task
from specfrontier.paper_figures.outputs import Drawing
from specfrontier.paper_figures.run import RunSource

PAPER = "DiffusionGemma-26B and Gemma4-31B on GPQA Diamond"


def draw(source: RunSource) -> Drawing:
    """The run's second diffusion pair on its first task. Raises UnavailableError if there is none."""
    pair = source.diffusion_pair(1)
    return draw_families(source, pair, first_task(source, pair), PAPER)
