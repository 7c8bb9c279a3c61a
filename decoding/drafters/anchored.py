"""Block diffusion whose blocks begin where the prefix ends: the prefix causal and cached, a block seen as a whole."""

from __future__ import annotations

import torch
from torch import Tensor

from specfrontier.decoding.drafters.base import Draft, DraftRequest
from specfrontier.decoding.drafters.block_diffusion import BlockDiffusionDrafter
from specfrontier.decoding.drafters.masked import fill_canvas


class AnchoredDrafter(BlockDiffusionDrafter):
    """Masked diffusion inside a block anchored at the prefix's last token.

    As in SDAR the prefix is cached and the block is filled over K steps. Unlike SDAR, whose blocks stand at multiples
    of B, a block begins after any prefix, so that no draft is cut short by a block's end; and row i - 1 predicts token
    i, as in the causal model that such a drafter is made from.
    """

    def session(self) -> AnchoredSession:
        return AnchoredSession(self)


class AnchoredSession:
    """Keeps the keys and values of the prefix but its last token, which opens the block."""

    def __init__(self, drafter: AnchoredDrafter) -> None:
        self.drafter, self.cache = drafter, drafter.network.new_cache()

    def draft(self, request: DraftRequest) -> Draft:
        drafter, prefix = self.drafter, request.prefix
        canvas = torch.full((request.block_size,), drafter.mask_id, device=prefix.device)
        everywhere = torch.arange(len(canvas), device=prefix.device)

        def logits_of(tokens: Tensor) -> Tensor:
            return self._logits(prefix, tokens)

        return fill_canvas(logits_of, canvas, everywhere, drafter.mask_id, request, drafter.sampling, drafter.unmasking)

    def _logits(self, prefix: Tensor, canvas: Tensor) -> Tensor:
        """Logits [B, V] of the canvas; the prefix's new tokens are cached on the way."""
        network, held = self.drafter.network, self.cache.length
        ids = torch.cat((prefix[held:], canvas)).to(network.device)
        new, size = len(prefix) - 1 - held, len(canvas)
        mask = anchored_mask(held, new, size + 1, ids.device) if new else None
        logits = network(ids[None], mask=mask, cache=self.cache, rows=slice(new, new + size))
        self.cache.crop(len(prefix) - 1)
        return logits[0, :, : self.drafter.vocab_size].to(canvas.device)


def anchored_mask(held: int, new: int, size: int, device: torch.device) -> Tensor:
    """[new + size, held + new + size], true where a row may look: text at what came before it, the block everywhere."""
    mask = torch.ones(new + size, held + new + size, dtype=torch.bool, device=device).tril(held)
    mask[new:] = True
    return mask
