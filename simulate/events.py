"""Monte Carlo of whole generations: the distribution of latency and rounds, not only their means.

The same process as ``simulate.chain``, drawn instead of summed. One random number decides a round
(``simulate.walks``), and all chains advance together, a round at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specfrontier.simulate.line import Slots
from specfrontier.simulate.outcome import Totals
from specfrontier.simulate.walks import Walks

__all__ = ["Generations", "simulate_generations"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Generations:
    """Simulated generations, ``[S]`` each.

    Attributes:
        source: index of the recorded generation that each re-decodes.
        tokens: output tokens; fewer than recorded where leniency ended the text early.
        rounds: rounds that it took.
        accepted, visited: positions, over its rounds.
        deviation: expected TV(output law, p), summed over visited positions.
        decode_s: decoding seconds.
    """

    source: IntArray
    tokens: IntArray
    rounds: IntArray
    accepted: IntArray
    visited: IntArray
    deviation: FloatArray
    decode_s: FloatArray

    @property
    def total_rounds(self) -> int:
        """Rounds simulated in all."""
        return int(self.rounds.sum())

    def latency(self, quantiles: ArrayLike, prefill_s: float) -> FloatArray:
        """Quantiles of the seconds a problem, prefill included."""
        found: FloatArray = prefill_s + np.quantile(self.decode_s, np.asarray(quantiles, dtype=np.float64))
        return found

    def totals(self) -> Totals:
        """Means by recorded generation, ``[G]``."""
        count = np.bincount(self.source)

        def mean(values: NDArray[np.generic]) -> FloatArray:
            total: FloatArray = np.bincount(self.source, values) / count
            return total

        return Totals(
            tokens=mean(self.tokens),
            rounds=mean(self.rounds),
            accepted=mean(self.accepted),
            visited=mean(self.visited),
            deviation=mean(self.deviation),
            overshoot=np.full(len(count), np.nan),  # a figure of quality, which exact sums give
            decode_s=mean(self.decode_s),
        )


def simulate_generations(walks: Walks, slots: Slots, *, rounds: int, generator: np.random.Generator) -> Generations:
    """Draw generations until about `rounds` rounds were simulated, at least one a recorded generation.

    Time is linear in `rounds`; memory in the number of chains.

    Args:
        walks: of a leniency on recorded rounds.
        slots: of a block size, on the same line, with the seconds of rounds.
        rounds: rounds wanted in all.
        generator: of every draw.
    """
    recorded = np.arange(len(slots.left) // walks.line.width)
    copies = max(1, round(rounds / _expected_rounds(walks, slots)))
    # Chains of one generation stand together, so that look-ups run through memory in order.
    return _draw(walks, slots, np.repeat(recorded, copies), generator)


def _draw(walks: Walks, slots: Slots, source: IntArray, generator: np.random.Generator) -> Generations:
    """One chain for each generation of `source`."""
    closes = np.where((slots.room == walks.line.ahead) & (slots.room < slots.left), walks.closes, 0.0)
    may_close = bool(closes.any())
    first = source * walks.line.width
    tokens, rounds = slots.left.take(first), np.zeros_like(source)
    accepted, visited = np.zeros_like(source), np.zeros_like(source)
    deviation, seconds = np.zeros((2, len(source)))
    chain, slot, step = np.arange(len(source)), first, 0
    while len(chain):
        step += 1
        entry, room, left = walks.line.entry.take(slot), slots.room.take(slot), slots.left.take(slot)
        kept = np.minimum(walks.reach(entry, generator.standard_exponential(len(slot)), slots.longest), room)
        whole = kept == room
        seen = kept + ~whole
        visited[chain] += seen
        deviation[chain] += walks.deviated(entry, seen)
        seconds[chain] += slots.seconds.take(slot)
        goes_on = left > kept + 1
        if may_close:
            closed = np.flatnonzero(whole)
            closed = closed[generator.random(len(closed)) < closes.take(slot[closed])]
            tokens[chain[closed]] -= (left - kept)[closed]
            goes_on[closed] = False
        slot = slot + kept + 1
        if not goes_on.all():
            done = ~goes_on
            ended = chain[done]
            rounds[ended], accepted[ended] = step, slot[done] - first[ended] - step
            chain, slot = chain[goes_on], slot[goes_on]
    return Generations(source, tokens, rounds, accepted, visited, deviation, seconds)


def _expected_rounds(walks: Walks, slots: Slots) -> float:
    """Rough rounds of one pass over all generations, which is enough to choose the number of passes.

    A first round each, and for the tokens that it leaves, rounds such as start in the middle of a text.
    """
    length = slots.left[:: walks.line.width]
    start = np.arange(len(length)) * walks.line.width
    first, later = (_expected_tokens(walks, slots, slot) for slot in (start, start + length // 2))
    return len(length) + float(np.maximum(length - first, 0.0).sum() / later.mean())


def _expected_tokens(walks: Walks, slots: Slots, slot: IntArray) -> FloatArray:
    """Tokens that a round from each slot emits, on average."""
    counts = np.arange(1, slots.longest + 1)
    entry = walks.line.entry[slot, None]
    survival = np.exp(-walks.spent(entry, counts))
    emitted: FloatArray = 1 + np.where(counts <= slots.room[slot, None], survival, 0.0).sum(axis=1)
    return emitted
