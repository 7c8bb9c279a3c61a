"""Which masked positions a denoising step fixes: orders, quotas and schedules of masked diffusion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from specfrontier.errors import InputError

Order = Literal["entropy", "confidence", "margin", "random", "prefix"]
Schedule = Literal["even", "dream", "doubling"]


def _confidence(law: Tensor, generator: torch.Generator) -> Tensor:
    return law.amax(dim=-1)


def _negative_entropy(law: Tensor, generator: torch.Generator) -> Tensor:
    return (law * law.clamp(min=torch.finfo(law.dtype).tiny).log()).sum(dim=-1)  # half the time of torch's entr


def _margin(law: Tensor, generator: torch.Generator) -> Tensor:
    if law.shape[-1] == 1:
        return law[..., 0]
    first, second = law.topk(2, dim=-1).values.unbind(-1)
    return first - second


def _random(law: Tensor, generator: torch.Generator) -> Tensor:
    return torch.rand(law.shape[:-1], generator=generator, device=law.device)


def _leftmost(law: Tensor, generator: torch.Generator) -> Tensor:
    return -torch.arange(law.shape[0], dtype=torch.float32, device=law.device)


#: Score of each masked position [m] from its law [m, V]; the highest are fixed first. None of them looks at a
#: drawn token, so all satisfy the selection condition.
SCORES: dict[str, Callable[[Tensor, torch.Generator], Tensor]] = {
    "entropy": _negative_entropy,
    "confidence": _confidence,
    "margin": _margin,
    "random": _random,
    "prefix": _leftmost,
}


def _even(block_size: int, steps: int) -> list[int]:
    return [(k + 1) * block_size // steps - k * block_size // steps for k in range(steps)]


def _dream(block_size: int, steps: int) -> list[int]:
    """Dream's schedule: times run evenly from 1 to 0.001, a step keeps the share s / t of the masks, rounded up."""
    times = torch.linspace(1, 1e-3, steps + 1, dtype=torch.float64).tolist()
    left, quotas = block_size, []
    for k in range(steps):
        last = k == steps - 1
        quota = left if last else int(left * (1 - times[k + 1] / times[k]))
        quotas.append(quota)
        left -= quota
    return quotas


def _doubling(block_size: int, steps: int) -> list[int]:
    """Chunks 2, 2, 4, 8, ... and the rest in the last step: short where a rejection is likely to come first."""
    quotas, left = [], block_size
    for k in range(steps - 1):
        quota = min(left, 2 if k == 0 else 2**k)
        quotas.append(quota)
        left -= quota
    return [*quotas, left]


SCHEDULES: dict[str, Callable[[int, int], list[int]]] = {
    "even": _even,
    "dream": _dream,
    "doubling": _doubling,
}


def quotas(schedule: str | list[int], block_size: int, steps: int) -> list[int]:
    """How many positions each of `steps` steps fixes; they add up to `block_size`.

    `schedule` is a name of `SCHEDULES`, or the chunk sizes themselves. The step after the last chunk takes what is
    left, and any further steps have nothing to do.
    """
    if not isinstance(schedule, str):
        if not all(isinstance(size, int) and size >= 1 for size in schedule):
            raise InputError(f"schedule is {schedule!r}; give chunk sizes, integers >= 1, or a schedule's name")
        taken, left = [], block_size
        for size in schedule[: steps - 1]:
            taken.append(min(size, left))
            left -= taken[-1]
        return [*taken, left, *[0] * (steps - 1 - len(taken))]
    if schedule not in SCHEDULES:
        raise InputError(f"schedule is {schedule!r}; choose one of {', '.join(SCHEDULES)}")
    return SCHEDULES[schedule](block_size, steps)
