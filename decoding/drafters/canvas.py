"""Logits of a canvas after a prefix, one denoising step after another."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor


class CanvasNetwork(Protocol):
    """A network that sees prefix and canvas in both directions, such as `networks.backbone.Backbone`."""

    def __call__(self, ids: Tensor, *, rows: slice = ..., cache: Any = ...) -> Tensor:
        """Ids [1, T] to logits [1, len(rows), V] of the positions `rows`."""
        ...

    def new_cache(self) -> Any:
        """An empty cache of keys and values."""
        ...


class CanvasPass:
    """The forwards of one draft.

    With `prefix_cache`, the first step is a forward over prefix and canvas and the later ones feed the canvas
    alone, looking at the keys and values that the prefix had in the first. Attention in both directions means that
    these no longer reflect what the canvas has become: the later steps' laws are other laws than a full forward's,
    but they are the laws that the tokens are drawn from, so verification stays as exact as it was. This is the
    prefix cache of Fast-dLLM (Wu et al., 2025).

    Args:
        network: the denoiser.
        prefix: h [T].
        size: B, length of the canvas.
        vocab_size: logits are cut to ids below this.
        shifted: row i - 1 predicts token i (Dream); otherwise row i does.
        prefix_cache: reuse the prefix's keys and values after the first step.
    """

    def __init__(
        self, network: CanvasNetwork, prefix: Tensor, size: int, *, vocab_size: int, shifted: bool, prefix_cache: bool
    ) -> None:
        self.network, self.prefix, self.vocab_size = network, prefix, vocab_size
        self.first = len(prefix) - 1 if shifted else len(prefix)
        self.size = size
        self.cache = network.new_cache() if prefix_cache else None

    def __call__(self, canvas: Tensor) -> Tensor:
        """Logits [B, vocab_size] of the clean tokens, given the canvas [B] as it stands."""
        held = 0 if self.cache is None else self.cache.length
        ids = torch.cat((self.prefix[held:], canvas))[None]
        rows = slice(self.first - held, self.first - held + self.size)
        if self.cache is None:
            return self.network(ids, rows=rows)[0, :, : self.vocab_size]
        logits = self.network(ids, rows=rows, cache=self.cache)[0, :, : self.vocab_size]
        self.cache.crop(self.first)
        return logits
