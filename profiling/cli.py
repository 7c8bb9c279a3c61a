"""The command line `specfrontier`."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from specfrontier.errors import InputError
from specfrontier.profiling.commands import (
    audit,
    compare,
    demo,
    export,
    figures,
    generate,
    measure,
    pairs,
    predict,
    price,
    profile,
    recommend,
    report,
    schedule,
)

BAD_INPUT = 2
TRACEBACK_VARIABLE = "SPECFRONTIER_TRACEBACK"
#: Typer may carry a click of its own: its exceptions are found through its public names.
OWN_ERRORS: tuple[type[BaseException], ...] = (
    typer.Exit,
    typer.Abort,
    next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException"),
    KeyboardInterrupt,
)


class Commands(TyperGroup):
    """Turns errors into one line on standard error: exit code 2 for bad input, 1 for anything else."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as error:
            return _stop(str(error), BAD_INPUT)
        except OSError as error:
            name = f" {error.filename}" if error.filename else ""
            return _stop(f"cannot use{name}: {(error.strerror or str(error)).lower()}", BAD_INPUT)
        except OWN_ERRORS:
            raise
        except Exception as error:
            if os.environ.get(TRACEBACK_VARIABLE):
                raise
            lines = str(error).strip().splitlines() or [""]
            hint = f"set {TRACEBACK_VARIABLE}=1 to see where"
            return _stop(f"unexpected {type(error).__name__}: {lines[0]} ({hint})", 1)


def _stop(message: str, code: int) -> None:
    print(f"specfrontier: {' '.join(message.splitlines())}", file=sys.stderr)
    raise typer.Exit(code)


app = typer.Typer(
    cls=Commands,
    name="specfrontier",
    help="Measure, explain and predict the speed-quality frontier of speculative diffusion.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for _module in (
    demo,
    pairs,
    generate,
    profile,
    measure,
    predict,
    compare,
    recommend,
    schedule,
    audit,
    price,
    figures,
    report,
    export,
):
    app.command(name=_module.__name__.rpartition(".")[2])(_module.command)


def main() -> None:
    """Entry point."""
    if not sys.stderr.isatty():
        # Read by transformers and the hub when they are imported: no bars where nobody watches.
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    app()
