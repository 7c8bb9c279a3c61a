"""The figures of the README are those of the tables that its command wrote."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAIRS = {"masked diffusion": "arith-masked", "uniform diffusion": "arith-uniform", "autoregressive": "arith-ar"}


def row_of(drafter: str) -> list[str]:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    (line,) = [line for line in lines if line.startswith(f"| {drafter} |")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


@pytest.mark.parametrize("drafter", PAIRS)
def test_throughput_errors_are_those_of_the_study(drafter: str) -> None:
    table = pd.read_csv(ROOT / "docs" / "data" / "demo" / f"{PAIRS[drafter]}-comparison.csv")
    of = table[table["figure"] == "throughput"].set_index("predictor")
    halves = pd.read_csv(ROOT / "docs" / "data" / "demo" / f"{PAIRS[drafter]}-halves.csv").set_index("figure")
    errors = [f"{100 * of.loc[name, 'mean_absolute_error']:.1f} %" for name in ("closed-form", "replay", "anchored")]
    others = [f"{100 * halves.loc['throughput', name]:.1f} %" for name in ("other", "measured")]
    assert row_of(drafter) == [*errors, f"{of.loc['anchored', 'kendall_tau']:.2f}", *others]
