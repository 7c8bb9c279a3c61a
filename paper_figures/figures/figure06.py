"""Figure 6: draft cost with its line in K, and the distribution of verify costs."""

from __future__ import annotations

from specfrontier.paper_figures.cost_panels import SPREAD, cost_figure, round_costs
from specfrontier.paper_figures.measured import first_task, source_note
from specfrontier.paper_figures.outputs import Drawing
from specfrontier.paper_figures.run import RunSource
from specfrontier.paper_figures.selection import require_rows, sweep, usual_block_size

_PAPER = "Dream-7B and Qwen2.5-32B on GSM8K"


def draw(source: RunSource) -> Drawing:
    """Costs of the first diffusion pair's rounds.

    Raises:
        UnavailableError: if the run holds no rounds of it.
    """
    pair = source.diffusion_pair(0)
    settings = sweep(source.measurements, pair=pair, task=first_task(source, pair))
    settings = settings[settings["block_size"] == usual_block_size(settings)]
    rounds = source.rounds[source.rounds["config"].isin(settings["config"])]
    require_rows(rounds, f"rounds of {pair}", "keep the rounds when measuring")
    profile = source.profile(pair)
    fit = None if profile is None else profile.draft_cost
    return cost_figure(round_costs(rounds, settings), fit, source_note(source, settings, _PAPER, SPREAD))
