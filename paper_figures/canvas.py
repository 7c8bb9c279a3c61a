"""New figures, with the small print under them."""

from __future__ import annotations

import re
import textwrap

from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from specfrontier.paper_figures.style import MUTED

_NOTE_POINTS = 6.0
_CHARACTERS_PER_INCH = 24  # of the note's type, on average
_LINE_IN = 0.105

#: A white outline, for text that crosses lines.
HALO = (withStroke(linewidth=2.0, foreground="white"),)


def new_figure(width: float, height: float, note: str = "") -> Figure:
    """A figure of `width` by `height` inches, and below it the room that its note needs.

    Args:
        width: inches.
        height: inches, without the note.
        note: what was measured or assumed, wrapped to the width; formulas between dollar signs stay whole.
    """
    lines = _wrap(note, int(_CHARACTERS_PER_INCH * width))
    figure = Figure(figsize=(width, height + _LINE_IN * len(lines)), layout="constrained")
    if lines:
        text = "\n".join(lines)
        figure.supxlabel(text, fontsize=_NOTE_POINTS, color=MUTED, x=0.01, ha="left", linespacing=1.2)
    return figure


def _wrap(note: str, width: int) -> list[str]:
    solid = re.sub(r"\$[^$]*\$", lambda formula: formula[0].replace(" ", "\0"), note)
    return [line.replace("\0", " ") for line in textwrap.wrap(solid, width, break_on_hyphens=False)]
