"""Masked diffusion: fill a canvas of [MASK] over K denoising steps (Dream, LLaDA)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from specfrontier.decoding.drafters.base import Draft, DraftRequest, Effort
from specfrontier.decoding.drafters.canvas import CanvasNetwork, CanvasPass
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
            takes the drawn token's probability for the confidence, as published samplers do (order `confidence` only).
            The latter breaks the selection condition of Proposition 2 and is replaced by the former under
            `verification="exact"`.
    """

    order: Order = "entropy"
    schedule: str | list[int] = "even"
    select: str = "distribution"

    def __post_init__(self) -> None:
        if self.order not in SCORES:
            raise InputError(f"unmasking order is {self.order!r}; choose one of {', '.join(SCORES)}")
        quotas(self.schedule, 1, 1)  # raises if there is no such schedule
        if self.select not in ("distribution", "drawn"):
            raise InputError(f"select is {self.select!r}; choose distribution or drawn")
        if self.select == "drawn" and self.order != "confidence":
            raise InputError(
                f"select drawn scores a position by its drawn token's confidence, not by {self.order}; give the order "
                "confidence, or select distribution"
            )


EVERYTHING: tuple[slice | Tensor, slice | Tensor] = slice(None), slice(0, 0)
"""What the last step chooses among the masked positions, and what it leaves."""


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
        logits = without(logits_of(tokens)[positions], mask_id)
        law = sampling.law(logits)
        drawn = draw(law, generator) if on_draws else None
        if step == limit if plan is None else plan[step - 1] == len(positions):
            chosen, rest = EVERYTHING  # in whatever order
        else:
            # Greedy laws are one-hot, and every position would look certain: those at temperature 1 tell them apart.
            scored = sampling.at_temperature(1).law(logits) if sampling.greedy else law
            score = SCORES[unmasking.order](scored, generator) if drawn is None else _probability(scored, drawn)
            ranked = score.argsort(descending=True, stable=True)
            count = plan[step - 1] if plan is not None else _confident(score, effort.threshold)
            chosen, rest = ranked[:count], ranked[count:]
        fixed, own = positions[chosen], law[chosen]
        tokens[fixed] = draw(own, generator) if drawn is None else drawn[chosen]
        steps[fixed] = step
        if not sampling.greedy:
            laws = law.new_zeros(len(tokens), law.shape[-1]) if laws is None else laws
            laws[fixed] = own
        positions = positions[rest].sort().values
    return Draft(tokens, laws, steps, forwards, on_draws)


def without(logits: Tensor, *ids: int) -> Tensor:
    """Logits [..., V] in which `ids` ([MASK], padding) can never be proposed."""
    inside = [i for i in ids if i < logits.shape[-1]]
    logits = logits.clone() if inside else logits
    for i in inside:  # one by one: an index of several would have to travel to a GPU
        logits[..., i] = -torch.inf
    return logits


def _probability(law: Tensor, drawn: Tensor) -> Tensor:
    """The probability [m] of the token drawn at each position."""
    return law.gather(1, drawn[:, None]).squeeze(1)


def _confident(score: Tensor, threshold: float | None) -> int:
    """How many positions score above the threshold, at least one; all of them if there is none."""
    return len(score) if threshold is None else max(1, int((score > threshold).sum()))


class MaskedDrafter:
    """Masked diffusion over prefix and canvas, attention in both directions (Dream).

    Each step is a forward over prefix and canvas, or, with `prefix_cache`, over the canvas alone from the second on.
    Any K >= 1 or threshold can be asked for.

    Args:
        mask_id: id of [MASK], never proposed.
        network, vocab_size, shifted, prefix_cache: see `CanvasPass`.
    """

    feature_layers: tuple[int, ...] = ()
    max_block_size: int | None = None

    def __init__(
        self,
        network: CanvasNetwork,
        *,
        mask_id: int,
        vocab_size: int,
        sampling: Sampling,
        unmasking: Unmasking,
        shifted: bool = True,
        prefix_cache: bool = False,
    ) -> None:
        self.network, self.prefix_cache = network, prefix_cache
        self.mask_id, self.vocab_size = mask_id, vocab_size
        self.sampling, self.unmasking, self.shifted = sampling, unmasking, shifted

    def session(self) -> MaskedDrafter:
        return self

    def check_effort(self, effort: Effort) -> None:
        check_threshold(effort, self.unmasking)

    def draft(self, request: DraftRequest) -> Draft:
        device, size = request.prefix.device, request.block_size
        canvas = torch.full((size,), self.mask_id, device=device)
        logits_of = CanvasPass(
            self.network,
            request.prefix,
            size,
            vocab_size=self.vocab_size,
            shifted=self.shifted,
            prefix_cache=self.prefix_cache,
        )
        everywhere = torch.arange(size, device=device)
        return fill_canvas(logits_of, canvas, everywhere, self.mask_id, request, self.sampling, self.unmasking)


def check_threshold(effort: Effort, unmasking: Unmasking) -> None:
    """Raise InputError if a threshold is asked for and the unmasking order has no confidence to compare it with."""
    if effort.threshold is not None and unmasking.order != "confidence":
        raise InputError(
            f"a threshold (tau={effort.threshold:g}) needs the unmasking order confidence, not "
            f"{unmasking.order}; give steps (K) instead, or change the pair's order"
        )
