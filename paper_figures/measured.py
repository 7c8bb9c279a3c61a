"""From a run to the sweeps that the figures of measurements show, and the words under them."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from specfrontier.paper_figures.frontier_panels import Sweep
from specfrontier.paper_figures.run import RunSource
from specfrontier.paper_figures.selection import (
    UnavailableError,
    baseline,
    families,
    require_rows,
    sweep,
    usual_block_size,
)

FAMILY_TITLES = {"linear": "linear acceptance", "cactus": "Cactus"}
_REMEDY = "measure it with `specfrontier measure`, or name another run with --from"


def pair_sweep(source: RunSource, pair: str, task: str, family: str, title: str) -> Sweep:
    """One pair on one task under one family of rules, at the block size that most of it was measured at.

    Raises:
        UnavailableError: if the run holds no such configurations.
    """
    rows = sweep(source.measurements, pair=pair, task=task, family=family)
    if rows.empty or not (rows["family"] == family).any():
        raise UnavailableError(f"{source.name} holds no {family} sweep of {pair} on {task}; {_REMEDY}")
    rows = rows[rows["block_size"] == usual_block_size(rows)]
    return Sweep(
        title, rows.reset_index(drop=True), baseline(source.measurements, "autoregressive", pair=pair, task=task)
    )


def family_sweeps(source: RunSource, pair: str, task: str) -> list[Sweep]:
    """One sweep a family of rules that the pair was measured under: Cactus first, then linear, then others."""
    found = families(sweep(source.measurements, pair=pair, task=task))
    if not found:
        raise UnavailableError(f"{source.name} holds no lenient sweep of {pair} on {task}; {_REMEDY}")
    return [
        pair_sweep(source, pair, task, family, f"({letter}) {family_title(family)}")
        for letter, family in zip("abcdefgh", paper_order(found), strict=False)
    ]


def paper_order(names: Iterable[str]) -> list[str]:
    """Families in the paper's order: Cactus, linear, then the rest by name."""
    return sorted(names, key=lambda name: ({"cactus": 0, "linear": 1}.get(name, 2), name))


def family_title(family: str) -> str:
    """A family's name as figures print it."""
    return FAMILY_TITLES.get(family, family).capitalize() if family == "linear" else FAMILY_TITLES.get(family, family)


def first_task(source: RunSource, pair: str) -> str:
    """The task that a pair was measured on first."""
    return source.tasks(pair)[0]


def second_task(source: RunSource, pair: str) -> str:
    """The second task of a pair, for the figures that repeat others on it.

    Raises:
        UnavailableError: if the pair was measured on one task only.
    """
    tasks = source.tasks(pair)
    if len(tasks) < 2:
        raise UnavailableError(f"{source.name} holds {pair} on {tasks[0]} only; this figure needs a second task")
    return tasks[1]


def source_note(source: RunSource, rows: pd.DataFrame, paper: str, bars: str = "one standard error") -> str:
    """What a figure of measurements says on its face: whose they are, what its `bars` are, what the paper measured."""
    pairs, tasks = (" and ".join(dict.fromkeys(rows[column])) for column in ("pair", "task"))
    blocks = sorted({int(b) for b in rows["block_size"].dropna()})
    size = f", $B$ = {', '.join(map(str, blocks))}" if blocks else ""
    counts = sorted({int(n) for n in rows["n"]})
    problems = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"Measured: {pairs} on {tasks}{size}, {problems} problems; bars are {bars}. Paper: {paper}."


def one_step_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of a sweep at a fixed single diffusion step."""
    return rows[(rows["steps"] == 1) & rows["threshold"].isna()]


def calibration_rows(source: RunSource, pair: str, family: str = "linear") -> pd.DataFrame:
    """Measured acceptance, agreement and throughput of one pair under linear leniency, for Figure 3."""
    rows = sweep(source.measurements, pair=pair, task=first_task(source, pair), family=family)
    rows = rows[rows["block_size"] == usual_block_size(rows)]
    return require_rows(rows, f"{family} sweep of {pair}", _REMEDY)
