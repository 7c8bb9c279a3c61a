"""DFlash: one pass over a masked block, conditioned on the verifier's features."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from specfrontier.decoding.drafters.base import Draft, DraftRequest, Effort
from specfrontier.decoding.drafters.feature_conditioned import FeatureContext, anchored_block, check_one_pass
from specfrontier.decoding.drafters.masked import without
from specfrontier.decoding.networks.feature_backbone import FeatureBackbone
from specfrontier.decoding.sampling import Sampling, draw


class DFlashDrafter:
    """DFlash: embedding and head are the verifier's; row i of the block predicts its own token.

    A block of B positions holds the anchor and B - 1 drafted tokens. The model always sees its whole block; a
    shorter request keeps the first tokens. Published drafts are greedy, so that q is one-hot.

    Args:
        network: DFlash's layers.
        embed: the verifier's embedding, ids [T] to [T, hidden].
        head: the verifier's head, hidden states [T, hidden] to logits [T, V].
        block_size: the model's B.
        mask_id: id of [MASK], never proposed.
        feature_layers: verifier layers whose outputs are read.
    """

    def __init__(
        self,
        network: FeatureBackbone,
        *,
        embed: Callable[[Tensor], Tensor],
        head: Callable[[Tensor], Tensor],
        block_size: int,
        mask_id: int,
        vocab_size: int,
        feature_layers: tuple[int, ...],
        sampling: Sampling,
    ) -> None:
        self.network, self.embed, self.head = network, embed, head
        self.block_size, self.max_block_size = block_size, block_size
        self.mask_id, self.vocab_size = mask_id, vocab_size
        self.feature_layers, self.sampling = feature_layers, sampling

    def session(self) -> DFlashSession:
        return DFlashSession(self)

    def check_effort(self, effort: Effort) -> None:
        check_one_pass(effort, "DFlash")


class DFlashSession:
    """Keeps the context that the verifier's features became."""

    def __init__(self, drafter: DFlashDrafter) -> None:
        self.drafter, self.context = drafter, FeatureContext(drafter.network)

    def draft(self, request: DraftRequest) -> Draft:
        drafter, prefix = self.drafter, request.prefix
        block = anchored_block(prefix, drafter.block_size, drafter.mask_id)
        hidden = self.context.hidden(request, drafter.embed(block))[1 : request.block_size + 1]
        logits = drafter.head(hidden.to(prefix.device))[:, : drafter.vocab_size]
        law = drafter.sampling.law(without(logits, drafter.mask_id))
        tokens = draw(law, request.generator)
        return Draft(tokens, None if drafter.sampling.greedy else law, torch.ones_like(tokens), forwards=1)
