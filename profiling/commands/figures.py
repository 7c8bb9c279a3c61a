"""`specfrontier figures`: the paper's figures and tables, from its printed numbers or from runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specfrontier.profiling.commands.options import JsonOption, OutOption, names
from specfrontier.profiling.commands.output import console, print_json


def command(
    which: Annotated[str, typer.Argument(help="A figure (1 to 13), a table (table1 to table5), examples or all.")],
    out: OutOption,
    runs: Annotated[
        list[Path] | None, typer.Option("--from", help="Run folder to draw from; repeat it to compare runs.")
    ] = None,
    formats: Annotated[str, typer.Option("--formats", help="Of pdf, svg and png.")] = "pdf,svg,png",
    json: JsonOption = False,
) -> None:
    """Draw a figure or a table of the paper, or all that can be drawn."""
    wanted = names(formats, "formats") or ()

    from specfrontier.paper_figures import draw, draw_all, read_run

    source = read_run(*runs) if runs else None
    left_out: dict[str, str] = {}
    if which == "all":
        drawn = draw_all(source, out, wanted)
        paths, left_out = drawn.paths, drawn.left_out
    else:
        paths = draw(which, source, out, wanted)
    if json:
        print_json({"files": paths, "left_out": left_out})
        return
    for path in paths:
        console().print(str(path))
    for name, reason in left_out.items():
        console().print(f"{name} left out: {reason}", markup=False)
