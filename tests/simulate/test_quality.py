"""Accuracy from a few measured points: by nats where predictions hold them, since these are what spoils a text."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from toy_world import Decoder, World, study

from specfrontier.errors import InputError
from specfrontier.simulate import Grid, fit_quality, predict
from specfrontier.simulate.overshoot import overshoot_nats
from specfrontier.simulate.quality import _decay
from specfrontier.theory.rules.schedule import as_schedule, leniency_from_spec

RULES = ("lossless", "linear:0.2", "linear:0.4", "linear:0.8", "clip:4.0", "clip:32.0")


def curve(n: int = 400) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Clips deviate as linear rules do and cost few nats; every nat spoils 3 % of the answers that are left."""
    deviation, nats = np.array([0.0, 1.0, 2.0, 4.0, 1.5, 3.0]), np.array([0.0, 9.0, 25.0, 81.0, 1.0, 2.0])
    right = np.random.default_rng(0).binomial(n, 0.95 * np.exp(-0.03 * nats))
    points = pd.DataFrame({"rule": RULES, "steps": 1, "threshold": np.nan, "block_size": 8})
    measured = points.assign(config=[f"c{i}" for i in range(6)], mode="speculative", accuracy=right / n, n=n)
    for figure in ("throughput", "latency", "agreement"):
        points[figure] = measured[figure] = 1.0
    for end in ("low", "high", "se"):
        measured[f"accuracy_{end}"] = measured["accuracy"]
    return points.assign(predictor="mine", pair="toy", deviation=deviation, overshoot=nats), measured


def error(gauge: str | None) -> float:
    predictions, measured = curve()
    model = fit_quality(predictions, measured, gauge=gauge)  # type: ignore[arg-type]
    held_out = ~measured["config"].isin(model.fitted_on)
    return float(np.abs(model.accuracy(predictions) - measured["accuracy"])[held_out].mean())


def test_nats_predict_what_total_variation_cannot() -> None:
    assert error("overshoot") < 0.03 < 0.1 < error("deviation")
    assert error(None) == error("overshoot")


def test_the_line_is_that_of_a_weighted_fit_and_its_ceiling_is_at_most_one() -> None:
    """Against NumPy's weighted polynomial fit (its weights are those of residuals, the roots of ours)."""
    x, n = np.array([0.0, 20.0, 90.0]), np.array([200.0, 200.0, 200.0])
    shares = (np.array([[170.0, 120.0, 20.0], [200.0, 120.0, 20.0], [100.0, 100.0, 190.0]]) + 0.5) / 201
    ceilings, slopes = _decay(x, shares, n)
    share = shares[0]
    slope, intercept = np.polyfit(x, np.log(share), 1, w=np.sqrt(n * share / (1 - share)))
    assert (ceilings[0], slopes[0]) == (pytest.approx(np.exp(intercept)), pytest.approx(-slope))
    assert ceilings[1] <= 1
    assert 0.01 < slopes[1] < 0.04
    assert slopes[2] == 0  # more departure is not credited with better answers


@pytest.mark.slow
@pytest.mark.parametrize(("n", "ceiling"), [(20, 0.98), (80, 0.98), (20, 0.7)])
def test_intervals_of_accuracy_hold_the_truth(n: int, ceiling: float) -> None:
    """Of 200 studies at every departure: at 95 %, fewer than 0.9 has a chance of about 1e-3."""
    points = pd.DataFrame({"rule": RULES, "steps": 1, "threshold": np.nan, "block_size": 8, "predictor": "mine"})
    points["overshoot"] = [0.0, 15.0, 30.0, 60.0, 90.0, 120.0]
    truth = ceiling * np.exp(-0.012 * points["overshoot"].to_numpy())
    generator, covered = np.random.default_rng(0), np.zeros(len(points))
    for _ in range(200):
        right = generator.binomial(n, truth)
        measured = points.assign(config=list(RULES), mode="speculative", accuracy=right / n, n=n)
        found = fit_quality(points, measured, [RULES[0], RULES[2], RULES[5]]).add_accuracy(points)
        covered += (found["accuracy_low"] <= truth) & (truth <= found["accuracy_high"])
    assert (covered / 200 >= 0.9).all()


def test_predictions_without_nats_are_gauged_by_deviation() -> None:
    predictions, measured = curve()
    rates_alone = predictions.assign(overshoot=np.nan)
    assert fit_quality(rates_alone, measured).gauge == "deviation"
    with pytest.raises(InputError, match="hold no overshoot"):
        fit_quality(rates_alone, measured, gauge="overshoot")


@pytest.mark.parametrize("rule", ["linear:0.5", "clip:2.0", "linear:1.0@1-3/linear:0.2"])
def test_replay_foresees_the_nats_of_fresh_decodings(rule: str) -> None:
    """Recorded and decoded on 60 problems each a few times: good to about 3 %, 10 % are allowed."""
    world = World(depth=0.05, place=0.5, common=0.4)
    recorded = study(world, (1,), 16, seeds=4)
    grid = Grid.product(steps=(1,), rules=(rule,), block_sizes=(16,))
    table = predict(recorded.profile, recorded.rounds, grid, configurations=recorded.configurations, replicates=0)
    fresh = Decoder(world, 1, rule, 16).run(7, copies=8)
    nats = [visited_nats(row, rule) for row in fresh.itertuples()]
    assert table["overshoot"][0] == pytest.approx(sum(nats) / (8 * world.problems), rel=0.1)


def visited_nats(row: object, rule: str) -> float:
    """Nats of a decoded round's visited positions, each under the rule of its own position."""
    schedule = as_schedule(leniency_from_spec(rule))
    p, q = np.asarray(row.p_y), np.asarray(row.q_y)  # type: ignore[attr-defined]
    seen = min(row.accepted + 1, row.verified)  # type: ignore[attr-defined]
    keep = np.array([schedule.rule_at(k).acceptance_at(p[k], q[k]) for k in range(len(p))])
    return float(overshoot_nats(keep, p, q)[:seen].sum())
