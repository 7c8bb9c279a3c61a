"""Write trained networks as Hugging Face checkpoints: `python -m training.export --checkpoints checkpoints`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from specfrontier.decoding.networks.backbone import BackboneConfig
from training.tokenizer import build_tokenizer

WEIGHTS = Path("decoding/weights")
NAMES = {"verifier": "arith-verifier", "refined": "arith-masked", "uniform": "arith-uniform", "ar": "arith-ar"}
CAUSAL = ("verifier", "ar")


def config_json(config: BackboneConfig, causal: bool, tokenizer: Any) -> dict[str, Any]:
    """`config.json` of a checkpoint: Qwen2's for the causal models, Dream's for the diffusion drafters."""
    return {
        "architectures": ["Qwen2ForCausalLM" if causal else "DreamModel"],
        "model_type": "qwen2" if causal else "Dream",
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.num_hidden_layers,
        "num_attention_heads": config.num_attention_heads,
        "num_key_value_heads": config.num_key_value_heads,
        "rms_norm_eps": config.rms_norm_eps,
        "rope_theta": config.rope_theta,
        "max_position_embeddings": config.max_position_embeddings,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "mask_token_id": tokenizer.mask_token_id,
        "dtype": "float16",
    }


def export(name: str, checkpoints: Path, out: Path) -> Path:
    """Export one trained network in half precision, with its configuration and tokenizer."""
    saved = torch.load(checkpoints / f"{name}.pt")
    weights = {k: v.half().contiguous() for k, v in saved["network"].items() if k != "lm_head.weight"}
    tokenizer = build_tokenizer()
    folder = out / NAMES[name]
    folder.mkdir(parents=True, exist_ok=True)
    config = BackboneConfig(**saved["config"])
    (folder / "config.json").write_text(json.dumps(config_json(config, name in CAUSAL, tokenizer), indent=2) + "\n")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save_pretrained(folder)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoints", type=Path, default=Path("checkpoints"))
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    parser.add_argument("--only", choices=list(NAMES))
    arguments = parser.parse_args()
    for name in NAMES if arguments.only is None else [arguments.only]:
        print(export(name, arguments.checkpoints, arguments.out))


if __name__ == "__main__":
    main()
