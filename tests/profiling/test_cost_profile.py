"""Random weights give costs at the true size, marked so, and nothing that only real weights can say."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from specfrontier.decoding import Draft, DraftRequest, Pair, load_pair, memory
from specfrontier.decoding.causal import CausalModel
from specfrontier.errors import InputError
from specfrontier.profile import Profile
from specfrontier.profiling.cli import app
from specfrontier.profiling.cost_profile import profile_costs
from specfrontier.profiling.costs import Loop
from specfrontier.profiling.profiler import ProfileSettings, device_use

SETTINGS = ProfileSettings((1, 2), (), block_size=4, max_new_tokens=8, loop=Loop(warm_up=1, repeats=2))
runner = CliRunner()


def run(*arguments: object) -> tuple[int, str, str]:
    result = runner.invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def pair() -> Pair:
    return load_pair("arith-masked", device="cpu", random_weights=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("costs")
    options = ("--steps", "1,2", "--block-size", 8, "--n", 3, "--prompt-tokens", 16, "--random-weights")
    code, printed, errors = run("profile", "arith-masked", *options, "--out", out, "--json")
    assert code == 0, errors
    assert json.loads(printed)["random_weights"]
    return out


def test_every_cost_is_measured_and_no_distance(folder: Path) -> None:
    profile = Profile.load(folder / "profile.json")
    assert profile.random_weights
    assert "random weights" in profile.pair
    assert [e.steps for e in profile.efforts] == [1, 2]
    assert [e.forwards for e in profile.efforts] == [1, 2]
    # Two full rounds of each repetition from each context count: beginning, middle and end of an output.
    contexts = {cost.context for cost in profile.verify_costs}
    assert all(e.draft_s.n == 2 * 3 * len(contexts) for e in profile.efforts)
    assert {cost.block_size for cost in profile.verify_costs} >= {0, 1, 2, 4, 8}
    for cost in (profile.verify_cost, profile.host_s, profile.prefill_s, profile.autoregressive_s):
        assert cost.value > 0
    assert profile.draft_cost is not None
    assert profile.draft_cost.slope.value > 0
    for effort in profile.efforts:
        assert 0 < effort.host_share < 1
        assert math.isnan(effort.d_visited.value)
        assert math.isnan(effort.tokens_per_round.value)
    assert math.isnan(profile.output_tokens)


@pytest.mark.parametrize("command", [("predict",), ("recommend", "--min-agreement", "0.9")])
def test_nothing_is_predicted_from_costs_alone(folder: Path, command: tuple[str, ...]) -> None:
    code, printed, errors = run(command[0], folder, *command[1:])
    assert (code, printed) == (2, "")
    assert "holds costs and no d_K" in errors
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--thresholds", "0.5"), "leave out --thresholds"),
        (("--data", "problems.jsonl"), "leave out --data"),
        (("--allow-code-execution",), "leave out --allow-code-execution"),
        (("--n", 0), "n is 0; give an integer >= 1"),
        (("--prompt-tokens", 0), "prompt_tokens is 0; give an integer >= 1"),
        (("--prompt-tokens", 10**6), "exceed the context"),
    ],
)
def test_what_costs_alone_cannot_be_asked_is_refused(tmp_path: Path, options: tuple, words: str) -> None:
    code, printed, errors = run("profile", "arith-masked", "--random-weights", *options, "--out", tmp_path / "run")
    assert (code, printed) == (2, "")
    assert words in errors
    assert not (tmp_path / "run" / "profile.json").exists()


def test_a_folder_of_real_results_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "configurations").mkdir()
    code, _, errors = run("profile", "arith-masked", "--random-weights", "--out", tmp_path)
    assert code == 2
    assert "another folder" in errors


def test_a_pair_that_does_not_fit_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda device: memory.GIB)
    code, _, errors = run("profile", "dream-qwen2.5-32b", "--random-weights", "--device", "cpu", "--out", tmp_path)
    assert code == 2
    assert "needs about" in errors
    assert not list(tmp_path.iterdir())


def test_weights_of_its_own_and_thresholds_are_refused(masked_pair: Pair, pair: Pair) -> None:
    with pytest.raises(InputError, match="its own weights"):
        profile_costs(masked_pair, "toy", SETTINGS, repeats=1, prompt_tokens=4)
    with pytest.raises(InputError, match="depends on the text"):
        profile_costs(pair, "arith", ProfileSettings((1,), (0.5,), 4, 8), repeats=1, prompt_tokens=4)


@pytest.mark.parametrize("name", ["arith-uniform", "arith-ar", "arith-ngram"])
def test_every_embedded_family_has_costs(name: str) -> None:
    other = load_pair(name, device="cpu", random_weights=True)
    settings = ProfileSettings((1,), (), block_size=4, max_new_tokens=8, loop=Loop(warm_up=1, repeats=2))
    profile = profile_costs(other, "arith", settings, repeats=2, prompt_tokens=8)
    assert profile.draft_cost is None  # one effort makes no line
    assert profile.verify_cost.value > 0
    assert 0 < profile.host_share < 1


def test_a_drafter_that_reads_hidden_states_is_given_them(pair: Pair) -> None:
    """Its use of the device is measured on one draft, which stands on the verifier's states of the prefix."""
    seen = []

    class Reader:
        feature_layers = (0,)
        network = pair.engine.drafter.network  # type: ignore[attr-defined]

        def session(self) -> Reader:
            return self

        def draft(self, request: DraftRequest) -> Draft:
            seen.append(request.features)
            return pair.engine.drafter.session().draft(request)

    verifier = CausalModel(pair.engine.verifier.network, Reader.feature_layers)
    reading = replace(pair, engine=replace(pair.engine, verifier=verifier, drafter=Reader()))
    profile = profile_costs(pair, "arith", SETTINGS, repeats=1, prompt_tokens=6)
    used = device_use(reading, profile, pair.random_prompt(6))
    assert {"draft K=1", "draft K=2"} <= {use["name"] for use in used["forwards"]}
    assert {tuple(features.shape) for features in seen} == {(5, verifier.network.config.hidden_size)}
