"""Scores are of held-out points only, and say what a perfect and a wrong prediction would get."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st
from hypothesis.extra.numpy import arrays

from specfrontier.errors import InputError
from specfrontier.schema import MEASUREMENTS, PREDICTIONS
from specfrontier.simulate import compare
from specfrontier.simulate.frontier_scores import _recommended

THROUGHPUT = np.array([100.0, 150.0, 120.0, 200.0, 170.0])
ACCURACY = np.array([0.90, 0.80, 0.85, 0.60, 0.75])


def measured(noise: float = 0.01) -> pd.DataFrame:
    n = len(THROUGHPUT)
    table = pd.DataFrame({c.name: np.full(n, np.nan) for c in MEASUREMENTS})
    return table.assign(
        config=[f"c{i}" for i in range(n)], pair="toy", task="toy", mode="speculative", n=100,
        steps=1, rule=[f"linear:{i / 10}" for i in range(n)], block_size=8,
        throughput=THROUGHPUT, throughput_se=noise * THROUGHPUT, latency=50 / THROUGHPUT, latency_se=0.0,
        accuracy=ACCURACY, accuracy_se=0.03,
    )  # fmt: skip


def predicted(factor: np.ndarray | float = 1.0, fitted: tuple[int, ...] = (0,)) -> pd.DataFrame:
    n = len(THROUGHPUT)
    table = pd.DataFrame({c.name: np.full(n, np.nan) for c in PREDICTIONS})
    speed = THROUGHPUT * factor
    return table.assign(
        predictor="mine", pair="toy", steps=1, rule=[f"linear:{i / 10}" for i in range(n)], block_size=8,
        throughput=speed, throughput_low=0.98 * speed, throughput_high=1.02 * speed,
        latency=50 / speed, accuracy=ACCURACY, fitted=np.isin(np.arange(n), fitted),
    )  # fmt: skip


def test_a_perfect_prediction_scores_zero_and_finds_the_whole_frontier() -> None:
    found = compare(measured(), predicted())
    score = found.score("mine", "throughput")
    assert (score["mean_absolute_error"], score["bias"], score["kendall_tau"], score["coverage"]) == (0, 0, 1, 1)
    plane = found.frontiers[found.frontiers["speed"] == "throughput"].iloc[0]
    assert (plane["overlap"], plane["found"], plane["attained"]) == (1, 1, 1)
    assert plane["hypervolume_ratio"] == pytest.approx(1)
    assert (plane["regret"], plane["shortfall"], plane["below_floor"]) == (0, 0, 0)


def test_regret_is_the_speed_lost_by_recommending_from_the_prediction() -> None:
    """Two configurations of equal quality, the slower one predicted to be the faster: all floors lose its share."""
    fast, slow = 100.0, 80.0
    predictions = np.array([[70.0, 0.9], [90.0, 0.9]])
    measurements = np.array([[fast, 0.9], [slow, 0.9]])
    found = _recommended(predictions, measurements, more=True)
    lost = pytest.approx(1 - slow / fast)
    assert found == {"regret": lost, "shortfall": lost, "below_floor": 0.0}
    seconds = _recommended(1 / predictions * [1, 0.81], 1 / measurements * [1, 0.81], more=False)
    assert seconds["regret"] == pytest.approx(1 - slow / fast)


def test_a_recommendation_that_misses_its_floor_says_by_how_much() -> None:
    """Quality is predicted 0.1 too high for the fast one: floors between 0.8 and 0.9 are missed by 0.05 on average."""
    found = _recommended(np.array([[90.0, 0.9], [60.0, 0.9]]), np.array([[90.0, 0.8], [60.0, 0.9]]), more=True)
    assert found == {"regret": 0.0, "shortfall": 0.0, "below_floor": pytest.approx(0.1 / 2)}


def test_a_slow_recommendation_that_is_the_best_of_its_quality_has_regret_without_shortfall() -> None:
    """Quality of the fast one is predicted 0.1 too low: the lower half of all floors loses a fifth of the speed."""
    predicted = np.array([[100.0, 0.8], [80.0, 1.0], [9.0, 1.0]])
    found = _recommended(predicted, np.array([[100.0, 0.9], [80.0, 1.0], [9.0, 0.8]]), more=True)
    assert found == {"regret": pytest.approx(0.5 * 0.2), "shortfall": 0.0, "below_floor": 0.0}


@given(
    points=arrays(np.float64, (5, 4), elements=st.floats(0.1, 1.0)),
    more=st.booleans(),
)
def test_the_average_over_floors_is_that_of_many_floors(points: np.ndarray, more: bool) -> None:
    """Against 20,000 equally spaced floors, each with a search of its own; a step of 1/20,000 at each edge is lost."""
    predicted, measured = points[:, :2], points[:, 2:]
    lowest, top = measured[:, 1].min(), min(measured[:, 1].max(), predicted[:, 1].max())
    assume(top - lowest > 0.01)
    floors = lowest + (top - lowest) * (np.arange(20_000) + 0.5) / 20_000
    sign = 1.0 if more else -1.0

    def fastest(table: np.ndarray, least: np.ndarray) -> np.ndarray:
        allowed = table[None, :, 1] >= least[:, None] - 1e-9
        return np.where(allowed, sign * table[None, :, 0], -np.inf).argmax(1)

    def loss(speed: np.ndarray, best: np.ndarray) -> float:
        return float(np.maximum(0.0, 1 - (speed / best if more else best / speed)).mean())

    chosen = measured[fastest(predicted, floors)]
    found = _recommended(predicted, measured, more)
    assert found["regret"] == pytest.approx(loss(chosen[:, 0], measured[fastest(measured, floors), 0]), abs=2e-3)
    assert found["shortfall"] == pytest.approx(
        loss(chosen[:, 0], measured[fastest(measured, chosen[:, 1]), 0]), abs=2e-3
    )
    assert found["below_floor"] == pytest.approx(np.maximum(floors - chosen[:, 1], 0).mean(), abs=2e-3)


def test_bias_is_signed_and_errors_are_relative() -> None:
    score = compare(measured(), predicted(0.9)).score("mine", "throughput")
    assert score["mean_absolute_error"] == pytest.approx(0.1)
    assert score["bias"] == pytest.approx(-0.1)
    assert score["coverage"] == 0


def test_rules_by_position_are_scored_where_they_were_predicted() -> None:
    rules = ["linear:0.0", "linear:1.0@1-3/lossless", *measured()["rule"][2:]]
    assert compare(measured().assign(rule=rules), predicted()).score("mine", "throughput")["points"] == 3
    both = compare(measured().assign(rule=rules), predicted().assign(rule=rules))
    assert both.score("mine", "throughput")["points"] == 4


def test_exact_measurements_are_scored_where_there_are_no_others() -> None:
    both = pd.concat([measured().assign(verification="paper"), measured().assign(verification="exact", throughput=1.0)])
    assert compare(both, predicted()).score("mine", "throughput")["mean_absolute_error"] == 0
    assert compare(measured().assign(verification="exact"), predicted()).score("mine", "throughput")["points"] == 4


def test_fitted_points_are_never_scored() -> None:
    wrong_where_fitted = np.array([9.0, 1.0, 1.0, 1.0, 1.0])
    found = compare(measured(), predicted(wrong_where_fitted))
    assert found.score("mine", "throughput")["points"] == 4
    assert found.score("mine", "throughput")["mean_absolute_error"] == 0
    assert found.table["scored"].sum() < len(found.table)
    without = compare(measured(), predicted(fitted=()), fitted=["c1", "c2"])
    assert without.score("mine", "throughput")["points"] == 3
    with pytest.raises(InputError, match="every shared point"):
        compare(measured(), predicted(fitted=(0, 1, 2, 3, 4)))


def test_the_noise_floor_is_what_a_perfect_prediction_would_score() -> None:
    """20,000 draws of noise: the mean absolute error is known to 1 % (three standard errors)."""
    noise = 0.05
    draws = np.random.default_rng(0).standard_normal(20_000) * noise
    floor = compare(measured(noise), predicted()).score("mine", "throughput")["noise_floor"]
    assert floor == pytest.approx(np.abs(draws).mean(), rel=0.02)


def test_rank_and_regret_have_ceiling_and_floor_where_measurements_are_noisy() -> None:
    """Without noise a perfect prediction has tau 1 and no regret; with much of it, neither."""
    quiet = compare(measured(0.0).assign(accuracy_se=0.0), predicted())
    assert quiet.score("mine", "throughput")["kendall_ceiling"] == 1
    noisy = compare(measured(0.3).assign(accuracy_se=0.0), predicted())
    assert noisy.score("mine", "throughput")["kendall_ceiling"] < 0.9
    regrets = [c.frontiers.query("speed == 'throughput'").iloc[0]["regret_by_noise"] for c in (quiet, noisy)]
    assert regrets[0] == 0
    assert regrets[1] > 0.05
    unknown = compare(measured().assign(throughput_se=np.nan), predicted())
    assert np.isnan(unknown.score("mine", "throughput")["kendall_ceiling"])


def test_a_reversed_ranking_has_tau_minus_one_and_a_poor_frontier() -> None:
    found = compare(measured(), predicted(THROUGHPUT.min() * THROUGHPUT.max() / THROUGHPUT**2, fitted=()))
    assert found.score("mine", "throughput")["kendall_tau"] == pytest.approx(-1)
    plane = found.frontiers[found.frontiers["speed"] == "throughput"].iloc[0]
    assert plane["found"] < 1
    assert plane["attained"] < 1


def test_points_are_matched_by_setting_not_by_order_and_json_round_trips() -> None:
    shuffled = predicted(1.1).sample(frac=1, random_state=0)
    found = compare(measured(), shuffled)
    assert found.score("mine", "throughput")["bias"] == pytest.approx(0.1)
    assert {"scores", "frontiers", "table"} == set(json.loads(found.to_json()))


def test_nothing_shared_is_an_error() -> None:
    with pytest.raises(InputError, match="no measured point was predicted"):
        compare(measured(), predicted().assign(block_size=99))
    with pytest.raises(InputError, match="no score"):
        compare(measured(), predicted()).score("mine", "agreement")


def test_measurements_of_other_pairs_tasks_and_limits_are_left_alone() -> None:
    own = measured().assign(max_new_tokens=64)
    others = [own.assign(pair="other"), own.assign(task="other"), own.assign(max_new_tokens=8)]
    mixed = pd.concat([own, *(other.assign(throughput=1.0) for other in others)], ignore_index=True)
    predictions = predicted().assign(task="toy", max_new_tokens=64)
    assert compare(mixed, predictions).score("mine", "throughput")["mean_absolute_error"] == 0
    assert compare(mixed, predictions).score("mine", "throughput")["points"] == 4
    with pytest.raises(InputError, match="2 pairs, tasks or token limits; compare one at a time"):
        compare(mixed, pd.concat([predictions, predictions.assign(max_new_tokens=8)]))


def test_predictions_of_another_pair_are_refused() -> None:
    with pytest.raises(InputError, match="the predictions are of other, and no such measurements are given"):
        compare(measured(), predicted().assign(pair="other"))
