"""Policies against the best fixed rival: what they must win, and where they must not pretend to."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from toy_cases import Case
from toy_world import World, study

from specfrontier.errors import InputError
from specfrontier.simulate import Costs, Effort, Recorded
from specfrontier.simulate.scheduling import (
    QueryTable,
    best_fixed,
    compare_effort_choice,
    compare_leniency_schedule,
    compare_router,
    confidence,
    distances_by_position,
    round_under_schedule,
)
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
    lam = float(found.fixed.split(":")[1].split(" ")[0])
    assert round_under_schedule(traces, lam)[1] == pytest.approx(found.deviation, rel=1e-3)


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
    assert found.fixed in ("K=1", "K=4")
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
    label, value = best_fixed(["a", "b"], np.array([1.0, 2.0]), np.array([0.0, 1.0]), 0.5)
    assert label == "50% a, 50% b"
    assert value == pytest.approx(1 / (0.5 / 1 + 0.5 / 2))
    assert best_fixed(["a", "b"], np.array([1.0, 2.0]), np.array([0.3, 1.0]), 0.1) == ("a", 1.0)


def test_tables_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="tokens has shape"):
        QueryTable(("a",), np.ones((2, 3)), np.ones((1, 3)), np.ones((1, 3)), np.ones(3))
    with pytest.raises(InputError, match="groups need"):
        compare_router(queries(True), 0.1, groups=200)
