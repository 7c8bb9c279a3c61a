"""What the drafters of a large vocabulary learn from: sampled normalisers, and blocks cut out of a text."""

from __future__ import annotations

import torch
from torch import Tensor

from training.anchored_blocks import blocks_mask, cut_blocks, text_and_blocks_mask
from training.sampled_softmax import COMMON, SAMPLED, SampledHead

MASK = 99


WANTED = torch.arange(50)


def many_tokens(size: int) -> Tensor:
    """A text that holds every id once."""
    return torch.arange(size)


def test_a_sampled_normaliser_is_unbiased() -> None:
    """Mean of Z over many samples against the whole vocabulary's, within five standard errors."""
    torch.manual_seed(0)
    size = 2 * (SAMPLED + COMMON)
    weight, hidden = torch.randn(size, 8), torch.randn(1, 8) * 0.5
    head = SampledHead(weight, many_tokens(size), temperature=1.0)
    whole = (hidden @ weight.T).exp().sum()
    generator, found = torch.Generator().manual_seed(1), []
    for _ in range(200):
        head.resample(WANTED, generator)
        column = hidden @ head.rows[0]
        found.append(column.exp() / head.log_law(hidden)[0, 0].exp())
    z = torch.stack(found)
    assert z.std() > 0
    assert abs(z.mean() - whole) < 5 * z.std() / len(z) ** 0.5


def test_a_step_holds_its_own_tokens_and_the_common_ones_and_none_that_the_text_lacks() -> None:
    text = torch.cat((many_tokens(3 * SAMPLED), torch.arange(100, 100 + COMMON)))
    head = SampledHead(torch.randn(4 * SAMPLED, 2), text, temperature=1.0)
    head.resample(WANTED, torch.Generator().manual_seed(0))
    assert torch.isin(WANTED, head.ids).all()
    assert torch.isin(torch.arange(100, 100 + COMMON), head.ids).all()
    assert len(head.ids) == len(head.ids.unique()) == len(WANTED) + COMMON + SAMPLED
    assert head.ids.max() < 3 * SAMPLED


def test_a_drafter_that_equals_the_verifier_has_no_loss_and_full_overlap() -> None:
    torch.manual_seed(0)
    head = SampledHead(torch.randn(4 * SAMPLED, 8), many_tokens(4 * SAMPLED), temperature=0.7)
    head.resample(WANTED, torch.Generator().manual_seed(1))
    hidden = torch.randn(6, 8)
    assert abs(float(head.divergence(hidden, hidden, torch.ones(6)))) < 1e-4
    torch.testing.assert_close(head.overlap(hidden, hidden), torch.ones(6))
    assert float(head.divergence(hidden, -hidden, torch.ones(6))) > 0.1


def test_surprise_is_minus_the_log_law_of_the_tokens_in_the_sample() -> None:
    torch.manual_seed(0)
    head = SampledHead(torch.randn(4 * SAMPLED, 8), many_tokens(3 * SAMPLED), temperature=1.0)
    head.resample(WANTED, torch.Generator().manual_seed(1))
    hidden, tokens = torch.randn(2, 8), torch.tensor([7, 4 * SAMPLED - 1])  # the second is in no text
    law = head.log_law(hidden)
    column = int((head.ids == 7).nonzero())
    torch.testing.assert_close(head.surprise(hidden, tokens, torch.ones(2)), -law[0, column])


def test_blocks_show_the_anchor_and_hide_what_they_ask_for() -> None:
    ids = torch.arange(20)
    generator = torch.Generator().manual_seed(0)
    for one_step in (True, False):
        blocks = cut_blocks(ids, 8, 12, 4, MASK, one_step, generator)
        assert blocks.anchors.min() >= 7
        assert torch.equal(blocks.inputs[:, 0], ids[blocks.anchors])
        inside = blocks.targets() < len(ids)
        shown = blocks.inputs[:, 1:]
        assert (shown[blocks.hidden] == MASK).all()
        revealed = inside & ~blocks.hidden
        assert torch.equal(shown[revealed], blocks.targets()[revealed])
        assert not blocks.hidden[~inside].any()
        if one_step:
            assert torch.equal(blocks.hidden, inside)


def test_a_soft_target_needs_that_nothing_to_the_right_is_shown() -> None:
    blocks = cut_blocks(torch.arange(200), 8, 150, 6, MASK, False, torch.Generator().manual_seed(0))
    shown = blocks.inputs[:, 1:] != MASK
    for hidden, row, soft in zip(blocks.hidden, shown, blocks.soft, strict=True):
        if soft and hidden.any():
            assert not row[int(hidden.nonzero()[0]) :].any()


def test_a_block_sees_the_text_before_its_anchor_and_itself() -> None:
    blocks = cut_blocks(torch.arange(10), 4, 2, 3, MASK, True, torch.Generator().manual_seed(0))
    mask = text_and_blocks_mask(9, blocks)
    assert torch.equal(mask[:9, :9], torch.ones(9, 9, dtype=torch.bool).tril())
    assert not mask[:9, 9:].any()
    rows = blocks_mask(9, blocks)
    for row in range(8):
        anchor, own = int(blocks.anchors[row // 4]), row // 4
        assert rows[row, :9].tolist() == [j < anchor for j in range(9)]
        assert rows[row, 9:].tolist() == [j // 4 == own for j in range(8)]
