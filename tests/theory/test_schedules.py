"""Optimal leniency schedules against brute force, and against uniform leniency at equal deviation."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

from specfrontier.theory.schedules import (
    clip_schedule,
    clip_schedule_for_budget,
    clip_with_log_ratio,
    linear_schedule,
    tv_schedule,
    tv_schedule_for_budget,
    uniform_clip_schedule,
)
from specfrontier.theory.tokens import expected_tokens

distance_rows = st.lists(st.floats(0, 1), min_size=1, max_size=5)
prices = st.floats(0, 6)


def laws(seed, block_size, vocab_size, concentration=0.5):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(vocab_size, concentration), size=(2, block_size))


def net(schedule, price):
    return schedule.expected_tokens - price * schedule.expected_deviation


# Total variation


@given(distance_rows, st.floats(0, 1))
def test_totals_are_sums_over_the_ways_a_round_can_end(d, lam):
    """Expectation over the accepted length, position by position, straight from the definition."""
    rates, tokens, deviation = [1 - (1 - lam) * x for x in d], 0.0, 0.0
    for accepted in range(len(d) + 1):
        weight = np.prod(rates[:accepted]) * (1 - rates[accepted] if accepted < len(d) else 1)
        tokens += weight * (accepted + 1)
        deviation += weight * sum(lam * x for x in d[: accepted + 1])
    schedule = linear_schedule(d, lam)
    assert schedule.expected_tokens == pytest.approx(tokens)
    assert schedule.expected_deviation == pytest.approx(deviation)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=4), prices)
@settings(max_examples=60)
def test_bang_bang_is_optimal_among_all_grid_schedules(d, price):
    """Brute force over λ in {0, 1/4, 1/2, 3/4, 1} at every position."""
    grid = np.array(list(product(np.linspace(0, 1, 5), repeat=len(d))))
    best = net(tv_schedule(d, price), price)
    assert best >= net(linear_schedule(np.array(d), grid), price).max() - 1e-12
    assert set(np.unique(tv_schedule(d, price).lam)) <= {0.0, 1.0}


@given(st.integers(0, 10_000), st.floats(0.1, 4))
@settings(max_examples=20)
def test_no_target_of_any_kind_beats_bang_bang(seed, price):
    """Random targets p̃, not only linear ones: Theorem 1 inside Bellman's equation."""
    p, q = laws(seed, 3, 4)
    d = 0.5 * np.abs(p - q).sum(axis=-1)
    targets = np.random.default_rng(seed).dirichlet(np.ones(4), size=(500, 3))
    rates = np.minimum(targets, q).sum(axis=-1)
    deviation = 0.5 * np.abs(targets - p).sum(axis=-1)
    survival = np.cumprod(rates, axis=-1)
    reached = np.concatenate([np.ones((500, 1)), survival[:, :-1]], axis=-1)
    values = 1 + survival.sum(axis=-1) - price * (reached * deviation).sum(axis=-1)
    assert net(tv_schedule(d, price), price) >= values.max() - 1e-12


@given(st.floats(0.01, 0.99), st.integers(1, 20), prices)
def test_equal_distances_spend_leniency_first(d, block_size, price):
    lam = tv_schedule(np.full(block_size, d), price).lam
    assert (np.diff(lam) <= 0).all()


@given(distance_rows)
def test_extreme_prices(d):
    free, dear = tv_schedule(d, 0.0), tv_schedule(d, len(d) + 1.0)
    assert free.expected_tokens == pytest.approx(len(d) + 1)
    assert (dear.lam == 0).all()


@given(distance_rows, st.floats(0, 1))
@settings(max_examples=40)
def test_the_schedule_beats_uniform_leniency_at_equal_deviation(d, lam):
    uniform = linear_schedule(d, lam)
    spent = tv_schedule_for_budget(d, float(np.clip(uniform.deviation_per_token, 0, 1)))
    assert spent.deviation_per_token <= uniform.deviation_per_token + 1e-12
    assert spent.expected_tokens >= uniform.expected_tokens - 1e-9


@given(st.lists(st.floats(0.05, 0.95), min_size=1, max_size=3), st.floats(0.01, 0.5))
@settings(max_examples=40)
def test_the_budget_schedule_beats_a_grid_within_the_budget(d, budget):
    grid = np.array(list(product(np.linspace(0, 1, 11), repeat=len(d))))
    every = linear_schedule(np.array(d), grid)
    allowed = every.expected_tokens[every.deviation_per_token <= budget]
    best = tv_schedule_for_budget(d, budget)
    assert best.deviation_per_token <= budget + 1e-12
    assert best.expected_tokens >= allowed.max() - 1e-9
    assert ((best.lam > 0) & (best.lam < 1)).sum() <= 1


@pytest.mark.parametrize(("d", "lam", "gain"), [(0.1, 0.5, 0.1205), (0.1, 0.25, 0.0553), (0.4, 0.25, 0.0017)])
def test_what_the_schedule_gains_on_a_flat_block(d, lam, gain):
    """B = 16, equal deviation per token: 12 % where rounds use the block up, nothing where they end early."""
    distances = np.full(16, d)
    uniform = linear_schedule(distances, lam)
    best = tv_schedule_for_budget(distances, float(uniform.deviation_per_token))
    assert uniform.expected_tokens == pytest.approx(expected_tokens(1 - (1 - lam) * d, 16))
    assert best.expected_tokens / uniform.expected_tokens - 1 == pytest.approx(gain, abs=5e-5)


def test_schedules_are_batched():
    d = np.random.default_rng(0).random((3, 2, 5))
    batch = tv_schedule(d, np.array([0.5, 2.0]))
    assert batch.lam.shape == (3, 2, 5)
    assert batch.lam[1, 1].tolist() == tv_schedule(d[1, 1], 2.0).lam.tolist()


# KL


@given(st.integers(0, 10_000), st.floats(0, 5))
@settings(max_examples=40)
def test_clip_has_the_ratio_asked_for(seed, log_ratio):
    p, q = laws(seed, 1, 6)[:, 0]
    target = clip_with_log_ratio(p, q, log_ratio)
    assert target.sum() == pytest.approx(1, abs=1e-14)
    raised, lowered = target < q * (1 - 1e-9), target > q * (1 + 1e-9)
    b, a = (target / p)[raised], (target / p)[lowered]
    if b.size and a.size:
        np.testing.assert_allclose(np.log(b), np.log(b[0]), atol=1e-9)
        np.testing.assert_allclose(np.log(a), np.log(a[0]), atol=1e-9)
        assert np.log(b[0] / a[0]) == pytest.approx(log_ratio, abs=1e-9)


def test_clip_limits_and_supports():
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.1, 0.2, 0.7])
    np.testing.assert_allclose(clip_with_log_ratio(p, q, 0.0), p)
    assert clip_with_log_ratio(p, q, 5.0)[2] == 0
    np.testing.assert_allclose(clip_with_log_ratio(p, p, 3.0), p)
    disjoint = clip_with_log_ratio([1.0, 0.0], [0.0, 1.0], 3.0)
    np.testing.assert_allclose(disjoint, [1, 0])
    q = np.array([0.7, 0.2, 0.1])
    np.testing.assert_allclose(clip_with_log_ratio([0.2, 0.3, 0.5], q, 50.0), q)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("price", [0.5, 2.0])
def test_clip_schedule_is_optimal_against_a_general_solver(seed, price):
    """SLSQP over both targets of a block of two (softmax coordinates), from several starts."""
    p, q = laws(seed, 2, 3, concentration=1.0)

    def loss(z):
        z = z.reshape(2, 3)
        target = np.exp(z - z.max(axis=1, keepdims=True))
        target /= target.sum(axis=1, keepdims=True)
        rate = np.minimum(target, q).sum(axis=1)
        kl = (target * np.log(target / p)).sum(axis=1)
        return -(1 + rate[0] + rate[0] * rate[1] - price * (kl[0] + rate[0] * kl[1]))

    starts = [np.log(p), np.log(q), np.log((p + q) / 2)]
    solver = -min(minimize(loss, z.ravel(), method="Nelder-Mead", options=_TIGHT).fun for z in starts)
    ours = net(clip_schedule(p, q, price), price)
    # The kinks at p̃ = q keep the solver from more than about four digits; it must never win.
    assert solver <= ours + 1e-9
    assert ours == pytest.approx(solver, abs=1e-3)


_TIGHT = {"maxiter": 4000, "xatol": 1e-9, "fatol": 1e-12}


@given(st.integers(0, 10_000), st.floats(0.2, 3))
@settings(max_examples=20, deadline=None)
def test_random_targets_never_beat_the_clip_schedule(seed, price):
    p, q = laws(seed, 3, 4)
    rng = np.random.default_rng(seed + 1)
    mix = rng.random((300, 3, 1))
    targets = (1 - mix) * p + mix * np.where(rng.random((300, 1, 1)) < 0.5, q, rng.dirichlet(np.ones(4), 3))
    rates = np.minimum(targets, q).sum(axis=-1)
    kl = (targets * np.log(np.where(targets > 0, targets / p, 1.0))).sum(axis=-1)
    survival = np.cumprod(rates, axis=-1)
    reached = np.concatenate([np.ones((300, 1)), survival[:, :-1]], axis=-1)
    values = 1 + survival.sum(axis=-1) - price * (reached * kl).sum(axis=-1)
    assert net(clip_schedule(p, q, price), price) >= values.max() - 1e-9


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("log_ratio", [0.3, 2.0])
def test_the_clip_schedule_beats_uniform_clips_at_equal_kl(seed, log_ratio):
    p, q = laws(seed, 6, 8)
    uniform = uniform_clip_schedule(p, q, log_ratio)
    spent = clip_schedule_for_budget(p, q, float(uniform.deviation_per_token))
    assert spent.deviation_per_token <= uniform.deviation_per_token * (1 + 1e-12)
    assert spent.expected_tokens > uniform.expected_tokens


def test_clip_widths_follow_the_tokens_to_come():
    """Identical rows along the block: the width falls towards the end, where it is 1/μ."""
    p, q = (np.tile(row, (8, 1)) for row in laws(2, 1, 5)[:, 0])
    schedule = clip_schedule(p, q, 2.0)
    assert (np.diff(schedule.log_ratio) < 0).all()
    assert schedule.log_ratio[-1] == pytest.approx(0.5)


def test_a_budget_that_does_not_bind_gives_the_draft_on_the_support_of_p():
    p, q = laws(0, 3, 4, concentration=2.0)
    schedule = clip_schedule_for_budget(p, q, 50.0)
    np.testing.assert_allclose(schedule.targets, q, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: linear_schedule(0.5, 0.1), "distances"),
        (lambda: linear_schedule([0.5, 1.5], 0.1), "distances"),
        (lambda: linear_schedule([0.5], 1.1), "lam"),
        (lambda: tv_schedule([0.5], -1.0), "price"),
        (lambda: tv_schedule([[0.5], [0.5]], [1.0, 1.0, 1.0]), "broadcast"),
        (lambda: tv_schedule_for_budget([[0.5]], 0.1), "distances"),
        (lambda: tv_schedule_for_budget([0.5], 1.5), "deviation_per_token"),
        (lambda: clip_with_log_ratio([0.5, 0.6], [0.5, 0.5], 1.0), "p must sum to 1"),
        (lambda: clip_with_log_ratio([0.5, 0.5], [0.5, 0.5], -1.0), "log_ratio"),
        (lambda: clip_schedule([0.5, 0.5], [0.5, 0.5], 1.0), "p and q"),
        (lambda: clip_schedule([[0.5, 0.5]], [[0.5, 0.5]], 0.0), "price"),
    ],
)
def test_invalid_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()
