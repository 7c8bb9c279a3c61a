"""Policies that change leniency, effort or configuration as they go, each judged against the best fixed rival."""

from specfrontier.simulate.scheduling.clips import clips_for_budget, compare_clip_schedule, round_under_clips
from specfrontier.simulate.scheduling.effort import compare_effort_choice, confidence
from specfrontier.simulate.scheduling.leniency import (
    compare_leniency_schedule,
    distances_by_position,
    round_under_schedule,
)
from specfrontier.simulate.scheduling.measured import judge
from specfrontier.simulate.scheduling.policy import FixedRival, PolicyComparison, best_fixed
from specfrontier.simulate.scheduling.routing import QueryTable, Router, compare_router, fit_router

__all__ = [
    "FixedRival",
    "PolicyComparison",
    "QueryTable",
    "Router",
    "best_fixed",
    "clips_for_budget",
    "compare_clip_schedule",
    "compare_effort_choice",
    "compare_leniency_schedule",
    "compare_router",
    "confidence",
    "distances_by_position",
    "fit_router",
    "judge",
    "round_under_clips",
    "round_under_schedule",
]
