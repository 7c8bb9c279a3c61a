"""Chains of rounds through a text: how often each recorded round is used when a problem is decoded again.

Leniency changes how far a round goes and so where the next one starts. A chain is a renewal process over the output
position t: from t it takes N tokens with the law of a recorded round that started near t in the same problem, until the
text's length is reached. With u_t the probability that some round starts at t,

    u_0 = 1,    u_(t+n) += u_t P(N = n | start t),

and everything that a configuration costs or emits is a sum of u over recorded rounds. Exact: nothing is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specfrontier.simulate.traces import Traces

__all__ = ["Layout", "expected_starts", "expected_uses", "tokens_pmf"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """For every generation and output position, the recorded rounds that stand for a round started there.

    Between two recorded starts, the two rounds share linearly; after the last start the last round stands alone.

    Attributes:
        earlier, later: ``[G, T]`` rows of the traces.
        share: ``[G, T]`` weight of `later`, in [0, 1).
        length: ``[G]`` output tokens of each generation; positions at or past it are never started from.
    """

    earlier: IntArray
    later: IntArray
    share: FloatArray
    length: IntArray

    @classmethod
    def of(cls, traces: Traces) -> Layout:
        """Lay out recorded rounds along their own generations."""
        length = traces.output_tokens
        generations, longest = len(length), int(length.max())
        # One sorted key for all: generation first, then start.
        keys = traces.generation * (longest + 1) + traces.start
        wanted = np.arange(generations)[:, None] * (longest + 1) + np.arange(longest)
        earlier = np.searchsorted(keys, wanted, side="right") - 1
        last = np.append(traces.first[1:], traces.rounds)[:, None] - 1
        later = np.minimum(earlier + 1, last)
        gap = np.maximum(traces.start[later] - traces.start[earlier], 1)
        share = np.where(later > earlier, (np.arange(longest) - traces.start[earlier]) / gap, 0.0)
        return cls(earlier, later, share, length)


def tokens_pmf(survival: FloatArray, length: IntArray, ended: NDArray[np.bool_]) -> FloatArray:
    """``[R, B + 1]``: entry n - 1 is the probability that a round emits n tokens.

    Args:
        survival: ``[R, B]`` probability that at least n drafted tokens are accepted, zero past `length`.
        length: ``[R]`` positions that exist.
        ended: ``[R]`` whether the last of them is an end token, which nothing follows.
    """
    edge = np.ones((len(survival), 1))
    pmf = -np.diff(np.concatenate([edge, survival, 0 * edge], axis=1), axis=1)
    rows = np.flatnonzero(ended)
    last = length[rows]
    pmf[rows, last - 1] += pmf[rows, last]
    pmf[rows, last] = 0.0
    return pmf


def expected_starts(layout: Layout, pmf: FloatArray) -> FloatArray:
    """``[G, T]``: u_t, the probability that a round starts after t output tokens; zero from the text's length on."""
    generations, longest = layout.share.shape
    reach = pmf.shape[1]
    u = np.zeros((generations, longest + reach))
    u[:, 0] = 1.0
    for t in range(longest):
        share, start = layout.share[:, t, None], u[:, t, None]
        step = (1 - share) * pmf[layout.earlier[:, t]] + share * pmf[layout.later[:, t]]
        u[:, t + 1 : t + 1 + reach] += start * step
    return u[:, :longest] * (np.arange(longest) < layout.length[:, None])


def expected_uses(layout: Layout, starts: FloatArray, rounds: int) -> FloatArray:
    """``[R]``: how many rounds of the new chains each recorded round stands for."""
    early = np.bincount(layout.earlier.ravel(), (starts * (1 - layout.share)).ravel(), minlength=rounds)
    late = np.bincount(layout.later.ravel(), (starts * layout.share).ravel(), minlength=rounds)
    uses: FloatArray = early + late
    return uses
