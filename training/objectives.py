"""What each embedded model learns: the next token, the masked tokens, or the clean tokens under uniform noise.

Rows are shifted as in Dream: row i - 1 predicts token i, for the diffusion drafters too.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from specfrontier.decoding.networks.backbone import Backbone
from training.batches import CanvasBatch, CausalBatch

FULL_NOISE = 0.35
"""Share of canvases that are wholly noise, the only state that a one-step draft sees."""


def causal_loss(network: Backbone, batch: CausalBatch, generator: torch.Generator) -> Tensor:
    """Cross-entropy of the answer's tokens."""
    hidden = network.hidden(batch.ids[:, :-1], causal=True)
    wanted = batch.is_answer[:, 1:]
    return F.cross_entropy(network.lm_head(hidden[wanted]), batch.ids[:, 1:][wanted])


def _noise_level(rows: int, generator: torch.Generator) -> Tensor:
    """t [rows, 1]: the share of a canvas that is noise."""
    t = torch.rand(rows, 1, generator=generator)
    return torch.where(torch.rand(rows, 1, generator=generator) < FULL_NOISE, 1.0, t)


def _canvas_logits(network: Backbone, batch: CanvasBatch, noisy: Tensor, wanted: Tensor) -> Tensor:
    start = batch.ids.shape[1] - batch.block_size
    ids = torch.cat((batch.ids[:, :start], noisy), dim=1)
    hidden = network.hidden(ids)[:, start - 1 : -1]
    return network.lm_head(hidden[wanted])


def masked_loss(mask_id: int) -> Callable[[Backbone, CanvasBatch, torch.Generator], Tensor]:
    """Cross-entropy of the masked tokens of the canvas, each masked with probability t."""

    def loss(network: Backbone, batch: CanvasBatch, generator: torch.Generator) -> Tensor:
        clean = batch.ids[:, -batch.block_size :]
        masked = torch.rand(clean.shape, generator=generator) < _noise_level(len(clean), generator)
        logits = _canvas_logits(network, batch, clean.masked_fill(masked, mask_id), masked)
        return F.cross_entropy(logits, clean[masked])

    return loss


def uniform_loss(vocab_size: int) -> Callable[[Backbone, CanvasBatch, torch.Generator], Tensor]:
    """Cross-entropy of every token of the canvas, each replaced by a uniform draw with probability t."""

    def loss(network: Backbone, batch: CanvasBatch, generator: torch.Generator) -> Tensor:
        clean = batch.ids[:, -batch.block_size :]
        replaced = torch.rand(clean.shape, generator=generator) < _noise_level(len(clean), generator)
        random = torch.randint(vocab_size, clean.shape, generator=generator)
        logits = _canvas_logits(network, batch, torch.where(replaced, random, clean), torch.ones_like(replaced))
        return F.cross_entropy(logits, clean.flatten())

    return loss
