"""How far one token's probability can be raised under a divergence budget: the root behind Cactus.

Raising p(y) = p to gamma and scaling every other token by (1 - gamma)/(1 - p) costs, for any
f-divergence, that of two coins, Phi(gamma) = D_f(Bernoulli(gamma) || Bernoulli(p)). It is convex and
increasing on [p, 1] and 0 at p, so Phi(gamma) = delta has one root (Equation 17 of the paper for KL). The
unknown here is the excess d = gamma - p, because a small excess would drown in the rounding of gamma.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from array_api_compat import device

from specfrontier.theory.arrays import Array, as_floating, in_range, namespace

__all__ = ["COIN_DIVERGENCES", "NEWTON_STEPS", "CoinDivergence", "boosted_probability", "taylor_probability"]

#: Enough for a relative error of 1e-12 at every p in [1e-300, 1 - 1e-16] and delta in [0, 50] (see the tests).
NEWTON_STEPS = 5


@dataclass(frozen=True)
class CoinDivergence:
    """D_f between coins of probability p + d and p, with what Newton's method needs to know of it.

    All functions are elementwise, for 0 < p < 1 and 0 < d <= 1 - p.
    """

    #: Phi(p + d) and its derivative in d, which share their logarithms.
    value_and_slope: Callable[[Array, Array], tuple[Array, Array]]
    #: An upper bound on the root d of Phi(p + d) = delta, from (p, delta).
    bound: Callable[[Array, Array], Array]
    #: Phi(1): any budget beyond it accepts for certain.
    ceiling: Callable[[Array], Array]
    #: f''(1), or None where f has a kink and no Taylor expansion exists.
    curvature: float | None
    #: True if a token of probability 0 cannot be raised at all.
    absolutely_continuous: bool


def boosted_probability(p: Array, delta: float, divergence: str = "kl") -> Array:
    """Largest gamma with D_f(Bernoulli(gamma) || Bernoulli(p)) <= delta, elementwise, shape ``[...]`` of ``p``.

    gamma = 1 once delta reaches Phi(1), which is -log p for KL. ``p`` holds probabilities, which are not checked:
    this is the decoder's hot path, a fixed number of Newton steps for which an accelerator never waits. Raises
    ``ValueError`` if ``delta`` is negative or NaN, or ``divergence`` is no key of ``COIN_DIVERGENCES``.
    """
    coin = _coin(divergence, delta)
    given = as_floating(p)
    p = _at_least_single(given)
    xp = namespace(p)
    inner = _interior(p)
    ceiling = coin.ceiling(inner)
    budget = xp.minimum(xp.full_like(inner, in_range(delta, p)), ceiling)
    gamma = xp.where(budget >= ceiling, 1.0, inner + _excess(coin, inner, budget, ceiling))
    return xp.astype(_at_the_ends(coin, p, xp.clip(gamma, inner, 1.0), delta), given.dtype)


def taylor_probability(p: Array, delta: float, divergence: str = "kl") -> Array:
    """gamma = min(1, p + sqrt(2 delta p (1 - p) / f''(1))): Equation 18, the form of Cactus's authors.

    Elementwise, shape ``[...]`` of ``p``. Raises ``ValueError`` as ``boosted_probability`` does, and for total
    variation, which has no second derivative.
    """
    coin = _coin(divergence, delta)
    given = as_floating(p)
    p = _at_least_single(given)
    xp = namespace(p)
    excess = _taylor_excess(coin, p, xp.full_like(p, in_range(delta, p)))
    return xp.astype(xp.clip(p + excess, 0.0, 1.0), given.dtype)


def _coin(divergence: str, delta: float) -> CoinDivergence:
    if divergence not in COIN_DIVERGENCES:
        raise ValueError(f"divergence must be one of {', '.join(COIN_DIVERGENCES)}, got {divergence!r}")
    if np.ndim(delta) or not delta >= 0:
        raise ValueError(f"delta must be a divergence budget >= 0, got {delta!r}")
    return COIN_DIVERGENCES[divergence]


def _at_least_single(p: Array) -> Array:
    """``p``, in single precision if it is a 16-bit float, whose least normal number is no small probability."""
    xp = namespace(p)
    return xp.astype(p, xp.float32) if xp.finfo(p.dtype).eps > xp.finfo(xp.float32).eps else p


def _excess(coin: CoinDivergence, p: Array, delta: Array, ceiling: Array) -> Array:
    """Root d of Phi(p + d) = delta by safeguarded Newton steps.

    Phi is convex and least at 0, so a step from the left of the root overshoots it, and every later step
    decreases towards it and stays positive. Cutting the overshoot at a bound that is never left of the root
    keeps it small. The chord from (p, 0) to (1, Phi(1)) is a start left of the root, good where Phi is nearly
    linear; the Taylor form is good where Phi is nearly quadratic.
    """
    xp = namespace(p)
    tiny = xp.finfo(p.dtype).smallest_normal  # keeps 0/0 away where delta = 0, and changes no other slope
    bound = xp.minimum(coin.bound(p, delta), 1 - p)
    chord = (1 - p) * (delta / ceiling)
    start = chord if coin.curvature is None else xp.maximum(chord, 0.75 * _taylor_excess(coin, p, delta))
    d = xp.minimum(start, bound)
    for _ in range(NEWTON_STEPS):
        value, slope = coin.value_and_slope(p, d)
        d = xp.minimum(d - (value - delta) / (slope + tiny), bound)
    return d


def _taylor_excess(coin: CoinDivergence, p: Array, delta: Array) -> Array:
    if coin.curvature is None:
        raise ValueError("total variation has a kink at p and no Taylor form; use solver='newton'")
    return namespace(p).sqrt(delta * (2 * p * (1 - p) / coin.curvature))


def _interior(p: Array) -> Array:
    """``p`` moved off 0 and 1 by the least amount, so that no logarithm or quotient below is infinite."""
    xp = namespace(p)
    info = xp.finfo(p.dtype)
    return xp.clip(p, info.smallest_normal, 1 - info.eps / 2)


def _at_the_ends(coin: CoinDivergence, p: Array, gamma: Array, delta: float) -> Array:
    xp = namespace(p)
    if coin.absolutely_continuous or delta == 0:
        gamma = xp.where(p > 0, gamma, 0.0)
    return xp.where(p < 1, gamma, 1.0)


def _log_growth(p: Array, d: Array) -> Array:
    """log((p + d)/p), accurate for d small beside p; d/p cannot overflow, because p is at least normal."""
    return namespace(p).log1p(d / p)


def _log_shrink(p: Array, d: Array) -> Array:
    """log((1 - p - d)/(1 - p)), which is at most 0; at d = 1 - p the least value that rounding can tell from it."""
    xp = namespace(p)
    share = d / (p - 1)
    return xp.log1p(xp.maximum(share, xp.asarray(xp.finfo(d.dtype).eps / 2 - 1, dtype=d.dtype, device=device(d))))


def _kl(p: Array, d: Array) -> tuple[Array, Array]:
    growth, shrink = _log_growth(p, d), _log_shrink(p, d)
    slope = growth - shrink
    return (p + d) * slope + shrink, slope


def _kl_bound(p: Array, delta: Array) -> Array:
    # Bernstein's inequality: Phi >= d^2 / (2 p + 2 d / 3).
    return delta / 3 + namespace(p).sqrt(delta**2 / 9 + 2 * p * delta)


def _reverse_kl(p: Array, d: Array) -> tuple[Array, Array]:
    xp = namespace(p)
    value = -p * _log_growth(p, d) - (1 - p) * _log_shrink(p, d)
    rest = xp.clip(1 - p - d, xp.finfo(d.dtype).eps ** 2, 1.0)
    return value, d / ((p + d) * rest)


def _reverse_kl_bound(p: Array, delta: Array) -> Array:
    # Phi >= -entropy(p) - (1 - p) log(1 - gamma), because gamma <= 1.
    xp = namespace(p)
    entropy = -p * xp.log(p) - (1 - p) * xp.log1p(-p)
    return -p - xp.expm1(-(delta + entropy) / (1 - p))


def _hellinger(p: Array, d: Array) -> tuple[Array, Array]:
    xp = namespace(p)
    rest = xp.clip(1 - p - d, xp.finfo(d.dtype).eps ** 2, 1.0)
    root, root_p = xp.sqrt(p + d), xp.sqrt(p)
    root_rest, root_1p = xp.sqrt(rest), xp.sqrt(1 - p)
    value = ((d / (root + root_p)) ** 2 + (d / (root_rest + root_1p)) ** 2) / 2
    return value, (root_1p / root_rest - root_p / root) / 2


def _hellinger_root(p: Array, delta: Array) -> Array:
    # Laws on two points are angles: gamma = sin^2(a + b) with p = sin^2 a and delta = 1 - cos b.
    xp = namespace(p)
    sine = xp.sqrt(delta * (2 - delta))
    return sine * (2 * xp.sqrt(p * (1 - p)) * (1 - delta) + (1 - 2 * p) * sine)


#: What two coins cost, for each f-divergence of ``specfrontier.theory.divergences``.
COIN_DIVERGENCES: Mapping[str, CoinDivergence] = MappingProxyType(
    {
        "tv": CoinDivergence(
            value_and_slope=lambda p, d: (d, namespace(p).ones_like(d)),
            bound=lambda p, delta: delta,
            ceiling=lambda p: 1 - p,
            curvature=None,
            absolutely_continuous=False,
        ),
        "kl": CoinDivergence(
            value_and_slope=_kl,
            bound=_kl_bound,
            ceiling=lambda p: -namespace(p).log(p),
            curvature=1.0,
            absolutely_continuous=True,
        ),
        "reverse_kl": CoinDivergence(
            value_and_slope=_reverse_kl,
            bound=_reverse_kl_bound,
            ceiling=lambda p: namespace(p).full_like(p, float("inf")),
            curvature=1.0,
            absolutely_continuous=False,
        ),
        "chi2": CoinDivergence(
            value_and_slope=lambda p, d: (d / p * (d / (1 - p)), 2 * d / p / (1 - p)),
            bound=lambda p, delta: namespace(p).sqrt(delta * p * (1 - p)),
            ceiling=lambda p: (1 - p) / p,
            curvature=2.0,
            absolutely_continuous=True,
        ),
        "hellinger": CoinDivergence(
            value_and_slope=_hellinger,
            bound=_hellinger_root,
            ceiling=lambda p: 1 - namespace(p).sqrt(p),
            curvature=0.25,
            absolutely_continuous=False,
        ),
    }
)
