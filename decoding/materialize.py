"""Put weights into a network: from a checkpoint, one to one, or random numbers of its shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn

from specfrontier.decoding.checkpoints import Checkpoint, read_weights
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
    if checkpoint.folder is None:
        shapes = {name: tensor.shape for name, tensor in network.state_dict().items() if tensor.is_floating_point()}
        whole = {name: t for name, t in network.state_dict().items() if not t.is_floating_point()}
        weights = random_tensors(shapes, device, dtype)
        weights.update({name: torch.arange(len(t), device=device) for name, t in whole.items()})
    else:
        weights = stored_weights(checkpoint, device, dtype, shared)
    fill(network, weights, checkpoint.name)
    return network.to(device).eval().requires_grad_(False)


def stored_weights(
    checkpoint: Checkpoint, device: torch.device, dtype: torch.dtype, shared: dict[str, Tensor] | None = None
) -> dict[str, Tensor]:
    """A checkpoint's tensors and the `shared` ones, in place; integers stay integers."""
    assert checkpoint.folder is not None
    stored = read_weights(checkpoint.folder) | (shared or {})
    return {name: t.to(device, dtype if t.is_floating_point() else None) for name, t in stored.items()}


def fill(network: nn.Module, weights: dict[str, Tensor], source: str) -> None:
    """Make `weights` the parameters of `network`; a head that is tied to the embedding may be absent or repeated."""
    tie = getattr(network, "tie_weights", None)
    config = getattr(network, "config", None)
    tied = getattr(config, "tie_word_embeddings", False) and "lm_head.weight" in network.state_dict()
    if tie is not None and tied:
        weights = {**weights, "lm_head.weight": weights["model.embed_tokens.weight"]}
    try:
        missing, unexpected = network.load_state_dict(weights, strict=False, assign=True)
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise InputError(f"{source} does not fit its configuration: {reason}; download it again") from error
    if missing or unexpected:
        word, name = ("lacks", missing[0]) if missing else ("holds unexpected", unexpected[0])
        raise InputError(f"{source} {word} tensor {name}; its architecture is not the one the pair file names")
    if tie is not None:
        tie()


def random_tensors(shapes: dict[str, torch.Size], device: torch.device, dtype: torch.dtype) -> dict[str, Tensor]:
    """Weights for measuring costs: small random matrices, norms of one."""
    generator = torch.Generator(device).manual_seed(0)
    tensors = {}
    for name, shape in shapes.items():
        tensor = torch.empty(shape, device=device, dtype=dtype)
        tensors[name] = tensor.fill_(1.0) if "norm" in name else tensor.normal_(0, 0.02, generator=generator)
    return tensors
