"""Figure 12: everything behind Figure 5, the dominated configurations too, with both frontiers."""

from __future__ import annotations

import pandas as pd

from specfrontier.paper_figures.frontier_panels import Sweep, frontier_figure
from specfrontier.paper_figures.measured import pair_sweep, source_note
from specfrontier.paper_figures.outputs import Drawing
from specfrontier.paper_figures.run import RunSource
from specfrontier.paper_figures.selection import UnavailableError

_PAPER = "SDAR-1.7B, SDAR-8B, Uno, DFlash and DSpark under Qwen3-8B on GSM8K and HumanEval"


def draw(source: RunSource) -> Drawing:
    """Every pair and task with a linear sweep; dashed is the frontier at fixed K = 1.

    Raises:
        UnavailableError: if the run holds no linear sweep.
    """
    sweeps = _sweeps(source)
    if not sweeps:
        raise UnavailableError(f"{source.name} holds no linear sweep; measure one with --rules linear:0.2,linear:0.4")
    rows = pd.concat([sweep.rows for sweep in sweeps])
    return frontier_figure(sweeps, source_note(source, rows, _PAPER), fixed_one=True)


def _sweeps(source: RunSource) -> list[Sweep]:
    found = []
    for pair in source.pairs:
        for task in source.tasks(pair):
            try:
                found.append(pair_sweep(source, pair, task, "linear", f"{pair} on {task}"))
            except UnavailableError:
                continue
    return found
