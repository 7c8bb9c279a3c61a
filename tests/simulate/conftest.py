"""Toy pairs decoded once a session: what predictors are fitted on, and ground truth to hold them against."""

from __future__ import annotations

import pytest
from toy_cases import RULES, Case, case
from toy_world import World


@pytest.fixture(scope="session")
def hard() -> Case:
    """Every effect at once: depth, places, common factors and drift."""
    return case(World(depth=0.05, place=0.5, common=0.4, drift=0.5), copies=6)


@pytest.fixture(scope="session")
def plain() -> Case:
    """One distance everywhere: the case that Proposition 1 describes, but for texts that end."""
    return case(World(), copies=6, rules=RULES[:3])
