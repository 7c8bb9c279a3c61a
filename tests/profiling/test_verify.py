"""A pair of the user's own is verified from its file, as it was profiled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from specfrontier.profiling.cli import app
from specfrontier.profiling.parquet import read_frame
from specfrontier.profiling.results import as_predictions

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


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--verify", "2"], "toy-masked is not a shipped pair; give the path of its file with --pair"),
        (["--verify", "2", "--pair", "arith-masked"], "the profile is of toy-masked"),
        (["--verify", "2", "--pair", "missing.toml"], "no pair file at missing.toml"),
        (["--pair", "arith-masked"], "give --verify N too"),
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
