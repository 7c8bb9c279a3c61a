"""The body of DFlash and DSpark: a few decoder layers that attend to the verifier's hidden states.

Context enters each layer as keys and values made from the verifier's features; the drafted block attends to that
context and to all of itself. Parameter names are those of the public checkpoints of both families.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from specfrontier.decoding.networks.backbone import BackboneConfig, KeyValueCache, Layer, RMSNorm, RotaryTable
from specfrontier.decoding.networks.reduced_head import ReducedHead
from specfrontier.errors import InputError


class FeatureBackbone(nn.Module):
    """Block embeddings [T, hidden] and features of the prefix [C, F * hidden] to hidden states [T, hidden].

    Args:
        config: shape of the layers; `vocab_size` is used by a reduced head only.
        num_features: F, the verifier layers that are read.
    """

    def __init__(self, config: BackboneConfig, num_features: int) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(Layer(config, i) for i in range(config.num_hidden_layers))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.fc = nn.Linear(num_features * config.hidden_size, config.hidden_size, bias=False)
        self.hidden_norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.rotary = RotaryTable(config.head_dim, config.rope_theta, config.max_position_embeddings)
        reduced = config.draft_vocab_size
        self.draft_head = None if reduced is None else ReducedHead(config.vocab_size, reduced)

    def head(self, verifier_head: nn.Module) -> nn.Module:
        """What turns hidden states into logits: the verifier's head, or its rows of the draft vocabulary.

        Raises:
            InputError: if the draft vocabulary is not within the verifier's.
        """
        if self.draft_head is None:
            return verifier_head
        weight: Tensor = verifier_head.weight  # type: ignore[assignment]
        last = int(self.draft_head.ids[-1])
        if last >= len(weight):
            raise InputError(
                f"the draft vocabulary has the id {last}, the verifier only {len(weight)} tokens; choose the verifier "
                "that the drafter was trained on"
            )
        return self.draft_head.take_rows(weight)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.fc.weight.device

    @property
    def feature_size(self) -> int:
        """F * hidden, the width of the features."""
        return self.fc.in_features

    def new_cache(self) -> KeyValueCache:
        """An empty cache of this network's depth; it only ever holds context."""
        return KeyValueCache(self.config.num_hidden_layers)

    def forward(self, block: Tensor, features: Tensor, cache: KeyValueCache) -> Tensor:
        """Add `features` to the context, then run the block, which stands right after it.

        Features are projected and normalised once; they never pass a layer's input norm.
        """
        context = self.hidden_norm(self.fc(features.to(self.fc.weight.dtype)))[None]
        rope = self.rotary(cache.length, context.shape[1], context.dtype)
        for layer in self.layers:
            layer.self_attn.remember(context, rope, cache)  # type: ignore[union-attr, operator]
        length = cache.length
        x = block.to(context.dtype)[None]
        rope = self.rotary(length, x.shape[1], x.dtype)
        for layer in self.layers:
            x = layer(x, rope, None, False, cache)
        cache.crop(length)
        return self.norm(x)[0]
