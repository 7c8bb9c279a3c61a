"""Take from the measurements what a figure needs: one pair, one task, one family of rules, one block size."""

from __future__ import annotations

import pandas as pd

from specfrontier.errors import InputError
from specfrontier.simulate.grid import predictable
from specfrontier.theory import RuleSchedule, leniency_from_spec

LOSSLESS = "lossless"
SCHEDULE = "schedule"


class UnavailableError(InputError):
    """The run does not hold what a figure or table needs."""


def rule_family(spec: str | None) -> str | None:
    """`linear` for `linear:0.3`, `schedule` for rules by position; None where no rule applies."""
    if spec is None or pd.isna(spec):
        return None
    return SCHEDULE if isinstance(leniency_from_spec(spec), RuleSchedule) else spec.partition(":")[0]


def leniency_of(spec: str | None) -> float:
    """The first setting of a rule, such as 0.3 for `linear:0.3`; 0 for lossless, NaN for a schedule or no rule."""
    if spec is None or pd.isna(spec):
        return float("nan")
    rule = leniency_from_spec(spec)
    if isinstance(rule, RuleSchedule):
        return float("nan")
    return 0.0 if rule.parameter is None else float(rule.parameter[1])


def families(measurements: pd.DataFrame) -> list[str]:
    """Families of rules in the measurements, beyond the lossless rule, sorted."""
    found = {rule_family(spec) for spec in measurements["rule"]}
    return sorted(name for name in found if name not in (None, LOSSLESS))


def sweep(
    measurements: pd.DataFrame,
    *,
    pair: str | None = None,
    task: str | None = None,
    family: str | None = None,
    block_size: int | None = None,
) -> pd.DataFrame:
    """Speculative configurations of one sweep, sorted, with the columns `family` and `leniency` added.

    Where both were measured, Algorithm 1's verification is shown, not the exact one.

    The lossless rule is every family's zero leniency, so its rows belong to any family asked for. None leaves a
    setting free.
    """
    assisted = measurements[measurements["mode"] == "assisted"]
    rows = pd.concat([predictable(measurements), assisted]) if len(assisted) else predictable(measurements)
    for column, value in (("pair", pair), ("task", task), ("block_size", block_size)):
        rows = rows if value is None else rows[rows[column] == value]
    rows = rows.assign(
        family=[rule_family(spec) for spec in rows["rule"]],
        leniency=[leniency_of(spec) for spec in rows["rule"]],
    )
    if family is not None:
        rows = rows[rows["family"].isin((family, LOSSLESS))]
    order = [c for c in ("pair", "task", "block_size", "steps", "threshold", "leniency", "config") if c in rows]
    return rows.sort_values(order, kind="stable").reset_index(drop=True)


def baseline(measurements: pd.DataFrame, mode: str, *, pair: str, task: str | None = None) -> pd.DataFrame:
    """Rows of one model alone: `mode` is autoregressive (the verifier) or drafter."""
    rows = measurements[(measurements["mode"] == mode) & (measurements["pair"] == pair)]
    rows = rows if task is None else rows[rows["task"] == task]
    return rows.sort_values(["steps", "threshold", "config"], kind="stable").reset_index(drop=True)


def usual_block_size(rows: pd.DataFrame) -> int | None:
    """The block size that most configurations of a sweep share; of equals, the largest."""
    sizes = rows["block_size"].dropna()
    return None if sizes.empty else int(sizes.mode().max())


def require_rows(rows: pd.DataFrame, what: str, remedy: str) -> pd.DataFrame:
    """`rows`, or UnavailableError if there are none."""
    if rows.empty:
        raise UnavailableError(f"the run holds no {what}; {remedy}")
    return rows
