"""Measurements from synthetic rounds whose figures are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from specfrontier.profiling.divergence import divergence, divergence_table
from specfrontier.profiling.measure import measure
from specfrontier.profiling.resampling import ratio, share, spread
from specfrontier.profiling.run_folder import Tables
from specfrontier.schema import CONFIGURATIONS, MEASUREMENTS


def _configuration(key: str, mode: str = "speculative", rule: str | None = "lossless") -> dict[str, object]:
    values = {"config": key, "pair": "p", "task": "t", "mode": mode, "steps": 1, "threshold": None, "rule": rule}
    values |= {"block_size": 3, "max_new_tokens": 8, "verification": "paper", "seed": 0, "status": "done"}
    return {column.name: values.get(column.name) for column in CONFIGURATIONS}


def _round(problem: str, accepted: int, tv: list[float], acceptance: list[float], config: str = "c") -> dict:
    return {
        "config": config,
        "problem": problem,
        "accepted": accepted,
        "verified": len(tv),
        "emitted": accepted + 1,
        "tv": np.array(tv),
        "acceptance": np.array(acceptance),
    }


def _problem(problem: str, **values: float) -> dict[str, object]:
    row = {"config": "c", "problem": problem, "output_tokens": 4, "rounds": 2, "accepted": 2, "visited": 4}
    row |= {"correct": True, "agreement": 0.9, "kl": 0.2, "log_likelihood": -3.0, "prefill_s": 0.5, "decode_s": 2.0}
    return row | values


@pytest.fixture
def tables() -> Tables:
    problems = pd.DataFrame(
        [
            _problem("a", output_tokens=4, decode_s=2.0, correct=True, accepted=2, visited=4, agreement=0.9, kl=0.2),
            _problem("b", output_tokens=8, decode_s=1.0, correct=False, accepted=6, visited=6, agreement=0.4, kl=0.6),
        ]
    )
    rounds = pd.DataFrame(
        [
            _round("a", 1, [0.1, 0.2, 0.9], [0.9, 0.8, 0.1]),
            _round("a", 1, [0.3, 0.4, 0.9], [0.7, 0.6, 0.1]),
            _round("b", 3, [0.0, 0.1, 0.2], [1.0, 0.9, 0.8]),
            _round("b", 3, [0.0, 0.1, 0.2], [1.0, 0.9, 0.8]),
        ]
    )
    return Tables(pd.DataFrame([_configuration("c")]), problems, rounds)


def test_figures_are_ratios_of_sums_over_prompts(tables: Tables) -> None:
    row = measure(tables).iloc[0]
    assert row["n"] == 2
    assert row["accuracy"] == 0.5
    assert row["throughput"] == pytest.approx(12 / 3)
    assert row["latency"] == pytest.approx((2.5 + 1.5) / 2)
    assert row["tokens_per_round"] == pytest.approx(12 / 4)
    assert row["acceptance"] == pytest.approx(8 / 10)
    assert row["kl"] == pytest.approx(0.4)
    assert row["agreement"] == pytest.approx((0.9 * 4 + 0.4 * 6) / 10)
    assert row["log_likelihood"] == pytest.approx(-6.0 / 12)


def test_rao_blackwellised_acceptance_counts_visited_positions_only(tables: Tables) -> None:
    # Round 1 and 2 of "a" visit two positions each, those of "b" all three.
    expected = (0.9 + 0.8 + 0.7 + 0.6 + 2 * (1.0 + 0.9 + 0.8)) / 10
    assert measure(tables).iloc[0]["acceptance_rb"] == pytest.approx(expected)


def test_measurements_have_the_columns_of_the_schema_in_order(tables: Tables) -> None:
    assert list(measure(tables).columns) == [column.name for column in MEASUREMENTS]


def test_rows_come_in_the_order_in_which_people_read_them(tables: Tables) -> None:
    names = {"a": "linear:10.0", "b": "linear:2.0", "c": "lossless"}
    rows = [_configuration(key, rule=rule) for key, rule in names.items()]
    rows.append(_configuration("d", "autoregressive", None))
    problems = pd.concat([tables.problems.assign(config=key) for key in "abcd"])
    table = measure(Tables(pd.DataFrame(rows), problems, tables.rounds))
    assert [*table["config"]] == ["d", "c", "b", "a"]


def test_a_baseline_without_a_verifier_has_no_acceptance(tables: Tables) -> None:
    tables.configurations["mode"] = "drafter"
    tables.problems["visited"] = 0
    row = measure(Tables(tables.configurations, tables.problems, tables.rounds.iloc[:0])).iloc[0]
    assert np.isnan(row["acceptance"])
    assert np.isnan(row["acceptance_rb"])
    assert row["throughput"] == pytest.approx(4)


def test_both_estimators_of_d_and_the_profile_along_the_block(tables: Tables) -> None:
    found = divergence(tables.rounds)
    assert found.visited.value == pytest.approx((0.1 + 0.2 + 0.3 + 0.4 + 2 * 0.3) / 10)
    assert found.block.value == pytest.approx((0.1 + 0.2 + 0.9 + 0.3 + 0.4 + 0.9 + 2 * 0.3) / 12)
    assert found.by_position == pytest.approx(((0.1 + 0.3) / 4, (0.2 + 0.4 + 0.1 + 0.1) / 4, 0.2))
    assert found.visited.n == 2


def test_divergence_is_reported_by_leniency_of_its_prefixes(tables: Tables) -> None:
    configurations = pd.DataFrame([_configuration("c"), _configuration("d", rule="linear:0.5")])
    lenient = pd.DataFrame([_round("a", 3, [0.5, 0.5, 0.5], [1.0, 1.0, 1.0], config="d")] * 2)
    table = divergence_table(configurations, pd.concat([tables.rounds, lenient])).set_index("rule")
    assert table.loc["linear:0.5", "d_visited"] == pytest.approx(0.5)
    assert table.loc["lossless", "d_visited"] == pytest.approx(1.6 / 10)


def test_standard_error_of_a_ratio_is_the_spread_of_independent_repetitions() -> None:
    # 2,000 repetitions: their standard deviation is known to 1.6 %; 8 % is five of those.
    generator = np.random.default_rng(0)
    size = generator.poisson(5, (2000, 60)) + 1.0
    total = generator.binomial(size.astype(int), 0.3)
    estimates = [ratio(a, b, replicates=2) for a, b in zip(total, size, strict=True)]
    observed = np.std([e.value for e in estimates])
    assert np.mean([e.se for e in estimates]) == pytest.approx(observed, rel=0.08)


def test_bootstrap_interval_covers_the_truth_as_often_as_it_says() -> None:
    # Prompts of different rates: clusters. 300 repetitions at 95 %: five standard errors below is 0.887.
    generator = np.random.default_rng(1)
    covered = 0
    for _ in range(300):
        rate = generator.beta(6, 4, 80)
        size = generator.poisson(10, 80) + 1
        found = ratio(generator.binomial(size, rate), size, replicates=400)
        covered += found.low <= 0.6 <= found.high
    assert covered / 300 > 0.887


def test_all_solved_is_not_taken_for_certainty() -> None:
    found = share([1.0] * 20)
    assert (found.value, found.high) == (1, 1)
    assert found.low < 0.9
    none = share([0.0] * 20)
    assert (none.low, none.value, none.high) == (0, 0, pytest.approx(1 - found.low))


def test_a_single_prompt_has_a_value_and_no_error() -> None:
    found = ratio([2.0], [4.0])
    assert found.value == 0.5
    assert np.isnan(found.se)


def test_spread_is_not_moved_by_an_outlier() -> None:
    assert spread([*np.full(99, 1.0), 1e6]).value == 1.0
