"""Write SmolLM2's trained drafters as checkpoints: `python -m training.smollm2_export --data gsm8k_train.jsonl`.

A checkpoint holds the layers in float16, the ids of the draft vocabulary and a model card; embedding and head are the
verifier's.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from training.sampled_softmax import SampledHead
from training.smollm2 import BLOCK_SIZE, DRAFTS, MASK_ID, STAGES, initial, overlap_by_slot
from training.verifier_text import BATCH_SIZE as HELD_OUT, FEATURE_LAYERS, TEMPERATURE, Sequence, load, verifier

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
        "block_size": STAGES["dflash"].block_size,
        "qk_norm": False,
        "dflash_config": {"target_layer_ids": list(FEATURE_LAYERS), "mask_token_id": MASK_ID},
    },
}


CARD = """# smollm2-{name}

A drafter of SmolLM2-135M-Instruct (Apache-2.0; its embedding and head are used and not stored here). It is
{what}. It was made to measure speculative decoding with, not to write text by itself.

- Trained by `python -m training.smollm2 {name}`: {steps} steps of {texts} texts, distillation of the verifier's law at
  temperature {temperature}, from layers {layers} of the verifier.
- Text: the verifier's answers to {sequences} of GSM8K's training questions, {tokens} tokens; the first
  {held_out} are held out.
- It may propose {vocabulary} of the 49,152 tokens: those of GSM8K's training file and of that text.
- Overlap with the verifier, the mean of sum min(p, q) at temperature {temperature} on the held-out texts, by position
  of the block: {overlap}. Rates measured in decoding stand in `docs/smollm2.md`.
- Limits: English word problems only; far less training than published drafters have had.
"""
WHAT = {
    "ar": "a causal model of two layers",
    "block": "two layers that fill the masked positions of a block, after a causal prefix",
    "dflash": "one layer that fills a block in one pass, given five of the verifier's hidden states of the prefix",
}


def draft_vocabulary(tokenizer: PreTrainedTokenizerBase, data: Path, pool: list[Sequence]) -> Tensor:
    """Ids, sorted, of every token in GSM8K's training file, and of every one that the verifier wrote."""
    rows = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]
    texts = [text for row in rows for text in (row["question"], row["answer"])]
    found = {i for ids in tokenizer(texts, add_special_tokens=False)["input_ids"] for i in ids}
    found.update(i for s in pool for i in s.ids.tolist())
    return torch.tensor(sorted(found - {MASK_ID}))


def model_card(name: str, saved: dict[str, Any], model: PreTrainedModel, pool: list[Sequence], size: int) -> str:
    """What a user should know, with the overlap on held-out texts computed here."""
    network = initial(name, model, saved["layers"])
    network.load_state_dict(saved["network"], strict=False)
    head = SampledHead(model.get_output_embeddings().weight.detach(), torch.cat([s.ids for s in pool]), TEMPERATURE)
    overlap = overlap_by_slot(network, DRAFTS[name], head, pool[:HELD_OUT])
    return CARD.format(
        name=name,
        what=WHAT[name],
        steps=saved["step"],
        texts=STAGES[name].batch_size,
        temperature=TEMPERATURE,
        layers=list(saved["layers"]),
        sequences=len(pool),
        tokens=sum(len(s.ids) - s.prompt_length for s in pool),
        held_out=HELD_OUT,
        vocabulary=size,
        overlap=", ".join(f"{x:.3f}" for x in overlap.tolist()),
    )


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


def export(name: str, saved: dict[str, Any], vocabulary: Tensor, card: str, out: Path) -> Path:
    """Export one drafter."""
    weights = {key: value.half().contiguous() for key, value in saved["network"].items()}
    weights["draft_head.ids" if name == "dflash" else "lm_head.ids"] = vocabulary.to(torch.int32)
    folder = out / f"smollm2-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    table = config_json(name, saved["config"], len(vocabulary))
    (folder / "config.json").write_text(json.dumps(table, indent=2) + "\n")
    (folder / "README.md").write_text(card)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoints", type=Path, default=Path("checkpoints/smollm2"))
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    parser.add_argument("--data", type=Path, required=True, help="gsm8k_train.jsonl")
    arguments = parser.parse_args()
    model, tokenizer = verifier()
    pool = [s for path in sorted((arguments.checkpoints / "text").glob("*.safetensors")) for s in load(path)]
    vocabulary = draft_vocabulary(tokenizer, arguments.data, pool)
    for name in KINDS:
        saved = torch.load(arguments.checkpoints / f"{name}.pt")
        card = model_card(name, saved, model, pool, len(vocabulary))
        folder = export(name, saved, vocabulary, card, arguments.out)
        print(folder, sum(t.nbytes for t in load_file(folder / "model.safetensors").values()), "bytes")


if __name__ == "__main__":
    main()
