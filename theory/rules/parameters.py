"""Parameters of acceptance rules: declared once, checked at construction, printed and parsed by ``spec``."""

from __future__ import annotations

import math
from dataclasses import MISSING, Field, dataclass, field
from numbers import Integral, Real
from typing import Any

__all__ = ["Choice", "Range", "option", "parameter"]


@dataclass(frozen=True)
class Range:
    """An interval of real numbers (or of integers), with a remedy to print when a value falls outside."""

    low: float
    high: float
    open_low: bool = False
    open_high: bool = False
    integer: bool = False
    hint: str = ""

    def __str__(self) -> str:
        kind = "an integer" if self.integer else "a real number"
        left, right = "(" if self.open_low else "[", ")" if self.open_high else "]"
        return f"{kind} in {left}{self.low:g}, {self.high:g}{right}"

    def __contains__(self, value: float) -> bool:
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return above and below  # NaN fails both comparisons

    def check(self, name: str, value: Any) -> float | int:
        """``value`` as the declared kind of number; ``ValueError`` with value, range and remedy otherwise."""
        kind: Any = Integral if self.integer else Real
        if isinstance(value, bool) or not isinstance(value, kind) or value not in self:
            raise self._error(name, value)
        return int(value) if self.integer else float(value) + 0.0  # a negative zero would print as one

    def parse(self, name: str, text: str) -> float | int:
        """Read a value from a spec such as the ``0.3`` of ``linear:0.3``."""
        try:
            value = int(text) if self.integer else float(text)
        except ValueError:
            raise self._error(name, text) from None
        return self.check(name, value)

    def _error(self, name: str, value: Any) -> ValueError:
        remedy = f"; {self.hint}" if self.hint else ""
        return ValueError(f"{name} must be {self}, got {value!r}{remedy}")


@dataclass(frozen=True)
class Choice:
    """A closed set of words."""

    words: tuple[str, ...]

    def __str__(self) -> str:
        return "one of " + ", ".join(self.words)

    def check(self, name: str, value: Any) -> str:
        """``value`` itself; ``ValueError`` naming the allowed words otherwise."""
        if value not in self.words:
            raise ValueError(f"{name} must be {self}, got {value!r}")
        return str(value)

    parse = check


def parameter(
    *,
    low: float,
    high: float = math.inf,
    open_low: bool = False,
    open_high: bool = False,
    integer: bool = False,
    hint: str = "",
    default: Any = MISSING,
) -> Any:
    """A numeric field of a rule, with its allowed range."""
    domain = Range(low, high, open_low, open_high or math.isinf(high), integer, hint)
    return field(default=default, metadata={"domain": domain})


def option(words: tuple[str, ...], *, default: str) -> Any:
    """A field of a rule that takes one of a few words."""
    return field(default=default, metadata={"domain": Choice(words)})


def domain(declared: Field[Any]) -> Range | Choice:
    """Allowed values of a field made by ``parameter`` or ``option``."""
    found: Range | Choice = declared.metadata["domain"]
    return found
