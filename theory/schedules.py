"""Spending leniency where it pays: the optimal leniency schedule along a block.

A round reaches position k with probability α_1 ··· α_(k-1); a token accepted there opens all later positions,
one accepted at the end opens only the bonus token. Uniform leniency pays the same price for both. With a
price μ on deviation, Bellman's equation for the tokens still to come, net of that price, is

    J_(B+1) = 1,    J_k = max over targets of  1 - μ · deviation_k + α_k J_(k+1).

- Deviation in **total variation**: bang-bang. λ_k = 1 where J_(k+1) > μ, else 0.
- Deviation in **KL**: smooth. The target at k is the clip min(max(q, a p), b p) with log(b / a) = J_(k+1) /
  μ.

Both maximise expected tokens at their own expected deviation, and, over μ, at every expected deviation per
emitted token. Proofs: ``docs/theory/schedules.md``. A schedule must be fixed before the tokens it judges are
drawn (from profiled distances by position, say): one that looks at the drafted tokens breaks Proposition 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specfrontier.theory.domains import check_broadcast, nonnegative, positive, probabilities
from specfrontier.theory.validation import check_laws

__all__ = [
    "ClipSchedule",
    "LinearSchedule",
    "clip_schedule",
    "clip_schedule_for_budget",
    "clip_with_log_ratio",
    "linear_schedule",
    "tv_schedule",
    "tv_schedule_for_budget",
    "uniform_clip_schedule",
]

FloatArray = NDArray[np.float64]

# exp of more than this overflows; a wider clip than e^600 is indistinguishable from q anyway.
_MAX_LOG_RATIO = 600.0


@dataclass(frozen=True)
class LinearSchedule:
    """Linear leniency λ_k by position, with what it buys and costs in one round.

    Attributes:
        lam: ``[..., B]`` λ_k in [0, 1].
        expected_tokens: ``[...]`` tokens per round, correction or bonus included.
        expected_deviation: ``[...]`` expected sum of λ_k d_k over the emitted tokens of the round.
    """

    lam: FloatArray
    expected_tokens: FloatArray
    expected_deviation: FloatArray

    @property
    def deviation_per_token(self) -> FloatArray:
        """``[...]``: expected deviation over expected tokens, the long-run deviation of an emitted token."""
        return self.expected_deviation / self.expected_tokens


@dataclass(frozen=True)
class ClipSchedule:
    """Clip targets by position, with what they buy and cost in one round.

    Attributes:
        targets: ``[..., B, V]`` p̃_k = min(max(q_k, a_k p_k), b_k p_k).
        log_ratio: ``[..., B]`` log(b_k / a_k) >= 0.
        expected_tokens: ``[...]`` tokens per round.
        expected_deviation: ``[...]`` expected sum of KL(p̃_k || p_k), in nats, over the round's emitted
        tokens.
    """

    targets: FloatArray
    log_ratio: FloatArray
    expected_tokens: FloatArray
    expected_deviation: FloatArray

    @property
    def deviation_per_token(self) -> FloatArray:
        """``[...]``: nats of KL per emitted token."""
        return self.expected_deviation / self.expected_tokens


def linear_schedule(distances: ArrayLike, lam: ArrayLike) -> LinearSchedule:
    """Evaluate a given linear schedule; a scalar ``lam`` is uniform leniency.

    Args:
        distances: ``[..., B]`` d_k, total variation between p and q at position k, in [0, 1].
        lam: λ_k in [0, 1], broadcasting with ``distances``.

    Raises:
        ValueError: if a value leaves [0, 1], or the position axis is missing.
    """
    d, leniency = _distances(distances), probabilities(lam, "lam")
    shape = check_broadcast(distances=d, lam=leniency)
    d, leniency = np.broadcast_to(d, shape), np.broadcast_to(leniency, shape)
    tokens, deviation = _round_totals(1 - (1 - leniency) * d, leniency * d)
    return LinearSchedule(leniency, tokens, deviation)


def tv_schedule(distances: ArrayLike, price: ArrayLike) -> LinearSchedule:
    """Maximise expected tokens minus μ times expected total-variation deviation.

    Bang-bang: λ_k = 1 where J_(k+1) > μ, else 0. No target, linear or not, does better (Theorem 1).

    Args:
        distances: ``[..., B]`` d_k in [0, 1]; expected values by position suffice.
        price: μ >= 0 in tokens per unit of total variation, broadcasting with ``[...]``.

    Returns:
        The optimal schedule; strict where leniency and strictness tie.

    Raises:
        ValueError: if a value leaves its range or the shapes do not broadcast.

    Examples:
        >>> tv_schedule([0.3, 0.3, 0.3, 0.3], price=2.0).lam.tolist()
        [1.0, 1.0, 0.0, 0.0]
    """
    d, mu = _distances(distances), nonnegative(price, "price")
    shape = check_broadcast(price=mu, distances=d[..., 0])
    d = np.broadcast_to(d, (*shape, d.shape[-1]))
    lam, value = np.zeros(d.shape), np.ones(shape)
    for k in reversed(range(d.shape[-1])):
        lam[..., k] = value > mu
        value = 1 + (1 - d[..., k]) * value + d[..., k] * np.maximum(value - mu, 0)
    return linear_schedule(d, lam)


def tv_schedule_for_budget(distances: ArrayLike, deviation_per_token: float) -> LinearSchedule:
    """Maximise expected tokens under a budget on total variation per emitted token.

    Bang-bang but for at most one position, whose fraction uses the budget up.

    Args:
        distances: ``[B]`` d_k in [0, 1].
        deviation_per_token: budget ε in [0, 1] on E[deviation] / E[tokens].

    Returns:
        The optimal schedule; full leniency if the budget does not bind.

    Raises:
        ValueError: if ``distances`` is not one-dimensional or a value leaves [0, 1].
    """
    d, budget = _distances(distances), float(probabilities(deviation_per_token, "deviation_per_token"))
    if d.ndim != 1:
        raise ValueError(f"distances must have shape [B], got shape {d.shape}")
    everywhere = linear_schedule(d, 1.0)
    if everywhere.deviation_per_token <= budget:
        return everywhere
    cheap, dear = _bracket_price(d, budget)
    return _fill_budget(d, dear.lam, cheap.lam, budget)


def clip_with_log_ratio(p: ArrayLike, q: ArrayLike, log_ratio: ArrayLike) -> FloatArray:
    """Clip target min(max(q, a p), b p) with log(b / a) given and a such that it sums to 1.

    Args:
        p: ``[..., V]`` verifier law.
        q: ``[..., V]`` draft law, broadcasting with ``p``.
        log_ratio: ``[...]`` r >= 0; 0 gives p, large r approaches q on the support of p.

    Returns:
        p̃ of shape ``[..., V]``, zero where p is.

    Raises:
        ValueError: if p or q is not a law or ``log_ratio`` is negative.
    """
    verifier, drafter = _laws(p, q)
    width = np.minimum(nonnegative(log_ratio, "log_ratio"), _MAX_LOG_RATIO)
    shape = check_broadcast(log_ratio=width, p=verifier[..., 0], q=drafter[..., 0])
    # The mass grows with a: at most 1 at log a = -r (where b = 1), at least 1 at log a = 0.
    low, high = np.broadcast_to(-width, shape), np.zeros(shape)
    for _ in range(64):
        middle = (low + high) / 2
        enough = _clip(verifier, drafter, middle, width).sum(axis=-1) >= 1
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    target = _clip(verifier, drafter, high, width)
    return target / target.sum(axis=-1, keepdims=True)


def clip_schedule(p: ArrayLike, q: ArrayLike, price: ArrayLike) -> ClipSchedule:
    """Maximise expected tokens minus μ times expected KL(p̃ || p), by clips of width log(b/a) = J_(k+1) / μ.

    Args:
        p: ``[..., B, V]`` verifier laws along the block.
        q: ``[..., B, V]`` draft laws along the block.
        price: μ > 0 in tokens per nat, broadcasting with ``[...]``.

    Raises:
        ValueError: if p or q are not laws, μ is not positive, or the block axis is missing.
    """
    verifier, drafter = _block_laws(p, q)
    mu = positive(price, "price")
    shape = check_broadcast(price=mu, rows=verifier[..., 0, 0])
    verifier = np.broadcast_to(verifier, (*shape, *verifier.shape[-2:]))
    drafter = np.broadcast_to(drafter, verifier.shape)
    targets, log_ratio, value = np.empty(verifier.shape), np.empty(verifier.shape[:-1]), np.ones(shape)
    for k in reversed(range(verifier.shape[-2])):
        row_p, row_q = verifier[..., k, :], drafter[..., k, :]
        log_ratio[..., k] = np.minimum(value / mu, _MAX_LOG_RATIO)
        targets[..., k, :] = clip_with_log_ratio(row_p, row_q, log_ratio[..., k])
        rate, divergence = _rate_and_kl(targets[..., k, :], row_p, row_q)
        value = 1 - mu * divergence + rate * value
    return _evaluate_clips(verifier, drafter, targets, log_ratio)


def uniform_clip_schedule(p: ArrayLike, q: ArrayLike, log_ratio: ArrayLike) -> ClipSchedule:
    """Evaluate the same clip width at every position: the baseline of :func:`clip_schedule`.

    Args:
        p: ``[..., B, V]`` verifier laws.
        q: ``[..., B, V]`` draft laws.
        log_ratio: ``[...]`` log(b / a) >= 0.

    Raises:
        ValueError: as :func:`clip_schedule`.
    """
    verifier, drafter = _block_laws(p, q)
    width = np.broadcast_to(nonnegative(log_ratio, "log_ratio")[..., None], verifier.shape[:-1])
    return _evaluate_clips(verifier, drafter, clip_with_log_ratio(verifier, drafter, width), width)


def clip_schedule_for_budget(p: ArrayLike, q: ArrayLike, deviation_per_token: float) -> ClipSchedule:
    """Maximise expected tokens under a budget on nats of KL per emitted token.

    Args:
        p: ``[B, V]`` verifier laws along the block.
        q: ``[B, V]`` draft laws along the block.
        deviation_per_token: budget on E[KL] / E[tokens], nats, > 0.

    Returns:
        The optimal schedule within the budget (spent to about 1e-9 of itself unless it does not bind).

    Raises:
        ValueError: as :func:`clip_schedule`, or if p is batched.
    """
    verifier, drafter = _block_laws(p, q)
    budget = float(positive(deviation_per_token, "deviation_per_token"))
    if verifier.ndim != 2:
        raise ValueError(f"p and q must have shape [B, V], got shape {verifier.shape}")
    # From the price at which the widest clip is free to one at which a whole block is not worth a nat.
    low, high = np.log((verifier.shape[0] + 1) / _MAX_LOG_RATIO), 40.0
    widest = clip_schedule(verifier, drafter, np.exp(low))
    if widest.deviation_per_token <= budget:
        return widest
    for _ in range(50):  # deviation falls continuously with the price
        middle = (low + high) / 2
        within = clip_schedule(verifier, drafter, np.exp(middle)).deviation_per_token <= budget
        low, high = (low, middle) if within else (middle, high)
    return clip_schedule(verifier, drafter, np.exp(high))


def _bracket_price(d: FloatArray, budget: float) -> tuple[LinearSchedule, LinearSchedule]:
    """Optimal schedules at neighbouring prices, just over the budget and just within it."""
    low, high = 0.0, d.size + 2.0  # no token is worth B + 2
    for _ in range(80):
        middle = (low + high) / 2
        within = tv_schedule(d, middle).deviation_per_token <= budget
        low, high = (low, middle) if within else (middle, high)
    return tv_schedule(d, low), tv_schedule(d, high)


def _fill_budget(d: FloatArray, strict: FloatArray, lenient: FloatArray, budget: float) -> LinearSchedule:
    """Open the positions that tie at the critical price one by one, the last by the fraction left."""
    lam = strict.copy()
    for k in np.flatnonzero(lenient != strict):
        before = linear_schedule(d, lam)
        lam[k] = 1.0
        after = linear_schedule(d, lam)
        if after.deviation_per_token > budget:
            lam[k] = _fraction(before, after, budget)
            break
    return linear_schedule(d, lam)


def _fraction(before: LinearSchedule, after: LinearSchedule, budget: float) -> float:
    """Tokens and deviation are both linear in one λ_k, so the budget is met by one division."""
    slack = budget * before.expected_tokens - before.expected_deviation
    excess = after.expected_deviation - budget * after.expected_tokens
    return float(np.clip(slack / (slack + excess), 0.0, 1.0))


def _round_totals(rates: FloatArray, deviation: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Expected tokens, and expected deviation summed over the emitted tokens, of one round."""
    survival = np.cumprod(rates, axis=-1)
    reached = np.concatenate([np.ones_like(survival[..., :1]), survival[..., :-1]], axis=-1)
    return 1 + survival.sum(axis=-1), (reached * deviation).sum(axis=-1)


def _evaluate_clips(p: FloatArray, q: FloatArray, targets: FloatArray, log_ratio: FloatArray) -> ClipSchedule:
    tokens, deviation = _round_totals(*_rate_and_kl(targets, p, q))
    return ClipSchedule(targets, log_ratio, tokens, deviation)


def _rate_and_kl(target: FloatArray, p: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(target > 0, target * np.log(target / p), 0.0)
    # A sum of rounded terms can miss zero by one unit in the last place.
    return np.minimum(target, q).sum(axis=-1), np.maximum(terms.sum(axis=-1), 0.0)


def _clip(p: FloatArray, q: FloatArray, log_a: FloatArray, width: FloatArray) -> FloatArray:
    a, b = np.exp(log_a)[..., None], np.exp(log_a + width)[..., None]
    return np.minimum(np.maximum(q, a * p), b * p)


def _distances(distances: ArrayLike) -> FloatArray:
    d = probabilities(distances, "distances")
    if d.ndim == 0 or d.shape[-1] == 0:
        raise ValueError(f"distances must have shape [..., B] with B >= 1, got shape {d.shape}")
    return d


def _laws(p: ArrayLike, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
    verifier, drafter = check_laws(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))
    return verifier, drafter


def _block_laws(p: ArrayLike, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
    verifier, drafter = np.broadcast_arrays(*_laws(p, q))
    if verifier.ndim < 2:
        raise ValueError(f"p and q must have shape [..., B, V], got shape {verifier.shape}")
    return verifier, drafter
