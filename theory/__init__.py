"""The theory of speculative diffusion: acceptance rules, optimal targets, throughput and frontiers.

Names are imported from their modules on first use, so that ``import specfrontier.theory`` stays light.
"""

# ruff: noqa: F401  (re-exported through the table)

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the table below once more, for type checkers and editors
    from specfrontier.theory.boost import (
        COIN_DIVERGENCES,
        CoinDivergence,
        boosted_probability,
        taylor_probability,
    )
    from specfrontier.theory.certificates import (
        accuracy_drop_bound,
        kl_for_accuracy_drop,
        sequence_kl,
        token_kl,
        tv_bound,
        worst_case_sequence_kl,
    )
    from specfrontier.theory.clip import (
        clip_floor,
        clip_for_budget,
        clip_target,
    )
    from specfrontier.theory.divergences import (
        DIVERGENCES,
        Divergence,
        chi2_divergence,
        divergence_named,
        js_divergence,
        kl_divergence,
        reverse_kl_divergence,
        squared_hellinger,
        tv_distance,
    )
    from specfrontier.theory.optimal import (
        lam_for_budget,
        optimal_acceptance,
        optimal_target,
    )
    from specfrontier.theory.price import (
        RulePrice,
        coupling_bound,
        price_of_rule,
        prices,
    )
    from specfrontier.theory.proofs import (
        Proof,
        Step,
        cactus_proof,
        clip_proof,
        theorem1_proof,
    )
    from specfrontier.theory.rules import (
        AcceptanceRule,
        Cactus,
        CascadeOpt,
        CascadeToken,
        Clip,
        Fuzzy,
        Greedy,
        Lenience,
        Linear,
        Lossless,
        ReplacementRule,
        SamplerMatch,
        TargetRule,
        TopK,
        TypicalAcceptance,
        acceptance_rule,
        registered_rules,
        rule_from_spec,
    )

#: Public names by module, sorted by module.
_PUBLIC: dict[str, tuple[str, ...]] = {
    "boost": (
        "COIN_DIVERGENCES",
        "CoinDivergence",
        "boosted_probability",
        "taylor_probability",
    ),
    "certificates": (
        "accuracy_drop_bound",
        "kl_for_accuracy_drop",
        "sequence_kl",
        "token_kl",
        "tv_bound",
        "worst_case_sequence_kl",
    ),
    "clip": (
        "clip_floor",
        "clip_for_budget",
        "clip_target",
    ),
    "divergences": (
        "DIVERGENCES",
        "Divergence",
        "chi2_divergence",
        "divergence_named",
        "js_divergence",
        "kl_divergence",
        "reverse_kl_divergence",
        "squared_hellinger",
        "tv_distance",
    ),
    "optimal": (
        "lam_for_budget",
        "optimal_acceptance",
        "optimal_target",
    ),
    "price": (
        "RulePrice",
        "coupling_bound",
        "price_of_rule",
        "prices",
    ),
    "proofs": (
        "Proof",
        "Step",
        "cactus_proof",
        "clip_proof",
        "theorem1_proof",
    ),
    "rules": (
        "AcceptanceRule",
        "Cactus",
        "CascadeOpt",
        "CascadeToken",
        "Clip",
        "Fuzzy",
        "Greedy",
        "Lenience",
        "Linear",
        "Lossless",
        "ReplacementRule",
        "SamplerMatch",
        "TargetRule",
        "TopK",
        "TypicalAcceptance",
        "acceptance_rule",
        "registered_rules",
        "rule_from_spec",
    ),
}
_MODULE_OF = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    try:
        module = import_module(f"{__name__}.{_MODULE_OF[name]}")
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value = getattr(module, name)
    globals()[name] = value  # later look-ups skip this function
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
