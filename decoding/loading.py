"""From a pair file to a pair that can generate."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from specfrontier.decoding.causal import CausalModel
from specfrontier.decoding.checkpoints import checkpoint_folder, read_config
from specfrontier.decoding.drafters.families import Build, build_drafter
from specfrontier.decoding.engine import Engine
from specfrontier.decoding.pair import Pair
from specfrontier.decoding.pair_file import PairFile, read_pair_file
from specfrontier.errors import InputError


def load_pair(
    name_or_path: str,
    *,
    device: str | torch.device | None = None,
    drafter_device: str | torch.device | None = None,
    dtype: torch.dtype | None = None,
    options: dict[str, Any] | None = None,
) -> Pair:
    """Load a pair by its shipped name or the path of its TOML file.

    Args:
        name_or_path: such as `arith-masked`, or `mine.toml`.
        device: of the verifier; None is CUDA where there is one, else the CPU.
        drafter_device: of the drafter; None is the verifier's.
        dtype: of both models; None is bfloat16 on CUDA and float32 on a CPU.
        options: keys of the file's [drafter] to change, such as `{"order": "prefix", "schedule": "doubling"}`.

    Raises:
        InputError: if the pair is unknown or invalid, a checkpoint cannot be read, or the vocabularies differ.
    """
    pair_file = read_pair_file(name_or_path)
    if options:
        drafter = replace(pair_file.drafter, options={**pair_file.drafter.options, **options})
        pair_file = replace(pair_file, drafter=drafter)
    verifier_device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    dtype = dtype or (torch.bfloat16 if verifier_device.type == "cuda" else torch.float32)
    return _assemble(pair_file, verifier_device, torch.device(drafter_device or verifier_device), dtype)


def _assemble(pair_file: PairFile, device: torch.device, drafter_device: torch.device, dtype: torch.dtype) -> Pair:
    verifier_folder = checkpoint_folder(pair_file.verifier.checkpoint, pair_file.verifier.revision)
    drafter_folder = checkpoint_folder(pair_file.drafter.checkpoint, pair_file.drafter.revision)
    tokenizer = load_tokenizer(verifier_folder)
    check_vocabularies(tokenizer, verifier_folder, drafter_folder)
    verifier = load_causal(verifier_folder, device, dtype)
    vocab_size = min(_vocab_size(verifier_folder), _vocab_size(drafter_folder))
    drafter = build_drafter(
        pair_file.drafter.family,
        Build(
            folder=drafter_folder,
            sampling=pair_file.drafter.sampling,
            options=pair_file.drafter.options,
            verifier=verifier,
            tokenizer=tokenizer,
            vocab_size=vocab_size,
            device=drafter_device,
            dtype=dtype,
        ),
    )
    if drafter.feature_layers:
        verifier = CausalModel(verifier.network, drafter.feature_layers)
    engine = Engine(verifier, pair_file.verifier.sampling, drafter, vocab_size, end_ids(verifier, tokenizer))
    return Pair(pair_file, engine, tokenizer)


def load_causal(folder: Path, device: torch.device, dtype: torch.dtype) -> CausalModel:
    """A causal model of transformers from a checkpoint's folder; its own code is never run."""
    try:
        network = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, use_safetensors=True, trust_remote_code=False
        )
    except Exception as error:  # transformers, safetensors and the file system each raise their own
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"cannot load a causal model from {folder}: {reason}") from error
    return CausalModel(network.to(device).eval().requires_grad_(False))


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a checkpoint."""
    try:
        if _names_plain_tokenizer(folder):
            # The automatic class would go by the model's type and put Qwen2's own splitting in its place.
            return PreTrainedTokenizerFast.from_pretrained(folder)
        return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"cannot load a tokenizer from {folder}: {reason}") from error


def _names_plain_tokenizer(folder: Path) -> bool:
    path = folder / "tokenizer_config.json"
    named = json.loads(path.read_text(encoding="utf-8")).get("tokenizer_class") if path.exists() else None
    return named in ("PreTrainedTokenizerFast", "TokenizersBackend")


def check_vocabularies(tokenizer: PreTrainedTokenizerBase, verifier: Path, drafter: Path) -> None:
    """Raise unless both checkpoints have the same tokens at the same ids (padded tables apart)."""
    if not (drafter / "tokenizer_config.json").exists() and not (drafter / "tokenizer.json").exists():
        return  # drafters that are shipped without a tokenizer use the verifier's
    ours, theirs = tokenizer.get_vocab(), load_tokenizer(drafter).get_vocab()
    mask_only = set(ours) ^ set(theirs)
    differing = sorted(
        (token for token in ours.keys() & theirs.keys() if ours[token] != theirs[token]),
        key=lambda t: ours[t],
    )
    plain = [token for token in sorted(mask_only) if not _is_special(token)]
    if differing or plain:
        token = (differing or plain)[0]
        raise InputError(
            f"tokenizers differ: {verifier.name} has {len(ours)} tokens, {drafter.name} has {len(theirs)}; the first "
            f"that differs is {token!r}; a drafter must share its verifier's vocabulary"
        )


def _is_special(token: str) -> bool:
    """Added tokens in angle brackets or [CAPITALS] may exist on one side only: a mask, a padding, a beginning."""
    return token.startswith(("<|", "[", "<")) and token.endswith(("|>", "]", ">"))


def _vocab_size(folder: Path) -> int:
    config = read_config(folder)
    return int((config.get("text_config") or config)["vocab_size"])


def end_ids(verifier: CausalModel, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """Every id that ends an output, from the tokenizer and the generation configuration."""
    ids: set[int] = set()
    generation: Any = getattr(verifier.network, "generation_config", None)
    for value in (tokenizer.eos_token_id, getattr(generation, "eos_token_id", None)):
        if isinstance(value, int):
            ids.add(value)
        elif value is not None:
            ids.update(value)
    return frozenset(ids)
