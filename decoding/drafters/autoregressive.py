"""Autoregressive drafting: a smaller causal model, one forward a token."""

from __future__ import annotations

import torch

from specfrontier.decoding.causal import CausalModel, CausalSession
from specfrontier.decoding.drafters.base import Draft, DraftRequest, Effort
from specfrontier.decoding.sampling import Sampling, draw
from specfrontier.errors import InputError


class AutoregressiveDrafter:
    """Any causal model with the verifier's tokenizer. Its draft satisfies both conditions of Proposition 2."""

    feature_layers: tuple[int, ...] = ()
    max_block_size: int | None = None

    def __init__(
        self, model: CausalModel, *, vocab_size: int, sampling: Sampling, forbidden: tuple[int, ...] = ()
    ) -> None:
        self.model, self.vocab_size, self.sampling = model, vocab_size, sampling
        self.forbidden = list(forbidden)

    def session(self) -> AutoregressiveDraftSession:
        return AutoregressiveDraftSession(self)

    def check_effort(self, effort: Effort) -> None:
        if effort.threshold is not None or effort.steps != 1:
            raise InputError(
                f"an autoregressive drafter has no denoising steps to spend ({effort.label} asked); give K=1"
            )


class AutoregressiveDraftSession:
    """Keeps the prefix's keys and values between blocks."""

    def __init__(self, drafter: AutoregressiveDrafter) -> None:
        self.drafter = drafter
        self.session: CausalSession = drafter.model.session()
        self.seen: torch.Tensor | None = None

    def draft(self, request: DraftRequest) -> Draft:
        drafter, prefix = self.drafter, request.prefix
        tokens, laws = [], []
        feed = prefix[self._keep(prefix) :]
        for _ in range(request.block_size):
            logits = self.session.forward(feed, rows=1)[-1, : drafter.vocab_size]
            if drafter.forbidden:
                logits[drafter.forbidden] = -torch.inf
            law = drafter.sampling.law(logits)
            feed = draw(law, request.generator)[None]
            tokens.append(feed)
            laws.append(law)
        block = torch.cat(tokens)
        self.seen = torch.cat((prefix, block[:-1]))
        steps = torch.arange(1, len(block) + 1, device=block.device)
        return Draft(block, None if drafter.sampling.greedy else torch.stack(laws), steps, forwards=len(block))

    def _keep(self, prefix: torch.Tensor) -> int:
        """Roll the cache back to what it shares with `prefix`, leaving a token to feed; return that length."""
        if self.seen is None:
            return 0
        shared = min(len(self.seen), len(prefix) - 1)
        differ = (self.seen[:shared] != prefix[:shared]).nonzero()
        shared = int(differ[0]) if len(differ) else shared
        self.session.rollback(len(self.seen) - shared)
        return shared
