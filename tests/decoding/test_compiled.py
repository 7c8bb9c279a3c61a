"""The compiled verifier computes what the eager one does, through rollbacks and blocks of any length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from specfrontier.decoding.causal import CausalModel

SHAPE: dict[str, Any] = {
    "vocab_size": 37,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}
LAYERS = ["sliding_attention", "full_attention"]
#: (tokens fed, tokens forgotten after it): a prompt, blocks of several lengths, single tokens, whole blocks rejected.
ROUNDS = ((9, 0), (5, 3), (5, 0), (1, 0), (7, 6), (2, 2), (5, 1), (1, 0), (9, 4), (3, 0))
# Two orders of summation in float32 over 32 to 48 terms of order one.
ROUNDING = 2e-5
GPU = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"))


def network(family: str) -> PreTrainedModel:
    torch.manual_seed(0)
    made = {
        "qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**SHAPE)),
        "llama": lambda: LlamaForCausalLM(LlamaConfig(**SHAPE)),
        # A window shorter than the text: a rollback must bring back what a sliding layer forgot.
        "gemma3": lambda: Gemma3ForCausalLM(
            Gemma3TextConfig(**SHAPE, head_dim=8, sliding_window=8, layer_types=LAYERS)
        ),
    }[family]()
    for parameter in made.parameters():  # as far from their small beginnings as trained weights are
        torch.nn.init.normal_(parameter, std=0.3)
    return made.eval().requires_grad_(False)


def assert_equal_to_eager(family: str, backend: str, device: str = "cpu") -> None:
    eager = CausalModel(network(family).to(device), feature_layers=(0, 1))  # type: ignore[arg-type]
    compiled = CausalModel(eager.network, (0, 1), compiler=backend)
    generator = torch.Generator().manual_seed(1)
    with torch.inference_mode():
        for _ in range(2):  # a second sequence has a cache of its own
            one, other = eager.session(), compiled.session()
            for fed, forgotten in ROUNDS:
                tokens = torch.randint(37, (fed,), generator=generator).to(device)
                torch.testing.assert_close(other.forward(tokens), one.forward(tokens), atol=ROUNDING, rtol=ROUNDING)
                assert one.features is not None
                torch.testing.assert_close(other.features, one.features, atol=ROUNDING, rtol=ROUNDING)
                one.rollback(forgotten)
                other.rollback(forgotten)
            assert one.length == other.length


@pytest.mark.parametrize("family", ["qwen2", "llama", "gemma3"])
def test_captured_graphs_give_eager_logits_and_features(family: str) -> None:
    """Without a compiler behind it, the captured graph must compute what the eager forward does."""
    assert_equal_to_eager(family, "eager")


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", GPU])
@pytest.mark.parametrize("family", ["qwen2", "llama", "gemma3"])
def test_compiled_kernels_give_eager_logits_and_features(
    family: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its own cache of kernels: a compiler that was killed leaves half a library in the shared one.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    assert_equal_to_eager(family, "inductor", device)
