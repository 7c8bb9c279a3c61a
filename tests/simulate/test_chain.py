"""Chains: exact sums, the same process drawn, and the renewal equation agree with each other and with theory."""

from __future__ import annotations

import numpy as np
import pytest
from toy_cases import Case
from toy_world import World, study

from specfrontier.simulate import Costs, Effort, Recorded
from specfrontier.simulate.acceptance import rates_by_run
from specfrontier.simulate.chain import Chain, chain
from specfrontier.simulate.events import simulate_generations
from specfrontier.simulate.grid import linear_leniency
from specfrontier.simulate.layout import Layout
from specfrontier.simulate.line import Line, Slots
from specfrontier.simulate.predictors.replay import replay_totals
from specfrontier.simulate.renewal import Texts, start_rate, text_rounds
from specfrontier.simulate.traces import Traces
from specfrontier.simulate.walks import Walks
from specfrontier.theory.rules import Linear, Lossless
from specfrontier.theory.rules.schedule import Leniency, as_schedule, leniency_from_spec
from specfrontier.theory.tokens import expected_rounds, token_law


def run_chain(traces: Traces, leniency: Leniency, block_size: int) -> Chain:
    """The chain of `leniency` through recorded rounds."""
    layout = Layout.of(traces, block_size, 64)
    line = Line.of(traces, layout)
    walks = Walks.of(traces, line, rates_by_run(leniency, traces))
    return chain(walks, Slots.of(line, layout, block_size))


@pytest.mark.parametrize("length", [1, 7, 40])
def test_renewal_counts_rounds_as_theory_does(length: int) -> None:
    law = token_law([0.9, 0.7, 0.5, 0.5])
    texts = Texts.of([length], 10.0)
    assert text_rounds(start_rate(law, length), texts) == pytest.approx(expected_rounds(law, length), rel=1e-12)


def test_full_leniency_takes_the_fewest_rounds(hard: Case) -> None:
    traces = Recorded.from_tables(hard.study.rounds, hard.study.configurations).lossless(Effort(1), 16)
    run = run_chain(traces, Linear(1.0), 16)
    # Every token of a block is kept and one follows: ceil(T / 17), more only where a wrong end cut a draft short.
    assert run.starts.sum(axis=1) == pytest.approx(np.ceil(traces.output_tokens / 17), abs=1e-9)


def test_what_rounds_emit_adds_up_to_the_text(hard: Case) -> None:
    """Each round emits its accepted tokens and one more, except where the text ended inside it."""
    traces = Recorded.from_tables(hard.study.rounds, hard.study.configurations).lossless(Effort(1), 16)
    run = run_chain(traces, Lossless(), 16)
    emitted = (run.starts * (run.accepted + 1)).sum(axis=1)
    assert np.all(emitted >= traces.output_tokens - 1e-9)
    assert np.all(emitted <= traces.output_tokens + 1 + 1e-9)


def rounds_one_at_a_time(traces: Traces, g: int, spec: str, block_size: int) -> float:
    """Expected rounds of text g under linear rules, every start followed position by position as chains are defined."""
    total, row_at = traces.output_tokens[g], {int(traces.start[r]): r for r in np.flatnonzero(traces.generation == g)}
    rules = [as_schedule(leniency_from_spec(spec)).rule_at(k) for k in range(block_size)]
    visited = [(s + k, r, k) for s, r in row_at.items() for k in range(min(traces.accepted[r] + 1, traces.length[r]))]
    tv = {place: traces.tv[r, k] for place, r, k in visited if place < total}
    mean = np.mean(list(tv.values()))  # stands for places of bonus tokens

    def keep(t: int, k: int, base: int | None) -> float:
        """Acceptance at place t of the k-th position of a round: of the draft from `base`, or of the text."""
        if k >= block_size or t >= total:
            return 0.0
        if base is None:
            return float(1 - (1 - linear_leniency(rules[k])) * tv.get(t, mean))
        row, at = row_at[base], t - base
        if at >= traces.length[row]:
            return 0.0
        return float(rules[k].acceptance_at(traces.p_y[row, at], traces.q_y[row, at]))

    starts = np.zeros(total + block_size + 1)
    starts[0] = 1.0
    for t in range(total):
        reach, base = starts[t], None
        for k in range(block_size + 1):
            base = t + k if base is None and t + k in row_at else base
            kept = keep(t + k, k, base)
            starts[t + k + 1] += reach * (1 - kept)
            reach *= kept
    return float(starts[:total].sum())


@pytest.mark.parametrize("spec", ["linear:0.4", "linear:1.0@1/linear:0.2@2-3/lossless"])
def test_leniency_follows_the_position_in_the_block(hard: Case, spec: str) -> None:
    traces = Recorded.from_tables(hard.study.rounds, hard.study.configurations).lossless(Effort(1), 16)
    found = run_chain(traces, leniency_from_spec(spec), 5).starts.sum(axis=1)
    for g in range(3):
        assert found[g] == pytest.approx(rounds_one_at_a_time(traces, g, spec, 5), rel=1e-9)


@pytest.mark.parametrize("spec", ["linear:0.5", "linear:1.0@1-2/lossless@3-4/clip:2.0"])
def test_drawn_generations_agree_with_exact_sums(spec: str) -> None:
    """200,000 rounds: standard errors are below 0.5 %, and five of them are allowed (two-sided error under 1e-6).

    In a world with wrong end tokens, so that leniency ends texts early too.
    """
    hasty = study(World(depth=0.05, place=0.5, common=0.4, drift=0.5, early_end=0.03), (1,), 16)
    traces = Recorded.from_tables(hasty.rounds, hasty.configurations).lossless(Effort(1), 16)
    layout, costs = Layout.of(traces, 8, 64), Costs.from_profile(hasty.profile)
    line = Line.of(traces, layout)
    walks = Walks.of(traces, line, rates_by_run(leniency_from_spec(spec), traces))
    slots = Slots.of(line, layout, 8, layout.round_s(costs, Effort(1)))
    exact = replay_totals(walks, slots)
    drawn = simulate_generations(walks, slots, rounds=200_000, generator=np.random.default_rng(0))
    assert 100_000 < drawn.total_rounds < 400_000
    found = drawn.totals()
    for name in ("tokens", "rounds", "accepted", "visited", "deviation", "decode_s"):
        assert getattr(found, name).sum() == pytest.approx(getattr(exact, name).sum(), rel=0.025), name
    low, middle, high = drawn.latency(np.array([0.1, 0.5, 0.9]), costs.prefill_s)
    assert costs.prefill_s < low < middle < high


def test_a_shorter_block_is_never_accepted_further(hard: Case) -> None:
    traces = Recorded.from_tables(hard.study.rounds, hard.study.configurations).lossless(Effort(1), 16)
    rounds = [run_chain(traces, Linear(0.3), b).starts.sum() for b in (2, 4, 8, 16)]
    assert rounds == sorted(rounds, reverse=True)
