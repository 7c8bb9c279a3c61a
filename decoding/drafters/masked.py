"""Masked diffusion: fill a canvas of [MASK] over K denoising steps (Dream, LLaDA)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from specfrontier.decoding.drafters.base import Draft, DraftRequest, Effort
from specfrontier.decoding.drafters.unmasking import SCORES, Order, quotas
from specfrontier.decoding.sampling import Sampling, draw
from specfrontier.errors import InputError

CanvasLogits = Callable[[Tensor], Tensor]
"""From a canvas [B], masks in it, to the logits [B, V] of its clean tokens."""


@dataclass(frozen=True)
class Unmasking:
    """How a canvas is filled.

    Args:
        order: which positions first: lowest `entropy`, highest `confidence`, largest `margin`, `random`, or
            from the left (`prefix`, which needs no cut to be verified exactly).
        schedule: how many positions a step fixes, see `unmasking.quotas`.
        select: `distribution` scores a position by its law, before anything is drawn; `drawn` draws first and
            scores by the drawn token's probability, as published samplers do. The latter breaks the selection
            condition of Proposition 2 and is replaced by the former under `verification="exact"`.
    """

    order: Order = "entropy"
    schedule: str | list[int] = "even"
    select: str = "distribution"

    def __post_init__(self) -> None:
        if self.order not in SCORES:
            raise InputError(f"unmasking order is {self.order!r}; choose one of {', '.join(SCORES)}")
        if self.select not in ("distribution", "drawn"):
            raise InputError(f"select is {self.select!r}; choose distribution or drawn")


def fill_canvas(
    logits_of: CanvasLogits,
    canvas: Tensor,
    positions: Tensor,
    mask_id: int,
    request: DraftRequest,
    sampling: Sampling,
    unmasking: Unmasking,
) -> Draft:
    """Fill the masked `positions` [m] of `canvas` [B]; the whole canvas is returned as the draft.

    Each step draws tokens for the positions that it fixes from one forward's laws. With a threshold tau, a step
    fixes every position whose score exceeds tau (at least one); otherwise its quota of the highest scores, and
    then the number of masked positions is known beforehand, so that nothing waits for a GPU.
    """
    effort, generator = request.effort, request.generator
    on_draws = unmasking.select == "drawn" and not request.exact
    limit = len(positions) if effort.steps is None else min(effort.steps, len(positions))
    plan = None if effort.threshold is not None else quotas(unmasking.schedule, len(positions), limit)
    tokens, steps = canvas.clone(), torch.zeros_like(canvas)
    laws: Tensor | None = None
    forwards = 0
    for step in range(1, limit + 1):
        if (plan is not None and plan[step - 1] == 0) or not len(positions):
            continue
        forwards += 1
        law = sampling.law(_without(logits_of(tokens)[positions], mask_id))
        drawn = draw(law, generator) if on_draws else None
        score = _score(law, drawn, unmasking.order, generator)
        ranked = score.argsort(descending=True, stable=True)
        count = plan[step - 1] if plan is not None else _confident(score, effort.threshold, last=step == limit)
        chosen = ranked[:count]
        fixed = positions[chosen]
        tokens[fixed] = draw(law[chosen], generator) if drawn is None else drawn[chosen]
        steps[fixed] = step
        if not sampling.greedy:
            laws = law.new_zeros(len(tokens), law.shape[-1]) if laws is None else laws
            laws[fixed] = law[chosen]
        positions = positions[ranked[count:]].sort().values
    return Draft(tokens, laws, steps, forwards, on_draws)


def _without(logits: Tensor, mask_id: int) -> Tensor:
    """Logits in which [MASK] can never be proposed."""
    if mask_id < logits.shape[-1]:
        logits = logits.clone()
        logits[..., mask_id] = -torch.inf
    return logits


def _score(law: Tensor, drawn: Tensor | None, order: str, generator: torch.Generator) -> Tensor:
    if drawn is None or order in ("prefix", "random"):
        return SCORES[order](law, generator)
    return law.gather(1, drawn[:, None]).squeeze(1)


def _confident(score: Tensor, threshold: float | None, last: bool) -> int:
    """How many positions score above the threshold: at least one, and all of them in the last step."""
    return len(score) if last else max(1, int((score > threshold).sum()))


class MaskedDrafter:
    """Masked diffusion over prefix and canvas, attention in both directions (Dream).

    Each step is a forward over prefix and canvas: bidirectional attention leaves no prefix cache that would
    stay true. Any K >= 1 or threshold can be asked for.

    Args:
        network: ids [1, T] to logits [1, T, V].
        mask_id: id of [MASK], never proposed.
        vocab_size: laws are over ids below this.
        shifted: row i - 1 predicts token i (Dream); otherwise row i does.
    """

    feature_layers: tuple[int, ...] = ()

    def __init__(
        self,
        network: Callable[[Tensor], Tensor],
        *,
        mask_id: int,
        vocab_size: int,
        sampling: Sampling,
        unmasking: Unmasking,
        shifted: bool = True,
    ) -> None:
        self.network = network
        self.mask_id, self.vocab_size = mask_id, vocab_size
        self.sampling, self.unmasking, self.shifted = sampling, unmasking, shifted

    def session(self) -> MaskedDrafter:
        return self

    def check_effort(self, effort: Effort) -> None:
        if effort.threshold is not None and self.unmasking.order not in ("confidence",):
            raise InputError(
                f"a threshold (tau={effort.threshold:g}) needs the unmasking order confidence, not "
                f"{self.unmasking.order}; give steps (K) instead, or change the pair's order"
            )

    def draft(self, request: DraftRequest) -> Draft:
        prefix = request.prefix
        canvas = torch.full((request.block_size,), self.mask_id, device=prefix.device)
        everywhere = torch.arange(request.block_size, device=prefix.device)
        first = len(prefix) - 1 if self.shifted else len(prefix)

        def logits_of(tokens: Tensor) -> Tensor:
            logits = self.network(torch.cat((prefix, tokens))[None])[0]
            return logits[first : first + request.block_size, : self.vocab_size]

        return fill_canvas(logits_of, canvas, everywhere, self.mask_id, request, self.sampling, self.unmasking)
