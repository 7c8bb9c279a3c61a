"""Costs of a machine that was not measured, from a roofline of its bandwidth and matrix rate.

A forward reads the weights that its tokens use and the cache of every sequence, and multiplies; it takes the longer of
the two, plus a fixed launch time. Small blocks are bound by the weights' bytes, so extra positions are free until
compute takes over: the reason that verification is cheap, and that it stops being so in large batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specfrontier.errors import InputError
from specfrontier.simulate.costs import Costs, DraftCost, VerifySurface
from specfrontier.simulate.grid import Effort

__all__ = ["DEVICES", "Device", "ModelShape", "RooflineDraft", "forward_seconds", "roofline_costs"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Device:
    """An accelerator.

    Args:
        name: what it is called.
        bandwidth: bytes a second that a forward really streams.
        matrix_rate: multiply-add operations count as two: operations a second that it really reaches.
        launch_s: seconds of a forward that does nothing.
    """

    name: str
    bandwidth: float
    matrix_rate: float
    launch_s: float = 0.0

    def __post_init__(self) -> None:
        for name in ("bandwidth", "matrix_rate"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} of {self.name} is {getattr(self, name)}; give a rate > 0 a second")
        if not 0 <= self.launch_s < np.inf:
            raise InputError(f"launch_s of {self.name} is {self.launch_s}; give seconds >= 0")

    def at_efficiency(self, bandwidth: float, matrix_rate: float) -> Device:
        """The device at shares in (0, 1] of its rates, such as those fitted on a measured forward."""
        for name, share in (("bandwidth", bandwidth), ("matrix_rate", matrix_rate)):
            if not 0 < share <= 1:
                raise InputError(f"the share of {name} is {share}; give a number in (0, 1]")
        return replace(self, bandwidth=self.bandwidth * bandwidth, matrix_rate=self.matrix_rate * matrix_rate)


#: Peak dense bf16 rates and memory bandwidths of the makers' data sheets.
DEVICES = {
    device.name: device
    for device in (
        Device("a100-80gb", 2.04e12, 312e12),
        Device("h100-sxm", 3.35e12, 989e12),
        Device("h200", 4.8e12, 989e12),
        Device("rtx-4090", 1.01e12, 165e12),
    )
}


@dataclass(frozen=True)
class ModelShape:
    """What a transformer's forward reads and multiplies.

    Args:
        parameters: weights read by a forward.
        bytes_per_parameter: 2 for bf16.
        cache_bytes_per_token: keys and values of one token over all layers.
        attention_width: heads times head size times layers, for the operations of attention over the context.
        active_parameters: weights that one token multiplies; None for all (fewer in a mixture of experts).
    """

    parameters: float
    bytes_per_parameter: float = 2.0
    cache_bytes_per_token: float = 0.0
    attention_width: float = 0.0
    active_parameters: float | None = None

    def __post_init__(self) -> None:
        if not (0 < self.parameters < np.inf and 0 < self.bytes_per_parameter < np.inf):
            raise InputError(
                f"parameters and bytes_per_parameter are {self.parameters} and {self.bytes_per_parameter}; give > 0"
            )
        for name in ("cache_bytes_per_token", "attention_width"):
            _refuse_unless_amount(name, getattr(self, name))
        if self.active_parameters is not None and not 0 < self.active_parameters < np.inf:
            raise InputError(f"active_parameters is {self.active_parameters}; give a number > 0, or None for all")


@dataclass(frozen=True)
class RooflineDraft(DraftCost):
    """c_d of one effort where each forward over B positions costs what a roofline says, at every B.

    Bytes bound it in small blocks and operations in large ones: no line in B holds both.

    Args:
        forward: seconds of a forward over B positions, on the scale of `per_forward`, its seconds at `block_size`.
    """

    forward: Callable[[ArrayLike], FloatArray] = field(kw_only=True)

    def __call__(self, block_size: ArrayLike, forwards: ArrayLike | None = None) -> FloatArray:
        """Seconds of a draft."""
        count = np.asarray(self.forwards if forwards is None else forwards, dtype=np.float64)
        return count * self.per_forward * self.forward(block_size) / self.forward(self.block_size)


def forward_seconds(
    device: Device, model: ModelShape, tokens: ArrayLike, context: ArrayLike, batch: int = 1
) -> FloatArray:
    """Seconds of a forward over `tokens` new tokens in each of `batch` sequences, after `context` tokens each.

    Sequences share the reading of the weights and nothing else.
    """
    new, before = np.asarray(tokens, dtype=np.float64), np.asarray(context, dtype=np.float64)
    used = min(model.active_parameters or model.parameters, model.parameters)
    read = model.parameters * model.bytes_per_parameter + batch * model.cache_bytes_per_token * (before + new)
    operations = batch * new * (2 * used + 4 * model.attention_width * (before + new / 2))
    found: FloatArray = device.launch_s + np.maximum(read / device.bandwidth, operations / device.matrix_rate)
    return found


def roofline_costs(
    device: Device,
    verifier: ModelShape,
    drafter: ModelShape,
    efforts: dict[Effort, float],
    *,
    block_size: int,
    contexts: Sequence[int],
    prompt_tokens: float,
    host_s: float = 0.0,
    batch: int = 1,
    drafter_rereads: bool = True,
) -> Costs:
    """Costs to pass to ``predict`` in place of the profile's.

    Seconds are those of a step of the whole batch, so predicted latency is each sequence's, and throughput too is one
    sequence's: the batch together emits `batch` times as much.

    Args:
        device: the machine.
        verifier, drafter: the two models.
        efforts: drafter forwards a draft, by effort (a profile has them: ``EffortProfile.forwards``), >= 0.
        block_size: the largest B that is asked for; nodes of the verify surface are all up to it.
        contexts: nodes of the verify surface, each once.
        prompt_tokens: mean prompt length, >= 0.
        host_s: seconds of a round outside the forwards, >= 0.
        batch: sequences decoded together, >= 1.
        drafter_rereads: whether each drafter forward takes the whole context anew, as a drafter with bidirectional
            attention over the prefix does, rather than from a cache.

    Raises:
        InputError: if an argument is empty, out of range or no number.
    """
    if not 1 <= batch < np.inf or not contexts:
        raise InputError(f"batch is {batch} with {len(contexts)} contexts; give a batch >= 1 and at least one context")
    if not 1 <= block_size < np.inf or not all(0 <= context < np.inf for context in contexts):
        raise InputError(f"block_size is {block_size} at contexts {list(contexts)}; give B >= 1 and contexts >= 0")
    amounts = {"prompt_tokens": prompt_tokens, "host_s": host_s}
    for name, amount in (amounts | {f"forwards of {e.label}": count for e, count in efforts.items()}).items():
        _refuse_unless_amount(name, amount)
    nodes = np.arange(1.0, block_size + 1)
    at = np.sort(np.asarray(contexts, dtype=np.float64))
    surface = VerifySurface(nodes, at, forward_seconds(device, verifier, nodes[:, None] + 1, at, batch))
    middle = float(at.mean())

    def forward(positions: ArrayLike) -> FloatArray:
        read, cached = (middle, 0.0) if drafter_rereads else (0.0, middle)
        return forward_seconds(device, drafter, np.asarray(positions) + read, cached, batch)

    each = float(forward(block_size))
    return Costs(
        draft={e: RooflineDraft(each * n, n, block_size, each, forward=forward) for e, n in efforts.items()},
        verify=surface,
        host_s=host_s,
        prefill_s=float(forward_seconds(device, verifier, prompt_tokens, 0.0, batch)),
        autoregressive_s=float(forward_seconds(device, verifier, 1.0, middle, batch)),
        constant_verify_s=float(surface(block_size, middle)),
    )


def _refuse_unless_amount(name: str, value: float) -> None:
    if not 0 <= value < np.inf:
        raise InputError(f"{name} is {value}; give a finite number >= 0")
