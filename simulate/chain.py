"""Chains of rounds through a text: what a problem costs when it is decoded again under another rule.

Leniency changes how far a round goes and so where the next one starts. A chain is a renewal process over the output
position t: with u_t the probability that some round starts after t tokens,

    u_0 = 1,    u_(t+n) += u_t P(N = n | start t),

and everything that a configuration costs or emits is a sum over u. Exact: nothing is drawn.

What is known of a round that starts at t? If one did on record, its trace. If not, the next recorded start is at some
s > t, and the tokens in between were visited on the way there. A round from t that accepts the token at t goes on
like a round from t + 1, so its law is built backwards from the recorded one at s:

    S_t(1) = α_t,    S_t(n) = α_t S_(t+1)(n - 1).

(With rules by position, each α is that of the rule of its own position in the round that starts at t.)

Every place keeps its own difficulty, and none counts by its luck: every output token is visited exactly once on
record, whereas a rule such as "the last round that started before t" would let lucky rounds, which are long, stand for
more starts than others (the inspection paradox). What is left, that a fresh start meets another loss 1 - α_t than a
round that comes from further back, is one factor on it (``simulate.fresh_starts``).

Leniency also ends texts early: a drafted end token that p would have refused may now be accepted. A recorded text has
its own length already, the recorded rule's acceptance of such tokens included, so only the excess over it ends a
chain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from specfrontier.simulate.line import Slots
from specfrontier.simulate.walks import Walks

__all__ = ["Chain", "chain"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Most numbers to hold at once in one array of round laws.
_CELLS = 4_000_000


@dataclass(frozen=True)
class Chain:
    """A rule's chain through every generation, ``[G, T + 1]`` each; zero from the end of the text on.

    Attributes:
        starts: u_t, the probability that a round starts after t tokens.
        accepted, visited, deviation, overshoot: expected totals of a round that starts there, within the text.
        lost: expected tokens that such a round cuts off the recorded text by ending it early.
    """

    starts: FloatArray
    accepted: FloatArray
    visited: FloatArray
    deviation: FloatArray
    overshoot: FloatArray
    lost: FloatArray


def chain(walks: Walks, slots: Slots) -> Chain:
    """Run the chain of every generation.

    Args:
        walks: of a leniency on recorded rounds.
        slots: of a block size, on the same line.

    Memory is O(G T) and a bounded number of round laws; time O(G T B).
    """
    parts = [_chain_part(walks, slots, part) for part in _parts(slots, walks.line.width)]
    return Chain(*(np.concatenate([getattr(part, entry.name) for part in parts]) for entry in fields(Chain)))


def _parts(slots: Slots, width: int) -> Iterator[slice]:
    """Slots of groups of generations whose round laws fit in memory together."""
    step = width * max(1, _CELLS // (width * (slots.longest + 1)))
    for first in range(0, len(slots.left), step):
        yield slice(first, first + step)


def _chain_part(walks: Walks, slots: Slots, part: slice) -> Chain:
    entry, ahead = walks.line.entry[part, None], walks.line.ahead[part]
    left, room = slots.left[part], slots.room[part]
    counts = np.arange(slots.longest + 1)
    survival = np.exp(-walks.spent(entry, counts))
    inside = counts[1:] <= room[:, None]
    kept = np.where(inside, survival[:, 1:], 0.0)
    # A position is visited if the one before it was accepted; the last of a draft or of the text opens none.
    reach = np.where(inside, survival[:, :-1], 0.0)
    ends = (ahead <= room) & (ahead < left)
    after = np.where(ends, ahead, 0)
    ending = np.where(ends, walks.closes[part], 0.0) * np.take_along_axis(survival, after[:, None], axis=1)[:, 0]
    found = Chain(
        starts=_starts(survival, ending, after, walks.line.width),
        accepted=kept.sum(axis=1),
        visited=reach.sum(axis=1),
        deviation=(reach * np.diff(walks.deviated(entry, counts), axis=1)).sum(axis=1),
        overshoot=(reach * np.diff(walks.overshot(entry, counts), axis=1)).sum(axis=1),
        lost=ending * (left - after),
    )
    within = left > 0
    return Chain(*((getattr(found, e.name) * within).reshape(-1, walks.line.width) for e in fields(Chain)))


def _starts(survival: FloatArray, ending: FloatArray, after: IntArray, width: int) -> FloatArray:
    """``[S]``: u_t; what falls past the end of a text is of no consequence."""
    slots, counts = survival.shape
    pmf = np.concatenate([survival[:, :-1] - survival[:, 1:], survival[:, -1:]], axis=1)
    pmf[np.arange(slots), after] -= ending  # no token follows the end, and no round either
    pmf = pmf.reshape(-1, width, counts)
    u = np.zeros((len(pmf), width + counts))
    u[:, 0] = 1.0
    for t in range(width):
        u[:, t + 1 : t + 1 + counts] += u[:, t, None] * pmf[:, t]
    return u[:, :width].ravel()
