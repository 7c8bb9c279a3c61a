"""The main job: one recording for the profile and for what it predicts, in turns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from specfrontier.profiling import main_job, predictions
from specfrontier.profiling.job import Job, open_store
from specfrontier.profiling.store import Store


@pytest.fixture
def made(
    monkeypatch: pytest.MonkeyPatch, toy_folder: Path, masked_pair: Any, task: Any, tmp_path: Path
) -> tuple[main_job.MainJob, list[str]]:
    """A main job on the toy pair, and the order in which (problem, configuration) were measured."""
    out, order = tmp_path / "run", []
    store = toy_job(monkeypatch, masked_pair, task, out)
    add = store.add

    def noted(problem: Any, rounds: Any) -> None:
        order.append(problem["problem"])
        add(problem, rounds)

    monkeypatch.setattr(store, "add", noted)
    said: list[str] = []
    job = main_job.run_main_job(str(toy_folder / "toy-masked.toml"), out, budget_s=0.0, say=said.append)
    assert any("in turns" in line for line in said)
    return job, order


def toy_job(monkeypatch: pytest.MonkeyPatch, pair: Any, task: Any, out: Path) -> Store:
    """The store of a main job that runs on a loaded toy pair and draws nothing."""
    store = open_store(pair.file, out, seed=0, settings={})
    monkeypatch.setattr(main_job, "open_job", lambda *_, **__: Job(pair, task, task.problems(6), store))
    monkeypatch.setattr(main_job, "_draw", lambda *_: [])
    return store


def test_other_efforts_and_rules_are_predicted_from_the_same_anchors(
    monkeypatch: pytest.MonkeyPatch, toy_folder: Path, masked_pair: Any, task: Any, tmp_path: Path
) -> None:
    toy_job(monkeypatch, masked_pair, task, tmp_path)
    pair = str(toy_folder / "toy-masked.toml")
    job = main_job.run_main_job(pair, tmp_path, budget_s=0.0, steps=(1,), rules=("clip:2",), say=lambda _: None)
    assert set(job.predictions["rule"]) == {"lossless", "clip:2.0", *main_job.ANCHORS}
    assert set(job.predictions["steps"]) == {1}
    scored = job.comparison.table[job.comparison.table["scored"]]
    assert set(scored["rule"]) == {"clip:2.0"}


def test_every_configuration_takes_its_turn_on_a_problem_before_the_next_begins(
    made: tuple[main_job.MainJob, list[str]],
) -> None:
    _, order = made
    problems = list(dict.fromkeys(order))
    assert len(problems) == main_job.FEWEST_PROBLEMS
    assert order == [problem for problem in problems for _ in range(order.count(problem))]
    assert len({order.count(problem) for problem in problems}) == 1


def test_what_the_profile_rests_on_is_in_no_score(made: tuple[main_job.MainJob, list[str]]) -> None:
    job, _ = made
    table = job.comparison.table
    for predictor in main_job.PREDICTORS:
        rows = table[(table["predictor"] == predictor) & (table["figure"] == "throughput")]
        scored = dict(zip(rows["rule"], rows["scored"], strict=True))
        assert scored == {"lossless": False, "linear:0.4": False, "linear:0.5": True, "linear:0.8": False}


def test_accuracy_is_fitted_on_recorded_points_alone(made: tuple[main_job.MainJob, list[str]]) -> None:
    job, _ = made
    assert job.predictions["accuracy"].between(0, 1).all()
    table = job.comparison.table
    scored = table[(table["figure"] == "accuracy") & table["scored"]]
    assert set(scored["predictor"]) == set(main_job.PREDICTORS)
    held_out = set(scored.loc[scored["predictor"] == "anchored", "rule"])
    assert held_out == {"linear:0.5"}


def test_accuracy_is_fitted_on_what_was_measured_beside_the_grid_too(made: tuple[main_job.MainJob, list[str]]) -> None:
    """A grid of one rule that was never measured has the accuracy that it has among all measured ones."""
    job, _ = made

    def accuracy_of_new_rule(*others: str) -> list[float]:
        grid = predictions.grid_of(job.profile, (*others, "linear:0.3"))
        table = predictions.predictions_with_accuracy(job.folder, job.profile, grid, ("anchored",))
        assert len(table) == len(grid)
        return table.loc[table["rule"] == "linear:0.3", "accuracy"].to_list()

    alone = accuracy_of_new_rule()
    assert alone == accuracy_of_new_rule(*job.predictions["rule"].unique())
    assert all(0 <= value <= 1 for value in alone)


def test_accuracy_that_cannot_be_fitted_is_said_and_left_out() -> None:
    columns = ("predictor", "steps", "threshold", "rule", "block_size", "overshoot", "deviation", "fitted")
    predictions = pd.DataFrame([("anchored", 1, None, "lossless", 4, 0.0, 0.0, True)], columns=list(columns))
    recorded = pd.DataFrame([("c", "speculative", 1, None, "lossless", 4, 0.5, 6)])
    recorded.columns = ["config", "mode", "steps", "threshold", "rule", "block_size", "accuracy", "n"]
    said: list[str] = []
    assert main_job._with_accuracy(predictions, recorded, said.append) is predictions
    assert said[0].startswith("accuracy is not predicted: ")


def test_points_that_accuracy_is_fitted_on_leave_the_score(made: tuple[main_job.MainJob, list[str]]) -> None:
    """With lossless points alone to rest on, which all depart alike, measured ones have to serve."""
    job, _ = made
    rules = tuple(job.predictions["rule"].unique())
    grid = predictions.grid_of(job.profile, rules)
    plain = predictions.predictions_of(job.folder, job.profile, grid, ("replay",))
    fitted = predictions.predictions_with_accuracy(job.folder, job.profile, grid, ("replay",))
    assert set(plain.loc[plain["fitted"], "rule"]) == {"lossless"}
    assert fitted["fitted"].sum() > plain["fitted"].sum()
    assert fitted["accuracy"].between(0, 1).all()


def test_predictions_read_nothing_that_they_are_scored_on(
    made: tuple[main_job.MainJob, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same job predicts the same when the scored configurations are not in its folder."""
    job, _ = made
    tables = predictions.read_run(job.folder)
    held_out = set(tables.configurations.loc[tables.configurations["rule"] == "linear:0.5", "config"])
    assert held_out
    without = replace(
        tables,
        configurations=tables.configurations[~tables.configurations["config"].isin(held_out)],
        rounds=tables.rounds[~tables.rounds["config"].isin(held_out)],
        problems=tables.problems[~tables.problems["config"].isin(held_out)],
    )
    monkeypatch.setattr(predictions, "read_run", lambda _: without)
    grid = predictions.grid_of(job.profile, tuple(job.predictions["rule"].unique()))
    again = predictions.predictions_of(job.folder, job.profile, grid, main_job.PREDICTORS)
    columns = ["predictor", "steps", "rule", "throughput", "latency", "fitted"]
    assert again[columns].to_dict("records") == job.predictions[columns].to_dict("records")
