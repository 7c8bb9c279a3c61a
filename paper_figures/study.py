"""Tables of a study of a pair, from the CSV files that its commands wrote (`benchmarks/smollm2_study.py`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

Row = tuple[str, ...]

LARGE = 1e5
"""From here on only the order of magnitude is shown."""


def study_table(folder: Path, pair: str, kind: str) -> pd.DataFrame:
    """One table as text, for people.

    Args:
        folder: of the CSV files.
        pair: such as `smollm2-ar`.
        kind: of `KINDS`.
    """
    header, *rows = KINDS[kind](pd.read_csv(folder / f"{pair}-{kind}.csv"))
    return pd.DataFrame(rows, columns=list(header))


def _measurements(table: pd.DataFrame) -> list[Row]:
    """Every configuration beside the verifier alone; the interval of a ratio joins both standard errors."""
    alone = table[table["mode"] == "autoregressive"].iloc[0]
    # What was measured under both verifications is the audit's.
    table = table[~table.duplicated(["mode", "steps", "threshold", "rule", "block_size"], keep=False)]
    rows: list[Row] = [
        (
            "Configuration",
            "Problems",
            "Tokens/s",
            "Times the verifier alone",
            "Tokens/round",
            "Acceptance",
            "Agreement",
            "Log-likelihood",
        )
    ]
    for row in table.to_dict("records"):
        rows.append(
            (
                _configuration(row),
                str(row["n"]),
                _with_error(row, "throughput", 1),
                _ratio(row, alone),
                _number(row["tokens_per_round"], 2),
                _with_error(row, "acceptance", 3),
                _number(row["agreement"], 3),
                _with_error(row, "log_likelihood", 2),
            )
        )
    return rows


def _audit(table: pd.DataFrame) -> list[Row]:
    rows: list[Row] = [
        (
            "Drafts",
            "Verification",
            "Blocks",
            "Exact blocks",
            "First violation at",
            "Rounds that reached one",
            "Tokens/round",
        )
    ]
    largest = table[table["block_size"] == table["block_size"].max()]
    for row in largest.sort_values(["threshold", "steps", "verification"], na_position="first").to_dict("records"):
        low, high = _number(row["tokens_per_round_low"], 2), _number(row["tokens_per_round_high"], 2)
        rows.append(
            (
                _effort(row),
                row["verification"],
                str(row["rounds"]),
                f"{100 * row['exact_blocks']:.0f} %",
                _number(row["first_violation"], 1),
                f"{100 * row['past_violation']:.0f} %",
                f"{_number(row['tokens_per_round'], 2)} [{low}, {high}]",
            )
        )
    return rows


def _price(table: pd.DataFrame) -> list[Row]:
    rows: list[Row] = [("Rule", "Acceptance", "Bound", "TV", "KL, nats", "χ²")]
    names = (("acceptance_rate", 3), ("bound", 3), ("tv", 3), ("kl", 3), ("chi2", 2))
    rows += [
        (f"`{row['rule']}`", *(_number(row[name], digits) for name, digits in names))
        for row in table.to_dict("records")
    ]
    return rows


def _comparison(table: pd.DataFrame) -> list[Row]:
    rows: list[Row] = [
        ("Predictor", "Figure", "Points", "Mean error", "Bias", "Noise floor", "Kendall τ", "Its ceiling")
    ]
    names = ("mean_absolute_error", "bias", "noise_floor", "kendall_tau", "kendall_ceiling")
    rows += [
        (row["predictor"], row["figure"], str(int(row["points"])), *(_number(row[name], 3) for name in names))
        for row in table.to_dict("records")
    ]
    return rows


def _frontiers(table: pd.DataFrame) -> list[Row]:
    rows: list[Row] = [
        (
            "Predictor",
            "Plane",
            "Points",
            "Overlap",
            "Hypervolume ratio",
            "Attained",
            "Regret (by noise)",
            "Shortfall (by noise)",
            "Below floor",
        )
    ]
    rows += [
        (
            row["predictor"],
            f"{row['speed']}, {row['quality']}",
            str(int(row["points"])),
            *(_number(row[name], 3) for name in ("overlap", "hypervolume_ratio", "attained")),
            *(f"{_number(row[n], 3)} ({_number(row[f'{n}_by_noise'], 3)})" for n in ("regret", "shortfall")),
            _number(row["below_floor"], 3),
        )
        for row in table.to_dict("records")
    ]
    return rows


def _ablation(table: pd.DataFrame) -> list[Row]:
    rows: list[Row] = [("Effect", "Throughput", "Latency", "Tokens/round")]
    rows += [
        (row["effect"], *(_percent(row[name]) for name in ("throughput", "latency", "tokens_per_round")))
        for row in table.to_dict("records")
    ]
    return rows


def _halves(table: pd.DataFrame) -> list[Row]:
    rows: list[Row] = [
        ("Figure", "Predicted, same problems", "Predicted, other problems", "Measured on the same, for the others")
    ]
    rows += [
        (row["figure"], *(_percent(row[name]) for name in ("same", "other", "measured")))
        for row in table.to_dict("records")
    ]
    return rows


def _gauges(table: pd.DataFrame) -> list[Row]:
    rows: list[Row] = [("Figure", "Rules", "Points", "Gauge", "Mean error", "Bias")]
    rows += [
        (
            row["figure"],
            row["family"],
            str(int(row["points"])),
            row["gauge"],
            *(_number(row[name], 3) for name in ("mean_absolute_error", "bias")),
        )
        for row in table.sort_values(["figure", "family"], kind="stable").to_dict("records")
    ]
    return rows


KINDS: dict[str, Callable[[pd.DataFrame], list[Row]]] = {
    "measurements": _measurements,
    "audit": _audit,
    "price": _price,
    "comparison": _comparison,
    "frontiers": _frontiers,
    "ablation": _ablation,
    "gauges": _gauges,
    "halves": _halves,
}


def _configuration(row: dict[str, Any]) -> str:
    if row["mode"] == "autoregressive":
        return "verifier alone"
    engine = "transformers, assisted" if row["mode"] == "assisted" else "ours"
    return f"{engine}: {_effort(row)}, `{row['rule']}`"


def _effort(row: dict[str, Any]) -> str:
    dial = f"τ = {row['threshold']:g}" if row["threshold"] == row["threshold"] else f"K = {row['steps']:.0f}"
    return f"{dial}, B = {row['block_size']:.0f}"


def speed_ratio(row: Mapping[str, Any], alone: pd.Series) -> tuple[float, float]:
    """Throughput over the verifier's alone, and its standard error from both."""
    ratio = row["throughput"] / alone["throughput"]
    relative = (row["throughput_se"] / row["throughput"], alone["throughput_se"] / alone["throughput"])
    return ratio, ratio * math.hypot(*relative)


def _ratio(row: dict[str, Any], alone: pd.Series) -> str:
    if row["mode"] == "autoregressive":
        return "1"
    ratio, error = speed_ratio(row, alone)
    return f"{ratio:.2f} ± {error:.2f}"


def _with_error(row: dict[str, Any], name: str, digits: int) -> str:
    value, error = row[name], row[f"{name}_se"]
    return "–" if value != value else f"{value:.{digits}f} ± {error:.{digits}f}"


def _number(value: float, digits: int) -> str:
    if value != value:
        return "–"
    if value == float("inf"):
        return "∞"
    return f"{value:.1e}" if abs(value) >= LARGE else f"{value:.{digits}f}"


def _percent(value: float) -> str:
    return f"{_number(100 * value, 1)} %"
