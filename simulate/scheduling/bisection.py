"""Where a dial that works in one direction begins to satisfy a condition."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["least_holding"]


def least_holding(holds: Callable[[float], bool], low: float, high: float, halvings: int = 40) -> float:
    """The least argument in [low, high] at which `holds` is true; `high` if there is none.

    `holds` is false up to some argument and true from it on. Found by bisection, which needs no derivative of what
    recorded rounds make a step function; too large by at most (high - low) / 2^halvings.
    """
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
