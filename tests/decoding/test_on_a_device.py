"""What must hold on every device. On a machine without an NVIDIA GPU the CPU's half runs, and the other half skips."""

from __future__ import annotations

import time
import warnings

import pytest
import torch

from specfrontier.decoding import Generation, Pair, load_pair
from specfrontier.decoding.sampling import Sampling
from specfrontier.profiling.hardware import device_rates, verifier_use
from specfrontier.theory import Clip, Lossless

QUESTION = "Tom has 12 apples. He buys 5 more. Then he doubles them. How many apples does Tom have now?"
GPU = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"))
#: Float32 sums over a few hundred terms, in another order on another device.
ROUNDING = 2e-3


@pytest.fixture(scope="module")
def reference() -> Pair:
    return load_pair("arith-masked", device="cpu", dtype=torch.float32)


@pytest.fixture(scope="module", params=["cpu", GPU])
def pair(request: pytest.FixtureRequest) -> Pair:
    return load_pair("arith-masked", device=request.param, dtype=torch.float32)


@pytest.mark.parametrize("rule", [Lossless(), Clip(4.0)], ids=lambda rule: rule.spec)
def test_traced_laws_are_those_that_the_cpu_gives_the_same_text(pair: Pair, reference: Pair, rule: Lossless) -> None:
    """The verifier's probability of every accepted token, from a forward over the whole text on the CPU."""
    found = pair.generate(QUESTION, steps=4, rule=rule, max_new_tokens=48, seed=3, trace=True)
    ids = torch.cat((reference.encode(QUESTION), torch.tensor(found.tokens)))
    with torch.inference_mode():
        logits = reference.engine.verifier.session().forward(ids[:-1], rows=len(found.tokens))
    laws = Sampling(reference.engine.verifier_sampling.temperature).law(logits[:, : reference.engine.vocab_size])
    expected = laws.gather(1, ids[-len(found.tokens) :, None]).squeeze(1).tolist()
    at = 0
    for round_ in found.rounds:
        assert round_.trace is not None
        kept = min(round_.accepted, round_.emitted)
        assert round_.trace.p_y[:kept] == pytest.approx(expected[at : at + kept], abs=ROUNDING)
        at += round_.emitted
    assert at == len(found.tokens) > 0


def test_the_parts_of_the_rounds_are_positive_and_no_longer_than_the_whole(pair: Pair) -> None:
    began = time.perf_counter()
    found = pair.generate(QUESTION, steps=2, max_new_tokens=48)
    assert all(min(r.draft_s, r.verify_s, r.accept_s) > 0 for r in found.rounds)
    assert 0 < found.prefill_s + found.decode_s <= time.perf_counter() - began


def test_a_seed_gives_the_same_text_again(pair: Pair) -> None:
    one, other = (pair.generate(QUESTION, steps=2, max_new_tokens=48, seed=5).tokens for _ in range(2))
    assert one == other


def test_forwards_use_no_more_than_the_device_has(pair: Pair) -> None:
    """Shares of two measured ceilings; a forward from cache may pass the copy rate of main memory, but not tenfold."""
    verifier = pair.engine.verifier
    rates = device_rates(verifier.device, torch.float32)
    found = pair.generate(QUESTION, steps=1, block_size=32, max_new_tokens=48)
    use = verifier_use(pair, rates, 32, 64, min(r.verify_s for r in found.rounds))
    assert 0 < use.matrix_share < 2
    assert 0 < use.bandwidth_share < 10
    assert use.flops > 0


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
def test_a_round_waits_once_for_the_device_and_then_copies() -> None:
    """Synchronising calls a round beyond the one that learns what was accepted: copies of tokens, and the events."""
    gpu = load_pair("arith-masked", device="cuda")
    gpu.generate(QUESTION, steps=2, max_new_tokens=48)  # first calls load kernels
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found: Generation = gpu.generate(QUESTION, steps=2, max_new_tokens=48)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    waits = sum("synchronizing CUDA operation" in str(warning.message) for warning in said)
    assert waits <= 6 * len(found.rounds) + 4
