"""What each effect is worth: the same comparison with one more effect in the model, line by line."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from specfrontier.profile import Profile
from specfrontier.simulate.comparison import compare
from specfrontier.simulate.costs import Costs
from specfrontier.simulate.grid import Grid
from specfrontier.simulate.predict import predict
from specfrontier.simulate.predictors import Anchored, ClosedForm, Correlated, PositionDependent, Predictor, Replay

__all__ = ["LADDER", "Rung", "ablation"]


@dataclass(frozen=True)
class Rung:
    """A predictor with one effect more than the rung before it."""

    effect: str
    predictor: Predictor
    leveled: bool = True
    """Whether costs have the level of the recorded rounds, or that of the profile, which timed them apart."""


LADDER = (
    Rung("one rate, constant costs timed apart (Equation 7)", ClosedForm(), leveled=False),
    Rung("+ costs at the level of whole rounds", ClosedForm()),
    Rung("+ costs by block and context, host time", PositionDependent(by_position=False, whole_texts=False)),
    Rung("+ texts and blocks that end", PositionDependent(by_position=False)),
    Rung("+ acceptance by position", PositionDependent()),
    Rung("+ rounds that are easy or hard", Correlated()),
    Rung("+ every place of every problem", Replay(fresh_starts=False)),
    Rung("+ drafts from a fresh start (replay)", Replay()),
)
PREFIX_SHIFT = Rung("+ prefixes that shift with leniency (anchored)", Anchored())


def ablation(
    profile: Profile,
    rounds: pd.DataFrame,
    configurations: pd.DataFrame,
    measurements: pd.DataFrame,
    figures: tuple[str, ...] = ("throughput", "latency"),
    *,
    anchored: bool = False,
) -> pd.DataFrame:
    """Score every rung on the same points: those that no rung was fitted on.

    Args:
        profile, rounds, configurations: what predictors are fitted on.
        measurements: what they are scored against.
        figures: which figures.
        anchored: add prefix shift; needs rounds at two leniencies or more.

    Returns:
        One row a figure and rung: `effect`, `mean_absolute_error`, `bias`, and `gain`, the error that the rung takes
        off the one before it (negative where it adds some).
    """
    grid = Grid.from_table(measurements)
    rungs = (*LADDER, PREFIX_SHIFT) if anchored else LADDER
    tables = []
    for rung in rungs:
        costs = None if rung.leveled else Costs.from_profile(profile)
        table = predict(profile, rounds, grid, rung.predictor, configurations=configurations, costs=costs, replicates=0)
        tables.append(table.assign(predictor=rung.effect))
    predictions = pd.concat(tables, ignore_index=True)
    fitted = predictions.groupby(_KEY, dropna=False)["fitted"].transform("any")
    scores = compare(measurements, predictions.assign(fitted=fitted), figures=figures).scores
    scores = scores[["figure", "predictor", "points", "mean_absolute_error", "bias"]]
    scores = scores.rename(columns={"predictor": "effect"})
    order = {figure: i for i, figure in enumerate(figures)}
    scores = scores.sort_values("figure", key=lambda names: names.map(order), kind="stable", ignore_index=True)
    return scores.assign(gain=-scores.groupby("figure", sort=False)["mean_absolute_error"].diff())


_KEY = ["steps", "threshold", "rule", "block_size"]
