"""Dataclasses as files of strict JSON: written whole or not at all, and read back type by type.

JSON has no NaN: a number that is not finite is written as null, and null is read as NaN where a number is due. Files
that hold the word NaN, which Python's own reader takes, are read alike.
"""

from __future__ import annotations

import json
import math
import os
import reprlib
import sys
from dataclasses import MISSING, asdict, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from specfrontier.errors import first_line

WORDS = {int: "an integer", float: "a finite number or null", str: "text", bool: "true or false", dict: "an object"}


class DamageError(ValueError):
    """What is wrong with a file, in a few words that name the field."""


def write_record(path: Path, record: Any) -> None:
    """Write a dataclass atomically: a reader finds the file as it was, or as it is now."""
    text = json.dumps(_strict(asdict(record)), indent=2, allow_nan=False) + "\n"
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read_object(path: Path) -> dict[str, Any]:
    """The object that a file holds.

    Raises:
        DamageError: if it holds no JSON, or something other than an object.
        OSError: if it cannot be read.
    """
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise DamageError("it is nested too deeply") from error
    except ValueError as error:  # no JSON, no UTF-8, or a number of thousands of digits
        raise DamageError(f"it is no JSON: {first_line(error)}") from error
    if not isinstance(table, dict):
        raise DamageError(f"it holds {reprlib.repr(table)}, not an object")
    return table


def read_as(kind: Any, value: Any, field: str = "") -> Any:
    """`value`, as JSON has it, as a `kind`: a number, text, boolean, dict, tuple, dataclass, or one of these or None.

    Args:
        kind: a type, with its arguments.
        field: where the value stands, such as `efforts[0].d_visited`.

    Raises:
        DamageError: if a value is of another type, or a dataclass's field is missing or unknown.
    """
    origin = get_origin(kind) or kind
    if is_dataclass(kind):
        return _dataclass(kind, value, field)
    if origin is UnionType:
        return None if value is None else read_as(get_args(kind)[0], value, field)
    if origin is tuple:
        entries = _checked(list, value, field, "a list")
        return tuple(read_as(get_args(kind)[0], entry, f"{field}[{i}]") for i, entry in enumerate(entries))
    if origin is float:
        return _number(value, field)
    if isinstance(value, int) and abs(value) >= 2**63:
        raise DamageError(f"{field} is {reprlib.repr(value)}, not of 64 bits")
    return _checked(origin, value, field, WORDS[origin])


def _dataclass(kind: Any, value: Any, field: str) -> Any:
    table = _checked(dict, value, field, "an object")
    prefix = f"{field}." if field else ""
    known = {entry.name: entry for entry in fields(kind)}
    for name in table.keys() - known.keys():
        raise DamageError(f"{prefix}{name[:80]!r} is no field of it")
    for name, entry in known.items():
        if name not in table and entry.default is MISSING and entry.default_factory is MISSING:
            raise DamageError(f"{prefix}{name} is missing")
    kinds = _kinds(kind)
    return kind(**{name: read_as(kinds[name], entry, f"{prefix}{name}") for name, entry in table.items()})


@cache
def _kinds(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _number(value: Any, field: str) -> float:
    if value is None or value != value:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise DamageError(f"{field} is {reprlib.repr(value)}, not {WORDS[float]}")
    return float(value)


def _checked(kind: type, value: Any, field: str, words: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise DamageError(f"{field} is {reprlib.repr(value)}, not {words}")
    return value


def _strict(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _strict(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(entry) for entry in value]
    return value
