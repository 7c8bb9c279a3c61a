"""Recorded rounds replayed under another rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from specfrontier.errors import InputError
from specfrontier.simulate.acceptance import rates_by_run
from specfrontier.simulate.chain import chain
from specfrontier.simulate.events import Generations, simulate_generations
from specfrontier.simulate.evidence import Evidence
from specfrontier.simulate.fresh_starts import STEP, FreshStarts, fresh_starts
from specfrontier.simulate.grid import Effort, Point
from specfrontier.simulate.layout import Layout
from specfrontier.simulate.line import Line, Slots
from specfrontier.simulate.outcome import Outcome, Totals
from specfrontier.simulate.predictors.base import predictor
from specfrontier.simulate.traces import Traces
from specfrontier.simulate.walks import Walks

__all__ = ["FittedReplay", "Replay", "replay_totals"]

FloatArray = NDArray[np.float64]


@predictor("replay")
@dataclass(frozen=True)
class Replay:
    """Replay the lossless rounds of each problem in a chain, with the acceptance that the rule would have had.

    One recording at λ = 0 predicts every pointwise rule, because traces hold p(y), q(y) and TV at all drafted
    positions, accepted or not. Kept as recorded: how acceptance falls along a block, clusters in a round and in a
    problem, where end tokens cut blocks, how long a text is unless leniency ends it early, what a round costs at its
    context, and how many rounds the recording itself took. Approximated:

    - a text that leniency changed is as hard as the recorded one at the same place, and never longer (prefix shift
      is what `Anchored` adds);
    - a block shorter than the recorded one is its prefix, though a drafter's schedule of steps depends on B.

    Args:
        average: use acceptance in closed form where there is one (smaller variance); needs drafts that satisfy
            Proposition 2's conditions, or else it is biased by their violation.
        rounds: None sums over all that can happen, in time O(tokens · B) a point; a number draws about that many
            rounds instead (``simulate.events``), which is faster for long texts and blocks and leaves overshoot out.
        seed: of those draws.
        fresh_starts: correct for places where no recorded round started (``simulate.fresh_starts``).
    """

    average: bool = True
    rounds: int | None = None
    seed: int = 0
    fresh_starts: bool = True

    def __post_init__(self) -> None:
        if self.rounds is not None and self.rounds < 1:
            raise InputError(f"rounds is {self.rounds}; give an integer >= 1, or None for exact sums")

    def fit(self, evidence: Evidence) -> FittedReplay:
        evidence.rounds_for("replay")
        return FittedReplay(evidence, self)


@dataclass
class FittedReplay:
    """`Replay` of one pair. Keeps what does not depend on the block size from one point to the next."""

    evidence: Evidence
    options: Replay
    _replayed: dict[int, _Recording] = field(default_factory=dict)

    def at(self, point: Point) -> Outcome:
        return self.totals(self._traces(point), point).outcome(self.evidence.costs.prefill_s)

    def fitted_on(self, point: Point) -> frozenset[Point]:
        return frozenset({self._traces(point).point})

    def totals(self, traces: Traces, point: Point) -> Totals:
        """``[1 + R]`` expected totals a generation of `traces`, decoded under `point`."""
        return self._recording(traces).resampled(point)

    def generations(self, point: Point, rounds: int = 100_000) -> Generations:
        """Whole generations of one configuration, drawn: how latency is distributed, and not only its mean."""
        return self._recording(self._traces(point)).generations(point, rounds)

    def _traces(self, point: Point) -> Traces:
        return self.evidence.rounds_for("replay").lossless(point.effort, point.block_size)

    def _recording(self, traces: Traces) -> _Recording:
        return self._replayed.setdefault(id(traces), _Recording(traces, self.evidence, self.options))


@dataclass
class _Recording:
    """One recorded configuration, with what its points share."""

    traces: Traces
    evidence: Evidence
    options: Replay
    _slots: dict[tuple[Effort, int], Slots] = field(default_factory=dict)
    _walks: dict[float, tuple[str, Walks]] = field(default_factory=dict)

    def resampled(self, point: Point) -> Totals:
        """``[1 + R]`` means a generation. Replicates have a factor for fresh starts of their own, if sums are exact."""
        means = self.totals(point, self.fresh.factor).resampled(self.weights)
        if self.options.rounds is not None or len(self.weights) == 1 or not self.fresh.slope.any():
            return means
        beside = self.totals(point, self.fresh.factor + STEP).resampled(self.weights)
        return means.mixed(beside, (self.fresh.resampled(self.weights) - self.fresh.factor) / STEP)

    def totals(self, point: Point, fresh: float) -> Totals:
        """``[G]`` expected totals of each generation, decoded under `point`, with a factor for fresh starts."""
        walks, slots = self._walks_of(point, fresh), self._slots_of(point)
        if self.options.rounds is None:
            return replay_totals(walks, slots)
        return self._drawn(walks, slots, self.options.rounds).totals()

    def generations(self, point: Point, rounds: int) -> Generations:
        """Whole generations, decoded under `point`, of about so many rounds in all."""
        return self._drawn(self._walks_of(point, self.fresh.factor), self._slots_of(point), rounds)

    def _drawn(self, walks: Walks, slots: Slots, rounds: int) -> Generations:
        return simulate_generations(walks, slots, rounds=rounds, generator=np.random.default_rng(self.options.seed))

    @cached_property
    def weights(self) -> FloatArray:
        """``[1 + R, G]`` bootstrap weights."""
        return self.evidence.weights(self.traces)

    @cached_property
    def fresh(self) -> FreshStarts:
        """The factor that makes the traces reproduce their own rounds."""
        if not self.options.fresh_starts:
            none = np.zeros(len(self.traces.problems))
            return FreshStarts(1.0, none, none)
        return fresh_starts(self.traces, self.evidence.profile.max_new_tokens, average=self.options.average)

    @cached_property
    def line(self) -> Line:
        """The rounds along a line."""
        return Line.of(self.traces, self._layout(self.traces.block_size))

    def _layout(self, block_size: int) -> Layout:
        return Layout.of(self.traces, block_size, self.evidence.profile.max_new_tokens)

    def _slots_of(self, point: Point) -> Slots:
        key = point.effort, point.block_size
        if key not in self._slots:
            layout = self._layout(point.block_size)
            seconds = layout.round_s(self.evidence.costs, point.effort)
            self._slots[key] = Slots.of(self.line, layout, point.block_size, seconds)
        return self._slots[key]

    def _walks_of(self, point: Point, fresh: float) -> Walks:
        """Of the last leniency that was asked for: a grid goes through its block sizes one after another."""
        if fresh not in self._walks or self._walks[fresh][0] != point.rule:
            exact = self.options.rounds is None
            leniency = rates_by_run(point.leniency, self.traces, average=self.options.average)
            self._walks[fresh] = point.rule, Walks.of(self.traces, self.line, leniency, fresh, overshoot=exact)
        return self._walks[fresh][1]


def replay_totals(walks: Walks, slots: Slots) -> Totals:
    """Expected totals ``[G]`` of each generation, over the chain of its rounds.

    Args:
        walks: of a leniency on recorded rounds.
        slots: of a block size, on the same line, with the seconds of rounds.
    """
    run = chain(walks, slots)

    def expected(values: FloatArray) -> FloatArray:
        total: FloatArray = (run.starts * values).sum(axis=1)
        return total

    return Totals(
        tokens=slots.left[:: walks.line.width] - expected(run.lost),
        rounds=run.starts.sum(axis=1),
        accepted=expected(run.accepted),
        visited=expected(run.visited),
        deviation=expected(run.deviation),
        overshoot=expected(run.overshoot),
        decode_s=expected(slots.seconds.reshape(run.starts.shape)),
    )
