"""Blocks cut out of a text as an anchored drafter meets them: a known last token, then slots that it has to fill.

One forward trains many blocks of one text. The text itself stands first and is causal; every block sees the text before
its anchor, and itself. This is the attention pattern of block diffusion's training (Arriola et al., 2025), with blocks
that may begin anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

WHOLLY_MASKED, LEFT_REVEALED = 0.5, 0.25
"""Shares of the blocks that hide everything and that hide all from some slot on; the rest hide at random."""
POSITION_DECAY = 5.0
"""Slot k weighs exp(-(k - 1) / POSITION_DECAY), as a rejection at an early slot wastes all later ones (DFlash)."""


@dataclass(frozen=True)
class Blocks:
    """N blocks of B slots, each after an anchor.

    Attributes:
        anchors: [N], position of each anchor in the text.
        inputs: [N, B + 1], the anchor's token and then what each slot shows, a mask or its token.
        hidden: [N, B], which slots the loss counts: masked, and inside the text.
        soft: [N], whether nothing is shown to the right of a hidden slot, so that the verifier's law given the text
            before it is the right target; otherwise the token is.
    """

    anchors: Tensor
    inputs: Tensor
    hidden: Tensor
    soft: Tensor

    @property
    def size(self) -> int:
        return self.hidden.shape[1]

    def targets(self) -> Tensor:
        """[N, B], position in the text of every slot."""
        return self.anchors[:, None] + torch.arange(1, self.size + 1)

    def positions(self) -> Tensor:
        """[N * (B + 1)], rotary positions of `inputs`."""
        return (self.anchors[:, None] + torch.arange(self.size + 1)).flatten()

    def weights(self) -> Tensor:
        """[N, B], weight of every slot in the loss."""
        return torch.exp(-torch.arange(self.size) / POSITION_DECAY) * self.hidden


def cut_blocks(
    ids: Tensor, prompt_length: int, count: int, size: int, mask_id: int, one_step: bool, generator: torch.Generator
) -> Blocks:
    """Up to `count` blocks at random anchors of the answer; with `one_step` every slot is masked."""
    length = len(ids)
    candidates = torch.arange(prompt_length - 1, length - 1)
    anchors = candidates[torch.randperm(len(candidates), generator=generator)[:count]].sort().values
    slots = anchors[:, None] + torch.arange(1, size + 1)
    masked, soft = _noise(len(anchors), size, one_step, generator)
    shown = torch.where(masked, mask_id, ids[slots.clamp(max=length - 1)])
    shown = torch.where(slots < length, shown, mask_id)
    inputs = torch.cat((ids[anchors][:, None], shown), dim=1)
    return Blocks(anchors, inputs, masked & (slots < length), soft)


def _noise(count: int, size: int, one_step: bool, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Masked slots [count, size], and which blocks hide nothing but a right end."""
    if one_step:
        return torch.ones(count, size, dtype=torch.bool), torch.ones(count, dtype=torch.bool)
    kind = torch.rand(count, 1, generator=generator)
    share = torch.rand(count, 1, generator=generator)
    slot = torch.arange(size)
    right = slot >= (share * size).long()
    scattered = torch.rand(count, size, generator=generator) < share
    masked = torch.where(
        kind < WHOLLY_MASKED, True, torch.where(kind < WHOLLY_MASKED + LEFT_REVEALED, right, scattered)
    )
    return masked, kind[:, 0] < WHOLLY_MASKED + LEFT_REVEALED


def text_and_blocks_mask(length: int, blocks: Blocks) -> Tensor:
    """[length + M, length + M] for the text followed by the blocks' M tokens, true where a row may look."""
    rows = blocks_mask(length, blocks)
    text = torch.ones(length, length, dtype=torch.bool).tril()
    nothing = torch.zeros(length, rows.shape[0], dtype=torch.bool)
    return torch.cat((torch.cat((text, nothing), dim=1), rows))


def blocks_mask(length: int, blocks: Blocks) -> Tensor:
    """[M, length + M], what the blocks' tokens see: the text before their anchor, and their own block."""
    owner = torch.arange(len(blocks.anchors)).repeat_interleave(blocks.size + 1)
    before = torch.arange(length)[None] < blocks.anchors[owner][:, None]
    return torch.cat((before, owner[:, None] == owner[None]), dim=1)
