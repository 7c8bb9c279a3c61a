"""From logits to the law that a token is really drawn from, and the draw itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, get_args

import torch
from torch import Tensor
from torch.nn.functional import pad

from specfrontier.errors import InputError

if TYPE_CHECKING:
    from transformers import LogitsProcessor

Filter = Literal["top_k", "top_p"]

#: Smaller temperatures than this carry float32 logits to infinity; 0 is what is meant.
LEAST_TEMPERATURE = 1e-6

#: Entries of a run, and of a law that is drawn from without runs.
RUN, LONG = 256, 8192


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


@dataclass(frozen=True)
class Sampling:
    """How a model's tokens are drawn: temperature, then truncation by transformers' own processors.

    Args:
        temperature: 0 (greedy, whose law is the one-hot of the largest logit) or in [1e-6, inf).
        top_p: nucleus mass in (0, 1], or None.
        top_k: number of tokens kept, >= 1, or None.
        filters: the order in which truncations are applied: Dream's is top-p first, SDAR's top-k first.

    Raises:
        InputError: if a value is outside its range.
    """

    temperature: float = 1.0
    top_p: float | None = None
    top_k: int | None = None
    filters: tuple[Filter, Filter] = ("top_k", "top_p")

    def __post_init__(self) -> None:
        if not _is_number(self.temperature) or (
            self.temperature != 0 and not LEAST_TEMPERATURE <= self.temperature < math.inf
        ):
            raise InputError(
                f"temperature is {self.temperature!r}; give 0 (greedy) or a finite number >= {LEAST_TEMPERATURE:g}"
            )
        if self.top_p is not None and not (_is_number(self.top_p) and 0 < self.top_p <= 1):
            raise InputError(f"top_p is {self.top_p!r}; give a number in (0, 1], or leave it out")
        if self.top_k is not None and not (
            _is_number(self.top_k) and isinstance(self.top_k, Integral) and self.top_k > 0
        ):
            raise InputError(f"top_k is {self.top_k!r}; give an integer >= 1, or leave it out")
        if set(self.filters) != set(get_args(Filter)) or len(self.filters) != len(get_args(Filter)):
            raise InputError(
                f"filters is {self.filters!r}; give top_k and top_p in the order in which they are applied"
            )

    @property
    def greedy(self) -> bool:
        """Whether every law is one-hot."""
        return self.temperature == 0

    def at_temperature(self, temperature: float) -> Sampling:
        """The same truncation at another temperature."""
        return replace(self, temperature=temperature)

    @cached_property
    def _warpers(self) -> list[LogitsProcessor]:
        from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper  # seconds to import

        warpers: list[LogitsProcessor] = []
        if self.temperature != 1:
            warpers.append(TemperatureLogitsWarper(float(self.temperature)))
        for name in self.filters:
            if name == "top_k" and self.top_k is not None:
                warpers.append(TopKLogitsWarper(self.top_k))
            if name == "top_p" and self.top_p is not None and self.top_p < 1:
                warpers.append(TopPLogitsWarper(self.top_p))
        return warpers

    def law(self, logits: Tensor) -> Tensor:
        """The law [..., V], float32, that a token with these logits [..., V] is drawn from."""
        if self.greedy:
            best = logits.argmax(dim=-1, keepdim=True)
            return torch.zeros_like(logits, dtype=torch.float32).scatter_(-1, best, 1.0)
        rows = logits.float().reshape(-1, logits.shape[-1])
        for warper in self._warpers:
            rows = warper(None, rows)
        return rows.softmax(dim=-1).view(logits.shape)


def draw(law: Tensor, generator: torch.Generator) -> Tensor:
    """One token [...] from each law [..., V]."""
    rows = law.reshape(-1, law.shape[-1])
    return (_race if law.is_cuda else _invert)(rows, generator).view(law.shape[:-1])


def _race(laws: Tensor, generator: torch.Generator) -> Tensor:
    """Draw from laws [N, V] by the first of V exponential clocks; `torch.multinomial` stalls a GPU to check them."""
    return (laws / torch.empty_like(laws).exponential_(generator=generator)).argmax(dim=-1)


def _invert(laws: Tensor, generator: torch.Generator) -> Tensor:
    """Draw from laws [N, V] by inverting their distribution functions: one random number each, not V of them.

    In a long law a run of entries is drawn first and then one of its entries, as running sums over all V take far more
    time and memory than sums of runs.
    """
    u = torch.rand(len(laws), 1, generator=generator, dtype=torch.float64)
    if laws.shape[-1] <= LONG:
        return _first_above(laws.cumsum(-1, dtype=torch.float64), u).squeeze(1)
    runs = pad(laws, (0, -laws.shape[-1] % RUN)).unflatten(-1, (-1, RUN))
    masses = runs.sum(-1)
    sums = masses.cumsum(-1, dtype=torch.float64)
    run = _first_above(sums, u)
    # How far into its run the level is, in [0, 1), is the level of the draw within it.
    within = (u * sums[:, -1:] - sums.gather(1, run)) / masses.gather(1, run).double() + 1
    within.clamp_(0.0, 1 - torch.finfo(torch.float64).eps / 2)
    entries = runs.take_along_dim(run[..., None], dim=1).squeeze(1)
    return (run * RUN + _first_above(entries.cumsum(-1, dtype=torch.float64), within)).squeeze(1)


def _first_above(sums: Tensor, u: Tensor) -> Tensor:
    """The first entry [N, 1] whose running sum [N, M] exceeds the level `u` [N, 1], in [0, 1): never one of no mass."""
    return torch.searchsorted(sums, u * sums[:, -1:], right=True).clamp_(max=sums.shape[-1] - 1)
