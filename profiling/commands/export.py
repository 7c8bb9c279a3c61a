"""`specfrontier export`: a run's tables as CSV."""

from __future__ import annotations

from typing import Annotated

import typer

from specfrontier.errors import InputError
from specfrontier.profiling.commands.options import JsonOption, OutOption, RunArgument
from specfrontier.profiling.commands.output import console, print_json


def command(
    run: RunArgument,
    out: OutOption,
    format: Annotated[str, typer.Option("--format", help="csv, the only one so far.")] = "csv",
    json: JsonOption = False,
) -> None:
    """Export a run's tables, lists as JSON arrays, and d_K by configuration with its intervals (divergence.csv)."""
    if format != "csv":
        raise InputError(f"format is {format!r}; choose csv (Parquet is what the run folder holds)")
    from specfrontier.profiling.divergence import divergence_table
    from specfrontier.profiling.run_folder import export, read_run

    written = [*export(run, out), out / "divergence.csv"]
    tables = read_run(run)
    divergence_table(tables.configurations, tables.rounds).to_csv(written[-1], index=False)
    if json:
        print_json({"files": written})
        return
    for path in written:
        console().print(str(path))
