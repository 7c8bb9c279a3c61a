"""Predictions scored on problems that they were not made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from specfrontier.profile import Profile
from specfrontier.profiling.measure import measure
from specfrontier.profiling.predictions import ANCHORS, evidence_of
from specfrontier.profiling.run_folder import Tables, read_run
from specfrontier.simulate import Grid, compare, predict

FIGURES = ("throughput", "latency", "tokens_per_round")
SPLITS = 6


@dataclass(frozen=True)
class Halves:
    """Measurements of both halves of a run's problems, and predictions made from the first half alone."""

    measured: pd.DataFrame
    others: pd.DataFrame
    predictions: pd.DataFrame


def other_problems(run: Path, predictor: str = "anchored") -> pd.DataFrame:
    """Mean errors over random halvings of the problems of a main job, one row a figure.

    Returns:
        `same`, errors on the half that was predicted from; `other`, on the other half; and `measured`, the errors of
        taking the first half's measurements themselves for a prediction of the second: what sampling alone costs.
    """
    rows = [row for halves in _halves(run, predictor) for row in _errors(halves)]
    return pd.DataFrame(rows).groupby("figure", sort=False, as_index=False).mean()


def _errors(halves: Halves) -> Iterator[dict[str, object]]:
    same = compare(halves.measured, halves.predictions, figures=FIGURES).scores.set_index("figure")
    other = compare(halves.others, halves.predictions, figures=FIGURES)
    scored = other.table[other.table["scored"]]
    first = halves.measured.set_index("config")
    for figure, rows in scored.groupby("figure", sort=False):
        measured = first.loc[rows["config"], figure].to_numpy(float) / rows["measured"].to_numpy(float) - 1
        yield {
            "figure": figure,
            "same": same.loc[figure, "mean_absolute_error"],
            "other": rows["error"].abs().mean(),
            "measured": np.abs(measured).mean(),
        }


def _halves(run: Path, predictor: str) -> Iterator[Halves]:
    profile = Profile.load(run / "profile.json")
    configurations, rounds = evidence_of(run, profile, ANCHORS)
    tables = _speculative(read_run(run))
    problems = sorted(set.intersection(*tables.problems.groupby("config")["problem"].agg(set)))
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(problems)
        mine, others = set(order[: len(order) // 2]), set(order[len(order) // 2 :])
        measured = measure(_of(tables, mine))
        predictions = predict(
            profile,
            rounds[rounds["problem"].isin(mine)],
            Grid.from_table(measured),
            predictor,
            configurations=configurations,
            replicates=0,
        )
        yield Halves(measured, measure(_of(tables, others)), predictions)


def _speculative(tables: Tables) -> Tables:
    own = tables.configurations[tables.configurations["mode"] == "speculative"]
    return Tables(
        own,
        tables.problems[tables.problems["config"].isin(own["config"])],
        tables.rounds[tables.rounds["config"].isin(own["config"])],
    )


def _of(tables: Tables, problems: set[str]) -> Tables:
    return Tables(
        tables.configurations,
        tables.problems[tables.problems["problem"].isin(problems)],
        tables.rounds[tables.rounds["problem"].isin(problems)],
    )
