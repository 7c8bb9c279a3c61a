"""Distances between laws: what a rule gives up (from p) and what it gains (towards q).

Every function takes laws ``[..., V]`` of one array-API library, whose leading axes broadcast, and returns
``[...]``. All raise ``ValueError`` naming the argument on input that is not a law, unless ``validate=False``.
Logarithms are natural.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from specfrontier.theory.arrays import Array, namespace, positive_part
from specfrontier.theory.validation import check_laws

__all__ = [
    "DIVERGENCES",
    "Divergence",
    "chi2_divergence",
    "divergence_named",
    "js_divergence",
    "kl_divergence",
    "reverse_kl_divergence",
    "squared_hellinger",
    "tv_distance",
]


def tv_distance(p: Array, q: Array, *, validate: bool = True) -> Array:
    """Total variation 1/2 sum |p - q|, in [0, 1] (Equation 2 of the paper)."""
    p, q = check_laws(p, q) if validate else (p, q)
    xp = namespace(p, q)
    return xp.sum(xp.abs(p - q), axis=-1) / 2


def kl_divergence(p: Array, q: Array, *, validate: bool = True) -> Array:
    """KL(p || q) = sum p log(p/q), in [0, inf]; infinite where q is 0 and p is not."""
    p, q = check_laws(p, q) if validate else (p, q)
    return positive_part(namespace(p, q).sum(_relative_entropy(p, q), axis=-1))


def reverse_kl_divergence(p: Array, q: Array, *, validate: bool = True) -> Array:
    """KL(q || p), in [0, inf]: ``kl_divergence`` with its arguments exchanged."""
    p, q = check_laws(p, q) if validate else (p, q)
    return kl_divergence(q, p, validate=False)


def chi2_divergence(p: Array, q: Array, *, validate: bool = True) -> Array:
    """chi^2(p || q) = sum (p - q)^2 / q, in [0, inf]; infinite where q is 0 and p is not."""
    p, q = check_laws(p, q) if validate else (p, q)
    xp = namespace(p, q)
    inside = q > 0
    ratio = (p - q) / xp.where(inside, q, 1.0)
    outside = xp.where(p > 0, xp.inf, 0.0)
    return xp.sum(xp.where(inside, (p - q) * ratio, outside), axis=-1)


def squared_hellinger(p: Array, q: Array, *, validate: bool = True) -> Array:
    """H^2(p, q) = 1/2 sum (sqrt p - sqrt q)^2 = 1 - sum sqrt(p q), in [0, 1]."""
    p, q = check_laws(p, q) if validate else (p, q)
    xp = namespace(p, q)
    return xp.sum((xp.sqrt(p) - xp.sqrt(q)) ** 2, axis=-1) / 2


def js_divergence(p: Array, q: Array, *, validate: bool = True) -> Array:
    """Jensen-Shannon divergence KL(p || m)/2 + KL(q || m)/2 with m = (p + q)/2, in [0, log 2]."""
    p, q = check_laws(p, q) if validate else (p, q)
    middle = (p + q) / 2
    return (kl_divergence(p, middle, validate=False) + kl_divergence(q, middle, validate=False)) / 2


def _relative_entropy(p: Array, q: Array) -> Array:
    """p log(p/q) elementwise, with 0 log(0/q) = 0 and p log(p/0) = inf."""
    xp = namespace(p, q)
    both = (p > 0) & (q > 0)
    # A difference of logarithms neither overflows nor underflows, as the ratio of tiny entries would.
    finite = p * (xp.log(xp.where(both, p, 1.0)) - xp.log(xp.where(both, q, 1.0)))
    return xp.where(both, finite, xp.where(p > 0, xp.inf, 0.0))


class _Measure(Protocol):
    def __call__(self, p: Array, q: Array, *, validate: bool = True) -> Array: ...


@dataclass(frozen=True)
class Divergence:
    """An f-divergence D_f(p̃ || p) = sum p f(p̃/p), for f convex with f(1) = 0.

    Call it as ``divergence(target, p)``.
    """

    name: str
    #: f, for the reader and for error messages.
    generator: str
    measure: _Measure
    #: True if mass where p = 0 costs infinitely much (f(t)/t is unbounded).
    absolutely_continuous: bool

    def __call__(self, target: Array, p: Array, *, validate: bool = True) -> Array:
        """D_f(target || p), shape ``[...]``."""
        return self.measure(target, p, validate=validate)


#: The f-divergences that the theory treats, by name.
DIVERGENCES: Mapping[str, Divergence] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            Divergence("tv", "|t - 1| / 2", tv_distance, False),
            Divergence("kl", "t log t", kl_divergence, True),
            Divergence("reverse_kl", "-log t", reverse_kl_divergence, False),
            Divergence("chi2", "(t - 1)^2", chi2_divergence, True),
            Divergence("hellinger", "(sqrt t - 1)^2 / 2", squared_hellinger, False),
        )
    }
)


def divergence_named(name: str) -> Divergence:
    """The f-divergence called ``name``; ``ValueError`` listing the known ones otherwise."""
    if name not in DIVERGENCES:
        raise ValueError(f"divergence must be one of {', '.join(DIVERGENCES)}, got {name!r}")
    return DIVERGENCES[name]
