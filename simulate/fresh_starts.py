"""What a round meets where no recorded round started.

A place of the text that a recorded round passed in the middle of its block was drafted from further back than a round
that starts just before it would draft it, and from a prefix that was still a guess. So the loss on record there,
1 - α, is not the loss of a fresh start. One factor on it, fitted so that replaying the recorded rule takes as many
rounds as were recorded, carries the difference over to other rules. It leaves recorded starts alone, and full leniency,
which loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specfrontier.simulate.acceptance import RunRates, rates
from specfrontier.simulate.chain import chain
from specfrontier.simulate.grid import parse_rule
from specfrontier.simulate.layout import Layout
from specfrontier.simulate.line import Line, Slots
from specfrontier.simulate.traces import Traces
from specfrontier.simulate.walks import Walks

__all__ = ["STEP", "FreshStarts", "fresh_starts"]

FloatArray = NDArray[np.float64]

#: Of the factor, over which what depends on it is taken to be a straight line.
STEP = 0.05

_MOST = 2.0
_TOLERANCE = 1e-4
_NEGLIGIBLE = 1e-4


@dataclass(frozen=True)
class FreshStarts:
    """The factor on 1 - α at places where no recorded round started, and what it rests on.

    Attributes:
        factor: in [0, 2]; 1 if the recorded rule decides on whole rows, which traces do not hold, or loses nothing.
        surplus: ``[G]`` replayed less recorded rounds of each generation, at the factor.
        slope: ``[G]`` how replayed rounds grow with the factor.
    """

    factor: float
    surplus: FloatArray
    slope: FloatArray

    def resampled(self, weights: FloatArray) -> FloatArray:
        """``[1 + R]``: the factor, fitted again to generations that count as `weights` ``[1 + R, G]`` says."""
        missing, slope = weights @ self.surplus, weights @ self.slope
        moved = np.divide(missing - missing[0], slope, out=np.zeros_like(missing), where=slope > 0)
        found: FloatArray = np.clip(self.factor - moved, 0.0, _MOST)
        return found


def fresh_starts(traces: Traces, limit: int, *, average: bool = True) -> FreshStarts:
    """Fit the factor so that replaying the recorded rule takes as many rounds as were recorded.

    Args:
        traces: recorded rounds of one rule.
        limit: token limit of an output.
        average: use acceptance in closed form, as the replay will.
    """
    rule = parse_rule(traces.point.rule)
    if not rule.pointwise:
        return FreshStarts(1.0, np.zeros(len(traces.problems)), np.zeros(len(traces.problems)))
    own, layout = rates(rule, traces, average=average), Layout.of(traces, traces.block_size, limit)
    reached = np.flatnonzero(own.survival().max(axis=0) > _NEGLIGIBLE)
    size = min(int(reached[-1]) + 2 if len(reached) else 1, traces.block_size)
    line = Line.of(traces, layout)
    slots = Slots.of(line, layout, size)

    def replayed(factor: float) -> FloatArray:
        """``[G]`` rounds."""
        walks = Walks.of(traces, line, (RunRates(0, own),), factor, overshoot=False)
        return np.asarray(chain(walks, slots).starts.sum(axis=1), dtype=np.float64)

    factor = _root(lambda factor: float(replayed(factor).sum()) / traces.rounds - 1, 0.0, _MOST)
    at = replayed(factor)
    slope = (replayed(factor + STEP) - at) / STEP
    return FreshStarts(factor, at - traces.by_generation(np.ones(traces.rounds)), slope)


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function crosses zero (Illinois method), the nearest end if it does not, 1 if it is constant."""
    below, above = rising(low), rising(high)
    if above - below < _TOLERANCE:
        return 1.0
    if below >= 0 or above <= 0:
        return low if below >= 0 else high
    kept = 0
    while True:
        middle = (low * above - high * below) / (above - below)
        value = rising(middle)
        if abs(value) < _TOLERANCE or high - low < _TOLERANCE:
            return middle
        if value < 0:
            low, below = middle, value
            above, kept = (above / 2, 1) if kept == 1 else (above, 1)
        else:
            high, above = middle, value
            below, kept = (below / 2, -1) if kept == -1 else (below, -1)
