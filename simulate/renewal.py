"""Whole texts from independent rounds: how often rounds start along a text, and what they cost there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specfrontier.simulate.costs import Costs
from specfrontier.simulate.grid import Effort
from specfrontier.theory.tokens import TokenLaw

__all__ = ["Texts", "start_rate", "text_rounds", "text_seconds"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Texts:
    """The lengths of a task's outputs.

    Args:
        lengths: ``[n]`` output tokens, ascending, the end token included.
        shares: ``[n]`` their shares, summing to 1.
        prompt_tokens: mean prompt length.
    """

    lengths: NDArray[np.int64]
    shares: FloatArray
    prompt_tokens: float

    @classmethod
    def of(cls, lengths: ArrayLike, prompt_tokens: float) -> Texts:
        """From one length a text; a mean length counts as one text."""
        rounded = np.maximum(np.rint(np.atleast_1d(np.asarray(lengths, dtype=np.float64))), 1).astype(np.int64)
        values, counts = np.unique(rounded, return_counts=True)
        return cls(values, counts / counts.sum(), prompt_tokens)

    @property
    def mean(self) -> float:
        """Mean output tokens."""
        return float(self.lengths @ self.shares)


def start_rate(law: TokenLaw, longest: int) -> FloatArray:
    """``[T]``: u_t, the probability that a round starts after t tokens (the renewal sequence of N's law)."""
    pmf = law.pmf
    reach = pmf.shape[-1]
    u = np.zeros(longest + reach)
    u[0] = 1.0
    for t in range(longest):
        u[t + 1 : t + 1 + reach] += u[t] * pmf
    return u[:longest]


def text_rounds(starts: FloatArray, texts: Texts) -> float:
    """Expected rounds of a text: the last one's surplus past the end is thrown away, so more than length / E[N]."""
    return float(np.cumsum(starts)[texts.lengths - 1] @ texts.shares)


def text_seconds(starts: FloatArray, texts: Texts, costs: Costs, effort: Effort, block_size: int) -> float:
    """Expected decoding seconds of a text; blocks near its end are cut there before they are verified."""
    t = np.arange(len(starts))
    left = texts.lengths[:, None] - t
    verified = np.clip(left, 1, block_size)
    seconds = costs.round_s(effort, block_size, verified, texts.prompt_tokens + t, first=t == 0)
    return float((np.where(left > 0, seconds * starts, 0.0).sum(axis=1)) @ texts.shares)
