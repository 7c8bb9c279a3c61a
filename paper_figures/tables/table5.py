"""Table 5: Cactus budgets at each diffusion effort, of the paper and of a run."""

from __future__ import annotations

import pandas as pd

from specfrontier.paper_figures.paper_data import TABLE_5
from specfrontier.paper_figures.run import RunSource
from specfrontier.paper_figures.selection import sweep
from specfrontier.paper_figures.tables.render import Table

_SHORTEN_AFTER = 7
Row = tuple[str, int, tuple[float, ...]]


def draw(source: RunSource | None) -> Table:
    """Table 5 as printed, followed by the Cactus sweeps of a run."""
    rows: list[Row] = [*TABLE_5, *(_measured(source) if source else [])]
    data = pd.DataFrame([(pair, steps, delta) for pair, steps, budgets in rows for delta in budgets],
                        columns=["pair_and_dataset", "steps", "delta"])  # fmt: skip
    cells = pd.DataFrame(
        [(pair, str(steps), budget_text(budgets)) for pair, steps, budgets in rows],
        columns=["Model pair / dataset", "K", "Cactus budgets δ"],
    )
    return Table("Table 5. Evaluated Cactus budgets at each diffusion effort.", cells, data)


def budget_text(budgets: tuple[float, ...]) -> str:
    """Budgets as the paper prints them: a run of whole steps after 1 becomes `…`."""
    whole = [i for i in range(1, len(budgets)) if budgets[i - 1] >= 1 and budgets[i] - budgets[i - 1] == 1]
    if len(whole) < 2 or whole != list(range(whole[0], whole[-1] + 1)) or len(budgets) < _SHORTEN_AFTER:
        return ", ".join(f"{b:g}" for b in budgets)
    head, last, tail = budgets[: whole[0]], budgets[whole[-1]], budgets[whole[-1] + 1 :]
    return ", ".join([*(f"{b:g}" for b in head), "…", f"{last:g}", *(f"{b:g}" for b in tail)])


def _measured(source: RunSource) -> list[Row]:
    rows = sweep(source.measurements, family="cactus").dropna(subset=["steps"])
    return [
        (f"{pair} / {task}", int(steps), tuple(sorted(float(b) for b in group["leniency"].unique())))
        for (pair, task, steps), group in rows.groupby(["pair", "task", "steps"], sort=False)
        if (group["family"] == "cactus").any()
    ]
