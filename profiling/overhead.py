"""What of a round is no model's forward: drawing tokens, deciding, and what stands around the forwards.

A round's clock cannot tell. A draft's seconds hold the drafter's forwards and the drawing of its tokens alike, so the
forwards of a few generations are timed by themselves, by hooks on the networks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import isnan, nan
from statistics import fmean
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from specfrontier.decoding import Generation, Pair
from specfrontier.decoding.clock import RoundClock
from specfrontier.profile import Profile

GENERATIONS = 3
"""Timed for each effort of a profile."""


@dataclass(frozen=True)
class Overhead:
    """Shares of a round's seconds that are no model's forward; NaN where that cannot be told.

    Attributes:
        drawing: around the drafter's forwards, mostly drawing the draft's tokens.
        feeding: around the verifier's forward.
        deciding: acceptance and bookkeeping.
    """

    drawing: float
    feeding: float
    deciding: float

    @property
    def share(self) -> float:
        """All of them, a fraction of the round."""
        return self.drawing + self.feeding + self.deciding


UNKNOWN = Overhead(nan, nan, nan)


def measure_overhead(pair: Pair, generations: Sequence[Callable[[], Generation]]) -> Overhead:
    """The overhead of a pair's rounds: that of the generation in the middle, as pauses of the machine spoil some.

    The first generation runs once more beforehand, to warm up and to see which networks the decoder calls. Unknown
    for a compiled verifier, which hooks would recompile, and for a network on several devices, which no clock times.

    Args:
        generations: each runs Algorithm 1 once, untraced; at least one.
    """
    if pair.engine.verifier.compiler is not None:
        return UNKNOWN
    with Forwards() as seen:
        generations[0]()
    if any(len({p.device for p in network.parameters()}) > 1 for network in seen.networks):
        return UNKNOWN
    found = [_overhead(pair, generate, seen.networks) for generate in generations]
    return sorted(found, key=lambda overhead: overhead.share)[len(found) // 2]


def with_overhead(profile: Profile, overheads: Sequence[Overhead]) -> Profile:
    """The profile with the overhead of each of its efforts, and the mean over those that are known."""
    pairs = zip(profile.efforts, overheads, strict=True)
    efforts = tuple(replace(effort, host_share=overhead.share) for effort, overhead in pairs)
    known = [effort.host_share for effort in efforts if not isnan(effort.host_share)]
    return replace(profile, efforts=efforts, host_share=fmean(known) if known else nan)


def _overhead(pair: Pair, generate: Callable[[], Generation], networks: Iterable[nn.Module]) -> Overhead:
    with Forwards(networks) as forwards:
        out = generate()
    verifier = pair.engine.verifier.network
    drafting = forwards.seconds(lambda network: network is not verifier)
    verifying = forwards.seconds(lambda network: network is verifier) - out.prefill_s  # which is a forward, of no round
    return Overhead(
        drawing=(sum(r.draft_s for r in out.rounds) - drafting) / out.decode_s,
        feeding=(sum(r.verify_s for r in out.rounds) - verifying) / out.decode_s,
        deciding=sum(r.accept_s for r in out.rounds) / out.decode_s,
    )


class Forwards:
    """Times the forwards that begin while it is entered; one that runs inside another counts with that other.

    Args:
        networks: whose forwards are timed; None times those of every module, which makes them slower.
    """

    def __init__(self, networks: Iterable[nn.Module] | None = None) -> None:
        self._hooked = None if networks is None else tuple(networks)
        self._calls: list[tuple[nn.Module, RoundClock]] = []
        self._depth = 0

    def __enter__(self) -> Forwards:
        if self._hooked is None:
            before = [register_module_forward_pre_hook(self._begin)]
            after = [register_module_forward_hook(self._end, always_call=True)]
        else:
            before = [network.register_forward_pre_hook(self._begin) for network in self._hooked]
            after = [network.register_forward_hook(self._end, always_call=True) for network in self._hooked]
        self._handles = [*before, *after]
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()

    @property
    def networks(self) -> tuple[nn.Module, ...]:
        """Those that were called, each once, not from inside another."""
        return tuple(dict.fromkeys(network for network, _ in self._calls))

    def seconds(self, chosen: Callable[[nn.Module], bool]) -> float:
        """Seconds of the forwards of chosen networks."""
        return sum(clock.seconds()[0] for network, clock in self._calls if chosen(network))

    def _begin(self, network: nn.Module, _: Any) -> None:
        if self._depth == 0:
            self._calls.append((network, RoundClock(_device(network))))
            self._calls[-1][1].mark()
        self._depth += 1

    def _end(self, *_: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._calls[-1][1].mark()


def _device(network: nn.Module) -> torch.device:
    """Where a network's first tensor is; the CPU for one without any, which launches nothing of its own."""
    tensor = next(chain(network.parameters(), network.buffers()), None)
    return torch.device("cpu") if tensor is None else tensor.device
