"""Acceptance rules, one small file each, behind the one protocol of ``base.AcceptanceRule``."""

from specfrontier.theory.rules.base import AcceptanceRule, ReplacementRule, TargetRule
from specfrontier.theory.rules.cactus import Cactus
from specfrontier.theory.rules.cascade import CascadeOpt, CascadeToken
from specfrontier.theory.rules.clip import Clip
from specfrontier.theory.rules.fuzzy import Fuzzy
from specfrontier.theory.rules.greedy import Greedy
from specfrontier.theory.rules.lenience import Lenience
from specfrontier.theory.rules.linear import Linear
from specfrontier.theory.rules.lossless import Lossless
from specfrontier.theory.rules.registry import acceptance_rule, registered_rules, rule_from_spec
from specfrontier.theory.rules.sampler_match import SamplerMatch
from specfrontier.theory.rules.schedule import Leniency, RuleSchedule, as_schedule, leniency_from_spec
from specfrontier.theory.rules.top_k import TopK
from specfrontier.theory.rules.typical import TypicalAcceptance

__all__ = [
    "AcceptanceRule",
    "Cactus",
    "CascadeOpt",
    "CascadeToken",
    "Clip",
    "Fuzzy",
    "Greedy",
    "Lenience",
    "Leniency",
    "Linear",
    "Lossless",
    "ReplacementRule",
    "RuleSchedule",
    "SamplerMatch",
    "TargetRule",
    "TopK",
    "TypicalAcceptance",
    "acceptance_rule",
    "as_schedule",
    "leniency_from_spec",
    "registered_rules",
    "rule_from_spec",
]
