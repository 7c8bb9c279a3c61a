"""Seconds between marks, on a CPU and on a stand-in for a CUDA device."""

from __future__ import annotations

import pytest
import torch

from specfrontier.decoding.clock import RoundClock


class FakeEvent:
    """An event that takes its milliseconds from the stream that it is recorded on."""

    waited = 0

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing

    def record(self, stream: FakeStream) -> None:
        self.at = stream.milliseconds

    def synchronize(self) -> None:
        FakeEvent.waited += 1

    def elapsed_time(self, later: FakeEvent) -> float:
        return later.at - self.at


class FakeStream:
    milliseconds = 0.0


def test_events_are_on_the_stream_of_the_models_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not of the process's current device, whose stream is idle where a pair is on another GPU."""
    streams = {0: FakeStream(), 1: FakeStream()}
    monkeypatch.setattr(torch.cuda, "Event", FakeEvent)
    monkeypatch.setattr(
        torch.cuda, "current_stream", lambda device=None: streams[0 if device is None else device.index]
    )
    monkeypatch.setattr(FakeEvent, "waited", 0)
    clock = RoundClock(torch.device("cuda:1"))
    for milliseconds in (0.0, 20.0, 50.0):
        streams[1].milliseconds = milliseconds
        clock.mark()
        assert FakeEvent.waited == 0
    assert clock.seconds() == pytest.approx([0.02, 0.03])
    assert FakeEvent.waited == 1


def test_a_cpu_reads_the_monotonic_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter((5.0, 5.5, 7.0))
    monkeypatch.setattr("time.perf_counter", lambda: next(readings))
    clock = RoundClock(torch.device("cpu"))
    for _ in range(3):
        clock.mark()
    assert clock.seconds() == [0.5, 1.5]
