"""A damaged checkpoint of any family ends in one line that names the file and what is wrong with it."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from family_checkpoints import FAMILIES, IDS, SHARING, sharing
from safetensors.torch import load_file, save_file
from tiny_checkpoints import VOCAB, pair_file, qwen3_checkpoint

from specfrontier.decoding import load_pair, loading
from specfrontier.errors import InputError

GONE = object()
BAD_SIZES = ("seven", -1, 0, True, 2.5, [4], {"a": 1}, 10**12)
SOME_BAD_SIZES = ("seven", 0, True, 10**12)
BAD_NUMBERS = ("seven", -1.0, 0, True, [1], math.nan, math.inf)
BAD_LISTS = ("0", 1, [], ["0"], [-1], [0, 10**6], [True], {"a": 0}, GONE)
SIZES = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
OURS = tuple(name for name in FAMILIES if name not in ("autoregressive", "diffusion-gemma"))
"""Families whose network is built here, not by transformers."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole checkpoint of every family, and of a verifier."""
    folder = tmp_path_factory.mktemp("checkpoints")
    for family, make in FAMILIES.items():
        make(folder / family)
    qwen3_checkpoint(folder / "verifier")
    return folder


@pytest.fixture(autouse=True)
def one_verifier(made: Path, monkeypatch: pytest.MonkeyPatch, cache: dict[Path, Any]) -> None:
    """Load the whole verifier once: that takes most of the time of loading a pair."""
    load = loading.load_causal

    def cached(checkpoint: Any, *rest: Any, **named: Any) -> Any:
        if checkpoint.folder != made / "verifier":
            return load(checkpoint, *rest, **named)
        if checkpoint.folder not in cache:
            cache[checkpoint.folder] = load(checkpoint, *rest, **named)
        return cache[checkpoint.folder]

    monkeypatch.setattr(loading, "load_causal", cached)


@pytest.fixture(scope="module")
def cache() -> dict[Path, Any]:
    return {}


def copied(made: Path, family: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / family, tmp_path / "drafter", dirs_exist_ok=True))


def refusal(family: str, drafter: Path, made: Path) -> str:
    """The line that loading the pair ends in; any other exception fails the test."""
    with pytest.raises(InputError) as caught:
        load_pair(pair_file(drafter.parent, family, drafter, made / "verifier"), device="cpu")
    message = str(caught.value)
    assert len(message.splitlines()) == 1, message
    assert len(message) < 400, message
    return message


def with_value(drafter: Path, key: str, value: Any, file: str = "config.json") -> None:
    """Set (or with GONE remove) a key of a file, in the table whose name stands before a dot."""
    path = drafter / file
    config = json.loads(path.read_text())
    *outer, inner = key.split(".")
    table = config
    for name in outer:
        table = table[name]
    table.pop(inner, None)
    if value is not GONE:
        table[inner] = value
    path.write_text(json.dumps(config))


def keys() -> Iterator[tuple[str, str, Iterable[Any]]]:
    """Every key that a family reads, with values that it cannot have."""
    for family in OURS:
        for key in (*SIZES, "max_position_embeddings"):
            yield family, key, (*SOME_BAD_SIZES, GONE)
        yield family, "num_key_value_heads", (*SOME_BAD_SIZES, 3)
        yield family, "head_dim", (*SOME_BAD_SIZES, 7)
        yield family, "rope_theta", BAD_NUMBERS
        yield family, "rms_norm_eps", BAD_NUMBERS
        yield family, "tie_word_embeddings", ("yes", 1, [])
    for family in ("autoregressive", "diffusion-gemma"):
        inside = "text_config." if family == "diffusion-gemma" else ""
        for key in (*SIZES, "num_key_value_heads", "head_dim", "max_position_embeddings"):
            yield family, inside + key, SOME_BAD_SIZES
    yield "diffusion-gemma", "canvas_length", (*BAD_SIZES, GONE)
    for family in ("block-diffusion", "anchored-diffusion", "dflash", "dspark"):
        yield family, "block_size", (*BAD_SIZES, 96, GONE)
    for family in ("masked", "block-diffusion", "anchored-diffusion", "dspark", "uno"):
        yield family, "mask_token_id", (*(v for v in BAD_SIZES if v != 0), VOCAB)
    yield "uno", "mask_token_id", (0, 1)
    yield "dflash", "dflash_config.mask_token_id", (*(v for v in BAD_SIZES if v != 0), VOCAB)
    yield "dflash", "dflash_config.target_layer_ids", (*BAD_LISTS, [0, 2])
    yield "dflash", "qk_norm", ("yes", 1)
    yield "dspark", "target_layer_ids", (*BAD_LISTS, [0, 2])
    yield "dspark", "markov_rank", (v for v in BAD_SIZES if v != 0)
    yield "dspark", "markov_head_type", ("gated", 3)
    yield "dspark", "enable_confidence_head", ("yes", 1)
    yield "anchored-diffusion", "draft_vocab_size", (*BAD_SIZES, VOCAB + 1)
    yield "anchored-diffusion", "shares_embedding", ("yes", 1)


@pytest.mark.parametrize(("family", "key", "values"), list(keys()), ids=lambda v: v if isinstance(v, str) else "")
def test_a_value_that_a_configuration_cannot_have_is_named(
    family: str, key: str, values: Iterable[Any], made: Path, tmp_path: Path
) -> None:
    drafter = copied(made, family, tmp_path)
    whole = (drafter / "config.json").read_text()
    for value in values:
        with_value(drafter, key, value)
        message = refusal(family, drafter, made)
        assert key.rpartition(".")[2] in message or "reads layers" in message, message
        (drafter / "config.json").write_text(whole)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_table_that_is_no_table_is_named(family: str, made: Path, tmp_path: Path) -> None:
    drafter = copied(made, family, tmp_path)
    for text in ("[1, 2]", '"text"', "7", "null", "{", "", "[" * 100_000):
        (drafter / "config.json").write_text(text)
        assert "config.json" in refusal(family, drafter, made)
    (drafter / "config.json").write_bytes(b"\xff\xfe\x00")
    assert "config.json" in refusal(family, drafter, made)
    (drafter / "config.json").unlink()
    assert "config.json" in refusal(family, drafter, made)
    (drafter / "config.json").mkdir()
    assert "config.json" in refusal(family, drafter, made)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("value", ["Qwen3ForCausalLM", [], [3], {"a": 1}, 7, ["GPT9ForCausalLM"], GONE])
def test_an_architecture_that_is_none_is_named(family: str, value: Any, made: Path, tmp_path: Path) -> None:
    drafter = copied(made, family, tmp_path)
    with_value(drafter, "architectures", value)
    with_value(drafter, "model_type", "gpt9")
    assert "architecture" in refusal(family, drafter, made) or family in ("autoregressive", "uno")


Damage = Callable[[dict[str, torch.Tensor], str], None]


def lose(state: dict[str, torch.Tensor], name: str) -> None:
    del state[name]


def widen(state: dict[str, torch.Tensor], name: str) -> None:
    state[name] = torch.zeros(*(size + 1 for size in state[name].shape))


def round_to_integers(state: dict[str, torch.Tensor], name: str) -> None:
    state[name] = state[name].to(torch.int32)


def rename(state: dict[str, torch.Tensor], name: str) -> None:
    state["other." + name] = state.pop(name)


def kinds(names: Iterable[str]) -> list[str]:
    """One tensor of each kind: those of the first layer stand for those of every layer."""
    return sorted(name for name in names if ".layers." not in f".{name}" or ".layers.0." in f".{name}")


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "uno"])
def test_every_tensor_must_be_there(family: str, made: Path, tmp_path: Path) -> None:
    drafter = copied(made, family, tmp_path)
    path = drafter / "model.safetensors"
    whole = load_file(made / family / "model.safetensors")
    names = kinds(whole)
    # transformers takes seconds to build what it loads, and knows missing tensors of every kind alike.
    for name in names if family in OURS else names[:: len(names) // 2]:
        state = dict(whole)
        lose(state, name)
        save_file(state, path, metadata={"format": "pt"})
        message = refusal(family, drafter, made)
        assert name.rpartition(".")[0] in message or ("embed_tokens" in name and "lm_head" in message)  # tied


@pytest.mark.parametrize("damage", [widen, rename])
@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "uno"])
def test_tensors_must_have_their_shapes_and_names(family: str, damage: Damage, made: Path, tmp_path: Path) -> None:
    drafter = copied(made, family, tmp_path)
    state = load_file(drafter / "model.safetensors")
    for name in (kinds(state)[0], kinds(state)[-1]):
        changed = dict(state)
        damage(changed, name)
        save_file(changed, drafter / "model.safetensors", metadata={"format": "pt"})
        message = refusal(family, drafter, made)
        assert name.rpartition(".")[0] in message or ("embed_tokens" in name and "lm_head" in message)  # tied


@pytest.mark.parametrize("family", [name for name in OURS if name != "uno"])
def test_weights_that_are_integers_are_refused(family: str, made: Path, tmp_path: Path) -> None:
    drafter = copied(made, family, tmp_path)
    state = load_file(drafter / "model.safetensors")
    round_to_integers(state, next(name for name in sorted(state) if state[name].is_floating_point()))
    save_file(state, drafter / "model.safetensors")
    assert "int32" in refusal(family, drafter, made)


@pytest.mark.parametrize("damage", [lose, widen, rename, round_to_integers])
def test_every_tensor_of_an_adapter_must_be_there(damage: Damage, made: Path, tmp_path: Path) -> None:
    drafter = copied(made, "uno", tmp_path)
    path = drafter / "adapter" / "adapter_model.safetensors"
    state = load_file(path)
    damage(state, min(state))
    save_file(state, path)
    assert "adapter" in refusal("uno", drafter, made)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("r", (*BAD_SIZES, 3, GONE)),
        ("lora_alpha", (*BAD_NUMBERS, GONE)),
        ("target_modules", ("all-linear", "q_proj", [], ["k_proj"], [3], 7, GONE)),
        ("use_dora", (True, "yes")),
        ("bias", ("all", 3)),
    ],
)
def test_an_adapters_configuration_is_checked(key: str, values: Iterable[Any], made: Path, tmp_path: Path) -> None:
    drafter = copied(made, "uno", tmp_path)
    for value in values:
        with_value(drafter, key, value, "adapter/adapter_config.json")
        assert "adapter" in refusal("uno", drafter, made)
        shutil.copy(made / "uno" / "adapter" / "adapter_config.json", drafter / "adapter" / "adapter_config.json")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_damaged_file_of_weights_is_named(family: str, made: Path, tmp_path: Path) -> None:
    drafter = copied(made, family, tmp_path)
    path = drafter / ("adapter/adapter_model.safetensors" if family == "uno" else "model.safetensors")
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:9], b"", b"\xff" * 100, b"PK\x03\x04" + bytes(100)):
        path.write_bytes(damaged)
        assert str(drafter) in refusal(family, drafter, made)
    path.unlink()
    assert "model.safetensors" in refusal(family, drafter, made)


@pytest.mark.parametrize("family", [name for name in OURS if name != "uno"])
@pytest.mark.parametrize(
    "index", [[], {}, {"weight_map": 3}, {"weight_map": {"a": 3}}, {"weight_map": {"a": "gone.safetensors"}}]
)
def test_a_damaged_index_of_shards_is_named(family: str, index: Any, made: Path, tmp_path: Path) -> None:
    drafter = copied(made, family, tmp_path)
    (drafter / "model.safetensors.index.json").write_text(json.dumps(index))
    refusal(family, drafter, made)


@pytest.mark.parametrize("family", SHARING)
@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([0, 2, 5, VOCAB], f"{VOCAB}, outside"),
        ([-1, 2, 5, 7], "from -1"),
        ([0, 5, 2, 7], "do not rise"),
        ([0, 2, 2, 7], "do not rise"),
        ([0.0, 2.0, 5.0, 7.0], "not integers"),
        ([True, False, True, True], "not integers"),
    ],
)
def test_a_draft_vocabulary_has_each_id_once(
    family: str, ids: list[Any], words: str, made: Path, tmp_path: Path
) -> None:
    drafter = sharing(tmp_path / "drafter", family)
    state = load_file(drafter / "model.safetensors")
    name = next(n for n in state if n.endswith(".ids"))
    save_file({**state, name: torch.tensor(ids)}, drafter / "model.safetensors", metadata={"format": "pt"})
    assert words in refusal(family, drafter, made)


@pytest.mark.parametrize("family", SHARING)
def test_a_draft_vocabulary_of_another_size_is_refused(family: str, made: Path, tmp_path: Path) -> None:
    drafter = sharing(tmp_path / "drafter", family, draft_vocab_size=len(IDS) + 1)
    assert "ids" in refusal(family, drafter, made)


@pytest.mark.parametrize("family", ["autoregressive", "anchored-diffusion"])
def test_a_shared_embedding_of_another_size_is_named(family: str, made: Path, tmp_path: Path) -> None:
    drafter = sharing(tmp_path / "drafter", family, vocab_size=VOCAB - 1)
    assert f"{VOCAB - 1} tokens" in refusal(family, drafter, made)


@pytest.mark.parametrize("damage", [lose, rename])
def test_a_verifier_must_be_whole_too(damage: Damage, made: Path, tmp_path: Path) -> None:
    """Transformers by itself gives a tensor that is not there random numbers, and goes on with a warning."""
    verifier = Path(shutil.copytree(made / "verifier", tmp_path / "verifier"))
    state = load_file(verifier / "model.safetensors")
    damage(state, "model.norm.weight")
    save_file(state, verifier / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"lacks tensor model\.norm\.weight"):
        load_pair(pair_file(tmp_path, "masked", made / "masked", verifier), device="cpu")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("tokenizer.json", "[]"),
        ("tokenizer.json", "{"),
        ("tokenizer.json", '{"model": {}}'),
        ("tokenizer.json", '{"model": {"vocab": [1]}}'),
        ("tokenizer.json", '{"model": {"vocab": {"a": "0"}}}'),
        ("tokenizer.json", '{"model": {"vocab": {"a": 0}}, "added_tokens": [{"id": 1}]}'),
        ("tokenizer.json", '{"model": {"vocab": {"a": 0}}, "added_tokens": 3}'),
        ("tokenizer_config.json", "[]"),
    ],
)
def test_a_damaged_tokenizer_is_named(file: str, text: str, made: Path, tmp_path: Path) -> None:
    drafter = copied(made, "masked", tmp_path)
    (drafter / file).write_text(text)
    if file == "tokenizer.json":
        assert file in refusal("masked", drafter, made) or "tokenizer" in refusal("masked", drafter, made)
    else:  # a drafter's tokenizer is read for its vocabulary only, the verifier's is loaded
        verifier = Path(shutil.copytree(made / "verifier", tmp_path / "verifier"))
        (verifier / file).write_text(text)
        with pytest.raises(InputError, match=file):
            load_pair(pair_file(tmp_path, "masked", made / "masked", verifier), device="cpu")


@pytest.mark.parametrize(
    ("family", "option"),
    [
        ("masked", 'mask_token_id = "x"'),
        ("masked", "mask_token_id = -1"),
        ("masked", "prefix_cache = 1"),
        ("masked", "order = 3"),
        ("masked", 'order = "best"'),
        ("masked", "schedule = 2.5"),
        ("masked", "schedule = [1, 0]"),
        ("masked", 'schedule = "late"'),
        ("uniform", 'prefix_cache = "yes"'),
        ("block-diffusion", 'block_size = "4"'),
        ("block-diffusion", "block_size = 0"),
        ("diffusion-gemma", "temperature_first = 0"),
        ("diffusion-gemma", 'temperature_first = "warm"'),
        ("dspark", "confidence_threshold = 1.5"),
        ("dspark", 'confidence_threshold = "high"'),
        ("masked", "temperature = true"),
        ("masked", 'temperature = "warm"'),
        ("masked", "top_p = [0.5]"),
        ("masked", "top_k = 2.5"),
        ("masked", 'filters = ["top_z"]'),
        ("masked", "filters = 3"),
        ("masked", "revision = 3"),
    ],
)
def test_an_option_of_the_pair_file_is_checked(family: str, option: str, made: Path, tmp_path: Path) -> None:
    path = pair_file(tmp_path, family, made / family, made / "verifier", option)
    with pytest.raises(InputError, match=option.partition(" ")[0]) as caught:
        load_pair(path, device="cpu")
    assert len(str(caught.value).splitlines()) == 1
