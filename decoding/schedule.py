"""Leniency that depends on the position in the block: one rule a position, in runs of equal rules."""

from __future__ import annotations

from dataclasses import dataclass

from specfrontier.errors import InputError
from specfrontier.theory.rules import AcceptanceRule


@dataclass(frozen=True)
class RuleSchedule:
    """Position k of a block is verified by `rules[k - 1]`, and positions past the end by the last rule.

    A schedule must be fixed before the block is drafted (from profiled distances, say): one that looks at the
    drafted tokens would break Proposition 2.
    """

    rules: tuple[AcceptanceRule, ...]

    def __post_init__(self) -> None:
        if not self.rules:
            raise InputError("a schedule has no rules; give at least one")

    @property
    def spec(self) -> str:
        """Rules in order, equal neighbours written once with their count: `linear:1.0*3,lossless*29`."""
        parts = []
        start = 0
        while start < len(self.rules):
            stop = self.run_end(start)
            stop = len(self.rules) if stop is None else stop
            parts.append(f"{self.rules[start].spec}*{stop - start}")
            start = stop
        return ",".join(parts)

    def rule_at(self, position: int) -> AcceptanceRule:
        """The rule of a 0-based position."""
        return self.rules[min(position, len(self.rules) - 1)]

    def run_end(self, position: int) -> int | None:
        """The first position after `position` (0-based) with another rule; None if there is none."""
        rule = self.rule_at(position)
        for later in range(position + 1, len(self.rules)):
            if self.rules[later] != rule:
                return later
        return None


Leniency = AcceptanceRule | RuleSchedule


def as_schedule(leniency: Leniency) -> RuleSchedule:
    """A schedule: the given one, or one rule for every position."""
    return leniency if isinstance(leniency, RuleSchedule) else RuleSchedule((leniency,))
