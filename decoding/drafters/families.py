"""Drafter families by name: how a pair file's drafter becomes a `Drafter`. Adding a family is one entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from specfrontier.decoding.causal import CausalModel
from specfrontier.decoding.checkpoints import load_into, read_config, read_weights
from specfrontier.decoding.drafters.autoregressive import AutoregressiveDrafter
from specfrontier.decoding.drafters.base import Drafter
from specfrontier.decoding.drafters.masked import MaskedDrafter, Unmasking
from specfrontier.decoding.drafters.uniform import UniformDrafter
from specfrontier.decoding.networks.backbone import Backbone, BackboneConfig
from specfrontier.decoding.sampling import Sampling
from specfrontier.errors import InputError


@dataclass(frozen=True)
class Build:
    """What a family's builder is given.

    Attributes:
        folder: the drafter's checkpoint.
        sampling: how its tokens are drawn.
        options: family-specific keys of the pair file; a builder takes those it knows.
        verifier: the loaded verifier, for drafters that share its weights or read its features.
        tokenizer: shared by both models.
        vocab_size: ids that laws are over.
        device, dtype: where and how the drafter is held.
    """

    folder: Path
    sampling: Sampling
    options: dict[str, Any]
    verifier: CausalModel
    tokenizer: PreTrainedTokenizerBase
    vocab_size: int
    device: torch.device
    dtype: torch.dtype


Builder = Callable[[Build], Drafter]
FAMILIES: dict[str, Builder] = {}


def drafter_family(name: str) -> Callable[[Builder], Builder]:
    """Register a builder under the name that pair files use."""

    def register(builder: Builder) -> Builder:
        FAMILIES[name] = builder
        return builder

    return register


def build_drafter(family: str, build: Build) -> Drafter:
    """Build a drafter of a registered family."""
    if family not in FAMILIES:
        raise InputError(f"unknown drafter family {family!r}; choose one of {', '.join(sorted(FAMILIES))}")
    return FAMILIES[family](build)


def take_options(build: Build, allowed: set[str]) -> dict[str, Any]:
    """The options, or an error if one is not in `allowed`."""
    unknown = sorted(set(build.options) - allowed)
    if unknown:
        raise InputError(f"[drafter] has unknown key {unknown[0]!r}; this family takes {', '.join(sorted(allowed))}")
    return build.options


def _backbone(build: Build) -> Backbone:
    """A Dream-like network: biases on q, k, v, no norm of q and k."""
    config = BackboneConfig.from_json(read_config(build.folder), attention_bias=True, qk_norm=False)
    network = load_into(Backbone(config), read_weights(build.folder), build.folder, build.dtype)
    return network.to(build.device)  # type: ignore[return-value]


def special_ids(build: Build) -> tuple[int, ...]:
    """Ids that no drafter may propose: [MASK], padding and unknown, where the tokenizer has them apart from the end."""
    tokenizer = build.tokenizer
    ids = {tokenizer.mask_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id}
    return tuple(sorted(i for i in ids if i is not None and i != tokenizer.eos_token_id))


@drafter_family("masked")
def _masked(build: Build) -> Drafter:
    """Dream: options `order`, `schedule`, `select`, `mask_token_id`."""
    options = take_options(build, {"order", "schedule", "select", "mask_token_id"})
    mask_id = options.get("mask_token_id", build.tokenizer.mask_token_id)
    if mask_id is None:
        raise InputError("the drafter's tokenizer has no [MASK]; set mask_token_id in the pair file")
    unmasking = Unmasking(**{k: v for k, v in options.items() if k != "mask_token_id"})
    return MaskedDrafter(
        _backbone(build),
        mask_id=mask_id,
        vocab_size=build.vocab_size,
        sampling=build.sampling,
        unmasking=unmasking,
    )


@drafter_family("uniform")
def _uniform(build: Build) -> Drafter:
    """A Dream-like network trained on uniform noise; no options."""
    take_options(build, set())
    return UniformDrafter(
        _backbone(build), vocab_size=build.vocab_size, sampling=build.sampling, forbidden=special_ids(build)
    )


@drafter_family("autoregressive")
def _autoregressive(build: Build) -> Drafter:
    """Any causal model of transformers; no options."""
    from specfrontier.decoding.loading import load_causal

    take_options(build, set())
    model = load_causal(build.folder, build.device, build.dtype)
    return AutoregressiveDrafter(model, vocab_size=build.vocab_size, sampling=build.sampling)
