"""Recorded rounds become arrays that know where each text and each draft ended."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from toy_cases import Case
from toy_world import World, study

from specfrontier.errors import InputError
from specfrontier.simulate import Effort, Grid, Point, Recorded


def test_every_generation_starts_at_zero_and_its_rounds_join_up(hard: Case) -> None:
    traces = Recorded.from_tables(hard.study.rounds, hard.study.configurations).lossless(Effort(1), 16)
    assert np.all(traces.start[traces.first] == 0)
    inner = np.setdiff1d(np.arange(traces.rounds), traces.first)
    assert np.array_equal(traces.start[inner], (traces.start + traces.emitted)[inner - 1])
    assert traces.output_tokens.sum() == hard.study.rounds["emitted"].sum()


def test_a_draft_that_ends_early_has_no_position_after_its_end(hard: Case) -> None:
    traces = Recorded.from_tables(hard.study.rounds, hard.study.configurations).lossless(Effort(1), 16)
    assert traces.ended.any()
    assert np.all(traces.length[traces.ended] < traces.requested[traces.ended])
    assert np.all(traces.tv[~traces.exists] == 0)


def test_the_shortest_block_that_is_long_enough_is_replayed() -> None:
    world = World(problems=6)
    small, large = study(world, (1,), 4), study(world, (1,), 8)
    rounds = pd.concat([small.rounds, large.rounds])
    recorded = Recorded.from_tables(rounds, pd.concat([small.configurations, large.configurations]))
    assert recorded.lossless(Effort(1), 3).block_size == 4
    assert recorded.lossless(Effort(1), 5).block_size == 8
    with pytest.raises(InputError, match="only B = 4, 8"):
        recorded.lossless(Effort(1), 9)
    with pytest.raises(InputError, match="K=2"):
        recorded.lossless(Effort(2), 4)


def test_exact_rounds_are_pooled_with_no_others() -> None:
    """Exact verification cuts drafts; an audited run holds its rounds beside those of Algorithm 1."""
    own = study(World(problems=3), (1,), 4)
    exact = own.configurations.assign(config="exact", verification="exact")
    cut = own.rounds.assign(config="exact")
    both = pd.concat([own.configurations.assign(verification="paper"), exact])
    rounds = pd.concat([own.rounds, cut])
    assert Recorded.from_tables(rounds, both).lossless(Effort(1), 4).rounds == len(own.rounds)
    assert Recorded.from_tables(cut, exact).lossless(Effort(1), 4).rounds == len(cut)


def test_rounds_of_unknown_configurations_are_refused(hard: Case) -> None:
    with pytest.raises(InputError, match="not in the configurations table"):
        Recorded.from_tables(hard.study.rounds, hard.study.configurations.iloc[:0])


def test_rounds_without_traces_are_refused(hard: Case) -> None:
    with pytest.raises(InputError, match="traces switched on"):
        Recorded.from_tables(hard.study.rounds.assign(tv=None), hard.study.configurations)


@pytest.mark.parametrize("column", ["tv", "p_y", "q_y"])
def test_traces_that_hold_no_probability_are_refused(hard: Case, column: str) -> None:
    rounds = hard.study.rounds
    damaged = rounds.assign(**{column: [np.full(len(values), np.nan) for values in rounds[column]]})
    with pytest.raises(InputError, match=f"{column} = nan; it must be >= 0"):
        Recorded.from_tables(damaged, hard.study.configurations)


@pytest.mark.parametrize("column", ["draft_s", "verify_s", "accept_s"])
@pytest.mark.parametrize("seconds", [float("nan"), -1.0])
def test_seconds_that_no_clock_counts_are_refused(hard: Case, column: str, seconds: float) -> None:
    with pytest.raises(InputError, match=f"{column} = {seconds:g}"):
        Recorded.from_tables(hard.study.rounds.assign(**{column: seconds}), hard.study.configurations)


def test_a_threshold_is_an_effort_whatever_caps_its_steps() -> None:
    assert Effort(steps=8, threshold=0.9) == Effort(threshold=0.9)
    with pytest.raises(InputError, match="neither"):
        Effort()


def test_lossless_and_linear_zero_are_one_configuration() -> None:
    assert Point(Effort(1), "linear:0", 8).key == Point(Effort(1), "lossless", 8).key
    assert Point(Effort(1), "linear:0.1", 8).key != Point(Effort(1), "lossless", 8).key


def test_grids_are_products_or_tables(hard: Case) -> None:
    grid = Grid.product(steps=(1, 2), thresholds=(0.9,), rules=("lossless", "linear:0.5"), block_sizes=(4, 8))
    assert len(grid) == 3 * 2 * 2
    assert len(Grid.from_table(hard.measurements)) == 5
    with pytest.raises(InputError, match="no point"):
        Grid.product(rules=("lossless",), block_sizes=(4,))
    with pytest.raises(InputError, match="unknown acceptance rule"):
        Grid.product(steps=(1,), rules=("linar:0.5",), block_sizes=(4,))
