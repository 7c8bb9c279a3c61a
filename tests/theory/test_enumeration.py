"""Both conditions of the block form of Proposition 2, seen from both sides by enumeration.

Tolerance: the laws are sums of at most a few thousand products of probabilities, so 1e-12 is far above
rounding and far below every bias that is claimed.
"""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from specfrontier.theory.block_samplers import (
    ConfidenceOrder,
    ConfidenceThreshold,
    EntropyOrder,
    FixedOrder,
    UniformDiffusion,
)
from specfrontier.theory.enumeration import (
    TabularPair,
    draft_law,
    output_error,
    round_law,
    sequence_law,
    verifier_law,
)
from specfrontier.theory.exactness import exact_prefix_length
from specfrontier.theory.rules import Linear, Lossless, SamplerMatch

EXACT = 1e-12

LEFT_FIRST = FixedOrder(((0,), (1,)))
RIGHT_FIRST = FixedOrder(((1,), (0,)))
EVERY_SAMPLER = [
    LEFT_FIRST,
    RIGHT_FIRST,
    FixedOrder(((0, 1),)),
    EntropyOrder((1, 1)),
    ConfidenceOrder((1, 1)),
    ConfidenceThreshold(0.5, 2),
    ConfidenceThreshold(0.4, 3, keep_best=True),
]
seeds = st.integers(0, 2**20)


def error(sampler, seed, vocab_size=3, block_size=2, verification="paper"):
    pair = TabularPair.random(vocab_size, block_size, seed=seed)
    return output_error(pair, sampler, Lossless(), block_size, verification=verification)


def one_position(q, p):
    """A pair with B = 1 whose laws ignore the prefix."""
    return TabularPair(lambda h, canvas: np.array([q]), lambda h: np.array(p), len(p), 1)


# Order


@given(seeds)
@settings(max_examples=15, deadline=None)
def test_left_to_right_unmasking_is_lossless(seed):
    assert error(LEFT_FIRST, seed) < EXACT


@given(seeds)
@settings(max_examples=15, deadline=None)
def test_one_step_is_lossless(seed):
    assert error(FixedOrder(((0, 1),)), seed) < EXACT


def test_right_first_unmasking_is_biased():
    """Total variation over 60 flat-Dirichlet tables: median near 0.04, nine in ten between 0.01 and 0.1."""
    errors = np.array([error(RIGHT_FIRST, seed) for seed in range(60)])
    assert errors.min() > 1e-3
    assert 0.008 < np.quantile(errors, 0.1) < 0.02
    assert 0.03 < np.median(errors) < 0.05
    assert 0.06 < np.quantile(errors, 0.9) < 0.1


@given(seeds)
@settings(max_examples=15, deadline=None)
def test_cutting_at_the_first_violation_restores_right_first_unmasking(seed):
    assert error(RIGHT_FIRST, seed, verification="exact") < EXACT


def test_entropy_order_is_biased_only_where_it_runs_from_the_right():
    for seed in range(10):
        pair = TabularPair.random(3, 2, seed=seed)
        certified = all(exact_prefix_length(draft.unmask_steps) == 2 for draft in draft_law(pair, EntropyOrder((1, 1))))
        biased = output_error(pair, EntropyOrder((1, 1)), Lossless(), 2) > EXACT
        assert biased != certified


def test_three_positions_in_entropy_order_need_the_cut():
    pair = TabularPair.random(2, 3, seed=1)
    sampler = EntropyOrder((1, 1, 1))
    assert output_error(pair, sampler, Lossless(), 3) > 1e-3
    assert output_error(pair, sampler, Lossless(), 3, verification="exact") < EXACT


def test_prefix_ordered_chunks_are_lossless_without_a_cut():
    pair = TabularPair.random(2, 4, seed=3)
    chunks = FixedOrder(((0,), (1, 2), (3,)))
    assert all(exact_prefix_length(draft.unmask_steps) == 4 for draft in draft_law(pair, chunks))
    assert output_error(pair, chunks, Lossless(), 4) < EXACT


def test_the_law_stays_exact_over_several_rounds():
    pair = TabularPair.random(2, 2, seed=5)
    assert output_error(pair, RIGHT_FIRST, Lossless(), 4) > 1e-3
    assert output_error(pair, RIGHT_FIRST, Lossless(), 4, verification="exact") < EXACT


# Selection


def test_keeping_likely_draws_is_off_by_a_tenth_for_three_tokens():
    pair = one_position(q=[0.6, 0.3, 0.1], p=[0.2, 0.5, 0.3])
    sampler = ConfidenceThreshold(0.5, 2)
    law = sequence_law(pair, sampler, Lossless(), 1)
    # Kept law (0.84, 0.12, 0.04), of which (0.28, 0.12, 0.04) is accepted; 0.56 goes to (0, 1/2, 1/2).
    np.testing.assert_allclose(law, [0.28, 0.40, 0.32], atol=EXACT)
    assert output_error(pair, sampler, Lossless(), 1) == pytest.approx(0.10, abs=EXACT)
    assert output_error(pair, sampler, Lossless(), 1, verification="exact") < EXACT


def test_selection_bias_over_random_laws_stays_under_a_quarter():
    """Two steps, one position, V = 5, τ = 0.5, flat Dirichlet p and q. Where a draw can be kept early (q has
    an entry above τ, 3 in 10 of these laws) the error averages 0.12; elsewhere it is 0."""
    sampler = ConfidenceThreshold(0.5, 2)
    errors, bounds = [], []
    for seed in range(200):
        pair = TabularPair.random(5, 1, seed=seed)
        q = pair.denoiser((), (-1,))[0]
        kept = q[q > 0.5].sum()
        bounds.append(kept * (1 - kept))
        errors.append(output_error(pair, sampler, Lossless(), 1))
    errors, bounds = np.array(errors), np.array(bounds)
    assert (errors <= bounds + EXACT).all()  # docs/theory/proposition2.md: at most s(1 - s) <= 1/4
    assert 0.2 < errors.max() <= 0.25
    assert 0.10 < errors[errors > EXACT].mean() < 0.14


@pytest.mark.parametrize("steps", [2, 3, 5])
def test_kept_law_of_a_threshold(steps):
    """The closed form of docs/theory/proposition2.md, and the proposal that the exact verification uses."""
    q, tau = np.array([0.5, 0.3, 0.15, 0.05]), 0.15  # a token at the threshold itself is not kept
    pair, sampler = one_position(q, [0.25] * 4), ConfidenceThreshold(tau, steps)
    kept, late = q[q > tau].sum(), (1 - q[q > tau].sum()) ** (steps - 1)
    closed = q * np.where(q > tau, (1 - late) / kept, 0) + late * q
    drafted = np.zeros(4)
    for draft in draft_law(pair, sampler):
        drafted[draft.tokens] += draft.probability
    np.testing.assert_allclose(drafted, closed, atol=EXACT)
    assert 0.5 * np.abs(drafted - q).sum() == pytest.approx((1 - kept) * (1 - late), abs=EXACT)
    for draft in draft_law(pair, sampler, verification="exact"):
        law = q if draft.unmask_steps == (steps - 1,) else np.where(q > tau, q, 0) / kept
        np.testing.assert_allclose(draft.proposals[0], law, atol=EXACT)


@given(seeds)
@settings(max_examples=10, deadline=None)
def test_choosing_positions_by_entropy_is_exact_for_one_position(seed):
    """The repair by selecting on the distribution: the same two steps, chosen before drawing."""
    assert error(EntropyOrder((0, 1)), seed, vocab_size=5, block_size=1) < EXACT


@pytest.mark.parametrize("sampler", EVERY_SAMPLER, ids=repr)
@given(seed=seeds)
@settings(max_examples=4, deadline=None)
def test_exact_verification_is_lossless_for_every_sampler(sampler, seed):
    """The repair by the law of a kept token, joined with the cut."""
    assert error(sampler, seed, verification="exact") < EXACT


def test_the_repair_holds_for_any_lossless_rule():
    pair = TabularPair.random(3, 2, seed=6)
    for sampler in (RIGHT_FIRST, ConfidenceOrder((1, 1))):
        assert output_error(pair, sampler, SamplerMatch(), 2, verification="exact") < EXACT


@pytest.mark.parametrize("sampler", [ConfidenceOrder((1, 1)), ConfidenceThreshold(0.4, 2, keep_best=True)], ids=repr)
def test_the_cut_alone_does_not_repair_selection(sampler):
    """Drafts certified by order but selected on draws keep a bias: both conditions are needed."""
    pair = TabularPair.random(3, 1, seed=0)
    two_looks = ConfidenceThreshold(0.4, 2)
    assert all(exact_prefix_length(draft.unmask_steps) == 1 for draft in draft_law(pair, two_looks))
    assert output_error(pair, two_looks, Lossless(), 1) > 1e-3
    assert error(sampler, 0) > 1e-3


# Random proposals with a fixed target: Proposition 2 itself


@pytest.mark.parametrize("steps", [1, 2])
def test_uniform_diffusion_satisfies_both_conditions(steps):
    pair = TabularPair.random(2, 2, seed=7)
    assert output_error(pair, UniformDiffusion(steps), Lossless(), 2) < EXACT


def test_a_random_proposal_leaves_a_fixed_target_unchanged():
    """Proposition 2: mix two proposals by a coin that the verifier never sees."""
    p = np.array([0.2, 0.5, 0.3])
    total = np.zeros(3)
    for weight, q in [(0.3, [0.6, 0.3, 0.1]), (0.7, [0.0, 0.1, 0.9])]:
        law = sequence_law(one_position(q, p), FixedOrder(((0,),)), Lossless(), 1)
        total += weight * law
    np.testing.assert_allclose(total, p, atol=EXACT)


# The enumerator itself


@pytest.mark.parametrize("sampler", [*EVERY_SAMPLER, UniformDiffusion(1)], ids=repr)
@pytest.mark.parametrize("verification", ["paper", "exact"])
def test_laws_sum_to_one(sampler, verification):
    pair = TabularPair.random(3, 2, seed=11)
    drafts = sum(draft.probability for draft in draft_law(pair, sampler, verification=verification))
    appended = round_law(pair, sampler, Linear(0.3), verification=verification)
    assert drafts == pytest.approx(1, abs=EXACT)
    assert sum(appended.values()) == pytest.approx(1, abs=EXACT)
    assert {len(tokens) for tokens in appended} <= {1, 2, 3}


def test_leniency_moves_the_law_by_at_most_its_budget():
    """One position: linear leniency deviates by λ·TV(p, q), Equation 6."""
    q, p = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.5, 0.3])
    for lam in (0.0, 0.3, 1.0):
        deviation = output_error(one_position(q, p), FixedOrder(((0,),)), Linear(lam), 1)
        assert deviation == pytest.approx(lam * 0.4, abs=EXACT)


def test_full_leniency_emits_the_draft():
    pair = TabularPair.random(3, 2, seed=2)
    law = sequence_law(pair, LEFT_FIRST, Linear(1.0), 2)
    drafted = np.zeros((3, 3))
    for draft in draft_law(pair, LEFT_FIRST):
        drafted[draft.tokens] += draft.probability
    np.testing.assert_allclose(law, drafted, atol=EXACT)


def test_the_law_agrees_with_running_algorithm_one():
    """Monte Carlo, 20,000 rounds, within 5 standard errors in each of 9 cells (fixed seed)."""
    pair, rng, runs = TabularPair.random(3, 2, seed=4), np.random.default_rng(0), 20_000
    drafts = list(draft_law(pair, RIGHT_FIRST))
    chosen = rng.multinomial(runs, [draft.probability for draft in drafts])
    counts = sum(_run_rounds(pair, draft, count, rng) for draft, count in zip(drafts, chosen.tolist(), strict=True))
    law = sequence_law(pair, RIGHT_FIRST, Lossless(), 2)
    standard_error = np.sqrt(law * (1 - law) / runs)
    assert (np.abs(counts / runs - law) < 5 * standard_error).all()


def _run_rounds(pair, draft, runs, rng):
    """Counts of the first two tokens over ``runs`` verifications of one draft."""
    counts, rule, (first, second) = np.zeros((3, 3), dtype=int), Lossless(), draft.tokens
    p, q = pair.verifier(()), draft.proposals[0]
    accepted = (rng.random(runs) <= rule.acceptance(p, q)[first]).sum()
    for token in rng.choice(3, size=runs - accepted, p=rule.residual(p, q, np.asarray(first))):
        # The next round verifies one more position; its first position is always safe, so its law is p.
        counts[token, rng.choice(3, p=pair.verifier((int(token),)))] += 1
    p, q = pair.verifier((first,)), draft.proposals[1]
    kept = (rng.random(accepted) <= rule.acceptance(p, q)[second]).sum()
    counts[first, second] += kept
    replaced = rng.choice(3, size=accepted - kept, p=rule.residual(p, q, np.asarray(second)))
    counts[first] += np.bincount(replaced, minlength=3)
    return counts


def test_verifier_law_is_the_chain_rule():
    pair = TabularPair.random(2, 1, seed=9)
    law = verifier_law(pair, 3)
    assert law.sum() == pytest.approx(1)
    assert law[1, 0, 1] == pytest.approx(pair.verifier(())[1] * pair.verifier((1,))[0] * pair.verifier((1, 0))[1])


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: FixedOrder(((0,), (2,))), "groups"),
        (lambda: EntropyOrder((1, -1)), "counts"),
        (lambda: ConfidenceOrder(()), "counts"),
        (lambda: ConfidenceThreshold(1.5, 2), "tau"),
        (lambda: ConfidenceThreshold(0.5, 0), "max_steps"),
        (lambda: UniformDiffusion(0), "steps"),
        (lambda: TabularPair.random(0, 2, seed=0), "vocab_size"),
        (lambda: error(EntropyOrder((1,)), 0), "masked"),
        (lambda: error(LEFT_FIRST, 0, verification="fast"), "verification"),
        (lambda: verifier_law(TabularPair.random(2, 1, seed=0), 0), "length"),
    ],
)
def test_invalid_input_is_named(build, named):
    with pytest.raises(ValueError, match=named):
        build()
