"""Proposition 1 and beyond it: how many tokens one round of Algorithm 1 emits.

A round emits N = A + 1 tokens: the A accepted ones, and the correction (A < B) or the bonus token (A = B).
All that matters is the *survival* S_n = P(the first n drafted tokens are all accepted), because P(N > n) =
S_n:

    E[N] = 1 + S_1 + ... + S_B.

Proposition 1 is S_n = α^n. The other laws here replace it by position-dependent rates, by rates that are
common to a round (a mixing law), or cut it at an end token. Acceptance rates are conditional throughout: the
probability of accepting position n given that positions 1..n-1 were accepted. Proofs:
``docs/theory/proposition1.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specfrontier.theory.domains import check_broadcast, counts, probabilities

__all__ = [
    "TokenLaw",
    "alpha_for_tokens",
    "expected_rounds",
    "expected_tokens",
    "expected_tokens_slope",
    "expected_tokens_until_end",
    "token_law",
    "tokens_variance",
]

FloatArray = NDArray[np.float64]

# Below this exponent the closed forms of the slope and the variance cancel; their power series do not, and
# reach rounding error within the number of terms given.
_SERIES_LIMIT = 1.0
_SERIES_TERMS = 24


def expected_tokens(alpha: ArrayLike, block_size: ArrayLike) -> FloatArray:
    """Expected tokens per round, bonus or correction included: Σ_{n=0}^{B} α^n (Proposition 1, Equation 9).

    Computed as -expm1((B + 1) log α) / (1 - α), which keeps full relative precision as α -> 1 and for B up to
    10^6 and beyond, in O(1).

    Args:
        alpha: conditional acceptance rate (or its mean μ, if rates are independent across positions), in
            [0, 1], any shape.
        block_size: B, integers >= 0, broadcasting with ``alpha``.

    Returns:
        Tokens per round, in [1, B + 1], of the broadcast shape.

    Raises:
        ValueError: if an argument leaves its range or the shapes do not broadcast.

    Examples:
        >>> float(expected_tokens(0.5, 3))
        1.875
        >>> expected_tokens([0.0, 1.0], 512).tolist()
        [1.0, 513.0]
    """
    alpha, size = _rate_and_size(alpha, block_size)
    rejection = 1.0 - alpha
    with np.errstate(divide="ignore", invalid="ignore"):
        total = -np.expm1((size + 1) * np.log1p(-rejection)) / rejection
    return np.where(rejection == 0, size + 1.0, total)[()]


def expected_tokens_slope(alpha: ArrayLike, block_size: ArrayLike) -> FloatArray:
    """Derivative of :func:`expected_tokens` in α: Σ_{n=1}^{B} n α^(n-1), tokens per unit of rate.

    Arguments, shapes and errors as :func:`expected_tokens`; stable at α -> 1, where it is B(B + 1)/2.
    """
    alpha, size = _rate_and_size(alpha, block_size)
    rejection, n = 1.0 - alpha, size + 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        log_alpha = np.log1p(-rejection)
        power = -np.expm1(n * log_alpha) - n * rejection * np.exp((n - 1) * log_alpha)
        closed = power / rejection**2
    near = n * rejection <= _SERIES_LIMIT  # elsewhere the series, which is not used, would overflow for long blocks
    return np.where(near, _slope_series(np.where(near, rejection, 0.0), n), closed)[()]


def tokens_variance(alpha: ArrayLike, block_size: ArrayLike) -> FloatArray:
    """Variance of the tokens per round for i.i.d. acceptance, in tokens².

    Var N = α [1 - α^(2B+1) - (2B + 1)(1 - α) α^B] / (1 - α)², which tends to 0 as α -> 1 (every round then
    emits B + 1). Arguments, shapes and errors as :func:`expected_tokens`.
    """
    alpha, size = _rate_and_size(alpha, block_size)
    rejection, m = 1.0 - alpha, 2.0 * size + 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        log_alpha = np.log1p(-rejection)
        closed = -np.expm1(m * log_alpha) - m * rejection * np.exp(size * log_alpha)
        near = -m * log_alpha / 2 <= _SERIES_LIMIT
        bracket = np.where(near, _variance_series(np.where(near, log_alpha, 0.0), m), closed)
        variance = alpha * bracket / rejection**2
    return np.where((rejection == 0) | (size == 0), 0.0, variance)[()]


def alpha_for_tokens(tokens: ArrayLike, block_size: ArrayLike) -> FloatArray:
    """Invert Proposition 1: the acceptance rate at which a round emits ``tokens`` tokens on average.

    Args:
        tokens: tokens per round, bonus or correction included, any shape.
        block_size: B, integers >= 0, broadcasting with ``tokens``.

    Returns:
        α in [0, 1]; NaN where ``tokens`` lies outside [1, B + 1], so no rate gives it. With B = 0 the rate
        does not matter and is reported as 0.

    Raises:
        ValueError: if ``block_size`` is invalid or the shapes do not broadcast.
    """
    tokens = np.asarray(tokens, dtype=np.float64)
    size = counts(block_size, "block_size")
    shape = check_broadcast(tokens=tokens, block_size=size)
    low, high = np.zeros(shape), np.ones(shape)
    for _ in range(60):  # halving [0, 1] past the spacing of float64
        middle = (low + high) / 2
        enough = expected_tokens(middle, size) >= tokens
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    alpha = np.where(tokens == 1, 0.0, high)
    return np.where((tokens >= 1) & (tokens <= size + 1), alpha, np.nan)[()]


def expected_tokens_until_end(alpha: ArrayLike, block_size: ArrayLike, end_rate: ArrayLike) -> FloatArray:
    """Expected tokens per round when each emitted token ends the text with probability η.

    Tokens after an end token do not exist, so N is cut at a geometric time: Σ_{n=0}^{B} (α(1 - η))^n, which
    is Proposition 1 at the rate α(1 - η). The end token itself counts.

    Args:
        alpha: conditional acceptance rate in [0, 1].
        block_size: B, integers >= 0.
        end_rate: η in [0, 1], the chance that an emitted token is the end token, independent of acceptance.

    Returns:
        Tokens per round, of the broadcast shape.

    Raises:
        ValueError: as :func:`expected_tokens`.
    """
    alpha, end = probabilities(alpha, "alpha"), probabilities(end_rate, "end_rate")
    check_broadcast(alpha=alpha, end_rate=end)
    return expected_tokens(alpha * (1 - end), block_size)


@dataclass(frozen=True)
class TokenLaw:
    """The whole distribution of the tokens N that a round emits.

    Attributes:
        survival: ``[..., B]``; entry n - 1 is S_n = P(N > n), the probability that the first n drafted tokens
            are all accepted. In [0, 1] and non-increasing along the last axis.
    """

    survival: FloatArray

    def __post_init__(self) -> None:
        survival = probabilities(self.survival, "survival")
        if survival.ndim == 0:
            raise ValueError(f"survival must have shape [..., B], got the scalar {survival}")
        if np.any(np.diff(survival, axis=-1) > 1e-12):
            raise ValueError("survival must be non-increasing along its last axis")
        object.__setattr__(self, "survival", survival)

    @property
    def block_size(self) -> int:
        """B."""
        return self.survival.shape[-1]

    @property
    def mean(self) -> FloatArray:
        """``[...]``: expected tokens per round, in [1, B + 1]."""
        return 1.0 + self.survival.sum(axis=-1)

    @property
    def pmf(self) -> FloatArray:
        """``[..., B + 1]``: entry n - 1 is P(N = n), for n = 1..B + 1."""
        edge = np.ones((*self.survival.shape[:-1], 1))
        return -np.diff(np.concatenate([edge, self.survival, 0 * edge], axis=-1), axis=-1)

    @property
    def variance(self) -> FloatArray:
        """``[...]``: variance of the tokens per round, in tokens²."""
        deviation = np.arange(1, self.block_size + 2) - self.mean[..., None]
        return (self.pmf * deviation**2).sum(axis=-1)

    @property
    def conditional_rates(self) -> FloatArray:
        """``[..., B]``: P(position n accepted | 1..n-1 accepted); NaN where that is never reached."""
        before = np.concatenate([np.ones((*self.survival.shape[:-1], 1)), self.survival[..., :-1]], axis=-1)
        with np.errstate(invalid="ignore"):
            return self.survival / before

    def until_end(self, end_rates: ArrayLike) -> TokenLaw:
        """The law cut at an end token: S_n Π_{i<=n} (1 - η_i).

        Args:
            end_rates: η, broadcasting with ``[..., B]``: the chance that the token emitted at position i ends
                the text given that no earlier one did, in [0, 1], independent of acceptance.
        """
        end = np.broadcast_to(
            probabilities(end_rates, "end_rates"),
            check_broadcast(end_rates=np.asarray(end_rates), survival=self.survival),
        )
        return TokenLaw(self.survival * np.cumprod(1 - end, axis=-1))

    def limited(self, remaining: int) -> TokenLaw:
        """The law of min(N, remaining): a round that may emit at most ``remaining`` >= 1 tokens."""
        remaining = int(counts(remaining, "remaining", minimum=1))
        return TokenLaw(self.survival[..., : remaining - 1])


def token_law(rates: ArrayLike, block_size: int | None = None) -> TokenLaw:
    """Law of the tokens per round for conditional acceptance rates α_1..α_B: S_n = α_1 ··· α_n.

    Args:
        rates: ``[..., B]`` rates by position; or, with ``block_size``, ``[...]`` one rate for all positions.
        block_size: B, to repeat one rate over; None if ``rates`` has a position axis.

    Raises:
        ValueError: if a rate leaves [0, 1] or the position axis is missing.

    Examples:
        >>> law = token_law([0.9, 0.5])
        >>> float(law.mean), law.pmf.round(3).tolist()
        (2.35, [0.1, 0.45, 0.45])
    """
    rates = probabilities(rates, "rates")
    if block_size is not None:
        size = int(counts(block_size, "block_size"))
        rates = np.broadcast_to(rates[..., None], (*rates.shape, size))
    if rates.ndim == 0:
        raise ValueError("rates must have shape [..., B] unless block_size is given, got a scalar")
    return TokenLaw(np.cumprod(rates, axis=-1))


def expected_rounds(law: TokenLaw, length: int) -> float:
    """Expected rounds to emit at least ``length`` tokens when rounds are independent draws of ``law``.

    A renewal equation: with u_t the chance that a round ends after exactly t tokens, the answer is
    u_0 + ... + u_(length-1). The last round's surplus is thrown away, which is why this exceeds
    length / E[N] and why the end of a text costs throughput (the paper's Section 3.3).

    Args:
        law: one law (``survival`` of shape ``[B]``).
        length: tokens wanted, at least 1.

    Raises:
        ValueError: if ``law`` is batched or ``length`` is less than 1.
    """
    if law.survival.ndim != 1:
        raise ValueError(f"law must be a single law, got survival of shape {law.survival.shape}")
    length = int(counts(length, "length", minimum=1))
    pmf = law.pmf
    renewal = np.zeros(length)
    renewal[0] = 1.0
    for t in range(1, length):
        reach = min(t, pmf.size)
        renewal[t] = pmf[:reach] @ renewal[t - reach : t][::-1]
    return float(renewal.sum())


def _rate_and_size(alpha: ArrayLike, block_size: ArrayLike) -> tuple[FloatArray, FloatArray]:
    rate, size = probabilities(alpha, "alpha"), counts(block_size, "block_size")
    check_broadcast(alpha=rate, block_size=size)
    return rate, size.astype(np.float64)


def _slope_series(rejection: FloatArray, n: FloatArray) -> FloatArray:
    """Σ_{k>=1} k C(n, k + 1) (-x)^(k-1), the slope expanded in x = 1 - α."""
    term = n * (n - 1) / 2
    total = term * np.ones_like(rejection)
    for k in range(1, _SERIES_TERMS):
        term = -term * rejection * (n - k - 1) * (k + 1) / ((k + 2) * k)
        total = total + term
    return total


def _variance_series(log_alpha: FloatArray, m: FloatArray) -> FloatArray:
    """2 e^(-ms) (sinh(ms) - m sinh s) with α = e^(-2s): the variance's bracket without its cancellation."""
    s = -log_alpha / 2
    # (m s)^(2i+1) - m s^(2i+1), with m s carried along: m alone to such a power would overflow for long blocks.
    term, total = m * s, np.zeros_like(s)
    for i in range(1, _SERIES_TERMS // 2):
        term = term * (m * s) ** 2 / (2 * i * (2 * i + 1))
        total = total + term * (1 - m ** (-2.0 * i))
    return 2 * np.exp(-m * s) * total
