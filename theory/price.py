"""The true price of a rule: what it accepts against what its output law deviates by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from specfrontier.theory.arrays import Array, namespace
from specfrontier.theory.divergences import DIVERGENCES, tv_distance
from specfrontier.theory.rules import AcceptanceRule
from specfrontier.theory.validation import check_laws

__all__ = ["RulePrice", "coupling_bound", "price_of_rule", "prices"]


@dataclass(frozen=True)
class RulePrice:
    """Where one rule stands on given rows: every field but ``spec`` is an array ``[...]`` over rows."""

    #: The rule, as ``rule_from_spec`` reads it.
    spec: str
    #: Probability that y ~ q is kept.
    acceptance_rate: Array
    #: Largest acceptance rate of any rule with the same total variation: min(1, 1 - TV(p, q) + tv).
    bound: Array
    #: Divergences of the output law from p: D_f(output law || p).
    tv: Array
    kl: Array
    reverse_kl: Array
    chi2: Array
    hellinger: Array


def price_of_rule(rule: AcceptanceRule, p: Array, q: Array, *, validate: bool = True) -> RulePrice:
    """Acceptance rate of ``rule`` and the divergences of its exact output law from ``p``.

    ``p`` and ``q`` are laws ``[..., V]``. The output law, not the target, is what text is sampled from:
    for Cactus and lenience the two differ. Raises ``ValueError`` naming the argument.
    """
    p, q = check_laws(p, q) if validate else (p, q)
    law = rule.output_law(p, q, validate=False)
    paid = {name: divergence(law, p, validate=False) for name, divergence in DIVERGENCES.items()}
    best = 1 - tv_distance(p, q, validate=False) + paid["tv"]
    return RulePrice(
        spec=rule.spec,
        acceptance_rate=rule.acceptance_rate(p, q, validate=False),
        bound=namespace(best).clip(best, 0.0, 1.0),
        **paid,
    )


def prices(rules: Iterable[AcceptanceRule], p: Array, q: Array, *, validate: bool = True) -> list[RulePrice]:
    """``price_of_rule`` for each rule, so that they can be drawn on one plane."""
    p, q = check_laws(p, q) if validate else (p, q)
    return [price_of_rule(rule, p, q, validate=False) for rule in rules]


def coupling_bound(output_law: Array, q: Array, *, validate: bool = True) -> Array:
    """1 - TV(output_law, q), shape ``[...]``: no rule with this output law accepts more.

    Keeping y makes the emitted token equal y, so (y, emitted token) is a coupling of q and the output
    law, and two laws can be made to agree with probability at most 1 - TV. Hence also acceptance <= 1 -
    TV(p, q) + TV(output law, p), for every rule: Theorem 1 without its assumption that the target is
    chosen beforehand.
    """
    output_law, q = check_laws(output_law, q) if validate else (output_law, q)
    return 1 - tv_distance(output_law, q, validate=False)
