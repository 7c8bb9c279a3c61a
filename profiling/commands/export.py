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
    """Export a run's tables; lists become JSON arrays."""
    if format != "csv":
        raise InputError(f"format is {format!r}; choose csv (Parquet is what the run folder holds)")
    from specfrontier.profiling.store import export

    written = export(run, out)
    if json:
        print_json({"files": written})
        return
    for path in written:
        console().print(str(path))
