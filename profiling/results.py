"""A run's measurements, predictions and comparison, written beside it and read back."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd

from specfrontier.errors import InputError
from specfrontier.profile import Profile
from specfrontier.profiling.folders import writable_folder
from specfrontier.profiling.measure import measure_pieces
from specfrontier.profiling.parquet import read_frame, read_provenance, write_frame, write_text
from specfrontier.profiling.predictions import setting_of
from specfrontier.profiling.store import Store
from specfrontier.schema import PREDICTIONS
from specfrontier.simulate import Comparison
from specfrontier.simulate.grid import of_setting, predictable


def write_measurements(store: Store) -> pd.DataFrame:
    """Measure what the store holds, write `measurements.parquet` beside it, and return the table."""
    table = measure_pieces(store.by_configuration())
    write_frame("measurements", table, store.folder / "measurements.parquet", {"sessions": store.sessions()})
    return table


def write_predictions(table: pd.DataFrame, out: Path, profile: Profile) -> None:
    """Write `predictions.parquet` into a folder."""
    provenance: dict[str, Any] = {"profile": profile.provenance}
    write_frame("predictions", table, writable_folder(out) / "predictions.parquet", provenance)


def write_comparison(comparison: Comparison, out: Path, run: Path, predictions: Path) -> Path:
    """Write `comparison.json` with the provenance of both sides."""
    path = writable_folder(out) / "comparison.json"
    stated: dict[str, Any] = {
        "measurements": read_provenance(run / "measurements.parquet"),
        "predictions": read_provenance(predictions / "predictions.parquet"),
    }
    content = {**json.loads(comparison.to_json()), "provenance": stated}
    write_text(path, json.dumps(content, indent=2) + "\n")
    return path


def as_predictions(run: Path, configs: Collection[str] | None = None) -> tuple[pd.DataFrame, int]:
    """The run's speculative measurements in the columns of predictions, and how many problems they rest on.

    Args:
        run: folder with measurements.
        configs: keys of those to take; None for all.

    Raises:
        InputError: if there are none.
    """
    path = run / "measurements.parquet"
    if not path.is_file():
        raise InputError(f"no measurements in {run}; make them with `specfrontier measure`")
    table = predictable(_of_one_setting(run, read_frame(path, "measurements"))).assign(predictor="measured")
    if configs is not None:
        table = table[table["config"].isin(list(configs))]
    if table.empty:
        raise InputError(f"{run} holds no speculative measurements; measure some")
    columns = [column.name for column in PREDICTIONS]
    return table.reindex(columns=columns).reset_index(drop=True), int(table["n"].min())


def _of_one_setting(run: Path, measured: pd.DataFrame) -> pd.DataFrame:
    """The measurements of the run's profile, or all of them if they are of one pair, task and token limit."""
    path = run / "profile.json"
    if path.is_file():
        return of_setting(measured, **setting_of(Profile.load(path)))
    settings = measured[["pair", "task", "max_new_tokens"]].drop_duplicates()
    if len(settings) > 1:
        stated = "; ".join(f"{pair} on {task}, limit {limit}" for pair, task, limit in settings.itertuples(index=False))
        raise InputError(f"{run} holds measurements of several settings ({stated}); give each a folder of its own")
    return measured
