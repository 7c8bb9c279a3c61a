"""Acceptance that depends on the position in the block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specfrontier.errors import InputError
from specfrontier.simulate.acceptance import rates
from specfrontier.simulate.evidence import Evidence
from specfrontier.simulate.grid import Point, linear_leniency
from specfrontier.simulate.outcome import Outcome
from specfrontier.simulate.predictors.base import predictor
from specfrontier.simulate.predictors.independent import RoundLaw, outcome_of_rounds, texts_of
from specfrontier.theory.rules import Lossless
from specfrontier.theory.rules.schedule import as_schedule
from specfrontier.theory.tokens import token_law

__all__ = ["FittedPositionDependent", "PositionDependent"]

FloatArray = NDArray[np.float64]


@predictor("position-dependent")
@dataclass(frozen=True)
class PositionDependent:
    """Independent rounds with one conditional acceptance rate a position: α_k(λ_k) = 1 - (1 - λ_k)(1 - α_k(0)).

    Args:
        acceptance: lossless conditional rates α_1(0), α_2(0), ... that hold for every effort, for instance from a
            serving engine's counters; the last one holds beyond them. None takes 1 - TV_k from the profile.
        by_position: False replaces all positions by the mean over visited ones, as Equation 6.
        whole_texts: let rounds and blocks be cut where texts end (False: endless text).
    """

    acceptance: tuple[float, ...] | None = None
    by_position: bool = True
    whole_texts: bool = True

    def __post_init__(self) -> None:
        if self.acceptance is not None and not (self.acceptance and all(0 <= rate <= 1 for rate in self.acceptance)):
            raise InputError(f"acceptance is {self.acceptance}; give at least one conditional rate in [0, 1]")

    @classmethod
    def decaying(cls, first: float, decay: float, positions: int = 64) -> PositionDependent:
        """Rates first · decay^(k - 1): a mean and a decay, the form that engines force acceptance with.

        Args:
            first: α_1 in [0, 1].
            decay: factor a position in (0, 1].
            positions: how many to write out; the last rate holds beyond.
        """
        if not 0 < decay <= 1:
            raise InputError(f"decay is {decay}; give a factor a position in (0, 1]")
        return cls(tuple(first * decay**k for k in range(positions)))

    def fit(self, evidence: Evidence) -> FittedPositionDependent:
        return FittedPositionDependent(evidence, self)


@dataclass(frozen=True)
class FittedPositionDependent:
    """`PositionDependent` of one pair."""

    evidence: Evidence
    options: PositionDependent

    def at(self, point: Point) -> Outcome:
        loss, deviation = self._by_position(point)

        def law_at(factor: float) -> RoundLaw:
            return RoundLaw(token_law(1 - np.minimum(loss * factor, 1.0)), np.minimum(deviation * factor, 1.0))

        texts = texts_of(self.evidence, point)
        return outcome_of_rounds(law_at, self._factors(point), point, self.evidence, texts, self.options.whole_texts)

    def fitted_on(self, point: Point) -> frozenset[Point]:
        return frozenset({Point(point.effort, "lossless", self.evidence.profile.block_size)})

    def _by_position(self, point: Point) -> tuple[FloatArray, FloatArray]:
        """``[B]`` rejection rate and deviation at each position under the point's rule."""
        schedule = as_schedule(point.leniency)
        leniencies = [linear_leniency(schedule.rule_at(k)) for k in range(point.block_size)]
        if None in leniencies:
            return self._from_rounds(point)
        lam, distance = np.array(leniencies, dtype=np.float64), self._distances(point)
        return (1 - lam) * distance, lam * distance

    def _distances(self, point: Point) -> FloatArray:
        """``[B]``: lossless rejection rate by position, which is TV_k."""
        size = point.block_size
        if self.options.acceptance is not None:
            return _extended(1 - np.asarray(self.options.acceptance), size)
        _, effort = self.evidence.effort(point.effort)
        if not self.options.by_position:
            return np.full(size, effort.d_visited.value)
        return _extended(np.asarray(effort.tv_by_position), size)

    def _from_rounds(self, point: Point) -> tuple[FloatArray, FloatArray]:
        """Means over what lossless rounds reach, for rules whose rate is not a function of TV."""
        if self.options.acceptance is not None:
            raise InputError(
                f"rates alone say nothing about {point.rule}; ask for linear rules or give recorded rounds"
            )
        traces = self.evidence.rounds_for(f"position-dependent with rule {point.rule}").lossless(point.effort, 1)
        reach = rates(Lossless(), traces).reach() * traces.exists
        rule = rates(point.leniency, traces)
        losses, deviations = (reach * (1 - rule.alpha)).sum(axis=0), (reach * rule.deviation).sum(axis=0)
        weight = reach.sum(axis=0)
        if not self.options.by_position:
            losses, deviations, weight = (np.atleast_1d(x.sum()) for x in (losses, deviations, weight))
        reached = weight > 0
        loss, deviation = losses[reached] / weight[reached], deviations[reached] / weight[reached]
        return _extended(loss, point.block_size), _extended(deviation, point.block_size)

    def _factors(self, point: Point) -> FloatArray:
        """``[1 + R]``: how much larger all rejection rates are, relative to their estimate."""
        if self.options.acceptance is not None:
            return np.ones(1)
        index, effort = self.evidence.effort(point.effort)
        draws = np.clip(self.evidence.bootstrap.normal(effort.d_visited, index), 0.0, 1.0)
        return draws / draws[0] if draws[0] > 0 else np.ones(1)


def _extended(values: FloatArray | Sequence[float], size: int) -> FloatArray:
    """`values` cut to `size`, or lengthened by its last entry."""
    array = np.asarray(values, dtype=np.float64)[:size]
    return np.concatenate([array, np.full(size - len(array), array[-1])])
