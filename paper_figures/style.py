"""The look of every figure: sizes of a journal column, fonts that ship with matplotlib, colour-blind safe colours.

Screen formats stand on a nearly opaque white card, so that dark ink stays legible in a dark notebook; the PDF,
which is for print, has no background.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import seaborn as sns
from matplotlib.colors import to_rgb

COLUMN_IN = 3.4  # width of one journal column, inches
PAGE_IN = 7.0  # width of two columns and their gap, inches

Colour = tuple[float, float, float]

INK = "#1b1e23"
MUTED = "#6b7078"
GRID = "#e3e5e8"
CARD = (1.0, 1.0, 1.0, 0.93)

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")

_RC: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelpad": 2.5,
    "axes.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlepad": 4.0,
    "axes.titlesize": 7.5,
    "axes.unicode_minus": True,
    "axes.facecolor": "none",
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.03,
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "figure.facecolor": CARD,
    "figure.titlesize": 8,
    "font.family": "STIXGeneral",
    "font.size": 7.5,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.6,
    "legend.borderaxespad": 0.3,
    "legend.columnspacing": 1.0,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "legend.handletextpad": 0.4,
    "legend.title_fontsize": 7,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.6,
    "mathtext.fontset": "stix",
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "savefig.dpi": 300,
    "savefig.facecolor": "auto",
    "svg.fonttype": "path",
    "svg.hashsalt": "specfrontier",
    "text.color": INK,
    "text.usetex": False,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 7,
    "xtick.major.pad": 2,
    "xtick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "xtick.minor.size": 1.5,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 7,
    "ytick.major.pad": 2,
    "ytick.major.size": 2.5,
    "ytick.major.width": 0.6,
    "ytick.minor.size": 1.5,
}


@contextmanager
def journal_style() -> Iterator[None]:
    """Draw inside: matplotlib's defaults plus the settings above, whatever the user's own are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)
        yield


def ordered_colours(count: int) -> list[Colour]:
    """Colours for ordered levels such as K: viridis without its pale end.

    Lightness rises along the scale, so the order survives every colour blindness and a grey print.
    """
    if count == 1:
        return [to_rgb(mpl.colormaps["viridis"](0.3))]
    return [to_rgb(mpl.colormaps["viridis"](0.03 + 0.83 * i / (count - 1))) for i in range(count)]


def named_colours(names: Sequence[str]) -> dict[str, Colour]:
    """Colours for unordered things such as drafters: the colour-blind palette of seaborn, in a fixed order."""
    return dict(zip(names, sns.color_palette("colorblind", len(names)), strict=True))
