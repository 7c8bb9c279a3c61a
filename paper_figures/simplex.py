"""Three-token laws as points of a triangle, where total variation is a hexagonal distance."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Polygon
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

CORNERS: FloatArray = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
# Moving mass ε from one token to another costs ε in total variation; these six moves are the ball's corners.
_MOVES: FloatArray = np.array(
    [[1, -1, 0], [1, 0, -1], [0, 1, -1], [-1, 1, 0], [-1, 0, 1], [0, -1, 1]], dtype=np.float64
)


def to_plane(laws: FloatArray) -> FloatArray:
    """Laws `[..., 3]` as points `[..., 2]` of the triangle."""
    return np.asarray(laws) @ CORNERS


def tv_ball(law: FloatArray, radius: float) -> FloatArray:
    """Corners `[6, 3]` of {x : TV(x, law) <= radius} in the plane of the simplex; it may leave the triangle."""
    return law + radius * _MOVES


def draw_simplex(axes: Axes, colour: str) -> Polygon:
    """The triangle itself; returns it, to clip what is drawn inside."""
    triangle = Polygon(CORNERS, closed=True, facecolor="none", edgecolor=colour, linewidth=0.8, zorder=2)
    axes.add_patch(triangle)
    axes.set_aspect("equal")
    axes.set_axis_off()
    return triangle
