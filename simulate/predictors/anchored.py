"""Replay between traces of several leniencies, so that prefix shift is modelled."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from specfrontier.errors import InputError
from specfrontier.simulate.acceptance import rates
from specfrontier.simulate.evidence import Evidence
from specfrontier.simulate.grid import Effort, Point
from specfrontier.simulate.outcome import Outcome
from specfrontier.simulate.overshoot import Gauge, overshoot_nats
from specfrontier.simulate.predictors.base import predictor
from specfrontier.simulate.predictors.replay import FittedReplay, Replay
from specfrontier.simulate.traces import Traces

__all__ = ["Anchored", "FittedAnchored"]


@predictor("anchored")
@dataclass(frozen=True)
class Anchored:
    """Replay a rule on the traces of the two recorded rules nearest to it in overshoot, and interpolate.

    Leniency moves the prefixes that a drafter meets, the lengths of texts and how hard they are; traces recorded
    under a lenient rule have all of that in them. How far a rule moves them is gauged by the nats by which it lets
    over-proposed tokens through (``simulate.overshoot``), a visited position, on the lossless traces: what spoils a
    prefix is a token that the verifier finds very unlikely, not total variation, of which a clip can have much and
    move nothing. So anchors of one family of rules (linear) serve another (clip, Cactus). Beyond the most lenient
    anchor, that anchor stands alone.

    Args:
        average: as `Replay`.
        gauge: of how far a rule moves prefixes; `deviation` is total variation, to see what the choice is worth.
    """

    average: bool = True
    gauge: Gauge = "overshoot"

    def fit(self, evidence: Evidence) -> FittedAnchored:
        evidence.rounds_for("anchored")
        return FittedAnchored(evidence, FittedReplay(evidence, Replay(self.average)), self.gauge)


@dataclass(frozen=True)
class FittedAnchored:
    """`Anchored` of one pair."""

    evidence: Evidence
    replay: FittedReplay
    gauge: Gauge
    _placed: dict[tuple[Effort, int], list[tuple[float, Traces]]] = field(default_factory=dict)

    def at(self, point: Point) -> Outcome:
        anchors = self._anchors(point.effort, point.block_size)
        places = np.array([place for place, _ in anchors])
        place = self.departure(point)
        above = int(np.clip(np.searchsorted(places, place), 1, len(places) - 1))
        share = float(np.clip((place - places[above - 1]) / (places[above] - places[above - 1]), 0.0, 1.0))
        near = self.replay.totals(anchors[above - 1][1], point)
        far = self.replay.totals(anchors[above][1], point)
        return near.mixed(far, share).outcome(self.evidence.costs.prefill_s)

    def fitted_on(self, point: Point) -> frozenset[Point]:
        return frozenset(traces.point for _, traces in self._anchors(point.effort, point.block_size))

    def _anchors(self, effort: Effort, block_size: int) -> list[tuple[float, Traces]]:
        """Anchors with their departure, ascending and distinct; found once, as traces are known by their identity."""
        if (effort, block_size) not in self._placed:
            self._placed[effort, block_size] = self._place(effort, block_size)
        return self._placed[effort, block_size]

    def _place(self, effort: Effort, block_size: int) -> list[tuple[float, Traces]]:
        recorded = self.evidence.rounds_for("anchored").anchors(effort, block_size)
        placed = {self.departure(Point(effort, traces.point.rule, block_size)): traces for traces in recorded}
        if len(placed) < 2:
            raise InputError(
                f"anchored needs traces of {effort.label} at two leniencies or more with blocks of at least "
                f"{block_size}, got {len(recorded)}; record another, or predict with replay"
            )
        return sorted(placed.items(), key=lambda pair: pair[0])

    def departure(self, point: Point) -> float:
        """Expected nats, or TV, a visited position, over the lossless traces as the rule would visit them."""
        traces = self.evidence.rounds_for("anchored").lossless(point.effort, point.block_size)
        rule = rates(point.leniency, traces)
        reach = (rule.reach() * traces.exists)[:, : point.block_size]
        departs = overshoot_nats(rule.keep, traces.p_y, traces.q_y) if self.gauge == "overshoot" else rule.deviation
        return float((reach * departs[:, : point.block_size]).sum() / reach.sum())
