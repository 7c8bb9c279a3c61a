"""What a round meets where no recorded round started.

A place of the text that a recorded round passed in the middle of its block was drafted from further back than a round
that starts just before it would draft it, and from a prefix that was still a guess. So the loss on record there,
1 - α, is not the loss of a fresh start. One factor on it, fitted so that replaying the recorded rule takes as many
rounds as were recorded, carries the difference over to other rules. It leaves recorded starts alone, and full leniency,
which loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from specfrontier.simulate.acceptance import RunRates, rates
from specfrontier.simulate.chain import chain
from specfrontier.simulate.grid import parse_rule
from specfrontier.simulate.layout import Layout
from specfrontier.simulate.line import Line, Slots
from specfrontier.simulate.traces import Traces
from specfrontier.simulate.walks import Walks

__all__ = ["fresh_start_factor"]

_MOST = 2.0
_TOLERANCE = 1e-4
_NEGLIGIBLE = 1e-4


def fresh_start_factor(traces: Traces, limit: int, *, average: bool = True) -> float:
    """The factor on 1 - α at places where no recorded round started, in [0, 2].

    Args:
        traces: recorded rounds of one rule.
        limit: token limit of an output.
        average: use acceptance in closed form, as the replay will.

    1 if the recorded rule decides on whole rows, which traces do not hold, or loses nothing.
    """
    rule = parse_rule(traces.point.rule)
    if not rule.pointwise:
        return 1.0
    own, layout = rates(rule, traces, average=average), Layout.of(traces, traces.block_size, limit)
    reached = np.flatnonzero(own.survival().max(axis=0) > _NEGLIGIBLE)
    size = min(int(reached[-1]) + 2 if len(reached) else 1, traces.block_size)
    line = Line.of(traces, layout)
    slots = Slots.of(line, layout, size)

    def surplus(factor: float) -> float:
        walks = Walks.of(traces, line, (RunRates(0, own),), factor, overshoot=False)
        return float(chain(walks, slots).starts.sum()) / traces.rounds - 1

    return _root(surplus, 0.0, _MOST)


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
