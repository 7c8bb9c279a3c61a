"""Policies judged on measured problems, with the doubt that the choice of problems leaves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from specfrontier.errors import InputError
from specfrontier.simulate.scheduling.policy import PolicyComparison, best_fixed
from specfrontier.simulate.scheduling.routing import QueryTable

__all__ = ["judge"]

FloatArray = NDArray[np.float64]


def judge(
    policy: str,
    tokens: FloatArray,
    seconds: FloatArray,
    deviation: FloatArray,
    fixed: QueryTable,
    *,
    replicates: int = 400,
    seed: int = 0,
) -> PolicyComparison:
    """A measured policy against the best fixed configuration (or mixture of two) that deviates no more.

    The rival is the best of them on the very problems that both are judged on, which favours it. Where no fixed
    configuration deviates as little, the least deviating one is the rival.

    Args:
        policy: what was tried.
        tokens, seconds, deviation: ``[n]`` its output tokens, seconds (or rounds) and summed deviation, by problem.
        fixed: the fixed configurations on the same problems.
        replicates: of a bootstrap over problems, for the interval of the gain; every replicate picks its own rival.
        seed: of the bootstrap.
    """
    n = len(fixed.signal)
    if not len(tokens) == len(seconds) == len(deviation) == n:
        raise InputError(f"the policy was measured on {len(tokens)} problems and its rivals on {n}; use the same")
    generator = np.random.default_rng(seed)
    counts = generator.multinomial(n, np.full(n, 1 / n), size=replicates).astype(np.float64)
    found = _compare(policy, tokens, seconds, deviation, fixed, np.ones(n))
    gains = [_compare(policy, tokens, seconds, deviation, fixed, weight).gain for weight in counts]
    if not gains:
        return found
    low, high = np.quantile(gains, [0.025, 0.975])
    return replace(found, gain_low=float(low), gain_high=float(high))


def _compare(
    policy: str, tokens: FloatArray, seconds: FloatArray, deviation: FloatArray, fixed: QueryTable, weight: FloatArray
) -> PolicyComparison:
    emitted = float(tokens @ weight)
    spent = float(deviation @ weight) / emitted
    rivals = fixed.tokens @ weight
    rival = best_fixed(list(fixed.names), rivals / (fixed.seconds @ weight), (fixed.deviation @ weight) / rivals, spent)
    return PolicyComparison(policy, emitted / float(seconds @ weight), spent, rival, share=1.0)
