"""Algorithm 1 on the embedded pairs: what must hold for every prompt, whatever the weights."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import islice

import pytest
import torch

from specfrontier.decoding import Effort, Generation, Pair, Sampling, Settings, load_pair
from specfrontier.errors import InputError
from specfrontier.profiling.tasks.arith_problems import problems
from specfrontier.theory.exactness import exact_prefix_length
from specfrontier.theory.rules import Linear, Lossless

PROMPTS = [p.question for p in islice(problems("test", 11), 3)]
PAIRS = {"arith-masked": (1, 2, 4), "arith-uniform": (1, 2, 4), "arith-ar": (1,)}
CASES = [(name, steps) for name, efforts in PAIRS.items() for steps in efforts]


@cache
def pair_named(name: str) -> Pair:
    return load_pair(name, device="cpu")


def greedy(pair: Pair) -> Pair:
    """The same pair with a verifier that always takes its most likely token."""
    return replace(pair, engine=replace(pair.engine, verifier_sampling=Sampling(temperature=0)))


@pytest.mark.parametrize(("name", "steps"), CASES)
@pytest.mark.parametrize("verification", ["paper", "exact"])
def test_greedy_lossless_decoding_equals_the_verifiers_greedy_decoding(
    name: str, steps: int, verification: str
) -> None:
    pair = greedy(pair_named(name))
    for prompt in PROMPTS:
        ours = pair.generate(prompt, steps=steps, verification=verification)  # type: ignore[arg-type]
        assert ours.tokens == pair.autoregressive(prompt).tokens


@pytest.mark.parametrize("name", PAIRS)
def test_full_leniency_keeps_every_drafted_token(name: str) -> None:
    for prompt in PROMPTS:
        out = pair_named(name).generate(prompt, steps=1, rule=Linear(1.0))
        assert all(r.accepted == r.verified == r.drafted for r in out.rounds)


def generations(name: str) -> list[Generation]:
    pair = pair_named(name)
    return [pair.generate(p, steps=1, rule=Linear(0.5), trace=True, seed=s) for p in PROMPTS for s in range(2)]


@pytest.mark.parametrize("name", PAIRS)
def test_records_add_up(name: str) -> None:
    end = pair_named(name).engine.end_ids
    for out in generations(name):
        assert sum(r.emitted for r in out.rounds) == len(out.tokens) <= 64
        assert not any(t in end for t in out.tokens[:-1])
        assert out.finished == (out.tokens[-1] in end)
        context = out.prompt_tokens
        for r in out.rounds:
            assert r.context == context
            context += r.emitted
            assert 0 <= r.accepted <= r.verified <= r.drafted <= r.requested
            assert r.emitted <= r.accepted + 1
            assert r.trace is not None
            assert len(r.trace.tv) == r.verified


@pytest.mark.parametrize("name", PAIRS)
def test_the_seed_decides_everything(name: str) -> None:
    pair = pair_named(name)
    first, again = (pair.generate(PROMPTS[0], steps=1, rule=Linear(0.5), seed=3) for _ in range(2))
    assert first.tokens == again.tokens
    assert len({pair.generate(PROMPTS[0], steps=1, seed=s).tokens for s in range(6)}) > 1


def test_tracing_does_not_change_what_is_generated() -> None:
    pair = pair_named("arith-masked")
    runs = [pair.generate(PROMPTS[1], steps=2, rule=Linear(0.3), seed=5, trace=trace) for trace in (False, True)]
    assert runs[0].tokens == runs[1].tokens


def test_exact_verification_stops_at_the_first_order_violation() -> None:
    pair = pair_named("arith-masked")
    cut = 0
    for seed in range(4):
        out = pair.generate(PROMPTS[seed % 3], steps=4, verification="exact", trace=True, seed=seed)
        for r in out.rounds:
            assert r.trace is not None
            assert int(exact_prefix_length(list(r.trace.steps))) == r.verified
            cut += r.verified < r.drafted
    assert cut > 0


def test_prefix_order_needs_no_cut() -> None:
    pair = load_pair("arith-masked", device="cpu", options={"order": "prefix", "schedule": "doubling"})
    out = pair.generate(PROMPTS[0], steps=4, verification="exact", trace=True)
    assert all(r.verified == r.drafted for r in out.rounds)


def test_the_mask_is_never_proposed() -> None:
    for name in ("arith-masked", "arith-uniform"):
        pair = pair_named(name)
        mask = pair.tokenizer.mask_token_id
        out = pair.generate(PROMPTS[0], steps=1, rule=Linear(1.0), block_size=64)
        assert mask not in out.tokens


def test_drafter_alone_runs_block_by_block() -> None:
    settings = Settings(Effort(steps=2), Lossless(), block_size=16, max_new_tokens=40)
    out = pair_named("arith-masked").drafter_alone(PROMPTS[0], settings)
    assert out.finished or len(out.tokens) == 40
    assert all(r.verify_s == 0 and r.forwards == 2 for r in out.rounds)


def test_a_one_token_prompt_works() -> None:
    out = pair_named("arith-masked").generate("Tom", steps=1, max_new_tokens=5)
    assert out.prompt_tokens == 1
    assert 1 <= len(out.tokens) <= 5


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"steps": 0}, "K"),
        ({"steps": 1, "block_size": 0}, "block_size"),
        ({"steps": 1, "max_new_tokens": 0}, "max_new_tokens"),
        ({"threshold": 1.5}, "tau"),
        ({"steps": 1, "verification": "fast"}, "verification"),
    ],
)
def test_bad_dials_are_named(arguments: dict, named: str) -> None:
    with pytest.raises(InputError, match=named):
        pair_named("arith-masked").generate(PROMPTS[0], **arguments)


@pytest.mark.parametrize("prompt", ["", "   \n"])
def test_an_empty_prompt_is_refused(prompt: str) -> None:
    with pytest.raises(InputError, match="empty"):
        pair_named("arith-masked").generate(prompt, steps=1)


def test_autoregressive_drafter_refuses_more_steps() -> None:
    with pytest.raises(InputError, match="K=1"):
        pair_named("arith-ar").generate(PROMPTS[0], steps=2)


def test_verifier_cache_matches_a_fresh_forward() -> None:
    """Rows after several rollbacks equal those of one forward over the whole text (float32 rounding apart)."""
    model = pair_named("arith-masked").engine.verifier
    ids = pair_named("arith-masked").encode(PROMPTS[0] + " " + PROMPTS[1])
    with torch.inference_mode():
        session = model.session()
        session.forward(ids[:5])
        session.rollback(2)
        session.forward(ids[3:12])
        session.rollback(4)
        rows = session.forward(ids[8:])
        session.rollback(0)
        fresh = model.session().forward(ids)[8:]
    assert torch.allclose(rows, fresh, atol=2e-4)


def test_the_likelihood_of_an_output_is_the_product_of_its_tokens_laws() -> None:
    pair = pair_named("arith-masked")
    out = pair.generate(PROMPTS[0], steps=2, rule=Linear(0.5), max_new_tokens=12)
    session, total = pair.engine.verifier.session(), 0.0
    feed = pair.encode(PROMPTS[0])
    with torch.inference_mode():
        for token in out.tokens:
            law = session.forward(feed)[-1, : pair.engine.vocab_size].double().softmax(-1)
            session.rollback(0)
            total += float(law[token].log())
            feed = torch.tensor([token])
    assert pair.log_likelihood(PROMPTS[0], out.tokens) == pytest.approx(total, abs=1e-3)
