"""The scores of a run's `comparison.json`, as CSV files that the documentation shows."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd


def write_scores(run: Path, folder: Path, name: str) -> None:
    """Write `NAME-comparison.csv` (errors by figure) and `NAME-frontiers.csv` (whole frontiers) into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    found = json.loads((run / "comparison.json").read_text(encoding="utf-8"))
    for kind, table in (("comparison", "scores"), ("frontiers", "frontiers")):
        pd.DataFrame(found[table]).to_csv(folder / f"{name}-{kind}.csv", index=False)
