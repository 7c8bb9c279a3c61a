"""Equations 6 and 7, their gradients, best configurations, break-even points and intervals."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from specfrontier.theory.intervals import (
    agreement_interval,
    bootstrap_interval,
    throughput_draws,
    throughput_interval,
)
from specfrontier.theory.operating_point import (
    best_block_size,
    best_operating_point,
    best_steps,
    fit_affine_cost,
    largest_leniency,
    relaxed_best_block_size,
    relaxed_best_steps,
)
from specfrontier.theory.throughput_model import (
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
from specfrontier.theory.tokens import expected_tokens

units = st.floats(0, 1)
costs = st.floats(1e-3, 1.0)
sizes = st.integers(1, 64)

# Appendix F.4: Dream-7B drafting for Qwen2.5-32B on GSM8K, K = 1..4.
PAPER_STEPS = [1, 2, 3, 4]
PAPER_DISTANCES = [0.566, 0.517, 0.424, 0.360]


# Equations 6 and 7


def test_paper_lossless_acceptance_rates():
    """Appendix F.4: d_K implies 0.434, 0.483, 0.576 and 0.640."""
    np.testing.assert_allclose(linear_acceptance_rate(PAPER_DISTANCES, 0.0), [0.434, 0.483, 0.576, 0.640])


@given(units, units)
def test_linear_leniency_trades_acceptance_for_agreement(d, lam):
    """What λ gains in acceptance it loses in agreement, one for one (Theorem 1's line)."""
    gained = linear_acceptance_rate(d, lam) - linear_acceptance_rate(d, 0.0)
    assert gained == pytest.approx(1 - verifier_agreement(d, lam), abs=1e-15)


@given(units, sizes, costs, costs)
def test_throughput_is_tokens_over_cost(alpha, block_size, draft_cost, verify_cost):
    direct = sum(alpha**n for n in range(block_size + 1)) / (draft_cost + verify_cost)
    assert throughput(alpha, block_size, draft_cost, verify_cost) == pytest.approx(direct)


def test_throughput_broadcasts_over_a_grid():
    grid = throughput(
        linear_acceptance_rate(np.array(PAPER_DISTANCES)[:, None], np.linspace(0, 1, 11)),
        512,
        np.array([0.1, 0.2, 0.3, 0.4])[:, None],
        0.5,
    )
    assert grid.shape == (4, 11)
    assert (np.diff(grid, axis=1) > 0).all()


# Gradients


@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95), sizes, costs, costs)
def test_gradient_is_the_finite_difference(d, lam, block_size, draft_cost, verify_cost):
    def value(d, lam, draft_cost, verify_cost):
        return throughput(linear_acceptance_rate(d, lam), block_size, draft_cost, verify_cost)

    at = np.array([d, lam, draft_cost, verify_cost])
    gradient = linear_throughput_gradient(d, lam, block_size, draft_cost, verify_cost)
    analytic = [gradient.d, gradient.lam, gradient.draft_cost, gradient.verify_cost]
    for i, derivative in enumerate(analytic):
        step = np.zeros(4)
        step[i] = 1e-6 * at[i]
        numeric = (value(*(at + step)) - value(*(at - step))) / (2 * step[i])
        # A central difference with step h is off by O(h²) and by rounding / h.
        assert derivative == pytest.approx(numeric, rel=1e-5, abs=1e-6 * value(*at) / at[i])


@given(units, sizes, costs, costs)
def test_one_more_position_adds_its_survival(alpha, block_size, draft_cost, verify_cost):
    gradient = throughput_gradient(alpha, block_size, draft_cost, verify_cost)
    longer = throughput(alpha, block_size + 1, draft_cost, verify_cost)
    shorter = throughput(alpha, block_size, draft_cost, verify_cost)
    assert gradient.block_size == pytest.approx(longer - shorter, abs=1e-12 * longer)


# Speed-up and break-even


@given(units, sizes, costs, costs, costs)
def test_speedup_is_relative_to_one_token_a_step(alpha, block_size, draft_cost, verify_cost, decode_cost):
    ratio = throughput(alpha, block_size, draft_cost, verify_cost) / (1 / decode_cost)
    assert speedup(alpha, block_size, draft_cost, verify_cost, decode_cost) == pytest.approx(ratio)


@given(sizes, costs, costs)
def test_speedup_is_one_at_the_break_even_rate(block_size, draft_cost, verify_cost):
    alpha = break_even_alpha(block_size, draft_cost, verify_cost)
    if np.isnan(alpha):
        assert speedup(1.0, block_size, draft_cost, verify_cost) < 1
    else:
        assert speedup(alpha, block_size, draft_cost, verify_cost) == pytest.approx(1)


@given(st.floats(0.01, 1), sizes, costs, costs)
def test_break_even_leniency(d, block_size, draft_cost, verify_cost):
    lam = break_even_leniency(d, block_size, draft_cost, verify_cost)
    if np.isnan(lam):
        assert speedup(1.0, block_size, draft_cost, verify_cost) < 1
        return
    gain = speedup(linear_acceptance_rate(d, lam), block_size, draft_cost, verify_cost)
    assert gain >= 1 - 1e-9 if lam == 0 else gain == pytest.approx(1)


def test_a_perfect_draft_needs_no_leniency():
    assert break_even_leniency(0.0, 4, 0.1, 0.1) == 0
    assert np.isnan(break_even_leniency(0.0, 1, 0.9, 0.1))
    assert break_even_alpha(4, 0.0, 0.1, decode_cost=0.2) == 0


@given(units, units, sizes, costs, costs)
def test_break_even_draft_cost_equalises_throughput(alpha, baseline, block_size, draft_cost, verify_cost):
    most = break_even_draft_cost(alpha, baseline, block_size, draft_cost, verify_cost)
    if most >= 0:
        before = throughput(baseline, block_size, draft_cost, verify_cost)
        assert throughput(alpha, block_size, most, verify_cost) == pytest.approx(before)


# Best K and λ

profiles = st.lists(st.tuples(units, costs), min_size=1, max_size=6)


@given(profiles, units, sizes, costs)
def test_best_steps_is_the_argmax(profile, lam, block_size, verify_cost):
    d, draft_costs = (list(column) for column in zip(*profile, strict=True))
    steps = list(range(1, len(d) + 1))
    best = best_steps(steps, d, draft_costs, verify_cost, block_size=block_size, lam=lam)
    every = throughput(linear_acceptance_rate(d, lam), block_size, draft_costs, verify_cost)
    assert best.throughput == pytest.approx(every.max())
    assert best.throughput == pytest.approx(every[int(best.steps) - 1])
    assert best.tokens_per_round == pytest.approx(expected_tokens(best.alpha, block_size))


@given(profiles, units, sizes, costs)
@settings(max_examples=40)
def test_best_operating_point_beats_a_grid_within_the_budget(profile, budget, block_size, verify_cost):
    d, draft_costs = (np.array(column) for column in zip(*profile, strict=True))
    steps = range(1, d.size + 1)
    best = best_operating_point(steps, d, draft_costs, verify_cost, block_size=block_size, deviation_budget=budget)
    assert best.agreement >= 1 - budget - 1e-12
    lam = np.linspace(0, 1, 21)[:, None]
    grid = throughput(linear_acceptance_rate(d, lam), block_size, draft_costs, verify_cost)
    assert best.throughput >= grid[lam * d <= budget].max(initial=0) * (1 - 1e-12)


def test_budget_buys_theorem_one():
    """α = 1 - d_K + ε wherever ε <= d_K."""
    lam = largest_leniency(PAPER_DISTANCES, 0.1)
    np.testing.assert_allclose(linear_acceptance_rate(PAPER_DISTANCES, lam), 1 - np.array(PAPER_DISTANCES) + 0.1)
    assert largest_leniency([0.0, 0.05], 0.1).tolist() == [1.0, 1.0]


def test_more_leniency_moves_the_paper_pair_to_fewer_steps():
    """With d_K of Appendix F.4 and a linear cost, no single K is best at every leniency (Section 3.3)."""
    draft_costs = [0.06, 0.12, 0.18, 0.24]
    chosen = [
        best_steps(PAPER_STEPS, PAPER_DISTANCES, draft_costs, 0.6, block_size=512, lam=lam).steps
        for lam in (0.0, 0.5, 1.0)
    ]
    assert chosen[0] > chosen[-1] == 1


def test_relaxed_steps_bracket_the_integer_optimum():
    draft_costs = [0.06, 0.12, 0.18, 0.24]
    for lam in (0.0, 0.3, 0.9):
        relaxed = relaxed_best_steps(PAPER_STEPS, PAPER_DISTANCES, draft_costs, 0.6, block_size=512, lam=lam)
        integer = best_steps(PAPER_STEPS, PAPER_DISTANCES, draft_costs, 0.6, block_size=512, lam=lam)
        assert relaxed.throughput >= integer.throughput * (1 - 1e-12)
        assert abs(relaxed.steps - integer.steps) <= 1


def test_relaxed_steps_satisfy_the_first_order_condition():
    """d_K = 0.2 + 0.6/K sampled densely, so PCHIP's slope is the true one; compare with a fine grid."""
    steps = np.arange(1, 41)
    d, draft_costs = 0.2 + 0.6 / steps, 0.02 * steps
    found = relaxed_best_steps(steps, d, draft_costs, 0.1, block_size=64)
    at = np.linspace(1, 40, 400_001)
    truth = at[np.argmax(throughput(0.8 - 0.6 / at, 64, 0.02 * at, 0.1))]
    assert found.steps == pytest.approx(truth, abs=0.1)


def test_affine_cost_fit():
    cost = fit_affine_cost([1, 2, 4], [0.15, 0.25, 0.45])
    assert (cost.intercept, cost.slope) == (pytest.approx(0.05), pytest.approx(0.1))
    assert cost(3) == pytest.approx(0.35)


# Best B


@given(st.floats(0.01, 0.999), st.floats(0.1, 50))
def test_relaxed_block_size_brackets_the_integer_optimum(alpha, ratio):
    relaxed = relaxed_best_block_size(alpha, ratio, 1.0)
    candidates = np.arange(0, int(relaxed) + 50)
    best = best_block_size(alpha, candidates, candidates.astype(float), ratio)
    assert abs(best - relaxed) < 1 + 1e-6


@pytest.mark.parametrize("ratio", [1.5, 10.0, 1e4])
@pytest.mark.parametrize("alpha", [1e-300, 0.5, 1 - 1e-8, 1 - 1e-12, 1 - 2.0**-53])
def test_relaxed_block_size_is_lamberts_root_up_to_rates_of_one(alpha, ratio):
    with mpmath.workdps(60):
        beta = -mpmath.log(alpha)
        m = 1 + beta * (mpmath.mpf(ratio) - 1)
        root = -mpmath.lambertw(-mpmath.exp(-m), -1).real
        exact = max(0.0, float(mpmath.log(root) / beta - 1))
    assert relaxed_best_block_size(alpha, ratio, 1.0) == pytest.approx(exact, rel=1e-8)


def test_block_size_limits():
    assert relaxed_best_block_size(0.0, 1.0, 0.1) == 0
    assert relaxed_best_block_size(1.0, 1.0, 0.1) == np.inf
    assert relaxed_best_block_size(1.0, 0.1, 1.0) == 0
    assert best_block_size(0.9, [64, 16, 32], 0.1, 0.2) == 64  # constant costs: the longest block


# Intervals


def test_delta_interval_agrees_with_draws():
    """Small errors (2 %): standard errors within 3 % of 200,000 normal draws, ends within 1 %."""
    d, draft_cost, verify_cost, lam, block_size = 0.4, 0.1, 0.5, 0.2, 32
    errors = np.array([0.008, 0.002, 0.01])
    correlation = np.array([[1, 0.3, 0], [0.3, 1, 0.5], [0, 0.5, 1]])
    covariance = errors[:, None] * correlation * errors
    interval = throughput_interval(d, draft_cost, verify_cost, covariance, lam=lam, block_size=block_size)
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal([d, draft_cost, verify_cost], covariance, size=200_000).T
    sampled = bootstrap_interval(throughput_draws(*draws, lam=lam, block_size=block_size))
    assert interval.standard_error == pytest.approx(sampled.standard_error, rel=0.03)
    assert interval.low == pytest.approx(sampled.low, rel=0.01)
    assert interval.high == pytest.approx(sampled.high, rel=0.01)


def test_delta_interval_covers_at_its_level():
    """Nominal 90 %: 4,000 experiments give 90 % within 4 standard errors of the count (1.9 points)."""
    rng, runs = np.random.default_rng(1), 4_000
    truth = throughput(linear_acceptance_rate(0.4, 0.0), 16, 0.1, 0.5)
    errors = np.array([0.01, 0.003, 0.01])
    d, draft_cost, verify_cost = np.array([0.4, 0.1, 0.5])[:, None] + errors[:, None] * rng.normal(size=(3, runs))
    interval = throughput_interval(d, draft_cost, verify_cost, np.diag(errors**2), lam=0.0, block_size=16, level=0.9)
    covered = ((interval.low <= truth) & (truth <= interval.high)).mean()
    assert covered == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / runs))


def test_the_entries_of_an_interval_share_one_shape():
    covariances = np.tile(np.diag([1e-4, 1e-6, 1e-6]), (5, 1, 1))
    for interval, shape in (
        (agreement_interval([0.3, 0.4], 0.01, lam=0.5), (2,)),
        (agreement_interval(0.3, [0.01, 0.02, 0.03], lam=0.5), (3,)),
        (throughput_interval(0.3, 0.1, 0.2, covariances, lam=0.5, block_size=4), (5,)),
        (throughput_interval(0.3, 0.1, 0.2, covariances[0], lam=[0.1, 0.2], block_size=4), (2,)),
        (bootstrap_interval(np.arange(6.0).reshape(3, 2), [2.0, 3.0]), (2,)),
    ):
        entries = interval.estimate, interval.standard_error, interval.low, interval.high
        assert {np.shape(entry) for entry in entries} == {shape}


def test_agreement_interval_is_linear():
    interval = agreement_interval(0.4, 0.01, lam=0.5)
    assert interval.standard_error == pytest.approx(0.005)
    assert interval.high - interval.low == pytest.approx(2 * 1.959964 * 0.005)


# Errors


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: linear_acceptance_rate(1.1, 0.0), "d must lie"),
        (lambda: verifier_agreement(0.5, -0.1), "lam must lie"),
        (lambda: throughput(0.5, 4, -1.0, 1.0), "draft_cost"),
        (lambda: throughput(0.5, 4, 1.0, 0.0), "verify_cost"),
        (lambda: throughput([0.5, 0.5], 4, [1.0, 1.0, 1.0], 1.0), "broadcast"),
        (lambda: speedup(0.5, 4, 1.0, 1.0, 0.0), "decode_cost"),
        (lambda: best_steps([1, 2], [0.5], [0.1, 0.1], 1.0, block_size=4), "one length"),
        (lambda: relaxed_best_steps([1], [0.5], [0.1], 1.0, block_size=4), "steps"),
        (lambda: fit_affine_cost([1, 1], [0.1, 0.2]), "steps"),
        (lambda: throughput_interval(0.5, 0.1, 0.1, np.eye(2), lam=0, block_size=4), "covariance"),
        (lambda: throughput_interval(0.5, 0.1, 0.1, -np.eye(3), lam=0, block_size=4), "covariance"),
        (lambda: bootstrap_interval([1.0]), "draws"),
        (lambda: bootstrap_interval([1.0, np.nan]), "draws"),
        (lambda: bootstrap_interval([1.0, 2.0], level=1.0), "level"),
        (lambda: agreement_interval(0.5, -0.1, lam=0.5), "standard_error"),
        (lambda: agreement_interval([0.5] * 2, [0.1] * 3, lam=0.5), "standard_error"),
        (lambda: throughput_interval([0.5] * 2, 1, 1, np.zeros((3, 3, 3)), lam=0, block_size=4), "covariance"),
        (lambda: bootstrap_interval(np.zeros((3, 2)), 1.0), "estimate"),
        (lambda: best_steps([1, 2], [0.5, 0.4], [0.1, 0.2], 1.0, block_size=4, lam=[0, 1]), "lam must be one number"),
        (lambda: best_steps([1, 2], [0.5, 0.4], [0.1, 0.2], [1, 1], block_size=4), "verify_cost must be one number"),
        (
            lambda: best_operating_point([1], [0.5], [0.1], 1.0, block_size=4, deviation_budget=[0.1]),
            "deviation_budget must be one number",
        ),
        (lambda: best_block_size(0.5, [], 0.1, 0.2), "block_sizes"),
        (lambda: break_even_leniency([0.5, 0.2], 4, [0.1, 0.2, 0.3], 0.1), "broadcast: d"),
    ],
)
def test_invalid_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()
