"""Drafters trained on top of a verifier: their checkpoints hold neither embedding nor head."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from family_checkpoints import IDS, SHARING, sharing
from tiny_checkpoints import pair_file, qwen3_checkpoint
from torch import nn

from specfrontier.decoding import load_pair
from specfrontier.decoding.drafters.base import DraftRequest, Effort
from specfrontier.decoding.networks.reduced_head import ReducedHead
from specfrontier.errors import InputError


@pytest.mark.parametrize("family", SHARING)
def test_only_the_draft_vocabulary_is_proposed(family: str, tmp_path: Path) -> None:
    drafter = sharing(tmp_path / "drafter", family)
    engine = load_pair(pair_file(tmp_path, family, drafter), device="cpu").engine
    prefix, generator = torch.tensor([5, 9, 7, 2]), torch.Generator().manual_seed(0)
    with torch.inference_mode():
        verifier = engine.verifier.session()
        verifier.forward(prefix[:-1], rows=1)
        request = DraftRequest(prefix, 3, Effort(1), generator, features=verifier.features)
        draft = engine.drafter.session().draft(request)
    assert draft.laws is not None
    proposed = draft.laws.sum(0).nonzero().flatten()
    assert set(proposed.tolist()) <= set(IDS.tolist())
    torch.testing.assert_close(draft.laws.sum(-1), torch.ones(3))


@pytest.mark.parametrize("family", ["autoregressive", "anchored-diffusion"])
def test_the_embedding_is_the_verifiers_own_memory(family: str, tmp_path: Path) -> None:
    drafter = sharing(tmp_path / "drafter", family, ids=IDS if family == "anchored-diffusion" else None)
    pair = load_pair(pair_file(tmp_path, family, drafter), device="cpu")
    ours: Any = pair.engine.drafter
    network = ours.model.network if family == "autoregressive" else ours.network
    weight = network.model.embed_tokens.weight
    assert weight.data_ptr() == pair.engine.verifier.network.get_input_embeddings().weight.data_ptr()


def test_a_reduced_head_agrees_with_the_whole_one_where_it_speaks() -> None:
    whole = nn.Linear(8, 11, bias=False)
    reduced = ReducedHead(11, 3)
    reduced.ids.copy_(torch.tensor([1, 4, 10]))
    hidden = torch.randn(2, 5, 8)
    logits = reduced.take_rows(whole.weight)(hidden)
    torch.testing.assert_close(logits[..., reduced.ids], whole(hidden)[..., reduced.ids])
    assert logits.isinf().sum() == 2 * 5 * 8


def test_a_verifier_of_another_width_is_refused(tmp_path: Path) -> None:
    verifier = qwen3_checkpoint(tmp_path / "verifier", hidden_size=32)
    drafter = sharing(tmp_path / "drafter", "anchored-diffusion")
    with pytest.raises(InputError, match=r"width 16.*32"):
        load_pair(pair_file(tmp_path, "anchored-diffusion", drafter, verifier), device="cpu")
