"""What commands print: tables for people on a terminal, JSON for machines."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    import pandas as pd


def console() -> Console:
    """Standard output, made when it is needed so that a redirection is seen."""
    return Console(highlight=False, soft_wrap=True)


def print_json(payload: Any) -> None:
    """Strict JSON: absent and undefined numbers are null."""
    print(json.dumps(plain(payload), indent=2, allow_nan=False))


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, str | bool | int | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, Iterable):
        return [plain(entry) for entry in value]
    return None if value != value or str(value) == "<NA>" else str(value)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table as JSON objects."""
    return [plain(row) for row in frame.to_dict("records")]


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table for people: the first column left, numbers right."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for i, name in enumerate(columns):
        table.add_column(name, justify="left" if i == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    out = console()
    if not out.is_terminal:
        out.width = 200
    out.print(table)


def number(value: Any, digits: int = 3) -> str:
    """Significant digits, or a dash where there is nothing."""
    return "-" if value is None or value != value else f"{value:.{digits}g}"


def percent(value: Any, error: Any = None) -> str:
    """A share in percent, with its standard error if there is one."""
    if value is None or value != value:
        return "-"
    return f"{100 * value:.1f}" if error is None or error != error else f"{100 * value:.1f} ± {100 * error:.1f}"


def milliseconds(value: Any) -> str:
    """Seconds as milliseconds."""
    return "-" if value is None or value != value else f"{1e3 * value:.2f}"


def effort(steps: Any, threshold: Any) -> str:
    """`K=2`, `tau=0.9`, or a dash."""
    if threshold is not None and threshold == threshold:
        return f"tau={threshold:g}"
    return "-" if steps is None or str(steps) in ("<NA>", "nan") else f"K={int(steps)}"
