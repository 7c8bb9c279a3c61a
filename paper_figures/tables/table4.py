"""Table 4: the main configurations of the paper, and those of a run."""

from __future__ import annotations

import pandas as pd

from specfrontier.paper_figures.efforts import efforts
from specfrontier.paper_figures.measured import paper_order
from specfrontier.paper_figures.paper_data import TABLE_4
from specfrontier.paper_figures.run import RunSource
from specfrontier.paper_figures.selection import families, sweep
from specfrontier.paper_figures.tables.render import Table

_COLUMNS = ["Model / pair", "Dataset", "Diffusion effort", "Acceptance", "Block", "Token limit"]


def draw(source: RunSource | None) -> Table:
    """Table 4 as printed, followed by the sweeps of a run."""
    rows = [*TABLE_4, *(_measured(source) if source else [])]
    data = pd.DataFrame(rows, columns=_COLUMNS)
    caption = (
        "Table 4. Main experimental configurations. Block lengths are the configured values, distinct from "
        "full-completion limits. DFlash’s 16-position block includes one anchor and 15 draft positions. SDAR’s "
        "confidence threshold τ controls denoising effort adaptively."
    )
    return Table(caption, data, data)


def _measured(source: RunSource) -> list[tuple[str, ...]]:
    limits = source.configurations.drop_duplicates("config").set_index("config")["max_new_tokens"]
    rows: list[tuple[str, ...]] = []
    for (pair, task, block), sweep_rows in sweep(source.measurements).groupby(
        ["pair", "task", "block_size"], sort=False
    ):
        tokens = ", ".join(str(int(n)) for n in sorted(limits.reindex(sweep_rows["config"]).dropna().unique()))
        rules = ", ".join(name.capitalize() for name in paper_order(families(sweep_rows))) or "Lossless"
        rows.append((str(pair), str(task), _effort_set(sweep_rows), rules, str(int(block)), tokens or "–"))
    return rows


def _effort_set(rows: pd.DataFrame) -> str:
    levels = sorted(set(efforts(rows).dropna()))
    parts = []
    for adaptive, symbol in ((False, "K"), (True, "τ")):
        values = ", ".join(f"{level.value:g}" for level in levels if level.adaptive is adaptive)
        if values:
            parts.append(f"{symbol} ∈ {{{values}}}")
    return " or ".join(parts)
