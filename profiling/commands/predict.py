"""`specfrontier predict`: a frontier from one profile, without the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from specfrontier.profiling.commands.options import (
    AnchorsOption,
    BlockSizesOption,
    JsonOption,
    LeniencyOption,
    MaybeOutOption,
    RulesOption,
    RunArgument,
    StepsOption,
    ThresholdsOption,
    anchor_rules,
    integers,
    names,
    rules,
    thresholds,
)
from specfrontier.profiling.commands.output import effort, number, print_json, print_table, records
from specfrontier.profiling.ranges import check_seed

if TYPE_CHECKING:
    import pandas as pd

LENIENCIES = ("lossless", "linear:0.2", "linear:0.4", "linear:0.6", "linear:0.8", "linear:1.0")


def command(
    run: RunArgument,
    out: MaybeOutOption = None,
    steps: StepsOption = None,
    taus: ThresholdsOption = None,
    specs: RulesOption = None,
    lam: LeniencyOption = None,
    block_sizes: BlockSizesOption = None,
    predictors: Annotated[
        str | None,
        typer.Option(
            "--predictor",
            help="Of closed-form (Equations 6 and 7), position-dependent, correlated, replay and anchored; "
            "replay,closed-form unless told otherwise.",
        ),
    ] = None,
    anchors: AnchorsOption = None,
    accuracy: Annotated[
        bool, typer.Option("--accuracy", help="Accuracy too, fitted on two or three of RUN's measurements.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", callback=check_seed, help="Seed of the bootstrap.")] = 0,
    json: JsonOption = False,
) -> None:
    """Predict throughput, acceptance and agreement over a grid from the profile in RUN.

    `anchored` also reads the rounds of the rules given as --anchors, linear:0.4 and linear:0.8 unless told otherwise,
    where RUN has them. `compare` leaves every point that a prediction rests on out of its score.
    """
    efforts, confidences = integers(steps, "steps (K)"), thresholds(taus)
    sizes, chosen = integers(block_sizes, "block_size (B)"), rules(specs, lam) or LENIENCIES

    from specfrontier.profile import Profile
    from specfrontier.profiling.predictions import (
        ANCHORS,
        PREDICTORS,
        grid_of,
        predictions_of,
        predictions_with_accuracy,
    )
    from specfrontier.profiling.results import write_predictions

    profile = Profile.load(run / "profile.json")
    wanted = names(predictors, "predictor") or PREDICTORS
    predicted = predictions_with_accuracy if accuracy else predictions_of
    table = predicted(
        run,
        profile,
        grid_of(profile, chosen, steps=efforts, thresholds=confidences, block_sizes=sizes),
        wanted,
        anchors=anchor_rules(anchors, wanted) or ANCHORS,
        seed=seed,
    )
    if out is not None:
        write_predictions(table, out, profile)
    if json:
        print_json({"rows": records(table)})
    else:
        show(table)


def show(table: pd.DataFrame) -> None:
    """Print predictions for people; accuracy where it was fitted."""
    figures = (
        "tokens_per_round",
        "acceptance",
        "agreement",
        *(["accuracy"] if table["accuracy"].notna().any() else []),
    )
    print_table(
        "Predicted",
        ("configuration", "predictor", "tokens/s", "95 %", "latency s", *(f.replace("_per_", "/") for f in figures)),
        (
            (
                f"{effort(row['steps'], row['threshold'])} B={row['block_size']} {row['rule']}",
                row["predictor"],
                number(row["throughput"], 4),
                f"[{number(row['throughput_low'], 4)}, {number(row['throughput_high'], 4)}]",
                number(row["latency"]),
                *(number(row[figure]) for figure in figures),
            )
            for row in table.to_dict("records")
        ),
    )
