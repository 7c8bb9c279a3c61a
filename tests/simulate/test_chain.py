"""Chains: exact sums, the same process drawn, and the renewal equation agree with each other and with theory."""

from __future__ import annotations

import numpy as np
import pytest
from toy_cases import Case
from toy_world import World, study

from specfrontier.simulate import Costs, Effort, Point, Recorded
from specfrontier.simulate.acceptance import rates
from specfrontier.simulate.chain import Layout, chain
from specfrontier.simulate.events import simulate_generations
from specfrontier.simulate.line import Line, Slots
from specfrontier.simulate.predictors.replay import replay_totals
from specfrontier.simulate.renewal import Texts, start_rate, text_rounds
from specfrontier.simulate.walks import Walks
from specfrontier.theory.rules import Linear, Lossless
from specfrontier.theory.tokens import expected_rounds, token_law


@pytest.mark.parametrize("length", [1, 7, 40])
def test_renewal_counts_rounds_as_theory_does(length: int) -> None:
    law = token_law([0.9, 0.7, 0.5, 0.5])
    texts = Texts.of([length], 10.0)
    assert text_rounds(start_rate(law, length), texts) == pytest.approx(expected_rounds(law, length), rel=1e-12)


def test_full_leniency_takes_the_fewest_rounds(hard: Case) -> None:
    traces = Recorded.from_tables(hard.study.rounds, hard.study.configurations).lossless(Effort(1), 16)
    run = chain(traces, Layout.of(traces, 16, 64), rates(Linear(1.0), traces), 16)
    # Every token of a block is kept and one follows: ceil(T / 17), more only where a wrong end cut a draft short.
    assert run.starts.sum(axis=1) == pytest.approx(np.ceil(traces.output_tokens / 17), abs=1e-9)


def test_what_rounds_emit_adds_up_to_the_text(hard: Case) -> None:
    """Each round emits its accepted tokens and one more, except where the text ended inside it."""
    traces = Recorded.from_tables(hard.study.rounds, hard.study.configurations).lossless(Effort(1), 16)
    run = chain(traces, Layout.of(traces, 16, 64), rates(Lossless(), traces), 16)
    emitted = (run.starts * (run.accepted + 1)).sum(axis=1)
    assert np.all(emitted >= traces.output_tokens - 1e-9)
    assert np.all(emitted <= traces.output_tokens + 1 + 1e-9)


def test_drawn_generations_agree_with_exact_sums() -> None:
    """200,000 rounds: standard errors are below 0.5 %, and five of them are allowed (two-sided error under 1e-6).

    In a world with wrong end tokens, so that leniency ends texts early too.
    """
    hasty = study(World(depth=0.05, place=0.5, common=0.4, drift=0.5, early_end=0.03), (1,), 16)
    traces = Recorded.from_tables(hasty.rounds, hasty.configurations).lossless(Effort(1), 16)
    layout, costs = Layout.of(traces, 8, 64), Costs.from_profile(hasty.profile)
    rule, point = rates(Linear(0.5), traces), Point(Effort(1), "linear:0.5", 8)
    exact = replay_totals(traces, layout, rule, point, costs)
    line = Line.of(traces, layout)
    walks, slots = Walks.of(traces, layout, line, rule), Slots.of(line, layout, costs, Effort(1), 8)
    drawn = simulate_generations(walks, slots, rounds=200_000, generator=np.random.default_rng(0))
    assert 100_000 < drawn.total_rounds < 400_000
    found = drawn.totals()
    for name in ("tokens", "rounds", "accepted", "visited", "deviation", "decode_s"):
        assert getattr(found, name).sum() == pytest.approx(getattr(exact, name).sum(), rel=0.025), name
    low, middle, high = drawn.latency(np.array([0.1, 0.5, 0.9]), costs.prefill_s)
    assert costs.prefill_s < low < middle < high


def test_a_shorter_block_is_never_accepted_further(hard: Case) -> None:
    traces = Recorded.from_tables(hard.study.rounds, hard.study.configurations).lossless(Effort(1), 16)
    rule = rates(Linear(0.3), traces)
    rounds = [chain(traces, Layout.of(traces, b, 64), rule, b).starts.sum() for b in (2, 4, 8, 16)]
    assert rounds == sorted(rounds, reverse=True)
