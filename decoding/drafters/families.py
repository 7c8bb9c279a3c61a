"""Drafter families by name: how a pair file's drafter becomes a `Drafter`.

A family is one builder, registered under the name that pair files use; they stand in `builders.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from specfrontier.decoding.causal import CausalModel
from specfrontier.decoding.checkpoints import Checkpoint
from specfrontier.decoding.config_table import ConfigTable
from specfrontier.decoding.drafters.base import Drafter
from specfrontier.decoding.sampling import Sampling
from specfrontier.errors import InputError


@dataclass(frozen=True)
class Build:
    """What a family's builder is given.

    Attributes:
        checkpoint: the drafter's.
        sampling: how its tokens are drawn.
        options: family-specific keys of the pair file; a builder takes those it knows.
        verifier: the loaded verifier, for drafters that share its weights or read its features.
        tokenizer: shared by both models.
        vocab_size: ids that laws are over.
        device, dtype: where and how the drafter is held.
    """

    checkpoint: Checkpoint
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
    from specfrontier.decoding.drafters import builders  # noqa: F401  (registers the families)

    if family not in FAMILIES:
        raise InputError(f"unknown drafter family {family!r}; choose one of {', '.join(sorted(FAMILIES))}")
    return FAMILIES[family](build)


def take_options(build: Build, allowed: set[str]) -> ConfigTable:
    """The options, or an error if one is not in `allowed`."""
    unknown = sorted(set(build.options) - allowed)
    if unknown:
        raise InputError(f"[drafter] has unknown key {unknown[0]!r}; this family takes {', '.join(sorted(allowed))}")
    return ConfigTable(build.options, "[drafter] of the pair file", "leave it out")


def special_ids(build: Build) -> tuple[int, ...]:
    """Ids that no drafter may propose: [MASK], padding and unknown, where the tokenizer has them apart from the end."""
    tokenizer = build.tokenizer
    ids = {tokenizer.mask_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id}
    return tuple(sorted(i for i in ids if i is not None and i != tokenizer.eos_token_id))


def mask_id_of(build: Build, rows: int, *, least: int = 0) -> int:
    """Id of [MASK]: from the pair file, the checkpoint's configuration, or the tokenizer.

    Args:
        rows: of the embedding that looks it up.
        least: the smallest id that the family can use.
    """
    config = build.checkpoint.config
    options = take_options(build, set(build.options))
    for table in (options, config.table("dflash_config"), config):
        if table.has("mask_token_id"):
            return table.integer("mask_token_id", low=least, high=rows - 1)
    found = build.tokenizer.mask_token_id
    if found is not None and least <= found < rows:
        return found
    raise InputError("neither checkpoint nor tokenizer name a [MASK]; set mask_token_id in the pair file's [drafter]")
