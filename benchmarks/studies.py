"""What the studies share: giving a command, and writing a run's scores as CSV files that the documentation shows."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pandas as pd


def give(command: str) -> None:
    """Show a command and run it; a failure ends the study."""
    print(f"$ {command}", flush=True)
    subprocess.run(shlex.split(command), check=True)


def write_scores(run: Path, folder: Path, name: str) -> None:
    """Write `NAME-comparison.csv` (errors by figure) and `NAME-frontiers.csv` (whole frontiers) into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    found = json.loads((run / "comparison.json").read_text(encoding="utf-8"))
    for kind, table in (("comparison", "scores"), ("frontiers", "frontiers")):
        pd.DataFrame(found[table]).to_csv(folder / f"{name}-{kind}.csv", index=False)
