"""The frontier as inline SVG, drawn as in the figures, every point of it able to say its settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex

from specfrontier.paper_figures.efforts import EffortLevel, EffortStyle, effort_styles, efforts
from specfrontier.paper_figures.frontier_plot import SPEED_AXES, SpeedAxis, frontier_mask
from specfrontier.paper_figures.report.html import Html, element, join
from specfrontier.paper_figures.report.scale import Scale, scale_for
from specfrontier.paper_figures.report.words import number, setting_lines

_WIDTH, _HEIGHT = 470, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 12, 46


def frontier_charts(rows: pd.DataFrame, verifier: pd.DataFrame, key: str) -> Html:
    """Accuracy against latency and against throughput, with a legend of the efforts.

    Args:
        rows: speculative measurements of one pair and task.
        verifier: rows of the verifier alone; may be empty.
        key: makes identifiers unique on the page.
    """
    known = rows.dropna(subset=["accuracy"]).reset_index(drop=True)
    styles = effort_styles(efforts(known).dropna())
    charts = [_chart(known, verifier.head(1), speed, styles, f"{key}-{speed.column}") for speed in SPEED_AXES]
    return element("figure", _legend(styles, bool(len(verifier))), element("div", *charts, class_="charts"))


def _chart(
    rows: pd.DataFrame,
    verifier: pd.DataFrame,
    speed: SpeedAxis,
    styles: Mapping[EffortLevel, EffortStyle],
    key: str,
) -> Html:
    shown = pd.concat([rows, verifier], ignore_index=True)
    x = scale_for(shown[speed.column], _LEFT, _WIDTH - _RIGHT, may_be_log=True)
    y = scale_for(100 * shown["accuracy"], _HEIGHT - _BOTTOM, _TOP)
    mask = frontier_mask(rows, speed)
    colours = [to_hex(styles[level].colour) if level else "#777" for level in efforts(rows)]
    parts = [
        _axes(x, y, speed.label),
        _frontier(rows, mask, colours, x, y, speed, key),
        *_points(rows, mask, colours, x, y, speed),
    ]
    if len(verifier):
        parts.append(_point(verifier.iloc[0], "currentColor", "verifier", x, y, speed))
    return element(
        "svg",
        *parts,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="group",
        aria_label=f"Accuracy against {speed.label.lower()}",
    )


def _axes(x: Scale, y: Scale, label: str) -> Html:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = []
    for value in x.ticks:
        at = f"{x(value):.1f}"
        parts.append(element("line", x1=at, x2=at, y1=_TOP, y2=bottom, class_="grid"))
        parts.append(element("text", number(value), x=at, y=bottom + 16, text_anchor="middle"))
    for value in y.ticks:
        at = f"{y(value):.1f}"
        parts.append(element("line", x1=_LEFT, x2=right, y1=at, y2=at, class_="grid"))
        parts.append(element("text", f"{value:g}", x=_LEFT - 6, y=at, text_anchor="end", dominant_baseline="middle"))
    parts.append(element("path", d=f"M{_LEFT} {_TOP}V{bottom}H{right}", class_="axis"))
    parts.append(element("text", label, x=(_LEFT + right) / 2, y=_HEIGHT - 8, text_anchor="middle", class_="label"))
    middle = (_TOP + bottom) / 2
    turned = f"rotate(-90 14 {middle})"
    parts.append(
        element("text", "Accuracy (%)", x=14, y=middle, text_anchor="middle", transform=turned, class_="label")
    )
    return element("g", *parts, aria_hidden="true")


def _frontier(
    rows: pd.DataFrame,
    mask: np.ndarray,
    colours: Sequence[str],
    x: Scale,
    y: Scale,
    speed: SpeedAxis,
    key: str,
) -> Html:
    best = rows[mask].sort_values([speed.column, "accuracy"], kind="stable")
    places = [(x(s), y(100 * a)) for s, a in zip(best[speed.column], best["accuracy"], strict=True)]
    parts = []
    for i, (a, b) in enumerate(zip(best.index[:-1], best.index[1:], strict=True)):
        (x1, y1), (x2, y2) = places[i], places[i + 1]
        ends = {"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}"}
        name = f"{key}-{i}"
        stops = [element("stop", offset=o, stop_color=colours[j]) for o, j in ((0, a), (1, b))]
        parts.append(element("linearGradient", *stops, id=name, gradientUnits="userSpaceOnUse", **ends))
        # A level line has an empty bounding box, which a gradient in user space does not mind.
        parts.append(element("line", class_="frontier", stroke=f"url(#{name})", **ends))
    return element("g", *parts, aria_hidden="true")


def _points(
    rows: pd.DataFrame, mask: np.ndarray, colours: Sequence[str], x: Scale, y: Scale, speed: SpeedAxis
) -> list[Html]:
    """Dominated points first, so that those on the frontier lie on top."""
    order = sorted(range(len(rows)), key=lambda i: bool(mask[i]))
    return [
        _point(rows.iloc[i], colours[i], "best" if mask[i] else "dominated", x, y, speed)
        for i in order
        if np.isfinite(rows[speed.column].iloc[i])
    ]


def _point(row: pd.Series, colour: str, kind: str, x: Scale, y: Scale, speed: SpeedAxis) -> Html:
    lines = setting_lines(row)
    at = {"cx": f"{x(row[speed.column]):.1f}", "cy": f"{y(100 * row['accuracy']):.1f}"}
    dot = element("circle", r=5 if kind == "verifier" else 4, style=f"color:{colour}", **at)
    return element(
        "g",
        element("circle", r=11, class_="hit", **at),
        dot,
        class_=f"point {kind}",
        tabindex=0,
        role="img",
        aria_label="; ".join(lines),
        data_config=row["config"],
        data_lines=json.dumps(lines),
    )


def _legend(styles: Mapping[EffortLevel, EffortStyle], verifier: bool) -> Html:
    entries = [
        element("span", element("i", style=f"background:{to_hex(style.colour)}"), level.plain)
        for level, style in sorted(styles.items())
    ]
    if verifier:
        entries.append(element("span", element("i", class_="verifier"), "verifier alone"))
    note = element("span", "thick line: frontier; hollow: dominated; point at a mark for its settings", class_="muted")
    return element("figcaption", join([*entries, note]), class_="legend")
