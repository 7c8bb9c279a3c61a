"""Accuracy from few points, and the answer to what to deploy."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from test_comparison import measured

from specfrontier.errors import InputError
from specfrontier.schema import PREDICTIONS
from specfrontier.simulate import Goal, fit_quality, recommend

SPEED = np.array([100.0, 150.0, 152.0, 200.0])
AGREEMENT = np.array([1.0, 0.95, 0.94, 0.80])


def grid(width: float = 0.05) -> pd.DataFrame:
    table = pd.DataFrame({c.name: np.full(4, np.nan) for c in PREDICTIONS})
    return table.assign(
        predictor="mine", pair="toy", steps=[1, 2, 2, 4], rule=["lossless", "linear:0.1", "clip:2.0", "linear:0.5"],
        block_size=8,
        throughput=SPEED, throughput_low=SPEED * (1 - width), throughput_high=SPEED * (1 + width),
        latency=50 / SPEED, latency_low=48 / SPEED, latency_high=52 / SPEED,
        agreement=AGREEMENT, agreement_low=AGREEMENT - 0.005, agreement_high=AGREEMENT + 0.005,
    )  # fmt: skip


def test_the_fastest_above_a_floor_and_the_best_below_a_ceiling() -> None:
    fastest = recommend(grid(), Goal("agreement", floor=0.93), problems=100)
    assert (fastest.choice.steps, fastest.choice.rule, fastest.choice.parameter) == (2, "clip:2.0", ("b", 2.0))
    assert fastest.runner_up is not None
    assert fastest.runner_up.rule == "linear:0.1"
    best = recommend(grid(), Goal("agreement", latency=0.331), problems=100)
    assert best.choice.rule == "clip:2.0"
    assert best.choice.latency == pytest.approx((50 / 152, 48 / 152, 52 / 152))
    assert not best.certain


def test_a_close_call_says_how_many_problems_would_settle_it() -> None:
    answer = recommend(grid(), Goal("agreement", floor=0.93), problems=100)
    assert answer.close
    error = np.hypot(0.05 * 152, 0.05 * 150) / 1.959964
    needed = 100 * (1.959964 * error / 2) ** 2
    assert answer.problems_to_settle == pytest.approx(needed - 100, abs=1)
    assert list(answer.contenders) == [2, 1]
    clear = recommend(grid(width=0.001), Goal("agreement", floor=0.93), problems=100)
    assert (clear.close, clear.problems_to_settle, list(clear.contenders)) == (False, 0, [2])


def test_a_bound_that_only_the_estimate_meets_is_not_certain() -> None:
    assert recommend(grid(), Goal("agreement", floor=0.93), problems=100).certain
    assert not recommend(grid(), Goal("agreement", floor=0.938), problems=100).certain


def test_faster_points_that_may_meet_the_floor_are_worth_measuring() -> None:
    answer = recommend(grid(width=0.001), Goal("agreement", floor=0.942), problems=100)
    assert answer.choice.rule == "linear:0.1"
    assert list(answer.contenders) == [1, 2]


def test_a_gap_in_accuracy_is_settled_by_the_problems_that_accuracy_rests_on() -> None:
    accuracy = np.array([0.80, 0.74, 0.70, 0.50])
    table = grid().assign(accuracy=accuracy, accuracy_low=accuracy - 0.07, accuracy_high=accuracy + 0.07)
    settle = [
        recommend(table, Goal("accuracy", latency=2.0), problems=10, accuracy_problems=n).problems_to_settle
        for n in (None, 10, 30)
    ]
    factor = 2 * 0.07**2 / 0.06**2
    assert settle == [int(np.ceil(n * (factor - 1))) for n in (10, 10, 30)]
    speed = Goal("accuracy", floor=0.7)
    one, other = (recommend(table, speed, problems=10, accuracy_problems=n) for n in (10, 30))
    assert one.problems_to_settle == other.problems_to_settle


def without_intervals(*figures: str) -> pd.DataFrame:
    return grid(0.001).assign(**{f"{figure}_{end}": np.nan for figure in figures for end in ("low", "high")})


def test_without_intervals_nothing_is_settled() -> None:
    """One problem has no spread: every configuration that meets the bound may be the best one, and those faster too."""
    found = recommend(
        without_intervals("throughput", "latency", "agreement"), Goal("agreement", floor=0.945), problems=1
    )
    assert found.choice.rule == "linear:0.1"
    assert (found.close, found.certain, found.spread_known, found.problems_to_settle) == (True, False, False, None)
    assert sorted(found.contenders) == [0, 1, 2, 3]
    assert json.loads(found.to_json())["spread_known"] is False


def test_one_interval_that_is_missing_leaves_the_order_open() -> None:
    table = grid(0.001)
    table.loc[1, "throughput_high"] = np.nan
    found = recommend(table, Goal("agreement", floor=0.93), problems=50)
    assert (found.choice.rule, found.close, found.problems_to_settle) == ("clip:2.0", True, None)
    assert list(found.contenders) == [2, 1]


def test_a_bound_without_an_interval_is_not_known_to_be_missed() -> None:
    found = recommend(without_intervals("agreement"), Goal("agreement", floor=0.945), problems=50)
    assert (found.close, found.certain, found.spread_known) == (False, False, False)
    assert list(found.contenders) == [1, 3, 2]


def test_empty_intervals_of_two_that_differ_say_nothing() -> None:
    found = recommend(grid(0.0), Goal("agreement", floor=0.93), problems=1)
    assert (found.close, found.spread_known, found.problems_to_settle) == (True, False, None)
    assert list(found.contenders) == [2, 1, 0]


def test_intervals_say_how_sure_a_choice_is() -> None:
    assert recommend(grid(), Goal("agreement", floor=0.93), problems=100).spread_known
    alone = recommend(grid().iloc[[0]], Goal("agreement", floor=0.93), problems=100)
    assert (alone.close, alone.spread_known, alone.problems_to_settle, alone.contenders) == (False, True, 0, (0,))


def test_near_ties_and_faster_ones_that_may_meet_the_bound_both_survive_the_cut() -> None:
    """Eight near ties and two that are two and three times as fast, a little below the floor."""
    speed = np.array([100.0 - i for i in range(9)] + [200.0, 300.0, 400.0])
    agreement = np.array([0.91] * 9 + [0.895, 0.895, 0.5])
    table = pd.DataFrame({c.name: np.full(12, np.nan) for c in PREDICTIONS}).assign(
        predictor="mine", steps=1, rule=[f"linear:{i / 100}" for i in range(12)], block_size=8,
        throughput=speed, throughput_low=speed - 20, throughput_high=speed + 20,
        agreement=agreement, agreement_low=agreement - 0.01, agreement_high=agreement + 0.01,
    )  # fmt: skip
    goal = Goal("agreement", floor=0.9)
    assert list(recommend(table, goal, problems=50).contenders) == [0, 1, 10, 2, 9]
    assert list(recommend(table, goal, problems=50, most_contenders=20).contenders) == [0, 1, 10, 2, 9, *range(3, 9)]


def test_the_answer_is_json_without_nan() -> None:
    assert json.loads(recommend(grid(), Goal("agreement", floor=0.9), problems=9).to_json())["choice"]["accuracy"]


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ({"quality": "agreement", "floor": 1.0001}, "floor"),
        ({"quality": "agreement"}, "not both"),
        ({"quality": "agreement", "floor": 0.9, "latency": 1.0}, "not both"),
        ({"quality": "agreement", "latency": 0.0}, "seconds > 0"),
        ({"quality": "agreement", "latency": float("nan")}, "seconds > 0"),
        ({"quality": "agreement", "latency": 0.01}, "nearest reaches 0.25"),
        ({"quality": "accuracy", "floor": 0.5}, "fit a quality model"),
    ],
)
def test_goals_that_cannot_be_met_say_why(goal: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recommend(grid(), Goal(**goal), problems=100)  # type: ignore[arg-type]


def curve(n: int, seed: int, slope: float = 0.4) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Accuracy falls exponentially in the deviation, from 0.88 (slope > 0); measured on n problems."""
    deviation = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    truth = 0.88 * np.exp(-slope * (deviation if slope > 0 else deviation - 4.0))
    right = np.random.default_rng(seed).binomial(n, truth)
    table = measured().assign(accuracy=right / n, n=n)
    predictions = table[["steps", "threshold", "rule", "block_size"]].assign(predictor="mine", deviation=deviation)
    return predictions, table


def test_among_equals_in_quality_the_faster_is_recommended() -> None:
    """Two lossless configurations below a latency ceiling agree alike but for rounding; their speeds differ."""
    table = grid(0.01).assign(agreement=1.0, agreement_low=1.0, agreement_high=1.0)
    table.loc[0, "agreement"] = 1.0 + 1e-13
    found = recommend(table.iloc[[0, 1]], Goal("agreement", latency=1.0), problems=100)
    assert found.choice.throughput[0] == 150.0
    assert not found.close
    assert found.problems_to_settle == 0


def test_among_equals_in_speed_the_better_is_recommended() -> None:
    table = grid().assign(throughput=100.0, throughput_low=100.0, throughput_high=100.0)
    found = recommend(table, Goal("agreement", floor=0.5), problems=100)
    assert found.choice.agreement[0] == 1.0


def test_three_points_predict_the_others_and_say_how_sure_they_are() -> None:
    """Of 40 studies of 400 problems, at least 80 % of the held-out truths lie in the 95 % intervals (the two held-out
    points of a study are correlated; P(fewer) is below 0.1 % if coverage is 95 %)."""
    inside, errors = [], []
    for seed in range(40):
        predictions, table = curve(400, seed)
        model = fit_quality(predictions, table)
        assert len(model.fitted_on) == 3
        held_out = ~table["config"].isin(model.fitted_on)
        filled = model.add_accuracy(predictions)[held_out]
        truth = 0.88 * np.exp(-0.4 * filled["deviation"])
        errors.append(np.abs(filled["accuracy"] - truth).mean())
        inside += list((filled["accuracy_low"] <= truth) & (truth <= filled["accuracy_high"]))
    assert np.mean(inside) >= 0.8
    assert np.mean(errors) < 0.03


def test_more_deviation_is_never_predicted_to_help() -> None:
    predictions, table = curve(400, 0, slope=-0.4)
    assert fit_quality(predictions, table).slope == 0


def test_quality_is_fitted_on_two_or_three_points_that_differ() -> None:
    predictions, table = curve(100, 0)
    assert fit_quality(predictions, table, ["c0", "c4"]).fitted_on == ("c0", "c4")
    for configs, message in ((["c0"], "1 points"), (["c0", "c1", "c2", "c3"], "4 points")):
        with pytest.raises(InputError, match=message):
            fit_quality(predictions, table, configs)
    with pytest.raises(InputError, match="different leniency"):
        fit_quality(predictions.assign(deviation=1.0), table, ["c0", "c4"])
