"""K by round, from the drafter's own confidence, tried on recorded rounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specfrontier.errors import InputError
from specfrontier.simulate.acceptance import rates
from specfrontier.simulate.costs import Costs
from specfrontier.simulate.grid import parse_rule
from specfrontier.simulate.scheduling.policy import PolicyComparison, best_fixed
from specfrontier.simulate.scheduling.rounds import tokens_emitted
from specfrontier.simulate.traces import Traces

__all__ = ["compare_effort_choice", "confidence"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def confidence(traces: Traces) -> FloatArray:
    """``[R]``: Σ_n q(y_1) ··· q(y_n), the accepted length that the drafter would expect of a verifier like itself.

    Known before verification, from nothing but the draft.
    """
    found: FloatArray = np.cumprod(np.where(traces.exists, traces.q_y, 0.0), axis=1).sum(axis=1)
    return found


def compare_effort_choice(
    cheap: Traces, costly: Traces, costs: Costs, rule: str, *, redraft: bool = True
) -> PolicyComparison:
    """Draft cheaply, and again with more effort where confidence is below a threshold.

    A cheap round is paired with the costly round of its problem that starts nearest to it. The threshold is chosen on
    every other problem and judged on the rest, as are the fixed efforts.

    Args:
        cheap, costly: lossless rounds of two efforts on the same problems.
        costs: seconds.
        rule: spec of the (pointwise) acceptance rule, the same at both efforts.
        redraft: whether the second draft starts over, so that both are paid for, or goes on from the first.
    """
    pairs = _pairs(cheap, costly)
    few, many = _Side.of(cheap, costs, rule), _Side.of(costly, costs, rule).take(pairs)
    extra = many.seconds + few.draft_s if redraft else many.seconds
    escalated = _Side(many.tokens, many.deviation, extra, many.draft_s)
    signal = confidence(cheap)
    problem = np.unique(cheap.problems.astype(str), return_inverse=True)[1][cheap.generation]
    fit = problem % 2 == 0
    if fit.all() or not fit.any():
        raise InputError("choosing a threshold needs at least two problems; record more")
    cuts = np.unique(np.quantile(signal[fit], np.linspace(0, 1, 41)))
    chosen = max(cuts, key=lambda cut: few.where(signal >= cut, escalated).rate(fit))
    policy, judged = few.where(signal >= chosen, escalated), ~fit
    fixed = [few, many]
    deviation = policy.deviation_per_token(judged)
    rival = best_fixed(
        [cheap.point.effort.label, costly.point.effort.label],
        np.array([side.rate(judged) for side in fixed]),
        np.array([side.deviation_per_token(judged) for side in fixed]),
        deviation,
    )
    share = float((signal[judged] < chosen).mean())
    return PolicyComparison(
        policy=f"{cheap.point.effort.label}, then {costly.point.effort.label} below confidence {chosen:.2f}",
        throughput=policy.rate(judged),
        deviation=deviation,
        fixed=rival,
        share=min(share, 1 - share) if rival.label in (cheap.point.effort.label, costly.point.effort.label) else share,
    )


@dataclass(frozen=True)
class _Side:
    """What each round would give, ``[R]`` each."""

    tokens: FloatArray
    deviation: FloatArray
    seconds: FloatArray
    draft_s: FloatArray

    @classmethod
    def of(cls, traces: Traces, costs: Costs, rule: str) -> _Side:
        found = rates(parse_rule(rule), traces)
        reach = found.reach() * traces.exists
        draft_s = np.broadcast_to(
            costs.draft_of(traces.point.effort)(traces.requested, traces.forwards), (traces.rounds,)
        )
        return cls(
            tokens=tokens_emitted(traces, found.survival()),
            deviation=(reach * found.deviation).sum(axis=1),
            seconds=draft_s + costs.verify(traces.length, traces.context) + costs.host_s,
            draft_s=draft_s,
        )

    def take(self, rows: IntArray) -> _Side:
        return _Side(self.tokens[rows], self.deviation[rows], self.seconds[rows], self.draft_s[rows])

    def where(self, keep: NDArray[np.bool_], other: _Side) -> _Side:
        return _Side(
            np.where(keep, self.tokens, other.tokens),
            np.where(keep, self.deviation, other.deviation),
            np.where(keep, self.seconds, other.seconds),
            np.where(keep, self.draft_s, other.draft_s),
        )

    def rate(self, rows: NDArray[np.bool_]) -> float:
        return float(self.tokens[rows].sum() / self.seconds[rows].sum())

    def deviation_per_token(self, rows: NDArray[np.bool_]) -> float:
        return float(self.deviation[rows].sum() / self.tokens[rows].sum())


def _pairs(cheap: Traces, costly: Traces) -> IntArray:
    """``[R]``: for each cheap round, the row of the costly round of its problem with the nearest start."""
    by_problem: dict[object, list[int]] = {}
    for row, generation in enumerate(costly.generation):
        by_problem.setdefault(costly.problems[generation], []).append(row)
    found = np.zeros(cheap.rounds, dtype=np.int64)
    for row, generation in enumerate(cheap.generation):
        problem = cheap.problems[generation]
        if problem not in by_problem:
            raise InputError(
                f"problem {problem} was not recorded at {costly.point.effort.label}; use the same problems"
            )
        rows = np.array(by_problem[problem])
        found[row] = rows[np.argmin(np.abs(costly.start[rows] - cheap.start[row]))]
    return found
