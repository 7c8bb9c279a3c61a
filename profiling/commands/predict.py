"""`specfrontier predict`: a frontier from one profile, without the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from specfrontier.errors import InputError
from specfrontier.profiling.commands.options import (
    BlockSizesOption,
    JsonOption,
    LeniencyOption,
    MaybeOutOption,
    RulesOption,
    RunArgument,
    StepsOption,
    ThresholdsOption,
    integers,
    names,
    rules,
    thresholds,
)
from specfrontier.profiling.commands.output import effort, number, print_json, print_table, records

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from specfrontier.profile import Profile

LENIENCIES = ("lossless", "linear:0.2", "linear:0.4", "linear:0.6", "linear:0.8", "linear:1.0")
PREDICTORS = ("replay", "closed-form")


def command(
    run: RunArgument,
    out: MaybeOutOption = None,
    steps: StepsOption = None,
    taus: ThresholdsOption = None,
    specs: RulesOption = None,
    lam: LeniencyOption = None,
    block_sizes: BlockSizesOption = None,
    predictors: Annotated[
        str, typer.Option("--predictor", help="Of replay, closed-form (Equations 6 and 7) and more.")
    ] = ",".join(PREDICTORS),
    seed: Annotated[int, typer.Option("--seed", help="Seed of the bootstrap.")] = 0,
    json: JsonOption = False,
) -> None:
    """Predict throughput, acceptance and agreement over a grid from the profile in RUN."""
    wanted = {"steps": integers(steps, "steps (K)"), "thresholds": thresholds(taus)}
    sizes, chosen = integers(block_sizes, "block_size (B)"), rules(specs, lam) or LENIENCIES

    from specfrontier.profile import Profile

    profile = Profile.load(run / "profile.json")
    table = predictions_of(
        run,
        profile,
        rules=chosen,
        steps=wanted["steps"],
        thresholds=wanted["thresholds"],
        block_sizes=sizes,
        predictors=names(predictors, "predictor") or PREDICTORS,
        seed=seed,
    )
    if out is not None:
        write_predictions(table, out, profile)
    if json:
        print_json({"rows": records(table)})
    else:
        show(table)


def predictions_of(
    run: Path,
    profile: Profile,
    *,
    rules: tuple[str, ...],
    steps: tuple[int, ...] | None = None,
    thresholds: tuple[float, ...] | None = None,
    block_sizes: tuple[int, ...] | None = None,
    predictors: tuple[str, ...] = PREDICTORS,
    seed: int = 0,
) -> pd.DataFrame:
    """Predict a grid from a profile and the lossless rounds that it was measured on; efforts default to the profile's."""
    from specfrontier.profiling.store import read_run
    from specfrontier.simulate import Grid, predict

    if steps is None and thresholds is None:
        steps = tuple(e.steps for e in profile.efforts if e.threshold is None and e.steps is not None)
        thresholds = tuple(e.threshold for e in profile.efforts if e.threshold is not None)
    grid = Grid.product(
        rules=rules, block_sizes=block_sizes or (profile.block_size,), steps=steps or (), thresholds=thresholds or ()
    )
    tables = read_run(run)
    lossless = tables.configurations[
        (tables.configurations["mode"] == "speculative")
        & (tables.configurations["rule"] == "lossless")
        & (tables.configurations["pair"] == profile.pair)
    ]
    rounds = tables.rounds[tables.rounds["config"].isin(lossless["config"])]
    if rounds.empty:
        raise InputError(f"{run} holds no lossless rounds of {profile.pair}; profile it again with --out {run}")
    return predict(profile, rounds, grid, list(predictors), configurations=lossless, seed=seed)


def write_predictions(table: pd.DataFrame, out: Path, profile: Profile) -> None:
    """Write `predictions.parquet` into a folder."""
    from specfrontier.profiling.folders import writable_folder
    from specfrontier.profiling.parquet import write_frame

    provenance: dict[str, Any] = {"profile": profile.provenance}
    write_frame("predictions", table, writable_folder(out) / "predictions.parquet", provenance)


def show(table: pd.DataFrame) -> None:
    """Print predictions for people."""
    print_table(
        "Predicted",
        ("configuration", "predictor", "tokens/s", "95 %", "latency s", "tokens/round", "acceptance", "agreement"),
        (
            (
                f"{effort(row['steps'], row['threshold'])} B={row['block_size']} {row['rule']}",
                row["predictor"],
                number(row["throughput"], 4),
                f"[{number(row['throughput_low'], 4)}, {number(row['throughput_high'], 4)}]",
                number(row["latency"]),
                number(row["tokens_per_round"]),
                number(row["acceptance"]),
                number(row["agreement"]),
            )
            for row in table.to_dict("records")
        ),
    )
