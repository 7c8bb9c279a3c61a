"""Appendix H: what one problem's output becomes as leniency rises, and as diffusion effort rises.

The paper shows samples of its own pair; these are a run's own. The problem is the first one that is answered right
without leniency and wrong at the most lenient setting, both at the least effort: the failure that the appendix
illustrates.
"""

from __future__ import annotations

import pandas as pd

from specfrontier.paper_figures.efforts import efforts
from specfrontier.paper_figures.measured import first_task
from specfrontier.paper_figures.paper_data import EXAMPLE_LENIENCIES
from specfrontier.paper_figures.run import RunSource
from specfrontier.paper_figures.selection import UnavailableError, require_rows, sweep, usual_block_size
from specfrontier.paper_figures.tables.render import Table


def draw(source: RunSource | None) -> Table:
    """One problem's outputs under linear leniency.

    Raises:
        UnavailableError: if there is no run, or it holds no linear sweep or no outputs.
    """
    if source is None:
        raise UnavailableError("the examples are a run's own outputs; name a run with --from")
    pair = source.pairs[0]
    rows = example_rows(source, pair)
    cells = pd.DataFrame(
        {
            "Setting": [f"{row.effort.plain}, λ = {row.leniency:g}" for row in rows.itertuples()],
            "Right": ["–" if pd.isna(right) else "yes" if right else "no" for right in rows["correct"]],
            "Output": rows["text"].str.strip(),
        }
    )
    problem = rows["problem"].iloc[0]
    caption = (
        f"Examples (Appendix H). Outputs of {pair} for problem {problem} under linear acceptance: least diffusion "
        "effort with rising leniency, then rising effort at fixed leniency. Selected: right without leniency, "
        "wrong with full leniency where such a problem exists."
    )
    data = rows.assign(effort=[level.plain for level in rows["effort"]])
    return Table(caption, cells, data[["part", "effort", "leniency", "problem", "correct", "text"]], wide=("Output",))


def example_rows(source: RunSource, pair: str) -> pd.DataFrame:
    """The outputs shown, in order: columns part, effort, leniency, problem, correct, text."""
    settings = sweep(source.measurements, pair=pair, task=first_task(source, pair), family="linear")
    settings = settings[settings["block_size"] == usual_block_size(settings)]
    settings = settings.assign(effort=efforts(settings))[["config", "effort", "leniency"]]
    outputs = settings.merge(source.problems[["config", "problem", "correct", "text"]], on="config")
    require_rows(outputs, f"outputs of a linear sweep of {pair}", "measure one with `specfrontier measure`")
    least = min(outputs["effort"])
    outputs = outputs[outputs["problem"] == _telling_problem(outputs, least)]
    rising = outputs[outputs["effort"] == least].assign(part="rising leniency")
    efforts_up = outputs[outputs["leniency"].isin(EXAMPLE_LENIENCIES)].assign(part="rising effort")
    parts = [rising.sort_values("leniency"), efforts_up.sort_values(["leniency", "effort"])]
    return pd.concat(parts, ignore_index=True)


def _telling_problem(outputs: pd.DataFrame, least: object) -> str:
    """First problem that is right at no leniency and wrong at the most; else the first one."""
    rows = outputs[outputs["effort"] == least]
    strict = rows[rows["leniency"] == rows["leniency"].min()]
    lenient = rows[rows["leniency"] == rows["leniency"].max()]
    right = strict.loc[strict["correct"].fillna(False).astype(bool), "problem"]
    wrong = lenient.loc[~lenient["correct"].fillna(True).astype(bool), "problem"]
    both = sorted(set(right) & set(wrong), key=str)
    return both[0] if both else sorted(outputs["problem"], key=str)[0]
