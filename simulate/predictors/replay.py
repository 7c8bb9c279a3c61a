"""Recorded rounds replayed under another rule."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from specfrontier.errors import InputError
from specfrontier.simulate.acceptance import Rates, rates
from specfrontier.simulate.chain import Layout, chain
from specfrontier.simulate.costs import Costs
from specfrontier.simulate.events import simulate_generations
from specfrontier.simulate.evidence import Evidence
from specfrontier.simulate.fresh_starts import fresh_start_factor
from specfrontier.simulate.grid import Point
from specfrontier.simulate.outcome import Outcome, Totals
from specfrontier.simulate.predictors.base import predictor
from specfrontier.simulate.traces import Traces

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
            rounds instead (``simulate.events``), which is faster for long texts and blocks.
        seed: of those draws.
    """

    average: bool = True
    rounds: int | None = None
    seed: int = 0

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
    _kept: dict[tuple[int, str], Rates] = field(default_factory=dict)
    _layouts: dict[tuple[int, int], Layout] = field(default_factory=dict)
    _fresh: dict[int, float] = field(default_factory=dict)

    def at(self, point: Point) -> Outcome:
        traces = self.evidence.rounds_for("replay").lossless(point.effort, point.block_size)
        return self.totals(traces, point).outcome(self.evidence.costs.prefill_s)

    def fitted_on(self, point: Point) -> frozenset[Point]:
        return frozenset({self.evidence.rounds_for("replay").lossless(point.effort, point.block_size).point})

    def totals(self, traces: Traces, point: Point) -> Totals:
        """``[1 + R]`` expected totals a generation of `traces`, decoded under `point`."""
        key = (id(traces), point.rule)
        if key not in self._kept:
            self._kept = {key: rates(point.acceptance_rule, traces, average=self.options.average)}
        place = (id(traces), point.block_size)
        if place not in self._layouts:
            self._layouts[place] = Layout.of(traces, point.block_size, self.evidence.profile.max_new_tokens)
        layout = self._layouts[place]
        totals = self._totals(traces, layout, self._kept[key], point)
        return totals.resampled(self.evidence.weights(traces))

    def fresh(self, traces: Traces) -> float:
        """The factor that makes `traces` reproduce their own rounds."""
        if id(traces) not in self._fresh:
            limit = self.evidence.profile.max_new_tokens
            self._fresh[id(traces)] = fresh_start_factor(traces, limit, average=self.options.average)
        return self._fresh[id(traces)]

    def _totals(self, traces: Traces, layout: Layout, rule: Rates, point: Point) -> Totals:
        if self.options.rounds is None:
            return replay_totals(traces, layout, rule, point, self.evidence.costs, self.fresh(traces))
        return simulate_generations(
            traces,
            layout,
            rule,
            self.evidence.costs,
            point.effort,
            point.block_size,
            rounds=self.options.rounds,
            generator=np.random.default_rng(self.options.seed),
            fresh=self.fresh(traces),
        ).totals(traces)


def replay_totals(
    traces: Traces, layout: Layout, rule: Rates, point: Point, costs: Costs, fresh: float = 1.0
) -> Totals:
    """Chain the rounds of each generation under `rule`, cut to the point's block size.

    Args:
        traces: recorded rounds.
        layout: which of them stands for which start.
        rule: the rule's rates on them.
        point: effort and block size.
        costs: seconds.
        fresh: as in ``simulate.chain``.
    """
    run = chain(traces, layout, rule, point.block_size, fresh)
    seconds = costs.round_s(point.effort, layout.requested, layout.verified, layout.context, layout.forwards)
    return Totals(
        tokens=traces.output_tokens - (run.starts * run.lost).sum(axis=1),
        rounds=run.starts.sum(axis=1),
        accepted=(run.starts * run.accepted).sum(axis=1),
        visited=(run.starts * run.visited).sum(axis=1),
        deviation=(run.starts * run.deviation).sum(axis=1),
        decode_s=(run.starts * seconds).sum(axis=1),
    )
