"""Drafters trained on top of a verifier: their checkpoints hold neither embedding nor head."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from tiny_checkpoints import SHAPE, VOCAB, pair_file, qwen3_checkpoint
from tiny_families import filled
from torch import nn
from transformers import Qwen3Config, Qwen3ForCausalLM

from specfrontier.decoding import load_pair
from specfrontier.decoding.drafters.base import DraftRequest, Effort
from specfrontier.decoding.networks.backbone import Backbone, BackboneConfig
from specfrontier.decoding.networks.feature_backbone import FeatureBackbone
from specfrontier.decoding.networks.reduced_head import ReducedHead
from specfrontier.errors import InputError

IDS = torch.tensor([0, 2, 5, VOCAB - 1])
KINDS: dict[str, dict[str, Any]] = {
    "autoregressive": {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]},
    "anchored-diffusion": {"architectures": ["AnchoredDiffusionModel"], "block_size": 4, "mask_token_id": 3},
    "dflash": {
        "architectures": ["DFlashDraftModel"],
        "block_size": 4,
        "qk_norm": False,
        "dflash_config": {"mask_token_id": 3, "target_layer_ids": [0, 1]},
    },
}


def sharing_checkpoint(folder: Path, family: str, reduced: bool = True, **change: Any) -> Path:
    config = {**SHAPE, **KINDS[family], "shares_embedding": True, "tie_word_embeddings": True, **change}
    shape = BackboneConfig.from_json(config, attention_bias=False, qk_norm=False)
    networks: dict[str, nn.Module] = {
        "autoregressive": Qwen3ForCausalLM(Qwen3Config(**SHAPE)),
        "anchored-diffusion": Backbone(shape),
        "dflash": FeatureBackbone(shape, 2),
    }
    state = filled(networks[family], 9).state_dict()
    own = {n: t.contiguous() for n, t in state.items() if "embed" not in n and "lm_head" not in n}
    if reduced:
        config["draft_vocab_size"] = len(IDS)
        own["draft_head.ids" if family == "dflash" else "lm_head.ids"] = IDS.to(torch.int32)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    save_file(own, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.parametrize("family", KINDS)
def test_only_the_draft_vocabulary_is_proposed(family: str, tmp_path: Path) -> None:
    drafter = sharing_checkpoint(tmp_path / "drafter", family)
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
    drafter = sharing_checkpoint(tmp_path / "drafter", family, reduced=family == "anchored-diffusion")
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
    drafter = sharing_checkpoint(tmp_path / "drafter", "anchored-diffusion")
    with pytest.raises(InputError, match=r"width 16.*32"):
        load_pair(pair_file(tmp_path, "anchored-diffusion", drafter, verifier), device="cpu")
