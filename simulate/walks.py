"""How far a round goes under a rule: walks along the line of recorded rounds.

A round stops where its budget is spent, a standard exponential number, from which every position takes its
-log(acceptance): that is where the probability of having accepted everything falls below a uniform number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specfrontier.simulate.acceptance import SURE, Rates
from specfrontier.simulate.chain import Layout, early_end_shares, text_places
from specfrontier.simulate.line import Line
from specfrontier.simulate.traces import Traces

__all__ = ["Walks"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Walks:
    """A rule's walks along a line, for every block size.

    Attributes:
        line: what they run along.
        loss: ``[> N]`` sum of -log(acceptance) over all entries before each, infinite past the end.
        deviation: ``[N + 1]`` likewise, of deviation.
        closes: ``[S]`` how often the text ends where a round has accepted everything up to the wall, in excess of the
            recording, because the last of it is a wrong end token.
    """

    line: Line
    loss: FloatArray
    deviation: FloatArray
    closes: FloatArray

    @classmethod
    def of(cls, traces: Traces, layout: Layout, line: Line, rule: Rates, fresh: float = 1.0) -> Walks:
        """Lay out `rule` on recorded rounds.

        Args:
            traces, layout, line: recorded rounds and where they started, for any block size.
            rule: the rule's rates on them.
            fresh: as in ``simulate.chain``.
        """
        keep, deviation = text_places(traces, rule, layout, fresh)
        # No budget passes a wall, where acceptance is 0, or a position that is refused for sure.
        loss = -np.log(np.maximum(line.laid_out(keep, rule.keep), np.exp(-2 * SURE)))
        return cls(
            line=line,
            loss=np.pad(_sums(loss), (0, 2 * traces.block_size), constant_values=np.inf),
            deviation=_sums(line.laid_out(deviation, rule.deviation)),
            closes=np.append(early_end_shares(traces, rule), 0.0)[line.ends_with],
        )

    def reach(self, entry: IntArray, budget: FloatArray, most: int) -> IntArray:
        """How many positions rounds from `entry` accept with their budgets; counts above `most` are not exact.

        All bisect in step, a bit of the count at a time: several times faster than a search a round.
        """
        until = self.loss.take(entry) + budget
        found = entry.copy()
        for bit in reversed(range(most.bit_length())):
            further = found + (1 << bit)
            np.copyto(found, further, where=self.loss.take(further) <= until)
        return found - entry


def _sums(values: FloatArray) -> FloatArray:
    """``[N + 1]`` sums over all values before each."""
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums
