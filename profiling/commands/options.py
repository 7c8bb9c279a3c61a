"""Options that several commands share, and how lists are written on the command line."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

import typer

from specfrontier.errors import InputError
from specfrontier.profiling.ranges import check_integer, check_seed


def _count(value: int | None) -> int | None:
    return None if value is None else check_integer(value, "n")


def _limit(value: int | None) -> int | None:
    return None if value is None else check_integer(value, "max_new_tokens")


PairArgument = Annotated[str, typer.Argument(metavar="PAIR", help="A shipped pair's name, or the path of a pair file.")]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="Folder that `profile` or `measure` wrote.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
OutOption = Annotated[Path, typer.Option("--out", help="Folder to write to; nothing is written elsewhere.")]
MaybeOutOption = Annotated[
    Path | None, typer.Option("--out", help="Folder to write to; without it nothing is written.")
]
TaskOption = Annotated[str | None, typer.Option("--task", help="Task; the pair's first one by default.")]
DataOption = Annotated[Path | None, typer.Option("--data", help="Local file of the task's problems.")]
CodeOption = Annotated[
    bool, typer.Option("--allow-code-execution", help="Let scoring run generated programs, in a sandbox.")
]
UnisolatedOption = Annotated[
    bool,
    typer.Option(
        "--allow-unisolated", help="Run those programs even where nothing can isolate them; for throw-away machines."
    ),
]
StepsOption = Annotated[str | None, typer.Option("--steps", help="Diffusion efforts K, such as 1,2,4.")]
ThresholdsOption = Annotated[str | None, typer.Option("--thresholds", help="Confidence thresholds tau: 0.5,0.9.")]
RulesOption = Annotated[
    str | None,
    typer.Option("--rules", help="Acceptance rules: lossless,linear:0.3; by position: linear:1@1-4/lossless."),
]
AnchorsOption = Annotated[
    str | None, typer.Option("--anchors", help="Lenient rules to record too, that `anchored` predicts between.")
]
LeniencyOption = Annotated[str | None, typer.Option("--lam", help="Leniency of the linear rule: 0,0.2,0.4.")]
BlockSizesOption = Annotated[str | None, typer.Option("--block-sizes", help="Block sizes B, such as 8,16,32.")]
LimitOption = Annotated[
    int | None, typer.Option("--max-new-tokens", callback=_limit, help="Token limit; the pair's own by default.")
]
SeedOption = Annotated[int, typer.Option("--seed", callback=check_seed, help="Seed of every random draw.")]
CountOption = Annotated[
    int | None, typer.Option("--n", callback=_count, help="Problems; a larger number grows an existing run.")
]
DeviceOption = Annotated[str | None, typer.Option("--device", help="Such as cpu or cuda:0; CUDA where there is one.")]
DrafterDeviceOption = Annotated[
    str | None, typer.Option("--drafter-device", help="Of the drafter, if not the verifier's.")
]
DtypeOption = Annotated[
    str | None, typer.Option("--dtype", help="float32, bfloat16 or float16; bfloat16 on CUDA by default.")
]
DeviceMapOption = Annotated[
    str | None, typer.Option("--device-map", help="auto or balanced: spread the verifier over several GPUs.")
]
CompileOption = Annotated[
    bool, typer.Option("--compile", help="Run the verifier through torch.compile; its first forwards take long.")
]


def integers(text: str | None, name: str) -> tuple[int, ...] | None:
    """`1,2,4` as integers in [1, `MOST`]; None if not given."""
    if text is None:
        return None
    return tuple(check_integer(_number(part, int, name), name) for part in _parts(text, name))


def seeds(text: str | None) -> tuple[int, ...] | None:
    """`0,1,2` as seeds in [0, 2^63); None if not given."""
    if text is None:
        return None
    return tuple(check_seed(_number(part, int, "seeds")) for part in _parts(text, "seeds"))


def thresholds(text: str | None) -> tuple[float, ...] | None:
    """`0.5,0.9` as thresholds in (0, 1]; None if not given."""
    if text is None:
        return None
    values = tuple(_number(part, float, "threshold (tau)") for part in _parts(text, "thresholds"))
    for value in values:
        if not 0 < value <= 1:
            raise InputError(f"threshold (tau) is {value:g}; give a number in (0, 1]")
    return values


def rules(specs: str | None, leniencies: str | None) -> tuple[str, ...] | None:
    """Specs from `--rules`, and `linear:` specs from `--lam`; None if neither is given."""
    found = [] if specs is None else _parts(specs, "rules")
    if leniencies is not None:
        found += [linear(_number(part, float, "lambda")) for part in _parts(leniencies, "lambda")]
    return tuple(found) or None


def linear(leniency: float) -> str:
    """The spec of linear leniency; zero leniency is the lossless rule."""
    if not 0 <= leniency <= 1:
        raise InputError(f"lambda is {leniency:g}; give a number in [0, 1] (0 is lossless, 1 accepts every draft)")
    return "lossless" if leniency == 0 else f"linear:{leniency:g}"


def anchor_rules(text: str | None, predictors: Collection[str]) -> tuple[str, ...] | None:
    """Rules that `anchored` predicts between; None if not given.

    Raises:
        InputError: if none of the predictors reads them.
    """
    if text is not None and "anchored" not in predictors:
        raise InputError("--anchors is read by the predictor anchored alone; add it to --predictor, or leave it out")
    return names(text, "anchors")


def names(text: str | None, name: str) -> tuple[str, ...] | None:
    """A list of words; None if not given."""
    return None if text is None else tuple(_parts(text, name))


def _parts(text: str, name: str) -> list[str]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise InputError(f"{name} is empty; give one value or several, separated by commas")
    return parts


def _number(text: str, kind: Any, name: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        word = "an integer" if kind is int else "a number"
        raise InputError(f"{name} is {text!r}; give {word}") from None
