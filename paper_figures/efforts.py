"""Diffusion effort as figures show it: an order, a label, a colour and a marker for each level."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from specfrontier.paper_figures.style import MARKERS, Colour, ordered_colours


@dataclass(frozen=True, order=True)
class EffortLevel:
    """Fixed steps K, or a confidence threshold tau; fixed steps come first in the order."""

    adaptive: bool
    value: float

    @property
    def label(self) -> str:
        """As mathematics, such as `$K=2$` or `$\\tau=0.9$`."""
        return rf"$\tau={self.value:g}$" if self.adaptive else f"$K={self.value:g}$"

    @property
    def plain(self) -> str:
        """As text, such as `K=2` or `tau=0.9`."""
        return f"tau={self.value:g}" if self.adaptive else f"K={self.value:g}"


@dataclass(frozen=True)
class EffortStyle:
    """How one level is drawn."""

    colour: Colour
    marker: str


def effort_of(steps: float | None, threshold: float | None) -> EffortLevel | None:
    """The level of a row of a table: its threshold if it has one, else its steps, else None."""
    if threshold is not None and pd.notna(threshold):
        return EffortLevel(True, float(threshold))
    if steps is not None and pd.notna(steps):
        return EffortLevel(False, float(steps))
    return None


def efforts(table: pd.DataFrame) -> pd.Series:
    """The level of every row of a table with columns `steps` and, if it has one, `threshold`."""
    thresholds = table["threshold"] if "threshold" in table else [None] * len(table)
    levels = [effort_of(k, tau) for k, tau in zip(table["steps"], thresholds, strict=True)]
    return pd.Series(levels, index=table.index, dtype=object)


def effort_styles(levels: Iterable[EffortLevel]) -> dict[EffortLevel, EffortStyle]:
    """Colours along one ordered scale, and a marker each so that colour is never the only cue."""
    ordered = sorted(set(levels))
    colours = ordered_colours(len(ordered))
    return {level: EffortStyle(colours[i], MARKERS[i % len(MARKERS)]) for i, level in enumerate(ordered)}
