"""Costs have the profile's shape and the recorded rounds' level."""

from __future__ import annotations

import pytest
from toy_cases import Case

from specfrontier.simulate import Costs, Effort, Evidence, Grid, Recorded, predict

SLOWER = 1.3


def test_predicted_seconds_are_those_of_real_rounds_not_of_a_loop(hard: Case) -> None:
    """Rounds that run slower than the profile's isolated forwards are predicted as slow as they ran."""
    study = hard.study
    slow = study.rounds.assign(
        draft_s=study.rounds["draft_s"] * SLOWER,
        verify_s=study.rounds["verify_s"] * SLOWER,
        accept_s=study.rounds["accept_s"] * SLOWER,
    )
    grid = Grid.product(steps=(1,), rules=("lossless", "linear:0.5"), block_sizes=(8, 16))
    tables = [
        predict(study.profile, rounds, grid, "replay", configurations=study.configurations, replicates=0)
        for rounds in (study.rounds, slow)
    ]
    assert tables[1]["throughput"].to_numpy() * SLOWER == pytest.approx(tables[0]["throughput"].to_numpy(), rel=1e-9)


def test_summed_over_the_recording_modelled_seconds_are_the_recorded_ones(hard: Case) -> None:
    study = hard.study
    costs = Evidence.from_tables(study.profile, study.rounds, study.configurations).costs
    traces = Recorded.from_tables(study.rounds, study.configurations).lossless(Effort(1), 16)
    modelled = costs.round_s(Effort(1), traces.requested, traces.length, traces.context, traces.forwards)
    recorded = traces.draft_s + traces.verify_s + traces.accept_s
    assert modelled.sum() == pytest.approx(recorded.sum(), rel=1e-9)


def test_costs_of_a_what_if_are_taken_as_given(hard: Case) -> None:
    study, given = hard.study, Costs.from_profile(hard.study.profile)
    assert Evidence.from_tables(study.profile, study.rounds, study.configurations, costs=given).costs is given
