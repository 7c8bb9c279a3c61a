"""Every drafter family on a tiny random model, with a verifier that it can draft for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from named_weights import named_weights
from torch import nn
from transformers import (
    DiffusionGemmaConfig,
    DiffusionGemmaForBlockDiffusion,
    Gemma4ForCausalLM,
    Gemma4TextConfig,
    PreTrainedModel,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from specfrontier.decoding.causal import CausalModel
from specfrontier.decoding.drafters.anchored import AnchoredDrafter
from specfrontier.decoding.drafters.autoregressive import AutoregressiveDrafter
from specfrontier.decoding.drafters.base import Drafter
from specfrontier.decoding.drafters.block_diffusion import BlockDiffusionDrafter
from specfrontier.decoding.drafters.dflash import DFlashDrafter
from specfrontier.decoding.drafters.diffusion_gemma import DiffusionGemmaDrafter
from specfrontier.decoding.drafters.dspark import DSparkDrafter
from specfrontier.decoding.drafters.masked import MaskedDrafter, Unmasking
from specfrontier.decoding.drafters.ngram import NgramDrafter
from specfrontier.decoding.drafters.uniform import UniformDrafter
from specfrontier.decoding.drafters.uno import UnoDrafter
from specfrontier.decoding.engine import Engine
from specfrontier.decoding.materialize import fill
from specfrontier.decoding.networks.adapter import AdaptedBackbone
from specfrontier.decoding.networks.backbone import Backbone, BackboneConfig
from specfrontier.decoding.networks.dspark import DSparkConfig, DSparkNetwork
from specfrontier.decoding.networks.feature_backbone import FeatureBackbone
from specfrontier.decoding.sampling import Sampling

V, MASK, BLOCK = 5, 5, 4
SHAPE: dict[str, Any] = {
    "vocab_size": V + 1,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10_000.0,
}
GEMMA: dict[str, Any] = {
    **{name: value for name, value in SHAPE.items() if name != "rope_theta"},
    "global_head_dim": 8,
    "num_global_key_value_heads": 1,
    "sliding_window": 4,
    "layer_types": ["sliding_attention", "full_attention"],
    "hidden_size_per_layer_input": 0,
    "num_kv_shared_layers": 0,
}
LORA = {"r": 4, "lora_alpha": 16, "target_modules": ["q_proj", "v_proj", "up_proj"]}
LAYERS = (0,)


def filled(network: nn.Module, seed: int = 0) -> Any:
    """Weights wide enough for laws that are far from uniform, and different for every name and seed."""
    torch.manual_seed(seed)
    for name, parameter in network.named_parameters():
        spread = 1.0 if "embed" in name or "lm_head" in name else 0.4
        torch.nn.init.normal_(parameter, mean=float("norm" in name), std=0.2 if "norm" in name else spread)
    return network.eval().requires_grad_(False)


def qwen3(depth: int = 2, seed: int = 1) -> PreTrainedModel:
    config = Qwen3Config(**{**SHAPE, "num_hidden_layers": depth, "attn_implementation": "sdpa"})
    return filled(Qwen3ForCausalLM(config), seed)


def gemma4(seed: int = 1) -> PreTrainedModel:
    # Untied, as a tied head of a shallow network repeats the last token for ever.
    return filled(Gemma4ForCausalLM(Gemma4TextConfig(**GEMMA, tie_word_embeddings=False)), seed)


def diffusion_gemma(seed: int = 2, canvas: int = BLOCK) -> DiffusionGemmaForBlockDiffusion:
    experts = {"num_experts": 2, "top_k_experts": 1, "moe_intermediate_size": 8}
    text = {**GEMMA, **experts}
    config = DiffusionGemmaConfig(text_config=text, vision_config=None, canvas_length=canvas)
    return filled(DiffusionGemmaForBlockDiffusion(config), seed)


def _backbone(qk_norm: bool) -> Backbone:
    config = BackboneConfig.from_json(SHAPE, attention_bias=not qk_norm, qk_norm=qk_norm)
    return filled(Backbone(config), 3)


def _masked(sampling: Sampling, verifier: PreTrainedModel, **unmasking: Any) -> Drafter:
    return MaskedDrafter(
        _backbone(False), mask_id=MASK, vocab_size=V, sampling=sampling, unmasking=Unmasking(**unmasking)
    )


def _block_diffusion(sampling: Sampling, verifier: PreTrainedModel) -> Drafter:
    return BlockDiffusionDrafter(
        _backbone(True),
        block_size=BLOCK,
        mask_id=MASK,
        vocab_size=V,
        sampling=sampling,
        unmasking=Unmasking(order="confidence", select="drawn"),
    )


def anchored(sampling: Sampling, **unmasking: Any) -> AnchoredDrafter:
    """A drafter whose head proposes all tokens but one, with weights of its own."""
    config = BackboneConfig.from_json(
        {**SHAPE, "draft_vocab_size": V - 1, "tie_word_embeddings": True}, attention_bias=False, qk_norm=False
    )
    network = filled(Backbone(config), 8)
    network.lm_head.ids.copy_(torch.tensor([0, 1, 2, 4]))
    network.tie_weights()
    return AnchoredDrafter(
        network, block_size=BLOCK, mask_id=MASK, vocab_size=V, sampling=sampling, unmasking=Unmasking(**unmasking)
    )


def _uno(sampling: Sampling, verifier: PreTrainedModel) -> Drafter:
    config = BackboneConfig.from_json(SHAPE, attention_bias=False, qk_norm=True)
    backbone = Backbone(config)
    fill(backbone, dict(verifier.state_dict()), "verifier")
    network = AdaptedBackbone(backbone.requires_grad_(False), LORA)
    shapes = {name: network.get_parameter(ours).shape for name, ours in network.adapter_names().items()}
    network.load_adapter(named_weights(shapes), "test")
    return UnoDrafter(network.requires_grad_(False), noise_ids=(1, MASK), mask_id=MASK, vocab_size=V, sampling=sampling)


def _dflash(sampling: Sampling, verifier: PreTrainedModel) -> Drafter:
    config = BackboneConfig.from_json(SHAPE, attention_bias=False, qk_norm=True)
    return DFlashDrafter(
        filled(FeatureBackbone(config, len(LAYERS)), 4),
        embed=verifier.get_input_embeddings(),
        head=verifier.get_output_embeddings(),
        block_size=BLOCK,
        mask_id=MASK,
        vocab_size=V,
        feature_layers=LAYERS,
        sampling=sampling,
    )


def _dspark(sampling: Sampling, verifier: PreTrainedModel) -> Drafter:
    heads = {
        "target_layer_ids": list(LAYERS),
        "markov_rank": 3,
        "enable_confidence_head": True,
        "confidence_head_with_markov": True,
    }
    return DSparkDrafter(
        filled(DSparkNetwork(DSparkConfig.from_json({**SHAPE, **heads})), 5),
        block_size=BLOCK,
        mask_id=MASK,
        vocab_size=V,
        feature_layers=LAYERS,
        sampling=sampling,
    )


FAMILIES: dict[str, Callable[[Sampling, PreTrainedModel], Drafter]] = {
    "masked": lambda sampling, verifier: _masked(sampling, verifier, order="entropy"),
    "masked-prefix": lambda sampling, verifier: _masked(sampling, verifier, order="prefix", schedule=[1, 2]),
    "block-diffusion": _block_diffusion,
    "anchored": lambda sampling, verifier: anchored(sampling, order="confidence"),
    "uniform": lambda sampling, verifier: UniformDrafter(
        _backbone(False), vocab_size=V, sampling=sampling, forbidden=(V - 1,)
    ),
    "diffusion-gemma": lambda sampling, verifier: DiffusionGemmaDrafter(
        diffusion_gemma(), vocab_size=V, sampling=sampling, temperature_first=1.5
    ),
    "uno": _uno,
    "dflash": _dflash,
    "dspark": _dspark,
    "autoregressive": lambda sampling, verifier: AutoregressiveDrafter(
        CausalModel(qwen3(seed=6)), vocab_size=V, sampling=sampling
    ),
    "ngram": lambda sampling, verifier: NgramDrafter(vocab_size=V),
}
#: Families that can spend several steps.
MULTI_STEP = ("masked", "masked-prefix", "block-diffusion", "anchored", "uniform", "diffusion-gemma", "uno")


def tiny_engine(
    family: str, sampling: Sampling, verifier_sampling: Sampling, ends: frozenset[int] = frozenset()
) -> Engine:
    """A family's drafter and a verifier, over V tokens."""
    network = gemma4() if family == "diffusion-gemma" else qwen3()
    drafter = FAMILIES[family](sampling, network)
    verifier = CausalModel(network, drafter.feature_layers)
    return Engine(verifier, verifier_sampling, drafter, V, ends)
