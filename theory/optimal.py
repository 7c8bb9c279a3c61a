"""Theorem 1: the best target under a total variation budget, chosen before the token is drawn."""

from __future__ import annotations

from specfrontier.theory.arrays import Array, namespace
from specfrontier.theory.divergences import tv_distance
from specfrontier.theory.validation import check_laws, check_numbers

__all__ = ["lam_for_budget", "optimal_acceptance", "optimal_target"]


def optimal_target(p: Array, q: Array, epsilon: Array | float, *, validate: bool = True) -> Array:
    """Target p̃* = (1 - lam) p + lam q, shape ``[..., V]``, with ``lam = lam_for_budget(p, q, epsilon)``.

    It solves Equation 4, max 1 - TV(p̃, q) subject to TV(p̃, p) <= epsilon (Equation 5, Theorem 1). ``p`` and
    ``q`` are laws ``[..., V]``, ``epsilon`` a number or ``[...]`` in [0, 1]. Other optima exist, such as the
    clip; this one needs no solve and never moves a token's probability past q.
    """
    p, q = check_laws(p, q) if validate else (p, q)
    lam = lam_for_budget(p, q, epsilon, validate=validate)[..., None]
    return (1 - lam) * p + lam * q


def lam_for_budget(p: Array, q: Array, epsilon: Array | float, *, validate: bool = True) -> Array:
    """Leniency lam = epsilon / TV(p, q) in [0, 1], shape ``[...]`` (Equation 5).

    A budget beyond TV(p, q), which Theorem 1 leaves out, is more than q itself needs: lam = 1. Equal
    laws, for which Equation 5 divides by 0, have nothing to trade: lam = 0. Raises ``ValueError`` naming
    the argument.
    """
    p, q = check_laws(p, q) if validate else (p, q)
    distance = tv_distance(p, q, validate=False)
    xp = namespace(distance)
    budget = _budget(p, q, epsilon, validate)
    apart = distance > 0
    # Comparing before dividing: a subnormal distance would overflow the quotient.
    ratio = xp.where(budget < distance, budget, distance) / xp.where(apart, distance, 1.0)
    return xp.where(apart, ratio, 0.0)


def optimal_acceptance(p: Array, q: Array, epsilon: Array | float, *, validate: bool = True) -> Array:
    """Largest acceptance rate min(1, 1 - TV(p, q) + epsilon) under the budget, shape ``[...]`` (Theorem 1).

    By the maximal coupling no rule at all does better, token-dependent ones included, if epsilon bounds the
    total variation of its output law from p.
    """
    p, q = check_laws(p, q) if validate else (p, q)
    distance = tv_distance(p, q, validate=False)
    return namespace(distance).clip(1 - distance + _budget(p, q, epsilon, validate), 0.0, 1.0)


def _budget(p: Array, q: Array, epsilon: Array | float, validate: bool) -> Array:
    budget = check_numbers(epsilon, "epsilon", p, q)
    xp = namespace(budget)
    if validate and not bool(xp.all((budget >= 0) & (budget <= 1))):
        raise ValueError(f"epsilon must be a total variation budget in [0, 1], got {epsilon!r}")
    return budget
