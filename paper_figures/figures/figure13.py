"""Figure 13: one drafter at several diffusion efforts, task by task; the paper's is Uno, distilled for one step."""

from __future__ import annotations

import pandas as pd

from specfrontier.paper_figures.frontier_panels import frontier_figure
from specfrontier.paper_figures.measured import pair_sweep, source_note
from specfrontier.paper_figures.outputs import Drawing
from specfrontier.paper_figures.run import RunSource

_PAPER = "Uno under Qwen3-8B, $K$ = 1, 2, 4, on GSM8K and HumanEval"


def draw(source: RunSource) -> Drawing:
    """The run's last diffusion pair under linear leniency, one couple of panels a task.

    Raises:
        UnavailableError: if the run holds no diffusion pair with a linear sweep.
    """
    pair = [source.diffusion_pair(0), *source.diffusion_pairs][-1]
    sweeps = [
        pair_sweep(source, pair, task, "linear", f"({letter}) {pair} on {task}")
        for letter, task in zip("abcdef", source.tasks(pair), strict=False)
    ]
    return frontier_figure(sweeps, source_note(source, pd.concat([s.rows for s in sweeps]), _PAPER))
