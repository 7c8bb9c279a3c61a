"""How a policy is judged: against the best fixed configuration that deviates no more."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FixedRival", "PolicyComparison", "best_fixed"]

FloatArray = NDArray[np.float64]

#: Deviations per token that differ by less are equal but for rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class FixedRival:
    """A fixed configuration, or a mixture of two, that a policy is compared with.

    Attributes:
        label: which.
        throughput: its tokens a second (or a round).
        deviation: per emitted token.
        outdone: whether the policy deviates more than every fixed configuration. The two are then not compared at
            equal deviation, and a gain may be bought with deviation alone.
    """

    label: str
    throughput: float
    deviation: float
    outdone: bool = False


@dataclass(frozen=True)
class PolicyComparison:
    """A policy and its fixed rival.

    Attributes:
        policy: what was tried.
        throughput: its tokens a second (or a round, where every round costs the same).
        deviation: expected TV(output law, p), or nats of KL, per emitted token.
        fixed: the fixed rival, which was chosen for its speed among those that deviate no more.
        share: how much of the traffic the policy treats unlike `fixed`.
        gain_low, gain_high: 95 % interval of the gain over a bootstrap of problems; NaN where none was drawn.
    """

    policy: str
    throughput: float
    deviation: float
    fixed: FixedRival
    share: float
    gain_low: float = math.nan
    gain_high: float = math.nan

    @property
    def gain(self) -> float:
        """Relative gain over the fixed rival, negative where the policy loses."""
        return self.throughput / self.fixed.throughput - 1


def best_fixed(names: list[str], throughput: FloatArray, deviation: FloatArray, budget: float) -> FixedRival:
    """The fastest of fixed configurations within a deviation budget; two may share the traffic at random.

    A mixture of two configurations is as easy to deploy as either, so a policy has to beat the concave hull of
    (deviation, throughput), not only its corners. Mixing is by tokens; the hull at the budget is exact for two.

    Args:
        names: labels of the n configurations.
        throughput, deviation: ``[n]`` their figures.
        budget: most deviation per token; if none has as little, the least deviating is taken.
    """
    within = np.flatnonzero(deviation <= budget + _ROUNDING)
    if len(within) == 0:
        least = int(np.argmin(deviation))
        return FixedRival(names[least], float(throughput[least]), float(deviation[least]))
    best = int(within[np.argmax(throughput[within])])
    beyond = np.flatnonzero(deviation > budget + _ROUNDING)
    outdone = bool(deviation.max() < budget - _ROUNDING)
    rival = FixedRival(names[best], float(throughput[best]), float(deviation[best]), outdone)
    for i in within:
        for j in beyond:
            share = (budget - deviation[i]) / (deviation[j] - deviation[i])
            # Seconds a token add up, so throughputs mix as a harmonic mean.
            mixed = 1 / ((1 - share) / throughput[i] + share / throughput[j])
            if mixed > rival.throughput:
                rival = FixedRival(f"{1 - share:.0%} {names[i]}, {share:.0%} {names[j]}", float(mixed), budget)
    return rival
