"""Table 3: how the paper's models are sampled."""

from __future__ import annotations

import pandas as pd

from specfrontier.paper_figures.paper_data import TABLE_3
from specfrontier.paper_figures.run import RunSource
from specfrontier.paper_figures.tables.render import Table


def draw(source: RunSource | None) -> Table:
    """Table 3 as printed; a run adds nothing to it."""
    data = pd.DataFrame(TABLE_3, columns=["Sampler", "Temperature", "Top-p", "Top-k"])
    caption = (
        "Table 3. Sampling settings. A dash indicates no additional truncation recorded for that setting. "
        "DiffusionGemma anneals temperature during denoising and uses 0.4 for a single denoising step."
    )
    return Table(caption, data, data)
