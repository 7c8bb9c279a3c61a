"""What a drafter is: from a prefix to a block of tokens, with the law that each was really drawn from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Protocol

import torch
from torch import Tensor

from specfrontier.errors import InputError


def check_count(name: str, value: int) -> None:
    """Raise InputError unless `value` is an integer >= 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise InputError(f"{name} is {value!r}; give an integer >= 1")


@dataclass(frozen=True)
class Effort:
    """Diffusion effort: a number of denoising steps K, or a confidence threshold tau that decides it.

    Args:
        steps: K >= 1; with a threshold, the most steps that may be taken (None: as many as positions).
        threshold: tau in (0, 1], or None for a fixed number of steps.

    Raises:
        InputError: if neither is given, or a value is outside its range.
    """

    steps: int | None = None
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.steps is None and self.threshold is None:
            raise InputError("no diffusion effort given; set steps (K >= 1) or threshold (tau in (0, 1])")
        if self.steps is not None:
            check_count("steps (K)", self.steps)
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise InputError(f"threshold (tau) is {self.threshold}; give a number in (0, 1]")

    @property
    def label(self) -> str:
        """`K=2`, or `tau=0.9`."""
        return f"K={self.steps}" if self.threshold is None else f"tau={self.threshold:g}"


@dataclass(frozen=True)
class Draft:
    """A drafted block.

    Attributes:
        tokens: y [B], the drafted tokens.
        laws: q [B, V], the law that each token was drawn from, after temperature and truncation; None where
            every draw was greedy, so that q is the one-hot of `tokens`.
        steps: [B], the denoising step (1, 2, ...) at which each token took its value.
        forwards: forwards of the drafter that this block cost.
        selects_on_draws: whether positions were chosen by the tokens drawn for them, which breaks the
            selection condition of Proposition 2 for a block.
    """

    tokens: Tensor
    laws: Tensor | None
    steps: Tensor
    forwards: int
    selects_on_draws: bool = False

    @property
    def block_size(self) -> int:
        """B, the number of drafted tokens."""
        return self.tokens.shape[0]

    def truncated(self, length: int) -> Draft:
        """The first `length` positions."""
        return self if length >= self.block_size else self.window(0, length)

    def window(self, start: int, stop: int) -> Draft:
        """Positions start..stop - 1 as a draft of their own, at the same cost."""
        laws = None if self.laws is None else self.laws[start:stop]
        return replace(self, tokens=self.tokens[start:stop], laws=laws, steps=self.steps[start:stop])

    def law_rows(self, start: int, stop: int, vocab_size: int) -> Tensor:
        """q at positions start..stop - 1, as [stop - start, V] (one-hot rows are built only here)."""
        if self.laws is not None:
            return self.laws[start:stop]
        rows = torch.zeros(stop - start, vocab_size, device=self.tokens.device)
        return rows.scatter_(1, self.tokens[start:stop, None], 1.0)

    def probabilities(self, start: int, stop: int) -> Tensor:
        """q(y) at positions start..stop - 1."""
        if self.laws is None:
            return torch.ones(stop - start, device=self.tokens.device)
        return self.laws[start:stop].gather(1, self.tokens[start:stop, None]).squeeze(1)


@dataclass(frozen=True)
class DraftRequest:
    """What a drafter is asked for.

    Attributes:
        prefix: h [T], prompt and accepted tokens.
        block_size: B >= 1, tokens wanted; a drafter may return fewer.
        effort: diffusion effort.
        generator: the only source of randomness.
        exact: whether positions must be chosen without looking at drawn tokens (`verification="exact"`).
        features: hidden states [T', layers * hidden] of the prefix tokens that are new since the last draft,
            for drafters that ask for them (`feature_layers`), else None.
        alone: whether no verifier follows, so that a model may decode by its native sampler.
    """

    prefix: Tensor
    block_size: int
    effort: Effort
    generator: torch.Generator
    exact: bool = False
    features: Tensor | None = None
    alone: bool = False


class DraftSession(Protocol):
    """Drafting for one generation; may keep a cache of the prefix between calls."""

    def draft(self, request: DraftRequest) -> Draft:
        """Draft a block after `request.prefix`, which extends the prefix of the last call."""
        ...


class Drafter(Protocol):
    """A model that proposes blocks."""

    vocab_size: int
    #: Verifier layers whose hidden states the drafter reads; empty for most.
    feature_layers: tuple[int, ...]

    @property
    def max_block_size(self) -> int | None:
        """The longest block it was trained for, or None if any length will do."""
        ...

    def session(self) -> DraftSession:
        """Begin a generation."""
        ...

    def check_effort(self, effort: Effort) -> None:
        """Raise InputError, saying why, if this drafter cannot spend that effort."""
        ...


def check_block_size(drafter: Drafter, block_size: int) -> None:
    """Raise InputError if a block is longer than the drafter's model was trained for."""
    longest = drafter.max_block_size
    if longest is not None and block_size > longest:
        raise InputError(
            f"block_size (B) is {block_size}; this drafter's model was trained for blocks of at most {longest}, "
            f"so give 1 to {longest}"
        )
