"""The theory of speculative diffusion: acceptance rules, optimal targets, throughput and frontiers.

Names are imported from their modules on first use, so that ``import specfrontier.theory`` stays light.
"""

# ruff: noqa: F401  (re-exported through the table)

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the table below once more, for type checkers and editors
    from specfrontier.theory.block_samplers import (
        ConfidenceOrder,
        ConfidenceThreshold,
        EntropyOrder,
        FixedOrder,
        UniformDiffusion,
    )
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
    from specfrontier.theory.chunks import (
        ChunkPlan,
        best_chunk_steps,
        best_chunks,
        chunk_expected_tokens,
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
    from specfrontier.theory.enumeration import (
        TabularPair,
        draft_law,
        output_error,
        round_law,
        sequence_law,
        verifier_law,
    )
    from specfrontier.theory.exactness import (
        BlockCertificate,
        certify_block,
        exact_prefix_length,
        order_condition,
    )
    from specfrontier.theory.frontier import (
        FrontierProbability,
        attainment,
        frontier_distance,
        frontier_probability,
        hypervolume,
        pareto_mask,
    )
    from specfrontier.theory.intervals import (
        Interval,
        agreement_interval,
        bootstrap_interval,
        throughput_draws,
        throughput_interval,
    )
    from specfrontier.theory.mixing import (
        BetaMixing,
        DiscreteMixing,
        MixingLaw,
        iid_bias,
        mixed_token_law,
    )
    from specfrontier.theory.operating_point import (
        AffineCost,
        OperatingPoint,
        best_block_size,
        best_operating_point,
        best_steps,
        fit_affine_cost,
        largest_leniency,
        relaxed_best_block_size,
        relaxed_best_steps,
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
        Leniency,
        Linear,
        Lossless,
        ReplacementRule,
        RuleSchedule,
        SamplerMatch,
        TargetRule,
        TopK,
        TypicalAcceptance,
        acceptance_rule,
        as_schedule,
        leniency_from_spec,
        registered_rules,
        rule_from_spec,
    )
    from specfrontier.theory.schedules import (
        ClipSchedule,
        LinearSchedule,
        clip_schedule,
        clip_schedule_for_budget,
        clip_with_log_ratio,
        linear_schedule,
        tv_schedule,
        tv_schedule_for_budget,
        uniform_clip_schedule,
    )
    from specfrontier.theory.throughput_model import (
        LinearThroughputGradient,
        ThroughputGradient,
        break_even_alpha,
        break_even_draft_cost,
        break_even_leniency,
        linear_acceptance_rate,
        linear_throughput_gradient,
        speedup,
        throughput,
        throughput_gradient,
        verifier_agreement,
    )
    from specfrontier.theory.tokens import (
        TokenLaw,
        alpha_for_tokens,
        expected_rounds,
        expected_tokens,
        expected_tokens_slope,
        expected_tokens_until_end,
        token_law,
        tokens_variance,
    )
    from specfrontier.theory.validation import (
        check_law,
        check_laws,
    )

#: Public names by module, sorted by module.
_PUBLIC: dict[str, tuple[str, ...]] = {
    "block_samplers": (
        "ConfidenceOrder",
        "ConfidenceThreshold",
        "EntropyOrder",
        "FixedOrder",
        "UniformDiffusion",
    ),
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
    "chunks": (
        "ChunkPlan",
        "best_chunk_steps",
        "best_chunks",
        "chunk_expected_tokens",
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
    "enumeration": (
        "TabularPair",
        "draft_law",
        "output_error",
        "round_law",
        "sequence_law",
        "verifier_law",
    ),
    "exactness": (
        "BlockCertificate",
        "certify_block",
        "exact_prefix_length",
        "order_condition",
    ),
    "frontier": (
        "FrontierProbability",
        "attainment",
        "frontier_distance",
        "frontier_probability",
        "hypervolume",
        "pareto_mask",
    ),
    "intervals": (
        "Interval",
        "agreement_interval",
        "bootstrap_interval",
        "throughput_draws",
        "throughput_interval",
    ),
    "mixing": (
        "BetaMixing",
        "DiscreteMixing",
        "MixingLaw",
        "iid_bias",
        "mixed_token_law",
    ),
    "operating_point": (
        "AffineCost",
        "OperatingPoint",
        "best_block_size",
        "best_operating_point",
        "best_steps",
        "fit_affine_cost",
        "largest_leniency",
        "relaxed_best_block_size",
        "relaxed_best_steps",
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
    ),
    "schedules": (
        "ClipSchedule",
        "LinearSchedule",
        "clip_schedule",
        "clip_schedule_for_budget",
        "clip_with_log_ratio",
        "linear_schedule",
        "tv_schedule",
        "tv_schedule_for_budget",
        "uniform_clip_schedule",
    ),
    "throughput_model": (
        "LinearThroughputGradient",
        "ThroughputGradient",
        "break_even_alpha",
        "break_even_draft_cost",
        "break_even_leniency",
        "linear_acceptance_rate",
        "linear_throughput_gradient",
        "speedup",
        "throughput",
        "throughput_gradient",
        "verifier_agreement",
    ),
    "tokens": (
        "TokenLaw",
        "alpha_for_tokens",
        "expected_rounds",
        "expected_tokens",
        "expected_tokens_slope",
        "expected_tokens_until_end",
        "token_law",
        "tokens_variance",
    ),
    "validation": (
        "check_law",
        "check_laws",
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
