"""A pair of the user's own is verified from its file, as it was profiled."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from specfrontier.errors import InputError
from specfrontier.profiling.cli import app
from specfrontier.profiling.commands.recommend import show
from specfrontier.profiling.parquet import read_frame
from specfrontier.profiling.results import as_predictions
from specfrontier.simulate import Goal, Recommendation, recommendation
from specfrontier.simulate.recommendation import Choice

GOAL = ("--min-agreement", "0.5", "--lam", "0,1")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def profiled(toy_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the toy pair, which no name stands for."""
    out = tmp_path_factory.mktemp("verify") / "run"
    short = ("--task", "arith", "--steps", "1", "--n", "2", "--max-new-tokens", "6")
    found = run("profile", toy_folder / "toy-masked.toml", *short, "--out", out, "--json")
    assert found.exit_code == 0, found.output
    return out


def test_contenders_of_a_pair_file_are_measured(profiled: Path, toy_folder: Path) -> None:
    found = run("recommend", profiled, *GOAL, "--verify", "2", "--pair", toy_folder / "toy-masked.toml", "--json")
    assert found.exit_code == 0, found.output
    answer = json.loads(found.stdout)
    assert answer["contenders"]
    assert answer["measured"]["choice"]["agreement"][0] >= 0.5


def test_what_was_verified_rests_on_its_own_problems(profiled: Path, toy_folder: Path) -> None:
    """Contenders are measured on three problems, whatever fewer the rest of the run was measured on."""
    options = ("--lam", "1", "--verify", "3", "--pair", toy_folder / "toy-masked.toml", "--json")
    assert run("recommend", profiled, "--min-agreement", "0", *options).exit_code == 0
    measured = read_frame(profiled / "measurements.parquet", "measurements")
    lenient = measured.loc[measured["rule"] == "linear:1.0", "config"]
    table, problems = as_predictions(profiled, list(lenient))
    assert (len(table), problems) == (1, 3)
    assert as_predictions(profiled)[1] == 2


def test_what_settles_accuracy_is_counted_from_its_own_measurements(
    profiled: Path, toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Accuracy is fitted on measurements of five problems; the profile's own two say nothing of its interval."""
    out = tmp_path / "run"
    shutil.copytree(profiled, out)
    shape = ("--steps", "1", "--lam", "0,1", "--block-sizes", "4", "--modes", "speculative", "--max-new-tokens", "6")
    measured = run("measure", toy_folder / "toy-masked.toml", "--task", "arith", *shape, "--n", "5", "--out", out)
    assert measured.exit_code == 0, measured.output
    asked: list[dict[str, Any]] = []

    def spy(*arguments: Any, **options: Any) -> Recommendation:
        asked.append(options)
        return real(*arguments, **options)

    real = recommendation.recommend
    monkeypatch.setattr(recommendation, "recommend", spy)
    for quality in ("accuracy", "agreement"):
        found = run("recommend", out, "--max-latency", "1e6", "--quality", quality, "--lam", "0,1")
        assert found.exit_code == 0, found.output
    assert asked == [{"problems": 2, "accuracy_problems": 5}, {"problems": 2, "accuracy_problems": None}]


def test_the_command_says_when_it_cannot_tell_how_sure_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    nan = float("nan")
    choice = Choice(1, None, "lossless", None, 4, (9.0, nan, nan), (1.0, nan, nan), (1.0, nan, nan), (nan, nan, nan))
    found = Recommendation(
        Goal("agreement", floor=0.5), choice, choice, close=True, certain=False, spread_known=False,
        problems_to_settle=None, contenders=(0, 1),
    )  # fmt: skip
    show(found)
    assert "how sure this is cannot be said" in capsys.readouterr().out
    show(replace(found, spread_known=True, problems_to_settle=7))
    said = capsys.readouterr().out
    assert "about 7 more problems would settle it" in said
    assert "cannot be said" not in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--verify", "2"], "toy-masked is not a shipped pair; give the path of its file with --pair"),
        (["--verify", "2", "--pair", "arith-masked"], "the profile is of toy-masked"),
        (["--verify", "2", "--pair", "missing.toml"], "no pair file at missing.toml"),
        (["--pair", "arith-masked"], "--pair is for what --verify measures; give --verify N too"),
        (["--data", "rows.jsonl"], "--data is for what --verify measures"),
        (["--verify", "2", "--allow-unisolated", "--pair", "toy-masked.toml"], "give --allow-code-execution as well"),
        (["--measured", "--steps", "1"], "leave --predictor, --anchors and the grid's options out"),
        (["--anchors", "linear:0.4"], "at two leniencies or more"),
        (["--anchors", "linear:0.4", "--predictor", "replay"], "is read by the predictor anchored alone"),
    ],
)
def test_what_does_not_fit_the_profiled_run_is_refused(profiled: Path, options: list[str], words: str) -> None:
    found = run("recommend", profiled, *GOAL, *options)
    assert found.exit_code == 2, found.output
    assert words in found.stderr
    assert not found.stdout.strip()


def test_another_token_limit_in_the_folder_changes_no_answer(profiled: Path, toy_folder: Path) -> None:
    """Of the profile's setting alone are what is predicted, what it is compared with, and what is chosen among."""
    grid = ("--steps", "1", "--lam", "0,1")
    here = ("--task", "arith", "--n", "3", "--modes", "speculative", *grid, "--out", profiled)
    assert run("measure", toy_folder / "toy-masked.toml", *here, "--max-new-tokens", "6").exit_code == 0
    ask = ("predict", profiled, *grid, "--predictor", "replay", "--json")
    before = json.loads(run(*ask).stdout)["rows"]
    assert run("measure", toy_folder / "toy-masked.toml", *here, "--max-new-tokens", "3").exit_code == 0
    assert json.loads(run(*ask).stdout)["rows"] == before
    measured = read_frame(profiled / "measurements.parquet", "measurements")
    assert set(measured["max_new_tokens"]) == {3, 6}
    chosen, _ = as_predictions(profiled)
    assert set(chosen["max_new_tokens"]) == {6}
    bare = profiled.parent / "bare"
    shutil.copytree(profiled, bare, ignore=shutil.ignore_patterns("profile.json"))
    with pytest.raises(InputError, match="holds measurements of several settings"):
        as_predictions(bare)


def test_contenders_are_loaded_as_the_run_was(toy_folder: Path, tmp_path: Path) -> None:
    """In bfloat16, which the folder's other results are in; else it would refuse them."""
    pair, out = toy_folder / "toy-masked.toml", tmp_path / "run"
    short = ("--task", "arith", "--steps", "1", "--n", "2", "--max-new-tokens", "6", "--dtype", "bfloat16")
    assert run("profile", pair, *short, "--out", out).exit_code == 0
    found = run("recommend", out, *GOAL, "--verify", "2", "--pair", pair)
    assert found.exit_code == 0, found.output
