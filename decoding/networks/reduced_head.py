"""A head over the tokens that a drafter may propose (EAGLE-3's draft vocabulary; FR-Spec, Zhao et al., 2025).

Most of a large vocabulary never occurs in a drafter's domain, and its head costs more than a shallow drafter's layers.
A token that is left out has q = 0: it is never drafted, and verification stays as exact as it was.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from specfrontier.errors import InputError


class ReducedHead(nn.Module):
    """Hidden states [..., hidden] to logits [..., V], minus infinity outside the draft vocabulary.

    Args:
        vocab_size: V.
        draft_vocab_size: tokens that may be proposed.
    """

    ids: Tensor
    weight: Tensor

    def __init__(self, vocab_size: int, draft_vocab_size: int) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.register_buffer("ids", torch.arange(draft_vocab_size))
        self.register_buffer("weight", None, persistent=False)

    def check_ids(self, source: str) -> None:
        """Raise InputError unless the ids are a draft vocabulary: integers in [0, V), each once, in rising order.

        An id that stands twice would have the logit of whichever is written last.
        """
        ids, fault = self.ids, None
        if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
            fault = f"are of type {ids.dtype}, not integers"
        elif len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < self.vocab_size:
            fault = f"reach from {int(ids.min())} to {int(ids.max())}, outside [0, {self.vocab_size - 1}]"
        elif bool((ids.diff() <= 0).any()):
            at = int((ids.diff() <= 0).nonzero()[0])
            fault = f"do not rise ({int(ids[at])}, then {int(ids[at + 1])})"
        if fault is not None:
            raise InputError(f"the draft vocabulary's ids in {source} {fault}; give each id once, in rising order")

    def take_rows(self, weight: Tensor) -> ReducedHead:
        """Use the rows of a whole head's weight [V, hidden]; the ids must be in place."""
        self.weight = weight.detach()[self.ids.to(weight.device)]
        return self

    def forward(self, hidden: Tensor) -> Tensor:
        logits = hidden.new_full((*hidden.shape[:-1], self.vocab_size), -torch.inf)
        logits[..., self.ids] = hidden @ self.weight.T
        return logits
