"""DSpark's network: a feature-conditioned backbone with its own embedding and head, a serial Markov head that corrects
each position by the token before it, and a head that predicts whether the verifier will accept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from specfrontier.decoding.config_table import ConfigTable
from specfrontier.decoding.networks.backbone import MOST_LAYERS, BackboneConfig
from specfrontier.decoding.networks.feature_backbone import FeatureBackbone
from specfrontier.errors import InputError


@dataclass(frozen=True)
class DSparkConfig:
    """Shape of a DSpark drafter; without Markov rank and confidence head it is DeepSpec's DFlash.

    Attributes:
        backbone: shape of the layers.
        feature_layers: verifier layers that are read.
        markov_rank: rank of the Markov correction, 0 for none.
        confidence_head: whether there is a confidence head.
        confidence_sees_previous: whether it sees the embedding of the previous token beside the hidden state.
    """

    backbone: BackboneConfig
    feature_layers: tuple[int, ...]
    markov_rank: int
    confidence_head: bool
    confidence_sees_previous: bool

    @classmethod
    def from_json(cls, config: Mapping[str, Any]) -> DSparkConfig:
        """Read the checkpoint's `config.json`."""
        table = ConfigTable.of(config)
        rank = table.integer("markov_rank", 0, low=0)
        kind = table.text("markov_head_type", "vanilla")
        if rank and kind != "vanilla":
            raise InputError(f"markov_head_type is {kind!r}; only vanilla heads, those of the released drafters, load")
        sees_previous = table.flag("confidence_head_with_markov")
        if sees_previous and not rank:
            raise table.refusal("confidence_head_with_markov", "give a markov_rank >= 1 beside it")
        return cls(
            backbone=BackboneConfig.from_json(table, attention_bias=False, qk_norm=True),
            feature_layers=table.integers("target_layer_ids", low=0, high=MOST_LAYERS),
            markov_rank=rank,
            confidence_head=table.flag("enable_confidence_head"),
            confidence_sees_previous=sees_previous,
        )


class MarkovHead(nn.Module):
    """A low-rank table of logit corrections [V, V]: row v is added after the token v."""

    def __init__(self, vocab_size: int, rank: int) -> None:
        super().__init__()
        self.markov_w1 = nn.Embedding(vocab_size, rank)
        self.markov_w2 = nn.Linear(rank, vocab_size, bias=False)

    def forward(self, previous: Tensor) -> Tensor:
        """Corrections [..., V] after the tokens `previous` [...]."""
        return self.markov_w2(self.markov_w1(previous))


class ConfidenceHead(nn.Module):
    """Logit [...] of the chance that a position is accepted, from its features [..., width]."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.proj = nn.Linear(width, 1)

    def forward(self, features: Tensor) -> Tensor:
        return self.proj(features).squeeze(-1)


class DSparkNetwork(FeatureBackbone):
    """Backbone, embedding, head, and the two small heads."""

    def __init__(self, config: DSparkConfig) -> None:
        super().__init__(config.backbone, len(config.feature_layers))
        vocab_size, hidden_size = config.backbone.vocab_size, config.backbone.hidden_size
        self.embed_tokens = nn.Embedding(vocab_size, hidden_size)
        self.lm_head = nn.Linear(hidden_size, vocab_size, bias=False)
        self.markov_head = MarkovHead(vocab_size, config.markov_rank) if config.markov_rank else None
        self.sees_previous = config.confidence_sees_previous
        width = hidden_size + config.markov_rank * self.sees_previous
        self.confidence_head = ConfidenceHead(width) if config.confidence_head else None

    def corrected(self, logits: Tensor, previous: Tensor) -> Tensor:
        """Logits [..., V] of a position, given the token before it [...]."""
        return logits if self.markov_head is None else logits + self.markov_head(previous)

    def confidence(self, hidden: Tensor, previous: Tensor) -> Tensor:
        """Predicted chance [T] that each position is accepted, given its hidden state [T, hidden] and previous token.

        All ones without a confidence head.
        """
        if self.confidence_head is None:
            return torch.ones(len(hidden), device=hidden.device)
        if self.sees_previous:
            assert self.markov_head is not None
            hidden = torch.cat((hidden, self.markov_head.markov_w1(previous)), dim=-1)
        return self.confidence_head(hidden).float().sigmoid()
