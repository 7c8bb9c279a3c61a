"""A configuration by query, from a difficulty signal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specfrontier.errors import InputError
from specfrontier.simulate.scheduling.assignment import fastest_assignment
from specfrontier.simulate.scheduling.policy import PolicyComparison, best_fixed

__all__ = ["QueryTable", "Router", "compare_router", "fit_router"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class QueryTable:
    """What every configuration does on every query, predicted or measured.

    Args:
        names: labels of the c configurations.
        tokens, seconds, deviation: ``[c, n]`` output tokens, decoding seconds and summed deviation of each query.
        signal: ``[n]`` what is known of a query before decoding it (prompt length, confidence of a first draft, ...).
    """

    names: tuple[str, ...]
    tokens: FloatArray
    seconds: FloatArray
    deviation: FloatArray
    signal: FloatArray

    def __post_init__(self) -> None:
        shape = (len(self.names), len(self.signal))
        for name in ("tokens", "seconds", "deviation"):
            if getattr(self, name).shape != shape:
                raise InputError(
                    f"{name} has shape {getattr(self, name).shape}; expected (configurations, queries) {shape}"
                )

    def take(self, queries: NDArray[np.bool_]) -> QueryTable:
        """Some of the queries."""
        return QueryTable(
            self.names,
            self.tokens[:, queries],
            self.seconds[:, queries],
            self.deviation[:, queries],
            self.signal[queries],
        )

    def figures(self, choice: IntArray) -> tuple[float, float]:
        """Throughput and deviation per token when query j runs configuration ``choice[j]``."""
        at = choice, np.arange(len(self.signal))
        tokens = self.tokens[at].sum()
        return float(tokens / self.seconds[at].sum()), float(self.deviation[at].sum() / tokens)


@dataclass(frozen=True)
class Router:
    """A configuration for each group of queries of like difficulty.

    Attributes:
        edges: ``[g - 1]`` where a group's signals end, ascending.
        configurations: ``[g]`` index of each group's configuration.
    """

    edges: FloatArray
    configurations: IntArray

    def choice(self, signal: FloatArray) -> IntArray:
        """``[n]`` the configuration of each query."""
        found: IntArray = self.configurations[np.searchsorted(self.edges, signal)]
        return found


def fit_router(table: QueryTable, budget: float, *, groups: int = 4) -> Router:
    """Split queries by quantiles of the signal and give each group one configuration.

    Those of most tokens a second over all queries within the budget, or of the least deviation if none is within.

    Args:
        table: every configuration on the queries to fit on.
        budget: deviation per token.
        groups: how many difficulty groups, >= 1.
    """
    if groups < 1 or len(table.signal) < 2 * groups:
        raise InputError(f"{groups} groups need at least {2 * groups} queries to fit on, got {len(table.signal)}")
    edges = np.quantile(table.signal, np.linspace(0, 1, groups + 1)[1:-1])
    group = np.searchsorted(edges, table.signal)

    def by_group(values: FloatArray) -> FloatArray:
        return np.stack([np.bincount(group, row, minlength=groups) for row in values])

    tokens, seconds, deviation = by_group(table.tokens), by_group(table.seconds), by_group(table.deviation)
    return Router(edges, fastest_assignment(tokens, seconds, deviation, budget))


def compare_router(table: QueryTable, budget: float, *, groups: int = 4) -> PolicyComparison:
    """Route by difficulty within a deviation budget, against the best fixed configuration of equal deviation.

    Groups and choices are made on every other query and judged on the rest.

    Args:
        table: every configuration on every query.
        budget: deviation per token.
        groups: how many difficulty groups, >= 1.
    """
    even = np.arange(len(table.signal)) % 2 == 0
    router, judged = fit_router(table.take(even), budget, groups=groups), table.take(~even)
    choice = router.choice(judged.signal)
    speed, deviation = judged.figures(choice)
    fixed = np.array([judged.figures(np.full(len(judged.signal), c)) for c in range(len(table.names))])
    counts = np.bincount(choice, minlength=len(table.names))
    return PolicyComparison(
        policy="by difficulty: " + ", ".join(table.names[c] for c in router.configurations),
        throughput=speed,
        deviation=deviation,
        fixed=best_fixed(list(table.names), fixed[:, 0], fixed[:, 1], deviation),
        share=float(1 - counts.max() / counts.sum()),
    )
