"""Tables that come from files (`config.json`, a pair file's options): every value is checked where it is read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from specfrontier.errors import InputError

#: No size of a model is larger; beyond it a damaged file would ask for all the memory there is.
MOST = 1 << 24
TINY, HUGE = 1e-38, 1e38
LONGEST_SHOWN = 60


class ConfigTable(Mapping[str, Any]):
    """A table of names and values, whose readers refuse what is missing, of another type, or out of range.

    A null counts as missing, as it does in transformers' configurations.

    Args:
        entries: the table.
        origin: where it is from, which errors begin with.
        remedy: what errors end with.
    """

    def __init__(self, entries: Mapping[str, Any], origin: str = "the configuration", remedy: str = "mend it") -> None:
        self.entries, self.origin, self.remedy = entries, origin, remedy

    @classmethod
    def of(cls, entries: Mapping[str, Any]) -> ConfigTable:
        """The table itself, or a plain one that can be read as one."""
        return entries if isinstance(entries, cls) else cls(entries)

    def __getitem__(self, key: str) -> Any:
        return self.entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def has(self, key: str) -> bool:
        """Whether there is a value."""
        return self.entries.get(key) is not None

    def integer(self, key: str, default: int | None = None, *, low: int = 1, high: int = MOST) -> int:
        """An integer in [low, high]; required if there is no default."""
        value = self._value(key, default)
        if not _is_integer(value) or not low <= value <= high:
            raise self.refusal(key, f"give an integer in [{low}, {high}]")
        return value

    def optional_integer(self, key: str, *, low: int = 1, high: int = MOST) -> int | None:
        """An integer in [low, high], or None if there is none."""
        return self.integer(key, low=low, high=high) if self.has(key) else None

    def integers(self, key: str, *, low: int, high: int) -> tuple[int, ...]:
        """A list of at least one integer, all in [low, high]."""
        value = self._value(key)
        if (
            not isinstance(value, list | tuple)
            or not value
            or not all(_is_integer(v) and low <= v <= high for v in value)
        ):
            raise self.refusal(key, f"give a list of integers in [{low}, {high}]")
        return tuple(value)

    def number(self, key: str, default: float | None = None, *, low: float = TINY, high: float = HUGE) -> float:
        """A number in [low, high], by default any finite one above 0."""
        value = self._value(key, default)
        if not _is_number(value) or not low <= value <= high:
            raise self.refusal(key, f"give a number in [{low:g}, {high:g}]")
        return float(value)

    def numbers(self, key: str, *, low: float = TINY, high: float = HUGE) -> tuple[float, ...]:
        """A list of numbers in [low, high]; empty if there is none."""
        value = self._value(key, ())
        if not isinstance(value, list | tuple) or not all(_is_number(v) and low <= v <= high for v in value):
            raise self.refusal(key, f"give a list of numbers in [{low:g}, {high:g}]")
        return tuple(value)

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false."""
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise self.refusal(key, "give true or false")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """A string."""
        value = self._value(key, default)
        if not isinstance(value, str):
            raise self.refusal(key, "give a string")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; empty if there is none."""
        value = self._value(key, ())
        if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
            raise self.refusal(key, "give a list of strings")
        return tuple(value)

    def table(self, key: str) -> ConfigTable:
        """A table within this one; empty if there is none."""
        value = self._value(key, {})
        if not isinstance(value, Mapping):
            raise self.refusal(key, "give a table")
        return ConfigTable(value, f"{self.origin}, {key}", self.remedy)

    def refusal(self, key: str, wanted: str) -> InputError:
        """The error of a value that is not what is wanted."""
        shown = repr(self.entries[key])
        if len(shown) > LONGEST_SHOWN:
            shown = shown[:LONGEST_SHOWN] + "..."
        return InputError(f"{self.origin}: {key} is {shown}; {wanted}, or {self.remedy}")

    def _value(self, key: str, default: Any = None) -> Any:
        if self.has(key):
            return self.entries[key]
        if default is None:
            raise InputError(f"{self.origin} lacks {key}; add it, or {self.remedy}")
        return default


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_integer(value) or isinstance(value, float)


def read_table(path: Path, remedy: str) -> ConfigTable:
    """The JSON object in a file.

    Raises:
        InputError: if there is no such file, or it holds something else.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{path.parent} holds no {path.name}; {remedy}") from error
    except OSError as error:
        raise InputError(f"cannot read {path} ({(error.strerror or str(error)).lower()}); {remedy}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not valid JSON ({error}); {remedy}") from error
    if not isinstance(found, dict):
        raise InputError(f"{path} holds a {type(found).__name__}, not an object of keys and values; {remedy}")
    return ConfigTable(found, str(path), remedy)
