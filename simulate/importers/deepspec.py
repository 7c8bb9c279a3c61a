"""DeepSpec's tables of results."""

from __future__ import annotations

import math
import re

from specfrontier.errors import InputError
from specfrontier.simulate.importers.fields import check_identity
from specfrontier.simulate.importers.report import AcceptanceReport

__all__ = ["from_deepspec_table"]

#: Rates are printed with four decimals, so counts are restored on this many notional rounds.
_NOTIONAL_ROUNDS = 10_000


def from_deepspec_table(text: str, dataset: str | None = None) -> AcceptanceReport:
    """From a printed table of results, framed or, where prettytable is missing, separated by tabs.

    Seen (deepspec/eval/base_evaluator.py): columns dataset, target_model, draft_model, #propose (mean draft tokens a
    proposal, printed "15.00+1"), accept_len (mean emitted tokens, bonus included except where the output ended),
    verify_rate, and accept_rate@0, @1, ... = proposals that accepted that position over proposals that had it, which is
    survival, not a conditional rate; "-" where no proposal was that long. The table holds rates, not counts, so the
    report's rounds are notional: 10,000, the resolution of the printed rates. Assumed: drafts are all of one length, so
    that accept_len = 1 + the sum of the rates (to the 2 % that ends of outputs may take).

    Args:
        text: the table, as printed.
        dataset: which row; None if there is only one.

    Raises:
        InputError: if the row is missing or ambiguous, or contradicts itself.
    """
    row = _row(text, dataset)
    columns = sorted((c for c in row if re.fullmatch(r"accept_rate@\d+", c)), key=lambda c: int(c.split("@")[1]))
    survival = [_number(row, c) for c in columns if row[c] != "-"]
    if not survival:
        raise InputError("the DeepSpec table has no accept_rate@ columns with rates")
    if any(later > earlier + 1e-4 for earlier, later in zip([1.0, *survival], survival, strict=False)):
        raise InputError(f"deepspec survival rates {survival} rise along the draft; each includes the ones before it")
    kept = tuple(round(rate * _NOTIONAL_ROUNDS) for rate in survival)
    length = _number(row, "accept_len")
    check_identity("deepspec", "mean emitted tokens", length, "1 + sum of rates", 1 + sum(survival), 0.02 * length)
    drafted = _number(row, "#propose")
    return AcceptanceReport(
        engine="deepspec",
        rounds=_NOTIONAL_ROUNDS,
        drafted=round(drafted * _NOTIONAL_ROUNDS),
        accepted=sum(kept),
        visited=(_NOTIONAL_ROUNDS, *kept[:-1]),
        kept=kept,
    )


def _number(row: dict[str, str], column: str) -> float:
    """A cell, without the "+1" of the bonus token."""
    cell = row.get(column, "")
    try:
        value = float(cell.split("+")[0])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{column} of the DeepSpec table is {cell!r}; it must be a number")
    return value


def _row(text: str, dataset: str | None) -> dict[str, str]:
    lines = [_cells(line) for line in text.splitlines()]
    # A run also prints every row when it has it, without a header, before the table.
    start = next((number for number, cells in enumerate(lines) if "dataset" in cells and "accept_len" in cells), None)
    if start is None or start + 1 == len(lines):
        raise InputError("no DeepSpec table found; expected a header with dataset, accept_len and accept_rate@0, ...")
    header, *body = lines[start:]
    rows = [dict(zip(header, line, strict=True)) for line in body if len(line) == len(header)]
    chosen = [row for row in rows if dataset in (None, row["dataset"])]
    if len(chosen) != 1:
        known = ", ".join(row["dataset"] for row in rows)
        raise InputError(f"dataset {dataset!r} selects {len(chosen)} rows of the DeepSpec table; choose one of {known}")
    return chosen[0]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|" if "|" in line else "\t")]
