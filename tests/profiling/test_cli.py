"""Bad input gets one clear line and exit code 2; what comes out is what machines can read."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner, Result

from specfrontier.profiling.cli import app
from specfrontier.profiling.commands import measure as measure_command
from specfrontier.profiling.grid import SweepGrid
from specfrontier.profiling.scale_out import SweepJob
from specfrontier.profiling.store import Store
from specfrontier.schema import MEASUREMENTS

runner = CliRunner()


def run(*arguments: object) -> Result:
    return runner.invoke(app, [str(argument) for argument in arguments])


def assert_one_line(result: Result, words: str) -> None:
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if line.startswith("specfrontier: ")]
    assert len(lines) == 1, result.stderr
    assert words in lines[0]
    assert "Traceback" not in result.stderr
    assert not result.stdout.strip()


@pytest.fixture
def pair(toy_folder: Path) -> Path:
    return toy_folder / "toy-masked.toml"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--steps", "0"], "steps (K) is 0; give an integer >= 1"),
        (["--block-size", "0"], "block_size (B) is 0; give an integer >= 1"),
        (["--lam", "1.5"], "lambda is 1.5; give a number in [0, 1]"),
        (["--lam", "-0.1"], "lambda is -0.1; give a number in [0, 1]"),
        (["--threshold", "2"], "threshold (tau) is 2.0; give a number in (0, 1]"),
        (["--max-new-tokens", "0"], "max_new_tokens is 0; give an integer >= 1"),
        (["--verification", "wrong"], "verification is 'wrong'; choose paper or exact"),
        (["--rule", "nonsense"], "unknown acceptance rule 'nonsense'"),
        (["--rule", "lossless", "--lam", "0.5"], "both --rule and --lam"),
    ],
)
def test_a_dial_out_of_range_is_named(pair: Path, options: list[str], words: str) -> None:
    assert_one_line(run("generate", pair, "w1 w2", *options), words)


@pytest.mark.parametrize("prompt", ["", "   "])
def test_an_empty_prompt_is_refused(pair: Path, prompt: str) -> None:
    assert_one_line(run("generate", pair, prompt), "the prompt is empty")


def test_an_unknown_pair_is_answered_with_the_known_ones() -> None:
    assert_one_line(run("generate", "nobody", "hello"), "unknown pair 'nobody'; choose one of arith-ar")
    assert_one_line(run("measure", "nobody.toml", "--out", "x"), "no pair file at nobody.toml")


def test_differing_vocabularies_are_an_error(toy_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(toy_folder / "drafter", tmp_path / "drafter")
    tokenizer = tmp_path / "drafter" / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace('"w7"', '"x7"'))
    text = (toy_folder / "toy-masked.toml").read_text()
    file = tmp_path / "differing.toml"
    file.write_text(text.replace(str(toy_folder / "drafter"), str(tmp_path / "drafter")))
    assert_one_line(run("generate", file, "w1"), "tokenizers differ")


@pytest.mark.parametrize("model", ["verifier", "drafter"])
def test_truncated_weights_are_an_error(toy_folder: Path, tmp_path: Path, model: str) -> None:
    shutil.copytree(toy_folder / model, tmp_path / model)
    weights = tmp_path / model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    file = tmp_path / "truncated.toml"
    text = (toy_folder / "toy-masked.toml").read_text()
    file.write_text(text.replace(str(toy_folder / model), str(tmp_path / model)))
    assert_one_line(run("generate", file, "w1"), str(tmp_path / model))


@pytest.mark.parametrize("command", ["measure", "profile"])
def test_an_output_folder_that_cannot_be_written_is_said_before_anything_is_loaded(command: str) -> None:
    assert_one_line(run(command, "arith-masked", "--out", "/proc/nowhere"), "cannot write to /proc/nowhere")


def test_an_output_folder_that_is_a_file_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("precious")
    assert_one_line(run("measure", "arith-masked", "--out", file), "is a file; give a folder")
    assert file.read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--steps", "one"], "steps (K) is 'one'; give an integer"),
        (["--lam", "0,2"], "lambda is 2; give a number in [0, 1]"),
        (["--modes", "magic"], "mode is 'magic'; choose among"),
        (["--task", "nothing"], "unknown task 'nothing'"),
        (["--n", "0"], "n is 0; give an integer >= 1"),
        (["--lam", "nan"], "lambda is nan; give a number in [0, 1]"),
        (["--thresholds", "nan"], "threshold (tau) is nan"),
        (["--thresholds", "-0.5"], "threshold (tau) is -0.5"),
        (["--steps", "-1"], "steps (K) is -1"),
        (["--steps", ","], "steps (K) is empty"),
        (["--block-sizes", "0"], "block_size (B) is 0"),
        (["--seeds", "-1"], "seed is -1"),
        (["--rules", "linear:nan"], "linear"),
        (["--rules", "clip:inf"], "clip"),
        (["--rules", "magic:1"], "magic"),
        (["--rules", "linear:1@3-1/lossless"], "linear:1@3-1"),
        (["--max-new-tokens", "-5"], "max_new_tokens is -5"),
        (["--verification", "sloppy"], "verification is 'sloppy'"),
        (["--grid", "missing.toml"], "no grid file at missing.toml"),
        (["--seeds", str(2**63)], f"seed is {2**63}; give an integer <= {2**63 - 1}"),
        (["--steps", str(10**20)], f"steps (K) is {10**20}; give an integer <= 16777216"),
        (["--block-sizes", str(10**20)], f"block_size (B) is {10**20}; give an integer <= 16777216"),
        (["--max-new-tokens", str(10**20)], f"max_new_tokens is {10**20}; give an integer <= 16777216"),
        (["--n", str(10**20)], f"n is {10**20}; give an integer <= 16777216"),
        (["--workers", "0"], "workers is 0; give an integer >= 1"),
        (["--workers", "-1"], "workers is -1; give an integer >= 1"),
        (["--ray-address", "127.0.0.1:1"], "cannot reach Ray at 127.0.0.1:1: connection refused"),
    ],
)
def test_a_bad_grid_is_named(tmp_path: Path, arguments: list[str], words: str) -> None:
    assert_one_line(run("measure", "arith-masked", "--out", tmp_path / "run", *arguments), words)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("seed", [-1, 2**63, 2**70])
@pytest.mark.parametrize("command", [["generate", "arith-masked", "hello"], ["predict", "nowhere"]])
def test_a_seed_that_no_generator_takes_is_named(command: list[str], seed: int) -> None:
    bound = ">= 0" if seed < 0 else f"<= {2**63 - 1}"
    assert_one_line(run(*command, "--seed", seed), f"seed is {seed}; give an integer {bound}")


FILE_GRID = """
steps = [3]
thresholds = [0.5]
rules = ["clip:2.0"]
block_sizes = [7]
max_new_tokens = 11
seeds = [4, 5]
verifications = ["exact"]
modes = ["speculative"]
"""
WHOLE = SweepGrid((3,), (0.5,), ("clip:2.0",), (7,), 11, (4, 5), ("exact",), ("speculative",))
FLAGS: dict[str, tuple[str, str, object]] = {
    "steps": ("--steps", "1,2", (1, 2)),
    "thresholds": ("--thresholds", "0.9", (0.9,)),
    "rules": ("--rules", "lossless", ("lossless",)),
    "block_sizes": ("--block-sizes", "8", (8,)),
    "max_new_tokens": ("--max-new-tokens", "12", 12),
    "seeds": ("--seeds", "0", (0,)),
    "verifications": ("--verification", "paper", ("paper",)),
    "modes": ("--modes", "drafter", ("drafter",)),
}


@pytest.fixture
def swept(monkeypatch: pytest.MonkeyPatch) -> list[tuple[SweepJob, SweepGrid]]:
    """What `measure` would sweep, instead of the sweep."""
    found: list[tuple[SweepJob, SweepGrid]] = []

    def note(job: SweepJob, grid: SweepGrid) -> None:
        found.append((job, grid))
        raise typer.Exit

    monkeypatch.setattr(measure_command, "_here", note)
    return found


def test_every_value_of_a_grid_file_is_used(tmp_path: Path, swept: list[tuple[SweepJob, SweepGrid]]) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(FILE_GRID)
    assert run("measure", "arith-masked", "--grid", file, "--out", tmp_path / "run").exit_code == 0
    ((job, grid),) = swept
    assert grid == WHOLE
    assert {c.seed for c in job.configurations} == {4, 5}
    assert job.seed == 4


@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_wins_over_the_grid_file(name: str, tmp_path: Path, swept: list[tuple[SweepJob, SweepGrid]]) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(FILE_GRID)
    option, text, value = FLAGS[name]
    assert run("measure", "arith-masked", "--grid", file, "--out", tmp_path / "run", option, text).exit_code == 0
    ((_, grid),) = swept
    assert getattr(grid, name) == value
    # An effort given alone replaces both kinds of effort; all else stays as the file has it.
    others = set(FLAGS) - {name} - ({"steps", "thresholds"} if name in ("steps", "thresholds") else set())
    assert all(getattr(grid, other) == getattr(WHOLE, other) for other in others)


def test_without_file_and_flags_there_is_one_seed(tmp_path: Path, swept: list[tuple[SweepJob, SweepGrid]]) -> None:
    assert run("measure", "arith-masked", "--out", tmp_path / "run").exit_code == 0
    assert swept[0][1].seeds == (0,)


def test_a_grid_file_with_an_unknown_key_or_a_wrong_value_is_refused(tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    for text, words in (
        ("step = [1]", "unknown key 'step'"),
        ('steps = ["a"]', "give a list of integers"),
        ("steps = [true]", "give a list of integers"),
        ("steps = []", "give a list of integers"),
        ("steps = [0]", "give a list of integers"),
        ("seeds = [-1]", "give a list of integers"),
        ("thresholds = [nan]", "give a list of numbers"),
        ("thresholds = []", "give at least one value"),
        ("rules = []", "give at least one value"),
        ('rules = "lossless"', "give a list of strings"),
        ("modes = [1]", "give a list of strings"),
        ("max_new_tokens = true", "give an integer"),
        ("max_new_tokens = 1.5", "give an integer"),
        ("steps = [1", "is not valid TOML"),
    ):
        grid.write_text(text)
        assert_one_line(run("measure", "arith-masked", "--out", tmp_path / "run", "--grid", grid), words)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["predict"], "no profile at"),
        (["compare"], "no measurements in"),
        (["export", "--out", "x"], "no run at"),
    ],
)
def test_a_folder_without_results_says_how_to_make_them(tmp_path: Path, command: list[str], words: str) -> None:
    assert_one_line(run(command[0], tmp_path / "nowhere", *command[1:]), words)


def test_pairs_are_listed_as_json() -> None:
    result = run("pairs", "--json")
    names = [pair["name"] for pair in json.loads(result.stdout)["pairs"]]
    assert {"arith-masked", "arith-uniform", "arith-ar"} <= set(names)


def test_rows_that_differ_in_nothing_else_say_their_seed_and_verification(capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.DataFrame({column.name: [None] * 4 for column in MEASUREMENTS})
    table = table.assign(mode="speculative", steps=2, rule="lossless", block_size=8, pair="p", n=1)
    table = table.assign(seed=[0, 0, 1, 1], verification=["paper", "exact"] * 2, throughput=[1.0, 2.0, 3.0, 4.0])
    measure_command.show(table)
    shown = " ".join(capsys.readouterr().out.split())
    for label in ("verification paper, seed 0", "verification exact, seed 1"):
        assert f"K=2 B=8 lossless, {label}" in shown
    assert "pair p" not in shown


def test_a_measurement_goes_from_grid_to_csv(tmp_path: Path) -> None:
    """The embedded pair, two problems: measure, then profile, predict, compare and export in one folder."""
    out = tmp_path / "run"
    grid = ("--steps", "1,2", "--lam", "0,1", "--n", "2", "--max-new-tokens", "6", "--modes", "speculative")
    measured = run("measure", "arith-masked", *grid, "--out", out, "--json")
    assert measured.exit_code == 0, measured.output
    report = json.loads(measured.stdout)
    assert (report["measured"], report["reused"], report["failed"]) == (8, 0, {})
    assert {row["rule"] for row in report["rows"]} == {"lossless", "linear:1.0"}
    again = json.loads(run("measure", "arith-masked", *grid, "--out", out, "--json").stdout)
    assert (again["measured"], again["reused"]) == (0, 8)

    short = ("--steps", "1,2", "--n", "2", "--max-new-tokens", "6")
    profiled = run("profile", "arith-masked", *short, "--out", out, "--json")
    assert profiled.exit_code == 0, profiled.output
    assert [effort["steps"] for effort in json.loads(profiled.stdout)["efforts"]] == [1, 2]

    predicted = run("predict", out, "--lam", "0,1", "--out", out, "--json")
    assert predicted.exit_code == 0, predicted.output
    assert {row["predictor"] for row in json.loads(predicted.stdout)["rows"]} == {"replay", "closed-form"}

    compared = run("compare", out, "--out", out, "--json")
    assert compared.exit_code == 0, compared.output
    assert json.loads(compared.stdout)["table"]
    assert (out / "comparison.json").is_file()

    anchored = run("predict", out, "--lam", "0,0.5", "--predictor", "anchored", "--anchors", "linear:1.0", "--json")
    assert anchored.exit_code == 0, anchored.output
    assert {(row["rule"], row["fitted"]) for row in json.loads(anchored.stdout)["rows"]} == {
        ("lossless", True),
        ("linear:0.5", False),
    }

    # What failed in an earlier session is tried again by whoever cannot do without it.
    for note in (out / "configurations").iterdir():
        Store(out).mark_failed(note.stem, "RuntimeError: out of memory")
    verified = run("recommend", out, "--min-agreement", "0.9", "--lam", "0,1", "--verify", "2", "--json")
    assert verified.exit_code == 0, verified.output
    answer = json.loads(verified.stdout)
    assert answer["contenders"]
    assert answer["measured"]["choice"]["agreement"][0] >= 0.9

    exported = run("export", out, "--out", tmp_path / "csv", "--json")
    names = [Path(file).name for file in json.loads(exported.stdout)["files"]]
    assert names == ["configurations.csv", "problems.csv", "rounds.csv", "divergence.csv"]
    distances = pd.read_csv(tmp_path / "csv" / "divergence.csv").set_index(["steps", "rule"])
    # Full leniency visits every position, on the draft's own prefixes: the two estimators are then one.
    full = distances.loc[(1, "linear:1.0")]
    assert full["d_visited"] == pytest.approx(full["d_block"])
    assert 0 < distances.loc[(1, "lossless"), "d_visited"] < 1


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], {"torch", "transformers", "pandas", "matplotlib", "scipy"}),
        (["measure", "--help"], {"torch", "transformers", "pandas", "matplotlib", "scipy"}),
        (["figures", "table1", "--formats", "svg", "--out", "figures"], {"torch", "transformers"}),
        (["pairs", "--json"], {"transformers", "pandas", "matplotlib", "scipy"}),  # torch knows what memory a GPU has
    ],
)
def test_a_command_loads_no_package_that_it_has_no_use_for(
    arguments: list[str], heavy: set[str], tmp_path: Path
) -> None:
    code = (
        "import sys\nfrom specfrontier.profiling.cli import app\n"
        f"try:\n    app({arguments!r})\nexcept SystemExit as end:\n    assert end.code == 0, end\n"
        f"loaded = {heavy!r} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, cwd=tmp_path)


def test_what_a_configuration_measured_before_it_failed_is_marked(tmp_path: Path) -> None:
    """It has results of fewer problems than the others, perhaps of the easier ones."""
    options = ("--steps", "1,2", "--rules", "lossless", "--modes", "speculative", "--max-new-tokens", "6")
    sweep = ("measure", "arith-masked", "--out", tmp_path / "run", "--device", "cpu", *options)
    rows = json.loads(run(*sweep, "--n", "1", "--json").stdout)["rows"]
    assert [row["status"] for row in rows] == ["done", "done"]
    Store(tmp_path / "run").mark_failed(rows[0]["config"], "MemoryError")
    again = run(*sweep, "--n", "2").stdout.splitlines()
    (marked,) = [line for line in again if "K=1 B=32 lossless (failed)" in line]
    assert marked.split("│")[2].strip() == "1"
    (whole,) = [line for line in again if "K=2 B=32 lossless" in line]
    assert "(failed)" not in whole
    assert "failed: K=1 lossless B=32: MemoryError" in again
    rows = json.loads(run(*sweep, "--n", "2", "--json").stdout)["rows"]
    assert [(row["n"], row["status"]) for row in rows] == [(1, "failed"), (2, "done")]


@pytest.mark.parametrize("output", [[], ["--json"]])
def test_a_sweep_that_measured_nothing_is_no_success(tmp_path: Path, output: list[str]) -> None:
    options = ["--steps", "1", "--rules", "lossless", "--n", "1", "--max-new-tokens", "100000", "--device", "cpu"]
    result = run("measure", "arith-masked", "--out", tmp_path / "run", *options, *output)
    assert result.exit_code == 1
    assert "exceed the context" in result.stdout.replace("\n", " ")
