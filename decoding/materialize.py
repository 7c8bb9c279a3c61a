"""Put weights into a network: from a checkpoint, one to one, or random numbers of its shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn

from specfrontier.decoding.checkpoints import Checkpoint, read_weights
from specfrontier.decoding.networks.reduced_head import ReducedHead
from specfrontier.errors import InputError

Network = TypeVar("Network", bound=nn.Module)


def load_network(
    make: Callable[[], Network],
    checkpoint: Checkpoint,
    device: torch.device,
    dtype: torch.dtype,
    shared: dict[str, Tensor] | None = None,
) -> Network:
    """Build a network and fill it, in evaluation mode.

    It is built without memory first, so that at no time two copies of a weight exist. `shared` tensors are another
    model's, which the checkpoint does not repeat.

    Raises:
        InputError: if names or shapes differ from the checkpoint's.
    """
    with torch.device("meta"):
        network = make()
    fill_from(network, checkpoint, device, dtype, shared or {})
    return network.to(device).eval().requires_grad_(False)


def fill_from(
    network: nn.Module, checkpoint: Checkpoint, device: torch.device, dtype: torch.dtype, shared: dict[str, Tensor]
) -> None:
    """Put a checkpoint's tensors, or random ones of its shape, and the `shared` ones into a network.

    Integers stay integers; those of a random checkpoint count from 0.
    """
    if checkpoint.folder is None:
        own = {name: tensor for name, tensor in network.state_dict().items() if name not in shared}
        weights = random_tensors({n: t.shape for n, t in own.items() if t.is_floating_point()}, device, dtype)
        weights |= {n: torch.arange(len(t), device=device) for n, t in own.items() if not t.is_floating_point()}
    else:
        weights = read_weights(checkpoint.folder)
    weights |= shared
    fill(
        network,
        {name: t.to(device, dtype if t.is_floating_point() else None) for name, t in weights.items()},
        checkpoint.name,
    )


def fill(network: nn.Module, weights: dict[str, Tensor], source: str) -> None:
    """Make `weights` the parameters of `network`; a head that is tied to the embedding may be absent or repeated.

    Raises:
        InputError: if names, shapes or types differ, or a reduced head's ids are no draft vocabulary.
    """
    tie = getattr(network, "tie_weights", None)
    config = getattr(network, "config", None)
    tied = getattr(config, "tie_word_embeddings", False) and "lm_head.weight" in network.state_dict()
    if tie is not None and tied and "model.embed_tokens.weight" in weights:
        weights = {**weights, "lm_head.weight": weights["model.embed_tokens.weight"]}
    check_fractions(weights, network.state_dict(), source)
    try:
        missing, unexpected = network.load_state_dict(weights, strict=False, assign=True)
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise InputError(f"{source} does not fit its configuration: {reason}; download it again") from error
    if missing or unexpected:
        word, name = ("lacks", missing[0]) if missing else ("holds unexpected", unexpected[0])
        raise InputError(f"{source} {word} tensor {name}; its architecture is not the one the pair file names")
    for head in network.modules():
        if isinstance(head, ReducedHead):
            head.check_ids(source)
    if tie is not None:
        tie()


def check_fractions(tensors: Mapping[str, Tensor], own: Mapping[str, Tensor], source: str) -> None:
    """Raise InputError if a tensor holds integers (quantised weights, say) where `own`, by the same name, does not."""
    for name, tensor in tensors.items():
        if name in own and own[name].is_floating_point() and not tensor.is_floating_point():
            raise InputError(
                f"{source} holds {tensor.dtype} in tensor {name}, where numbers with a fraction are wanted; give a "
                "checkpoint that is not quantised"
            )


def random_tensors(shapes: dict[str, torch.Size], device: torch.device, dtype: torch.dtype) -> dict[str, Tensor]:
    """Weights for measuring costs: small random matrices, norms of one."""
    generator = torch.Generator(device).manual_seed(0)
    tensors = {}
    for name, shape in shapes.items():
        tensor = torch.empty(shape, device=device, dtype=dtype)
        tensors[name] = tensor.fill_(1.0) if "norm" in name else tensor.normal_(0, 0.02, generator=generator)
    return tensors
