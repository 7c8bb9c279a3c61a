"""Rates from traces are unbiased for what a decoder would accept."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from specfrontier.errors import InputError
from specfrontier.simulate import Effort, Point
from specfrontier.simulate.acceptance import rates
from specfrontier.simulate.traces import Traces
from specfrontier.theory.rules import AcceptanceRule, Clip, Lenience, Linear, TypicalAcceptance
from specfrontier.theory.rules.schedule import Leniency, as_schedule, leniency_from_spec

V, B = 3, 3


def tabular_pair(seed: int) -> tuple[dict[tuple[int, ...], np.ndarray], dict[tuple[int, ...], np.ndarray]]:
    """Random laws p and q [V] after every prefix of a block."""
    rng = np.random.default_rng(seed)
    prefixes = [h for n in range(B) for h in itertools.product(range(V), repeat=n)]
    return {h: rng.dirichlet(np.ones(V)) for h in prefixes}, {h: rng.dirichlet(np.ones(V)) for h in prefixes}


def all_drafts(seed: int) -> tuple[Traces, np.ndarray]:
    """A trace of every possible draft, and the probability of drafting it."""
    p, q = tabular_pair(seed)
    drafts = list(itertools.product(range(V), repeat=B))
    n = len(drafts)
    tv, p_y, q_y = np.zeros((3, n, B))
    for i, y in enumerate(drafts):
        for k in range(B):
            h = y[:k]
            tv[i, k] = 0.5 * np.abs(p[h] - q[h]).sum()
            p_y[i, k], q_y[i, k] = p[h][y[k]], q[h][y[k]]
    whole, row = np.full(n, B), np.arange(n)
    zeros = np.zeros(n)
    traces = Traces(
        Point(Effort(1), "lossless", B), tv, p_y, q_y, whole, zeros.astype(bool), whole, 0 * row, 0 * row, 0 * row,
        whole, whole, zeros, zeros, zeros, row, np.array([str(i) for i in row], dtype=object),
    )  # fmt: skip
    return traces, q_y.prod(axis=1)


def survival_by_enumeration(seed: int, leniency: Leniency) -> np.ndarray:
    """P(at least n drafted tokens are accepted), summed over the tree of accepted prefixes."""
    p, q = tabular_pair(seed)
    rules = [as_schedule(leniency).rule_at(k) for k in range(B)]
    out = np.zeros(B)
    for n in range(1, B + 1):
        for y in itertools.product(range(V), repeat=n):
            out[n - 1] += np.prod([(q[y[:k]] * rules[k].acceptance(p[y[:k]], q[y[:k]]))[y[k]] for k in range(n)])
    return out


RULES = [Linear(0.0), Linear(0.4), Clip(1.7), Lenience(0.5)]
SCHEDULES = [leniency_from_spec(spec) for spec in ("linear:1.0@1/lossless", "clip:4.0@1/linear:0.4@2/lossless")]


@pytest.mark.parametrize("rule", [*RULES, *SCHEDULES], ids=lambda r: r.spec)
@pytest.mark.parametrize("seed", range(3))
def test_survival_of_drawn_tokens_is_exact_in_expectation(rule: Leniency, seed: int) -> None:
    traces, weight = all_drafts(seed)
    found = rates(rule, traces)
    assert weight @ found.survival() == pytest.approx(survival_by_enumeration(seed, rule), abs=1e-12)
    assert weight @ (found.reach() * found.alpha) == pytest.approx(survival_by_enumeration(seed, rule), abs=1e-12)


def test_the_product_of_average_rates_is_biased() -> None:
    """The step that looks like more averaging is not one: prefixes count as drafted, not as accepted."""
    gaps = []
    for seed in range(3):
        traces, weight = all_drafts(seed)
        product = weight @ np.cumprod(rates(Linear(0.0), traces).alpha, axis=1)
        gaps.append(np.abs(product - survival_by_enumeration(seed, Linear(0.0)))[1:].max())
    assert max(gaps) > 0.005


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.spec)
def test_deviation_is_exact_for_rules_that_attain_the_coupling_bound(rule: AcceptanceRule) -> None:
    traces, weight = all_drafts(0)
    p, q = tabular_pair(0)
    law = rule.output_law(p[()], q[()])
    expected = 0.5 * np.abs(law - p[()]).sum()
    assert weight @ rates(rule, traces).deviation[:, 0] == pytest.approx(expected, abs=1e-12)


def test_rules_that_need_whole_rows_are_refused() -> None:
    traces, _ = all_drafts(0)
    with pytest.raises(InputError, match="whole rows"):
        rates(TypicalAcceptance(0.09), traces)
