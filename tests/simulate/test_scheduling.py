"""Policies against the best fixed rival: what they must win, and where they must not pretend to."""

from __future__ import annotations

from dataclasses import fields
from itertools import product

import numpy as np
import pytest
from toy_cases import Case
from toy_world import World, study

from specfrontier.errors import InputError
from specfrontier.simulate import Costs, Effort, Recorded
from specfrontier.simulate.scheduling import (
    FixedRival,
    QueryTable,
    best_fixed,
    clips_for_budget,
    compare_clip_schedule,
    compare_effort_choice,
    compare_leniency_schedule,
    compare_router,
    confidence,
    distances_by_position,
    fit_router,
    judge,
    round_under_clips,
    round_under_schedule,
)
from specfrontier.simulate.scheduling.assignment import fastest_assignment
from specfrontier.simulate.scheduling.clips import clips_by_position
from specfrontier.simulate.traces import Traces
from specfrontier.theory.schedules import linear_schedule


@pytest.fixture(scope="module")
def traces(hard: Case) -> Traces:
    return Recorded.from_tables(hard.study.rounds, hard.study.configurations).lossless(Effort(1), 16)


def away_from_the_end(traces: Traces) -> Traces:
    """The rounds whose block the end of the text does not cut."""
    whole = (traces.length == traces.block_size) & (traces.tv > 0).all(axis=1)
    rows = {f.name: getattr(traces, f.name) for f in fields(traces)}
    return Traces(**{n: v[whole] if n not in ("point", "problems") else v for n, v in rows.items()})


def test_independent_rounds_match_the_theory_of_schedules() -> None:
    """In a world of one distance, recorded rounds give the tokens that ``theory.schedules`` computes (within 3 %)."""
    flat = study(World(problems=40, shortest=60, longest=64), (1,), 6, seeds=4)
    traces = away_from_the_end(Recorded.from_tables(flat.rounds, flat.configurations).lossless(Effort(1), 6))
    lam = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    expected = linear_schedule(distances_by_position(traces), lam)
    tokens, deviation = round_under_schedule(traces, lam)
    assert tokens == pytest.approx(float(expected.expected_tokens), rel=0.03)
    assert deviation == pytest.approx(float(expected.deviation_per_token), rel=0.03)


@pytest.mark.parametrize("budget", [0.03, 0.08])
def test_spending_leniency_early_beats_spreading_it(traces: Traces, budget: float) -> None:
    found = compare_leniency_schedule(traces, budget)
    assert found.gain > 0
    assert found.fixed.deviation == pytest.approx(found.deviation, rel=1e-3)


def test_uniform_extremes_are_lossless_and_full(traces: Traces) -> None:
    assert round_under_schedule(traces, 0.0)[1] == 0
    assert round_under_schedule(traces, 1.0)[0] == pytest.approx((traces.length + 1 - traces.ended).mean())


def test_choosing_effort_by_confidence_is_judged_on_other_problems() -> None:
    """The drafter of this world does not know which rounds are hard, so confidence must not win by much."""
    both = study(World(problems=40, common=0.8), (1, 4), 16)
    recorded = Recorded.from_tables(both.rounds, both.configurations)
    cheap, costly = recorded.lossless(Effort(1), 16), recorded.lossless(Effort(4), 16)
    costs = Costs.from_profile(both.profile)
    found = compare_effort_choice(cheap, costly, costs, "lossless")
    assert found.deviation == 0
    assert found.fixed.label in ("K=1", "K=4")
    assert -0.25 < found.gain < 0.1
    assert confidence(cheap).min() >= 0
    assert (confidence(cheap) <= cheap.length).all()


def queries(signal_is_true: bool) -> QueryTable:
    """Half the queries are hard: there, leniency costs four times the deviation and saves no time."""
    n = 400
    rng = np.random.default_rng(0)
    hard = rng.random(n) < 0.5
    seconds = np.stack([np.full(n, 2.0), np.where(hard, 1.9, 1.0)])
    deviation = np.stack([np.zeros(n), np.where(hard, 4.0, 1.0)])
    signal = hard + 0.1 * rng.random(n) if signal_is_true else rng.random(n)
    return QueryTable(("strict", "lenient"), np.full((2, n), 30.0), seconds, deviation, signal)


def test_a_router_wins_where_the_signal_tells_difficulty_apart() -> None:
    found = compare_router(queries(signal_is_true=True), budget=0.02)
    assert found.gain > 0.1
    assert found.deviation <= 0.03


def test_a_router_without_information_gains_nothing() -> None:
    assert abs(compare_router(queries(signal_is_true=False), budget=0.02).gain) < 0.05


def test_the_fixed_rival_may_mix_two_configurations() -> None:
    found = best_fixed(["a", "b"], np.array([1.0, 2.0]), np.array([0.0, 1.0]), 0.5)
    assert found.label == "50% a, 50% b"
    assert found.throughput == pytest.approx(1 / (0.5 / 1 + 0.5 / 2))
    assert found.deviation == 0.5
    assert best_fixed(["a", "b"], np.array([1.0, 2.0]), np.array([0.3, 1.0]), 0.1) == FixedRival("a", 1.0, 0.3)


@pytest.mark.parametrize(("budget", "outdone"), [(0.5, False), (1.0, False), (1.1, True)])
def test_a_rival_says_if_the_policy_deviates_more_than_every_fixed_configuration(budget: float, outdone: bool) -> None:
    assert best_fixed(["a", "b"], np.array([1.0, 2.0]), np.array([0.0, 1.0]), budget).outdone == outdone


def test_tables_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="tokens has shape"):
        QueryTable(("a",), np.ones((2, 3)), np.ones((1, 3)), np.ones((1, 3)), np.ones(3))
    with pytest.raises(InputError, match="groups need"):
        compare_router(queries(True), 0.1, groups=200)


@pytest.mark.parametrize("price", [3.0, 9.0])
def test_clips_by_position_are_widest_where_most_is_still_to_come(traces: Traces, price: float) -> None:
    b = clips_by_position(away_from_the_end(traces), price)
    assert b[0] > b[8] > 1
    assert b[-1] == pytest.approx(np.exp(1 / price))  # past the last position only the bonus token is left


def test_clip_schedules_are_near_the_best_of_many_at_their_nats() -> None:
    """In a world of independent rounds, no geometric schedule of clips has 1 % more tokens for as many nats."""
    flat = study(World(problems=40, shortest=60, longest=64), (1,), 6, seeds=4)
    traces = away_from_the_end(Recorded.from_tables(flat.rounds, flat.configurations).lossless(Effort(1), 6))
    b = clips_for_budget(traces, 0.01)
    tokens, nats = round_under_clips(traces, b)
    assert nats <= 0.01
    for first in (1.5, 2.0, 4.0, 8.0):
        for decay in (0.3, 0.6, 1.0):
            rival = 1 + (first - 1) * decay ** np.arange(6)
            rival_tokens, rival_nats = round_under_clips(traces, rival)
            assert rival_nats > nats or rival_tokens < 1.01 * tokens


def test_the_clip_schedule_meets_its_uniform_rival_at_equal_nats(traces: Traces) -> None:
    found = compare_clip_schedule(traces, 0.005)
    assert found.fixed.deviation == pytest.approx(found.deviation, rel=2e-3)
    assert found.gain > -0.01


def measured(speed: float, deviation: float, n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    noise = np.exp(0.2 * np.random.default_rng(1).standard_normal(n))
    return np.full(n, 30.0), 30.0 / speed * noise, np.full(n, 30.0 * deviation)


def test_a_measured_policy_is_judged_with_an_interval_over_problems() -> None:
    columns = [measured(10.0, 0.0), measured(20.0, 0.2)]
    fixed = QueryTable(("strict", "lenient"), *(np.stack(c) for c in zip(*columns, strict=True)), np.zeros(60))
    found = judge("policy", *measured(16.0, 0.1), fixed)
    assert found.fixed.label == "50% strict, 50% lenient"
    assert found.fixed.deviation == pytest.approx(found.deviation)
    assert found.gain == pytest.approx(16 / (1 / (0.5 / 10 + 0.5 / 20)) - 1)
    assert found.gain_low <= found.gain <= found.gain_high
    assert found.gain_high - found.gain_low < 1e-9  # problems are equally slow for both: what they share cancels
    with pytest.raises(InputError, match="use the same"):
        judge("policy", *measured(16.0, 0.1, n=10), fixed)


def test_a_fitted_router_sends_each_group_to_its_own_configuration() -> None:
    router = fit_router(queries(signal_is_true=True), 0.02, groups=2)
    assert router.configurations.tolist() == [1, 0]  # lenient for the easy half, strict for the hard one
    assert router.choice(np.array([0.0, 1.05])).tolist() == [1, 0]


def test_a_router_counts_tokens_a_second_and_not_seconds_alone() -> None:
    """A configuration that ends texts early takes fewer seconds, and is slower all the same (10 and 6.7 tokens/s)."""
    tokens, seconds = np.array([[30.0] * 8, [10.0] * 8]), np.array([[3.0] * 8, [1.5] * 8])
    table = QueryTable(("whole", "cut"), tokens, seconds, np.zeros((2, 8)), np.arange(8.0))
    assert fit_router(table, 0.1).configurations.tolist() == [0] * 4


def every_assignment(configurations: int, groups: int) -> np.ndarray:
    return np.array(list(product(range(configurations), repeat=groups)))


@pytest.mark.parametrize("seed", range(60))
def test_an_assignment_is_the_fastest_of_all_within_the_budget(seed: int) -> None:
    """Against brute force, on instances of which some have groups that are alike (whose optima no multiplier finds)."""
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 5)), int(rng.integers(1, 5)))
    tokens, seconds = rng.uniform(5, 40, shape), rng.uniform(1, 4, shape)
    deviation = tokens * rng.uniform(0, 0.5, shape) * rng.integers(0, 2, shape)
    if seed % 3 == 0:
        tokens, seconds, deviation = (np.repeat(v[:, :1], shape[1], axis=1) for v in (tokens, seconds, deviation))
    at = every_assignment(*shape), np.arange(shape[1])
    emitted = tokens[at].sum(axis=1)
    speed, spent = emitted / seconds[at].sum(axis=1), deviation[at].sum(axis=1) / emitted
    for budget in (0.0, float(rng.uniform(0, 0.3)), float(np.median(spent)), 1.0):
        found = fastest_assignment(tokens, seconds, deviation, budget)
        own = found, np.arange(shape[1])
        within = spent <= budget + 1e-12
        if within.any():
            assert deviation[own].sum() <= (budget + 1e-11) * tokens[own].sum()
            assert tokens[own].sum() / seconds[own].sum() == pytest.approx(speed[within].max(), rel=1e-12)
        else:
            assert deviation[own].sum() / tokens[own].sum() == pytest.approx(spent.min(), rel=1e-12)


def test_on_its_own_queries_a_router_is_never_behind_a_fixed_configuration() -> None:
    rng = np.random.default_rng(0)
    tokens, seconds = rng.uniform(5, 40, (6, 60)), rng.uniform(1, 4, (6, 60))
    table = QueryTable(tuple("abcdef"), tokens, seconds, tokens * rng.uniform(0, 0.5, (6, 60)), rng.random(60))
    for c in range(6):
        speed, deviation = table.figures(np.full(60, c))
        routed, spent = table.figures(fit_router(table, deviation, groups=4).choice(table.signal))
        assert routed >= speed - 1e-12
        assert spent <= deviation + 1e-11


def test_an_accepted_end_token_is_followed_by_no_bonus_token() -> None:
    """Of many texts that end inside blocks, each comparison counts the tokens that were recorded (2 %).

    The bonus token of every round that ends a text would add a tenth.
    """
    both = study(World(problems=60, shortest=6, longest=14), (1, 4), 16, seeds=8)
    recorded = Recorded.from_tables(both.rounds, both.configurations)
    cheap, costly = recorded.lossless(Effort(1), 16), recorded.lossless(Effort(4), 16)
    assert round_under_schedule(cheap, 0.0)[0] == pytest.approx(cheap.emitted.mean(), rel=0.02)
    assert round_under_clips(cheap, 1.0)[0] == pytest.approx(cheap.emitted.mean(), rel=0.02)
    found = compare_effort_choice(cheap, costly, Costs.from_profile(both.profile), "lossless")
    rival = {"K=1": cheap, "K=4": costly}[found.fixed.label]
    judged = np.unique(rival.problems.astype(str), return_inverse=True)[1][rival.generation] % 2 == 1
    seconds = rival.draft_s + rival.verify_s + rival.accept_s
    assert found.fixed.throughput == pytest.approx(rival.emitted[judged].sum() / seconds[judged].sum(), rel=0.02)
