"""Every family loads from a checkpoint's folder and a pair file, and says in one line why it cannot."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from family_checkpoints import FAMILIES, dflash, dream, sdar, uno
from tiny_checkpoints import pair_file, qwen3_checkpoint

from specfrontier.decoding import load_pair
from specfrontier.decoding.checkpoints import checkpoint_folder
from specfrontier.decoding.drafters.base import Effort
from specfrontier.decoding.engine import Settings
from specfrontier.errors import InputError


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_loads_from_folders_and_drafts(family: str, tmp_path: Path) -> None:
    pair = load_pair(pair_file(tmp_path, family, FAMILIES[family](tmp_path / "drafter")), device="cpu")
    out = pair.generate("Tom has 3 apples.", seed=1)
    assert 0 < len(out.tokens) <= 12
    assert any(r.drafted for r in out.rounds)


def test_uno_shares_the_verifiers_tensors(tmp_path: Path) -> None:
    pair = load_pair(pair_file(tmp_path, "uno", uno(tmp_path / "drafter")), device="cpu")
    ours = pair.engine.drafter.network.backbone.model.layers[0].mlp.up_proj.weight  # type: ignore[attr-defined]
    theirs = pair.engine.verifier.network.model.layers[0].mlp.up_proj.weight
    assert ours.data_ptr() == theirs.data_ptr()


def test_greedy_proposals_are_one_option_away(tmp_path: Path) -> None:
    path = pair_file(tmp_path, "masked", dream(tmp_path / "drafter"))
    assert load_pair(path, device="cpu", options={"temperature": 0}).engine.drafter.sampling.greedy  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("family", "made", "words"),
    [
        ("masked", sdar, ("SDARForCausalLM", "DreamModel")),
        ("block-diffusion", dream, ("DreamModel", "SDARForCausalLM")),
        ("autoregressive", dflash, ("DFlashDraftModel", "causal")),
        ("dspark", dflash, ("DFlashDraftModel", "Qwen3DSparkModel")),
    ],
)
def test_a_wrong_architecture_is_named(
    family: str, made: Callable[[Path], Path], words: tuple[str, ...], tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        load_pair(pair_file(tmp_path, family, made(tmp_path / "drafter")), device="cpu")
    assert all(word in str(caught.value) for word in words)
    assert "\n" not in str(caught.value)


def test_a_feature_drafter_must_fit_its_verifier(tmp_path: Path) -> None:
    verifier = qwen3_checkpoint(tmp_path / "verifier", hidden_size=32)
    with pytest.raises(InputError, match=r"width 16.*width 32"):
        load_pair(pair_file(tmp_path, "dflash", dflash(tmp_path / "drafter"), verifier), device="cpu")


def test_a_tokenizer_that_differs_is_named_with_its_first_differing_token(tmp_path: Path) -> None:
    drafter = dream(tmp_path / "drafter")
    table = json.loads((drafter / "tokenizer.json").read_text())
    vocabulary = table["model"]["vocab"]
    one, other = sorted(vocabulary, key=vocabulary.get)[-2:]
    vocabulary[one], vocabulary[other] = vocabulary[other], vocabulary[one]
    (drafter / "tokenizer.json").write_text(json.dumps(table))
    with pytest.raises(InputError) as caught:
        load_pair(pair_file(tmp_path, "masked", drafter), device="cpu")
    message = str(caught.value)
    assert "verifier" in message
    assert "drafter" in message
    assert repr(one) in message or repr(other) in message


@pytest.mark.parametrize(
    ("error", "words"),
    [("GatedRepoError", "gated"), ("RepositoryNotFoundError", "no repository"), ("LocalEntryNotFoundError", "network")],
)
def test_a_checkpoint_that_cannot_be_had_is_one_line(error: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx2
    import huggingface_hub
    from huggingface_hub import errors

    def refuse(*_: object, **__: object) -> None:
        kind = getattr(errors, error)
        response = httpx2.Response(403, request=httpx2.Request("GET", "https://hub.invalid"))
        raise kind("refused", response=response) if issubclass(kind, errors.HfHubHTTPError) else kind("refused")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(InputError, match=words) as caught:
        checkpoint_folder("some/model")
    assert "\n" not in str(caught.value)


def test_a_block_beyond_the_models_maximum_is_refused(tmp_path: Path) -> None:
    pair = load_pair(pair_file(tmp_path, "block-diffusion", sdar(tmp_path / "drafter")), device="cpu")
    with pytest.raises(InputError, match="at most 4"):
        pair.generate("Tom", block_size=5)


def test_a_prompt_beyond_the_context_is_refused(tmp_path: Path) -> None:
    pair = load_pair(pair_file(tmp_path, "block-diffusion", sdar(tmp_path / "drafter")), device="cpu")
    assert pair.context_length == 96 - 4
    with pytest.raises(InputError, match="context of 92"):
        pair.run_ids(pair.random_prompt(90), Settings(Effort(1), block_size=4, max_new_tokens=3))


@pytest.mark.parametrize("family", ["dflash", "dspark"])
def test_a_feature_drafter_refuses_more_than_one_step_and_says_why(family: str, tmp_path: Path) -> None:
    pair = load_pair(pair_file(tmp_path, family, FAMILIES[family](tmp_path / "drafter")), device="cpu")
    with pytest.raises(InputError, match="hidden states"):
        pair.generate("Tom", steps=2)
