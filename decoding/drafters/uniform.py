"""Uniform diffusion: start from random tokens, redraw the whole block at every step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from specfrontier.decoding.drafters.base import Draft, DraftRequest, Effort
from specfrontier.decoding.sampling import Sampling, draw
from specfrontier.errors import InputError


class UniformDrafter:
    """Uniform diffusion over prefix and canvas, attention in both directions.

    Step k of K predicts the clean block from the noisy one, draws all of it, and puts uniform noise back on a
    share 1 - k / K of the positions. The last step's draw is the draft: every token from that step's law, so
    both conditions of Proposition 2 for a block hold.

    Args:
        network: ids [1, T] to logits [1, T, V].
        vocab_size: laws and noise are over ids below this.
        forbidden: ids that are never proposed ([MASK], padding).
        shifted: row i - 1 predicts token i.
    """

    feature_layers: tuple[int, ...] = ()

    def __init__(
        self,
        network: Callable[[Tensor], Tensor],
        *,
        vocab_size: int,
        sampling: Sampling,
        forbidden: tuple[int, ...] = (),
        shifted: bool = True,
    ) -> None:
        self.network = network
        self.vocab_size, self.sampling = vocab_size, sampling
        self.forbidden, self.shifted = list(forbidden), shifted

    def session(self) -> UniformDrafter:
        return self

    def check_effort(self, effort: Effort) -> None:
        if effort.threshold is not None:
            raise InputError(
                f"uniform diffusion runs a fixed number of steps, not a threshold (tau={effort.threshold:g}); "
                "give steps (K >= 1)"
            )

    def draft(self, request: DraftRequest) -> Draft:
        size, generator, device = (request.block_size,), request.generator, request.prefix.device
        steps = request.effort.steps
        assert steps is not None
        noisy = torch.randint(self.vocab_size, size, generator=generator, device=device)
        for step in range(1, steps + 1):
            law = self.sampling.law(self._logits(request.prefix, noisy))
            tokens = draw(law, generator)
            if step < steps:
                noise = torch.randint(self.vocab_size, size, generator=generator, device=device)
                renoise = torch.rand(size, generator=generator, device=device) < 1 - step / steps
                noisy = torch.where(renoise, noise, tokens)
        laws = None if self.sampling.greedy else law
        return Draft(tokens, laws, torch.full_like(tokens, steps), forwards=steps)

    def _logits(self, prefix: Tensor, canvas: Tensor) -> Tensor:
        first = len(prefix) - 1 if self.shifted else len(prefix)
        logits = self.network(torch.cat((prefix, canvas))[None])[0, first : first + len(canvas), : self.vocab_size]
        if self.forbidden:
            logits = logits.clone()
            logits[:, self.forbidden] = -torch.inf
        return logits
