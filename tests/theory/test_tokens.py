"""Proposition 1 and the laws beyond it, against exact rational sums, high precision and Monte Carlo."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import digamma, gammaln

from specfrontier.theory.mixing import BetaMixing, DiscreteMixing, iid_bias, mixed_token_law
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

rates = st.floats(0, 1)
sizes = st.integers(0, 12)
rate_rows = st.lists(rates, min_size=1, max_size=8)
near_one = [1 - 10.0**-e for e in (1, 3, 6, 9, 12, 15)]


def exact_moments(alpha, block_size):
    """E[N] and Var N as rationals, straight from the definition."""
    a = Fraction(alpha)
    pmf = [a ** (n - 1) * (1 - a) for n in range(1, block_size + 1)] + [a**block_size]
    mean = sum(n * weight for n, weight in enumerate(pmf, 1))
    return mean, sum((n - mean) ** 2 * weight for n, weight in enumerate(pmf, 1))


# Independent acceptance


@given(rates, sizes)
def test_expected_tokens_is_the_geometric_sum(alpha, block_size):
    mean, _ = exact_moments(alpha, block_size)
    assert expected_tokens(alpha, block_size) == pytest.approx(float(mean), rel=1e-13)


@given(rates, sizes)
def test_variance_is_the_second_central_moment(alpha, block_size):
    _, variance = exact_moments(alpha, block_size)
    assert tokens_variance(alpha, block_size) == pytest.approx(float(variance), rel=1e-12, abs=1e-300)


@given(rates, sizes)
def test_slope_is_the_derivative(alpha, block_size):
    slope = sum(n * Fraction(alpha) ** (n - 1) for n in range(1, block_size + 1))
    assert expected_tokens_slope(alpha, block_size) == pytest.approx(float(slope), rel=1e-12)


@pytest.mark.parametrize("block_size", [16, 512, 10**6, 2**53 - 1])
@pytest.mark.parametrize("alpha", [0.3, 0.9, *near_one])
def test_stable_near_one_and_for_long_blocks(alpha, block_size):
    """Against 90-digit arithmetic at the float that was passed in."""
    with mpmath.workdps(90):
        a = mpmath.mpf(alpha)
        x, m = 1 - a, 2 * block_size + 1
        mean = (1 - a ** (block_size + 1)) / x
        slope = (1 - (block_size + 1) * a**block_size + block_size * a ** (block_size + 1)) / x**2
        variance = a * (1 - a**m - m * x * a**block_size) / x**2
    assert expected_tokens(alpha, block_size) == pytest.approx(float(mean), rel=1e-13)
    assert expected_tokens_slope(alpha, block_size) == pytest.approx(float(slope), rel=1e-12)
    assert tokens_variance(alpha, block_size) == pytest.approx(float(variance), rel=1e-12)


@pytest.mark.filterwarnings("error")
def test_no_length_of_block_overflows():
    for alpha in (0.0, 1e-300, 0.5, 1 - 1e-9, 1 - 2.0**-53, 1.0):
        results = [f(alpha, 2**53 - 1) for f in (expected_tokens, expected_tokens_slope, tokens_variance)]
        assert np.isfinite(results).all()


def test_limits_at_zero_and_one():
    assert expected_tokens([0.0, 1.0], 7).tolist() == [1.0, 8.0]
    assert tokens_variance([0.0, 1.0], 7).tolist() == [0.0, 0.0]
    assert expected_tokens_slope([0.0, 1.0], 7).tolist() == [1.0, 28.0]


def test_everything_broadcasts():
    alpha, size = np.full((4, 1), 0.5), np.array([1, 2, 3])
    for function in (expected_tokens, expected_tokens_slope, tokens_variance):
        assert function(alpha, size).shape == (4, 3)
    assert isinstance(expected_tokens(0.5, 3), float)


@given(st.floats(0, 1), st.integers(1, 600))
def test_alpha_for_tokens_inverts(alpha, block_size):
    tokens = expected_tokens(alpha, block_size)
    assert expected_tokens(alpha_for_tokens(tokens, block_size), block_size) == pytest.approx(tokens, rel=1e-10)


def test_alpha_for_tokens_out_of_reach_is_nan():
    assert np.isnan(alpha_for_tokens([0.9, 9.1], 8)).all()
    assert alpha_for_tokens([1.0, 9.0], 8).tolist() == [0.0, 1.0]


# Rates by position


@given(rate_rows)
def test_pmf_by_position(row):
    law = token_law(row)
    expected = [np.prod(row[: n - 1]) * (1 - row[n - 1]) for n in range(1, len(row) + 1)] + [np.prod(row)]
    np.testing.assert_allclose(law.pmf, expected, atol=1e-15)
    assert law.pmf.sum() == pytest.approx(1)
    assert law.mean == pytest.approx((law.pmf * np.arange(1, len(row) + 2)).sum())


@given(rates, sizes)
def test_equal_rates_are_proposition_one(alpha, block_size):
    law = token_law(alpha, block_size)
    assert law.mean == pytest.approx(expected_tokens(alpha, block_size))
    assert law.variance == pytest.approx(tokens_variance(alpha, block_size), abs=1e-10)


def test_conditional_rates_are_recovered_until_no_round_gets_there():
    law = token_law([0.5, 0.0, 0.7])
    np.testing.assert_array_equal(law.conditional_rates, [0.5, 0.0, np.nan])


def test_independent_random_rates_matter_through_their_mean_only():
    """Proposition 1's own generality, by Monte Carlo: P_i i.i.d. uniform on {0.5, 0.9}, so μ = 0.7."""
    rng, runs, block_size = np.random.default_rng(1), 100_000, 8
    accepted = rng.random((runs, block_size)) < rng.choice([0.5, 0.9], size=(runs, block_size))
    tokens = 1 + np.cumprod(accepted, axis=1).sum(axis=1)
    standard_error = tokens.std() / np.sqrt(runs)
    assert abs(tokens.mean() - expected_tokens(0.7, block_size)) < 4 * standard_error


def test_law_agrees_with_simulation():
    """Monte Carlo over 100,000 rounds, within 4 standard errors in every cell, and in mean and variance."""
    row, runs, rng = np.array([0.95, 0.8, 0.9, 0.4]), 100_000, np.random.default_rng(2)
    tokens = 1 + np.cumprod(rng.random((runs, 4)) < row, axis=1).sum(axis=1)
    law = token_law(row)
    seen = np.bincount(tokens, minlength=6)[1:] / runs
    assert (np.abs(seen - law.pmf) < 4 * np.sqrt(law.pmf * (1 - law.pmf) / runs)).all()
    assert abs(tokens.mean() - law.mean) < 4 * np.sqrt(law.variance / runs)
    kurtosis_error = np.sqrt(((tokens - law.mean) ** 4).mean() / runs)
    assert abs(tokens.var() - law.variance) < 4 * kurtosis_error


# Correlated rates


@given(st.floats(0.1, 30), st.floats(0.1, 30), st.integers(0, 40))
def test_beta_moments_telescope(a, b, block_size):
    if abs(b - 1) < 0.05:  # the closed form cancels there, which is why the code sums
        return
    log_next = gammaln(a + block_size + 1) - gammaln(a) + gammaln(a + b) - gammaln(a + b + block_size + 1)
    closed = ((a + b - 1) - (a + b + block_size) * np.exp(log_next)) / (b - 1)
    assert BetaMixing(a, b).expected_tokens(block_size) == pytest.approx(closed, rel=1e-9)


def test_beta_with_b_one_is_harmonic():
    a, block_size = 3.5, 20
    harmonic = a * (digamma(a + block_size + 1) - digamma(a))
    assert BetaMixing(a, 1.0).expected_tokens(block_size) == pytest.approx(harmonic, rel=1e-12)


def test_beta_mixing_agrees_with_simulation():
    rng, runs, block_size = np.random.default_rng(3), 100_000, 16
    mixing = BetaMixing.from_mean(0.8, 0.2)
    common = rng.beta(mixing.a, mixing.b, size=(runs, 1))
    tokens = 1 + np.cumprod(rng.random((runs, block_size)) < common, axis=1).sum(axis=1)
    law = mixed_token_law(mixing, block_size)
    assert abs(tokens.mean() - law.mean) < 4 * np.sqrt(law.variance / runs)
    seen = np.bincount(tokens, minlength=block_size + 2)[1:] / runs
    assert (np.abs(seen - law.pmf) < 4 * np.sqrt(law.pmf * (1 - law.pmf) / runs)).all()


@given(st.floats(0.05, 0.95), st.floats(0.01, 0.9), st.integers(0, 64))
def test_from_mean_keeps_mean_and_correlation(mean, correlation, block_size):
    mixing = BetaMixing.from_mean(mean, correlation)
    assert mixing.mean == pytest.approx(mean)
    assert mixing.correlation == pytest.approx(correlation)
    assert iid_bias(mixing, block_size) <= 1e-12


@pytest.mark.parametrize("mixing", [BetaMixing(2.0, 3.0), DiscreteMixing([0.2, 0.8]), DiscreteMixing(np.ones((3, 2)))])
def test_a_round_without_a_draft_emits_one_token(mixing):
    law = mixed_token_law(mixing, 0)
    assert law.survival.shape == (*np.shape(mixing.mean), 0)
    assert np.all(law.mean == 1)
    assert np.all(iid_bias(mixing, 0) == 0)


def test_iid_bias_to_second_order():
    """For a small spread the bias is -Var(R)/2 times the second derivative of Proposition 1."""
    mu, spread, block_size = 0.7, 1e-3, 10
    mixing = DiscreteMixing([mu - spread, mu + spread])
    curvature = sum(n * (n - 1) * mu ** (n - 2) for n in range(2, block_size + 1))
    assert iid_bias(mixing, block_size) == pytest.approx(-0.5 * spread**2 * curvature, rel=1e-4)


@given(st.lists(rates, min_size=1, max_size=5), st.integers(0, 10))
def test_discrete_mixing_averages_proposition_one(values, block_size):
    mixing = DiscreteMixing(values)
    direct = np.mean([expected_tokens(value, block_size) for value in values])
    assert mixing.expected_tokens(block_size) == pytest.approx(direct)
    if block_size:
        assert mixed_token_law(mixing, block_size).mean == pytest.approx(direct)


def test_mixing_is_stable_at_a_million_positions():
    mixing = DiscreteMixing([0.0, 1.0], [0.25, 0.75])
    assert mixing.expected_tokens(10**6) == pytest.approx(0.25 + 0.75 * (10**6 + 1), rel=1e-14)
    # Beta(a, 2): the telescoped sum is (a + 1) - (a + 2 + B) S_(B+1) with S_n = a (a + 1) / ((a + n)(a + n +
    # 1)).
    a, block_size = 5.0, 10**6
    closed = (a + 1) - a * (a + 1) / (a + block_size + 1)
    assert BetaMixing(a, 2.0).expected_tokens(block_size) == pytest.approx(closed, rel=1e-12)


# The end of the text


@given(rates, st.integers(1, 10), rates)
def test_an_end_token_thins_the_rate(alpha, block_size, end_rate):
    cut = token_law(alpha, block_size).until_end(end_rate)
    assert cut.mean == pytest.approx(expected_tokens_until_end(alpha, block_size, end_rate))


def test_end_token_agrees_with_simulation():
    rng, runs, block_size, alpha, end_rate = np.random.default_rng(4), 100_000, 12, 0.9, 0.05
    tokens = 1 + np.cumprod(rng.random((runs, block_size)) < alpha, axis=1).sum(axis=1)
    tokens = np.minimum(tokens, rng.geometric(end_rate, size=runs))
    exact = expected_tokens_until_end(alpha, block_size, end_rate)
    assert abs(tokens.mean() - exact) < 4 * tokens.std() / np.sqrt(runs)


def test_limited_law_is_the_minimum():
    law = token_law([0.9, 0.8, 0.7])
    tokens = np.arange(1, 5)
    for remaining in (1, 2, 4, 9):
        assert law.limited(remaining).mean == pytest.approx((law.pmf * np.minimum(tokens, remaining)).sum())


@given(rates, st.integers(1, 12))
@settings(max_examples=30)
def test_rounds_of_an_uncapped_block_end_at_rejections(alpha, length):
    """If B >= length, each token but the last ends a round with probability 1 - α."""
    rounds = expected_rounds(token_law(alpha, length), length)
    assert rounds == pytest.approx(1 + (length - 1) * (1 - alpha))


def test_expected_rounds_agree_with_simulation():
    rng, runs, length = np.random.default_rng(5), 20_000, 30
    law = token_law(0.8, 4)
    per_round = rng.choice(np.arange(1, 6), p=law.pmf, size=(runs, length))
    rounds = 1 + (np.cumsum(per_round, axis=1) < length).sum(axis=1)
    assert abs(rounds.mean() - expected_rounds(law, length)) < 4 * rounds.std() / np.sqrt(runs)
    assert expected_rounds(law, length) > length / law.mean


# Errors


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: expected_tokens(1.2, 3), r"alpha must lie in \[0, 1\], got 1.2"),
        (lambda: expected_tokens(np.nan, 3), "alpha"),
        (lambda: expected_tokens(0.5, -1), "block_size must be an integer >= 0, got -1.0"),
        (lambda: expected_tokens(0.5, 2.5), "block_size"),
        (lambda: expected_tokens("x", 2), "alpha must be a number"),
        (lambda: expected_tokens([0.5, 0.5], [1, 2, 3]), "do not broadcast: alpha"),
        (lambda: token_law(0.5), "rates"),
        (lambda: token_law([0.5, -0.1]), "rates"),
        (lambda: TokenLaw([0.5, 0.6]), "survival"),
        (lambda: TokenLaw(0.5), "survival"),
        (lambda: token_law([0.5]).limited(0), "remaining"),
        (lambda: expected_rounds(token_law([[0.5]]), 3), "law"),
        (lambda: expected_rounds(token_law([0.5]), 0), "length"),
        (lambda: BetaMixing(0.0, 1.0), "a must"),
        (lambda: BetaMixing.from_mean(1.0, 0.5), "mean"),
        (lambda: DiscreteMixing([0.5], [0.9]), "weights"),
        (lambda: DiscreteMixing(0.5), "rates"),
    ],
)
def test_invalid_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()
