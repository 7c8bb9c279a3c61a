"""Leniency by position under one deviation budget, tried on recorded rounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specfrontier.simulate.scheduling.bisection import least_holding
from specfrontier.simulate.scheduling.policy import FixedRival, PolicyComparison
from specfrontier.simulate.scheduling.rounds import tokens_emitted
from specfrontier.simulate.traces import Traces
from specfrontier.theory.schedules import tv_schedule_for_budget

__all__ = ["compare_leniency_schedule", "distances_by_position", "round_under_schedule"]

FloatArray = NDArray[np.float64]


def round_under_schedule(traces: Traces, lam: ArrayLike) -> tuple[float, float]:
    """Tokens a round, and deviation per emitted token, of linear leniency λ_k by position.

    Args:
        traces: lossless rounds.
        lam: ``[B]`` λ_k in [0, 1], or one for all.

    Every recorded round counts once, with the prefix it drafted; what a longer round does to the next one's start is
    left out, for the schedule and its rival alike.
    """
    leniency = np.broadcast_to(np.asarray(lam, dtype=np.float64), (traces.block_size,))
    exists = traces.exists
    keep = np.where(exists, (1 - leniency) * traces.strict + leniency, 0.0)
    reach = np.concatenate([np.ones((traces.rounds, 1)), np.cumprod(keep[:, :-1], axis=1)], axis=1) * exists
    accepted = reach * (1 - (1 - leniency) * traces.tv)
    tokens = tokens_emitted(traces, accepted)
    return float(tokens.mean()), float((reach * leniency * traces.tv).sum() / tokens.sum())


def distances_by_position(traces: Traces) -> FloatArray:
    """``[B]`` mean TV_k over the rounds that reach k losslessly; beyond what is reached, the last mean."""
    reach = np.concatenate([np.ones((traces.rounds, 1)), np.cumprod(traces.strict[:, :-1], axis=1)], axis=1)
    reach *= traces.exists
    weight = reach.sum(axis=0)
    known = int(np.flatnonzero(weight > 0)[-1]) + 1
    means = (reach * traces.tv).sum(axis=0)[:known] / weight[:known]
    return np.concatenate([means, np.full(traces.block_size - known, means[-1])])


def compare_leniency_schedule(traces: Traces, budget: float) -> PolicyComparison:
    """The optimal schedule for mean distances by position, against uniform leniency of equal deviation.

    The schedule (``theory.tv_schedule_for_budget``) is the optimum for independent rounds; recorded rounds cluster, so
    its deviation is measured on them, and uniform leniency is given exactly as much.

    Args:
        traces: lossless rounds.
        budget: deviation per emitted token in [0, 1] that the schedule is made for.

    Returns:
        `throughput` holds tokens a round: both sides cost the same seconds a round.
    """
    schedule = tv_schedule_for_budget(distances_by_position(traces), budget)
    tokens, deviation = round_under_schedule(traces, schedule.lam)
    uniform = least_holding(lambda lam: round_under_schedule(traces, lam)[1] >= deviation, 0.0, 1.0)
    return PolicyComparison(
        policy=f"lenient at positions {_ranges(schedule.lam)}",
        throughput=tokens,
        deviation=deviation,
        fixed=FixedRival(f"linear:{uniform:.4f} at every position", *round_under_schedule(traces, uniform)),
        share=float((np.abs(schedule.lam - uniform) > 1e-9).mean()),
    )


def _ranges(lam: FloatArray) -> str:
    """`1-4` for a schedule that is lenient there."""
    lenient = np.flatnonzero(lam > 0.5) + 1
    if len(lenient) == 0:
        return "none"
    breaks = np.flatnonzero(np.diff(lenient) > 1)
    starts, stops = [lenient[0], *lenient[breaks + 1]], [*lenient[breaks], lenient[-1]]
    return ", ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in zip(starts, stops, strict=True))
