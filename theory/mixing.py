"""Acceptance rates that are common to a round: the price of assuming they are not.

Proposition 1 lets the rates P_i vary, but independently across positions, so only their mean enters. Measured
rates cluster: an easy context is easy for the whole block. The other extreme is one random rate R for a
round, with i.i.d. acceptance given R:

    S_n = E[R^n] >= (E R)^n        (Jensen),

so the i.i.d. formula is biased low, by Σ_n (E[R^n] - μ^n). Proofs: ``docs/theory/proposition1.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specfrontier.theory.domains import check_broadcast, counts, positive, probabilities, weights
from specfrontier.theory.tokens import TokenLaw, expected_tokens

__all__ = ["BetaMixing", "DiscreteMixing", "MixingLaw", "iid_bias", "mixed_token_law"]

FloatArray = NDArray[np.float64]


class MixingLaw(Protocol):
    """The law of a round's common acceptance rate R."""

    @property
    def mean(self) -> FloatArray:
        """``[...]``: μ = E[R]."""

    def survival(self, block_size: int) -> FloatArray:
        """``[..., B]``: the moments S_n = E[R^n], n = 1..B."""

    def expected_tokens(self, block_size: int) -> FloatArray:
        """``[...]``: 1 + Σ E[R^n]."""


@dataclass(frozen=True)
class BetaMixing:
    """R ~ Beta(a, b): accepted lengths are beta-binomial runs.

    S_n = Π_{i<n} (a + i) / (a + b + i), and the sum telescopes:
    E[N] = [(a + b - 1) - (a + b + B) S_(B+1)] / (b - 1), or a (ψ(a + B + 1) - ψ(a)) when b = 1.

    Args:
        a: positive, any shape.
        b: positive, broadcasting with ``a``.

    Raises:
        ValueError: if a parameter is not positive and finite.
    """

    a: FloatArray
    b: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", positive(self.a, "a"))
        object.__setattr__(self, "b", positive(self.b, "b"))
        check_broadcast(a=self.a, b=self.b)

    @classmethod
    def from_mean(cls, mean: ArrayLike, correlation: ArrayLike) -> BetaMixing:
        """Build from μ and the correlation ρ between two positions' acceptance, both in (0, 1).

        a + b = 1/ρ - 1, so Var R = ρ μ (1 - μ).
        """
        mu, rho = probabilities(mean, "mean"), probabilities(correlation, "correlation")
        for name, value in (("mean", mu), ("correlation", rho)):
            if np.any((value == 0) | (value == 1)):
                raise ValueError(f"{name} must lie strictly between 0 and 1, got {value}")
        concentration = 1 / rho - 1
        return cls(mu * concentration, (1 - mu) * concentration)

    @property
    def mean(self) -> FloatArray:
        """``[...]``: a / (a + b)."""
        return self.a / (self.a + self.b)

    @property
    def correlation(self) -> FloatArray:
        """``[...]``: ρ = 1 / (a + b + 1)."""
        return 1 / (self.a + self.b + 1)

    def survival(self, block_size: int) -> FloatArray:
        """``[..., B]``: E[R^n]."""
        i = np.arange(int(counts(block_size, "block_size")))
        a, b = self.a[..., None], self.b[..., None]
        return np.cumprod((a + i) / (a + b + i), axis=-1, dtype=np.float64)

    def expected_tokens(self, block_size: int) -> FloatArray:
        """``[...]``: summed term by term (all positive), because the closed form cancels near b = 1."""
        return 1.0 + self.survival(block_size).sum(axis=-1)


@dataclass(frozen=True)
class DiscreteMixing:
    """R takes finitely many values: a mixture of prompts, or bootstrap draws of one rate.

    Args:
        rates: ``[..., n]`` values of R in [0, 1].
        weights: ``[..., n]`` their probabilities, summing to 1; None for equal ones.

    Raises:
        ValueError: if a rate leaves [0, 1] or the weights do not sum to 1.
    """

    rates: FloatArray
    weights: FloatArray | None = None

    def __post_init__(self) -> None:
        rates = probabilities(self.rates, "rates")
        if rates.ndim == 0 or rates.shape[-1] == 0:
            raise ValueError(f"rates must have shape [..., n] with n >= 1, got shape {rates.shape}")
        equal = np.full(rates.shape[-1], 1 / rates.shape[-1])
        chosen = equal if self.weights is None else weights(self.weights, "weights")
        check_broadcast(rates=rates, weights=chosen)
        object.__setattr__(self, "rates", rates)
        object.__setattr__(self, "weights", chosen)

    @property
    def mean(self) -> FloatArray:
        """``[...]``: Σ w_i r_i."""
        return self._average(self.rates)

    def survival(self, block_size: int) -> FloatArray:
        """``[..., B]``: Σ w_i r_i^n."""
        size = int(counts(block_size, "block_size"))
        moments = np.empty((*np.shape(self.mean), size))
        for n in range(size):
            moments[..., n] = self._average(self.rates ** (n + 1))
        return moments

    def expected_tokens(self, block_size: int) -> FloatArray:
        """``[...]``: Σ w_i Σ_n r_i^n, each inner sum in closed form."""
        return self._average(expected_tokens(self.rates, block_size))

    def _average(self, values: FloatArray) -> FloatArray:
        return (np.asarray(self.weights) * values).sum(axis=-1)


def mixed_token_law(mixing: MixingLaw, block_size: int) -> TokenLaw:
    """Law of the tokens per round when one rate R, drawn from ``mixing``, holds for the whole round.

    Args:
        mixing: law of R, batched over ``[...]``.
        block_size: B, an integer >= 0.

    Raises:
        ValueError: if ``block_size`` is invalid.
    """
    # Rounding can leave a moment above its predecessor by one unit in the last place.
    return TokenLaw(np.minimum.accumulate(mixing.survival(block_size), axis=-1))


def iid_bias(mixing: MixingLaw, block_size: int) -> FloatArray:
    """Bias of Proposition 1 under a common rate: Σ_{n=0}^{B} (μ^n - E[R^n]), in tokens, never positive.

    Zero only if R is constant (or B <= 1). To second order it is -½ Var(R) Σ n(n-1) μ^(n-2).

    Args:
        mixing: law of R, batched over ``[...]``.
        block_size: B, an integer >= 0.

    Returns:
        ``[...]`` tokens per round.
    """
    return expected_tokens(mixing.mean, block_size) - mixing.expected_tokens(block_size)
