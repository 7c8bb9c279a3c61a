"""Predict a whole grid of configurations as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from specfrontier.errors import InputError
from specfrontier.profile import Profile
from specfrontier.schema import PREDICTIONS
from specfrontier.simulate.costs import Costs
from specfrontier.simulate.evidence import Bootstrap, Evidence
from specfrontier.simulate.grid import Grid, Point
from specfrontier.simulate.outcome import Outcome
from specfrontier.simulate.predictors import FittedPredictor, Predictor, predictor_named

__all__ = ["predict"]

_FIGURES = ("throughput", "latency", "tokens_per_round", "acceptance", "agreement", "deviation", "overshoot")


def predict(
    profile: Profile,
    rounds: pd.DataFrame | None,
    grid: Grid,
    predictor: str | Predictor | Sequence[str] = "replay",
    *,
    configurations: pd.DataFrame | None = None,
    costs: Costs | None = None,
    replicates: int = 400,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Predict every point of `grid`.

    Args:
        profile: the pair's profile.
        rounds: traced rounds (``schema.ROUNDS``); None for predictors that read the profile alone.
        grid: configurations to predict.
        predictor: a registered name, several, or a predictor with options of its own.
        configurations: what each `config` of the rounds stands for (``schema.CONFIGURATIONS`` or
            ``schema.MEASUREMENTS``); needed with rounds.
        costs: costs of another machine; None for the profile's own.
        replicates: bootstrap replicates over prompts, >= 0.
        level: coverage of the intervals, in (0, 1). They cover the sampling of prompts, not the clock's spread.
        seed: of the bootstrap.

    Returns:
        One row a predictor and point with the columns of ``schema.PREDICTIONS``. Accuracy is NaN until a quality model
        adds it. `fitted` holds for points that the predictor reads, and for all whose rounds gave costs their level.

    Raises:
        InputError: if the predictor is unknown, the profile has no distances, or the evidence cannot say something
            about a point.
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level}; give a coverage in (0, 1), such as 0.95")
    if replicates < 0:
        raise InputError(f"replicates is {replicates}; give an integer >= 0")
    profile.require_distances()
    evidence = Evidence.from_tables(profile, rounds, configurations, costs=costs, bootstrap=Bootstrap(replicates, seed))
    rows = []
    for name, method in _named(predictor):
        fitted = method.fit(evidence)
        rows += [_row(name, evidence, fitted, point, level) for point in grid]
    table = pd.DataFrame(rows)
    return table.astype({"steps": "Int64", "max_new_tokens": "Int64", "block_size": "int64"})


def _named(predictor: str | Predictor | Sequence[str]) -> list[tuple[str, Predictor]]:
    if isinstance(predictor, str):
        return [(predictor, predictor_named(predictor))]
    if isinstance(predictor, Sequence):
        return [(name, predictor_named(name)) for name in predictor]
    return [(type(predictor).__name__, predictor)]


def _row(name: str, evidence: Evidence, fitted: FittedPredictor, point: Point, level: float) -> dict[str, Any]:
    outcome = fitted.at(point)
    used = {own.key for own in fitted.fitted_on(point) | evidence.leveled_on}
    row: dict[str, Any] = {
        "predictor": name,
        "pair": evidence.profile.pair,
        "task": evidence.profile.task,
        "max_new_tokens": evidence.profile.max_new_tokens,
        "steps": point.effort.steps,
        "threshold": point.effort.threshold,
        "rule": point.rule,
        "block_size": point.block_size,
        **_figures(outcome, level),
    }
    row["fitted"] = point.key in used
    return {column.name: row.get(column.name, float("nan")) for column in PREDICTIONS}


def _figures(outcome: Outcome, level: float) -> dict[str, float]:
    figures = {}
    for name in _FIGURES:
        figures[name], figures[f"{name}_low"], figures[f"{name}_high"] = outcome.interval(name, level)
    return figures
