"""A pair of tiny models with random weights, and a task, that run in milliseconds."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class ToyProblem:
    identifier: str
    question: str
    reference: Any


class ToyTask:
    """Problems whose prompts are words of the toy vocabulary."""

    name = "toy"

    def problems(self, n: int | None, seed: int = 0) -> list[ToyProblem]:
        return [ToyProblem(f"toy-{i}", f"w{i % 20} w{(i + 3) % 20} w{(2 * i) % 20}", i) for i in range(n or 10)]

    def prompt(self, problem: ToyProblem) -> str:
        return problem.question

    def score(self, problem: ToyProblem, text: str) -> bool:
        return len(text.split()) % 2 == 0


def _write_tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {"[PAD]": 0, "[MASK]": 1, "[EOS]": 2, "[UNK]": 3, **{f"w{i}": i + 4 for i in range(20)}}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", mask_token="[MASK]", eos_token="[EOS]", unk_token="[UNK]"
    ).save_pretrained(folder)


def _write_model(folder: Path, seed: int) -> None:
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=24,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=128,
        bos_token_id=None,
        eos_token_id=2,
        tie_word_embeddings=False,
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)
    _write_tokenizer(folder)


def _as_diffusion(source: Path, folder: Path) -> None:
    """A copy of a causal checkpoint under the name of Dream's architecture, whose tensors are alike."""
    shutil.copytree(source, folder)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "architectures": ["DreamModel"], "model_type": "Dream"}))


PAIR_FILE = """
name = "{name}"
summary = "Tiny models with random weights."
tasks = ["toy"]
block_size = 4
max_new_tokens = 12
parameters = [0.00001, 0.00001]

[verifier]
checkpoint = "{folder}/verifier"
temperature = 1.0

[drafter]
family = "{family}"
checkpoint = "{folder}/{drafter}"
temperature = 1.0
{options}

[grid]
steps = {steps}
rules = ["lossless", "linear:0.5"]
block_sizes = [2, 4]
"""


@pytest.fixture(scope="session")
def toy_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two checkpoints and the files of a masked and an autoregressive pair."""
    folder = tmp_path_factory.mktemp("pairs")
    _write_model(folder / "verifier", seed=0)
    _write_model(folder / "causal", seed=1)
    _as_diffusion(folder / "causal", folder / "drafter")
    for name, family, drafter, options, steps in (
        ("toy-masked", "masked", "drafter", 'order = "entropy"', "[1, 2]"),
        ("toy-ar", "autoregressive", "causal", "", "[1]"),
    ):
        text = PAIR_FILE.format(name=name, folder=folder, family=family, drafter=drafter, options=options, steps=steps)
        (folder / f"{name}.toml").write_text(text)
    return folder


@pytest.fixture(scope="session")
def masked_pair(toy_folder: Path) -> Any:
    from specfrontier.decoding import load_pair

    return load_pair(str(toy_folder / "toy-masked.toml"))


@pytest.fixture(scope="session")
def ar_pair(toy_folder: Path) -> Any:
    from specfrontier.decoding import load_pair

    return load_pair(str(toy_folder / "toy-ar.toml"))


@pytest.fixture(scope="session")
def task() -> ToyTask:
    return ToyTask()
