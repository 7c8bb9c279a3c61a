"""The universal clip: the one target that is optimal for every f-divergence (docs/theory/clip.md).

Among targets p̃ with D_f(p̃ || p) <= epsilon, the largest acceptance sum min(p̃, q) is attained by

    p̃ = min(max(q, a p), b p),    0 <= a <= 1 <= b,

where b follows from the budget and a from sum p̃ = 1, whatever the convex f. So one family, indexed by b,
is optimal for total variation, KL, reverse KL, chi^2 and Hellinger at once. Its accept test is min(1, b
p(y)/q(y)). Narasimhan et al. (ICLR 2025) meet the same form as the law of lossy speculative decoding.
"""

from __future__ import annotations

import math

from specfrontier.theory.arrays import Array, in_range, namespace, positive_part
from specfrontier.theory.divergences import Divergence, divergence_named
from specfrontier.theory.validation import check_laws, check_numbers

__all__ = ["clip_floor", "clip_for_budget", "clip_target"]

#: Cap on the Newton steps for the floor. Real rows take 2 to 8; geometric p and q/p take up to about 50.
_MAX_FLOOR_STEPS = 64
#: Halvings of log b, which lies in [0, 710]: enough for the last bit of a double.
_BUDGET_STEPS = 64


def clip_target(p: Array, q: Array, b: Array | float, *, validate: bool = True) -> Array:
    """Target p̃ = min(max(q, a p), b p), shape ``[..., V]``, for a ceiling ``b >= 1`` (a number or
    ``[...]``).

    ``b = 1`` gives p; b beyond max q/p gives q wherever p > 0. A token that p excludes (p = 0) stays
    excluded, so KL(p̃ || p) <= log b always. Raises ``ValueError`` if b is below 1, infinite or NaN, or
    if p or q is no law.
    """
    p, q = check_laws(p, q) if validate else (p, q)
    b = _ceiling(p, q, b, validate)
    xp = namespace(p, q)
    return xp.minimum(xp.maximum(q, _floor(p, q, b) * p), b * p)


def clip_floor(p: Array, q: Array, b: Array | float, *, validate: bool = True) -> Array:
    """The floor a in [0, 1], shape ``[...]``: root of sum [a p - q]_+ = sum [q - b p]_+.

    The right side is the mass that the ceiling cuts off, which is also the rejection rate; the left side
    is the mass that the floor adds. Where nothing is cut off, a is the least ratio q/p.
    """
    p, q = check_laws(p, q) if validate else (p, q)
    return _floor(p, q, _ceiling(p, q, b, validate))[..., 0]


def clip_for_budget(
    p: Array, q: Array, epsilon: Array | float, divergence: str = "kl", *, validate: bool = True
) -> Array:
    """Ceiling b ``[...]`` at which the clip spends the budget: D_f(clip_target(p, q, b) || p) = ``epsilon``.

    ``divergence`` is a key of ``DIVERGENCES``. A budget that the whole way to q does not exhaust returns
    the least b that reaches it, max q/p over p > 0. No finite b puts mass where p = 0; for KL and chi^2
    no budget could pay for it either. Raises ``ValueError`` if ``epsilon`` is negative or NaN.
    """
    p, q = check_laws(p, q) if validate else (p, q)
    measure = divergence_named(divergence)
    xp = namespace(p, q)
    high = xp.log(_least_sufficient_ceiling(p, q))
    budget = check_numbers(epsilon, "epsilon", p, q) + xp.zeros_like(high)
    if validate and not bool(xp.all(budget >= 0)):
        raise ValueError(f"epsilon must be a divergence budget >= 0, got {epsilon!r}")
    return xp.exp(_bisect(p, q, budget, measure, xp.zeros_like(high), high))


def _bisect(p: Array, q: Array, epsilon: Array, measure: Divergence, low: Array, high: Array) -> Array:
    """Largest log b in [low, high] within the budget: the divergence grows with b."""
    xp = namespace(low, high)
    affordable = _cost(p, q, high, measure) <= epsilon
    low = xp.where(affordable, high, low)
    for _ in range(_BUDGET_STEPS):
        middle = (low + high) / 2
        fits = _cost(p, q, middle, measure) <= epsilon
        low, high = xp.where(fits, middle, low), xp.where(fits, high, middle)
    return low


def _cost(p: Array, q: Array, log_b: Array, measure: Divergence) -> Array:
    target = clip_target(p, q, namespace(log_b).exp(log_b), validate=False)
    return measure(target, p, validate=False)


def _least_sufficient_ceiling(p: Array, q: Array) -> Array:
    """max q/p over tokens with p > 0, at least 1, and finite."""
    xp = namespace(p, q)
    ratio = xp.where(p > 0, q / xp.where(p > 0, p, 1.0), 0.0)
    return xp.clip(xp.max(ratio, axis=-1), 1.0, xp.finfo(ratio.dtype).max / 2)


def _floor(p: Array, q: Array, b: Array | float) -> Array:
    """The floor a, shape ``[..., 1]``, by Newton's method from a = 1.

    sum [a p - q]_+ is convex and piecewise linear in a, so each step from the right of the root stays
    there and solves the current linear piece exactly; the method ends once the set {a p > q} no longer
    changes. Looking whether it has ended makes an accelerator wait, but costs less there than the steps
    that it saves.
    """
    xp = namespace(p, q)
    cut_off = xp.sum(positive_part(q - b * p), axis=-1, keepdims=True)
    a = xp.ones_like(cut_off)
    for _ in range(_MAX_FLOOR_STEPS):
        raised = a * p > q
        p_mass = xp.sum(xp.where(raised, p, 0.0), axis=-1, keepdims=True)
        q_mass = xp.sum(xp.where(raised, q, 0.0), axis=-1, keepdims=True)
        solved = xp.where(p_mass > 0, (cut_off + q_mass) / xp.where(p_mass > 0, p_mass, 1.0), a)
        if not bool(xp.any(solved < a)):
            break
        a = xp.minimum(solved, a)
    return a


def _ceiling(p: Array, q: Array, b: Array | float, validate: bool) -> Array | float:
    """``b`` ready to multiply rows: a number that their dtype holds, an array ``[...]`` with a last axis of one."""
    if isinstance(b, (int, float)):
        valid, ceiling = 1 <= b < math.inf, in_range(b, p)
    else:
        ceiling = check_numbers(b, "b", p, q)[..., None]
        valid = not validate or bool(namespace(p).all((ceiling >= 1) & (ceiling < math.inf)))
    if validate and not valid:
        raise ValueError(f"b must be a finite ceiling >= 1, got {b!r}; 1 is lossless")
    return ceiling
