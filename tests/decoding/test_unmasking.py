"""Quotas of denoising steps, and which choices of positions exist."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from specfrontier.decoding.drafters.masked import Unmasking
from specfrontier.decoding.drafters.unmasking import SCHEDULES, Order, quotas
from specfrontier.errors import InputError


@given(st.sampled_from(sorted(SCHEDULES)), st.integers(1, 300), st.data())
def test_quotas_add_up_to_the_block(schedule: str, block_size: int, data: st.DataObject) -> None:
    steps = data.draw(st.integers(1, block_size))
    plan = quotas(schedule, block_size, steps)
    assert len(plan) == steps
    assert sum(plan) == block_size
    assert min(plan) >= 0


@pytest.mark.parametrize(("steps", "plan"), [(2, [7, 9]), (4, [3, 4, 4, 5])])
def test_dreams_schedule_on_sixteen_masks(steps: int, plan: list[int]) -> None:
    """Seen in the public reference (dllm, commit ca176752)."""
    assert quotas("dream", 16, steps) == plan


def test_dreams_schedule_wastes_its_first_of_sixteen_steps() -> None:
    plan = quotas("dream", 16, 16)
    assert plan == [0, *[1] * 14, 2]


def test_chunks_can_be_given() -> None:
    assert quotas([2, 2, 4], 16, 4) == [2, 2, 4, 8]
    assert quotas([2, 2, 4], 3, 4) == [2, 1, 0, 0]


def test_a_list_shorter_than_the_steps_leaves_the_last_ones_idle() -> None:
    assert quotas([2, 2], 10, 5) == [2, 2, 6, 0, 0]


@pytest.mark.parametrize("schedule", [[0, 2], [-1], [1.5]])
def test_chunks_that_are_no_sizes_are_refused(schedule: list) -> None:
    with pytest.raises(InputError, match="chunk sizes"):
        quotas(schedule, 8, 3)


def test_unknown_schedule_is_refused() -> None:
    with pytest.raises(InputError, match="cosine"):
        quotas("cosine", 8, 2)


@pytest.mark.parametrize("order", ["entropy", "margin", "random", "prefix"])
def test_selection_by_the_drawn_token_knows_no_order_but_confidence(order: Order) -> None:
    with pytest.raises(InputError, match=f"drawn token's confidence, not by {order}; give the order confidence"):
        Unmasking(order=order, select="drawn")
    assert Unmasking(order="confidence", select="drawn").select == "drawn"
