"""Write SmolLM2's trained drafters as checkpoints: `python -m training.smollm2_export`.

A checkpoint holds the layers in float16 and the ids of the draft vocabulary; embedding and head are the verifier's.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from training.smollm2 import BLOCK_SIZE, MASK_ID
from training.verifier_text import FEATURE_LAYERS, load

WEIGHTS = Path("decoding/weights")
KINDS: dict[str, dict[str, Any]] = {
    "ar": {"architectures": ["LlamaForCausalLM"], "model_type": "llama"},
    "block": {
        "architectures": ["AnchoredDiffusionModel"],
        "model_type": "anchored_diffusion",
        "block_size": BLOCK_SIZE,
        "mask_token_id": MASK_ID,
    },
    "dflash": {
        "architectures": ["DFlashDraftModel"],
        "model_type": "dflash",
        "block_size": BLOCK_SIZE,
        "qk_norm": False,
        "dflash_config": {"target_layer_ids": list(FEATURE_LAYERS), "mask_token_id": MASK_ID},
    },
}


def draft_vocabulary(text: Path) -> Tensor:
    """Ids, sorted, of every token that the verifier wrote or was asked in the training text."""
    counts = Counter(i for path in sorted(text.glob("*.safetensors")) for s in load(path) for i in s.ids.tolist())
    return torch.tensor(sorted(set(counts) - {MASK_ID}))


def config_json(name: str, config: dict[str, Any], draft_vocab_size: int) -> dict[str, Any]:
    """`config.json` of a drafter."""
    shape = (
        "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "head_dim", "rms_norm_eps", "rope_theta", "max_position_embeddings",
    )  # fmt: skip
    return {
        **KINDS[name],
        **{key: config[key] for key in shape},
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 2,
        "shares_embedding": True,
        "draft_vocab_size": draft_vocab_size,
        "dtype": "float16",
    }


def export(name: str, checkpoints: Path, vocabulary: Tensor, out: Path) -> Path:
    """Export one drafter."""
    saved = torch.load(checkpoints / f"{name}.pt")
    weights = {key: value.half().contiguous() for key, value in saved["network"].items()}
    weights["draft_head.ids" if name == "dflash" else "lm_head.ids"] = vocabulary.to(torch.int32)
    folder = out / f"smollm2-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    table = config_json(name, saved["config"], len(vocabulary))
    (folder / "config.json").write_text(json.dumps(table, indent=2) + "\n")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoints", type=Path, default=Path("checkpoints/smollm2"))
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    arguments = parser.parse_args()
    vocabulary = draft_vocabulary(arguments.checkpoints / "text")
    for name in KINDS:
        if (arguments.checkpoints / f"{name}.pt").exists():
            folder = export(name, arguments.checkpoints, vocabulary, arguments.out)
            print(folder, sum(t.numel() for t in load_file(folder / "model.safetensors").values()))


if __name__ == "__main__":
    main()
