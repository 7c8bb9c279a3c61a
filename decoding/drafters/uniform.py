"""Uniform diffusion: start from random tokens, redraw the whole block at every step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from specfrontier.decoding.drafters.base import Draft, DraftRequest, Effort
from specfrontier.decoding.drafters.canvas import CanvasNetwork, CanvasPass
from specfrontier.decoding.drafters.masked import without
from specfrontier.decoding.sampling import Sampling, draw
from specfrontier.errors import InputError

StepLaws = Callable[[Tensor, int], Tensor]
"""From a noisy block [B] and the step k = 1, 2, ... to the laws [B, V] of its clean tokens."""


def redraw_block(
    laws_of: StepLaws, size: int, steps: int, noise_ids: tuple[int, int], generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """K steps of uniform diffusion over a block of `size`; return its tokens and the laws they were drawn from.

    Step k of K predicts the clean block from the noisy one, draws all of it, and puts uniform noise back on a
    share 1 - k / K of the positions. The last step's draw is the block: every token from that step's law, so
    both conditions of Proposition 2 for a block hold.

    Args:
        noise_ids: noise is uniform over first..last - 1.
    """
    device = generator.device
    noisy = torch.randint(*noise_ids, (size,), generator=generator, device=device)
    for step in range(1, steps + 1):
        law = laws_of(noisy, step)
        tokens = draw(law, generator)
        if step < steps:
            noise = torch.randint(*noise_ids, (size,), generator=generator, device=device)
            renoise = torch.rand(size, generator=generator, device=device) < 1 - step / steps
            noisy = torch.where(renoise, noise, tokens)
    return tokens, law


def check_fixed_steps(effort: Effort, family: str) -> int:
    """K, or InputError if a threshold is asked for."""
    if effort.threshold is not None or effort.steps is None:
        raise InputError(
            f"{family} runs a fixed number of steps, not a threshold ({effort.label}); give steps (K >= 1)"
        )
    return effort.steps


class UniformDrafter:
    """Uniform diffusion over prefix and canvas, attention in both directions.

    Args:
        vocab_size: laws and noise are over ids below this.
        forbidden: ids that are never proposed ([MASK], padding).
        network, shifted, prefix_cache: see `CanvasPass`.
    """

    feature_layers: tuple[int, ...] = ()
    max_block_size: int | None = None

    def __init__(
        self,
        network: CanvasNetwork,
        *,
        vocab_size: int,
        sampling: Sampling,
        forbidden: tuple[int, ...] = (),
        shifted: bool = True,
        prefix_cache: bool = False,
    ) -> None:
        self.network, self.prefix_cache = network, prefix_cache
        self.vocab_size, self.sampling = vocab_size, sampling
        self.forbidden, self.shifted = forbidden, shifted

    def session(self) -> UniformDrafter:
        return self

    def check_effort(self, effort: Effort) -> None:
        check_fixed_steps(effort, "uniform diffusion")

    def draft(self, request: DraftRequest) -> Draft:
        size = request.block_size
        steps = check_fixed_steps(request.effort, "uniform diffusion")
        logits_of = CanvasPass(
            self.network,
            request.prefix,
            size,
            vocab_size=self.vocab_size,
            shifted=self.shifted,
            prefix_cache=self.prefix_cache,
        )

        def laws_of(noisy: Tensor, step: int) -> Tensor:
            return self.sampling.law(without(logits_of(noisy), *self.forbidden))

        tokens, laws = redraw_block(laws_of, size, steps, (0, self.vocab_size), request.generator)
        kept = None if self.sampling.greedy else laws
        return Draft(tokens, kept, torch.full_like(tokens, steps), forwards=steps)
