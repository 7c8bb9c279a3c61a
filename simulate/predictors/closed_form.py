"""Equations 6 and 7, as the paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specfrontier.simulate.acceptance import rates
from specfrontier.simulate.evidence import Evidence
from specfrontier.simulate.grid import Point, linear_leniency
from specfrontier.simulate.outcome import Outcome
from specfrontier.simulate.predictors.base import predictor
from specfrontier.theory.throughput_model import linear_acceptance_rate, throughput, verifier_agreement
from specfrontier.theory.tokens import expected_tokens

__all__ = ["ClosedForm"]

FloatArray = NDArray[np.float64]


@predictor("closed-form")
@dataclass(frozen=True)
class ClosedForm:
    """One acceptance rate for every position, one draft cost an effort, one verify cost, nothing else.

    α = 1 - (1 - λ) d_K, agreement 1 - λ d_K (Equation 6), throughput Σ_{n=0}^{B} α^n / (c_d + c_v) (Equation 7);
    latency is prefill plus the mean output length over throughput. A rule that is not linear takes its mean acceptance
    over the positions that lossless rounds visited, if rounds are given.
    """

    def fit(self, evidence: Evidence) -> FittedClosedForm:
        return FittedClosedForm(evidence)


@dataclass(frozen=True)
class FittedClosedForm:
    """`ClosedForm` of one pair."""

    evidence: Evidence

    def at(self, point: Point) -> Outcome:
        profile = self.evidence.profile
        alpha, deviation = self._rates(point)
        draft_s = float(self.evidence.costs.draft_of(point.effort)(point.block_size))
        verify_s = self.evidence.costs.constant_verify_s
        speed = throughput(alpha, point.block_size, draft_s, verify_s)
        tokens = expected_tokens(alpha, point.block_size)
        visited = profile.output_tokens / tokens * _expected_visited(alpha, point.block_size)
        return Outcome(
            throughput=speed,
            latency=self.evidence.costs.prefill_s + profile.output_tokens / speed,
            tokens_per_round=tokens,
            acceptance=alpha,
            agreement=1 - deviation,
            deviation=deviation * visited,
            overshoot=np.full_like(deviation, np.nan),
        )

    def fitted_on(self, point: Point) -> frozenset[Point]:
        return frozenset({Point(point.effort, "lossless", self.evidence.profile.block_size)})

    def _rates(self, point: Point) -> tuple[FloatArray, FloatArray]:
        """``[1 + R]`` acceptance rate and expected deviation of a visited position."""
        lam = linear_leniency(point.leniency)
        if lam is None:
            return self._visited_means(point)
        index, effort = self.evidence.effort(point.effort)
        d = np.clip(self.evidence.bootstrap.normal(effort.d_visited, index), 0.0, 1.0)
        return linear_acceptance_rate(d, lam), 1 - verifier_agreement(d, lam)

    def _visited_means(self, point: Point) -> tuple[FloatArray, FloatArray]:
        traces = self.evidence.rounds_for(f"closed-form with rule {point.rule}").lossless(point.effort, 1)
        visited = np.arange(traces.block_size) <= traces.accepted[:, None]
        visited &= traces.exists
        rule = rates(point.leniency, traces)
        weights = self.evidence.weights(traces)
        count = weights @ traces.by_generation(visited.sum(axis=1).astype(np.float64))
        alpha = weights @ traces.by_generation((visited * rule.alpha).sum(axis=1)) / count
        deviation = weights @ traces.by_generation((visited * rule.deviation).sum(axis=1)) / count
        return np.clip(alpha, 0, 1), np.clip(deviation, 0, 1)


def _expected_visited(alpha: FloatArray, block_size: int) -> FloatArray:
    """Positions visited in a round, Σ_{n=0}^{B-1} α^n: all that were reached."""
    return expected_tokens(alpha, block_size - 1)
