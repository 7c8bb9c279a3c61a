"""Prediction against measurement on the embedded pairs: `python -m benchmarks.demo_study`.

Takes an hour on an idle machine. Runs the main job on each pair, and once more under rules other than linear leniency,
and writes to `docs/data/demo` how far predictions are from measurements, on the same problems and on others, and what
each effect in the model is worth.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from benchmarks.other_problems import other_problems
from benchmarks.studies import give, write_scores
from specfrontier.profile import Profile
from specfrontier.profiling.parquet import read_frame
from specfrontier.profiling.predictions import ANCHORS, evidence_of
from specfrontier.simulate import Grid, ablation, compare, predict
from specfrontier.simulate.overshoot import Gauge
from specfrontier.simulate.predictors import Anchored
from specfrontier.simulate.quality import fit_quality

TABLES = Path("docs/data/demo")
FIGURES = ("throughput", "latency", "tokens_per_round")
OTHER_RULES = "clip:2,clip:8,clip:32,cactus:0.3,cactus:1,linear:0.2,linear:0.6"
GAUGES: tuple[Gauge, ...] = ("overshoot", "deviation")


@dataclass(frozen=True)
class Recording:
    """What a main job left: the profile, the rounds that it may predict from, and what was measured."""

    profile: Profile
    configurations: pd.DataFrame
    rounds: pd.DataFrame
    measurements: pd.DataFrame

    @classmethod
    def read(cls, run: Path) -> Recording:
        """From a run's folder."""
        profile = Profile.load(run / "profile.json")
        configurations, rounds = evidence_of(run, profile, ANCHORS)
        return cls(profile, configurations, rounds, read_frame(run / "measurements.parquet", "measurements"))


def worth_of_effects(recording: Recording) -> pd.DataFrame:
    """Errors as one effect after another enters the model, one row an effect."""
    found = ablation(
        recording.profile,
        recording.rounds,
        recording.configurations,
        recording.measurements,
        FIGURES,
        anchored=True,
    )
    errors = found.pivot(index="effect", columns="figure", values="mean_absolute_error")
    return errors.loc[found["effect"].drop_duplicates(), list(FIGURES)].reset_index()


def worth_of_gauges(recording: Recording) -> pd.DataFrame:
    """Errors of `anchored`, and of accuracy on top of it, with departure gauged in nats and by total variation."""
    grid = Grid.from_table(recording.measurements)
    rows = [row for gauge in GAUGES for row in _with_gauge(recording, grid, gauge)]
    return pd.DataFrame(rows)


def _with_gauge(recording: Recording, grid: Grid, gauge: Gauge) -> Iterator[dict[str, object]]:
    predictions = predict(
        recording.profile,
        recording.rounds,
        grid,
        Anchored(gauge=gauge),
        configurations=recording.configurations,
        replicates=0,
    )
    model = fit_quality(predictions, _recorded(recording), gauge=gauge)
    predictions = model.add_accuracy(predictions)
    comparison = compare(recording.measurements, predictions, fitted=model.fitted_on)
    families = comparison.table.assign(family=comparison.table["rule"].str.partition(":")[0])
    scored = families[families["scored"] & families["figure"].isin(("tokens_per_round", "accuracy"))]
    for (figure, family), rows in scored.groupby(["figure", "family"]):
        errors = rows["error"]
        yield {"gauge": gauge, "figure": figure, "family": family, "points": len(rows),
               "mean_absolute_error": errors.abs().mean(), "bias": errors.mean()}  # fmt: skip


def _recorded(recording: Recording) -> pd.DataFrame:
    """Measurements of what the predictions rest on anyway: accuracy is fitted on three of them."""
    own = recording.measurements["config"].isin(recording.configurations["config"])
    return recording.measurements[own]


def write_tables(run: Path, name: str, *, other_rules: bool = False) -> None:
    """Write a run's tables into the documentation's data."""
    write_scores(run, TABLES, name)
    recording = Recording.read(run)
    if other_rules:
        worth_of_gauges(recording).to_csv(TABLES / f"{name}-gauges.csv", index=False)
    else:
        worth_of_effects(recording).to_csv(TABLES / f"{name}-ablation.csv", index=False)
        other_problems(run).to_csv(TABLES / f"{name}-halves.csv", index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", default="arith-masked,arith-uniform,arith-ar")
    parser.add_argument("--minutes", type=float, default=12.0, help="of each recording")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    arguments = parser.parse_args()
    for pair in arguments.pairs.split(","):
        run = arguments.runs / f"demo-{pair}"
        give(f"specfrontier demo --pair {pair} --minutes {arguments.minutes:g} --out {run}")
        write_tables(run, pair)
    run = arguments.runs / "demo-other-rules"
    give(
        f"specfrontier demo --pair arith-masked --steps 1,4 --rules {OTHER_RULES} --minutes {arguments.minutes:g}"
        f" --out {run}"
    )
    write_tables(run, "other-rules", other_rules=True)


if __name__ == "__main__":
    main()
