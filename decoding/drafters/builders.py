"""How each family's drafter is built from its checkpoint and the pair file's options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from specfrontier.decoding.drafters.anchored import AnchoredDrafter
from specfrontier.decoding.drafters.autoregressive import AutoregressiveDrafter
from specfrontier.decoding.drafters.base import Drafter
from specfrontier.decoding.drafters.block_diffusion import BlockDiffusionDrafter
from specfrontier.decoding.drafters.canvas import CanvasNetwork
from specfrontier.decoding.drafters.dflash import DFlashDrafter
from specfrontier.decoding.drafters.diffusion_gemma import DiffusionGemmaDrafter, load_diffusion_gemma
from specfrontier.decoding.drafters.dspark import DSparkDrafter
from specfrontier.decoding.drafters.families import (
    Build,
    drafter_family,
    mask_id_of,
    special_ids,
    take_options,
)
from specfrontier.decoding.drafters.masked import MaskedDrafter, Unmasking
from specfrontier.decoding.drafters.ngram import NgramDrafter
from specfrontier.decoding.drafters.uniform import UniformDrafter
from specfrontier.decoding.drafters.uno import UnoDrafter
from specfrontier.decoding.materialize import fill, load_network, random_tensors
from specfrontier.decoding.networks.adapter import AdaptedBackbone
from specfrontier.decoding.networks.backbone import EVERY, Backbone, BackboneConfig, KeyValueCache
from specfrontier.decoding.networks.dspark import DSparkConfig, DSparkNetwork
from specfrontier.decoding.networks.feature_backbone import FeatureBackbone
from specfrontier.errors import InputError

UNMASKING = {"order", "schedule", "select"}


class Placed:
    """A network on a device of its own: ids go there, logits come back."""

    def __init__(self, network: Backbone) -> None:
        self.network, self.new_cache = network, network.new_cache

    def __call__(self, ids: Tensor, *, rows: slice = EVERY, cache: KeyValueCache | None = None) -> Tensor:
        return self.network(ids.to(self.network.device), rows=rows, cache=cache).to(ids.device)


def _canvas_network(build: Build) -> CanvasNetwork:
    """A Dream-like network: biases on q, k, v, no norm of q and k."""
    build.checkpoint.expect("DreamModel")
    config = BackboneConfig.from_json(build.checkpoint.config, attention_bias=True, qk_norm=False)
    return Placed(load_network(lambda: Backbone(config), build.checkpoint, build.device, build.dtype))


def _unmasking(options: dict[str, Any]) -> Unmasking:
    return Unmasking(**{name: value for name, value in options.items() if name in UNMASKING})


@drafter_family("masked")
def _masked(build: Build) -> Drafter:
    """Dream: options `order`, `schedule`, `select`, `mask_token_id`, `prefix_cache`."""
    options = take_options(build, {*UNMASKING, "mask_token_id", "prefix_cache"})
    return MaskedDrafter(
        _canvas_network(build),
        mask_id=mask_id_of(build),
        vocab_size=build.vocab_size,
        sampling=build.sampling,
        unmasking=_unmasking(options),
        prefix_cache=bool(options.get("prefix_cache", False)),
    )


@drafter_family("block-diffusion")
def _block_diffusion(build: Build) -> Drafter:
    """SDAR: options `block_size` (the model's), `order`, `schedule`, `select`, `mask_token_id`."""
    options = take_options(build, {*UNMASKING, "mask_token_id", "block_size"})
    build.checkpoint.expect("SDARForCausalLM")
    config = BackboneConfig.from_json(build.checkpoint.config, attention_bias=False, qk_norm=True)
    block_size = options.get("block_size") or build.checkpoint.config.get("block_size")
    if not isinstance(block_size, int) or block_size < 1:
        raise InputError(f"the model's block_size is {block_size!r}; set an integer >= 1 in the pair file's [drafter]")
    return BlockDiffusionDrafter(
        load_network(lambda: Backbone(config), build.checkpoint, build.device, build.dtype),
        block_size=block_size,
        mask_id=mask_id_of(build),
        vocab_size=build.vocab_size,
        sampling=build.sampling,
        unmasking=_unmasking(options),
    )


@drafter_family("anchored-diffusion")
def _anchored_diffusion(build: Build) -> Drafter:
    """Block diffusion from any prefix: options `order`, `schedule`, `select`, `mask_token_id`."""
    options = take_options(build, {*UNMASKING, "mask_token_id"})
    build.checkpoint.expect("AnchoredDiffusionModel")
    table = build.checkpoint.config
    config = BackboneConfig.from_json(table, attention_bias=False, qk_norm=False)
    shared = _shared_embedding(build)
    return AnchoredDrafter(
        load_network(lambda: Backbone(config), build.checkpoint, build.device, build.dtype, shared),
        block_size=table["block_size"],
        mask_id=mask_id_of(build),
        vocab_size=build.vocab_size,
        sampling=build.sampling,
        unmasking=_unmasking(options),
    )


def _shared_embedding(build: Build) -> dict[str, Tensor]:
    """The verifier's embedding, for drafters trained on top of it, whose checkpoints don't repeat it."""
    if not build.checkpoint.config.get("shares_embedding"):
        return {}
    weight: Any = build.verifier.network.get_input_embeddings().weight
    width = build.checkpoint.config["hidden_size"]
    if weight.shape[1] != width:
        raise InputError(
            f"{build.checkpoint.name} shares an embedding of width {width}, the verifier's has {weight.shape[1]}; "
            "choose the verifier that the drafter was trained on"
        )
    return {"model.embed_tokens.weight": weight}


@drafter_family("uniform")
def _uniform(build: Build) -> Drafter:
    """A Dream-like network trained on uniform noise; option `prefix_cache`."""
    options = take_options(build, {"prefix_cache"})
    return UniformDrafter(
        _canvas_network(build),
        vocab_size=build.vocab_size,
        sampling=build.sampling,
        forbidden=special_ids(build),
        prefix_cache=bool(options.get("prefix_cache", False)),
    )


@drafter_family("diffusion-gemma")
def _diffusion_gemma(build: Build) -> Drafter:
    """DiffusionGemma through transformers: option `temperature_first`, annealed to the sampling's temperature."""
    options = take_options(build, {"temperature_first"})
    build.checkpoint.expect("DiffusionGemmaForBlockDiffusion")
    return DiffusionGemmaDrafter(
        load_diffusion_gemma(build.checkpoint, build.device, build.dtype),
        vocab_size=build.vocab_size,
        sampling=build.sampling,
        temperature_first=options.get("temperature_first"),
    )


@drafter_family("uno")
def _uno(build: Build) -> Drafter:
    """Uno: the verifier's weights (the checkpoint's root) and the adapter under `adapter/`; option `mask_token_id`."""
    take_options(build, {"mask_token_id"})
    build.checkpoint.expect("Qwen3ForCausalLM", "SDARForCausalLM")
    mask_id = mask_id_of(build)
    return UnoDrafter(
        _adapted_verifier(build),
        noise_ids=(1, min(mask_id, build.vocab_size)),
        mask_id=mask_id,
        vocab_size=build.vocab_size,
        sampling=build.sampling,
    )


def _adapted_verifier(build: Build) -> AdaptedBackbone:
    """The verifier's own tensors, shared where devices agree, under an adapter."""
    config = BackboneConfig.from_json(build.checkpoint.config, attention_bias=False, qk_norm=True)
    with torch.device("meta"):
        backbone = Backbone(config)
    shared = {name: tensor.to(build.device) for name, tensor in build.verifier.network.state_dict().items()}
    fill(backbone, shared, build.checkpoint.name)
    folder = build.checkpoint.folder
    table = build.checkpoint.config.get("adapter") if folder is None else _read_adapter_config(folder / "adapter")
    if table is None:
        raise InputError(f"the shape of {build.checkpoint.name}'s adapter is not known here")
    with torch.device("meta"):
        network = AdaptedBackbone(backbone, table)
    if folder is None:
        names = network.adapter_names()
        shapes = {name: network.get_parameter(names[name]).shape for name in names}
        tensors = random_tensors(shapes, build.device, build.dtype)
    else:
        tensors = _read_adapter(folder / "adapter")
    network.load_adapter({n: t.to(build.device, build.dtype) for n, t in tensors.items()}, build.checkpoint.name)
    return network.eval().requires_grad_(False)


def _read_adapter_config(folder: Path) -> dict[str, Any]:
    try:
        return json.loads((folder / "adapter_config.json").read_text("utf-8"))
    except (FileNotFoundError, json.JSONDecodeError) as error:
        raise InputError(f"no readable adapter_config.json in {folder}; Uno keeps its adapter there") from error


def _read_adapter(folder: Path) -> dict[str, Tensor]:
    try:
        return load_file(folder / "adapter_model.safetensors")
    except (FileNotFoundError, SafetensorError) as error:
        raise InputError(f"no readable adapter_model.safetensors in {folder}; download it again") from error


@drafter_family("dflash")
def _dflash(build: Build) -> Drafter:
    """DFlash: reads the verifier's hidden states, and uses its embedding and head; no options."""
    take_options(build, {"mask_token_id"})
    build.checkpoint.expect("DFlashDraftModel")
    table = build.checkpoint.config
    layers = tuple(table["dflash_config"]["target_layer_ids"])
    _check_features(build, layers)
    # The published drafters norm q and k, as Qwen3 does; one made from another verifier's layers says what it does.
    config = BackboneConfig.from_json(table, attention_bias=False, qk_norm=table.get("qk_norm", True))
    verifier = build.verifier.network
    network = load_network(lambda: FeatureBackbone(config, len(layers)), build.checkpoint, build.device, build.dtype)
    return DFlashDrafter(
        network,
        embed=verifier.get_input_embeddings(),
        head=network.head(verifier.get_output_embeddings()),
        block_size=table["block_size"],
        mask_id=mask_id_of(build),
        vocab_size=build.vocab_size,
        feature_layers=layers,
        sampling=build.sampling,
    )


@drafter_family("dspark")
def _dspark(build: Build) -> Drafter:
    """DSpark: option `confidence_threshold`."""
    options = take_options(build, {"confidence_threshold", "mask_token_id"})
    build.checkpoint.expect("Qwen3DSparkModel")
    config = DSparkConfig.from_json(build.checkpoint.config)
    _check_features(build, config.feature_layers)
    return DSparkDrafter(
        load_network(lambda: DSparkNetwork(config), build.checkpoint, build.device, build.dtype),
        block_size=build.checkpoint.config["block_size"],
        mask_id=mask_id_of(build),
        vocab_size=build.vocab_size,
        feature_layers=config.feature_layers,
        sampling=build.sampling,
        confidence_threshold=options.get("confidence_threshold", 0.0),
    )


def _check_features(build: Build, layers: tuple[int, ...]) -> None:
    """Raise unless the drafter was made for a verifier of this shape."""
    ours, theirs = build.checkpoint.config, build.verifier.network.config.get_text_config()
    depth = theirs.num_hidden_layers
    if ours["hidden_size"] != theirs.hidden_size or max(layers) >= depth - 1:
        raise InputError(
            f"{build.checkpoint.name} reads layers {list(layers)} of width {ours['hidden_size']}, the verifier has "
            f"{depth} layers of width {theirs.hidden_size}; choose the verifier that the drafter was trained on"
        )


@drafter_family("autoregressive")
def _autoregressive(build: Build) -> Drafter:
    """Any causal model of transformers; no options."""
    from specfrontier.decoding.loading import Placement, load_causal

    take_options(build, set())
    shared = _shared_embedding(build)
    if not shared and build.checkpoint.config.get("draft_vocab_size"):
        raise InputError(
            f"{build.checkpoint.name} has a draft_vocab_size of its own; an autoregressive drafter takes one only "
            "beside shares_embedding = true"
        )
    model = load_causal(build.checkpoint, Placement(build.device, build.device, build.dtype), shared=shared)
    return AutoregressiveDrafter(model, vocab_size=build.vocab_size, sampling=build.sampling)


@drafter_family("ngram")
def _ngram(build: Build) -> Drafter:
    """Prompt lookup, no checkpoint; option `longest`, the longest suffix that is looked for."""
    return NgramDrafter(vocab_size=build.vocab_size, **take_options(build, {"longest"}))
