"""What rules pay: the true law's deviation beside the acceptance rate that it buys."""

import numpy as np
from hypothesis import given, settings

from specfrontier.theory import (
    Cactus,
    Clip,
    Lenience,
    Linear,
    Lossless,
    clip_for_budget,
    clip_target,
    coupling_bound,
    price_of_rule,
    prices,
    tv_distance,
)

from .strategies import law_pairs

few = settings(max_examples=30, deadline=None)


@few
@given(pair=law_pairs())
def test_lossless_is_free_and_linear_pays_the_bound(pair: tuple) -> None:
    p, q = pair
    free, linear = prices([Lossless(), Linear(0.4)], p, q)
    for name in ("tv", "kl", "reverse_kl", "chi2", "hellinger"):
        np.testing.assert_allclose(getattr(free, name), 0, atol=1e-12)
    np.testing.assert_allclose(free.acceptance_rate, 1 - tv_distance(p, q), atol=1e-12)
    np.testing.assert_allclose(linear.acceptance_rate, linear.bound, atol=1e-12)


@few
@given(pair=law_pairs())
def test_every_price_lies_under_the_bound(pair: tuple) -> None:
    p, q = pair
    for price in prices([Linear(0.2), Clip(1.5), Lenience(0.5), Cactus(0.3)], p, q):
        assert price.acceptance_rate <= price.bound + 1e-12


def test_at_equal_acceptance_no_rule_is_cheaper_than_the_clip() -> None:
    """The clip's optimality bounds every rule, also those without a target: compare true output laws."""
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(12), (2, 20))
    for rule in (Linear(0.3), Lenience(0.6), Cactus(0.1), Cactus(0.1, solver="taylor")):
        paid = price_of_rule(rule, p, q)
        for name in ("kl", "reverse_kl", "chi2", "hellinger"):
            b = clip_for_budget(p, q, getattr(paid, name), name)
            # Bisection finds b to the last bits of log b.
            best = np.minimum(clip_target(p, q, b), q).sum(axis=-1)
            assert np.all(best >= paid.acceptance_rate - 1e-9)


def test_prices_are_batched_and_name_their_rule() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(5), (2, 3)), rng.dirichlet(np.ones(5), 3)
    price = price_of_rule(Clip(2.0), p, q)
    assert price.spec == "clip:2.0"
    assert price.kl.shape == price.bound.shape == price.acceptance_rate.shape == (2, 3)
    np.testing.assert_allclose(coupling_bound(Clip(2.0).output_law(p, q), q), price.acceptance_rate)
