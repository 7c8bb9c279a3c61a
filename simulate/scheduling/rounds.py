"""What a round emits, given which of its drafted tokens are accepted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from specfrontier.simulate.traces import Traces

__all__ = ["tokens_emitted"]

FloatArray = NDArray[np.float64]


def tokens_emitted(traces: Traces, accepted: FloatArray) -> FloatArray:
    """``[R]`` expected tokens a round: those accepted and the one that follows, which an accepted end token has not.

    Args:
        traces: recorded rounds.
        accepted: ``[R, B]`` probability that at least n drafted tokens are accepted; zero past the end of a draft.
    """
    last = np.take_along_axis(accepted, np.maximum(traces.length, 1)[:, None] - 1, axis=1)[:, 0]
    found: FloatArray = 1 + accepted.sum(axis=1) - np.where(traces.ended, last, 0.0)
    return found
