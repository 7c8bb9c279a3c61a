"""Prompt lookup: propose what followed the last few tokens where they stood before. Costs no forward."""

from __future__ import annotations

import torch
from torch import Tensor

from specfrontier.decoding.drafters.base import Draft, DraftRequest, Effort
from specfrontier.errors import InputError


class NgramDrafter:
    """The free baseline: the longest repeated suffix of the prefix, from `longest` down to one token.

    Its draft is a function of the prefix, so q is one-hot. Without a match it proposes nothing, and the round is
    a plain step of the verifier.

    Args:
        vocab_size: as every drafter's.
        longest: the longest suffix that is looked for, >= 1.
    """

    feature_layers: tuple[int, ...] = ()
    max_block_size: int | None = None

    def __init__(self, *, vocab_size: int, longest: int = 3) -> None:
        if longest < 1:
            raise InputError(f"longest is {longest}; give an integer >= 1")
        self.vocab_size, self.longest = vocab_size, longest

    def session(self) -> NgramDrafter:
        return self

    def check_effort(self, effort: Effort) -> None:
        if effort.threshold is not None or effort.steps != 1:
            raise InputError(f"prompt lookup has no denoising steps to spend ({effort.label} asked); give K=1")

    def draft(self, request: DraftRequest) -> Draft:
        if request.alone:
            raise InputError("prompt lookup proposes nothing where nothing repeats, and cannot run without a verifier")
        prefix = request.prefix
        start = self._continuation(prefix)
        tokens = prefix[start : start + request.block_size]
        return Draft(tokens, None, torch.ones_like(tokens), forwards=0)

    def _continuation(self, prefix: Tensor) -> int:
        """Where the text after the suffix's latest earlier occurrence begins; the prefix's end if there is none."""
        for n in range(min(self.longest, len(prefix) - 1), 0, -1):
            earlier = prefix[:-1].unfold(0, n, 1)
            found = (earlier == prefix[-n:]).all(dim=1).nonzero()
            if len(found):
                return int(found[-1]) + n
        return len(prefix)
