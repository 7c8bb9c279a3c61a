"""Uno: the verifier's own weights draft through an adapter, from uniform noise in place of the tokens to come."""

from __future__ import annotations

import torch
from torch import Tensor

from specfrontier.decoding.drafters.base import Draft, DraftRequest, Effort
from specfrontier.decoding.drafters.masked import without
from specfrontier.decoding.drafters.uniform import check_fixed_steps, redraw_block
from specfrontier.decoding.networks.adapter import AdaptedBackbone
from specfrontier.decoding.sampling import Sampling


class UnoDrafter:
    """Uno: a block is the last token followed by noise; row i predicts token i + 1, attention is causal.

    The adapter is off at the last token and on at the noise. So the first drafted token has the verifier's own
    law (under the draft's sampling), and the noise of a position reaches only the tokens after it. K > 1 repeats
    the pass on a partly redrawn block, as uniform diffusion does.

    Args:
        network: the verifier's weights with the adapter.
        noise_ids: noise is uniform over first..last - 1; Uno was trained on 1..[MASK] - 1.
        mask_id: id of [MASK], never proposed.
    """

    feature_layers: tuple[int, ...] = ()
    max_block_size: int | None = None

    def __init__(
        self,
        network: AdaptedBackbone,
        *,
        noise_ids: tuple[int, int],
        mask_id: int,
        vocab_size: int,
        sampling: Sampling,
    ) -> None:
        self.network, self.noise_ids, self.mask_id = network, noise_ids, mask_id
        self.vocab_size, self.sampling = vocab_size, sampling

    def session(self) -> UnoSession:
        return UnoSession(self)

    def check_effort(self, effort: Effort) -> None:
        check_fixed_steps(effort, "Uno")


class UnoSession:
    """Keeps the prefix's keys and values, which are the verifier's, as the adapter is off at the prefix."""

    def __init__(self, drafter: UnoDrafter) -> None:
        self.drafter, self.cache = drafter, drafter.network.new_cache()

    def draft(self, request: DraftRequest) -> Draft:
        drafter, prefix, size = self.drafter, request.prefix, request.block_size
        steps = check_fixed_steps(request.effort, "Uno")
        first_law: list[Tensor] = []

        def laws_of(noisy: Tensor, step: int) -> Tensor:
            if step == 1:
                law = self._laws(prefix[self.cache.length :], noisy[: size - 1], keep_last=True, until=len(prefix))
                first_law.append(law[:1])
                return law
            rest = self._laws(prefix[:0], noisy[: size - 1], keep_last=False, until=len(prefix))
            return torch.cat((first_law[0], rest))

        # A block of one token has no noise that a further step could refine.
        tokens, laws = redraw_block(laws_of, size, steps if size > 1 else 1, drafter.noise_ids, request.generator)
        ran = steps if size > 1 else 1
        kept = None if drafter.sampling.greedy else laws
        return Draft(tokens, kept, torch.full_like(tokens, ran), forwards=ran)

    def _laws(self, known: Tensor, noise: Tensor, *, keep_last: bool, until: int) -> Tensor:
        """Laws after each noise token, and before them after the last known one; caches the `until` prefix tokens."""
        drafter = self.drafter
        ids = torch.cat((known, noise)).to(drafter.network.device)
        adapted = torch.arange(len(ids), device=ids.device) >= len(known)
        rows = slice(len(ids) - len(noise) - keep_last, None)
        logits = drafter.network(ids, adapted, self.cache, rows)[:, : drafter.vocab_size].to(noise.device)
        self.cache.crop(until)
        return drafter.sampling.law(without(logits, drafter.mask_id))
