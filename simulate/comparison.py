"""Predictions against measurements, over the points that no predictor was fitted on."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from specfrontier.errors import InputError
from specfrontier.simulate.frontier_scores import frontier_scores
from specfrontier.simulate.grid import of_setting, points_of, predictable

__all__ = ["FIGURES", "Comparison", "compare"]

FIGURES = ("throughput", "latency", "tokens_per_round", "acceptance", "agreement", "accuracy")

#: Simulated measurements of a perfect prediction.
_NOISE_DRAWS = 200

#: E|Z| of a standard normal: the mean absolute error that measurement noise alone gives a perfect prediction.
_MEAN_ABSOLUTE_NORMAL = float(np.sqrt(2 / np.pi))


@dataclass(frozen=True)
class Comparison:
    """How well predictors did.

    Attributes:
        table: one row a predictor, point and figure: measured and predicted with their intervals, `error` (relative,
            signed; absolute for accuracy and agreement) and `scored`, False where the predictor was fitted on it.
        scores: one row a predictor and figure: `points` scored, `mean_absolute_error`, `bias` (mean signed error),
            `noise_floor` (the error that measurement noise alone would give a perfect prediction), `kendall_tau`,
            `kendall_ceiling` (the rank correlation that a perfect prediction would have on average), `coverage` (share
            of measured values within the predicted interval widened by their own error).
        frontiers: one row a predictor and plane (speed by quality): see `frontier_scores`.
    """

    table: pd.DataFrame
    scores: pd.DataFrame
    frontiers: pd.DataFrame

    def to_json(self) -> str:
        """The three tables as lists of records; absent values are null."""
        tables = {name: getattr(self, name) for name in ("scores", "frontiers", "table")}
        return json.dumps(
            {name: json.loads(table.to_json(orient="records", double_precision=12)) for name, table in tables.items()},
            indent=2,
        )

    def score(self, predictor: str, figure: str) -> pd.Series:
        """The row of `scores` for one predictor and figure; InputError if there is none."""
        rows = self.scores[(self.scores["predictor"] == predictor) & (self.scores["figure"] == figure)]
        if rows.empty:
            raise InputError(f"no score of {predictor!r} for {figure!r}; scored: {', '.join(self._scored())}")
        return rows.iloc[0]

    def _scored(self) -> list[str]:
        return [f"{p}/{f}" for p, f in zip(self.scores["predictor"], self.scores["figure"], strict=True)]


def compare(
    measurements: pd.DataFrame,
    predictions: pd.DataFrame,
    *,
    fitted: Collection[str] = (),
    figures: Sequence[str] = FIGURES,
) -> Comparison:
    """Score predictions on the measured points that they share.

    Args:
        measurements: ``schema.MEASUREMENTS``; rows of other modes than speculative are passed over.
        predictions: what `predict` returned, of one predictor or of several stacked; its `fitted` column, if
            there is one, keeps the points that a predictor was fitted on out of its scores.
        fitted: `config` keys of further measurements that no score may use, such as those that a quality model
            was fitted on.
        figures: which figures to score.

    Raises:
        InputError: if nothing was measured of the pair, task and token limit that were predicted, no measured point was
            predicted, or all shared ones were fitted on.
    """
    joined = _joined(measurements, predictions, fitted)
    table = pd.concat([_figure_rows(joined, figure) for figure in figures], ignore_index=True)
    scored = joined[joined["scored"]]
    if scored.empty:
        raise InputError("every shared point was fitted on, so none can be scored; measure points that were not")
    return Comparison(table, _scores(table), frontier_scores(scored))


def _joined(measurements: pd.DataFrame, predictions: pd.DataFrame, fitted: Collection[str]) -> pd.DataFrame:
    measured = predictable(_of_the_same(measurements, predictions)).reset_index(drop=True)
    measured = measured.assign(point=_keys(measured))
    predicted = predictions.assign(point=_keys(predictions))
    predicted["fitted"] = predicted["fitted"].fillna(False).astype(bool) if "fitted" in predicted else False
    joined = predicted.merge(measured, on="point", suffixes=("", "_measured"))
    if joined.empty:
        raise InputError("no measured point was predicted; predict Grid.from_table(measurements)")
    joined["scored"] = ~(joined["fitted"] | joined["config"].isin(list(fitted)))
    return joined


def _of_the_same(measurements: pd.DataFrame, predictions: pd.DataFrame) -> pd.DataFrame:
    """The measurements of the pair, task and token limit that were predicted."""
    columns = [column for column in ("pair", "task", "max_new_tokens") if column in predictions]
    settings = predictions[columns].drop_duplicates()
    if len(settings) > 1:
        raise InputError(f"the predictions are of {len(settings)} pairs, tasks or token limits; compare one at a time")
    asked: dict[str, Any] = {"task": None, "max_new_tokens": None}
    asked |= {str(column): None if pd.isna(value) else value for column, value in settings.iloc[0].items()}
    found = of_setting(measurements, **asked)
    if found.empty:
        stated = ", ".join(str(value) for value in asked.values() if value is not None)
        have = ", ".join(sorted({str(pair) for pair in measurements["pair"]})) or "none at all"
        raise InputError(f"the predictions are of {stated}, and no such measurements are given (pairs: {have})")
    return found


def _keys(table: pd.DataFrame) -> pd.Series:
    return pd.Series([point.key for point in points_of(table)], index=table.index, dtype=object)


def _figure_rows(joined: pd.DataFrame, figure: str) -> pd.DataFrame:
    measured, predicted = joined[f"{figure}_measured"], joined[figure]
    error = predicted - measured
    unit = 1.0 if figure in ("accuracy", "agreement", "acceptance") else measured
    rows = joined[["predictor", "pair", "steps", "threshold", "rule", "block_size", "config", "scored"]].assign(
        figure=figure,
        measured=measured,
        measured_se=joined.get(f"{figure}_se"),
        measured_low=joined[f"{figure}_low_measured"],
        measured_high=joined[f"{figure}_high_measured"],
        predicted=predicted,
        predicted_low=joined[f"{figure}_low"],
        predicted_high=joined[f"{figure}_high"],
        error=error / unit,
    )
    rows["error_se"] = pd.to_numeric(rows["measured_se"]) / unit
    return rows[measured.notna() & predicted.notna()]


def _scores(table: pd.DataFrame) -> pd.DataFrame:
    groups = table[table["scored"]].groupby(["predictor", "figure"], sort=False)
    return pd.DataFrame([{"predictor": p, "figure": f, **_score(rows)} for (p, f), rows in groups])


def _score(rows: pd.DataFrame) -> dict[str, float]:
    from scipy.stats import kendalltau  # not at import time: it would double it

    tau = kendalltau(rows["measured"], rows["predicted"]).statistic if len(rows) > 1 else np.nan
    return {
        "points": len(rows),
        "mean_absolute_error": float(rows["error"].abs().mean()),
        "bias": float(rows["error"].mean()),
        "noise_floor": float(_MEAN_ABSOLUTE_NORMAL * rows["error_se"].mean()),
        "kendall_tau": float(tau),
        "kendall_ceiling": _kendall_ceiling(rows),
        "coverage": _coverage(rows),
    }


def _kendall_ceiling(rows: pd.DataFrame) -> float:
    """Mean rank correlation of the predictions, taken for the truth, with measurements of it as noisy as these."""
    from scipy.stats import kendalltau

    truth = rows["predicted"].to_numpy(dtype=np.float64)
    noise = pd.to_numeric(rows["measured_se"]).to_numpy(dtype=np.float64)
    if len(rows) < 2 or not np.isfinite(noise).all():
        return float("nan")
    draws = np.random.default_rng(0).standard_normal((_NOISE_DRAWS, len(rows)))
    return float(np.mean([kendalltau(truth, truth + noise * z).statistic for z in draws]))


def _coverage(rows: pd.DataFrame) -> float:
    """Share of measured values inside the prediction's interval, both errors added in quadrature."""
    low, high, centre = rows["predicted_low"], rows["predicted_high"], rows["predicted"]
    noise = (1.96 * rows["measured_se"].fillna(0.0)).astype(float)
    below = np.hypot(centre - low, noise)
    above = np.hypot(high - centre, noise)
    inside = (rows["measured"] >= centre - below) & (rows["measured"] <= centre + above)
    known = low.notna() & high.notna()
    return float(inside[known].mean()) if known.any() else float("nan")
