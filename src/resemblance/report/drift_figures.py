"""Figures of a drift report as inline SVG whose colours are those of the page, in light and in
dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..drift import Drift, DriftReport
from ..drift.kinds import ROUNDING, brief, percent
from .svg import tag, text, title

BAR, SIDE = 240.0, 440.0
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
Cloud = Sequence[tuple[float, float]]


class Scale(NamedTuple):
    """One logarithmic scale for all drifts, in thresholds: powers of ten from the first to the
    last."""

    first: int
    last: int

    def place(self, ratio: float) -> float:
        """Where a drift of so many thresholds is, at an end of the scale if it lies beyond."""
        power = math.log10(ratio) if ratio > 0 else self.first
        share = (power - self.first) / (self.last - self.first)
        return BAR * min(max(share, 0.0), 1.0)

    @property
    def ticks(self) -> list[float]:
        """The powers of ten."""
        return [10.0**power for power in range(self.first, self.last + 1)]


def scale_of(report: DriftReport) -> Scale:
    """Return the scale that holds every drift of a report: from 0.1 to at least 100 thresholds."""
    ratios = [d.value / d.threshold for d in report.drifts if d.value and d.threshold]
    return Scale(-1, max([2, *(min(6, math.ceil(math.log10(r))) for r in ratios)]))


def axis(scale: Scale) -> str:
    """Draw the ticks of the scale with their numbers."""
    marks = [
        text(_power(tick), scale.place(tick), 13, text_anchor=_anchor(scale, tick))
        + tag("path", d=f"M{scale.place(tick):.1f} 17V24", class_="tick")
        for tick in scale.ticks
    ]
    return _svg(BAR, 24, "".join(marks), "scale of the drifts, in thresholds", "bar")


def _power(tick: float) -> str:
    """Write a power of ten in at most four characters, so that neighbours on the scale do not
    overlap."""
    return (
        f"{tick:g}" if tick < 1000 else "10" + str(round(math.log10(tick))).translate(SUPERSCRIPTS)
    )


def bar(found: Drift, scale: Scale) -> str:
    """Draw how far a drift is above its threshold, to the right of the line at 1, or below it, to
    the left."""
    if found.value is None or not found.threshold:
        return ""
    value, low, high = (
        scale.place((v or 0.0) / found.threshold) for v in (found.value, found.low, found.high)
    )
    one, kind = scale.place(1), "over" if found.exceeds else "under"
    parts = [
        tag("path", d="".join(f"M{scale.place(t):.1f} 0V24" for t in scale.ticks), class_="tick")
    ]
    parts += [
        tag(
            "rect",
            x=round(min(one, value), 1),
            y=6,
            width=round(abs(value - one), 1),
            height=12,
            class_=kind,
        )
    ]
    if found.low is not None and found.value > ROUNDING:
        parts += [tag("path", d=f"M{low:.1f} 12H{high:.1f}", class_="range")]
    parts += [tag("path", d=f"M{one:.1f} 0V24", class_="limit")]
    ratio = found.value / found.threshold
    said = (
        f"{found.label}: {brief(found.value)}, {brief(ratio)} times the threshold of "
        f"{brief(found.threshold)}"
    )
    return _svg(BAR, 24, tag("g", title(said), *parts), said, "bar")


def _anchor(scale: Scale, tick: float) -> str:
    return "start" if tick == scale.ticks[0] else "end" if tick == scale.ticks[-1] else "middle"


def ladder(report: DriftReport) -> str:
    """Draw what maps of growing freedom leave unexplained; a map that is worse than none at all
    fills the scale."""
    parts = []
    for place, (name, left) in enumerate(report.ladder):
        y, length = 30.0 * place, 420 * min(max(left, 0.0), 1.0)
        label = "as it is" if name == "nothing" else f"+ {name}"
        parts += [
            text(label, 0, y + 18, class_="name"),
            tag("rect", x=130, y=y + 6, width=420, height=16, rx=3, class_="rail"),
            tag("rect", x=130, y=y + 6, width=max(length, 1.0), height=16, rx=3, class_="left"),
            text("over 100 %" if left > 1.005 else percent(left), 560, y + 18),
        ]
    return _svg(
        640, 30.0 * len(report.ladder), "".join(parts), "unexplained variance by map", "ladder"
    )


def clouds(report: DriftReport) -> tuple[str, str]:
    """Draw samples as lines from where they were, or from where the map puts them, to where they
    are."""
    picture = report.picture
    points = [p for cloud in picture.values() for p in cloud]
    reach = max([abs(v) for p in points for v in p] + [1e-12])
    return (
        _cloud(picture["reference"], picture["current"], reach, "samples before and after"),
        _cloud(
            picture["mapped"], picture["current"], reach, "samples after the map and as they are"
        ),
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
    parts = [
        tag("path", d="".join(part), class_=kind)
        for part, kind in ((lines, "way"), (old, "old"), (new, "new"))
    ]
    return _svg(SIDE, SIDE, "".join(parts), said, "cloud")


def _svg(width: float, height: float, inside: str, said: str, kind: str) -> str:
    return tag(
        "svg",
        title(said),
        inside,
        viewBox=f"0 0 {width:g} {height:g}",
        class_=kind,
        role="img",
        aria_label=said,
    )
