"""A tiny random checkpoint of every drafter family, as a folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tiny_checkpoints import SHAPE, TOKENIZER, VOCAB, qwen3_checkpoint, write_checkpoint
from tiny_families import filled
from torch import nn
from transformers import DiffusionGemmaConfig, DiffusionGemmaForBlockDiffusion, Qwen3Config, Qwen3ForCausalLM

from specfrontier.decoding.networks.adapter import AdaptedBackbone
from specfrontier.decoding.networks.backbone import Backbone, BackboneConfig
from specfrontier.decoding.networks.dspark import DSparkConfig, DSparkNetwork
from specfrontier.decoding.networks.feature_backbone import FeatureBackbone

LORA = {"r": 2, "lora_alpha": 4, "target_modules": ["q_proj", "down_proj"]}
GEMMA = {
    **{name: value for name, value in SHAPE.items() if name != "rope_theta"},
    "global_head_dim": 8,
    "num_global_key_value_heads": 1,
    "sliding_window": 4,
    "num_experts": 2,
    "top_k_experts": 1,
    "moe_intermediate_size": 8,
}
IDS = torch.tensor([0, 2, 5, VOCAB - 1])
"""The draft vocabulary of drafters with a reduced head."""
SHARING: dict[str, dict[str, Any]] = {
    "autoregressive": {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]},
    "anchored-diffusion": {"architectures": ["AnchoredDiffusionModel"], "block_size": 4, "mask_token_id": 3},
    "dflash": {
        "architectures": ["DFlashDraftModel"],
        "block_size": 4,
        "qk_norm": False,
        "dflash_config": {"mask_token_id": 3, "target_layer_ids": [0, 1]},
    },
}
"""Configurations of drafters on top of a verifier, whose checkpoints hold neither embedding nor head."""


def backbone(qk_norm: bool) -> nn.Module:
    return filled(Backbone(BackboneConfig.from_json(SHAPE, attention_bias=not qk_norm, qk_norm=qk_norm)))


def dream(folder: Path) -> Path:
    config = {**SHAPE, "model_type": "Dream", "architectures": ["DreamModel"], "mask_token_id": 3}
    return write_checkpoint(folder, config, backbone(False))


def sdar(folder: Path) -> Path:
    config = {**SHAPE, "architectures": ["SDARForCausalLM"], "mask_token_id": 3, "block_size": 4}
    return write_checkpoint(folder, config, backbone(True))


def dflash(folder: Path) -> Path:
    config = {**SHAPE, "architectures": ["DFlashDraftModel"], "block_size": 4, "model_type": "qwen3"}
    config["dflash_config"] = {"mask_token_id": 3, "target_layer_ids": [0, 1]}
    network = FeatureBackbone(BackboneConfig.from_json(SHAPE, attention_bias=False, qk_norm=True), 2)
    return write_checkpoint(folder, config, filled(network), tokenizer=False)


def dspark(folder: Path) -> Path:
    config = {**SHAPE, "architectures": ["Qwen3DSparkModel"], "block_size": 4, "mask_token_id": 3}
    config |= {"target_layer_ids": [0, 1], "markov_rank": 2, "model_type": "qwen3"}
    config |= {"enable_confidence_head": True, "confidence_head_with_markov": True}
    return write_checkpoint(folder, config, filled(DSparkNetwork(DSparkConfig.from_json(config))), tokenizer=False)


def uno(folder: Path) -> Path:
    qwen3_checkpoint(folder, "sdar")
    network = AdaptedBackbone(backbone(True), LORA)
    (folder / "adapter").mkdir()
    (folder / "adapter" / "adapter_config.json").write_text(json.dumps(LORA))
    tensors = {n: torch.randn(network.get_parameter(ours).shape) for n, ours in network.adapter_names().items()}
    save_file(tensors, folder / "adapter" / "adapter_model.safetensors")
    return folder


def diffusion_gemma(folder: Path) -> Path:
    config = DiffusionGemmaConfig(text_config=GEMMA, vision_config=None, canvas_length=4)
    filled(DiffusionGemmaForBlockDiffusion(config)).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(TOKENIZER / name, folder / name)
    return folder


def sharing(folder: Path, family: str, ids: torch.Tensor | None = IDS, **change: Any) -> Path:
    """A drafter of a family of `SHARING`; `ids` is its draft vocabulary, None the whole one."""
    config = {**SHAPE, **SHARING[family], "shares_embedding": True, "tie_word_embeddings": True, **change}
    shape = BackboneConfig.from_json({**config, **SHAPE}, attention_bias=False, qk_norm=False)
    networks: dict[str, nn.Module] = {
        "autoregressive": Qwen3ForCausalLM(Qwen3Config(**SHAPE)),
        "anchored-diffusion": Backbone(shape),
        "dflash": FeatureBackbone(shape, 2),
    }
    state = filled(networks[family], 9).state_dict()
    own = {n: t.contiguous() for n, t in state.items() if "embed" not in n and "lm_head" not in n}
    if ids is not None:
        config = {"draft_vocab_size": len(ids), **config}
        own["draft_head.ids" if family == "dflash" else "lm_head.ids"] = ids.to(torch.int32)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    save_file(own, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


FAMILIES: dict[str, Callable[[Path], Path]] = {
    "masked": dream,
    "uniform": dream,
    "block-diffusion": sdar,
    "anchored-diffusion": lambda folder: sharing(folder, "anchored-diffusion"),
    "dflash": dflash,
    "dspark": dspark,
    "uno": uno,
    "diffusion-gemma": diffusion_gemma,
    "autoregressive": qwen3_checkpoint,
}
"""How each family's checkpoint is written into a folder that is not there yet."""
