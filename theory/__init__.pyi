from .block_samplers import (
    ConfidenceOrder as ConfidenceOrder,
    ConfidenceThreshold as ConfidenceThreshold,
    EntropyOrder as EntropyOrder,
    FixedOrder as FixedOrder,
    UniformDiffusion as UniformDiffusion,
)
from .boost import (
    COIN_DIVERGENCES as COIN_DIVERGENCES,
    CoinDivergence as CoinDivergence,
    boosted_probability as boosted_probability,
    taylor_probability as taylor_probability,
)
from .certificates import (
    accuracy_drop_bound as accuracy_drop_bound,
    kl_for_accuracy_drop as kl_for_accuracy_drop,
    sequence_kl as sequence_kl,
    token_kl as token_kl,
    tv_bound as tv_bound,
    worst_case_sequence_kl as worst_case_sequence_kl,
)
from .chunks import (
    ChunkPlan as ChunkPlan,
    best_chunk_steps as best_chunk_steps,
    best_chunks as best_chunks,
    chunk_expected_tokens as chunk_expected_tokens,
)
from .clip import clip_floor as clip_floor, clip_for_budget as clip_for_budget, clip_target as clip_target
from .divergences import (
    DIVERGENCES as DIVERGENCES,
    Divergence as Divergence,
    chi2_divergence as chi2_divergence,
    divergence_named as divergence_named,
    js_divergence as js_divergence,
    kl_divergence as kl_divergence,
    reverse_kl_divergence as reverse_kl_divergence,
    squared_hellinger as squared_hellinger,
    tv_distance as tv_distance,
)
from .enumeration import (
    TabularPair as TabularPair,
    draft_law as draft_law,
    output_error as output_error,
    round_law as round_law,
    sequence_law as sequence_law,
    verifier_law as verifier_law,
)
from .exactness import (
    BlockCertificate as BlockCertificate,
    certify_block as certify_block,
    exact_prefix_length as exact_prefix_length,
    order_condition as order_condition,
)
from .frontier import (
    FrontierProbability as FrontierProbability,
    attainment as attainment,
    frontier_distance as frontier_distance,
    frontier_probability as frontier_probability,
    hypervolume as hypervolume,
    pareto_mask as pareto_mask,
)
from .intervals import (
    Interval as Interval,
    agreement_interval as agreement_interval,
    bootstrap_interval as bootstrap_interval,
    throughput_draws as throughput_draws,
    throughput_interval as throughput_interval,
)
from .mixing import (
    BetaMixing as BetaMixing,
    DiscreteMixing as DiscreteMixing,
    MixingLaw as MixingLaw,
    iid_bias as iid_bias,
    mixed_token_law as mixed_token_law,
)
from .operating_point import (
    AffineCost as AffineCost,
    OperatingPoint as OperatingPoint,
    best_block_size as best_block_size,
    best_operating_point as best_operating_point,
    best_steps as best_steps,
    fit_affine_cost as fit_affine_cost,
    largest_leniency as largest_leniency,
    relaxed_best_block_size as relaxed_best_block_size,
    relaxed_best_steps as relaxed_best_steps,
)
from .optimal import (
    lam_for_budget as lam_for_budget,
    optimal_acceptance as optimal_acceptance,
    optimal_target as optimal_target,
)
from .price import (
    RulePrice as RulePrice,
    coupling_bound as coupling_bound,
    price_of_rule as price_of_rule,
    prices as prices,
)
from .proofs import (
    Proof as Proof,
    Step as Step,
    cactus_proof as cactus_proof,
    clip_proof as clip_proof,
    theorem1_proof as theorem1_proof,
)
from .rules import (
    AcceptanceRule as AcceptanceRule,
    Cactus as Cactus,
    CascadeOpt as CascadeOpt,
    CascadeToken as CascadeToken,
    Clip as Clip,
    Fuzzy as Fuzzy,
    Greedy as Greedy,
    Lenience as Lenience,
    Leniency as Leniency,
    Linear as Linear,
    Lossless as Lossless,
    ReplacementRule as ReplacementRule,
    RuleSchedule as RuleSchedule,
    SamplerMatch as SamplerMatch,
    TargetRule as TargetRule,
    TopK as TopK,
    TypicalAcceptance as TypicalAcceptance,
    acceptance_rule as acceptance_rule,
    as_schedule as as_schedule,
    leniency_from_spec as leniency_from_spec,
    registered_rules as registered_rules,
    rule_from_spec as rule_from_spec,
)
from .schedules import (
    ClipSchedule as ClipSchedule,
    LinearSchedule as LinearSchedule,
    clip_schedule as clip_schedule,
    clip_schedule_for_budget as clip_schedule_for_budget,
    clip_with_log_ratio as clip_with_log_ratio,
    linear_schedule as linear_schedule,
    tv_schedule as tv_schedule,
    tv_schedule_for_budget as tv_schedule_for_budget,
    uniform_clip_schedule as uniform_clip_schedule,
)
from .throughput_model import (
    LinearThroughputGradient as LinearThroughputGradient,
    ThroughputGradient as ThroughputGradient,
    break_even_alpha as break_even_alpha,
    break_even_draft_cost as break_even_draft_cost,
    break_even_leniency as break_even_leniency,
    linear_acceptance_rate as linear_acceptance_rate,
    linear_throughput_gradient as linear_throughput_gradient,
    speedup as speedup,
    throughput as throughput,
    throughput_gradient as throughput_gradient,
    verifier_agreement as verifier_agreement,
)
from .tokens import (
    TokenLaw as TokenLaw,
    alpha_for_tokens as alpha_for_tokens,
    expected_rounds as expected_rounds,
    expected_tokens as expected_tokens,
    expected_tokens_slope as expected_tokens_slope,
    expected_tokens_until_end as expected_tokens_until_end,
    token_law as token_law,
    tokens_variance as tokens_variance,
)
from .validation import check_law as check_law, check_laws as check_laws
