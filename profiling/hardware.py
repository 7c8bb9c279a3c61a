"""What the device can do at best, and how much of it each cost uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from specfrontier.decoding import Pair
from specfrontier.decoding.clock import RoundClock

COPY_BYTES = {"cuda": 2**30, "cpu": 2**26}
MATRIX_SIZE = {"cuda": 8192, "cpu": 768}
REPEATS = 5


@dataclass(frozen=True)
class DeviceRates:
    """Measured ceilings of a device.

    Attributes:
        copy_bytes_per_s: bytes read and written a second by a copy of a large tensor.
        matrix_flops_per_s: floating-point operations a second of a large square matrix product in the model's dtype.
    """

    copy_bytes_per_s: float
    matrix_flops_per_s: float


@dataclass(frozen=True)
class ForwardUse:
    """One forward of a model against the device's ceilings.

    Attributes:
        name: what was run.
        seconds: its time.
        flops: floating-point operations, counted by torch over matrix products and attention.
        bytes: of weights, each read once a forward, and of a verifier's cache: the least that must be moved.
        bandwidth_share: bytes a second over the copy rate, a fraction.
        matrix_share: flops a second over the matrix rate, a fraction.
    """

    name: str
    seconds: float
    flops: int
    bytes: int
    bandwidth_share: float
    matrix_share: float


def device_rates(device: torch.device, dtype: torch.dtype) -> DeviceRates:
    """Measure the ceilings, best of a few repetitions."""
    elements = COPY_BYTES.get(device.type, COPY_BYTES["cpu"]) // 4
    source = torch.ones(elements, dtype=torch.float32, device=device)
    target = torch.empty_like(source)
    n = MATRIX_SIZE.get(device.type, MATRIX_SIZE["cpu"])
    a, b = (torch.ones(n, n, dtype=dtype, device=device) for _ in range(2))
    with torch.inference_mode():
        copy_s = _best(lambda: target.copy_(source), device)
        matrix_s = _best(lambda: torch.mm(a, b), device)
    return DeviceRates(2 * source.nbytes / copy_s, 2 * n**3 / matrix_s)


def verifier_use(pair: Pair, rates: DeviceRates, block_size: int, context: int, seconds: float) -> ForwardUse:
    """The verifier's forward over `block_size` drafted tokens plus one, after `context` tokens."""
    verifier = replace(pair.engine.verifier, compiler=None)  # a compiled forward's kernels are not counted
    session = verifier.session()
    tokens = torch.zeros(context + block_size + 1, dtype=torch.long, device=verifier.device)
    with torch.inference_mode():
        session.forward(tokens[:context], rows=1)
        session.rollback(0)
        with count_flops() as counter:
            session.forward(tokens[context:])
    moved = weight_bytes(verifier.network) + _cache_bytes(verifier.network, context)
    return _use(f"verify B={block_size} context={context}", seconds, counter.get_total_flops(), moved, rates)


def draft_use(pair: Pair, rates: DeviceRates, name: str, draft: Callable[[], int], seconds: float) -> ForwardUse | None:
    """One draft; `draft` runs it and returns the forwards that it took. None if the drafter shows no weights.

    Its bytes are those of the weights, once a forward: the keys and values that some families keep of the prefix are
    not counted, so that the true share of the bandwidth is higher, the more so the longer the prefix.
    """
    network = _network_of(pair.engine.drafter)
    if network is None:
        return None
    with torch.inference_mode(), count_flops() as counter:
        forwards = draft()
    return _use(name, seconds, counter.get_total_flops(), forwards * weight_bytes(network), rates)


def count_flops() -> FlopCounterMode:
    """Torch's counter of floating-point operations, taught torch's attention on a CPU, which it passes over."""

    def attention(query: Tensor, key: Tensor, value: Tensor, *_: Any, out_val: Any = None, **__: Any) -> int:
        return sdpa_flop_count(query.shape, key.shape, value.shape)

    attention._get_raw = True  # type: ignore[attr-defined]
    on_cpu = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    return FlopCounterMode(display=False, custom_mapping={on_cpu: attention})


def _network_of(drafter: object) -> nn.Module | None:
    """The network behind a drafter, however its family wraps it; None for a drafter without one (n-grams)."""
    found: object = drafter
    while found is not None and not isinstance(found, nn.Module):
        found = getattr(found, "network", None) or getattr(found, "model", None)
    return found


def weight_bytes(network: nn.Module) -> int:
    """Bytes of the weights that a forward reads; an embedding table is looked up, not read, unless tied to the head."""
    head = getattr(network, "lm_head", None)
    tied = getattr(head, "weight", None)
    tables = {id(module.weight) for module in network.modules() if isinstance(module, nn.Embedding)} - {id(tied)}
    return sum(p.nbytes for p in network.parameters() if id(p) not in tables)


def _cache_bytes(network: nn.Module, context: int) -> int:
    config = network.config.get_text_config()  # type: ignore[operator, union-attr]
    heads = config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    shared = getattr(config, "num_key_value_heads", None) or heads
    width = next(network.parameters()).element_size()
    return 2 * config.num_hidden_layers * shared * size * context * width


def _use(name: str, seconds: float, flops: int, moved: int, rates: DeviceRates) -> ForwardUse:
    return ForwardUse(
        name=name,
        seconds=seconds,
        flops=flops,
        bytes=moved,
        bandwidth_share=moved / seconds / rates.copy_bytes_per_s,
        matrix_share=flops / seconds / rates.matrix_flops_per_s,
    )


def _best(work: Callable[[], object], device: torch.device) -> float:
    work()
    times = []
    for _ in range(REPEATS):
        clock = RoundClock(device)
        clock.mark()
        work()
        clock.mark()
        times.append(clock.seconds()[0])
    return min(times)
