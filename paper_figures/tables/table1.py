"""Table 1: baseline accuracies with one standard error, and a check of the printed numbers.

Accuracies are shares of n problems, so the printed per cent fix the count of right answers, and with it the standard
error √(a (1 − a) / n) and the gap; `disagreements` lists every printed number that does not follow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from specfrontier.paper_figures.paper_data import GPQA_CHANCE, TABLE_1, Baseline
from specfrontier.paper_figures.run import RunSource
from specfrontier.paper_figures.selection import baseline
from specfrontier.paper_figures.tables.render import Table


@dataclass(frozen=True)
class Disagreement:
    """A printed number that does not follow from others.

    Attributes:
        where: row and column, or the sentence.
        printed: as in the paper.
        recomputed: what follows from n and the accuracies.
    """

    where: str
    printed: str
    recomputed: str


def standard_error(accuracy: float, n: int) -> float:
    """One standard error of a share of n problems, of which the share `accuracy` in [0, 1] was right."""
    return float(np.sqrt(accuracy * (1 - accuracy) / n))


def right_answers(percent: float, n: int) -> int:
    """The count of right answers behind a printed percentage of n problems."""
    return round(percent / 100 * n)


def disagreements(rows: tuple[Baseline, ...] = TABLE_1) -> list[Disagreement]:
    """Printed numbers of Table 1, and the statement about chance in Appendix F.1, that do not follow."""
    found: list[Disagreement] = []
    for row in rows:
        place = f"{row.pair}, {row.benchmark}"
        drafter, verifier = (right_answers(a, row.n) / row.n for a in (row.drafter, row.verifier))
        for column, printed, exact in (
            ("drafter", row.drafter, 100 * drafter),
            ("verifier", row.verifier, 100 * verifier),
            ("drafter's standard error", row.drafter_se, 100 * standard_error(drafter, row.n)),
            ("verifier's standard error", row.verifier_se, 100 * standard_error(verifier, row.n)),
            ("gap", row.gap, 100 * (verifier - drafter)),
        ):
            if f"{exact:.1f}" != f"{printed:.1f}":
                found.append(Disagreement(f"{place}: {column}", f"{printed:.1f}", f"{exact:.1f}"))
        if row.pair.startswith("SDAR") and row.benchmark.startswith("GPQA") and drafter >= GPQA_CHANCE:
            claim = "SDAR performs worse than random on GPQA (Appendix F.1)"
            found.append(
                Disagreement(place, claim, f"{100 * drafter:.1f} % against {100 * GPQA_CHANCE:.0f} % by chance")
            )
    return found


def draw(source: RunSource | None) -> Table:
    """Table 1 as printed, followed by the pairs of a run."""
    rows = [*TABLE_1, *(_measured(source) if source else [])]
    data = pd.DataFrame([vars(row) for row in rows])
    data["source"] = ["paper"] * len(TABLE_1) + ["run"] * (len(rows) - len(TABLE_1))
    cells = pd.DataFrame(
        {
            "Model pair": data["pair"],
            "Benchmark": data["benchmark"],
            "n": data["n"].astype(str),
            "Drafter (%)": [_with_error(r.drafter, r.drafter_se) for r in rows],
            "Verifier (%)": [_with_error(r.verifier, r.verifier_se) for r in rows],
            "Gap (pp)": [f"{r.gap:+.1f}".replace("-", "−") for r in rows],
        }
    )
    notes = "; ".join(f"{d.where}: printed “{d.printed}”, recomputed {d.recomputed}" for d in disagreements())
    caption = (
        "Table 1. Baseline task accuracy with one standard error. The gap is verifier minus drafter accuracy in "
        "percentage points. Accuracies, errors and gaps were recomputed from n and the counts of right answers; "
        f"{f'disagreements: {notes}' if notes else 'all agree'}."
    )
    return Table(caption, cells, data)


def _measured(source: RunSource) -> list[Baseline]:
    """Best effort of each drafter alone beside its verifier, from a run."""
    rows: list[Baseline] = []
    for pair in source.pairs:
        for task in source.tasks(pair):
            verifier = baseline(source.measurements, "autoregressive", pair=pair, task=task)
            drafter = baseline(source.measurements, "drafter", pair=pair, task=task).dropna(subset=["accuracy"])
            if verifier.empty or drafter.empty:
                continue
            rows.append(_row(pair, task, drafter.loc[drafter["accuracy"].idxmax()], verifier.iloc[0]))
    return rows


def _row(pair: str, task: str, drafter: pd.Series, verifier: pd.Series) -> Baseline:
    shares = (float(drafter["accuracy"]), float(verifier["accuracy"]))
    errors = (standard_error(shares[0], int(drafter["n"])), standard_error(shares[1], int(verifier["n"])))
    percent = [100 * value for value in (shares[0], errors[0], shares[1], errors[1], shares[1] - shares[0])]
    return Baseline(pair, task, int(drafter["n"]), *percent)


def _with_error(value: float, error: float) -> str:
    return f"{value:.1f} ± {error:.1f}"
