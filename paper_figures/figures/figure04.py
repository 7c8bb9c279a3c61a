"""Figure 4: the frontier of a masked-diffusion pair (left) and of a uniform-diffusion pair (right)."""

from __future__ import annotations

import pandas as pd

from specfrontier.paper_figures.frontier_panels import frontier_figure
from specfrontier.paper_figures.measured import family_sweeps, family_title, first_task, pair_sweep, source_note
from specfrontier.paper_figures.outputs import Drawing
from specfrontier.paper_figures.run import RunSource

_PAPER = "Dream-7B and Qwen2.5-32B on GSM8K, DiffusionGemma and Gemma4-31B on GPQA Diamond, under Cactus"


def draw(source: RunSource) -> Drawing:
    """The first two diffusion pairs of a run, or its only one, under Cactus where it was measured.

    Raises:
        UnavailableError: if the run holds no pair at several diffusion efforts, or no lenient sweep.
    """
    pairs = source.diffusion_pairs[:2] or [source.diffusion_pair(0)]
    sweeps = []
    for pair in pairs:
        task = first_task(source, pair)
        family = _preferred_family(source, pair, task)
        sweeps.append(pair_sweep(source, pair, task, family, f"{pair} on {task}, {family_title(family)}"))
    rows = pd.concat([sweep.rows for sweep in sweeps])
    return frontier_figure(sweeps, source_note(source, rows, _PAPER))


def _preferred_family(source: RunSource, pair: str, task: str) -> str:
    """Cactus if it was measured, else linear, else the first family there is."""
    rows = family_sweeps(source, pair, task)[0].rows
    return str(next(name for name in rows["family"] if name != "lossless"))
