"""KL of a rule from recorded p(y) and q(y): right in expectation, never negative, zero for the lossless rule."""

from __future__ import annotations

import numpy as np
import pytest

from specfrontier.simulate.overshoot import overshoot_nats
from specfrontier.theory.divergences import kl_divergence
from specfrontier.theory.rules import AcceptanceRule, Clip, Linear, Lossless


def laws(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(8, 0.3)), rng.dirichlet(np.full(8, 0.3))


def over_proposed(rule: AcceptanceRule, p: np.ndarray, q: np.ndarray) -> float:
    """Σ [o log(o / p) - o + p] over tokens with q > p, from the rule's exact output law o."""
    over = q > p
    o = rule.output_law(p, q)[over]
    return float((o * np.log(o / p[over]) - o + p[over]).sum())


@pytest.mark.parametrize("rule", [Linear(0.3), Linear(1.0), Clip(2.0), Clip(50.0)])
@pytest.mark.parametrize("seed", range(5))
def test_its_expectation_over_drafts_is_the_departure_where_the_drafter_proposes_too_much(
    rule: AcceptanceRule, seed: int
) -> None:
    """Exact, by summing over all drafted tokens; tolerance for rounding alone."""
    p, q = laws(seed)
    nats = q @ overshoot_nats(rule.acceptance_at(p, q), p, q)
    assert nats == pytest.approx(over_proposed(rule, p, q), rel=1e-9, abs=1e-12)


def test_it_is_at_most_the_kl_of_the_rule() -> None:
    """What the other tokens add is a divergence too, so nothing is ever overstated."""
    for seed in range(50):
        p, q = laws(seed)
        for rule in (Linear(0.2), Clip(4.0)):
            nats = float(q @ overshoot_nats(rule.acceptance_at(p, q), p, q))
            assert 0 <= nats <= float(kl_divergence(rule.output_law(p, q), p)) + 1e-12


def test_lossless_costs_nothing_and_excluded_tokens_cost_a_bounded_sum() -> None:
    p, q = laws(0)
    assert overshoot_nats(Lossless().acceptance_at(p, q), p, q) == pytest.approx(0, abs=1e-12)
    excluded = overshoot_nats(np.array([0.5]), np.array([0.0]), np.array([0.4]))
    assert 0 < excluded[0] <= 15.0
