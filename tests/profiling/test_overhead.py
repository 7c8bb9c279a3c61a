"""The overhead of a round is what is no model's forward, wherever in the round it stands."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from math import isnan, nan
from typing import Any

import pytest
import torch
from torch import nn

from specfrontier.decoding import Generation, Pair
from specfrontier.profile import EffortProfile, Estimate, Profile
from specfrontier.profiling.overhead import UNKNOWN, Forwards, Overhead, measure_overhead, with_overhead

NAP = 0.004
"""Seconds; a sleep may take longer, never less."""


class Napping(nn.Module):
    """A network that sleeps, around another that does."""

    def __init__(self, inner: nn.Module | None = None) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        time.sleep(NAP)
        return x if self.inner is None else self.inner(x)


def slowed(function: Callable[..., Any]) -> Callable[..., Any]:
    def slow(*args: Any, **kwargs: Any) -> Any:
        time.sleep(NAP)
        return function(*args, **kwargs)

    return slow


@pytest.mark.parametrize("named", [True, False])
def test_a_forward_inside_another_counts_once(named: bool) -> None:
    inner = Napping()
    outer, x = Napping(inner), torch.ones(1)
    began = time.perf_counter()
    with Forwards([outer, inner] if named else None) as forwards:
        outer(x)
        inner(x)
        outer(x)
    passed = time.perf_counter() - began
    outer(x)  # after it was left
    assert forwards.networks == (outer, inner)
    of_outer = forwards.seconds(lambda network: network is outer)
    of_inner = forwards.seconds(lambda network: network is inner)
    assert of_outer >= 4 * NAP
    assert of_inner >= NAP
    assert of_outer + of_inner <= passed


def test_a_forward_that_fails_leaves_the_next_one_timed() -> None:
    network = Napping(nn.Linear(2, 2))
    with Forwards([network]) as forwards:
        with pytest.raises(RuntimeError):
            network(torch.ones(3))
        network(torch.ones(2))
    assert forwards.seconds(lambda _: True) >= 2 * NAP


def test_drawing_is_overhead_and_forwards_are_not(masked_pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every forward sleeps once, and so does every draft outside its forward: the share of each is at least the time
    that was slept in it, however busy the machine is."""
    networks = (masked_pair.engine.verifier.network, masked_pair.engine.drafter.network.network)  # type: ignore[attr-defined]
    for network in networks:
        monkeypatch.setattr(network, "forward", slowed(network.forward))
    monkeypatch.setattr(masked_pair.engine.drafter, "draft", slowed(masked_pair.engine.drafter.draft))  # type: ignore[attr-defined]
    runs: list[Generation] = []

    def run() -> Generation:
        runs.append(masked_pair.generate("w1 w2 w3", steps=2, max_new_tokens=8))
        return runs[-1]

    found = measure_overhead(masked_pair, [run])
    out = runs[-1]
    assert len(runs) == 2  # the first to warm up
    assert found.drawing * out.decode_s >= len(out.rounds) * NAP
    forwards = sum(r.forwards + 1 for r in out.rounds)
    assert (1 - found.share) * out.decode_s >= forwards * NAP
    assert found.feeding > 0
    assert found.deciding == pytest.approx(sum(r.accept_s for r in out.rounds) / out.decode_s)


def test_the_generation_in_the_middle_is_taken(masked_pair: Pair) -> None:
    """One of three was paused where no forward runs: nine tenths of its round are overhead, and nobody hears of it."""
    out = masked_pair.generate("w1 w2 w3", steps=1, max_new_tokens=8)
    paused = replace(out.rounds[0], accept_s=out.decode_s * 10)
    rounds = (paused, *out.rounds[1:])
    stopped = replace(out, rounds=rounds, decode_s=sum(r.seconds for r in rounds))
    found = measure_overhead(masked_pair, [lambda: out, lambda: stopped, lambda: out])
    usual = measure_overhead(masked_pair, [lambda: out])
    assert found == usual


def test_a_compiled_verifier_cannot_be_timed(masked_pair: Pair) -> None:
    verifier = replace(masked_pair.engine.verifier, compiler="eager")
    compiled = replace(masked_pair, engine=replace(masked_pair.engine, verifier=verifier))

    def run() -> Generation:
        raise AssertionError("nothing is run")

    assert isnan(measure_overhead(compiled, [run]).share)


def test_a_network_on_two_devices_cannot_be_timed(masked_pair: Pair) -> None:
    spread = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2, device="meta"))
    spread.forward = lambda x: x  # type: ignore[method-assign, assignment]

    def run() -> Generation:
        spread(torch.ones(2))
        return masked_pair.generate("w1", max_new_tokens=4)

    assert measure_overhead(masked_pair, [run]) is UNKNOWN


def test_a_profile_states_the_share_by_effort_and_its_mean_over_those_known() -> None:
    some = Estimate(0.1, 0.1, 0.1, 1)
    effort = EffortProfile(1, None, some, some, some, some, (), some, 1.0, some)
    profile = Profile("p", "t", 4, 8, (effort,) * 3, None, some, (), None, some, nan, some, some, 3.0, 8.0)
    found = with_overhead(profile, [Overhead(0.1, 0.02, 0.03), UNKNOWN, Overhead(0.2, 0.02, 0.03)])
    assert [e.host_share for e in found.efforts] == pytest.approx([0.15, nan, 0.25], nan_ok=True)
    assert found.host_share == pytest.approx(0.2)
    assert isnan(with_overhead(profile, [UNKNOWN] * 3).host_share)
