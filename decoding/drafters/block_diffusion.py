"""Block diffusion: masked diffusion inside a block, causal between blocks, with a cached prefix (SDAR)."""

from __future__ import annotations

import torch
from torch import Tensor

from specfrontier.decoding.drafters.base import Draft, DraftRequest, DraftSession, Effort
from specfrontier.decoding.drafters.masked import Unmasking, check_threshold, fill_canvas
from specfrontier.decoding.networks.backbone import Backbone
from specfrontier.decoding.sampling import Sampling


class BlockDiffusionDrafter:
    """SDAR: blocks stand at multiples of the model's block size B, counted from the first token of the prompt.

    A draft fills what is left of the open block, the one that holds the prefix's end: at most B tokens, fewer
    if the prefix ends inside a block. The prefix's tail in the open block is part of the canvas, and is cached
    only once its block is full. Row i predicts token i.

    Args:
        network: SDAR's body.
        block_size: the model's B.
        mask_id: id of [MASK], never proposed.
        vocab_size: laws are over ids below this.
    """

    feature_layers: tuple[int, ...] = ()

    def __init__(
        self,
        network: Backbone,
        *,
        block_size: int,
        mask_id: int,
        vocab_size: int,
        sampling: Sampling,
        unmasking: Unmasking,
    ) -> None:
        self.network, self.block_size, self.max_block_size = network, block_size, block_size
        self.mask_id, self.vocab_size = mask_id, vocab_size
        self.sampling, self.unmasking = sampling, unmasking

    def session(self) -> DraftSession:
        return BlockDiffusionSession(self)

    def check_effort(self, effort: Effort) -> None:
        check_threshold(effort, self.unmasking)


class BlockDiffusionSession:
    """Keeps the keys and values of the prefix's full blocks.

    The published sampler spends a forward of its own to store a finished block. Here, where a verifier decides
    what the block becomes, the final block is fed together with the next draft's first step: K forwards in all.
    """

    def __init__(self, drafter: BlockDiffusionDrafter) -> None:
        self.drafter, self.cache = drafter, drafter.network.new_cache()

    def draft(self, request: DraftRequest) -> Draft:
        drafter, prefix = self.drafter, request.prefix
        size = drafter.block_size
        known = len(prefix) % size
        canvas = torch.full((size,), drafter.mask_id, device=prefix.device)
        canvas[:known] = prefix[len(prefix) - known :]
        wanted = min(request.block_size, size - known)
        positions = torch.arange(known, known + wanted, device=prefix.device)

        def logits_of(tokens: Tensor) -> Tensor:
            return self._logits(prefix[: len(prefix) - known], tokens)

        filled = fill_canvas(
            logits_of, canvas, positions, drafter.mask_id, request, drafter.sampling, drafter.unmasking
        )
        return filled.window(known, known + wanted)

    def _logits(self, closed: Tensor, block: Tensor) -> Tensor:
        """Logits [B, V] of the open block; the full blocks `closed` before it are cached on the way."""
        drafter, size = self.drafter, self.drafter.block_size
        start = self.cache.length
        ids = torch.cat((closed[start:], block)).to(drafter.network.device)
        mask = block_causal_mask(start, len(ids), size, ids.device) if len(ids) > size else None
        logits = drafter.network(ids[None], mask=mask, cache=self.cache, rows=slice(-size, None))
        self.cache.crop(len(closed))
        return logits[0, :, : drafter.vocab_size].to(block.device)


def block_causal_mask(start: int, length: int, block_size: int, device: torch.device) -> Tensor:
    """[length, start + length], true where position start + i may see position j: its own block and earlier ones."""
    blocks = torch.arange(start + length, device=device) // block_size
    return blocks[start:, None] >= blocks[None]
