"""The frontier's line itself: a gradient along it and white ticks across it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.collections import LineCollection
from matplotlib.transforms import IdentityTransform
from numpy.typing import NDArray

from specfrontier.paper_figures.style import Colour

FloatArray = NDArray[np.float64]

_LINE_POINTS = 3.0
_CASING_POINTS = 4.6
_TICK_POINTS = 4.4
_GRADIENT_STEPS = 32


def gradient_line(axes: Axes, points: FloatArray, colours: Sequence[Colour]) -> None:
    """A thick line through points `[n, 2]`, its colour running from each point's to the next one's.

    Legs are straight on the page, so the axes' scale must be set before.
    """
    if len(points) == 1:
        axes.plot(*points[0], marker="o", color=colours[0], markersize=_CASING_POINTS, zorder=4)
        return
    share = np.linspace(0.0, 1.0, _GRADIENT_STEPS + 1)[:, None]
    scaled, unscale = axes.transScale.transform(points), axes.transScale.inverted().transform
    for i in range(len(points) - 1):
        path = unscale(scaled[i] + share * (scaled[i + 1] - scaled[i]))
        middle = (share[:-1] + share[1:]) / 2
        shades = np.asarray(colours[i]) + middle * (np.asarray(colours[i + 1]) - np.asarray(colours[i]))
        axes.plot(*path[[0, -1]].T, color="white", linewidth=_CASING_POINTS, solid_capstyle="round", zorder=2.2)
        uniform = colours[i] == colours[i + 1]
        segments = path[[0, -1]][None] if uniform else np.stack([path[:-1], path[1:]], axis=1)
        line = LineCollection(
            list(segments),
            colors=shades[:1] if uniform else shades,
            linewidths=_LINE_POINTS,
            capstyle="round",
            zorder=4,
        )
        axes.add_collection(line)


class FrontierTicks(LineCollection):
    """White ticks across a line at its points, square to the line as it appears on the page."""

    def __init__(self, points: FloatArray) -> None:
        super().__init__([], colors="white", linewidths=0.9, zorder=5)
        self.points = points
        self.set_transform(IdentityTransform())
        self.set_in_layout(False)

    def draw(self, renderer: RendererBase) -> None:
        """Place the ticks now that the axes' scale is known."""
        axes, figure = self.axes, self.get_figure(root=True)
        if axes is None or figure is None or len(self.points) < 2:
            return
        on_page = axes.transData.transform(self.points)
        legs = _unit(np.diff(on_page, axis=0))
        tangent = _unit(np.concatenate([legs[:1], legs[:-1] + legs[1:], legs[-1:]]))
        half = 0.5 * _TICK_POINTS * figure.dpi / 72 * np.stack([-tangent[:, 1], tangent[:, 0]], axis=1)
        self.set_segments(list(np.stack([on_page - half, on_page + half], axis=1)))
        super().draw(renderer)


def _unit(vectors: FloatArray) -> FloatArray:
    length = np.hypot(*vectors.T)[:, None]
    return vectors / np.where(length > 0, length, 1.0)
