"""`specfrontier compare`: predicted beside measured, each with its uncertainty."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specfrontier.errors import InputError
from specfrontier.profiling.commands.options import JsonOption, MaybeOutOption, RunArgument
from specfrontier.profiling.commands.output import effort, number, percent, print_json, print_table

if TYPE_CHECKING:
    import pandas as pd

    from specfrontier.simulate import Comparison


def command(
    run: RunArgument,
    predictions: Annotated[
        Path | None, typer.Option("--predictions", help="Folder that `predict` wrote; RUN by default.")
    ] = None,
    out: MaybeOutOption = None,
    json: JsonOption = False,
) -> None:
    """Compare the predictions with the measurements in RUN, over the points that both have."""
    from specfrontier.profiling.parquet import read_frame
    from specfrontier.profiling.results import write_comparison
    from specfrontier.simulate import compare

    measured = read_frame(_table(run, "measurements", "measure"), "measurements")
    folder = predictions or run
    predicted = read_frame(_table(folder, "predictions", "predict"), "predictions")
    comparison = compare(measured, predicted)
    if out is not None:
        write_comparison(comparison, out, run, folder)
    if json:
        print_json(json_module.loads(comparison.to_json()))
    else:
        show(comparison, measured, predicted)


def _table(folder: Path, name: str, maker: str) -> Path:
    path = folder / f"{name}.parquet"
    if not path.is_file():
        raise InputError(f"no {name} in {folder}; make them with `specfrontier {maker} ... --out {folder}`")
    return path


def show(comparison: Comparison, measured: pd.DataFrame, predicted: pd.DataFrame) -> None:
    """Print measured and predicted throughput side by side, then each predictor's error and what it recommends."""
    speculative = measured[measured["mode"] == "speculative"]
    predictors = list(dict.fromkeys(predicted["predictor"]))
    rows = []
    for row in speculative.to_dict("records"):
        mine = _matching(predicted, row)
        if mine:
            rows.append(
                (
                    f"{effort(row['steps'], row['threshold'])} B={row['block_size']} {row['rule']}",
                    percent(row["accuracy"], row["accuracy_se"]),
                    f"{number(row['throughput'], 4)} ± {number(row['throughput_se'], 2)}",
                    *(number(mine.get(name), 4) for name in predictors),
                )
            )
    print_table("Measured and predicted", ("configuration", "accuracy %", "tokens/s", *predictors), rows)
    print_table(
        "Errors of the predictions",
        ("predictor", "figure", "points", "mean |error|", "bias", "noise floor", "rank tau", "coverage"),
        (
            (
                row["predictor"],
                row["figure"],
                int(row["points"]),
                *(number(row[c], 2) for c in ("mean_absolute_error", "bias", "noise_floor", "kendall_tau", "coverage")),
            )
            for row in comparison.scores.to_dict("records")
        ),
    )
    _show_frontiers(comparison.frontiers)


def _show_frontiers(frontiers: pd.DataFrame) -> None:
    """Print what it would cost to deploy what each prediction recommends; nothing where quality is not known."""
    rows = frontiers.to_dict("records")
    if rows:
        columns = ("overlap", "attained", "regret", "regret_by_noise", "shortfall", "below_floor")
        print_table(
            "Recommending from the predictions, on average over floors of quality",
            ("predictor", "plane", "overlap", "attained", "regret", "by noise", "shortfall", "below floor"),
            (
                (row["predictor"], f"{row['speed']}, {row['quality']}", *(number(row[c], 2) for c in columns))
                for row in rows
            ),
        )


def _matching(predicted: pd.DataFrame, row: dict[str, Any]) -> dict[str, float]:
    """Predicted throughput by predictor, at one measured configuration."""
    same = predicted[(predicted["rule"] == row["rule"]) & (predicted["block_size"] == row["block_size"])]
    label = effort(row["steps"], row["threshold"])
    return {
        entry["predictor"]: entry["throughput"]
        for entry in same.to_dict("records")
        if effort(entry["steps"], entry["threshold"]) == label
    }
