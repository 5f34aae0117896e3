"""Figures of a drift report as inline SVG whose colours are those of the page, in light and in dark."""

from __future__ import annotations

from collections.abc import Sequence

from ..drift import Drift, DriftReport
from .drift_data import ROUNDING, number
from .resi_figures import tag, text, title

BAR, SIDE = 320.0, 440.0
Cloud = Sequence[tuple[float, float]]


def bar(found: Drift) -> str:
    """Draw a drift with its interval, and its threshold as a line; the scale ends at 1, or where all of it is in."""
    if found.value is None:
        return ""
    largest = max(found.value, found.high or 0.0, found.threshold or 0.0)
    end = 1.0 if largest < ROUNDING or (found.is_share and largest <= 1) else 1.08 * largest
    value, low, high = (BAR * (v or 0.0) / end for v in (found.value, found.low, found.high))
    kind = "over" if found.exceeds else "under"
    parts = [
        tag("rect", x=0, y=6, width=BAR, height=12, rx=3, class_="rail"),
        tag("rect", x=0, y=6, width=max(value, 1.0), height=12, rx=3, class_=kind),
        tag("path", d=f"M{low:.1f} 12H{high:.1f}", class_="range"),
    ]
    if found.threshold is not None:
        at = BAR * found.threshold / end
        parts += [tag("path", d=f"M{at:.1f} 1V23", class_="limit")]
    said = f"{found.label}: {number(found.value)}, threshold {number(found.threshold)}"
    return _svg(BAR, 24, tag("g", title(said), *parts), said, "bar")


def ladder(report: DriftReport) -> str:
    """Draw what maps of growing freedom leave unexplained; a map that is worse than none at all fills the scale."""
    parts = []
    for place, (name, left) in enumerate(report.ladder):
        y, length = 30.0 * place, 420 * min(max(left, 0.0), 1.0)
        label = "as it is" if name == "nothing" else f"+ {name}"
        parts += [
            text(label, 0, y + 18, class_="name"),
            tag("rect", x=130, y=y + 6, width=420, height=16, rx=3, class_="rail"),
            tag("rect", x=130, y=y + 6, width=max(length, 1.0), height=16, rx=3, class_="left"),
            text("over 100 %" if left > 1.005 else f"{left:.1%}", 560, y + 18),
        ]
    return _svg(640, 30.0 * len(report.ladder), "".join(parts), "unexplained variance by map", "ladder")


def clouds(report: DriftReport) -> tuple[str, str]:
    """Draw samples as lines from where they were, or from where the map puts them, to where they are."""
    picture = report.picture
    points = [p for cloud in picture.values() for p in cloud]
    reach = max([abs(v) for p in points for v in p] + [1e-12])
    return (
        _cloud(picture["reference"], picture["current"], reach, "samples before and after"),
        _cloud(picture["mapped"], picture["current"], reach, "samples after the map and as they are"),
    )


def _cloud(before: Cloud, after: Cloud, reach: float, said: str) -> str:
    def place(point: tuple[float, float]) -> tuple[float, float]:
        scale = (SIDE / 2 - 10) / reach
        return SIDE / 2 + scale * point[0], SIDE / 2 - scale * point[1]

    lines, old, new = [], [], []
    for (a, b), (c, d) in ((place(p), place(q)) for p, q in zip(before, after)):
        lines.append(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}")
        old.append(f"M{a:.1f} {b:.1f}h0")
        new.append(f"M{c:.1f} {d:.1f}h0")
    parts = [tag("path", d="".join(part), class_=kind) for part, kind in ((lines, "way"), (old, "old"), (new, "new"))]
    return _svg(SIDE, SIDE, "".join(parts), said, "cloud")


def _svg(width: float, height: float, inside: str, said: str, kind: str) -> str:
    return tag(
        "svg", title(said), inside, viewBox=f"0 0 {width:g} {height:g}", class_=kind, role="img", aria_label=said
    )
