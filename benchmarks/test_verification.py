"""Verification of a block against transformers' own, on the same logits, and the decoder's overhead in a round.

Run: `make bench`. Ratios are of medians within one run, on one thread.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from transformers.generation.utils import _speculative_sampling

from specfrontier.decoding import Draft, Sampling, load_pair
from specfrontier.decoding.verification import verify
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


class Timed:
    """A network whose forwards are timed; every other attribute is the network's own."""

    def __init__(self, network: Any) -> None:
        self.network, self.seconds = network, 0.0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        out = self.network(*args, **kwargs)
        self.seconds += time.perf_counter() - began
        return out

    def __getattr__(self, name: str) -> Any:
        return getattr(self.network, name)


@pytest.mark.parametrize("steps", [1, 4])
def test_decoder_overhead(steps: int, benchmark: Callable) -> None:
    """All but the models' forwards, sampling of the draft included, is at most 10 % of a round on the embedded pair."""
    torch.set_num_threads(1)
    pair = load_pair("arith-masked", device="cpu")
    drafter, verifier = Timed(pair.engine.drafter.network), Timed(pair.engine.verifier.network)
    pair.engine.drafter.network = drafter
    pair = replace(pair, engine=replace(pair.engine, verifier=replace(pair.engine.verifier, network=verifier)))
    decoding_s = prefill_s = 0.0

    def run() -> None:
        nonlocal decoding_s, prefill_s
        out = pair.generate(QUESTION, steps=steps)
        decoding_s += out.decode_s
        prefill_s += out.prefill_s

    benchmark.pedantic(run, rounds=10)
    share = 1 - (drafter.seconds + verifier.seconds - prefill_s) / decoding_s
    benchmark.extra_info["host share of a round"] = round(share, 4)
    print(f"\nK={steps}: {100 * share:.1f} % of a round is no forward")
    assert share <= 0.10
