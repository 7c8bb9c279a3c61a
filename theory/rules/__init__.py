"""Acceptance rules, one small file each, behind the one protocol of ``base.AcceptanceRule``."""

from specfrontier.theory.rules.base import AcceptanceRule, ReplacementRule, TargetRule
from specfrontier.theory.rules.linear import Linear
from specfrontier.theory.rules.lossless import Lossless
from specfrontier.theory.rules.registry import acceptance_rule, registered_rules, rule_from_spec

__all__ = [
    "AcceptanceRule",
    "Linear",
    "Lossless",
    "ReplacementRule",
    "TargetRule",
    "acceptance_rule",
    "registered_rules",
    "rule_from_spec",
]
