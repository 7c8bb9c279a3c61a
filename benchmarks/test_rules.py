"""Speed of the acceptance rules: the vectorised Cactus root, and every rule over a real vocabulary.

Run with ``pytest benchmarks/test_rules.py``.
"""

import math
import time
from functools import cache

import numpy as np
import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture
from scipy.optimize import brentq

from specfrontier.theory import boosted_probability, registered_rules, rule_from_spec

#: Qwen2.5's padded vocabulary.
VOCABULARY = 152_064
ELEMENTS = 1_000_000
#: brentq is timed on a sample and scaled: a million solves would take half a minute.
SAMPLE = 2_000
DELTA = 1.0
SPECS = [
    "lossless",
    "linear:0.3",
    "cactus:1.0",
    "cactus:1.0:solver=taylor",
    "clip:2.0",
    "lenience:0.5",
    "sampler-match",
    "greedy",
    "top-k:8",
    "typical:0.09",
    "cascade-opt:0.5",
    "cascade-token:0.5",
    "fuzzy:0.2",
]
every_rule = pytest.mark.parametrize("spec", SPECS)


@cache
def rows() -> tuple[torch.Tensor, torch.Tensor]:
    """A peaked verifier and a drafter close to it, float32, as after a softmax."""
    generator = torch.Generator().manual_seed(0)
    logits = 4 * torch.randn(VOCABULARY, generator=generator)
    noise = torch.randn(VOCABULARY, generator=generator)
    return torch.softmax(logits, dim=-1), torch.softmax(logits + noise, dim=-1)


def phi(gamma: float, p: float) -> float:
    """Equation 17 minus the budget."""
    rest = (1 - gamma) * math.log((1 - gamma) / (1 - p)) if gamma < 1 else 0.0
    return gamma * math.log(gamma / p) + rest - DELTA


def test_every_rule_is_benchmarked() -> None:
    assert {spec.split(":")[0] for spec in SPECS} == set(registered_rules())


def test_the_vectorised_root_is_a_hundred_times_faster_than_brentq(benchmark: BenchmarkFixture) -> None:
    p = np.random.default_rng(0).uniform(1e-6, np.exp(-DELTA) * 0.999, ELEMENTS)
    gammas = benchmark.pedantic(boosted_probability, (p, DELTA), rounds=5, warmup_rounds=1)

    start = time.perf_counter()
    by_brentq = [brentq(phi, x, 1.0, args=(x,), xtol=1e-15) for x in p[:SAMPLE].tolist()]
    per_element = (time.perf_counter() - start) / SAMPLE

    np.testing.assert_allclose(gammas[:SAMPLE], by_brentq, rtol=1e-9)
    speedup = per_element * ELEMENTS / benchmark.stats.stats.min
    benchmark.extra_info["speedup over brentq"] = round(speedup)
    assert speedup >= 100


@every_rule
def test_deciding_a_block_of_drafted_tokens(benchmark: BenchmarkFixture, spec: str) -> None:
    """What the decoder pays a round to decide: 32 tokens of a pointwise rule, one row of any other."""
    rule, (p, q) = rule_from_spec(spec), rows()
    if rule.pointwise:
        benchmark(rule.acceptance_at, p[:32], q[:32])
    else:
        benchmark(rule.acceptance, p, q, validate=False)


@every_rule
def test_the_replacement_in_the_one_rejected_row(benchmark: BenchmarkFixture, spec: str) -> None:
    rule, (p, q) = rule_from_spec(spec), rows()
    benchmark(rule.residual, p, q, torch.tensor(7), validate=False)


@every_rule
def test_the_exact_output_law(benchmark: BenchmarkFixture, spec: str) -> None:
    rule, (p, q) = rule_from_spec(spec), rows()
    benchmark(rule.output_law, p, q, validate=False)
