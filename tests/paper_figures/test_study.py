"""Tables of a study, from the CSV files that its commands wrote."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from specfrontier.paper_figures.study import study_table

DATA = Path(__file__).resolve().parents[2] / "docs" / "data"


def row(mode: str, throughput: float, rule: str | None = None, steps: float = float("nan")) -> dict[str, object]:
    figures = dict.fromkeys(("acceptance", "log_likelihood"), 0.5) | {"agreement": 0.5, "tokens_per_round": 2.0}
    errors = {f"{name}_se": 0.1 for name in ("throughput", "acceptance", "log_likelihood")}
    settings = {"mode": mode, "rule": rule, "steps": steps, "threshold": float("nan"), "block_size": 4}
    return {**settings, **figures, **errors, "throughput": throughput, "n": 3}


def test_speed_is_a_ratio_to_the_verifier_alone_with_both_errors(tmp_path: Path) -> None:
    rows = [row("autoregressive", 1.0), row("speculative", 2.0, "lossless", 1.0)]
    pd.DataFrame(rows).to_csv(tmp_path / "x-measurements.csv", index=False)
    table = study_table(tmp_path, "x", "measurements")
    assert list(table["Times the verifier alone"]) == ["1", "2.00 ± 0.22"]
    assert table["Configuration"][1] == "ours: K = 1, B = 4, `lossless`"


def test_what_was_measured_twice_is_left_to_the_audit(tmp_path: Path) -> None:
    rows = [row("autoregressive", 1.0), *[row("speculative", 2.0, "lossless", 2.0)] * 2]
    pd.DataFrame(rows).to_csv(tmp_path / "x-measurements.csv", index=False)
    assert len(study_table(tmp_path, "x", "measurements")) == 1


@pytest.mark.parametrize("path", sorted(DATA.glob("*/*-*.csv")), ids=lambda path: path.stem)
def test_every_shipped_table_can_be_drawn(path: Path) -> None:
    pair, _, kind = path.stem.rpartition("-")
    if kind != "predictions":
        assert len(study_table(path.parent, pair, kind)) > 1
