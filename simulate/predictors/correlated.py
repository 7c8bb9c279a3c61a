"""Acceptance that clusters: easy rounds and hard rounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specfrontier.simulate.acceptance import rates
from specfrontier.simulate.evidence import Evidence
from specfrontier.simulate.grid import Point
from specfrontier.simulate.outcome import Outcome
from specfrontier.simulate.predictors.base import predictor
from specfrontier.simulate.predictors.independent import RoundLaw, outcome_of_rounds, texts_of
from specfrontier.simulate.traces import Traces
from specfrontier.theory.tokens import TokenLaw

__all__ = ["Correlated", "FittedCorrelated"]

FloatArray = NDArray[np.float64]


@predictor("correlated")
@dataclass(frozen=True)
class Correlated:
    """Independent rounds whose rejection rates share one random factor X a round, with mean 1.

    S_n = E_X[Π_{k<=n} (1 - X r_k)], where r_k is the mean rejection rate over all drafted positions k, reached or not:
    rounds that survive to k are the easy ones, and the mixture says so by itself (``theory.mixing`` has the case
    r_k = r). X is the mean rejection rate of a recorded round relative to what its positions average, in `bins`
    groups of equal size.

    Args:
        bins: number of values that X takes.
        whole_texts: let rounds and blocks be cut where texts end.
    """

    bins: int = 16
    whole_texts: bool = True

    def fit(self, evidence: Evidence) -> FittedCorrelated:
        evidence.rounds_for("correlated")
        return FittedCorrelated(evidence, self)


@dataclass(frozen=True)
class FittedCorrelated:
    """`Correlated` of one pair."""

    evidence: Evidence
    options: Correlated

    def at(self, point: Point) -> Outcome:
        traces = self.evidence.rounds_for("correlated").lossless(point.effort, point.block_size)
        rule = rates(point.leniency, traces)
        loss = np.where(traces.exists, 1 - rule.alpha, 0.0)
        by_position = _position_means(loss, traces)[: point.block_size]
        deviation = _position_means(rule.deviation, traces)[: point.block_size]
        mixing = _mixing(loss, traces, self.options.bins)

        def law_at(factor: float) -> RoundLaw:
            kept = 1 - np.clip(mixing[:, None] * by_position * factor, 0.0, 1.0)
            survival = np.cumprod(kept, axis=1)
            reach = np.concatenate([np.ones((len(mixing), 1)), survival[:, :-1]], axis=1)
            # Deviation rides on the same factor: hard rounds are where a rule departs from p.
            spread = np.clip(mixing[:, None] * deviation * factor, 0.0, 1.0)
            visited_deviation = (reach * spread).sum(axis=0) / np.maximum(reach.sum(axis=0), 1e-300)
            return RoundLaw(TokenLaw(survival.mean(axis=0)), visited_deviation)

        texts = texts_of(self.evidence, point)
        factors = self._factors(loss, traces)
        return outcome_of_rounds(law_at, factors, point, self.evidence, texts, self.options.whole_texts)

    def fitted_on(self, point: Point) -> frozenset[Point]:
        return frozenset({self.evidence.rounds_for("correlated").lossless(point.effort, point.block_size).point})

    def _factors(self, loss: FloatArray, traces: Traces) -> FloatArray:
        """``[1 + R]``: the mean rejection rate of resampled prompts, relative to that of all."""
        weights = self.evidence.weights(traces)
        total = weights @ traces.by_generation(loss.sum(axis=1))
        count = weights @ traces.by_generation(traces.length.astype(np.float64))
        means = total / np.maximum(count, 1.0)
        return means / means[0] if means[0] > 0 else np.ones(1)


def _position_means(values: FloatArray, traces: Traces) -> FloatArray:
    """``[B]`` mean over the rounds that have the position; beyond the longest draft, its last mean."""
    count = traces.exists.sum(axis=0)
    means = values.sum(axis=0) / np.maximum(count, 1)
    longest = int(traces.length.max())
    return np.concatenate([means[:longest], np.full(len(means) - longest, means[longest - 1])])


def _mixing(loss: FloatArray, traces: Traces, bins: int) -> FloatArray:
    """``[bins]`` equally likely values of X, with mean 1."""
    expected = (traces.exists * _position_means(loss, traces)).sum(axis=1)
    drafted = expected > 0
    if not drafted.any():
        return np.ones(1)
    ratio = np.sort(loss.sum(axis=1)[drafted] / expected[drafted])
    means = np.array([group.mean() for group in np.array_split(ratio, min(bins, len(ratio)))])
    return means / means.mean() if means.mean() > 0 else np.ones(1)
