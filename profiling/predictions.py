"""A run's predictions: what of its folder they may read, and the accuracy that its measurements add."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from specfrontier.errors import InputError
from specfrontier.profile import Profile
from specfrontier.profiling.parquet import read_frame
from specfrontier.profiling.run_folder import read_run
from specfrontier.simulate import Grid, Point, predict
from specfrontier.simulate.grid import Effort, of_setting, parse_rule, points_of, predictable
from specfrontier.simulate.quality import QualityModel, fit_quality
from specfrontier.theory.rules import as_schedule

PREDICTORS = ("replay", "closed-form")
ANCHORS = ("linear:0.4", "linear:0.8")
"""Rules whose rounds `anchored` interpolates between, beside lossless ones."""


def grid_of(
    profile: Profile,
    rules: tuple[str, ...],
    *,
    steps: tuple[int, ...] | None = None,
    thresholds: tuple[float, ...] | None = None,
    block_sizes: tuple[int, ...] | None = None,
) -> Grid:
    """A grid to predict from a profile, at its own efforts and block size where nothing else is asked for.

    Args:
        profile: of the pair.
        rules: specs of acceptance rules.
        steps, thresholds: efforts; those of the profile if neither is given.
        block_sizes: B; the profile's if None.

    Raises:
        InputError: if a value is out of range.
    """
    if steps is None and thresholds is None:
        steps = tuple(e.steps for e in profile.efforts if e.threshold is None and e.steps is not None)
        thresholds = tuple(e.threshold for e in profile.efforts if e.threshold is not None)
    return Grid.product(
        rules=rules, block_sizes=block_sizes or (profile.block_size,), steps=steps or (), thresholds=thresholds or ()
    )


def predictions_of(
    run: Path,
    profile: Profile,
    grid: Grid,
    predictors: Sequence[str] = PREDICTORS,
    *,
    anchors: tuple[str, ...] = ANCHORS,
    seed: int = 0,
) -> pd.DataFrame:
    """Predict a grid from a profile, the lossless rounds that it was measured on, and those of anchors.

    Args:
        run: folder of the profile's run.
        profile: of the pair.
        grid: what to predict.
        predictors: registered names.
        anchors: rules whose rounds `anchored` may read, where the run has them; what it read counts as fitted.
        seed: of the bootstrap.

    Raises:
        InputError: if the run holds no distances or lossless rounds of the pair, or a point cannot be predicted.
    """
    profile.require_distances()
    configurations, rounds = evidence_of(run, profile, anchors if "anchored" in predictors else ())
    return predict(profile, rounds, grid, list(predictors), configurations=configurations, seed=seed)


def evidence_of(run: Path, profile: Profile, anchors: tuple[str, ...]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Configurations and rounds that predictors may read: lossless ones and anchors, nothing else that was measured.

    Raises:
        InputError: if the run holds no lossless rounds of the pair.
    """
    tables = read_run(run)
    speculative = tables.configurations[tables.configurations["mode"] == "speculative"]
    own = of_setting(speculative, **setting_of(profile))
    specs = {"lossless", *(parse_rule(spec).spec for spec in anchors)}
    chosen = own[own["rule"].isin(specs)]
    rounds = tables.rounds[tables.rounds["config"].isin(chosen["config"])]
    if not rounds["config"].isin(chosen.loc[chosen["rule"] == "lossless", "config"]).any():
        raise InputError(f"{run} holds no lossless rounds of {profile.pair}; profile it again with --out {run}")
    return chosen, rounds


def setting_of(profile: Profile) -> dict[str, Any]:
    """Pair, task and token limit, as `of_setting` asks for them."""
    return {"pair": profile.pair, "task": profile.task, "max_new_tokens": profile.max_new_tokens}


def closest_predictor(run: Path, profile: Profile) -> str:
    """`anchored` where the run has an anchor's rounds of every problem and effort of the profile, else `replay`."""
    chosen, rounds = evidence_of(run, profile, ANCHORS)
    problems = rounds.groupby("config")["problem"].agg(set)
    lossless: dict[Effort, set[str]] = {}
    anchors: dict[Effort, list[set[str]]] = {}
    for row in chosen[chosen["block_size"] >= profile.block_size].to_dict("records"):
        effort, own = Effort.of(row["steps"], row["threshold"]), problems.get(row["config"], set())
        if row["rule"] == "lossless":
            lossless.setdefault(effort, set()).update(own)
        else:
            anchors.setdefault(effort, []).append(own)
    efforts = [Effort.of(e.steps, e.threshold) for e in profile.efforts]
    held = all(any(lossless.get(e, set()) <= own for own in anchors.get(e, ())) for e in efforts)
    return "anchored" if held else "replay"


def predictions_with_accuracy(
    run: Path,
    profile: Profile,
    grid: Grid,
    predictors: Sequence[str] = PREDICTORS,
    *,
    anchors: tuple[str, ...] = ANCHORS,
    seed: int = 0,
) -> pd.DataFrame:
    """As `predictions_of`, with accuracy fitted on a few of the run's measurements, which need not lie on the grid.

    Raises:
        InputError: as `predictions_of`, or if the pair has no measurements that a model can be fitted on.
    """
    path = run / "measurements.parquet"
    if not path.is_file():
        raise InputError(f"no measurements in {run} to fit accuracy on; measure a few, or ask for agreement")
    measured = predictable(of_setting(read_frame(path, "measurements"), **setting_of(profile)))
    asked = {point.key for point in grid}
    beside = [p for p in dict.fromkeys(points_of(measured)) if p.key not in asked and _profiled(profile, p)]
    table = predictions_of(run, profile, Grid((*grid, *beside)), predictors, anchors=anchors, seed=seed)
    found = add_accuracy(table, measured)
    return found[[point.key in asked for point in points_of(found)]].reset_index(drop=True)


def add_accuracy(predictions: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Predictions with accuracy, from a quality model for each predictor on two or three measured points.

    Points that the predictions rest on anyway are taken where there are enough of them. Those taken count as `fitted`.

    Raises:
        InputError: if no quality model can be fitted.
    """
    points = points_of(measured)
    tables = []
    for _, table in predictions.groupby("predictor", sort=False):
        own = points_of(table)
        rested_on = {point.key for point, fitted in zip(own, table["fitted"], strict=True) if fitted}
        model = _quality_of(table, measured, measured[[point.key in rested_on for point in points]])
        taken = {p.key for p, config in zip(points, measured["config"], strict=True) if config in model.fitted_on}
        tables.append(model.add_accuracy(table).assign(fitted=[p.key in rested_on | taken for p in own]))
    return pd.concat(tables, ignore_index=True)


def _quality_of(predictions: pd.DataFrame, measured: pd.DataFrame, preferred: pd.DataFrame) -> QualityModel:
    try:
        return fit_quality(predictions, preferred)
    except InputError:
        return fit_quality(predictions, measured)


def _profiled(profile: Profile, point: Point) -> bool:
    """Whether the profile's rounds can speak of a point."""
    efforts = {Effort.of(e.steps, e.threshold) for e in profile.efforts}
    pointwise = all(rule.pointwise for _, rule in as_schedule(point.leniency).runs())
    return pointwise and point.effort in efforts and point.block_size <= profile.block_size
