"""Clips by position under one budget of KL, tried on recorded rounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specfrontier.errors import InputError
from specfrontier.simulate.overshoot import overshoot_nats
from specfrontier.simulate.scheduling.bisection import least_holding
from specfrontier.simulate.scheduling.policy import FixedRival, PolicyComparison
from specfrontier.simulate.scheduling.rounds import tokens_emitted
from specfrontier.simulate.traces import Traces
from specfrontier.theory.rules import Clip

__all__ = ["clips_by_position", "clips_for_budget", "compare_clip_schedule", "round_under_clips"]

FloatArray = NDArray[np.float64]

#: A wider clip lets pass whatever q proposes, on any support that p has.
_WIDEST = 1e6


def round_under_clips(traces: Traces, b: ArrayLike) -> tuple[float, float]:
    """Tokens a round, and nats of KL per emitted token, of clips b_k by position.

    Args:
        traces: lossless rounds.
        b: ``[B]`` b_k >= 1, or one for all.

    Every recorded round counts once, as in ``leniency.round_under_schedule``.
    """
    keep = _keep(traces, b)
    reach = np.concatenate([np.ones((traces.rounds, 1)), np.cumprod(keep[:, :-1], axis=1)], axis=1) * traces.exists
    accepted = reach * keep
    tokens = tokens_emitted(traces, accepted)
    nats = reach * overshoot_nats(keep, traces.p_y, traces.q_y)
    return float(tokens.mean()), float(nats.sum() / tokens.sum())


def clips_by_position(traces: Traces, price: float) -> FloatArray:
    """``[B]``: b_k that maximise expected tokens less `price` times expected nats, by Bellman's equation from the end.

    The optimum at position k has log(b_k / a_k) = J_(k+1) / μ (``theory.schedules``), where a_k, near 1, depends on the
    row; here a_k = 1, so that the decoder's ``Clip(b_k)`` can hold it. Means are over the rounds that reach k
    losslessly.

    Args:
        traces: lossless rounds.
        price: μ > 0 in tokens per nat.
    """
    if not price > 0:
        raise InputError(f"the price of a nat is {price} tokens; give a number > 0")
    reach = np.concatenate([np.ones((traces.rounds, 1)), np.cumprod(traces.strict[:, :-1], axis=1)], axis=1)
    reach *= traces.exists
    b, value = np.ones(traces.block_size), 1.0
    for k in reversed(range(traces.block_size)):
        b[k] = np.exp(min(value / price, np.log(_WIDEST)))
        weight = reach[:, k].sum()
        if weight == 0:
            continue
        p, q = traces.p_y[:, k], traces.q_y[:, k]
        keep = np.where(traces.exists[:, k], Clip(float(b[k])).acceptance_at(p, q), 0.0)
        rate = float(reach[:, k] @ keep / weight)
        nats = float(reach[:, k] @ overshoot_nats(keep, p, q) / weight)
        value = 1 - price * nats + rate * value
    return b


def clips_for_budget(traces: Traces, nats_per_token: float) -> FloatArray:
    """``[B]``: the clips by position that spend a budget of nats per emitted token on the recorded rounds."""
    if not nats_per_token > 0:
        raise InputError(f"the budget is {nats_per_token} nats a token; give a number > 0")

    def within(log_price: float) -> bool:
        return round_under_clips(traces, clips_by_position(traces, np.exp(log_price)))[1] <= nats_per_token

    log_price = least_holding(within, np.log(1e-2), np.log(1e6))
    return clips_by_position(traces, float(np.exp(log_price)))


def compare_clip_schedule(traces: Traces, nats_per_token: float) -> PolicyComparison:
    """The clip schedule of a budget, against one clip for every position that spends as many nats.

    Args:
        traces: lossless rounds.
        nats_per_token: KL per emitted token, > 0.

    Returns:
        `throughput` holds tokens a round, `deviation` nats a token.
    """
    b = clips_for_budget(traces, nats_per_token)
    tokens, nats = round_under_clips(traces, b)
    log_b = least_holding(lambda x: round_under_clips(traces, np.exp(x))[1] >= nats, 0.0, np.log(_WIDEST))
    uniform = float(np.exp(log_b))
    return PolicyComparison(
        policy=f"clips from {b.max():.3g} at position 1 to {b.min():.3g}",
        throughput=tokens,
        deviation=nats,
        fixed=FixedRival(f"clip:{uniform:.4g} at every position", *round_under_clips(traces, uniform)),
        share=1.0,
    )


def _keep(traces: Traces, b: ArrayLike) -> FloatArray:
    """``[R, B]``: min(1, b_k p(y) / q(y)); zero past the end of a draft."""
    width = np.broadcast_to(np.asarray(b, dtype=np.float64), (traces.block_size,))
    ratio = np.divide(traces.p_y * width, traces.q_y, out=np.ones_like(traces.p_y), where=traces.q_y > 0)
    return np.where(traces.exists, np.minimum(ratio, 1.0), 0.0)
