"""DSpark: a parallel backbone, a serial Markov head, and a confidence head that may shorten the block."""

from __future__ import annotations

import torch
from torch import Tensor

from specfrontier.decoding.drafters.base import Draft, DraftRequest, Effort
from specfrontier.decoding.drafters.feature_conditioned import FeatureContext, anchored_block, check_one_pass
from specfrontier.decoding.drafters.masked import without
from specfrontier.decoding.networks.dspark import DSparkNetwork
from specfrontier.decoding.sampling import Sampling, draw
from specfrontier.errors import InputError


class DSparkDrafter:
    """DSpark: row i of the block predicts token i + 1, so that B positions draft B tokens.

    The backbone runs once; then each token is drawn after the Markov head has corrected its logits by the token
    before it. The confidence head looks at the hidden state and at the previous token, not at the token it
    judges, so that cutting the block where it falls below a threshold leaves verification exact.

    Args:
        network: backbone, embedding and heads.
        block_size: the model's B.
        mask_id: id of [MASK], never proposed.
        feature_layers: verifier layers whose outputs are read.
        confidence_threshold: positions from the first whose predicted acceptance is below it are not proposed;
            0 proposes all. An effort with a threshold takes its place.
    """

    def __init__(
        self,
        network: DSparkNetwork,
        *,
        block_size: int,
        mask_id: int,
        vocab_size: int,
        feature_layers: tuple[int, ...],
        sampling: Sampling,
        confidence_threshold: float = 0.0,
    ) -> None:
        if not 0 <= confidence_threshold <= 1:
            raise InputError(f"confidence_threshold is {confidence_threshold}; give a number in [0, 1]")
        self.network = network
        self.block_size, self.max_block_size = block_size, block_size
        self.mask_id, self.vocab_size = mask_id, vocab_size
        self.feature_layers, self.sampling = feature_layers, sampling
        self.confidence_threshold = confidence_threshold

    def session(self) -> DSparkSession:
        return DSparkSession(self)

    def check_effort(self, effort: Effort) -> None:
        if effort.threshold is None:
            check_one_pass(effort, "DSpark")
        elif self.network.confidence_head is None:
            raise InputError(f"this drafter has no confidence head to compare {effort.label} with; give K=1")


class DSparkSession:
    """Keeps the context that the verifier's features became."""

    def __init__(self, drafter: DSparkDrafter) -> None:
        self.drafter, self.context = drafter, FeatureContext(drafter.network)

    def draft(self, request: DraftRequest) -> Draft:
        drafter, prefix = self.drafter, request.prefix
        network = drafter.network
        block = anchored_block(prefix, drafter.block_size, drafter.mask_id).to(network.device)
        hidden = self.context.hidden(request, network.embed_tokens(block))[: request.block_size]
        tokens, laws = self._draw(network.lm_head(hidden), prefix[-1:], request.generator)
        steps = torch.arange(1, len(tokens) + 1, device=tokens.device)
        draft = Draft(tokens, None if drafter.sampling.greedy else laws, steps, forwards=1)
        threshold = request.effort.threshold or drafter.confidence_threshold
        if threshold == 0:
            return draft
        previous = torch.cat((prefix[-1:], tokens[:-1])).to(network.device)
        unsure = network.confidence(hidden, previous) < threshold
        return draft.truncated(int(unsure.nonzero()[0])) if bool(unsure.any()) else draft

    def _draw(self, logits: Tensor, anchor: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Tokens [T] one after the other, and the laws [T, V] that they were drawn from."""
        drafter = self.drafter
        previous, tokens, laws = anchor, [], []
        for row in logits:
            corrected = drafter.network.corrected(row[None], previous.to(row.device)).to(anchor.device)
            law = drafter.sampling.law(without(corrected[:, : drafter.vocab_size], drafter.mask_id))
            previous = draw(law, generator)
            tokens.append(previous)
            laws.append(law)
        return torch.cat(tokens), torch.cat(laws)
