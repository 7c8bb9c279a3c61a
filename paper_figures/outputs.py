"""Write a figure and the table behind it. The same inputs give the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from specfrontier.errors import InputError

FORMATS = ("pdf", "svg", "png")

# A date, or the version of a library, would make two runs differ.
_METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "ModDate": None, "Producer": None, "Creator": "specfrontier"},
    "svg": {"Date": None, "Creator": "specfrontier"},
    "png": {"Software": "specfrontier"},
}


@dataclass(frozen=True)
class Drawing:
    """A figure and the numbers that it shows."""

    figure: Figure
    data: pd.DataFrame


def check_formats(formats: Iterable[str]) -> tuple[str, ...]:
    """The formats as given, or InputError naming the first that is unknown."""
    chosen = tuple(formats)
    for name in chosen:
        if name not in FORMATS:
            raise InputError(f"unknown figure format {name!r}; choose from {', '.join(FORMATS)}")
    return chosen


def output_folder(out: Path) -> Path:
    """`out` as a folder that exists, or InputError."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {out}: {error.strerror or error}; choose another folder") from error
    return out


def save_figure(drawing: Drawing, out: Path, name: str, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write `name` in every format, and `name.csv` with the numbers that were drawn.

    Returns the paths written, the CSV last.
    """
    paths = [save_image(drawing.figure, out / f"{name}.{form}") for form in check_formats(formats)]
    return [*paths, save_table(drawing.data, out / f"{name}.csv")]


def save_image(figure: Figure, path: Path) -> Path:
    """Write one image in the format of its ending."""
    form = path.suffix[1:]
    background = "none" if form == "pdf" else "auto"
    try:
        figure.savefig(path, format=form, metadata=_METADATA[form], facecolor=background)
    except OSError as error:
        raise unwritable(path, error) from error
    return path


def save_table(data: pd.DataFrame, path: Path) -> Path:
    """Write a table as CSV, six significant digits."""
    return save_text(data.to_csv(index=False, float_format="%.6g", lineterminator="\n"), path)


def save_text(text: str, path: Path) -> Path:
    """Write text as UTF-8 with Unix line ends."""
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise unwritable(path, error) from error
    return path


def unwritable(path: Path, error: OSError) -> InputError:
    """The one line for a file that cannot be written."""
    return InputError(f"cannot write {path}: {error.strerror or error}; choose another folder")
