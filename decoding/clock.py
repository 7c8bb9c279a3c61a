"""Time inside a round, without making the device wait."""

from __future__ import annotations

import time

import torch


class RoundClock:
    """Marks the moments of a round and reads the seconds between them once the round is over.

    On a CUDA device the marks are events on that device's current stream (which need not be the process's current
    device), and cost no synchronisation; elsewhere they are readings of the monotonic clock.
    """

    def __init__(self, device: torch.device) -> None:
        self.device, self.on_device = device, device.type == "cuda"
        self.marks: list[float | torch.cuda.Event] = []

    def mark(self) -> None:
        """Note this moment."""
        if self.on_device:
            event = torch.cuda.Event(enable_timing=True)
            event.record(torch.cuda.current_stream(self.device))
            self.marks.append(event)
        else:
            self.marks.append(time.perf_counter())

    def seconds(self) -> list[float]:
        """Seconds between successive marks; on CUDA this waits for the last of them."""
        if self.on_device:
            self.marks[-1].synchronize()  # type: ignore[union-attr]
            return [a.elapsed_time(b) / 1e3 for a, b in zip(self.marks, self.marks[1:], strict=False)]  # type: ignore[union-attr, arg-type]
        return [b - a for a, b in zip(self.marks, self.marks[1:], strict=False)]  # type: ignore[operator]
