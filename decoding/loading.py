"""From a pair file to a pair that can generate."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerBase

from specfrontier.decoding.causal import CausalModel
from specfrontier.decoding.checkpoints import Checkpoint, open_checkpoint
from specfrontier.decoding.config_table import ConfigTable
from specfrontier.decoding.drafters.families import Build, build_drafter
from specfrontier.decoding.engine import Engine
from specfrontier.decoding.materialize import fill_from
from specfrontier.decoding.memory import check_memory
from specfrontier.decoding.networks.reduced_head import ReducedHead
from specfrontier.decoding.pair import Pair
from specfrontier.decoding.pair_file import ModelSpec, PairFile, read_pair_file
from specfrontier.decoding.pretrained import check_sizes, from_folder, transformers_errors
from specfrontier.decoding.sampling import Sampling
from specfrontier.decoding.vocabulary import check_vocabularies, load_tokenizer, stand_in_tokenizer
from specfrontier.errors import InputError

DeviceMap = str | dict[str, int | str]
COMPILER = "inductor"

#: Configurations whose causal weights are those of another architecture: Uno's base is Qwen3 in SDAR's wrapping.
SAME_AS = {"sdar": ("qwen3", "Qwen3ForCausalLM")}


@dataclass(frozen=True)
class Placement:
    """Where a pair's models go.

    Attributes:
        verifier, drafter: devices.
        dtype: of both models' weights.
        device_map: spreads the verifier over several devices in place of `verifier` (transformers' device maps).
    """

    verifier: torch.device
    drafter: torch.device
    dtype: torch.dtype
    device_map: DeviceMap | None = None


def load_pair(
    name_or_path: str,
    *,
    device: str | torch.device | None = None,
    drafter_device: str | torch.device | None = None,
    dtype: torch.dtype | None = None,
    device_map: DeviceMap | None = None,
    options: dict[str, Any] | None = None,
    random_weights: bool = False,
    compile: bool = False,
) -> Pair:
    """Load a pair by its shipped name or the path of its TOML file.

    Args:
        name_or_path: such as `arith-masked`, or `mine.toml`.
        device: of the verifier; None is CUDA where there is one, else the CPU.
        drafter_device: of the drafter; None is the verifier's.
        dtype: of both models; None is bfloat16 on CUDA and float32 on a CPU.
        device_map: `auto`, `balanced` or a map, for a verifier that needs several GPUs.
        options: keys of the file's [drafter] to change, such as `{"order": "prefix", "schedule": "doubling"}`, or
            `{"temperature": 0}` for greedy proposals.
        random_weights: build both models at their true size from random numbers, without a download. Such a pair
            measures costs (c_d, c_v); it has no tokenizer, and refuses text, accuracy and d_K.
        compile: run the verifier's forwards through `torch.compile`; the first ones then take long.

    Raises:
        InputError: if the pair is unknown or invalid, does not fit, a checkpoint cannot be read, or the
            vocabularies differ.
    """
    pair_file = read_pair_file(name_or_path)
    if options:
        pair_file = replace(pair_file, drafter=with_options(pair_file.drafter, options))
    place = _device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    dtype = dtype or (torch.bfloat16 if place.type == "cuda" else torch.float32)
    placement = Placement(place, _device(drafter_device or place), dtype, device_map)
    if device_map is None:
        check_memory(pair_file, placement.verifier, placement.drafter, dtype)
    else:
        _check_device_map(random_weights)
    pair = _assemble(pair_file, placement, random_weights)
    return _compiled(pair) if compile else pair


def _device(named: str | torch.device) -> torch.device:
    try:
        device = torch.device(named)
    except RuntimeError as error:
        raise InputError(f"device is {named!r}; give cpu, or a GPU such as cuda or cuda:1") from error
    count = torch.cuda.device_count()
    if device.type == "cuda" and (device.index or 0) >= count:
        raise InputError(f"device is {device}, and torch sees {count} CUDA devices here; leave it out, or give another")
    return device


def _compiled(pair: Pair) -> Pair:
    verifier = replace(pair.engine.verifier, compiler=COMPILER)
    return replace(pair, engine=replace(pair.engine, verifier=verifier))


def _check_device_map(random_weights: bool) -> None:
    if random_weights:
        raise InputError("random weights are built on one device; leave device_map out")
    if find_spec("accelerate") is None:
        raise InputError("a device_map needs the package accelerate: pip install 'specfrontier[device-map]'")


def with_options(spec: ModelSpec, options: dict[str, Any]) -> ModelSpec:
    """A model with some keys of its table changed; keys of the sampling go to its sampling."""
    sampling = {f.name: options[f.name] for f in fields(Sampling) if f.name in options}
    rest = {name: value for name, value in options.items() if name not in sampling}
    return replace(spec, sampling=replace(spec.sampling, **sampling), options={**spec.options, **rest})


def _assemble(pair_file: PairFile, placement: Placement, random: bool) -> Pair:
    verifier_at = open_checkpoint(pair_file.verifier.checkpoint, pair_file.verifier.revision, random=random)
    drafter_at = open_checkpoint(pair_file.drafter.checkpoint, pair_file.drafter.revision, random=random)
    tokenizer = stand_in_tokenizer() if verifier_at.folder is None else load_tokenizer(verifier_at.folder)
    check_vocabularies(verifier_at, drafter_at)
    verifier = load_causal(verifier_at, placement)
    sizes = [at.text_config.integer("vocab_size") for at in (verifier_at, drafter_at) if at.config]
    build = Build(
        checkpoint=drafter_at,
        sampling=pair_file.drafter.sampling,
        options=pair_file.drafter.options,
        verifier=verifier,
        tokenizer=tokenizer,
        vocab_size=min(sizes),
        device=placement.drafter,
        dtype=placement.dtype,
    )
    drafter = build_drafter(pair_file.drafter.family, build)
    if drafter.feature_layers:
        verifier = replace(verifier, feature_layers=drafter.feature_layers)
    # Random weights would end a text by chance, and a cost must not depend on it.
    ends = frozenset() if random else end_ids(verifier, tokenizer)
    engine = Engine(verifier, pair_file.verifier.sampling, drafter, build.vocab_size, ends)
    if random:
        pair_file = replace(pair_file, name=f"{pair_file.name} (random weights)")
    contexts = (_context(verifier_at), _drafter_context(drafter_at, drafter))
    context = min((c for c in contexts if c is not None), default=None)
    return Pair(pair_file, engine, tokenizer, context_length=context, random_weights=random)


def _context(checkpoint: Checkpoint) -> int | None:
    """Positions that a model has, where it states them."""
    return checkpoint.text_config.optional_integer("max_position_embeddings")


def _drafter_context(checkpoint: Checkpoint, drafter: Any) -> int | None:
    """Positions a prefix may take; the last block must still fit behind it."""
    length = _context(checkpoint)
    return None if length is None else length - (drafter.max_block_size or 0)


def load_causal(
    checkpoint: Checkpoint,
    placement: Placement,
    device: torch.device | None = None,
    shared: dict[str, Tensor] | None = None,
) -> CausalModel:
    """A causal model of transformers; a checkpoint's own code is never run.

    Args:
        shared: tensors of another model that the checkpoint doesn't repeat.
        device: where it goes, if not to the placement's verifier device (then the device map does not apply).
    """
    if not checkpoint.architecture.endswith(("ForCausalLM", "ForConditionalGeneration")):
        raise InputError(
            f"{checkpoint.name} has the architecture {checkpoint.architecture}, which is no causal language model; "
            "change the pair file's family or checkpoint"
        )
    check_sizes(checkpoint.text_config)
    with transformers_errors(f"a causal model from {checkpoint.name}"):
        if shared:
            network = _sharing_causal(checkpoint, placement.dtype, device or placement.verifier, shared)
        elif checkpoint.folder is None:
            network = _random_causal(checkpoint.config, placement.dtype, device or placement.verifier)
        else:
            network = _pretrained_causal(checkpoint, placement, device)
    return CausalModel(network.eval().requires_grad_(False))


def _pretrained_causal(checkpoint: Checkpoint, placement: Placement, device: torch.device | None) -> PreTrainedModel:
    settings: dict[str, Any] = {"dtype": placement.dtype, "trust_remote_code": False}
    if checkpoint.config.get("model_type") in SAME_AS:
        settings["config"] = _causal_config(checkpoint.config)
    mapped = placement.device_map is not None and device is None
    if mapped:
        settings["device_map"] = placement.device_map
    network = from_folder(AutoModelForCausalLM, checkpoint, **settings)
    return network if mapped else network.to(device or placement.verifier)


def _sharing_causal(
    checkpoint: Checkpoint, dtype: torch.dtype, device: torch.device, shared: dict[str, Tensor]
) -> PreTrainedModel:
    """A model whose embedding is another's; its head too, or those rows of it that it may propose."""
    config = _causal_config(checkpoint.config)
    reduced = checkpoint.config.optional_integer("draft_vocab_size", high=config.vocab_size)
    config.tie_word_embeddings = reduced is None
    network = AutoModelForCausalLM.from_config(config, dtype=dtype).to(device)
    if reduced is not None:
        network.set_output_embeddings(ReducedHead(config.vocab_size, reduced))
    fill_from(network, checkpoint, device, dtype, shared)
    if reduced is not None:
        network.get_output_embeddings().take_rows(network.get_input_embeddings().weight)
    return network


def _random_causal(config: ConfigTable, dtype: torch.dtype, device: torch.device) -> PreTrainedModel:
    with device:
        return AutoModelForCausalLM.from_config(_causal_config(config), dtype=dtype)


def _causal_config(config: ConfigTable) -> Any:
    table = {name: value for name, value in config.items() if name not in ("auto_map", "adapter", "model_type")}
    model_type = config.text("model_type")
    if model_type in SAME_AS:
        model_type, architecture = SAME_AS[model_type]
        table["architectures"] = [architecture]
    return AutoConfig.for_model(model_type, **table)


def end_ids(verifier: CausalModel, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """Every id that ends an output, from the tokenizer and the generation configuration."""
    ids: set[int] = set()
    generation: Any = getattr(verifier.network, "generation_config", None)
    for value in (tokenizer.eos_token_id, getattr(generation, "eos_token_id", None)):
        if isinstance(value, int):
            ids.add(value)
        elif value is not None:
            ids.update(value)
    return frozenset(ids)
