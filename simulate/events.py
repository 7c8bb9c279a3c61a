"""Monte Carlo of whole generations: the distribution of latency and rounds, not only their means.

The same process as ``simulate.chain``, drawn instead of summed: from output position t a round accepts the tokens on
the way to the next recorded start one after another, and from there on those of the recorded draft. One uniform number
decides a round: its first rejection is where the probability of having accepted everything falls below it, found by
bisection in cumulative sums of -log(acceptance). All chains advance together, a round at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specfrontier.simulate.acceptance import SURE, Rates
from specfrontier.simulate.chain import Layout, early_ends, text_places
from specfrontier.simulate.costs import Costs
from specfrontier.simulate.grid import Effort
from specfrontier.simulate.outcome import Totals
from specfrontier.simulate.traces import Traces

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
    accepted: FloatArray
    visited: FloatArray
    deviation: FloatArray
    decode_s: FloatArray

    @property
    def total_rounds(self) -> int:
        """Rounds simulated in all."""
        return int(self.rounds.sum())

    def latency(self, quantiles: FloatArray, prefill_s: float) -> FloatArray:
        """Quantiles of the seconds a problem, prefill included."""
        found: FloatArray = prefill_s + np.quantile(self.decode_s, quantiles)
        return found

    def totals(self, traces: Traces) -> Totals:
        """Means by recorded generation, ``[G]``."""
        count = np.bincount(self.source, minlength=len(traces.problems))

        def mean(values: NDArray[np.generic]) -> FloatArray:
            total: FloatArray = np.bincount(self.source, values, minlength=len(count)) / count
            return total

        return Totals(
            tokens=mean(self.tokens),
            rounds=mean(self.rounds),
            accepted=mean(self.accepted),
            visited=mean(self.visited),
            deviation=mean(self.deviation),
            decode_s=mean(self.decode_s),
        )


def simulate_generations(
    traces: Traces,
    layout: Layout,
    rule: Rates,
    costs: Costs,
    effort: Effort,
    block_size: int,
    *,
    rounds: int,
    generator: np.random.Generator,
    fresh: float = 1.0,
) -> Generations:
    """Draw generations until about `rounds` rounds were simulated, at least one a recorded generation.

    Time is linear in `rounds`; memory in the number of chains.

    Args:
        traces, layout, rule: recorded rounds, where they started, and a rule's rates on them.
        costs, effort, block_size: what a round costs.
        rounds: rounds wanted in all.
        generator: of every draw.
        fresh: as in ``simulate.chain``.
    """
    tables = _Tables.of(traces, layout, rule, costs, effort, block_size, fresh)
    copies = max(1, round(rounds / tables.expected_rounds(traces)))
    generations = len(traces.problems)
    # Chains of one generation stand together, so that look-ups run through memory in order.
    source = np.repeat(np.arange(generations), copies)
    chain = np.arange(len(source))
    slot = source * tables.width
    tokens = traces.output_tokens[source]
    log: list[tuple[NDArray[Any], ...]] = []
    while len(chain):
        kept, seen, departed = tables.draw(slot, generator.standard_exponential(len(slot)))
        log.append((chain, kept, seen, departed, tables.seconds.take(slot)))
        ahead = kept + 1
        early = tables.ends_text(slot, kept, generator)
        cut = chain[early]
        tokens[cut] -= (tables.left.take(slot) - kept)[early]
        goes_on = (ahead < tables.left.take(slot)) & ~early
        chain, slot = chain[goes_on], (slot + ahead)[goes_on]
    chains, *drawn = (np.concatenate(parts) for parts in zip(*log, strict=True))
    accepted, visited, deviation, seconds = (
        np.asarray(np.bincount(chains, values, minlength=len(source)), dtype=np.float64) for values in drawn
    )
    return Generations(
        source=source,
        tokens=tokens,
        rounds=np.bincount(chains, minlength=len(source)),
        accepted=accepted,
        visited=visited,
        deviation=deviation,
        decode_s=seconds,
    )


@dataclass(frozen=True)
class _Tables:
    """What a round reads, flat over slots: slot g · width + t is output position t of generation g.

    Sums of -log(acceptance) along texts and along drafts are each one ascending array for all rows.

    Attributes:
        width: slots of a generation, T + 1.
        along_text: ``[G width]`` sums along texts, before each place.
        left: ``[G width]`` tokens still to come.
        on_text: ``[G width]`` positions that a round visits before the next recorded start.
        draft: ``[G width]`` first entry of `along_draft` of the round that started there.
        in_draft: ``[G width]`` positions that such a round may take from that draft; 0 if there is none.
        text_deviation: ``[G width]`` cumulative deviation before each place.
        seconds: ``[G width]`` seconds of a round.
        along_draft, draft_deviation: ``[R (B + 1)]`` the same sums along drafts.
        end_at: ``[G width]`` accepted tokens after which a wrong end token closes the text; 0 if none can.
        end_share: ``[G width]`` how often it then does, in excess of the recording.
        block_size: B of the configuration.
    """

    width: int
    along_text: FloatArray
    left: IntArray
    on_text: IntArray
    draft: IntArray
    in_draft: IntArray
    text_deviation: FloatArray
    seconds: FloatArray
    along_draft: FloatArray
    draft_deviation: FloatArray
    end_at: IntArray
    end_share: FloatArray
    block_size: int

    @classmethod
    def of(
        cls,
        traces: Traces,
        layout: Layout,
        rule: Rates,
        costs: Costs,
        effort: Effort,
        block_size: int,
        fresh: float,
    ) -> _Tables:
        size = min(block_size, traces.block_size)
        alpha, deviation = text_places(traces, rule, layout, fresh)
        text = Rates(alpha, alpha, deviation)
        longest = layout.row.shape[1]
        place = np.arange(longest)
        at = np.where(layout.row >= 0, place, longest)
        ahead = np.minimum.accumulate(at[:, ::-1], axis=1)[:, ::-1]
        row = np.take_along_axis(layout.row, np.minimum(ahead, longest - 1), axis=1)
        room = np.clip(layout.left, 1, size)
        on_text = np.minimum(ahead - place, room)
        exists = np.minimum(traces.length, size)[row]
        share = _conditional(early_ends(traces, rule), traces, rule)[row] * (ahead < longest)
        end_at = ahead - place + traces.length[row]
        share = np.where((end_at <= size) & (end_at < layout.left), share, 0.0)
        seconds = costs.round_s(effort, layout.requested, layout.verified, layout.context, layout.forwards)

        def flat(values: NDArray[Any]) -> NDArray[Any]:
            return np.pad(values, ((0, 0), (0, 1))).ravel()

        return cls(
            width=longest + 1,
            along_text=_ascending(text.losses),
            left=flat(layout.left),
            on_text=flat(on_text),
            draft=flat(row * (traces.block_size + 1)),
            in_draft=flat(np.where(ahead < longest, np.minimum(exists, room - on_text), 0)),
            text_deviation=text.departed.ravel(),
            seconds=flat(np.broadcast_to(seconds, layout.row.shape)),
            along_draft=_ascending(rule.losses),
            draft_deviation=rule.departed.ravel(),
            end_at=flat(np.where(share > 0, end_at, 0)),
            end_share=flat(share),
            block_size=size,
        )

    def expected_rounds(self, traces: Traces) -> float:
        """Rough rounds of one pass over all generations, from a few recorded ones: enough to choose the passes."""
        width = len(self.along_draft) // traces.rounds
        some = slice(None, None, max(1, traces.rounds // 256))
        sums = self.along_draft.reshape(traces.rounds, width)[some]
        inside = np.arange(1, width) <= np.minimum(traces.length, self.block_size)[some, None]
        tokens = 1 + float((np.exp(sums[:, :1] - sums[:, 1:]) * inside).sum(axis=1).mean())
        return max(float(traces.output_tokens.sum()) / tokens, 1.0)

    def ends_text(self, slot: IntArray, accepted: IntArray, generator: np.random.Generator) -> NDArray[np.bool_]:
        """Whether a round that accepted so many tokens closed its text with a wrong end token."""
        closes = (accepted > 0) & (accepted == self.end_at.take(slot))
        at = np.flatnonzero(closes)
        closes[at] = generator.random(len(at)) < self.end_share.take(slot[at])
        return closes

    def draw(self, slot: IntArray, budget: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Accepted and visited positions of one round a chain, with their deviation.

        `budget` is -log of the uniform number: a round goes on while the sum of -log(acceptance) stays below it.
        """
        until = self.along_text.take(slot) + budget
        on_text = self.on_text.take(slot)
        reached = np.searchsorted(self.along_text, until, side="right") - 1 - slot
        accepted = np.minimum(reached, on_text)
        visited = np.minimum(accepted + 1, on_text)
        deviation = self.text_deviation.take(slot + visited) - self.text_deviation.take(slot)
        goes_on = np.flatnonzero((reached >= on_text) & (self.in_draft.take(slot) > 0))
        if len(goes_on):
            here = slot[goes_on]
            rest = until[goes_on] - self.along_text.take(here + on_text[goes_on])
            further, seen, more = self._draw_from_draft(here, rest)
            accepted[goes_on] += further
            visited[goes_on] += seen
            deviation[goes_on] += more
        return accepted, visited, deviation

    def _draw_from_draft(self, slot: IntArray, budget: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        base, limit = self.draft.take(slot), self.in_draft.take(slot)
        reached = np.searchsorted(self.along_draft, self.along_draft.take(base) + budget, side="right") - 1 - base
        accepted = np.minimum(reached, limit)
        visited = np.minimum(accepted + 1, limit)
        return accepted, visited, self.draft_deviation.take(base + visited)


def _ascending(sums: FloatArray) -> FloatArray:
    """Rows ``[n, m + 1]`` of cumulative losses as one ascending array: each starts beyond the one before it."""
    # A budget beyond SURE has probability e^-40; the gap keeps any smaller one within its own row.
    stride = float(sums[:, -1].max()) + 2 * SURE
    flat: FloatArray = (sums + stride * np.arange(len(sums))[:, None]).ravel()
    return flat


def _conditional(ends: FloatArray, traces: Traces, rule: Rates) -> FloatArray:
    """``[R]``: the probability of an early end, given that the whole draft was accepted."""
    whole = np.take_along_axis(rule.survival(), np.maximum(traces.length, 1)[:, None] - 1, axis=1)[:, 0]
    return ends / np.maximum(whole, np.exp(-SURE))
