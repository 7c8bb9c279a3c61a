"""Numbers and settings as the report words them."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from specfrontier.paper_figures.efforts import effort_of

_MODES = {"autoregressive": "verifier alone", "drafter": "drafter alone", "assisted": "assisted generation"}


def number(value: Any, digits: int = 3) -> str:
    """A number with some significant digits and no exponent; a dash where there is none."""
    if value is None or pd.isna(value) or not math.isfinite(float(value)):
        return "–"
    value = float(value)
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(decimals, 12)}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def with_error(value: Any, error: Any, digits: int = 3) -> str:
    """`12.3 ± 0.4`, or the value alone where its error is unknown."""
    spread = number(error, 2)
    return number(value, digits) if spread == "–" else f"{number(value, digits)} ± {spread}"


def percent(value: Any, error: Any = None) -> str:
    """A share as per cent, with its standard error where known."""
    if value is None or pd.isna(value):
        return "–"
    text = f"{100 * float(value):.1f}"
    return text if error is None or pd.isna(error) else f"{text} ± {100 * float(error):.1f}"


def setting(row: pd.Series) -> str:
    """The dials of a configuration on one line, such as `K=2, linear:0.4, B=32`."""
    level = effort_of(row["steps"], row["threshold"])
    parts = [_MODES.get(row["mode"]), level.plain if level else None, None if pd.isna(row["rule"]) else row["rule"]]
    parts.append(None if pd.isna(row["block_size"]) else f"B={int(row['block_size'])}")
    return ", ".join(part for part in parts if part)


def setting_lines(row: pd.Series) -> list[str]:
    """What a point says of itself."""
    lines = [
        setting(row),
        f"accuracy {percent(row['accuracy'], row.get('accuracy_se'))} %",
        f"latency {with_error(row['latency'], row.get('latency_se'))} s per problem",
        f"throughput {with_error(row['throughput'], row.get('throughput_se'))} tokens/s",
    ]
    if not pd.isna(row.get("tokens_per_round")):
        lines.append(f"{number(row['tokens_per_round'])} tokens a round")
    if not pd.isna(row.get("agreement")):
        lines.append(f"verifier agreement {number(row['agreement'])}")
    return [*lines, f"{int(row['n'])} problems"]
