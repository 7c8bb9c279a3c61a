"""What DFlash and DSpark share: a block anchored at the last token, conditioned on the verifier's hidden states."""

from __future__ import annotations

import torch
from torch import Tensor

from specfrontier.decoding.drafters.base import DraftRequest, Effort
from specfrontier.decoding.networks.feature_backbone import FeatureBackbone
from specfrontier.errors import InputError


class FeatureContext:
    """The verifier's features of the prefix, as keys and values of the drafter's layers.

    Features exist for every token that the verifier has been fed: all of the prefix but its last token, the
    anchor. The anchor opens the block as a token; its features come with the next round.
    """

    def __init__(self, network: FeatureBackbone) -> None:
        self.network, self.cache = network, network.new_cache()

    def hidden(self, request: DraftRequest, block: Tensor) -> Tensor:
        """Hidden states [T, hidden] of a block whose embeddings [T, hidden] begin with the anchor's."""
        features = request.features
        if features is None:
            features = torch.zeros(0, self.network.feature_size)
        if self.cache.length + len(features) != len(request.prefix) - 1:
            raise ValueError(
                f"{len(features)} new features after {self.cache.length} cached ones do not cover a prefix of "
                f"{len(request.prefix)} tokens without its last"
            )
        device = self.network.device
        return self.network(block.to(device), features.to(device), self.cache)


def anchored_block(prefix: Tensor, block_size: int, mask_id: int) -> Tensor:
    """The ids [block_size] that are fed: the prefix's last token, then masks."""
    block = torch.full((block_size,), mask_id, device=prefix.device)
    block[0] = prefix[-1]
    return block


def check_one_pass(effort: Effort, family: str) -> None:
    """Raise InputError unless K = 1 is asked for."""
    if effort.threshold is not None or effort.steps != 1:
        raise InputError(
            f"{family} drafts in one pass ({effort.label} asked): it was trained for a single pass over the verifier's "
            "hidden states, which no second step could renew before the verifier runs again; give K=1"
        )
