"""Figures of the manifold suite as inline SVG whose colours are those of the page, in light and in
dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from .manifolds_data import COLOURS, Cloud, Curve, Panel

WIDTH, HEIGHT = 480.0, 290.0
LEFT, RIGHT, TOP, BOTTOM = 34.0, 12.0, 10.0, 36.0
SIDE = 150.0  # of a picture of points
STEPS = (0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 50)


def panel(found: Panel) -> str:
    """Draw the curves of a panel; of several measures with the same curve the first is on top."""
    xs = sorted({x for curve in found.curves for x, _, _ in curve.points})
    if not xs:
        return '<p class="note">There is nothing to draw: no measure of this run takes part.</p>'
    axes = [*_y_axis(found), *_x_axis(found, xs)]
    drawn = [_curve(curve, found, xs) for curve in reversed(found.curves)]
    label = f"{found.title}: {found.y} by {found.x} for {len(found.curves)} measures"
    return _svg(WIDTH, HEIGHT, "".join(axes + drawn), "chart", label)


def cloud(found: Cloud) -> str:
    """Draw points, each colour as one path."""
    points = found.points - (found.points.max(axis=0) + found.points.min(axis=0)) / 2
    reach = max(float(np.abs(points).max()), 1e-9)
    x, y = (
        (SIDE / 2 + sign * (SIDE / 2 - 8) * column / reach)
        for sign, column in zip((1, -1), points.T)
    )
    paths = []
    for colour in dict.fromkeys(found.colours.tolist()):
        own = found.colours == colour
        places = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(x[own], y[own]))
        paths.append(f'<path class="p p{int(colour) % COLOURS}" d="{places}"/>')
    return _svg(SIDE, SIDE, "".join(paths), "cloud", f"points: {found.title}")


def _svg(width: float, height: float, inside: str, class_: str, label: str) -> str:
    box = f'viewBox="0 0 {width:g} {height:g}"'
    said = f"<title>{escape(label)}</title>" if class_ == "cloud" else ""
    return (
        f'<svg {box} class="{class_}" role="img" aria-label="{escape(label)}">{said}{inside}</svg>'
    )


def _text(content: str, x: float, y: float, class_: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{class_}">{escape(content)}</text>'


def _curve(curve: Curve, found: Panel, xs: Sequence[float]) -> str:
    line = curve.line
    places = [(_x(x, found, xs), _y(y, found), x, value) for x, y, value in curve.points]
    path = "L".join(f"{px:.1f} {py:.1f}" for px, py, _, _ in places)
    dots = "".join(
        f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.6"><title>{escape(line.text)}: '
        f"{_number(value)} at "
        f"{escape(found.x)} = {x:g}</title></circle>"
        for px, py, x, value in places
    )
    classes = (
        f"m m{line.number}"
        + (" distance" if line.is_distance else "")
        + ("" if line.is_shown else " off")
    )
    said = f"<title>{escape(line.text)}</title>"
    return f'<g class="{classes}"><path d="M{path}">{said}</path>{dots}</g>'


def _y_axis(found: Panel) -> list[str]:
    ticks = [-1.0, -0.5, 0.0, 0.5, 1.0] if found.low == -1 else [0.0, 0.25, 0.5, 0.75, 1.0]
    parts = [
        f'<path class="grid{" zero" if t == 0 else ""}" d="M{LEFT:g} '
        f'{_y(t, found):.1f}H{WIDTH - RIGHT:g}"/>'
        for t in ticks
    ]
    return parts + [
        _text(f"{t:g}".replace("-", "−"), LEFT - 7, _y(t, found) + 3.5, "end") for t in ticks
    ]


def _x_axis(found: Panel, xs: Sequence[float]) -> list[str]:
    name = {
        "k": "neighbours k",
        "n": "samples n",
        "d": "features d",
        "t": "distance t",
        "r": "r",
    }.get(found.x, found.x)
    parts = [_text(name, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, "mid axis")]
    end = -math.inf
    for tick in _ticks(found, xs):
        place, half = _x(tick, found, xs), 3.3 * len(f"{tick:g}")
        if place - half > end + 4:  # numbers that would touch the one before are left out
            parts.append(_text(f"{tick:g}", place, HEIGHT - BOTTOM + 17, "mid"))
            end = place + half
    return parts


def _ticks(found: Panel, xs: Sequence[float]) -> list[float]:
    if found.scale == "log" or len(xs) <= 11:
        return list(xs)
    step = next(s for s in STEPS if (xs[-1] - xs[0]) / s <= 6 or s == STEPS[-1])
    return [xs[0] + i * step for i in range(int((xs[-1] - xs[0]) / step + 1e-9) + 1)]


def _x(x: float, found: Panel, xs: Sequence[float]) -> float:
    low, high, here = (math.log(v) if found.scale == "log" else v for v in (xs[0], xs[-1], x))
    share = (here - low) / (high - low) if high > low else 0.5
    return LEFT + 8 + share * (WIDTH - LEFT - RIGHT - 16)


def _y(y: float, found: Panel) -> float:
    share = (y - found.low) / (1.0 - found.low)
    return HEIGHT - BOTTOM - min(max(share, -0.02), 1.04) * (HEIGHT - TOP - BOTTOM)


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")
