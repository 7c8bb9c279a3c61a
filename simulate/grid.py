"""The configurations that are predicted: effort, acceptance rule and block size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import pandas as pd

from specfrontier.errors import InputError
from specfrontier.theory.rules import AcceptanceRule, Linear, Lossless, rule_from_spec
from specfrontier.theory.rules.schedule import Leniency, leniency_from_spec

__all__ = [
    "Effort",
    "Grid",
    "Point",
    "linear_leniency",
    "of_setting",
    "parse_leniency",
    "parse_rule",
    "points_of",
    "predictable",
]


@dataclass(frozen=True)
class Effort:
    """Diffusion effort: K denoising steps, or a confidence threshold tau that decides their number.

    A threshold wins over steps, which are then only a cap, so that tables which record the cap still match.
    """

    steps: int | None = None
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None:
            object.__setattr__(self, "steps", None)
        elif self.steps is None:
            raise InputError("an effort has neither steps nor threshold; give K >= 1 or tau in (0, 1]")
        elif self.steps < 1:
            raise InputError(f"steps (K) is {self.steps}; give an integer >= 1")

    @property
    def label(self) -> str:
        """`K=2`, or `tau=0.9`."""
        return f"K={self.steps}" if self.threshold is None else f"tau={self.threshold:g}"

    @classmethod
    def of(cls, steps: Any, threshold: Any) -> Effort:
        """From table cells, in which an absent value may be None or NaN."""
        return cls(
            None if pd.isna(steps) else int(steps),
            None if pd.isna(threshold) else float(threshold),
        )


@dataclass(frozen=True)
class Point:
    """One configuration (K, rule, B); `rule` is a canonical spec: ``linear:0.3``, or ``linear:1.0@1-4/lossless``."""

    effort: Effort
    rule: str
    block_size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "rule", parse_leniency(self.rule).spec)
        if self.block_size < 1:
            raise InputError(f"block_size (B) is {self.block_size}; give an integer >= 1")

    @property
    def leniency(self) -> Leniency:
        """The rule itself, or the rules by position."""
        return parse_leniency(self.rule)

    @property
    def label(self) -> str:
        """`K=2 linear:0.3 B=32`."""
        return f"{self.effort.label} {self.rule} B={self.block_size}"

    @property
    def key(self) -> tuple[Effort, str, int]:
        """What identifies the configuration: every rule that is lossless by Equation 1 counts as one."""
        lam = linear_leniency(self.leniency)
        return self.effort, "lossless" if lam == 0 else self.rule, self.block_size


@dataclass(frozen=True)
class Grid:
    """An ordered set of points: a product of axes, or the points of a table."""

    points: tuple[Point, ...]

    def __post_init__(self) -> None:
        if not self.points:
            raise InputError("the grid has no point; give at least one effort, one rule and one block size")

    @classmethod
    def product(
        cls,
        *,
        rules: Sequence[str],
        block_sizes: Sequence[int],
        steps: Sequence[int] = (),
        thresholds: Sequence[float] = (),
    ) -> Grid:
        """Every combination of efforts (steps first, then thresholds), rules and block sizes."""
        efforts = [Effort(steps=k) for k in steps] + [Effort(threshold=tau) for tau in thresholds]
        return cls(tuple(Point(e, r, b) for e, r, b in product(efforts, rules, block_sizes)))

    @classmethod
    def from_table(cls, table: pd.DataFrame) -> Grid:
        """The distinct configurations of a measurements, configurations or predictions table.

        Rows of other modes than speculative are passed over.
        """
        table = predictable(table)
        return cls(tuple(dict.fromkeys(points_of(table))))

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)


def of_setting(table: pd.DataFrame, *, pair: str, task: str | None, max_new_tokens: int | None) -> pd.DataFrame:
    """The rows of one pair, task and token limit; what a table or a value does not state is not asked for."""
    for column, value in (("pair", pair), ("task", task), ("max_new_tokens", max_new_tokens)):
        if column in table and value is not None:
            table = table[table[column].isna() | (table[column] == value)]
    return table


def predictable(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that a predictor can speak of: speculative ones, Algorithm 1's unless all are exact."""
    table = table[table["mode"] == "speculative"] if "mode" in table else table
    if "verification" not in table:
        return table
    exact = table["verification"] == "exact"
    return table if exact.all() else table[~exact]


def points_of(table: pd.DataFrame) -> list[Point]:
    """The point of every row."""
    columns = ("steps", "threshold", "rule", "block_size")
    missing = [name for name in columns if name not in table]
    if missing:
        raise InputError(f"the table lacks {', '.join(missing)}; its columns must be those of specfrontier.schema")
    rows: Iterable[tuple[Any, ...]] = zip(*(table[name] for name in columns), strict=True)
    return [Point(Effort.of(k, tau), str(rule), int(b)) for k, tau, rule, b in rows]


@lru_cache(maxsize=4096)
def parse_rule(spec: str) -> AcceptanceRule:
    """`rule_from_spec` with the package's own error."""
    try:
        return rule_from_spec(spec)
    except ValueError as error:
        raise InputError(str(error)) from error


@lru_cache(maxsize=4096)
def parse_leniency(spec: str) -> Leniency:
    """`leniency_from_spec` with the package's own error."""
    try:
        return leniency_from_spec(spec)
    except ValueError as error:
        raise InputError(str(error)) from error


def linear_leniency(rule: Leniency) -> float | None:
    """λ of a rule on the linear path from p to q (lossless: 0); None for any other rule, and for rules by position."""
    if isinstance(rule, Lossless):
        return 0.0
    return rule.lam if isinstance(rule, Linear) else None
