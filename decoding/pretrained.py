"""Models loaded by transformers. It gives random numbers to what a checkpoint lacks, and a warning: here, an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from specfrontier.decoding.checkpoints import REMEDY, Checkpoint
from specfrontier.decoding.config_table import ConfigTable
from specfrontier.errors import InputError

LONGEST_SAID = 200

SIZES = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "max_position_embeddings",
)


def check_sizes(config: ConfigTable) -> None:
    """Raise InputError if a size that the configuration states is not one.

    Families name their sizes differently, so that none but the vocabulary's is asked for.
    """
    config.integer("vocab_size")
    for name in SIZES:
        config.optional_integer(name)
    for name in ("rope_theta", "rms_norm_eps"):
        if config.has(name):
            config.number(name)


def from_folder(model: Any, checkpoint: Checkpoint, **settings: Any) -> Any:
    """`model.from_pretrained`, from safetensors alone, with every tensor there in its shape.

    Raises:
        InputError: if the checkpoint lacks a tensor, or has another shape of one.
    """
    network, report = model.from_pretrained(
        str(checkpoint.folder),
        use_safetensors=True,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # its own error says no more than that there are some
        **settings,
    )
    if report["missing_keys"]:
        raise InputError(f"{checkpoint.folder} lacks tensor {min(report['missing_keys'])}; {REMEDY}")
    if report["mismatched_keys"]:
        name, theirs, ours = min(report["mismatched_keys"])
        raise InputError(
            f"{checkpoint.folder} does not fit its configuration: tensor {name} is {list(theirs)}, not {list(ours)}; "
            f"{REMEDY}"
        )
    return network


@contextmanager
def transformers_errors(what: str) -> Iterator[None]:
    """Turn whatever loading raises into one line that says what could not be loaded."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # transformers, safetensors and the file system each raise their own
        said = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"cannot load {what}: {said[:LONGEST_SAID]}; {REMEDY}") from error
