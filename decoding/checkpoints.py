"""Find a checkpoint's folder and read its safetensors, or say in one line why not."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from specfrontier.errors import InputError

EMBEDDED = "embedded:"
WANTED_FILES = ["*.json", "*.safetensors", "*.jinja", "*.txt", "*.model", "adapter/*"]


def checkpoint_folder(checkpoint: str, revision: str | None = None) -> Path:
    """The folder that holds a checkpoint; a Hugging Face repository is downloaded unless it is cached.

    Raises:
        InputError: if it is missing, gated, or cannot be reached.
    """
    if checkpoint.startswith(EMBEDDED):
        name = checkpoint.removeprefix(EMBEDDED)
        folder = Path(str(resources.files("specfrontier.decoding") / "weights" / name))
        if not folder.is_dir():
            raise InputError(f"no embedded weights named {name!r}; reinstall the package")
        return folder
    if Path(checkpoint).is_dir():
        return Path(checkpoint)
    if checkpoint.startswith((".", "/", "~")):
        raise InputError(f"no folder at {checkpoint}; give an existing folder or a Hugging Face repository")
    return _download(checkpoint, revision)


def _download(repository: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    try:
        return Path(snapshot_download(repository, revision=revision, allow_patterns=WANTED_FILES))
    except GatedRepoError as error:
        raise InputError(
            f"{repository} is gated; accept its licence on its page and log in with `hf auth login`"
        ) from error
    except RepositoryNotFoundError as error:
        raise InputError(f"no repository {repository} on the hub; check the name in the pair file") from error
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        raise InputError(
            f"cannot download {repository} ({type(error).__name__}); connect to the network, or put a folder's path "
            "in the pair file"
        ) from error


def read_config(folder: Path) -> dict[str, Any]:
    """The checkpoint's `config.json`."""
    path = folder / "config.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{folder} holds no config.json; give the folder of a checkpoint") from error
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is not valid JSON ({error}); download the checkpoint again") from error


def read_weights(folder: Path) -> dict[str, Tensor]:
    """All tensors of a checkpoint, from one file or from shards. Only safetensors are read."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    else:
        names = ["model.safetensors"]
    weights: dict[str, Tensor] = {}
    for name in names:
        try:
            weights.update(load_file(folder / name))
        except FileNotFoundError as error:
            raise InputError(f"{folder} lacks {name}; only safetensors checkpoints are loaded") from error
        except SafetensorError as error:
            raise InputError(f"{folder / name} is damaged or truncated ({error}); download it again") from error
    return weights


def load_into(network: nn.Module, weights: dict[str, Tensor], source: Path, dtype: torch.dtype) -> nn.Module:
    """Load `weights` into `network` one to one, in evaluation mode; a tied head may be absent from the file."""
    network = network.to(dtype)
    missing, unexpected = network.load_state_dict(weights, strict=False)
    tied = {"lm_head.weight"} if getattr(network, "config", None) and network.config.tie_word_embeddings else set()
    missing = [name for name in missing if name not in tied]
    if missing or unexpected:
        name = (missing or unexpected)[0]
        word = "lacks" if missing else "holds unexpected"
        raise InputError(f"{source} {word} tensor {name}; its architecture is not the one the pair file names")
    return network.eval().requires_grad_(False)
