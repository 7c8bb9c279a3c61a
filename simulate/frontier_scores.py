"""How much of the measured frontier a prediction finds."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from specfrontier.theory.frontier import hypervolume, pareto_mask

__all__ = ["frontier_scores"]

FloatArray = NDArray[np.float64]

#: Speed figures, and whether more of them is better.
_SPEEDS = {"throughput": True, "latency": False}
_QUALITIES = ("accuracy", "agreement")

#: Simulated measurements of the truth.
_NOISE_DRAWS = 200

#: Lossless configurations agree fully, but for rounding.
_ROUNDING = 1e-9


def frontier_scores(scored: pd.DataFrame) -> pd.DataFrame:
    """Compare predicted and measured frontiers in each plane of a speed and a quality.

    Args:
        scored: predictions joined with measurements, one row a predictor and point.

    Returns:
        One row a predictor and plane: `points`; sizes of both frontiers; `overlap`, the Jaccard index of the two
        sets of configurations; `found`, the share of the measured frontier that was predicted; `hypervolume_ratio`,
        predicted over measured; `attained`, the measured hypervolume of the configurations predicted to be on the
        frontier over that of the measured frontier: what deploying the prediction would really give; `regret`, the
        share of speed lost by the configuration that the prediction recommends against the fastest measured one,
        both with quality of at least a floor (the one as predicted, the other as measured), on average over floors
        at the measured qualities; `regret_floor`, what it would be on average were the predictions the truth, as the
        best of noisy measurements is better than it should be; `below_floor`, by how much the recommended one then
        misses its floor, on average.
    """
    rows = []
    for name, group in scored.groupby("predictor", sort=False):
        for speed, more in _SPEEDS.items():
            for quality in _QUALITIES:
                columns = [speed, quality, f"{speed}_measured", f"{quality}_measured"]
                values = group.reindex(columns=[*columns, f"{speed}_se", f"{quality}_se"]).astype(float)
                values = values.dropna(subset=columns)
                if len(values) > 1:
                    predicted, measured, noise = np.split(values.to_numpy(), 3, axis=1)
                    scores = _plane(predicted, measured, (more, True))
                    scores["regret_floor"] = _regret_of_noise(predicted, noise, more)
                    rows.append({"predictor": name, "speed": speed, "quality": quality, **scores})
    return pd.DataFrame(rows)


def _plane(predicted: FloatArray, measured: FloatArray, maximise: tuple[bool, bool]) -> dict[str, float]:
    on_predicted = pareto_mask(predicted, maximise=maximise)
    on_measured = pareto_mask(measured, maximise=maximise)
    both = on_predicted & on_measured
    corner = _reference(np.concatenate([predicted, measured]), maximise)
    whole = hypervolume(measured, corner, maximise=maximise)
    return {
        "points": len(measured),
        "predicted_frontier": int(on_predicted.sum()),
        "measured_frontier": int(on_measured.sum()),
        "overlap": float(both.sum() / (on_predicted | on_measured).sum()),
        "found": float(both.sum() / on_measured.sum()),
        "hypervolume_ratio": _ratio(hypervolume(predicted, corner, maximise=maximise), whole),
        "attained": _ratio(hypervolume(measured[on_predicted], corner, maximise=maximise), whole),
        **_recommended(predicted, measured, maximise[0]),
    }


def _recommended(predicted: FloatArray, measured: FloatArray, more: bool) -> dict[str, float]:
    """What recommending from predictions costs, over floors of quality that both sides can meet."""
    regrets, misses = [], []
    for floor in np.unique(measured[:, 1]):
        allowed = predicted[:, 1] >= floor - _ROUNDING
        if not allowed.any():
            continue
        chosen = _fastest(predicted, allowed, more)
        best = _fastest(measured, measured[:, 1] >= floor, more)
        speed, fastest = measured[chosen, 0], measured[best, 0]
        regrets.append(1 - (speed / fastest if more else fastest / speed))
        misses.append(max(floor - measured[chosen, 1], 0.0))
    if not regrets:
        return {"regret": float("nan"), "below_floor": float("nan")}
    return {"regret": float(np.mean(regrets)), "below_floor": float(np.mean(misses))}


def _regret_of_noise(truth: FloatArray, noise: FloatArray, more: bool) -> float:
    """Mean regret of recommending from the truth, against measurements with these standard errors."""
    if not np.isfinite(noise).all():
        return float("nan")
    draws = np.random.default_rng(0).standard_normal((_NOISE_DRAWS, *truth.shape))
    return float(np.nanmean([_recommended(truth, truth + noise * z, more)["regret"] for z in draws]))


def _fastest(points: FloatArray, allowed: NDArray[np.bool_], more: bool) -> int:
    return int(np.where(allowed, points[:, 0] if more else -points[:, 0], -np.inf).argmax())


def _reference(points: FloatArray, maximise: tuple[bool, bool]) -> FloatArray:
    """The worst value of each objective, moved out by 1 % of its range so that no frontier point is lost."""
    worst = np.where(maximise, points.min(axis=0), points.max(axis=0))
    outward = np.where(maximise, -1.0, 1.0)
    return worst + outward * 0.01 * np.maximum(np.ptp(points, axis=0), np.finfo(float).tiny)


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0 else float("nan")
