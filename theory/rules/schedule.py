"""Leniency that depends on the position in the block: one rule a position."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from specfrontier.theory.rules.base import AcceptanceRule
from specfrontier.theory.rules.registry import rule_from_spec

__all__ = ["Leniency", "RuleSchedule", "as_schedule", "leniency_from_spec"]


MOST_POSITIONS = 1 << 16
"""Positions that a spec can give rules of their own."""


@dataclass(frozen=True)
class RuleSchedule:
    """Position k of a block is verified by ``rules[k - 1]``, and positions past the end by the last rule.

    A schedule must be fixed before the block is drafted (from profiled distances, say): one that looks at the
    drafted tokens would break Proposition 2. Raises ``ValueError`` without rules.
    """

    rules: tuple[AcceptanceRule, ...]

    def __post_init__(self) -> None:
        if not self.rules:
            raise ValueError("a schedule has no rules; give at least one")

    @property
    def spec(self) -> str:
        """Rules by position, the last one for all that follow: ``linear:1.0@1-3/lossless``.

        Canonical: schedules that treat every position alike have equal specs. ``leniency_from_spec`` is the inverse.
        """
        runs = list(self.runs())
        parts = []
        for (start, rule), (stop, _) in pairwise(runs):
            positions = f"{start + 1}-{stop}" if stop > start + 1 else f"{stop}"
            parts.append(f"{rule.spec}@{positions}")
        return "/".join([*parts, runs[-1][1].spec])

    @property
    def parameter(self) -> None:
        """A schedule has no single leniency."""
        return None

    def rule_at(self, position: int) -> AcceptanceRule:
        """The rule of a 0-based position."""
        return self.rules[min(position, len(self.rules) - 1)]

    def run_end(self, position: int) -> int | None:
        """The first position after ``position`` (0-based) with another rule; None if there is none."""
        rule = self.rule_at(position)
        for later in range(position + 1, len(self.rules)):
            if self.rules[later] != rule:
                return later
        return None

    def runs(self) -> Iterator[tuple[int, AcceptanceRule]]:
        """Every run of positions with one rule: its first position (0-based), and the rule."""
        first: int | None = 0
        while first is not None:
            yield first, self.rule_at(first)
            first = self.run_end(first)


Leniency = AcceptanceRule | RuleSchedule


def as_schedule(leniency: Leniency) -> RuleSchedule:
    """A schedule: the given one, or one rule for every position."""
    return leniency if isinstance(leniency, RuleSchedule) else RuleSchedule((leniency,))


def leniency_from_spec(spec: str) -> Leniency:
    """Build a rule, or a schedule ``RULE@FIRST-LAST/RULE@POSITION/.../RULE``, from its spec.

    Positions count from 1 and join without gaps; the last rule, without positions, holds for the rest of the block.
    Examples: ``linear:0.3``, ``linear:1.0@1-3/lossless``, ``clip:4@1/clip:2@2-8/lossless``. Raises ``ValueError``
    naming the part that is wrong and how to write it. Rules without a schedule are read by ``rule_from_spec``.
    """
    if not isinstance(spec, str):
        return rule_from_spec(spec)
    *parts, rest = spec.split("/")
    rules: list[AcceptanceRule] = []
    for part in parts:
        rule, at, positions = part.partition("@")
        first, last = _positions(spec, part, positions if at else "")
        if last > MOST_POSITIONS:
            raise ValueError(f"{part!r} in schedule {spec!r} ends past position {MOST_POSITIONS}, the last allowed")
        if first != len(rules) + 1 or last < first:
            raise ValueError(
                f"{part!r} in schedule {spec!r} must begin at position {len(rules) + 1} and not end before it"
            )
        rules += [rule_from_spec(rule)] * (last - first + 1)
    if "@" in rest:
        raise ValueError(f"schedule {spec!r} must end with a rule without positions, for the rest: '.../lossless'")
    schedule = RuleSchedule((*rules, rule_from_spec(rest)))
    return schedule if schedule.run_end(0) is not None else schedule.rules[0]


def _positions(spec: str, part: str, text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    try:
        return int(first), int(last if dash else first)
    except ValueError:
        raise ValueError(f"{part!r} in schedule {spec!r} lacks its positions; write it as 'RULE@1-8'") from None
