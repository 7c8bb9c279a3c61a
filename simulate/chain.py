"""Chains of rounds through a text: what a problem costs when it is decoded again under another rule.

Leniency changes how far a round goes and so where the next one starts. A chain is a renewal process over the output
position t: with u_t the probability that some round starts after t tokens,

    u_0 = 1,    u_(t+n) += u_t P(N = n | start t),

and everything that a configuration costs or emits is a sum over u. Exact: nothing is drawn.

What is known of a round that starts at t? If one did on record, its trace. If not, the next recorded start is at some
s > t, and the tokens in between were visited on the way there. A round from t that accepts the token at t goes on
like a round from t + 1, so its law is built backwards from the recorded one at s:

    S_t(1) = α_t,    S_t(n) = α_t S_(t+1)(n - 1).

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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specfrontier.simulate.acceptance import Rates
from specfrontier.simulate.traces import Traces

__all__ = ["Chain", "Layout", "chain", "early_end_shares", "early_ends", "text_places"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Most numbers to hold at once in one array of round laws.
_CELLS = 4_000_000


@dataclass(frozen=True)
class Layout:
    """Where rounds may start: for every generation g and output position t.

    Attributes:
        row: ``[G, T]`` recorded round that started there, -1 for none.
        left: ``[G, T]`` output tokens still to come, t included; at most 0 past the end of the text.
        context: ``[G, T]`` tokens before the block.
        verified: ``[G, T]`` positions that are verified: a whole block, unless its draft ends earlier.
        requested: ``[G, T]`` positions asked of the drafter: a whole block, unless the token limit is near.
        forwards: ``[G, T]`` drafter forwards.
    """

    row: IntArray
    left: IntArray
    context: IntArray
    verified: IntArray
    requested: IntArray
    forwards: FloatArray

    @classmethod
    def of(cls, traces: Traces, block_size: int, limit: int) -> Layout:
        """Lay out recorded rounds along their own generations.

        Args:
            traces: recorded rounds.
            block_size: B of the configuration, at most that of the traces.
            limit: token limit of an output.
        """
        lengths = traces.output_tokens
        generations, longest = len(lengths), int(lengths.max())
        t = np.arange(longest)
        # One sorted key for all: generation first, then start.
        keys = traces.generation * (longest + 1) + traces.start
        wanted = np.arange(generations)[:, None] * (longest + 1) + t
        found = np.searchsorted(keys, wanted, side="left")
        past = found >= np.append(traces.first[1:], traces.rounds)[:, None]
        after = np.minimum(found, traces.rounds - 1)
        left = lengths[:, None] - t
        reached = np.where(past, left, traces.start[after] - t + traces.length[after])
        mean_forwards = traces.by_generation(traces.forwards.astype(np.float64)) / np.bincount(traces.generation)
        return cls(
            row=np.where(~past & (traces.start[after] == t), after, -1),
            left=left,
            context=(traces.context - traces.start)[traces.first][:, None] + t,
            verified=np.clip(reached, 1, block_size),
            requested=np.broadcast_to(np.clip(limit - t, 1, block_size), left.shape),
            forwards=np.where(past, mean_forwards[:, None], traces.forwards[after]),
        )


@dataclass(frozen=True)
class Chain:
    """A rule's chain through every generation, ``[G, T]`` each; zero past the end of the text.

    Attributes:
        starts: u_t, the probability that a round starts after t tokens.
        accepted, visited, deviation: expected totals of a round that starts there, within the text.
        lost: expected tokens that such a round cuts off the recorded text by ending it early.
    """

    starts: FloatArray
    accepted: FloatArray
    visited: FloatArray
    deviation: FloatArray
    lost: FloatArray


def chain(traces: Traces, layout: Layout, rule: Rates, block_size: int, fresh: float = 1.0) -> Chain:
    """Run the chain of every generation.

    Args:
        traces: recorded rounds.
        layout: where they started.
        rule: a rule's rates on them.
        block_size: B of the configuration.
        fresh: factor on 1 - α where no recorded round started (``simulate.fresh_starts``).

    Memory is O(G T) and a bounded number of round laws; time O(G T B).
    """
    size = min(block_size, traces.block_size)
    places = text_places(traces, rule, layout, fresh)
    ends = early_ends(traces, rule)
    parts = [_chain_part(traces, rule, ends, layout, places, size, part) for part in _parts(layout, size)]
    return Chain(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def early_ends(traces: Traces, rule: Rates) -> FloatArray:
    """``[R]``: probability that a round is accepted up to a wrong drafted end token.

    In excess of the probability under the rule that the traces were recorded with, which their texts' lengths hold.
    """
    row, asked, recorded = _wrong_ends(traces, rule)
    ends = np.zeros(traces.rounds)
    ends[row] = np.maximum(asked - recorded, 0.0)
    return ends


def early_end_shares(traces: Traces, rule: Rates) -> FloatArray:
    """``[R]``: `early_ends`, given that the whole draft was accepted."""
    row, asked, recorded = _wrong_ends(traces, rule)
    shares = np.zeros(traces.rounds)
    shares[row] = np.where(asked > recorded, 1 - recorded / np.maximum(asked, np.finfo(float).tiny), 0.0)
    return shares


def _wrong_ends(traces: Traces, rule: Rates) -> tuple[IntArray, FloatArray, FloatArray]:
    """Rounds whose draft ends in a wrong end token, and the probability of accepting it whole: now, and as recorded."""
    wrong = traces.ended & (traces.start + traces.length < traces.output_tokens[traces.generation])
    row = np.flatnonzero(wrong & (traces.length > 0))
    whole = np.prod(rule.keep[row], axis=1, where=traces.exists[row])
    return row, whole, traces.recorded_survival[row, traces.length[row] - 1]


def text_places(traces: Traces, rule: Rates, layout: Layout, fresh: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """``[G, T]`` acceptance rate and deviation at each place of the text, from the position that was visited there.

    Loss 1 - α and deviation, both of which scale with TV(p, q), are taken `fresh` times. Places of bonus tokens were
    not drafted; they take the mean over the generation.
    """
    visited = traces.exists & (np.arange(traces.block_size) <= traces.accepted[:, None])
    row, k = np.nonzero(visited)
    generation, place = traces.generation[row], traces.start[row] + k
    inside = place < traces.output_tokens[generation]
    row, k, generation, place = row[inside], k[inside], generation[inside], place[inside]
    tables = []
    for values in (rule.alpha, rule.deviation):
        table = np.full(layout.left.shape, np.nan)
        table[generation, place] = values[row, k]
        known = ~np.isnan(table)
        mean = np.where(known, table, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        tables.append(np.where(known, table, mean[:, None]))
    return 1 - np.minimum(fresh * (1 - tables[0]), 1.0), np.minimum(fresh * tables[1], 1.0)


def _parts(layout: Layout, size: int) -> Iterator[slice]:
    """Groups of generations whose round laws fit in memory together."""
    generations, longest = layout.left.shape
    step = max(1, _CELLS // (longest * (size + 1)))
    for first in range(0, generations, step):
        yield slice(first, first + step)


def _chain_part(
    traces: Traces,
    rule: Rates,
    ends: FloatArray,
    layout: Layout,
    places: tuple[FloatArray, FloatArray],
    size: int,
    part: slice,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    left = layout.left[part]
    survival, spent = _round_laws(rule, layout.row[part], places[0][part], places[1][part], size)
    inside = np.arange(1, size + 1) <= left[..., None]
    kept = np.where(inside, survival, 0.0)
    accepted = kept.sum(axis=-1)
    # A position is visited if the one before it was accepted; the last of a draft or of the text opens none.
    last = np.clip(np.minimum(left, layout.verified[part]), 1, size)
    visited = 1 + accepted - np.take_along_axis(kept, last[..., None] - 1, axis=-1)[..., 0]
    deviation = np.where(inside, spent, 0.0).sum(axis=-1)
    ending, after = _endings(traces, ends, layout.row[part], places[0][part], size)
    starts = _starts(survival, ending, after) * (left > 0)
    return starts, accepted, visited, deviation, ending * np.maximum(left - after, 0)


def _round_laws(
    rule: Rates, row: IntArray, alpha: FloatArray, deviation: FloatArray, size: int
) -> tuple[FloatArray, FloatArray]:
    """``[g, T, B]``: survival, and deviation weighted by reach, of a round from every position."""
    generations, longest = row.shape
    recorded_survival = rule.survival()[:, :size]
    recorded_spent = (rule.reach() * rule.deviation)[:, :size]
    survival = np.zeros((generations, longest + 1, size))
    spent = np.zeros((generations, longest + 1, size))
    for t in reversed(range(longest)):
        here, spent_here = survival[:, t], spent[:, t]
        here[:, 0], spent_here[:, 0] = alpha[:, t], deviation[:, t]
        here[:, 1:] = alpha[:, t, None] * survival[:, t + 1, :-1]
        spent_here[:, 1:] = alpha[:, t, None] * spent[:, t + 1, :-1]
        started = np.flatnonzero(row[:, t] >= 0)
        here[started] = recorded_survival[row[started, t]]
        spent_here[started] = recorded_spent[row[started, t]]
    return survival[:, :-1], spent[:, :-1]


def _endings(
    traces: Traces, ends: FloatArray, row: IntArray, alpha: FloatArray, size: int
) -> tuple[FloatArray, IntArray]:
    """``[g, T]``: probability that a round from each position ends the text early, and after how many tokens."""
    generations, longest = row.shape
    ending, after = np.zeros((generations, longest + 1)), np.zeros((generations, longest + 1), dtype=np.int64)
    for t in reversed(range(longest)):
        started = row[:, t] >= 0
        after[:, t] = np.where(started, traces.length[row[:, t]], after[:, t + 1] + 1)
        ending[:, t] = np.where(started, ends[row[:, t]], alpha[:, t] * ending[:, t + 1])
        ending[:, t] *= after[:, t] <= size
    return ending[:, :-1], after[:, :-1]


def _starts(survival: FloatArray, ending: FloatArray, after: IntArray) -> FloatArray:
    """``[g, T]``: u_t; what falls past the end of a text is of no consequence."""
    generations, longest, size = survival.shape
    u = np.zeros((generations, longest + size + 1))
    u[:, 0] = 1.0
    edge = np.ones((generations, 1))
    for t in range(longest):
        pmf = -np.diff(np.concatenate([edge, survival[:, t], 0 * edge], axis=1), axis=1)
        rows = np.flatnonzero(ending[:, t])
        pmf[rows, after[rows, t]] -= ending[rows, t]  # no token follows the end, and no round either
        u[:, t + 1 : t + 2 + size] += u[:, t, None] * pmf
    return u[:, :longest]
