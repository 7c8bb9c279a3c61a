"""`specfrontier recommend`: which (K, rule, B) to deploy."""

from __future__ import annotations

import json as json_module
from typing import TYPE_CHECKING, Annotated

import typer

from specfrontier.errors import InputError
from specfrontier.profiling.commands.options import (
    AnchorsOption,
    BlockSizesOption,
    CodeOption,
    DataOption,
    JsonOption,
    LeniencyOption,
    RulesOption,
    RunArgument,
    StepsOption,
    ThresholdsOption,
    UnisolatedOption,
    anchor_rules,
    integers,
    rules,
    thresholds,
)
from specfrontier.profiling.commands.output import console, effort, number, print_json

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from specfrontier.profile import Profile
    from specfrontier.simulate import Grid
    from specfrontier.simulate.recommendation import Choice, Goal, Recommendation

GRID = tuple("lossless" if i == 0 else f"linear:{i / 10:g}" for i in range(11))


def command(
    run: RunArgument,
    min_accuracy: Annotated[float | None, typer.Option("--min-accuracy", help="Floor of accuracy, in [0, 1].")] = None,
    min_agreement: Annotated[
        float | None, typer.Option("--min-agreement", help="Floor of verifier agreement, in [0, 1].")
    ] = None,
    max_latency: Annotated[
        float | None, typer.Option("--max-latency", help="Ceiling of seconds a problem; asks for the best quality.")
    ] = None,
    speed: Annotated[str, typer.Option("--speed", help="What fast means: throughput or latency.")] = "throughput",
    quality: Annotated[
        str, typer.Option("--quality", help="Under a latency ceiling: accuracy or agreement.")
    ] = "agreement",
    measured: Annotated[bool, typer.Option("--measured", help="Choose among what was measured in RUN.")] = False,
    predictor: Annotated[
        str | None,
        typer.Option(
            "--predictor", help="Whose predictions to choose among; anchored where RUN has anchors, or replay."
        ),
    ] = None,
    anchors: AnchorsOption = None,
    verify: Annotated[
        int | None, typer.Option("--verify", help="Measure the contenders on so many problems, into RUN.")
    ] = None,
    pair: Annotated[
        str | None, typer.Option("--pair", help="File of the pair to verify, if it is not shipped.")
    ] = None,
    data: DataOption = None,
    allow_code_execution: CodeOption = False,
    allow_unisolated: UnisolatedOption = False,
    steps: StepsOption = None,
    taus: ThresholdsOption = None,
    specs: RulesOption = None,
    lam: LeniencyOption = None,
    block_sizes: BlockSizesOption = None,
    json: JsonOption = False,
) -> None:
    """Recommend a configuration: the fastest above a quality floor, or the best under a latency ceiling.

    Accuracy of predicted configurations is fitted on the measurements in RUN, if there are any.
    """
    wanted = (integers(steps, "steps (K)"), thresholds(taus), integers(block_sizes, "block_size (B)"))
    chosen = rules(specs, lam) or GRID
    goal = _goal(min_accuracy, min_agreement, max_latency, speed, quality)

    from specfrontier.profile import Profile
    from specfrontier.profiling.predictions import grid_of
    from specfrontier.profiling.results import as_predictions
    from specfrontier.simulate.recommendation import recommend

    if measured and verify is not None:
        raise InputError("--verify measures what was predicted; leave --measured out")
    of_verify = {
        "--pair": pair is not None,
        "--data": data is not None,
        "--allow-code-execution": allow_code_execution,
        "--allow-unisolated": allow_unisolated,
    }
    for option in (name for name, given in of_verify.items() if given and verify is None):
        raise InputError(f"{option} is for what --verify measures; give --verify N too")
    if measured and any(given is not None for given in (predictor, anchors, *wanted, specs, lam)):
        raise InputError(
            "--measured chooses among all that was measured; leave --predictor, --anchors and the grid's options out"
        )
    fitted_on = None
    if measured:
        table, problems = as_predictions(run)
    else:
        profile = Profile.load(run / "profile.json")
        profile.require_distances()
        grid = grid_of(profile, chosen, steps=wanted[0], thresholds=wanted[1], block_sizes=wanted[2])
        table, problems = _predicted(run, profile, grid, goal, predictor, anchors), profile.efforts[0].d_visited.n
        if _asks_accuracy(goal):
            _, fitted_on = as_predictions(run)
    found = recommend(table, goal, problems=problems, accuracy_problems=fitted_on)
    confirmed = None
    if verify is not None:
        from specfrontier.profiling.tasks.options import TaskOptions
        from specfrontier.profiling.verify import verify as measure_contenders

        contenders = table.loc[list(found.contenders)]
        source = TaskOptions(data, allow_code_execution, allow_unisolated)
        confirmed = measure_contenders(run, profile, contenders, goal, n=verify, pair=pair, source=source)
    _answer(found, confirmed, _contenders(table, found), verify, json=json)


def _predicted(
    run: Path, profile: Profile, grid: Grid, goal: Goal, predictor: str | None, anchors: str | None
) -> pd.DataFrame:
    """Predictions of the grid, with accuracy if the goal asks for it."""
    from specfrontier.profiling import predictions

    name = predictor or ("anchored" if anchors is not None else predictions.closest_predictor(run, profile))
    held = anchor_rules(anchors, (name,)) or predictions.ANCHORS
    if _asks_accuracy(goal):
        return predictions.predictions_with_accuracy(run, profile, grid, (name,), anchors=held)
    return predictions.predictions_of(run, profile, grid, (name,), anchors=held)


def _asks_accuracy(goal: Goal) -> bool:
    return "accuracy" in (goal.objective, goal.constraint)


def _answer(
    found: Recommendation, confirmed: Recommendation | None, contenders: list[str], verify: int | None, *, json: bool
) -> None:
    """Print what is recommended, and what measuring the contenders says of it."""
    if json:
        answer = {**json_module.loads(found.to_json()), "contenders": contenders}
        print_json(answer if confirmed is None else {**answer, "measured": json_module.loads(confirmed.to_json())})
        return
    show(found)
    if confirmed is not None:
        console().print(f"measured on {verify} problems or more: {', '.join(contenders)}", markup=False)
        show(confirmed)


def _goal(accuracy: float | None, agreement: float | None, latency: float | None, speed: str, quality: str) -> Goal:
    from specfrontier.simulate.recommendation import Goal

    if sum(value is not None for value in (accuracy, agreement, latency)) != 1:
        raise InputError("give one of --min-accuracy, --min-agreement and --max-latency")
    if speed not in ("throughput", "latency"):
        raise InputError(f"speed is {speed!r}; choose throughput or latency")
    if quality not in ("accuracy", "agreement"):
        raise InputError(f"quality is {quality!r}; choose accuracy or agreement")
    if latency is not None:
        return Goal(quality=quality, latency=latency)  # type: ignore[arg-type]
    if accuracy is not None:
        return Goal(quality="accuracy", floor=accuracy, speed=speed)  # type: ignore[arg-type]
    return Goal(quality="agreement", floor=agreement, speed=speed)  # type: ignore[arg-type]


def _contenders(table: pd.DataFrame, found: Recommendation) -> list[str]:
    rows = table.loc[list(found.contenders)].to_dict("records")
    return [f"{effort(r['steps'], r['threshold'])} {r['rule']} B={r['block_size']}" for r in rows]


def show(found: Recommendation) -> None:
    """Print a recommendation for people."""
    out = console()
    out.print(f"deploy    {_words(found.choice)}", markup=False)
    if found.runner_up is not None:
        out.print(f"next best {_words(found.runner_up)}", markup=False)
    if not found.spread_known:
        out.print("how sure this is cannot be said: the figures have no intervals (they take two problems or more)")
        return
    if found.close:
        more = found.problems_to_settle
        out.print("the two are too close to call" + (f"; about {more} more problems would settle it" if more else ""))
    if not found.certain:
        out.print(f"the bound on {found.goal.constraint} is met by the estimate, not by its whole interval")


def _words(choice: Choice) -> str:
    figures = ", ".join(
        f"{name} {number(value)} [{number(low)}, {number(high)}]"
        for name in ("throughput", "latency", "agreement", "accuracy")
        for value, low, high in [getattr(choice, name)]
        if value == value
    )
    return f"{effort(choice.steps, choice.threshold)} {choice.rule} B={choice.block_size}: {figures}"
