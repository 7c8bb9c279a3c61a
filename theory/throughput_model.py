"""The simple throughput model of Section 3.3: Equations 6 and 7, their gradients, and break-even points.

Costs are seconds per round, throughput is emitted tokens per second. The model assumes one acceptance rate
for every position (Proposition 1) and a verifier whose cost does not depend on the draft. How wrong each
assumption is on a real pair is what ``specfrontier.simulate`` measures; formulas and proofs:
``docs/theory/throughput.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specfrontier.theory.domains import check_broadcast, counts, nonnegative, positive, probabilities
from specfrontier.theory.tokens import alpha_for_tokens, expected_tokens, expected_tokens_slope

__all__ = [
    "LinearThroughputGradient",
    "ThroughputGradient",
    "break_even_alpha",
    "break_even_draft_cost",
    "break_even_leniency",
    "linear_acceptance_rate",
    "linear_throughput_gradient",
    "speedup",
    "throughput",
    "throughput_gradient",
    "verifier_agreement",
]

FloatArray = NDArray[np.float64]


def linear_acceptance_rate(d: ArrayLike, lam: ArrayLike) -> FloatArray:
    """Acceptance rate under linear leniency: α = 1 - (1 - λ) d_K (Equation 6, left).

    Args:
        d: d_K, the expected total variation between verifier and drafter, in [0, 1], any shape.
        lam: λ in [0, 1], broadcasting with ``d``.

    Returns:
        α in [0, 1], of the broadcast shape.

    Raises:
        ValueError: if an argument leaves [0, 1] or the shapes do not broadcast.
    """
    d, lam = _distance_and_leniency(d, lam)
    return 1 - (1 - lam) * d


def verifier_agreement(d: ArrayLike, lam: ArrayLike) -> FloatArray:
    """Agreement with the verifier under linear leniency: 1 - λ d_K (Equation 6, right).

    The model's proxy for quality: one minus the total variation between the target and the verifier.
    Arguments, shapes and errors as :func:`linear_acceptance_rate`.
    """
    d, lam = _distance_and_leniency(d, lam)
    return 1 - lam * d


def throughput(alpha: ArrayLike, block_size: ArrayLike, draft_cost: ArrayLike, verify_cost: ArrayLike) -> FloatArray:
    """Tokens per second: Σ_{n=0}^{B} α^n / (c_d(K) + c_v) (Equation 7).

    Args:
        alpha: acceptance rate in [0, 1], any shape.
        block_size: B, integers >= 0.
        draft_cost: c_d(K), seconds to draft one block, >= 0.
        verify_cost: c_v, seconds to verify one block, > 0.

    Returns:
        Tokens per second, of the broadcast shape.

    Raises:
        ValueError: if an argument leaves its range or the shapes do not broadcast.

    Examples:
        >>> float(throughput(alpha=0.8, block_size=4, draft_cost=0.02, verify_cost=0.08).round(3))
        33.616
    """
    tokens, cost = _tokens_and_cost(alpha, block_size, draft_cost, verify_cost)
    return tokens / cost


@dataclass(frozen=True)
class ThroughputGradient:
    """Partial derivatives of Equation 7, all of the broadcast shape of its arguments.

    Attributes:
        alpha: ∂T/∂α, tokens per second per unit of rate.
        draft_cost: ∂T/∂c_d = -T / (c_d + c_v), tokens per second².
        verify_cost: ∂T/∂c_v, the same number.
        block_size: T(B + 1) - T(B) at unchanged costs, tokens per second.
    """

    alpha: FloatArray
    draft_cost: FloatArray
    verify_cost: FloatArray
    block_size: FloatArray


def throughput_gradient(
    alpha: ArrayLike, block_size: ArrayLike, draft_cost: ArrayLike, verify_cost: ArrayLike
) -> ThroughputGradient:
    """Differentiate Equation 7. Arguments and errors as :func:`throughput`."""
    tokens, cost = _tokens_and_cost(alpha, block_size, draft_cost, verify_cost)
    by_cost = -tokens / cost**2
    return ThroughputGradient(
        alpha=expected_tokens_slope(alpha, block_size) / cost,
        draft_cost=by_cost,
        verify_cost=by_cost,
        block_size=np.asarray(alpha, dtype=np.float64) ** (np.asarray(block_size) + 1.0) / cost,
    )


@dataclass(frozen=True)
class LinearThroughputGradient:
    """Partial derivatives of throughput under linear leniency, with α from Equation 6.

    Attributes:
        d: ∂T/∂d_K = -(1 - λ) ∂T/∂α, tokens per second per unit of distance.
        lam: ∂T/∂λ = d_K ∂T/∂α, tokens per second per unit of leniency.
        draft_cost: ∂T/∂c_d, tokens per second².
        verify_cost: ∂T/∂c_v, the same number.
    """

    d: FloatArray
    lam: FloatArray
    draft_cost: FloatArray
    verify_cost: FloatArray


def linear_throughput_gradient(
    d: ArrayLike,
    lam: ArrayLike,
    block_size: ArrayLike,
    draft_cost: ArrayLike,
    verify_cost: ArrayLike,
) -> LinearThroughputGradient:
    """Differentiate Equation 7 with Equation 6 put in: the sensitivities of a configuration (K, λ, B).

    Arguments and errors as :func:`linear_acceptance_rate` and :func:`throughput`.
    """
    distance, leniency = _distance_and_leniency(d, lam)
    alpha = linear_acceptance_rate(distance, leniency)
    gradient = throughput_gradient(alpha, block_size, draft_cost, verify_cost)
    return LinearThroughputGradient(
        d=-(1 - leniency) * gradient.alpha,
        lam=distance * gradient.alpha,
        draft_cost=gradient.draft_cost,
        verify_cost=gradient.verify_cost,
    )


def speedup(
    alpha: ArrayLike,
    block_size: ArrayLike,
    draft_cost: ArrayLike,
    verify_cost: ArrayLike,
    decode_cost: ArrayLike | None = None,
) -> FloatArray:
    """Throughput relative to plain autoregressive decoding by the verifier: E[N] c_1 / (c_d + c_v).

    Args:
        alpha: acceptance rate in [0, 1].
        block_size: B, integers >= 0.
        draft_cost: c_d(K), seconds, >= 0.
        verify_cost: c_v, seconds, > 0.
        decode_cost: c_1, seconds of one autoregressive step of the verifier, > 0. None takes c_v: the paper's
            model, in which a verify pass costs the same for any block.

    Returns:
        A ratio; above 1 the draft pays.

    Raises:
        ValueError: as :func:`throughput`.
    """
    step = positive(verify_cost if decode_cost is None else decode_cost, "decode_cost")
    return throughput(alpha, block_size, draft_cost, verify_cost) * step


def break_even_alpha(
    block_size: ArrayLike,
    draft_cost: ArrayLike,
    verify_cost: ArrayLike,
    decode_cost: ArrayLike | None = None,
) -> FloatArray:
    """The acceptance rate above which speculative diffusion beats autoregressive decoding.

    The root of E[N](α) = (c_d + c_v) / c_1. Arguments and errors as :func:`speedup`.

    Returns:
        α in [0, 1]; 0 where every rate pays (a round costs no more than one step), NaN where none does.
    """
    cost = nonnegative(draft_cost, "draft_cost") + positive(verify_cost, "verify_cost")
    step = positive(verify_cost if decode_cost is None else decode_cost, "decode_cost")
    return alpha_for_tokens(np.maximum(cost / step, 1.0), block_size)


def break_even_leniency(
    d: ArrayLike,
    block_size: ArrayLike,
    draft_cost: ArrayLike,
    verify_cost: ArrayLike,
    decode_cost: ArrayLike | None = None,
) -> FloatArray:
    """The leniency λ above which the pair beats autoregressive decoding under linear acceptance.

    λ = 1 - (1 - α*) / d_K with α* of :func:`break_even_alpha`, cut at 0 from below.

    Returns:
        λ in [0, 1]; 0 where lossless decoding already pays, NaN where even λ = 1 does not.
    """
    distance = probabilities(d, "d")
    alpha = break_even_alpha(block_size, draft_cost, verify_cost, decode_cost)
    check_broadcast(d=distance, break_even_alpha=np.asarray(alpha))
    with np.errstate(divide="ignore", invalid="ignore"):
        lam = 1 - (1 - alpha) / distance
    return np.where(np.isnan(alpha), np.nan, np.where(alpha <= 1 - distance, 0.0, lam))[()]


def break_even_draft_cost(
    alpha: ArrayLike,
    baseline_alpha: ArrayLike,
    block_size: ArrayLike,
    baseline_draft_cost: ArrayLike,
    verify_cost: ArrayLike,
) -> FloatArray:
    """The most that a better draft may cost and still match the throughput of a cheaper one.

    More denoising steps raise the acceptance rate from α' to α; they pay if and only if the new draft cost is
    below (c_d' + c_v) E[N](α) / E[N](α') - c_v.

    Args:
        alpha: rate of the better draft, in [0, 1].
        baseline_alpha: rate of the cheaper draft, in [0, 1].
        block_size: B, integers >= 0.
        baseline_draft_cost: c_d', seconds, >= 0.
        verify_cost: c_v, seconds, > 0.

    Returns:
        Seconds per round, of the broadcast shape; negative where no draft cost is low enough.

    Raises:
        ValueError: as :func:`throughput`.
    """
    baseline, cost = _tokens_and_cost(baseline_alpha, block_size, baseline_draft_cost, verify_cost)
    return cost * expected_tokens(alpha, block_size) / baseline - positive(verify_cost, "verify_cost")


def _distance_and_leniency(d: ArrayLike, lam: ArrayLike) -> tuple[FloatArray, FloatArray]:
    distance, leniency = probabilities(d, "d"), probabilities(lam, "lam")
    check_broadcast(d=distance, lam=leniency)
    return distance, leniency


def _tokens_and_cost(
    alpha: ArrayLike, block_size: ArrayLike, draft_cost: ArrayLike, verify_cost: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    draft, verify = nonnegative(draft_cost, "draft_cost"), positive(verify_cost, "verify_cost")
    rate, size = probabilities(alpha, "alpha"), counts(block_size, "block_size")
    check_broadcast(alpha=rate, block_size=size, draft_cost=draft, verify_cost=verify)
    return expected_tokens(rate, size), np.asarray(draft + verify)
