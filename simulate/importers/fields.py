"""Fields of parsed JSON records, each checked to be what its name says."""

from __future__ import annotations

import math
from typing import Any

from specfrontier.errors import InputError

__all__ = ["check_identity", "count_of", "histogram_of", "is_number", "record_of"]


def record_of(engine: str, value: Any) -> dict[str, Any]:
    """A parsed JSON object; InputError for anything else."""
    if not isinstance(value, dict):
        raise InputError(f"a record of {engine} is {value!r:.60}; give parsed JSON objects")
    return value


def count_of(engine: str, record: dict[str, Any], *names: str) -> int:
    """The first of `names` that the record has, as a count; InputError naming them otherwise."""
    for name in names:
        value = record.get(name)
        if value is not None:
            if not is_number(value) or value < 0 or value != int(value):
                raise InputError(f"{engine} reports {name} = {value!r}; it must be a count >= 0")
            return int(value)
    raise InputError(f"{engine} record lacks {' or '.join(names)}; it has {', '.join(sorted(record)) or 'nothing'}")


def histogram_of(engine: str, raw: Any) -> dict[int, int]:
    """A dense list or a sparse mapping as {accepted length: rounds}, without empty bins."""
    items = enumerate(raw) if isinstance(raw, list) else raw.items() if isinstance(raw, dict) else None
    if items is None:
        raise InputError(f"{engine} acceptance histogram is {raw!r}; expected a list or a mapping of counts")
    try:
        histogram = {int(length): int(count) for length, count in items}
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{engine} acceptance histogram holds {error}; expected counts") from error
    if any(length < 0 or count < 0 for length, count in histogram.items()):
        raise InputError(f"{engine} acceptance histogram {raw!r} holds negative entries")
    return {length: count for length, count in histogram.items() if count}


def check_identity(engine: str, left: str, a: float, right: str, b: float, tolerance: float = 0.0) -> None:
    """InputError if two figures that must agree do not."""
    for name, value in ((left, a), (right, b)):
        if not is_number(value):
            raise InputError(f"{engine} reports {name} = {value!r}; it must be a number")
    if abs(a - b) > tolerance:
        raise InputError(f"{engine} contradicts itself: {left} are {a:g} but {right} are {b:g}; the record is damaged")


def is_number(value: Any) -> bool:
    """Whether a parsed JSON value is a finite number (JSON as Python reads it may hold NaN)."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
