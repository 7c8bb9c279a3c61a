"""What a pair needs is computed from its shape; random weights give costs and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from family_checkpoints import IDS, sharing
from tiny_checkpoints import SHAPE, pair_file, qwen3_checkpoint
from transformers import AutoConfig, AutoModelForCausalLM, DiffusionGemmaForBlockDiffusion

from specfrontier.decoding import load_pair, pair_names, read_pair_file
from specfrontier.decoding.checkpoints import known_config
from specfrontier.decoding.drafters.base import Effort
from specfrontier.decoding.engine import Settings
from specfrontier.decoding.loading import _causal_config
from specfrontier.decoding.memory import check_memory, memory_check, memory_need
from specfrontier.decoding.networks.adapter import AdaptedBackbone
from specfrontier.decoding.networks.backbone import Backbone, BackboneConfig
from specfrontier.decoding.networks.dspark import DSparkConfig, DSparkNetwork
from specfrontier.decoding.networks.feature_backbone import FeatureBackbone
from specfrontier.decoding.networks.reduced_head import ReducedHead
from specfrontier.errors import InputError

PAPER = [name for name in pair_names() if not name.startswith(("arith", "smollm2"))]


def parameters(checkpoint: str, family: str) -> float:
    """Billions of parameters of a checkpoint, counted on its shape."""
    config = known_config(checkpoint)
    with torch.device("meta"):
        if family in ("causal", "autoregressive"):
            network: torch.nn.Module = AutoModelForCausalLM.from_config(_causal_config(config))
        elif family == "diffusion-gemma":
            table = {name: value for name, value in config.items() if name != "model_type"}
            network = DiffusionGemmaForBlockDiffusion(AutoConfig.for_model("diffusion_gemma", **table)).model.decoder
        elif family == "dspark":
            network = DSparkNetwork(DSparkConfig.from_json(config))
        elif family == "dflash":
            shape = BackboneConfig.from_json(config, attention_bias=False, qk_norm=True)
            network = FeatureBackbone(shape, len(config["dflash_config"]["target_layer_ids"]))
        else:
            shape = BackboneConfig.from_json(config, attention_bias=family == "masked", qk_norm=family != "masked")
            network = Backbone(shape)
            if family == "uno":
                adapted = AdaptedBackbone(network, config["adapter"])
                return sum(adapted.get_parameter(n).numel() for n in adapted.adapter_names().values()) / 1e9
    return sum(p.numel() for p in network.parameters()) / 1e9


@pytest.mark.parametrize("name", PAPER)
def test_stated_parameters_are_those_of_the_shapes(name: str) -> None:
    pair = read_pair_file(name)
    counted = (
        parameters(pair.verifier.checkpoint, "causal"),
        parameters(pair.drafter.checkpoint, pair.drafter.family),
    )
    assert pair.parameters == pytest.approx(counted, rel=0.01)


def test_a_pair_that_does_not_fit_is_refused_in_one_line_before_anything_is_loaded() -> None:
    pair = replace(read_pair_file("dream-qwen2.5-32b"), parameters=(1e6, 1e6))
    cpu = torch.device("cpu")
    with pytest.raises(InputError, match="device_map") as caught:
        check_memory(pair, cpu, cpu, torch.bfloat16)
    assert "\n" not in str(caught.value)
    assert not memory_check(pair, cpu, torch.bfloat16).fits


def test_memory_grows_with_the_weights_width_and_counts_the_blocks_laws() -> None:
    pair = read_pair_file("dream-qwen2.5-32b")
    half, full = (memory_need(pair, dtype) for dtype in (torch.bfloat16, torch.float32))
    assert (full.verifier, full.drafter) == (2 * half.verifier, 2 * half.drafter)
    small = memory_need(replace(pair, block_size=16), torch.bfloat16)
    assert half.working - small.working == 4 * (512 - 16) * 152_064 * 4


def test_random_weights_measure_costs_and_refuse_the_rest() -> None:
    pair = load_pair("arith-masked", device="cpu", random_weights=True)
    assert pair.random_weights
    assert "random weights" in pair.name
    settings = Settings(Effort(2), block_size=4, max_new_tokens=6)
    out = pair.run_ids(pair.random_prompt(8), settings)
    assert len(out.tokens) == 6
    assert out.text == ""
    assert all(r.draft_s > 0 and r.verify_s > 0 for r in out.rounds)
    with pytest.raises(InputError, match="random weights"):
        pair.generate("Tom has 3 apples.")
    with pytest.raises(InputError, match="d_K"):
        pair.run_ids(pair.random_prompt(8), replace(settings, trace=True))


def test_a_random_autoregressive_drafter_has_the_head_of_its_draft_vocabulary(tmp_path: Path) -> None:
    """Its head is much of a shallow drafter's cost: a whole one in its place would be another c_d."""
    drafter = sharing(tmp_path / "drafter", "autoregressive")
    pair = load_pair(pair_file(tmp_path, "autoregressive", drafter), device="cpu", random_weights=True)
    network = pair.engine.drafter.model.network  # type: ignore[attr-defined]
    head = network.get_output_embeddings()
    assert isinstance(head, ReducedHead)
    assert head.weight.shape == (len(IDS), SHAPE["hidden_size"])
    shared = pair.engine.verifier.network.get_input_embeddings().weight
    assert network.get_input_embeddings().weight.data_ptr() == shared.data_ptr()
    out = pair.run_ids(pair.random_prompt(8), Settings(Effort(1), block_size=4, max_new_tokens=6))
    assert len(out.tokens) == 6


@pytest.mark.parametrize("random", [False, True])
def test_a_draft_vocabulary_without_a_shared_embedding_is_refused(random: bool, tmp_path: Path) -> None:
    drafter = qwen3_checkpoint(tmp_path / "drafter")
    config = json.loads((drafter / "config.json").read_text())
    (drafter / "config.json").write_text(json.dumps({**config, "draft_vocab_size": 4}))
    with pytest.raises(InputError, match="shares_embedding = true"):
        load_pair(pair_file(tmp_path, "autoregressive", drafter), device="cpu", random_weights=random)


def test_random_weights_of_an_unknown_shape_are_refused() -> None:
    with pytest.raises(InputError, match="not known here"):
        known_config("someone/model")
