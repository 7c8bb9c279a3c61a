"""Where rounds may start: every place of every recorded text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specfrontier.simulate.costs import Costs
from specfrontier.simulate.grid import Effort
from specfrontier.simulate.traces import Traces

__all__ = ["Layout"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """Places by generation g and output position t.

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

    def round_s(self, costs: Costs, effort: Effort) -> FloatArray:
        """``[G, T]``: seconds of a round that starts there."""
        first = np.arange(self.row.shape[1]) == 0
        seconds = costs.round_s(effort, self.requested, self.verified, self.context, self.forwards, first)
        return np.broadcast_to(seconds, self.row.shape)
