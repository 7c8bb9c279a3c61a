"""Distillation through a sample of a large vocabulary.

The head dominates the cost of training a shallow drafter. A step uses the tokens of its own texts, the most frequent
ones of all text, and a random sample of the others, whose logits are raised by log(others / sampled), so that the
normaliser stays unbiased (Bengio and Senecal, 2008). Drafter and verifier are compared on the same sample.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

COMMON, SAMPLED = 1024, 2048


class SampledHead:
    """The verifier's head, frozen, restricted to a fresh sample of tokens at every step.

    Args:
        weight: [V, hidden].
        text: ids of the training text, each as often as it is there; a token that it lacks is never used.
        temperature: at which both laws are compared.
    """

    def __init__(self, weight: Tensor, text: Tensor, temperature: float) -> None:
        self.weight, self.temperature = weight, temperature
        self.tokens, counts = text.unique(return_counts=True)
        self.common = self.tokens[counts.argsort(descending=True)[:COMMON]]
        self.use(self.tokens)

    def use(self, certain: Tensor, drawn: Tensor | None = None, raised: float = 0.0) -> None:
        """Restrict the head to `certain` tokens, and to `drawn` ones whose logits are `raised`."""
        drawn = certain[:0] if drawn is None else drawn
        self.ids, order = torch.cat((certain, drawn)).sort()
        self.rows = self.weight[self.ids]
        self.correction = (order >= len(certain)) * raised

    def resample(self, wanted: Tensor, generator: torch.Generator) -> None:
        """Take the tokens of the next step: the `wanted` ids, the common ones, and a sample of the others."""
        certain = torch.cat((wanted, self.common)).unique()
        others = self.tokens[torch.isin(self.tokens, certain, invert=True)]
        drawn = others[torch.randperm(len(others), generator=generator)[:SAMPLED]]
        self.use(certain, drawn, math.log(max(len(others), 1) / max(len(drawn), 1)))

    def log_law(self, hidden: Tensor) -> Tensor:
        """Log-probabilities [T, sample] at the temperature, from hidden states [T, hidden]."""
        return F.log_softmax(hidden @ self.rows.T / self.temperature + self.correction, dim=-1)

    def divergence(self, hidden: Tensor, verifier_hidden: Tensor, weights: Tensor) -> Tensor:
        """Weighted sum of KL(p || q) over rows [T, hidden]; only `hidden` is differentiated."""
        with torch.no_grad():
            p = self.log_law(verifier_hidden)
        return (F.kl_div(self.log_law(hidden), p, log_target=True, reduction="none").sum(-1) * weights).sum()

    def surprise(self, hidden: Tensor, tokens: Tensor, weights: Tensor) -> Tensor:
        """Weighted sum of -log q(token) over rows [T, hidden]; tokens outside the sample don't count."""
        columns = torch.searchsorted(self.ids, tokens).clamp(max=len(self.ids) - 1)
        weights = weights * (self.ids[columns] == tokens)
        return -(self.log_law(hidden).gather(1, columns[:, None]).squeeze(1) * weights).sum()

    @torch.no_grad()
    def overlap(self, hidden: Tensor, verifier_hidden: Tensor) -> Tensor:
        """Sum of min(p, q) per row [T]: the acceptance rate at lambda = 0 on this sample of tokens."""
        return torch.minimum(self.log_law(hidden), self.log_law(verifier_hidden)).exp().sum(-1)
