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

from specfrontier.theory.arrays import Array, namespace

__all__ = ["COIN_DIVERGENCES", "NEWTON_STEPS", "CoinDivergence", "boosted_probability", "taylor_probability"]

#: Enough for a relative error of 1e-12 at every p in [1e-300, 1 - 1e-16] and delta in [0, 50] (see the
#: tests).
NEWTON_STEPS = 8


@dataclass(frozen=True)
class CoinDivergence:
    """D_f between coins of probability p + d and p, with what Newton's method needs to know of it.

    All functions are elementwise, for 0 < p < 1 and 0 < d <= 1 - p.
    """

    #: Phi(p + d).
    value: Callable[[Array, Array], Array]
    #: dPhi/dd.
    slope: Callable[[Array, Array], Array]
    #: An upper bound on the root d of Phi(p + d) = delta, from (p, delta).
    bound: Callable[[Array, Array], Array]
    #: Phi(1): any budget beyond it accepts for certain.
    ceiling: Callable[[Array], Array]
    #: f''(1), or None where f has a kink and no Taylor expansion exists.
    curvature: float | None
    #: True if a token of probability 0 cannot be raised at all.
    absolutely_continuous: bool


def boosted_probability(p: Array, delta: float, divergence: str = "kl") -> Array:
    """Largest gamma ``[...]`` with D_f(Bernoulli(gamma) || Bernoulli(p)) <= delta, elementwise in ``p``
    ``[...]``.

    ``p`` in [0, 1], ``delta >= 0``, ``divergence`` a key of ``COIN_DIVERGENCES``. gamma = 1 once delta
    reaches Phi(1), which is -log p for KL. A fixed number of Newton steps, so an accelerator never waits.
    """
    coin = COIN_DIVERGENCES[divergence]
    xp = namespace(p)
    p = xp.asarray(p)
    inner = _interior(p)
    ceiling = coin.ceiling(inner)
    budget = xp.minimum(xp.full_like(inner, delta), ceiling)
    gamma = xp.where(budget >= ceiling, 1.0, inner + _excess(coin, inner, budget))
    return _at_the_ends(coin, p, xp.clip(gamma, inner, 1.0), delta)


def taylor_probability(p: Array, delta: float, divergence: str = "kl") -> Array:
    """gamma = min(1, p + sqrt(2 delta p (1 - p) / f''(1))): Equation 18, the form of Cactus's authors.

    Raises ``ValueError`` for total variation, which has no second derivative.
    """
    coin = COIN_DIVERGENCES[divergence]
    xp = namespace(p)
    p = xp.asarray(p)
    return xp.clip(p + _taylor_excess(coin, p, xp.full_like(p, delta)), 0.0, 1.0)


def _excess(coin: CoinDivergence, p: Array, delta: Array) -> Array:
    """Root d of Phi(p + d) = delta by safeguarded Newton steps.

    Phi is convex, so a step from the left of the root overshoots it and every later step decreases
    towards it. Cutting the overshoot at a bound that is never left of the root keeps it small.
    """
    xp = namespace(p)
    bound = xp.minimum(coin.bound(p, delta), 1 - p)
    d = bound if coin.curvature is None else xp.minimum(_taylor_excess(coin, p, delta), bound)
    for _ in range(NEWTON_STEPS):
        movable = d > 0  # delta = 0, or a root below the smallest number: d = 0 stays
        slope = xp.where(movable, coin.slope(p, d), 1.0)
        step = (coin.value(p, d) - delta) / xp.where(slope > 0, slope, 1.0)
        moved = d - step
        moved = xp.where(moved > 0, xp.minimum(moved, bound), d / 2)
        d = xp.where(movable, moved, d)
    return d


def _taylor_excess(coin: CoinDivergence, p: Array, delta: Array) -> Array:
    if coin.curvature is None:
        raise ValueError("total variation has a kink at p and no Taylor form; use solver='newton'")
    return namespace(p).sqrt(2 * delta * p * (1 - p) / coin.curvature)


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


def _log_ratio(p: Array, d: Array) -> Array:
    """log((p + d)/p); by log1p when d is small beside p, by a difference of logarithms when p may be tiny."""
    xp = namespace(p, d)
    near = d < p
    return xp.where(near, xp.log1p(xp.where(near, d, 0.0) / p), xp.log(p + d) - xp.log(p))


def _log_shrink(p: Array, d: Array) -> Array:
    """log((1 - p - d)/(1 - p)), which is at most 0."""
    xp = namespace(p, d)
    share = d / (1 - p)
    return xp.log1p(-xp.clip(share, 0.0, 1 - xp.finfo(share.dtype).eps / 2))


def _kl_value(p: Array, d: Array) -> Array:
    return (p + d) * _log_ratio(p, d) + (1 - p - d) * _log_shrink(p, d)


def _kl_bound(p: Array, delta: Array) -> Array:
    # Bernstein's inequality: Phi >= d^2 / (2 p + 2 d / 3).
    return delta / 3 + namespace(p).sqrt(delta**2 / 9 + 2 * p * delta)


def _reverse_kl_value(p: Array, d: Array) -> Array:
    return -p * _log_ratio(p, d) - (1 - p) * _log_shrink(p, d)


def _reverse_kl_slope(p: Array, d: Array) -> Array:
    rest = 1 - p - d
    return d / ((p + d) * namespace(p).clip(rest, namespace(p).finfo(rest.dtype).eps ** 2, 1.0))


def _reverse_kl_bound(p: Array, delta: Array) -> Array:
    # Phi >= -entropy(p) - (1 - p) log(1 - gamma), because gamma <= 1.
    xp = namespace(p)
    entropy = -p * xp.log(p) - (1 - p) * xp.log1p(-p)
    return -p - xp.expm1(-(delta + entropy) / (1 - p))


def _hellinger_value(p: Array, d: Array) -> Array:
    xp = namespace(p)
    rest = xp.clip(1 - p - d, 0.0, 1.0)
    up = d / (xp.sqrt(p + d) + xp.sqrt(p))
    down = d / (xp.sqrt(rest) + xp.sqrt(1 - p))
    return (up**2 + down**2) / 2


def _hellinger_slope(p: Array, d: Array) -> Array:
    xp = namespace(p)
    rest = xp.clip(1 - p - d, xp.finfo(d.dtype).eps ** 2, 1.0)
    return (xp.sqrt((1 - p) / rest) - xp.sqrt(p) / xp.sqrt(p + d)) / 2


def _hellinger_root(p: Array, delta: Array) -> Array:
    # Laws on two points are angles: gamma = sin^2(a + b) with p = sin^2 a and delta = 1 - cos b.
    xp = namespace(p)
    sine = xp.sqrt(delta * (2 - delta))
    return sine * (2 * xp.sqrt(p * (1 - p)) * (1 - delta) + (1 - 2 * p) * sine)


#: What two coins cost, for each f-divergence of ``specfrontier.theory.divergences``.
COIN_DIVERGENCES: Mapping[str, CoinDivergence] = MappingProxyType(
    {
        "tv": CoinDivergence(
            value=lambda p, d: d,
            slope=lambda p, d: namespace(p).ones_like(d),
            bound=lambda p, delta: delta,
            ceiling=lambda p: 1 - p,
            curvature=None,
            absolutely_continuous=False,
        ),
        "kl": CoinDivergence(
            value=_kl_value,
            slope=lambda p, d: _log_ratio(p, d) - _log_shrink(p, d),
            bound=_kl_bound,
            ceiling=lambda p: -namespace(p).log(p),
            curvature=1.0,
            absolutely_continuous=True,
        ),
        "reverse_kl": CoinDivergence(
            value=_reverse_kl_value,
            slope=_reverse_kl_slope,
            bound=_reverse_kl_bound,
            ceiling=lambda p: namespace(p).full_like(p, float("inf")),
            curvature=1.0,
            absolutely_continuous=False,
        ),
        "chi2": CoinDivergence(
            value=lambda p, d: d / p * (d / (1 - p)),
            slope=lambda p, d: 2 * d / p / (1 - p),
            bound=lambda p, delta: namespace(p).sqrt(delta * p * (1 - p)),
            ceiling=lambda p: (1 - p) / p,
            curvature=2.0,
            absolutely_continuous=True,
        ),
        "hellinger": CoinDivergence(
            value=_hellinger_value,
            slope=_hellinger_slope,
            bound=_hellinger_root,
            ceiling=lambda p: 1 - namespace(p).sqrt(p),
            curvature=0.25,
            absolutely_continuous=False,
        ),
    }
)
