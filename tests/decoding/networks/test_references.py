"""Every network computes what the public reference implementation computes from the same weights.

The fixtures hold what the references gave (`references.json` says which version, and names their tensors);
weights are functions of their names, so that both sides can have the same ones. Tolerance: float32 rounding
over three layers, in another order of operations.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from named_weights import named_array, named_weights
from torch import Tensor, nn

from specfrontier.decoding.drafters.base import DraftRequest, Effort
from specfrontier.decoding.drafters.block_diffusion import BlockDiffusionDrafter, block_causal_mask
from specfrontier.decoding.drafters.dflash import DFlashDrafter
from specfrontier.decoding.drafters.dspark import DSparkDrafter
from specfrontier.decoding.drafters.masked import MaskedDrafter, Unmasking
from specfrontier.decoding.networks.adapter import AdaptedBackbone
from specfrontier.decoding.networks.backbone import Backbone, BackboneConfig
from specfrontier.decoding.networks.dspark import DSparkConfig, DSparkNetwork
from specfrontier.decoding.networks.feature_backbone import FeatureBackbone
from specfrontier.decoding.sampling import Sampling

FIXTURES = Path(__file__).parent / "fixtures"
REFERENCES = json.loads((FIXTURES / "references.json").read_text(encoding="utf-8"))
MASK, BLOCK = 39, 4
SHAPE: dict[str, Any] = {
    "vocab_size": 40,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10_000.0,
}
QWEN3 = BackboneConfig.from_json({**SHAPE, "head_dim": 8}, attention_bias=False, qk_norm=True)
DREAM = BackboneConfig.from_json(SHAPE, attention_bias=True, qk_norm=False)
LORA = {
    "r": 4,
    "lora_alpha": 64,
    "target_modules": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
}
GREEDY = Sampling(temperature=0)


def reference(name: str) -> dict[str, np.ndarray]:
    with np.load(FIXTURES / f"{name}.npz") as arrays:
        return dict(arrays)


def filled(network: nn.Module) -> Any:
    network.load_state_dict(named_weights({n: t.shape for n, t in network.state_dict().items()}))
    return network.eval().requires_grad_(False)


def dspark_network() -> DSparkNetwork:
    heads = {
        "target_layer_ids": [1, 3],
        "markov_rank": 6,
        "enable_confidence_head": True,
        "confidence_head_with_markov": True,
    }
    return filled(DSparkNetwork(DSparkConfig.from_json({**SHAPE, "head_dim": 8, **heads})))


def request(prefix: Tensor, size: int, features: Tensor | None = None, steps: int = 1) -> DraftRequest:
    return DraftRequest(prefix, size, Effort(steps), torch.Generator().manual_seed(0), features=features)


def assert_close(ours: Tensor, theirs: np.ndarray) -> None:
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "network"),
    [
        ("dream", lambda: Backbone(DREAM)),
        ("sdar", lambda: Backbone(QWEN3)),
        ("dflash", lambda: FeatureBackbone(QWEN3, 2)),
        ("dspark", dspark_network),
        ("uno", lambda: Backbone(QWEN3)),
    ],
)
def test_state_dict_names_map_one_to_one_onto_the_public_checkpoint(name: str, network: Any) -> None:
    assert sorted(network().state_dict()) == REFERENCES[name]["names"]


def test_adapter_names_map_one_to_one_onto_a_peft_checkpoint() -> None:
    assert sorted(AdaptedBackbone(Backbone(QWEN3), LORA).adapter_names()) == REFERENCES["uno"]["adapter"]


def test_dream_logits() -> None:
    theirs = reference("dream")
    network = filled(Backbone(DREAM))
    assert_close(network(torch.from_numpy(theirs["ids"])[None])[0], theirs["logits"])


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_dream_fills_a_canvas_as_the_reference_does(steps: int) -> None:
    """Entropy order, Dream's schedule, greedy tokens: the same text, token for token."""
    theirs = reference("dream")
    drafter = MaskedDrafter(
        filled(Backbone(DREAM)),
        mask_id=MASK,
        vocab_size=40,
        sampling=GREEDY,
        unmasking=Unmasking(order="entropy", schedule="dream"),
    )
    canvas = theirs[f"greedy_{steps}"]
    draft = drafter.session().draft(request(torch.from_numpy(theirs["ids"]), len(canvas), steps=steps))
    assert draft.tokens.tolist() == canvas.tolist()


def test_sdar_logits_of_the_prefix_under_the_block_causal_mask() -> None:
    theirs = reference("sdar")
    ids = torch.from_numpy(theirs["ids"])[:8]
    mask = block_causal_mask(0, 8, BLOCK, ids.device)
    assert_close(filled(Backbone(QWEN3))(ids[None], mask=mask)[0], theirs["prefill"])


@pytest.mark.parametrize("cached", [0, 4, 8])
def test_sdar_logits_of_the_open_block_whatever_was_cached(cached: int) -> None:
    theirs = reference("sdar")
    ids = torch.from_numpy(theirs["ids"])
    drafter = BlockDiffusionDrafter(
        filled(Backbone(QWEN3)),
        block_size=BLOCK,
        mask_id=MASK,
        vocab_size=40,
        sampling=GREEDY,
        unmasking=Unmasking("confidence"),
    )
    session = drafter.session()
    if cached:
        session._logits(ids[:cached], torch.full((BLOCK,), MASK))
        assert session.cache.length == cached
    block = torch.tensor([int(ids[8]), MASK, MASK, MASK])
    assert_close(session._logits(ids[:8], block), theirs["block"])
    assert session.cache.length == 8


def test_dflash_hidden_states_over_two_rounds() -> None:
    theirs = reference("dflash")
    network = filled(FeatureBackbone(QWEN3, 2))
    cache = network.new_cache()
    for features, start, key in (("features.1", 0, "first"), ("features.2", 5, "second")):
        rows = torch.from_numpy(named_array(features, (1, {"first": 5, "second": 3}[key], 64)))[0]
        block = torch.from_numpy(named_array(f"noise.{start}", (1, 4, 32)))[0]
        assert_close(network(block, rows, cache), theirs[key])


def test_dspark_tokens_corrected_laws_and_confidence_over_two_rounds() -> None:
    theirs = reference("dspark")
    network = dspark_network()
    session = DSparkDrafter(
        network, block_size=BLOCK, mask_id=MASK, vocab_size=40, feature_layers=(1, 3), sampling=GREEDY
    ).session()
    prefix = torch.zeros(0, dtype=torch.long)
    for turn, (name, count) in enumerate((("features.1", 5), ("features.2", 3))):
        features = torch.from_numpy(named_array(name, (1, count, 64)))[0]
        prefix = torch.cat((prefix, torch.arange(count)))
        prefix = torch.cat((prefix[: 5 if turn == 0 else 8], torch.tensor([7 + turn])))
        block = torch.tensor([7 + turn, MASK, MASK, MASK])
        hidden = FeatureBackbone.forward(network, network.embed_tokens(block), features, _copy(session.context.cache))
        assert_close(hidden, theirs[f"hidden_{turn}"])
        draft = session.draft(request(prefix, BLOCK, features))
        assert draft.tokens.tolist() == theirs[f"tokens_{turn}"].tolist()
        previous = torch.cat((prefix[-1:], draft.tokens[:-1]))
        assert_close(network.corrected(network.lm_head(hidden), previous), theirs[f"logits_{turn}"])
        assert_close(network.confidence(hidden, previous), theirs[f"confidence_{turn}"])
        prefix = prefix[:-1]


def _copy(cache: Any) -> Any:
    twin = type(cache)(len(cache.keys))
    twin.keys, twin.values = list(cache.keys), list(cache.values)
    return twin


def test_dflash_drafts_the_heads_argmax_after_the_anchor() -> None:
    network = filled(FeatureBackbone(QWEN3, 2))
    table = torch.from_numpy(named_array("embed", (40, 32)))
    features = torch.from_numpy(named_array("features.1", (1, 5, 64)))[0]
    drafter = DFlashDrafter(
        network,
        embed=lambda ids: table[ids],
        head=lambda hidden: hidden @ table.T,
        block_size=BLOCK,
        mask_id=MASK,
        vocab_size=40,
        feature_layers=(1, 3),
        sampling=GREEDY,
    )
    prefix = torch.tensor([1, 2, 3, 4, 5, 9])
    draft = drafter.session().draft(request(prefix, BLOCK, features))
    hidden = network(table[torch.tensor([9, MASK, MASK, MASK])], features, network.new_cache())
    logits = (hidden[1:] @ table.T)[:, :MASK]
    assert draft.tokens.tolist() == logits.argmax(-1).tolist()
    assert draft.laws is None


def test_uno_logits_with_the_adapter_on_at_the_last_three_positions() -> None:
    theirs = reference("uno")
    backbone = filled(Backbone(QWEN3))
    network = AdaptedBackbone(backbone, LORA)
    shapes = {name: network.get_parameter(ours).shape for name, ours in network.adapter_names().items()}
    network.load_adapter({n: torch.from_numpy(named_array(n, s, 0.05)) for n, s in shapes.items()}, "test")
    ids = torch.from_numpy(theirs["ids"])
    cache = network.new_cache()
    with torch.no_grad():
        known = network(ids[:5], torch.zeros(5, dtype=torch.bool), cache, slice(None))
        rest = network(ids[5:], torch.arange(5, 12) >= 9, cache, slice(None))
    assert_close(torch.cat((known, rest)), theirs["logits"])
