"""How far a rule departs from the verifier in KL, from recorded p(y) and q(y) alone.

A rule departs from p where it lets tokens through that the drafter over-proposes, q(v) > p(v): there the residual of a
target rule is zero, so that the law of what is emitted is o(v) = A(v) q(v), with A the acceptance. Since y is drawn
from q, the mean over drafted tokens of

    A log(A q / p) - A + p / q    where q(y) > p(y),    0 elsewhere

is Σ_v [o log(o / p) - o + p] over those tokens: KL(o || p) but for what the other tokens, which lose a little mass
each, add to it. No term is negative.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Gauge", "overshoot_nats"]

#: Of how far a rule departs from the verifier: these nats, or TV(output law, p).
Gauge = Literal["overshoot", "deviation"]

FloatArray = NDArray[np.float64]

#: A token that p excludes costs infinitely many nats; so that sums stay comparable, none costs more than this.
MOST_NATS = 30.0


def overshoot_nats(keep: FloatArray, p_y: FloatArray, q_y: FloatArray) -> FloatArray:
    """Nats of KL that each drafted token stands for, shaped as its arguments; their mean over drafts estimates KL.

    Args:
        keep: A(y), the rule's probability of accepting the drafted token.
        p_y, q_y: probabilities of it; positions that do not exist have q = 0 and cost nothing.
    """
    over = (q_y > p_y) & (keep > 0)
    ratio = np.divide(p_y, q_y, out=np.ones_like(p_y), where=over)
    gained = np.log(np.where(over, keep, 1.0)) - np.log(np.maximum(ratio, np.exp(-MOST_NATS)))
    nats = keep * np.minimum(gained, MOST_NATS) - keep + ratio
    return np.where(over, np.maximum(nats, 0.0), 0.0)  # rounding may carry a term of 0 below it
