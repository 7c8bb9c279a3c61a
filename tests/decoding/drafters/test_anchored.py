"""Anchored block diffusion: what a block sees, that the cache changes nothing, and the draft vocabulary."""

from __future__ import annotations

import torch
from tiny_families import BLOCK, MASK, V, anchored

from specfrontier.decoding.drafters.anchored import anchored_mask
from specfrontier.decoding.drafters.base import DraftRequest, Effort
from specfrontier.decoding.sampling import Sampling

TEXT = torch.tensor([1, 2, 4, 0, 2, 1, 1, 4, 0, 2])


def request(prefix: torch.Tensor, steps: int) -> DraftRequest:
    return DraftRequest(prefix, BLOCK, Effort(steps), torch.Generator().manual_seed(3), exact=True)


def test_text_is_causal_and_the_block_sees_everything() -> None:
    mask = anchored_mask(held=2, new=2, size=3, device=torch.device("cpu"))
    assert mask.tolist() == [
        [True, True, True, False, False, False, False],
        [True, True, True, True, False, False, False],
        *[[True] * 7] * 3,
    ]


def test_a_cached_prefix_gives_the_same_draft_as_a_fresh_one() -> None:
    """After any number of earlier drafts, whose blocks must leave no trace in the cache."""
    drafter = anchored(Sampling(), order="entropy")
    with torch.inference_mode():
        kept = drafter.session()
        for length in (3, 4, 7, 10):
            prefix = TEXT[:length]
            one, other = kept.draft(request(prefix, 3)), drafter.session().draft(request(prefix, 3))
            assert torch.equal(one.tokens, other.tokens)
            assert one.laws is not None
            assert other.laws is not None
            torch.testing.assert_close(one.laws, other.laws)


def test_the_first_row_is_the_anchors_and_looks_at_the_whole_block() -> None:
    """One step's laws are those of one forward over prefix and masks under the written mask."""
    drafter = anchored(Sampling(), order="prefix")
    ids = torch.cat((TEXT[:6], torch.full((BLOCK,), MASK)))
    with torch.inference_mode():
        logits = drafter.network(ids[None], mask=anchored_mask(0, 5, BLOCK + 1, ids.device))[0, 5:-1, :V]
        draft = drafter.session().draft(request(TEXT[:6], 1))
    assert draft.laws is not None
    torch.testing.assert_close(draft.laws, logits.softmax(-1))


def test_tokens_outside_the_draft_vocabulary_have_no_chance() -> None:
    drafter = anchored(Sampling(), order="confidence")
    with torch.inference_mode():
        draft = drafter.session().draft(request(TEXT, 2))
    assert draft.laws is not None
    assert (draft.laws[:, 3] == 0).all()
    torch.testing.assert_close(draft.laws.sum(-1), torch.ones(BLOCK))
