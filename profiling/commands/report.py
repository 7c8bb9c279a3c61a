"""`specfrontier report`: a run as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specfrontier.profiling.commands.options import JsonOption
from specfrontier.profiling.commands.output import console, print_json


def command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders; several are put together.")],
    out: Annotated[Path, typer.Option("--out", help="The page, or a folder to put report.html in.")],
    json: JsonOption = False,
) -> None:
    """Write measurements, frontier and outputs as one self-contained HTML page."""
    from specfrontier.paper_figures import read_run, write_report

    path = write_report(read_run(*runs), out)
    if json:
        print_json({"files": [path]})
    else:
        console().print(str(path))
