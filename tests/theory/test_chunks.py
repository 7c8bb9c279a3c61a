"""The best chunk schedule of prefix-ordered unmasking, against all compositions of the block."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from specfrontier.theory.chunks import best_chunk_steps, best_chunks, chunk_expected_tokens
from specfrontier.theory.exactness import exact_prefix_length
from specfrontier.theory.tokens import expected_tokens

offset_rates = st.lists(st.floats(0, 1), min_size=1, max_size=7)


def compositions(total, parts):
    """Every way to write ``total`` as at most ``parts`` positive integers, in order."""
    if total == 0:
        yield ()
    elif parts:
        for first in range(1, total + 1):
            for rest in compositions(total - first, parts - 1):
                yield (first, *rest)


@given(offset_rates, st.integers(1, 5))
@settings(max_examples=60)
def test_best_chunks_beats_every_composition(rates, steps):
    plan = best_chunks(rates, steps)
    brute = max(chunk_expected_tokens(sizes, rates) for sizes in compositions(len(rates), steps))
    assert plan.expected_tokens == pytest.approx(brute, rel=1e-12)
    assert chunk_expected_tokens(plan.sizes, rates) == pytest.approx(plan.expected_tokens, rel=1e-12)
    assert plan.steps <= steps


@given(st.integers(0, 10_000), st.integers(1, 4))
@settings(max_examples=30)
def test_rates_may_depend_on_the_start(seed, steps):
    rates = np.random.default_rng(seed).random((6, 6))
    brute = max(chunk_expected_tokens(sizes, rates) for sizes in compositions(6, steps))
    assert best_chunks(rates, steps).expected_tokens == pytest.approx(brute, rel=1e-12)


@given(offset_rates, st.integers(1, 5))
def test_sizes_grow_when_rates_fall_along_the_chunk(rates, steps):
    """If rates do not increase with the offset, small chunks first loses nothing (an index rule)."""
    rates = sorted(rates, reverse=True)
    plan = best_chunks(rates, steps)
    ascending = chunk_expected_tokens(sorted(plan.sizes), rates)
    assert ascending == pytest.approx(plan.expected_tokens, rel=1e-12)


@given(offset_rates)
def test_more_steps_never_hurt(rates):
    values = [best_chunks(rates, steps).expected_tokens for steps in range(1, len(rates) + 1)]
    assert (np.diff(values) >= -1e-12).all()


@given(st.floats(0, 1), st.integers(1, 12))
def test_equal_rates_need_one_step(alpha, block_size):
    plan = best_chunks(np.full(block_size, alpha), 4)
    assert plan.expected_tokens == pytest.approx(expected_tokens(alpha, block_size))
    assert plan.sizes == (block_size,)


def test_a_block_of_single_steps_keeps_the_first_rate():
    plan = best_chunks([0.9, 0.2, 0.1], 3)
    assert plan.sizes == (1, 1, 1)
    assert plan.expected_tokens == pytest.approx(expected_tokens(0.9, 3))


def test_plans_are_certified_on_the_whole_block():
    plan = best_chunks(0.95 * 0.9 ** np.arange(32), 4)
    assert sum(plan.sizes) == 32
    assert exact_prefix_length(plan.unmask_steps) == 32
    assert list(plan.sizes) == sorted(plan.sizes)


def test_costs_limit_the_steps():
    rates = 0.9 * 0.8 ** np.arange(16)
    free = best_chunk_steps(rates, [0.0] * 6, 1.0)
    dear = best_chunk_steps(rates, [1.0 * K for K in range(1, 7)], 0.1)
    assert free.steps == 6
    assert dear.steps == 1
    middle = best_chunk_steps(rates, [0.05 * K for K in range(1, 7)], 0.3)
    rate = [best_chunks(rates, K).expected_tokens / (0.05 * K + 0.3) for K in range(1, 7)]
    assert middle.steps == 1 + int(np.argmax(rate))


def test_long_blocks_are_quick():
    assert best_chunks(0.98 ** np.arange(512), 8).steps == 8


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: best_chunks([0.5, 1.5], 2), "rates"),
        (lambda: best_chunks([], 2), "rates"),
        (lambda: best_chunks(np.full((2, 3), 0.5), 2), "rates"),
        (lambda: best_chunks([0.5], 0), "steps"),
        (lambda: chunk_expected_tokens([1, 2], [0.5, 0.5]), "sizes"),
        (lambda: chunk_expected_tokens([0, 2], [0.5, 0.5]), "sizes"),
        (lambda: best_chunk_steps([0.5], [-1.0], 1.0), "draft_costs"),
        (lambda: best_chunk_steps([0.5], [], 1.0), "draft_costs"),
    ],
)
def test_invalid_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()
