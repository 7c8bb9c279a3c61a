"""`specfrontier demo`: the main job on the embedded pair, in a few minutes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from specfrontier.errors import InputError
from specfrontier.profiling.commands.options import (
    JsonOption,
    LeniencyOption,
    RulesOption,
    SeedOption,
    StepsOption,
    integers,
    rules,
)
from specfrontier.profiling.commands.output import console, print_json

DEFAULT_PAIR = "arith-masked"


def command(
    out: Annotated[Path, typer.Option("--out", help="Folder to write to.")] = Path("demo"),
    pair: Annotated[str, typer.Option("--pair", help="Pair to show.")] = DEFAULT_PAIR,
    steps: StepsOption = None,
    specs: RulesOption = None,
    lam: LeniencyOption = None,
    minutes: Annotated[float, typer.Option("--minutes", help="About how long to measure.")] = 4.0,
    seed: SeedOption = 0,
    threads: Annotated[int, typer.Option("--threads", help="Of torch; tiny models are fastest on one.")] = 1,
    json: JsonOption = False,
) -> None:
    """Profile a pair, predict its frontier, measure it, compare the two, and draw all of it."""
    if not minutes > 0:
        raise InputError(f"minutes is {minutes:g}; give a number > 0")
    if threads < 1:
        raise InputError(f"threads is {threads}; give an integer >= 1")
    efforts, chosen = integers(steps, "steps (K)"), rules(specs, lam)
    began = time.monotonic()

    import torch

    from specfrontier.profiling.commands import compare, measure, profile
    from specfrontier.profiling.main_job import run_main_job

    torch.set_num_threads(threads)
    out_console = console()

    def say(text: str) -> None:
        if not json:
            out_console.print(f"[{time.monotonic() - began:4.0f} s] {text}", markup=False)

    result = run_main_job(pair, out, budget_s=60 * minutes, seed=seed, steps=efforts, rules=chosen, say=say)
    if json:
        import json as json_module

        print_json(
            {
                "profile": result.profile,
                "comparison": json_module.loads(result.comparison.to_json()),
                "figures": result.figures,
                "folder": result.folder,
                "seconds": time.monotonic() - began,
            }
        )
        return
    profile.show(result.profile)
    measure.show(result.measurements)
    compare.show(result.comparison, result.measurements, result.predictions)
    say("done")
    out_console.print(f"figures: {', '.join(str(p) for p in result.figures if p.suffix == '.png')}")
    out_console.print(f"tables:  {result.folder}")
