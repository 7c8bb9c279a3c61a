"""Costs have the profile's shape and the recorded rounds' level."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from toy_cases import Case
from toy_world import Study, World, study

from specfrontier.profile import Estimate
from specfrontier.simulate import Costs, Effort, Evidence, Grid, Recorded, predict
from specfrontier.simulate.round_costs import level_costs

SLOWER = 1.3


def test_predicted_seconds_are_those_of_real_rounds_not_of_a_loop(hard: Case) -> None:
    """Rounds that run slower than the profile's isolated forwards are predicted as slow as they ran."""
    given = hard.study
    slow = given.rounds.assign(
        draft_s=given.rounds["draft_s"] * SLOWER,
        verify_s=given.rounds["verify_s"] * SLOWER,
        accept_s=given.rounds["accept_s"] * SLOWER,
    )
    grid = Grid.product(steps=(1,), rules=("lossless", "linear:0.5"), block_sizes=(8, 16))
    tables = [
        predict(given.profile, rounds, grid, "replay", configurations=given.configurations, replicates=0)
        for rounds in (given.rounds, slow)
    ]
    assert tables[1]["throughput"].to_numpy() * SLOWER == pytest.approx(tables[0]["throughput"].to_numpy(), rel=1e-9)


def test_summed_over_the_recording_modelled_seconds_are_the_recorded_ones(hard: Case) -> None:
    given = hard.study
    costs = Evidence.from_tables(given.profile, given.rounds, given.configurations).costs
    traces = Recorded.from_tables(given.rounds, given.configurations).lossless(Effort(1), 16)
    first = traces.start == 0
    modelled = costs.round_s(Effort(1), traces.requested, traces.length, traces.context, traces.forwards, first)
    recorded = traces.draft_s + traces.verify_s + traces.accept_s
    assert modelled.sum() == pytest.approx(recorded.sum(), rel=1e-9)


COLD, SHORT = 1.4, 0.8


def test_first_rounds_are_levelled_apart(hard: Case) -> None:
    """First verifications COLD times and first drafts SHORT times as long: later rounds cost what they did before."""
    given = hard.study
    first = given.rounds["round"] == given.rounds["round"].min()
    rounds = given.rounds.assign(
        verify_s=given.rounds["verify_s"] * np.where(first, COLD, 1.0),
        draft_s=given.rounds["draft_s"] * np.where(first, SHORT, 1.0),
    )
    before = Evidence.from_tables(given.profile, given.rounds, given.configurations).costs
    after = Evidence.from_tables(given.profile, rounds, given.configurations).costs
    assert after.first.verify == pytest.approx(before.first.verify * COLD, rel=1e-9)
    assert after.first.draft == pytest.approx(before.first.draft * SHORT, rel=1e-9)
    later = [c.round_s(Effort(1), 16, 16, 40) for c in (before, after)]
    assert later[1] - after.host_s == pytest.approx(later[0] - before.host_s, rel=1e-9)
    assert after.round_s(Effort(1), 16, 16, 40, first=True) > later[1]


def test_without_first_rounds_all_cost_the_same(hard: Case) -> None:
    given = hard.study
    traces = Recorded.from_tables(given.rounds, given.configurations)
    moved = Recorded({key: replace(t, start=t.start + 1) for key, t in traces.traces.items()})
    found = level_costs(Costs.from_profile(given.profile), moved)
    assert (found.first.draft, found.first.verify) == (1.0, 1.0)


def draft_s(steps: int, block_size: int) -> float:
    """Of a drafter whose forwards take longer for every position."""
    return 1e-3 + steps * (2e-3 + 2e-4 * block_size)


def drafts_of(block_size: int, noise: np.random.Generator) -> Study:
    """Lossless rounds of that drafter at K = 1 and 4, with 2 % of noise and a pause of 20 ms in every 50th round."""
    found = study(World(problems=20), (1, 4), block_size)
    rounds = found.rounds
    clean = [draft_s(k, b) for k, b in zip(rounds["forwards"], rounds["requested"], strict=True)]
    noisy = np.array(clean) * noise.normal(1, 0.02, len(rounds)) + 0.02 * (noise.random(len(rounds)) < 0.02)
    efforts = []
    for effort in found.profile.efforts:
        seconds = draft_s(int(effort.steps or 0), block_size)
        efforts.append(replace(effort, draft_s=Estimate(seconds, seconds, seconds, 1)))
    return replace(found, rounds=rounds.assign(draft_s=noisy), profile=replace(found.profile, efforts=tuple(efforts)))


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("block_size", [8, 12, 48])
def test_rounds_at_two_block_sizes_tell_what_a_draft_costs_at_others(steps: int, block_size: int) -> None:
    """From B = 16 and 24. Pauses, which sums of real rounds have in them, add at most 6 % to the level."""
    noise = np.random.default_rng(0)
    both = [drafts_of(16, noise), drafts_of(24, noise)]
    truth = draft_s(steps, block_size)
    assert drafted_s(both, steps, block_size) == pytest.approx(truth, rel=0.12)
    assert abs(drafted_s(both[:1], steps, block_size) / truth - 1) > 0.12
    assert drafted_s(both[:1], steps, block_size) == drafted_s(both[:1], steps, 16)


def drafted_s(studies: list[Study], steps: int, block_size: int) -> float:
    """Predicted seconds of a draft, from the profile of the first study and the rounds of all."""
    rounds, configurations = (pd.concat([getattr(s, name) for s in studies]) for name in ("rounds", "configurations"))
    costs = Evidence.from_tables(studies[0].profile, rounds, configurations).costs
    return float(costs.draft_of(Effort(steps))(block_size))


def test_costs_of_a_what_if_are_taken_as_given(hard: Case) -> None:
    found, given = hard.study, Costs.from_profile(hard.study.profile)
    assert Evidence.from_tables(found.profile, found.rounds, found.configurations, costs=given).costs is given
