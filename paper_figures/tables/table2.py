"""Table 2: the checkpoints of the paper's experiments."""

from __future__ import annotations

import pandas as pd

from specfrontier.paper_figures.paper_data import TABLE_2
from specfrontier.paper_figures.run import RunSource
from specfrontier.paper_figures.tables.render import Table


def draw(source: RunSource | None) -> Table:
    """Table 2 as printed; a run adds nothing to it."""
    data = pd.DataFrame(TABLE_2, columns=["Model / role", "Hugging Face checkpoint", "Reference"])
    return Table("Table 2. Hugging Face checkpoints used in the paper's experiments.", data, data)
