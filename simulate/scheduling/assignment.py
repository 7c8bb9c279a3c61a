"""The fastest configuration for each of several groups under one deviation budget, by Dinkelbach's method.

Over all assignments c of a configuration to each group g, maximise

    ρ(c) = Σ_g tokens[c_g, g] / Σ_g seconds[c_g, g]   subject to   Σ_g deviation[c_g, g] <= ε Σ_g tokens[c_g, g].

For a given ρ, Dinkelbach (1967) maximises Σ_g (tokens - ρ seconds) under the constraint, sets ρ to the ratio of what it
found, and repeats: ρ rises to the optimum in finitely many steps, if each inner maximum is exact. A Lagrangian would
find corners of the convex hull of all assignments alone, and for groups that are alike all but two lie on its edges.
So the inner problem is solved exactly, group after group: of the partial assignments only those stay that no other one
beats in both value and room left under the budget.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["fastest_assignment"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Slack of the budget in deviation per token, for rounding: a budget is often what one of the configurations spends.
_SLACK = 1e-12


def fastest_assignment(tokens: FloatArray, seconds: FloatArray, deviation: FloatArray, budget: float) -> IntArray:
    """``[g]``: for each group, the configuration that is best for tokens a second over all groups within the budget.

    No assignment within the budget has more tokens a second. If there is none within, it has the least deviation per
    token.

    Args:
        tokens: ``[c, g]`` >= 0, output tokens of each configuration on each group; zero for a group of no queries.
        seconds: ``[c, g]`` >= 0, what they take.
        deviation: ``[c, g]`` >= 0, summed over their tokens.
        budget: ε, deviation per token.
    """
    fastest = _greatest_ratio(tokens, seconds, deviation - (budget + _SLACK) * tokens)
    if fastest is not None:
        return fastest
    strictest = _greatest_ratio(-deviation, tokens, np.zeros_like(tokens))
    assert strictest is not None  # nothing exceeds a constraint of zeros
    return strictest


def _greatest_ratio(gain: FloatArray, cost: FloatArray, excess: FloatArray) -> IntArray | None:
    """The assignment of the greatest Σ gain / Σ cost among those with Σ excess <= 0; None if there are none."""
    groups = np.arange(gain.shape[1])
    ratio = 0.0
    while True:
        found = _greatest_sum(gain - ratio * cost, excess)
        if found is None:
            return None
        last, ratio = ratio, float(gain[found, groups].sum() / cost[found, groups].sum())
        if math.isclose(ratio, last, rel_tol=1e-12):
            return found


def _greatest_sum(value: FloatArray, excess: FloatArray) -> IntArray | None:
    """The assignment of the greatest Σ value among those with Σ excess <= 0; None if there are none.

    It keeps the Pareto front of partial assignments: exponential in g at worst, a few hundred for four groups.
    """
    configurations, groups = value.shape
    chosen, worth, over = np.zeros((1, 0), dtype=np.int64), np.zeros(1), np.zeros(1)
    # What later groups can give back at most: a partial assignment beyond that can't be completed.
    least = np.append(np.cumsum(excess.min(axis=0)[::-1])[::-1], 0.0)[1:]
    for g in range(groups):
        each = np.tile(np.arange(configurations), len(chosen))
        chosen = np.column_stack([np.repeat(chosen, configurations, axis=0), each])
        worth = (worth[:, None] + value[:, g]).ravel()
        over = (over[:, None] + excess[:, g]).ravel()
        order = np.lexsort((-worth, over))
        order = order[over[order] + least[g] <= 0]
        before = np.maximum.accumulate(np.append(-np.inf, worth[order]))[:-1]
        front = order[worth[order] > before]
        chosen, worth, over = chosen[front], worth[front], over[front]
    return chosen[-1] if len(chosen) else None
