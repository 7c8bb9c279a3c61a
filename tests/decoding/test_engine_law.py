"""The engine's output law, by enumeration of every draw that it makes (V = 3)."""

from __future__ import annotations

import itertools
from functools import partial

import pytest
from decoding_toy import PROMPT, V, enumerate_engine, fixed_order, total_variation, toy_engine, verifier_law

from specfrontier.decoding.drafters.base import Effort
from specfrontier.decoding.engine import Settings
from specfrontier.errors import InputError
from specfrontier.theory.rules import Linear, Lossless

# Laws are float32 softmax rows; a product of a few of them is good to about 1e-6.
TOLERANCE = 2e-6


@pytest.mark.parametrize("order", list(itertools.permutations(range(2))))
@pytest.mark.parametrize("seed", range(3))
def test_exact_verification_emits_the_verifiers_law_for_every_order(order: tuple[int, ...], seed: int) -> None:
    toy = toy_engine(seed)
    with fixed_order(order):
        law = enumerate_engine(toy, Lossless(), block=2, length=2, mode="exact")
    assert total_variation(law, verifier_law(toy, 2)) < TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_exact_verification_emits_the_verifiers_law_for_every_order_of_three(order: tuple[int, ...]) -> None:
    toy = toy_engine(7)
    with fixed_order(order):
        law = enumerate_engine(toy, Lossless(), block=3, length=3, mode="exact")
    assert total_variation(law, verifier_law(toy, 3)) < TOLERANCE


@pytest.mark.parametrize("seed", range(3))
def test_paper_verification_is_biased_when_the_right_token_comes_first(seed: int) -> None:
    toy = toy_engine(seed)
    with fixed_order((1, 0)):
        law = enumerate_engine(toy, Lossless(), block=2, length=2, mode="paper")
    assert total_variation(law, verifier_law(toy, 2)) > 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_paper_verification_is_exact_from_left_to_right(seed: int) -> None:
    toy = toy_engine(seed)
    with fixed_order((0, 1)):
        law = enumerate_engine(toy, Lossless(), block=2, length=2, mode="paper")
    assert total_variation(law, verifier_law(toy, 2)) < TOLERANCE


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"rule": "linear:0.3"}, "rule is 'linear:0.3'"),
        ({"block_size": 2.5}, "block_size"),
        ({"block_size": float("nan")}, "block_size"),
        ({"max_new_tokens": True}, "max_new_tokens"),
        ({"effort": 1.5}, "K"),
    ],
)
def test_settings_of_a_wrong_kind_are_named(settings: dict, named: str) -> None:
    steps = settings.pop("effort", 1)
    with pytest.raises(InputError, match=named):
        Settings(Effort(steps), **settings)


@pytest.mark.parametrize("limit", [0, -1])
def test_every_loop_refuses_a_limit_below_one_and_an_empty_prompt(limit: int) -> None:
    toy = toy_engine(0)
    with pytest.raises(InputError, match="max_new_tokens"):
        toy.autoregressive(PROMPT, limit)
    for run in (toy.generate, toy.drafter_alone):
        with pytest.raises(InputError, match="no tokens"):
            run(PROMPT[:0], Settings(Effort(1)))
    with pytest.raises(InputError, match="no tokens"):
        toy.autoregressive(PROMPT[:0], 3)


def test_full_leniency_reproduces_the_drafter() -> None:
    toy = toy_engine(3)
    with fixed_order((0, 1)):
        law = enumerate_engine(toy, Linear(1.0), block=2, length=2, mode="paper")
    network = partial(toy.drafter.network, rows=slice(None))  # type: ignore[attr-defined]
    expected = {}
    for first, second in itertools.product(range(V), repeat=2):
        start = network(PROMPT.new_tensor([[0, V, V]]))[0, 0, :V].softmax(-1)[first]
        then = network(PROMPT.new_tensor([[0, first, V]]))[0, 1, :V].softmax(-1)[second]
        expected[first, second] = float(start * then)
    assert total_variation(law, expected) < TOLERANCE


def test_partial_leniency_deviates_by_lambda_times_the_distance_at_the_first_token() -> None:
    toy = toy_engine(4)
    lam = 0.4
    with fixed_order((0, 1)):
        law = enumerate_engine(toy, Linear(lam), block=2, length=1, mode="paper")
    exact = verifier_law(toy, 1)
    q = toy.drafter.network(PROMPT.new_tensor([[0, V]]), rows=slice(None))[0, 0, :V].softmax(-1)  # type: ignore[attr-defined]
    distance = 0.5 * sum(abs(float(q[v]) - exact[(v,)]) for v in range(V))
    assert total_variation(law, exact) == pytest.approx(lam * distance, abs=TOLERANCE)


def test_measured_acceptance_agrees_with_one_minus_the_relaxed_distance_at_a_fixed_prefix() -> None:
    """4,000 rounds at one prefix: a two-sided binomial test that fails once in about 16,000 seeds (4 sigma)."""
    toy, lam, n = toy_engine(5), 0.3, 4000
    with fixed_order((0,)):
        runs = [
            toy.generate(PROMPT, Settings(Effort(steps=1), Linear(lam), 1, 1, seed=s, trace=s == 0)) for s in range(n)
        ]
    trace = runs[0].rounds[0].trace
    assert trace is not None
    expected = 1 - (1 - lam) * trace.tv[0]
    assert trace.acceptance[0] == pytest.approx(expected, abs=1e-6)
    measured = sum(run.rounds[0].accepted for run in runs) / n
    assert abs(measured - expected) < 4 * (expected * (1 - expected) / n) ** 0.5
