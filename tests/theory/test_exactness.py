"""The certificate of the block form of Proposition 2: which leading positions satisfy the order condition."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from specfrontier.theory.exactness import certify_block, exact_prefix_length, order_condition

step_rows = st.lists(st.integers(0, 5), min_size=1, max_size=8)


def prefix_length_by_definition(steps):
    """Position k is safe if no earlier position was unmasked after it; count until the first unsafe one."""
    for k in range(len(steps)):
        if any(steps[j] > steps[k] for j in range(k)):
            return k
    return len(steps)


@given(step_rows)
def test_prefix_length_is_the_definition(steps):
    assert exact_prefix_length(steps) == prefix_length_by_definition(steps)


@given(step_rows)
def test_prefix_length_depends_on_order_only(steps):
    assert exact_prefix_length(steps) == exact_prefix_length([3 * s - 7 for s in steps])


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8).map(sorted))
def test_unmasking_from_the_left_certifies_the_whole_block(steps):
    assert exact_prefix_length(steps) == len(steps)


@pytest.mark.parametrize(
    ("steps", "length"),
    [
        ([0, 0, 0], 3),  # one step, or uniform diffusion's last redraw
        ([0, 1, 2], 3),
        ([2, 1, 0], 1),
        ([1, 0], 1),
        ([0, 2, 1, 2], 2),
        ([7], 1),
        ([], 0),
    ],
)
def test_prefix_length_examples(steps, length):
    assert exact_prefix_length(steps) == length


def test_prefix_length_is_batched():
    steps = np.random.default_rng(0).integers(0, 4, size=(3, 5, 6))
    lengths = exact_prefix_length(steps)
    assert lengths.shape == (3, 5)
    assert lengths.dtype == np.int64
    flat = [prefix_length_by_definition(row) for row in steps.reshape(-1, 6).tolist()]
    assert lengths.ravel().tolist() == flat


def test_order_condition_marks_each_position():
    assert order_condition([0, 2, 1, 2]).tolist() == [True, True, False, True]


def test_certificate_of_a_good_block():
    certificate = certify_block([[0, 0, 1], [1, 0, 1]])
    assert certificate.block_size == 3
    assert certificate.prefix_length.tolist() == [3, 1]
    assert certificate.exact.tolist() == [True, False]


def test_selection_by_the_drawn_token_certifies_nothing():
    certificate = certify_block([0, 0, 1], selects_on_draws=True)
    assert certificate.prefix_length == 0
    assert certificate.order_holds
    assert not certificate.selection_holds
    assert not certificate.exact


@pytest.mark.parametrize("steps", [3, [0.0, 1.0], [True, False]])
def test_steps_that_are_not_integer_rows_are_refused(steps):
    with pytest.raises(ValueError, match="unmask_steps"):
        exact_prefix_length(steps)
