"""Diffusion samplers in enumerable form: every outcome of a denoising step, with its probability.

These are the sampler families of the paper's drafters, reduced to what Proposition 2 needs. A sampler turns
one denoiser output into the outcomes of one step: which positions were fixed, and to which tokens. The
enumerator of ``theory/enumeration.py`` follows all of them, so that a claim about Algorithm 1's output law is
a sum and not an estimate.

Whether a sampler *selects on draws* (keeps a token because of the token itself) decides the selection
condition; the order in which it fixes positions decides the order condition. See
``docs/theory/proposition2.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MASK",
    "Canvas",
    "ConfidenceOrder",
    "ConfidenceThreshold",
    "EntropyOrder",
    "FixedOrder",
    "Placement",
    "Sampler",
    "UniformDiffusion",
]

MASK = -1

Canvas = tuple[int, ...]
"""A block under denoising: token ids, and :data:`MASK` where nothing is fixed yet."""

Placement = tuple[tuple[int, int], ...]
"""The (position, token) pairs that one step fixes, in increasing position."""

FloatArray = NDArray[np.float64]


class Sampler(Protocol):
    """What the enumerator asks of a sampler."""

    @property
    def steps(self) -> int:
        """K, the number of denoising steps of a draft."""

    @property
    def selects_on_draws(self) -> bool:
        """Whether a token is kept or discarded by a function of the token itself."""

    def start(self, block_size: int, vocab_size: int) -> Iterator[tuple[float, Canvas]]:
        """Yield each initial canvas with its probability."""

    def outcomes(self, canvas: Canvas, probs: FloatArray, step: int) -> Iterator[tuple[float, Placement]]:
        """Yield each outcome of step ``step`` (from 0) with its probability, given ``probs`` ``[B, V]``."""


class _Masked:
    """What masked-diffusion samplers share: the block starts fully masked."""

    def start(self, block_size: int, vocab_size: int) -> Iterator[tuple[float, Canvas]]:
        yield 1.0, (MASK,) * block_size


@dataclass(frozen=True)
class _Counted(_Masked):
    """Masked samplers whose step s fixes ``counts[s]`` positions."""

    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        _check_counts(self.counts)

    @property
    def steps(self) -> int:
        return len(self.counts)


@dataclass(frozen=True)
class FixedOrder(_Masked):
    """Fix given positions in a given order: step s draws the positions ``groups[s]`` from their marginals.

    Left-to-right groups give prefix-ordered unmasking, which satisfies both conditions of Proposition 2.

    Args:
        groups: K tuples of positions (from 0), a partition of the block.
    """

    groups: tuple[tuple[int, ...], ...]
    selects_on_draws = False

    def __post_init__(self) -> None:
        positions = sorted(position for group in self.groups for position in group)
        if positions != list(range(len(positions))):
            raise ValueError(f"groups must partition the positions 0..B-1, got {self.groups}")

    @property
    def steps(self) -> int:
        return len(self.groups)

    def outcomes(self, canvas: Canvas, probs: FloatArray, step: int) -> Iterator[tuple[float, Placement]]:
        yield from _draws(sorted(self.groups[step]), probs)


@dataclass(frozen=True)
class EntropyOrder(_Counted):
    """Fix the positions of lowest entropy, then draw them (Dream's sampler; Appendix F.2 of the paper).

    The positions are chosen by a statistic of the distributions, so the selection condition holds. The order
    condition can fail.

    Args:
        counts: how many positions each of the K steps fixes. Ties in entropy go to the leftmost position.
    """

    selects_on_draws = False

    def outcomes(self, canvas: Canvas, probs: FloatArray, step: int) -> Iterator[tuple[float, Placement]]:
        masked = _masked_positions(canvas)
        by_entropy = sorted(masked, key=lambda position: (_entropy(probs[position]), position))
        yield from _draws(sorted(by_entropy[: self.counts[step]]), probs)


@dataclass(frozen=True)
class ConfidenceOrder(_Counted):
    """Draw every masked position, keep the draws of highest probability (low-confidence remasking).

    Likely tokens are kept more often than q says, so the selection condition fails for more than one step.

    Args:
        counts: how many draws each of the K steps keeps. Ties in probability go to the leftmost position.
    """

    selects_on_draws = True

    def outcomes(self, canvas: Canvas, probs: FloatArray, step: int) -> Iterator[tuple[float, Placement]]:
        for probability, draws in _draws(_masked_positions(canvas), probs):
            by_confidence = sorted(draws, key=lambda draw: (-probs[draw], draw[0]))
            yield probability, tuple(sorted(by_confidence[: self.counts[step]]))


@dataclass(frozen=True)
class ConfidenceThreshold(_Masked):
    """Draw every masked position, keep the draws whose probability exceeds τ (SDAR's dynamic threshold).

    The last step keeps every draw. The selection condition fails as soon as a draw can be discarded.

    Args:
        tau: threshold on the drawn token's own probability, in [0, 1].
        max_steps: the step limit K, at least 1.
        keep_best: keep the most likely draw of a step in which none passes (samplers that must progress).
    """

    tau: float
    max_steps: int
    keep_best: bool = False
    selects_on_draws = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.tau <= 1.0:
            raise ValueError(f"tau must lie in [0, 1], got {self.tau}")
        if self.max_steps < 1:
            raise ValueError(f"max_steps must be at least 1, got {self.max_steps}")

    @property
    def steps(self) -> int:
        return self.max_steps

    def outcomes(self, canvas: Canvas, probs: FloatArray, step: int) -> Iterator[tuple[float, Placement]]:
        for probability, draws in _draws(_masked_positions(canvas), probs):
            yield probability, self._kept(draws, probs, last=step == self.max_steps - 1)

    def _kept(self, draws: Placement, probs: FloatArray, *, last: bool) -> Placement:
        if last:
            return draws
        kept = tuple(draw for draw in draws if probs[draw] > self.tau)
        if kept or not self.keep_best or not draws:
            return kept
        return (max(draws, key=lambda draw: (probs[draw], -draw[0])),)


@dataclass(frozen=True)
class UniformDiffusion:
    """Start from uniform noise and redraw every position in every step; the last step is the draft.

    All positions take their final value in the same step, so both conditions of Proposition 2 hold, with a
    proposal Q that is random through the whole trajectory.

    Args:
        steps: K, at least 1.
    """

    steps: int
    selects_on_draws = False

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"steps must be at least 1, got {self.steps}")

    def start(self, block_size: int, vocab_size: int) -> Iterator[tuple[float, Canvas]]:
        for canvas in product(range(vocab_size), repeat=block_size):
            yield float(vocab_size) ** -block_size, canvas

    def outcomes(self, canvas: Canvas, probs: FloatArray, step: int) -> Iterator[tuple[float, Placement]]:
        yield from _draws(range(len(canvas)), probs)


def _draws(positions: Sequence[int], probs: FloatArray) -> Iterator[tuple[float, Placement]]:
    """Yield every joint draw of independent tokens at ``positions`` with its probability, zeros left out."""
    supports = [[(position, int(v)) for v in np.flatnonzero(probs[position])] for position in positions]
    for draws in product(*supports):
        yield math.prod(float(probs[draw]) for draw in draws), draws


def _masked_positions(canvas: Canvas) -> list[int]:
    return [position for position, token in enumerate(canvas) if token == MASK]


def _entropy(row: FloatArray) -> float:
    positive = row[row > 0]
    return float(-(positive * np.log(positive)).sum())


def _check_counts(counts: tuple[int, ...]) -> None:
    if not counts or any(count < 0 for count in counts):
        raise ValueError(f"counts must be non-negative integers, one a step, got {counts}")
