"""Progress of a sweep: a bar on a terminal, nothing elsewhere, and a remaining time that knows what is left."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn


class RemainingTime:
    """Seconds left, from what each configuration has cost so far.

    Configurations differ in cost by an order of magnitude, so time per problem over all of them would promise too
    much or too little whenever the rest is not like the past.
    """

    def __init__(self, pending: Iterable[str]) -> None:
        self.pending = Counter(pending)
        self.count: Counter[str] = Counter()
        self.spent: Counter[str] = Counter()

    def done(self, key: str, seconds: float) -> None:
        """A problem of configuration `key` took this long."""
        self.pending[key] -= 1
        self.count[key] += 1
        self.spent[key] += seconds  # type: ignore[assignment]

    def drop(self, key: str, problems: int = 1) -> None:
        """Problems that need not be run after all."""
        self.pending[key] = max(0, self.pending[key] - problems)

    @property
    def left(self) -> int:
        """Problems left."""
        return sum(self.pending.values())

    def seconds(self) -> float | None:
        """Expected seconds left; None before anything is known."""
        if not self.count:
            return None
        overall = sum(self.spent.values()) / sum(self.count.values())
        return float(
            sum(
                left * (self.spent[key] / self.count[key] if self.count[key] else overall)
                for key, left in self.pending.items()
            )
        )


class SweepProgress:
    """A bar on standard error while standard error is a terminal.

    Args:
        pending: keys of the configurations to run, one a problem.
        console: to draw on; standard error if None.
        end: reading of the monotonic clock at which the sweep stops whatever is left.
    """

    def __init__(self, pending: Iterable[str], console: Console | None = None, end: float | None = None) -> None:
        self.end = end
        self.remaining = RemainingTime(pending)
        console = console or Console(stderr=True)
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("measuring", total=self.remaining.left, left="")

    def __enter__(self) -> SweepProgress:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def done(self, key: str, label: str, seconds: float) -> None:
        """A problem was measured."""
        self.remaining.done(key, seconds)
        self._show(label)

    def drop(self, key: str, problems: int = 1) -> None:
        """Problems that another process did, or whose configuration failed."""
        self.remaining.drop(key, problems)
        self._show("")

    def _show(self, label: str) -> None:
        seconds = self.remaining.seconds()
        if seconds is not None and self.end is not None:
            seconds = min(seconds, max(0.0, self.end - time.monotonic()))
        left = "" if seconds is None else f"{timedelta(seconds=round(seconds))} left"
        total = self.bar.tasks[0].total or 0
        self.bar.update(self.task, completed=total - self.remaining.left, description=label or "measuring", left=left)
