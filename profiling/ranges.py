"""Ranges of the integers that a run stores: beyond them a table could not hold what was measured."""

from __future__ import annotations

from specfrontier.decoding.config_table import MOST
from specfrontier.errors import InputError

MOST_SEED = 2**63 - 1
"""What an int64 column holds, and every generator takes."""


def check_integer(value: int, name: str, low: int = 1, high: int = MOST) -> int:
    """`value`, if it is in [low, high].

    Raises:
        InputError: if it is not; `name` says what it is.
    """
    if value < low:
        raise InputError(f"{name} is {value}; give an integer >= {low}")
    if value > high:
        raise InputError(f"{name} is {value}; give an integer <= {high}")
    return value


def check_seed(seed: int) -> int:
    """`seed`, if it is in [0, 2^63)."""
    return check_integer(seed, "seed", 0, MOST_SEED)
