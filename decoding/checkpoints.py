"""Find a checkpoint's folder and read its safetensors, or say in one line why not."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from specfrontier.decoding.config_table import ConfigTable, read_table
from specfrontier.decoding.gguf import converted_folder, gguf_file, is_gguf
from specfrontier.errors import InputError

EMBEDDED = "embedded:"
WANTED_FILES = ["*.json", "*.safetensors", "*.jinja", "*.txt", "*.model", "adapter/*"]


REMEDY = "give the folder of a whole checkpoint (download it again)"
NONE = "none"
ARCHITECTURES = resources.files("specfrontier.decoding") / "architectures"


@dataclass(frozen=True)
class Checkpoint:
    """A model before it is loaded.

    Attributes:
        name: as the pair file gives it; `none` for a drafter that has no model.
        config: the table of its `config.json`.
        folder: where its safetensors and its tokenizer are; None for random weights of this shape.
    """

    name: str
    config: ConfigTable
    folder: Path | None

    @property
    def random(self) -> bool:
        """Whether weights are to be random numbers."""
        return self.folder is None

    @property
    def text_config(self) -> ConfigTable:
        """The part of the configuration that describes the language model."""
        return text_config(self.config)

    @property
    def architecture(self) -> str:
        """The first of `architectures`, or `none`."""
        return (self.config.texts("architectures") or ("none",))[0]

    def expect(self, *architectures: str) -> None:
        """Raise InputError unless the checkpoint is of one of these architectures."""
        if self.architecture not in architectures:
            raise InputError(
                f"{self.name} has the architecture {self.architecture}, this drafter family loads "
                f"{' or '.join(architectures)}; change the pair file's family or checkpoint"
            )


def text_config(config: ConfigTable) -> ConfigTable:
    """The part of a configuration that describes its language model; all of it where there is no other part."""
    return config.table("text_config") or config


def open_checkpoint(name: str, revision: str | None = None, *, random: bool = False) -> Checkpoint:
    """Find a checkpoint; with `random`, only its shape, which needs no download.

    Raises:
        InputError: if it is missing, gated, or cannot be reached; with `random`, if its shape is not known here.
    """
    if name == NONE:
        return Checkpoint(name, ConfigTable({}), None)
    if random:
        return Checkpoint(name, known_config(name), None)
    folder = checkpoint_folder(name, revision)
    return Checkpoint(name, read_config(folder), folder)


def known_config(name: str) -> ConfigTable:
    """The configuration of a checkpoint without downloading it: from its folder, or shipped with the project."""
    if is_gguf(name):
        raise InputError(
            f"random weights are built from a configuration, and {name} is a file of weights; load it as it is"
        )
    if name.startswith(EMBEDDED) or Path(name).is_dir():
        return read_config(checkpoint_folder(name))
    shipped = ARCHITECTURES / f"{name.replace('/', '--')}.json"
    if not shipped.is_file():
        known = sorted(Path(f.name).stem.replace("--", "/") for f in ARCHITECTURES.iterdir())
        raise InputError(f"the shape of {name} is not known here; random weights need a folder or one of {known}")
    return read_table(Path(str(shipped)), "reinstall the package")


def checkpoint_folder(checkpoint: str, revision: str | None = None) -> Path:
    """The folder that holds a checkpoint.

    A Hugging Face repository is downloaded unless it is cached, a GGUF file dequantised unless that was done before.

    Raises:
        InputError: if it is missing, gated, or cannot be reached.
    """
    if checkpoint.startswith(EMBEDDED):
        name = checkpoint.removeprefix(EMBEDDED)
        folder = Path(str(resources.files("specfrontier.decoding") / "weights" / name))
        if not folder.is_dir():
            raise InputError(f"no embedded weights named {name!r}; reinstall the package")
        return folder
    if is_gguf(checkpoint):
        return converted_folder(gguf_file(checkpoint, revision))
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


def read_config(folder: Path) -> ConfigTable:
    """The checkpoint's `config.json`."""
    return read_table(folder / "config.json", REMEDY)


def read_weights(folder: Path) -> dict[str, Tensor]:
    """All tensors of a checkpoint, from one file or from shards. Only safetensors are read."""
    weights: dict[str, Tensor] = {}
    for name in _weight_files(folder):
        weights.update(read_tensors(folder / name))
    return weights


def _weight_files(folder: Path) -> list[str]:
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return ["model.safetensors"]
    shards = read_table(index, REMEDY).table("weight_map")
    return sorted({shards.text(tensor) for tensor in shards})


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of one safetensors file.

    Raises:
        InputError: if there is none, or it is damaged.
    """
    try:
        return load_file(path)
    except FileNotFoundError as error:
        raise InputError(f"{path.parent} lacks {path.name}; only safetensors checkpoints are loaded") from error
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path} is damaged or truncated ({error}); download it again") from error
