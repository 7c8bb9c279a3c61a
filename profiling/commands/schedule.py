"""`specfrontier schedule`: policies that change leniency, effort or configuration as they go, measured."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from specfrontier.errors import InputError
from specfrontier.profiling.commands.options import (
    CodeOption,
    DataOption,
    DeviceOption,
    JsonOption,
    LimitOption,
    OutOption,
    PairArgument,
    SeedOption,
    TaskOption,
    UnisolatedOption,
    integers,
    thresholds,
)
from specfrontier.profiling.commands.output import console, print_json, print_table, records

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "policy",
    "deviation per token",
    "speed",
    "best fixed of no more deviation",
    "its speed",
    "its deviation",
    "gain",
    "accuracy %",
)

UNEQUAL = " (not equal: the policy deviates more than every rival)"


def command(
    pair: PairArgument,
    out: OutOption,
    task: TaskOption = None,
    n: Annotated[int, typer.Option("--n", help="Problems; half make the policies, half judge them.")] = 80,
    steps: Annotated[str, typer.Option("--steps", help="Fixed efforts K.")] = "1,4",
    lam: Annotated[str, typer.Option("--lam", help="Leniencies: rivals, and budgets of TV schedules.")] = "0.1,0.2,0.4",
    clips: Annotated[str, typer.Option("--clips", help="Clips b: rivals, and budgets of KL schedules.")] = "2,8,32",
    taus: Annotated[str, typer.Option("--thresholds", help="Confidence tau that sets K by round.")] = "0.5,0.8,0.95",
    block_size: Annotated[int | None, typer.Option("--block-size", help="B; the pair's own by default.")] = None,
    max_new_tokens: LimitOption = None,
    seed: SeedOption = 0,
    data: DataOption = None,
    allow_code_execution: CodeOption = False,
    allow_unisolated: UnisolatedOption = False,
    device: DeviceOption = None,
    json: JsonOption = False,
) -> None:
    """Measure three policies against the best fixed configuration of equal deviation.

    Leniency by position under one budget (TV and KL), K by round from the drafter's confidence, and a router by
    difficulty. Writes schedules.json and schedules.md to --out; interrupted, give the same command again.
    """
    efforts = integers(steps, "steps (K)")
    leniencies = _numbers(lam, "lambda", 0.0, 1.0)
    widths = _numbers(clips, "clip (b)", 1.0, float("inf"))
    confidences = thresholds(taus)

    import torch

    from specfrontier.decoding import read_pair_file
    from specfrontier.profiling.job import open_job
    from specfrontier.profiling.load_options import LoadOptions
    from specfrontier.profiling.parquet import write_text
    from specfrontier.profiling.policies import PolicySettings, measure_policies
    from specfrontier.profiling.policy_table import policy_table
    from specfrontier.profiling.tasks.options import TaskOptions

    torch.set_num_threads(1)
    file = read_pair_file(pair)
    task = task or file.tasks[0]
    settings = PolicySettings(
        steps=efforts or (1,),
        leniencies=leniencies,
        clips=widths,
        thresholds=confidences or (),
        block_size=file.block_size if block_size is None else block_size,
        max_new_tokens=file.token_limit(task) if max_new_tokens is None else max_new_tokens,
        seed=seed,
    )
    settings.fixed(file.name, task)  # a setting out of range is said before the models are loaded
    job = open_job(
        pair,
        task,
        out,
        n=n,
        source=TaskOptions(data, allow_code_execution, allow_unisolated),
        load=LoadOptions(device),
        seed=seed,
    )
    said = console()
    measured = measure_policies(job, settings, (lambda _: None) if json else lambda t: said.print(t, markup=False))
    table = policy_table(measured, job.store.tables(), seed=seed)
    write_text(out / "schedules.json", table.to_json(orient="records", indent=2) + "\n")
    write_text(out / "schedules.md", markdown(table))
    if json:
        print_json({"rows": records(table)})
    else:
        show(table)


def _numbers(text: str, name: str, above: float, most: float) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise InputError(f"{name} is {text!r}; give numbers separated by commas") from None
    for value in values:
        if not (math.isfinite(value) and above < value <= most):
            limit = f"at most {most:g}" if math.isfinite(most) else "finite"
            raise InputError(f"{name} is {value:g}; give numbers above {above:g} and {limit}")
    if not values:
        raise InputError(f"{name} is empty; give one value or several, separated by commas")
    return values


def show(table: pd.DataFrame) -> None:
    """Print policies for people."""
    for kind, rows in table.groupby("kind", sort=False):
        print_table(str(kind).capitalize(), COLUMNS, (_cells(row) for row in rows.to_dict("records")))


def markdown(table: pd.DataFrame) -> str:
    """The same as Markdown tables, one a kind of policy."""
    parts = []
    for kind, rows in table.groupby("kind", sort=False):
        lines = [_line(COLUMNS), _line(["---"] * len(COLUMNS))]
        lines += [_line([str(cell).replace("|", "/") for cell in _cells(row)]) for row in rows.to_dict("records")]
        parts.append(f"**{str(kind).capitalize()}**\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _line(cells: object) -> str:
    return "| " + " | ".join(cells) + " |"  # type: ignore[arg-type]


def _cells(row: dict[str, float | str]) -> tuple[str, ...]:
    gain, low, high = (100 * float(row[name]) for name in ("gain", "gain_low", "gain_high"))
    measure = " nats" if row["measure"] == "KL" else " TV"
    return (
        str(row["policy"]),
        f"{float(row['deviation']):.3g}{measure}",
        f"{float(row['speed']):.4g} {row['unit']}",
        str(row["rival"]),
        f"{float(row['rival_speed']):.4g}",
        f"{float(row['rival_deviation']):.3g}{measure}{UNEQUAL if row['outdone'] else ''}",
        f"{gain:+.1f} % [{low:+.1f}, {high:+.1f}]",
        f"{100 * float(row['accuracy']):.0f}",
    )
