"""Where and how a pair is loaded: what the command line says reaches the models, and the run says it too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from specfrontier.errors import InputError
from specfrontier.profiling.cli import app
from specfrontier.profiling.load_options import LoadOptions

runner = CliRunner()


def test_dtype_and_compiler_reach_the_models() -> None:
    pair = LoadOptions(device="cpu", dtype="bfloat16", compile=True).load("arith-masked")
    assert next(pair.engine.verifier.network.parameters()).dtype == torch.bfloat16
    assert pair.engine.verifier.compiler == "inductor"
    assert LoadOptions(device="cpu").load("arith-masked").engine.verifier.compiler is None


def test_a_dtype_that_no_model_is_loaded_in_is_named() -> None:
    with pytest.raises(InputError, match="dtype is 'int8'; choose one of float32, bfloat16, float16"):
        LoadOptions(dtype="int8")


@pytest.mark.parametrize("option", ["device", "drafter_device"])
@pytest.mark.parametrize(
    ("device", "words"), [("gpu0", "give cpu, or a GPU"), ("cuda:99", "torch sees . CUDA devices here")]
)
def test_a_device_that_is_not_there_is_named(option: str, device: str, words: str) -> None:
    with pytest.raises(InputError, match=f"device is '?{device}.*{words}"):
        LoadOptions(**{option: device}).load("arith-masked")


def test_a_run_says_how_its_pair_was_loaded(toy_folder: Path, tmp_path: Path) -> None:
    pair = str(toy_folder / "toy-ar.toml")
    options = ["--modes", "autoregressive", "--n", "1", "--task", "arith", "--dtype", "bfloat16", "--device", "cpu"]
    result = runner.invoke(app, ["measure", pair, "--out", str(tmp_path / "run"), "--max-new-tokens", "2", *options])
    assert result.exit_code == 0, result.output
    (session,) = (tmp_path / "run" / "sessions").iterdir()
    stated = json.loads(session.read_text())["settings"]["load"]
    assert stated == {
        "device": "cpu",
        "drafter_device": None,
        "dtype": "bfloat16",
        "device_map": None,
        "compile": False,
    }
