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

#: What recommending is scored by.
_RECOMMENDED = ("regret", "shortfall", "below_floor")

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
        frontier over that of the measured frontier: what deploying the prediction would really give.

        And what it costs to deploy the configuration that the prediction recommends above a floor of quality, each
        on average over all floors from the least measured quality up: `regret`, the share of speed that it loses
        against the fastest configuration measured above the floor; `shortfall`, what it loses against the fastest
        one measured to be at least as good as itself; `below_floor`, by how much it misses the floor. Regret without
        shortfall and misses without regret are errors of quality alone: the right kind of configuration on the wrong
        side of the floor. `regret_by_noise` and `shortfall_by_noise` are what the two would be were the predictions the
        truth, as the best of noisy measurements is better than it should be.
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
                    scores |= _by_noise(predicted, noise, more)
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
    """What recommending from predictions costs, on average over the floors of quality that both sides can meet."""
    scores, widths = [], []
    for low, high in _floors(predicted[:, 1], measured[:, 1]):
        chosen = _fastest(predicted, high, more)
        speed, quality = measured[chosen]
        scores.append(
            (
                _loss(speed, measured[_fastest(measured, high, more), 0], more),
                _loss(speed, measured[_fastest(measured, quality, more), 0], more),
                max((low + high) / 2 - quality, 0.0),
            )
        )
        widths.append(high - low)
    if not scores:
        return dict.fromkeys(_RECOMMENDED, float("nan"))
    means = np.average(scores, axis=0, weights=widths if sum(widths) > 0 else None)
    return dict(zip(_RECOMMENDED, means.tolist(), strict=True))


def _floors(predicted: FloatArray, measured: FloatArray) -> list[tuple[float, float]]:
    """Ranges of floors (low, high] within which no configuration begins or ceases to meet the floor."""
    top = min(predicted.max(), measured.max())
    edges = np.unique(np.concatenate([predicted, measured, [top]]))
    edges = edges[(edges >= measured.min()) & (edges <= top)]
    if len(edges) == 1:
        return [(top, top)]
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def _loss(speed: float, fastest: float, more: bool) -> float:
    """Share of the fastest one's speed that another lacks; 0 for one that is faster."""
    return max(0.0, 1 - (speed / fastest if more else fastest / speed))


def _by_noise(truth: FloatArray, noise: FloatArray, more: bool) -> dict[str, float]:
    """Mean losses of recommending from the truth, against measurements with these standard errors."""
    names = _RECOMMENDED[:2]
    if not np.isfinite(noise).all():
        return {f"{name}_by_noise": float("nan") for name in names}
    draws = np.random.default_rng(0).standard_normal((_NOISE_DRAWS, *truth.shape))
    scores = [_recommended(truth, truth + noise * z, more) for z in draws]
    return {f"{name}_by_noise": float(np.nanmean([score[name] for score in scores])) for name in names}


def _fastest(points: FloatArray, floor: float, more: bool) -> int:
    """The fastest point of at least such a quality."""
    allowed = points[:, 1] >= floor - _ROUNDING
    return int(np.where(allowed, points[:, 0] if more else -points[:, 0], -np.inf).argmax())


def _reference(points: FloatArray, maximise: tuple[bool, bool]) -> FloatArray:
    """The worst value of each objective, moved out by 1 % of its range so that no frontier point is lost."""
    worst = np.where(maximise, points.min(axis=0), points.max(axis=0))
    outward = np.where(maximise, -1.0, 1.0)
    return worst + outward * 0.01 * np.maximum(np.ptp(points, axis=0), np.finfo(float).tiny)


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0 else float("nan")
