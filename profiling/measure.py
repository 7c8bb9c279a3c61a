"""From problems and rounds to measurements: one row a configuration, every figure with its uncertainty."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from specfrontier.profiling.positions import flat, positions
from specfrontier.profiling.resampling import NOTHING, RatioEstimate, ratio, share
from specfrontier.profiling.run_folder import Tables
from specfrontier.schema import MEASUREMENTS

SETTINGS = (
    "config",
    "pair",
    "task",
    "mode",
    "steps",
    "threshold",
    "rule",
    "block_size",
    "verification",
    "max_new_tokens",
    "seed",
)


def measure(tables: Tables, *, seed: int = 0) -> pd.DataFrame:
    """The measurements table (`schema.MEASUREMENTS`) of a run.

    Every figure but accuracy is a ratio of sums over prompts, with intervals from a bootstrap over prompts;
    accuracy has Wilson's interval. Configurations without a finished problem are left out.

    Args:
        tables: of the run.
        seed: of the bootstrap.
    """
    return measure_pieces([tables], seed=seed)


def measure_pieces(pieces: Iterable[Tables], *, seed: int = 0) -> pd.DataFrame:
    """As `measure`, of a run that comes in pieces of whole configurations."""
    rows = [row for tables in pieces for row in _rows(tables, seed)]
    rows.sort(key=_order)
    frame = pd.DataFrame(rows, columns=[column.name for column in MEASUREMENTS])
    absent = dict.fromkeys(("steps", "block_size", "max_new_tokens", "seed"), "Int64")
    return frame.astype({**absent, "n": "int64"})


def _rows(tables: Tables, seed: int) -> Iterator[dict[str, Any]]:
    problems = tables.problems.merge(_expected_acceptance(tables.rounds), how="left", on=["config", "problem"])
    groups = dict(tuple(problems.groupby("config", sort=False)))
    for settings in tables.configurations.to_dict("records"):
        if settings["config"] in groups:
            yield _row(settings, groups[settings["config"]], seed)


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    """Baselines first, then by block size, effort and rule, the lossless one before the lenient ones."""

    def number(value: Any) -> float:
        return -1.0 if value is None or pd.isna(value) else float(value)

    name, _, leniency = ("" if row["rule"] is None or pd.isna(row["rule"]) else str(row["rule"])).partition(":")
    try:
        parameter = float(leniency.partition(":")[0] or 0)
    except ValueError:
        parameter = 0.0
    numbers = tuple(number(row[column]) for column in ("block_size", "steps", "threshold"))
    return row["mode"] == "speculative", row["mode"], *numbers, name != "lossless", name, parameter


def _expected_acceptance(rounds: pd.DataFrame) -> pd.DataFrame:
    """Sum over visited positions of the rule's acceptance rate, and how many were traced, by problem."""
    at = positions(rounds)
    sums = pd.DataFrame(
        {
            "config": rounds["config"],
            "problem": rounds["problem"],
            "expected": at.total(flat(rounds["acceptance"])),
            "traced": at.count(),
        }
    )
    return sums.groupby(["config", "problem"], as_index=False, sort=False).sum()


def _row(settings: dict[str, Any], problems: pd.DataFrame, seed: int) -> dict[str, Any]:
    row: dict[str, Any] = {name: settings[name] for name in SETTINGS}
    row["n"] = len(problems)
    for name, estimate in figures(problems, seed).items():
        row |= {name: estimate.value, f"{name}_se": estimate.se}
        row |= {f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return row


def figures(problems: pd.DataFrame, seed: int = 0) -> dict[str, RatioEstimate]:
    """Every figure of one configuration, from its rows of the problems table with `expected` and `traced`."""

    def column(name: str) -> np.ndarray:
        return problems[name].to_numpy(np.float64, na_value=np.nan)

    def sums(numerator: np.ndarray, denominator: np.ndarray) -> RatioEstimate:
        return ratio(numerator, denominator, seed=seed)

    one, decode, visited, traced = np.ones(len(problems)), column("decode_s"), column("visited"), column("traced")
    return {
        "accuracy": share(column("correct")),
        "throughput": sums(column("output_tokens"), decode),
        "latency": sums(column("prefill_s") + decode, one),
        "tokens_per_round": sums(column("output_tokens"), column("rounds")),
        # Without a verifier nothing is visited, and what was kept says nothing about acceptance.
        "acceptance": sums(column("accepted"), visited) if visited.sum() else NOTHING,
        "acceptance_rb": sums(column("expected"), traced),
        "agreement": sums(column("agreement") * visited, visited),
        "kl": sums(column("kl"), one),
        "log_likelihood": sums(column("log_likelihood"), column("output_tokens")),
    }
