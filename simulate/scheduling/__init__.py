"""Policies that change leniency, effort or configuration as they go, each judged against the best fixed rival."""

from specfrontier.simulate.scheduling.effort import compare_effort_choice, confidence
from specfrontier.simulate.scheduling.leniency import (
    compare_leniency_schedule,
    distances_by_position,
    round_under_schedule,
)
from specfrontier.simulate.scheduling.policy import PolicyComparison, best_fixed
from specfrontier.simulate.scheduling.routing import QueryTable, compare_router

__all__ = [
    "PolicyComparison",
    "QueryTable",
    "best_fixed",
    "compare_effort_choice",
    "compare_leniency_schedule",
    "compare_router",
    "confidence",
    "distances_by_position",
    "round_under_schedule",
]
