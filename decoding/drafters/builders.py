"""How each family's drafter is built from its checkpoint and the pair file's options."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from specfrontier.decoding.checkpoints import REMEDY, read_tensors
from specfrontier.decoding.config_table import MOST, ConfigTable, read_table
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
from specfrontier.decoding.materialize import check_fractions, fill, load_network, random_tensors
from specfrontier.decoding.networks.adapter import AdaptedBackbone
from specfrontier.decoding.networks.backbone import EVERY, MOST_LAYERS, Backbone, BackboneConfig, KeyValueCache
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


def _unmasking(options: ConfigTable) -> Unmasking:
    chosen: dict[str, Any] = {name: options.text(name) for name in ("order", "select") if options.has(name)}
    if isinstance(options.get("schedule"), list | tuple):
        chosen["schedule"] = list(options.integers("schedule", low=1, high=MOST))
    elif options.has("schedule"):
        chosen["schedule"] = options.text("schedule")
    return Unmasking(**chosen)


@drafter_family("masked")
def _masked(build: Build) -> Drafter:
    """Dream: options `order`, `schedule`, `select`, `mask_token_id`, `prefix_cache`."""
    options = take_options(build, {*UNMASKING, "mask_token_id", "prefix_cache"})
    return MaskedDrafter(
        _canvas_network(build),
        mask_id=mask_id_of(build, _own_rows(build)),
        vocab_size=build.vocab_size,
        sampling=build.sampling,
        unmasking=_unmasking(options),
        prefix_cache=options.flag("prefix_cache"),
    )


def _own_rows(build: Build) -> int:
    """Rows of the drafter's own embedding."""
    return build.checkpoint.config.integer("vocab_size")


@drafter_family("block-diffusion")
def _block_diffusion(build: Build) -> Drafter:
    """SDAR: options `block_size` (the model's), `order`, `schedule`, `select`, `mask_token_id`."""
    options = take_options(build, {*UNMASKING, "mask_token_id", "block_size"})
    build.checkpoint.expect("SDARForCausalLM")
    config = BackboneConfig.from_json(build.checkpoint.config, attention_bias=False, qk_norm=True)
    stated = options if options.has("block_size") else build.checkpoint.config
    return BlockDiffusionDrafter(
        load_network(lambda: Backbone(config), build.checkpoint, build.device, build.dtype),
        block_size=stated.integer("block_size", high=config.max_position_embeddings - 1),
        mask_id=mask_id_of(build, config.vocab_size),
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
        block_size=table.integer("block_size", high=config.max_position_embeddings - 1),
        mask_id=mask_id_of(build, config.vocab_size),
        vocab_size=build.vocab_size,
        sampling=build.sampling,
        unmasking=_unmasking(options),
    )


def _shared_embedding(build: Build) -> dict[str, Tensor]:
    """The verifier's embedding, for drafters trained on top of it, whose checkpoints don't repeat it."""
    config = build.checkpoint.config
    if not config.flag("shares_embedding"):
        return {}
    weight: Any = build.verifier.network.get_input_embeddings().weight
    size, width = config.integer("vocab_size"), config.integer("hidden_size")
    if weight.shape != (size, width):
        raise InputError(
            f"{build.checkpoint.name} shares an embedding of {size} tokens and width {width}, the verifier's has "
            f"{weight.shape[0]} and {weight.shape[1]}; choose the verifier that the drafter was trained on"
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
        prefix_cache=options.flag("prefix_cache"),
    )


@drafter_family("diffusion-gemma")
def _diffusion_gemma(build: Build) -> Drafter:
    """DiffusionGemma through transformers: option `temperature_first`, annealed to the sampling's temperature."""
    options = take_options(build, {"temperature_first"})
    first = options.number("temperature_first") if options.has("temperature_first") else None
    build.checkpoint.expect("DiffusionGemmaForBlockDiffusion")
    return DiffusionGemmaDrafter(
        load_diffusion_gemma(build.checkpoint, build.device, build.dtype),
        vocab_size=build.vocab_size,
        sampling=build.sampling,
        temperature_first=first,
    )


@drafter_family("uno")
def _uno(build: Build) -> Drafter:
    """Uno: the verifier's weights (the checkpoint's root) and the adapter under `adapter/`; option `mask_token_id`."""
    take_options(build, {"mask_token_id"})
    build.checkpoint.expect("Qwen3ForCausalLM", "SDARForCausalLM")
    # Noise is drawn from the ids 1 to [MASK] - 1.
    mask_id = mask_id_of(build, _own_rows(build), least=2)
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
    if folder is None:
        table = build.checkpoint.config.table("adapter")
    else:
        table = read_table(folder / "adapter" / "adapter_config.json", REMEDY)
    with torch.device("meta"):
        network = AdaptedBackbone(backbone, table)
    own = {name: network.get_parameter(ours) for name, ours in network.adapter_names().items()}
    if folder is None:
        tensors = random_tensors({name: tensor.shape for name, tensor in own.items()}, build.device, build.dtype)
    else:
        tensors = read_tensors(folder / "adapter" / "adapter_model.safetensors")
    check_fractions(tensors, own, f"the adapter of {build.checkpoint.name}")
    network.load_adapter({n: t.to(build.device, build.dtype) for n, t in tensors.items()}, build.checkpoint.name)
    return network.eval().requires_grad_(False)


@drafter_family("dflash")
def _dflash(build: Build) -> Drafter:
    """DFlash: reads the verifier's hidden states, and uses its embedding and head; no options."""
    take_options(build, {"mask_token_id"})
    build.checkpoint.expect("DFlashDraftModel")
    table = build.checkpoint.config
    layers = table.table("dflash_config").integers("target_layer_ids", low=0, high=MOST_LAYERS)
    # The published drafters norm q and k, as Qwen3 does; one made from another verifier's layers says what it does.
    config = BackboneConfig.from_json(table, attention_bias=False, qk_norm=table.flag("qk_norm", True))
    _check_features(build, config, layers)
    verifier = build.verifier.network
    embed: Any = verifier.get_input_embeddings()
    network = load_network(lambda: FeatureBackbone(config, len(layers)), build.checkpoint, build.device, build.dtype)
    return DFlashDrafter(
        network,
        embed=embed,
        head=network.head(verifier.get_output_embeddings()),
        # The anchor takes one position.
        block_size=table.integer("block_size", low=2, high=config.max_position_embeddings - 1),
        mask_id=mask_id_of(build, len(embed.weight)),
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
    _check_features(build, config.backbone, config.feature_layers)
    longest = config.backbone.max_position_embeddings - 1
    return DSparkDrafter(
        load_network(lambda: DSparkNetwork(config), build.checkpoint, build.device, build.dtype),
        block_size=build.checkpoint.config.integer("block_size", high=longest),
        mask_id=mask_id_of(build, config.backbone.vocab_size),
        vocab_size=build.vocab_size,
        feature_layers=config.feature_layers,
        sampling=build.sampling,
        confidence_threshold=options.number("confidence_threshold", 0.0, low=0, high=1),
    )


def _check_features(build: Build, config: BackboneConfig, layers: tuple[int, ...]) -> None:
    """Raise unless the drafter was made for a verifier of this shape."""
    theirs = build.verifier.network.config.get_text_config()
    depth = theirs.num_hidden_layers
    if config.hidden_size != theirs.hidden_size or max(layers) >= depth - 1:
        raise InputError(
            f"{build.checkpoint.name} reads layers {list(layers)} of width {config.hidden_size}, the verifier has "
            f"{depth} layers of width {theirs.hidden_size}; choose the verifier that the drafter was trained on"
        )


@drafter_family("autoregressive")
def _autoregressive(build: Build) -> Drafter:
    """Any causal model of transformers; no options."""
    from specfrontier.decoding.loading import Placement, load_causal

    take_options(build, set())
    shared = _shared_embedding(build)
    if not shared and build.checkpoint.config.has("draft_vocab_size"):
        raise InputError(
            f"{build.checkpoint.name} has a draft_vocab_size of its own; an autoregressive drafter takes one only "
            "beside shares_embedding = true"
        )
    model = load_causal(build.checkpoint, Placement(build.device, build.device, build.dtype), shared=shared)
    return AutoregressiveDrafter(model, vocab_size=build.vocab_size, sampling=build.sampling)


@drafter_family("ngram")
def _ngram(build: Build) -> Drafter:
    """Prompt lookup, no checkpoint; option `longest`, the longest suffix that is looked for."""
    return NgramDrafter(vocab_size=build.vocab_size, longest=take_options(build, {"longest"}).integer("longest", 3))
