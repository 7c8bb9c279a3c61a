"""Distillation through a sample of a large vocabulary.

The head dominates the cost of training a shallow drafter. A step uses the tokens that the text holds and a random
sample of the others, whose logits are raised by log(others / sampled), so that the normaliser stays unbiased (Bengio
and Senecal, 2008). Drafter and verifier are compared on the same sample.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

SAMPLED = 2048


class SampledHead:
    """The verifier's head, frozen, restricted to a fresh sample of tokens at every step.

    Args:
        weight: [V, hidden].
        seen: ids that the training text holds; always in the sample.
        temperature: at which both laws are compared.
    """

    def __init__(self, weight: Tensor, seen: Tensor, temperature: float) -> None:
        self.weight, self.temperature = weight, temperature
        self.seen = seen.unique()
        others = torch.ones(len(weight), dtype=torch.bool)
        others[self.seen] = False
        self.others = others.nonzero().squeeze(1)
        self.raised = math.log(len(self.others) / SAMPLED)

    def resample(self, generator: torch.Generator) -> None:
        """Draw the other tokens of the next step."""
        drawn = self.others[torch.randperm(len(self.others), generator=generator)[:SAMPLED]]
        self.rows = self.weight[torch.cat((self.seen, drawn))]
        self.correction = torch.zeros(len(self.rows))
        self.correction[len(self.seen) :] = self.raised

    def log_law(self, hidden: Tensor) -> Tensor:
        """Log-probabilities [T, sample] at the temperature, from hidden states [T, hidden]."""
        return F.log_softmax(hidden @ self.rows.T / self.temperature + self.correction, dim=-1)

    def divergence(self, hidden: Tensor, verifier_hidden: Tensor, weights: Tensor) -> Tensor:
        """Weighted sum of KL(p || q) over rows [T, hidden]; only `hidden` is differentiated."""
        with torch.no_grad():
            p = self.log_law(verifier_hidden)
        return (F.kl_div(self.log_law(hidden), p, log_target=True, reduction="none").sum(-1) * weights).sum()

    def surprise(self, hidden: Tensor, tokens: Tensor, weights: Tensor) -> Tensor:
        """Weighted sum of -log q(token) over rows [T, hidden]; tokens that are not among `seen` don't count."""
        columns = torch.searchsorted(self.seen, tokens).clamp(max=len(self.seen) - 1)
        weights = weights * (self.seen[columns] == tokens)
        return -(self.log_law(hidden).gather(1, columns[:, None]).squeeze(1) * weights).sum()

    @torch.no_grad()
    def overlap(self, hidden: Tensor, verifier_hidden: Tensor) -> Tensor:
        """Sum of min(p, q) per row [T]: the acceptance rate at lambda = 0 on this sample of tokens."""
        return torch.minimum(self.log_law(hidden), self.log_law(verifier_hidden)).exp().sum(-1)
