"""Tokenizers, and whether two checkpoints share one vocabulary."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from specfrontier.decoding.checkpoints import REMEDY, Checkpoint
from specfrontier.decoding.config_table import ConfigTable, read_table
from specfrontier.errors import InputError, first_line


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a checkpoint; its own code is never run."""
    try:
        if _names_plain_tokenizer(folder):
            # The automatic class would go by the model's type and put Qwen2's own splitting in its place.
            return PreTrainedTokenizerFast.from_pretrained(folder)
        return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except InputError:
        raise
    except Exception as error:  # transformers, tokenizers and the file system each raise their own
        raise InputError(f"cannot load a tokenizer from {folder}: {first_line(error)}") from error


def stand_in_tokenizer() -> PreTrainedTokenizerBase:
    """A tokenizer that knows nothing, for pairs of random weights."""
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"?": 0}, unk_token="?")), unk_token="?")


def read_vocabulary(folder: Path) -> dict[str, int] | None:
    """Token to id, read from a checkpoint's files without building its tokenizer; None if it ships none.

    Dream's tokenizer is code of its own, but its vocabulary lies in plain files.
    """
    if (folder / "tokenizer.json").is_file():
        table = read_table(folder / "tokenizer.json", REMEDY)
        vocabulary = _ids_of(table.table("model"))
        try:
            vocabulary |= {token["content"]: token["id"] for token in table.get("added_tokens") or ()}
        except (KeyError, TypeError):
            raise table.refusal("added_tokens", "give a list of objects with content and id") from None
    elif (folder / "vocab.json").is_file():
        vocabulary = dict(read_table(folder / "vocab.json", REMEDY))
    else:
        return None
    if (folder / "added_tokens.json").is_file():
        vocabulary |= read_table(folder / "added_tokens.json", REMEDY)
    for token, at in vocabulary.items():
        if not isinstance(token, str) or not isinstance(at, int):
            raise InputError(f"the tokenizer files of {folder} give {token!r} the id {at!r}, no integer; {REMEDY}")
    return vocabulary


def _ids_of(model: ConfigTable) -> dict[str, int]:
    """Token to id; Unigram models list their tokens, with a score each, in the order of their ids."""
    listed = model.get("vocab")
    if not isinstance(listed, list):
        return dict(model.table("vocab"))
    try:
        return {token: i for i, (token, _) in enumerate(listed)}
    except (TypeError, ValueError):
        raise model.refusal("vocab", "give pairs of a token and its score") from None


def check_vocabularies(verifier: Checkpoint, drafter: Checkpoint) -> None:
    """Raise unless both checkpoints have the same tokens at the same ids.

    Padded tables may differ, and so may special tokens that only one side has. A drafter that ships no tokenizer
    uses its verifier's.
    """
    if verifier.folder is None or drafter.folder is None or verifier.folder == drafter.folder:
        return
    ours, theirs = read_vocabulary(verifier.folder), read_vocabulary(drafter.folder)
    if ours is None or theirs is None:
        return
    differing = [token for token in ours.keys() & theirs.keys() if ours[token] != theirs[token]]
    differing += [token for token in ours.keys() ^ theirs.keys() if not _is_special(token)]
    if differing:
        both = ours | theirs
        token = min(differing, key=lambda t: (both[t], t))
        here, there = (f"id {v[token]}" if token in v else "absent" for v in (ours, theirs))
        raise InputError(
            f"tokenizers differ: {verifier.name} has {len(ours)} tokens, {drafter.name} has {len(theirs)}; the first "
            f"that differs is {token!r} ({here} and {there}); a drafter must share its verifier's vocabulary"
        )


def _names_plain_tokenizer(folder: Path) -> bool:
    path = folder / "tokenizer_config.json"
    named = read_table(path, REMEDY).get("tokenizer_class") if path.exists() else None
    return named in ("PreTrainedTokenizerFast", "TokenizersBackend")


def _is_special(token: str) -> bool:
    """Added tokens in angle brackets or [CAPITALS] may exist on one side only: a mask, a padding, a beginning."""
    return token.startswith(("<|", "[", "<")) and token.endswith(("|>", "]", ">"))
