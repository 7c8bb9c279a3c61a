"""A causal language model with a cache that can be rolled back: verifier and autoregressive drafter alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel


@dataclass(frozen=True)
class CausalModel:
    """Any causal model of transformers.

    Attributes:
        network: the model, in evaluation mode.
        feature_layers: decoder layers whose outputs are wanted (layer i's output is `hidden_states[i + 1]`).
        compiler: backend of `torch.compile` for the forward, such as `inductor`; None runs it eagerly.
    """

    network: PreTrainedModel
    feature_layers: tuple[int, ...] = ()
    compiler: str | None = None

    @property
    def device(self) -> torch.device:
        """Where input ids go."""
        return self.network.device

    @cached_property
    def forward(self) -> Callable[..., Any]:
        """The network's forward, compiled if asked for.

        Shapes are dynamic: a few graphs serve every block size and context, and the cache stays the one of eager
        forwards, which grows with the text and is cropped after a rejection.
        """
        if self.compiler is None:
            return self.network
        return torch.compile(self.network, dynamic=True, backend=self.compiler)

    def session(self) -> CausalSession:
        """Begin a generation with an empty cache."""
        return CausalSession(self)


class CausalSession:
    """One sequence: what has been fed, and its keys and values."""

    def __init__(self, model: CausalModel) -> None:
        self.model = model
        self.length = 0
        self.features: Tensor | None = None
        self.cache = DynamicCache(config=model.network.config)
        # Sliding-window layers (Gemma) forget what a rejection must bring back, unless told to keep it.
        self.cache.activate_past_recording()

    def forward(self, tokens: Tensor, rows: int | None = None) -> Tensor:
        """Feed `tokens` [T] and return the logits [rows, V] of the last `rows` of them (None: all T).

        Row t is the law of the token after `tokens[t]`. `features` then holds [T, layers * hidden] of the fed
        tokens if the model was asked for them.
        """
        layers = self.model.feature_layers
        out = self.model.forward(
            input_ids=tokens[None].to(self.model.device),
            cache=self.cache,
            use_cache=True,
            logits_to_keep=0 if rows is None else rows,
            output_hidden_states=bool(layers),
        )
        self.length += len(tokens)
        if layers:
            states = [out.hidden_states[i + 1][0].to(self.model.device) for i in layers]
            self.features = torch.cat(states, dim=-1)
        return out.logits[0].to(self.model.device)

    def rollback(self, count: int) -> None:
        """Forget the last `count` tokens fed (>= 0). Must follow every forward, with 0 if all are kept."""
        self.cache.crop(-count)
        self.length -= count
