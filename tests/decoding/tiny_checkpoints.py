"""Tiny checkpoints in folders, and pair files that name them."""

from __future__ import annotations

import json
import shutil
from importlib import resources
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from tiny_families import filled
from torch import nn
from transformers import Qwen3Config, Qwen3ForCausalLM

TOKENIZER = Path(str(resources.files("specfrontier.decoding"))) / "weights" / "arith-verifier"
VOCAB = json.loads((TOKENIZER / "config.json").read_text())["vocab_size"]
SHAPE: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "max_position_embeddings": 96,
    "rope_theta": 10_000.0,
    "rms_norm_eps": 1e-6,
}


def write_checkpoint(folder: Path, config: dict[str, Any], network: nn.Module, tokenizer: bool = True) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    state = {name: tensor.contiguous().clone() for name, tensor in network.state_dict().items()}
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    for name in ("tokenizer.json", "tokenizer_config.json") if tokenizer else ():
        shutil.copy(TOKENIZER / name, folder / name)
    return folder


def qwen3_checkpoint(folder: Path, model_type: str = "qwen3", **change: Any) -> Path:
    shape = {**SHAPE, **change}
    names = {"qwen3": "Qwen3ForCausalLM", "sdar": "SDARForCausalLM"}
    config = {**shape, "model_type": model_type, "architectures": [names[model_type]], "mask_token_id": 3}
    return write_checkpoint(folder, config, filled(Qwen3ForCausalLM(Qwen3Config(**shape))))


def pair_file(
    tmp_path: Path, family: str, drafter: Path | str, verifier: Path | str | None = None, extra: str = ""
) -> str:
    verifier = verifier or (drafter if family == "uno" else qwen3_checkpoint(tmp_path / "verifier"))
    text = f"""
name = "tiny"
summary = "tiny"
block_size = 4
max_new_tokens = 12

[verifier]
checkpoint = "{verifier}"

[drafter]
family = "{family}"
checkpoint = "{drafter}"
{extra}
"""
    path = tmp_path / "tiny.toml"
    path.write_text(text)
    return str(path)
