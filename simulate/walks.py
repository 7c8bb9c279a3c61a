"""How far a round goes under a leniency: walks along the line of recorded rounds.

Everything is a sum along the walk. A round from t accepts n positions and more with probability exp(-loss), the sum of
their -log(acceptance); drawn instead, it stops where its budget is spent, a standard exponential number, which is where
that probability falls below a uniform one. A leniency by position has a sum for each run of positions with one rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from specfrontier.simulate.acceptance import SURE, RunRates
from specfrontier.simulate.line import Line
from specfrontier.simulate.overshoot import overshoot_nats
from specfrontier.simulate.traces import Traces

__all__ = ["Run", "Walks"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Run:
    """Sums along a line of the rule that holds from position `first` of a block on (0-based) to the next run.

    Attributes:
        loss, deviation, overshoot: ``[N + 1]`` sums of -log(acceptance), of deviation and of nats over all entries
            before each.
    """

    first: int
    loss: FloatArray
    deviation: FloatArray
    overshoot: FloatArray


@dataclass(frozen=True)
class Walks:
    """A leniency's walks along a line, for every block size.

    Attributes:
        line: what they run along.
        runs: by position, the first from 0.
        closes: ``[S]`` how often the text ends where a round has accepted everything up to the wall, in excess of the
            recording, because the last of it is a wrong end token.
    """

    line: Line
    runs: tuple[Run, ...]
    closes: FloatArray

    @classmethod
    def of(
        cls,
        traces: Traces,
        line: Line,
        leniency: tuple[RunRates, ...],
        fresh: float = 1.0,
        *,
        overshoot: bool = True,
    ) -> Walks:
        """Lay out a leniency on recorded rounds.

        Args:
            traces, line: recorded rounds.
            leniency: its rates on them.
            fresh: factor on 1 - α where no recorded round started (``simulate.fresh_starts``).
            overshoot: whether to sum nats of overshoot too, which takes as long as all the rest; else they are NaN.
        """
        runs = tuple(_run(traces, line, run, fresh, overshoot) for run in leniency)
        walks = cls(line, runs, np.zeros(len(line.entry)))
        asked = np.exp(walks.spent(line.entry, line.ahead - line.drafted) - walks.spent(line.entry, line.ahead))
        recorded = np.append(_ends_as_recorded(traces), np.inf)[line.ends_with]
        excess = 1 - recorded / np.maximum(asked, np.finfo(float).tiny)
        return cls(line, runs, np.maximum(excess, 0.0))

    def spent(self, entry: IntArray, count: IntArray) -> FloatArray:
        """-log of the probability that rounds from `entry` accept their first `count` positions."""
        return _total(run.loss.take(b) - run.loss.take(a) for run, a, b in self._legs(entry, count))

    def deviated(self, entry: IntArray, count: IntArray) -> FloatArray:
        """Expected deviation over their first `count` positions, were all of them visited."""
        return _total(run.deviation.take(b) - run.deviation.take(a) for run, a, b in self._legs(entry, count))

    def overshot(self, entry: IntArray, count: IntArray) -> FloatArray:
        """Expected nats of overshoot likewise."""
        return _total(run.overshoot.take(b) - run.overshoot.take(a) for run, a, b in self._legs(entry, count))

    def reach(self, entry: IntArray, budget: FloatArray, most: int) -> IntArray:
        """How many positions rounds from `entry` accept with their budgets; counts above `most` are not exact."""
        kept = _reach(self.runs[0].loss, entry, budget, most)
        for run in self.runs[1:]:
            on = np.flatnonzero(kept >= run.first)
            start = entry[on]
            rest = budget[on] - self.spent(start, np.full(len(on), run.first))
            kept[on] = run.first + _reach(run.loss, start + run.first, rest, most)
        return kept

    def _legs(self, entry: IntArray, count: IntArray) -> Iterator[tuple[Run, IntArray, IntArray]]:
        """Each run with the entries at which walks of `count` positions join and leave it."""
        for run, after in zip(self.runs, (*self.runs[1:], None), strict=True):
            start = entry if run.first == 0 else entry + np.minimum(count, run.first)
            yield run, start, entry + (count if after is None else np.minimum(count, after.first))


def _reach(loss: FloatArray, entry: IntArray, budget: FloatArray, most: int) -> IntArray:
    """`Walks.reach` under one rule.

    All bisect in step, a bit of the count at a time: several times faster than a search a round.
    """
    until = loss.take(entry) + budget
    found = entry.copy()
    for bit in reversed(range(most.bit_length())):
        further = found + (1 << bit)
        np.copyto(found, further, where=loss.take(further) <= until)
    return found - entry


def _run(traces: Traces, line: Line, run: RunRates, fresh: float, overshoot: bool) -> Run:
    """Texts take a loss, a deviation and nats, which all grow with the distance of p and q, `fresh` times."""
    keep, alpha, deviation = run.rates.keep, run.rates.alpha, run.rates.deviation
    text_keep = 1 - np.minimum(fresh * (1 - line.at_places(alpha)), 1.0)
    text_deviation = np.minimum(fresh * line.at_places(deviation), 1.0)
    # No budget passes a wall, where acceptance is 0, or a position that is refused for sure.
    loss = -np.log(np.maximum(line.laid_out(text_keep, keep), np.exp(-2 * SURE)))
    nats = np.broadcast_to(np.nan, line.entries + 1)
    if overshoot:
        over = overshoot_nats(keep, traces.p_y, traces.q_y)
        nats = _sums(line.laid_out(fresh * line.at_places(over), over))
    return Run(run.first, _sums(loss), _sums(line.laid_out(text_deviation, deviation)), nats)


def _total(legs: Iterator[FloatArray]) -> FloatArray:
    return reduce(np.add, legs)


def _sums(values: FloatArray) -> FloatArray:
    """``[N + 1]`` sums over all values before each."""
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums


def _ends_as_recorded(traces: Traces) -> FloatArray:
    """``[R]``: how often a draft that ends in a wrong end token was accepted whole when it was recorded.

    Lengths of recorded texts have that in them, so only what exceeds it ends a text early. Infinite for other drafts.
    """
    wrong = traces.ended & (traces.start + traces.length < traces.output_tokens[traces.generation])
    row = np.flatnonzero(wrong & (traces.length > 0))
    recorded = np.full(traces.rounds, np.inf)
    recorded[row] = traces.recorded_survival[row, traces.length[row] - 1]
    return recorded
