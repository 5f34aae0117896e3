"""Figures of the report of a benchmark as inline SVG whose colours are those of the page, in light
and in dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from ..significance import Duel
from ..suites.published import RankRow
from .maps import model_groups as spans
from .resi_cells import Part
from .resi_data import Box, Name, Panel, Standing
from .svg import shortened

LEVELS = 24  # colours of a matrix; the style sheet has one class for each
CHARACTER = 5.9  # mean width of a character in the size of labels
ROOM = 64.0  # of the colour scale beside a matrix
INTERVAL = 340.0  # width of the drawing of one interval
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


def tag(element: str, *children: str, **attributes: object) -> str:
    """Return an SVG element; children are markup, attribute values are escaped (``class_`` is
    class)."""
    written = "".join(
        f' {k.rstrip("_").replace("_", "-")}="{_attribute(v)}"' for k, v in attributes.items()
    )
    return (
        f"<{element}{written}>{''.join(children)}</{element}>"
        if children
        else f"<{element}{written}/>"
    )


def text(content: object, x: float, y: float, **attributes: object) -> str:
    """Return a text; its content is escaped."""
    return tag("text", escape(str(content)), x=x, y=y, **attributes)


def title(content: str) -> str:
    """Return what is shown when the pointer rests on an element."""
    return tag("title", escape(content))


def drawing(width: float, height: float, *parts: str, label: str, class_: str = "chart") -> str:
    """Return the SVG element around the parts of a figure; ``label`` is read aloud in its place."""
    style = f"min-width:{min(width, 0.66 * width + 200):.0f}px;max-width:{1.25 * width:.0f}px"
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        class_=class_,
        style=style,
        role="img",
        aria_label=label,
    )


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers from low to high, at most so many."""
    step = next((s for s in STEPS if (high - low) / s < most), STEPS[-1])
    first = int(np.ceil(low / step - 1e-9))
    return [round(i * step, 10) for i in range(first, int(np.floor(high / step + 1e-9)) + 1)]


# -------------------------------------------------------------------------------------------- ranks


def interval(row: Standing, worst: float) -> str:
    """Draw the mean rank of a measure with its interval; the scale is that of
    :func:`interval_scale`."""
    grid = "".join(
        tag("path", d=f"M{_rank_x(t, worst):.1f} 0v20", class_="grid") for t in _rank_ticks(worst)
    )
    if row.mean is None:
        return _interval_svg(grid)
    if row.low is None or row.high is None:
        dot = tag("circle", cx=_rank_x(row.mean, worst), cy=10, r=4.5, class_="dot")
        return _interval_svg(
            grid, tag("g", title(f"{row.name.text}: mean rank {row.mean:.2f}"), dot)
        )
    low, mean, high = (_rank_x(v, worst) for v in (row.low, row.mean, row.high))
    said = (
        f"{row.name.text}: mean rank {row.mean:.2f}, 95 % interval {row.low:.2f} to {row.high:.2f}"
    )
    line = tag("path", d=f"M{low:.1f} 10H{high:.1f}", class_="range")
    return _interval_svg(
        grid, tag("g", title(said), line, tag("circle", cx=mean, cy=10, r=4.5, class_="dot"))
    )


def interval_scale(worst: float) -> str:
    """Draw the numbers above the intervals."""
    return _interval_svg(
        *(text(f"{t:g}", _rank_x(t, worst), 15, class_="tick mid") for t in _rank_ticks(worst))
    )


def boxes(found: Sequence[Box], worst: float, label: str) -> str:
    """Draw a box per measure: quartiles, the farthest points within 1.5 of their span, and every
    rank as a point."""
    pitch, left, tall = max(22.0, min(60.0, 1060 / max(len(found), 1))), 44.0, 210.0
    width, height = (
        left + pitch * len(found) + 30,
        tall + 26 + _room([b.name for b in found]) * 0.75,
    )
    parts = []
    for tick in _rank_ticks(worst):
        y = _rank_y(tick, worst, tall)
        parts += [tag("path", d=f"M{left} {y:.1f}H{width - 30:.1f}", class_="grid")]
        parts += [text(f"{tick:g}", left - 8, y + 4, class_="tick end")]
    for position, box in enumerate(found):
        x = left + pitch * (position + 0.5)
        parts += [_one_box(box, x, pitch, worst, tall)]
        place = f"rotate(-45 {x:.1f} {tall + 22:.1f})"
        parts += [
            text(box.name.text, x, tall + 22, class_=_added("tick end", box.name), transform=place)
        ]
    return drawing(width, height, *parts, label=label)


def _one_box(box: Box, x: float, pitch: float, worst: float, tall: float) -> str:
    y = {
        name: _rank_y(getattr(box, name), worst, tall)
        for name in ("least", "most", "lower", "upper", "median")
    }
    half = 0.32 * pitch
    count = f"{len(box.ranks)} cell{'' if len(box.ranks) == 1 else 's'}"
    said = f"{box.name.text}: median rank {box.median:.2f}, mean {box.mean:.2f}, {count}"
    whisker = f"M{x:.1f} {y['least']:.1f}V{y['lower']:.1f}M{x:.1f} {y['upper']:.1f}V{y['most']:.1f}"
    frame = tag(
        "rect",
        x=x - half,
        y=y["lower"],
        width=2 * half,
        height=max(y["upper"] - y["lower"], 0.1),
        class_="box",
    )
    middle = tag("path", d=f"M{x - half:.1f} {y['median']:.1f}h{2 * half:.1f}", class_="median")
    points = "".join(
        tag(
            "circle",
            title(f"{box.name.text}: rank {rank:.4g} in {cell}"),
            cx=x + (i % 5 - 2) * 0.1 * pitch,
            cy=_rank_y(rank, worst, tall),
            r=2.2,
            class_="point",
        )
        for i, (rank, cell) in enumerate(zip(box.ranks, box.cells))
    )
    return tag("g", title(said), tag("path", d=whisker, class_="whisker"), frame, middle, points)


def _rank_x(rank: float, worst: float) -> float:
    return 12 + (INTERVAL - 24) * (rank - 1) / max(worst - 1, 1)


def _rank_y(rank: float, worst: float, tall: float) -> float:
    return 8 + tall * (rank - 1) / max(worst - 1, 1)


def _rank_ticks(worst: float) -> list[float]:
    return [1.0, *(t for t in ticks(1, worst) if t > 1)]


def _interval_svg(*parts: str) -> str:
    return tag(
        "svg", *parts, viewBox=f"0 0 {INTERVAL:.0f} 20", class_="interval", aria_hidden="true"
    )


# ----------------------------------------------------------------------------------------- matrices


def duel_map(
    names: Sequence[Name],
    before: Mapping[tuple[str, str], float],
    found: Mapping[tuple[str, str], Duel],
) -> str:
    """Draw how sure it is that the measure of a row has a better mean rank than that of a column,
    in percent."""
    left = _room(names)
    size, pitch = 26.0 * len(names), 26.0
    parts = [
        text(n.text, left - 7, left + pitch * (i + 0.66), class_="tick end")
        for i, n in enumerate(names)
    ]
    for j, name in enumerate(names):
        x = left + pitch * (j + 0.66)
        parts += [
            text(
                name.text,
                x,
                left - 7,
                class_="tick",
                transform=f"rotate(-90 {x:.1f} {left - 7:.1f})",
            )
        ]
    for (i, a), (j, b) in ((x, y) for x in enumerate(names) for y in enumerate(names) if x != y):
        duel, share = found.get((a.spec, b.spec)), before.get((a.spec, b.spec), np.nan)
        if duel is None or np.isnan(share):
            continue
        said = (
            f"{a.text} before {b.text} in {share:.0%} of the samples of the cells; ranked before "
            "it in "
        )
        said += f"{duel.better} of {duel.cells} cells ({duel.tied} tied)"
        shade = tag(
            "rect",
            title(said),
            x=left + pitch * j,
            y=left + pitch * i,
            width=pitch - 1,
            height=pitch - 1,
            class_="win" if share >= 0.5 else "loss",
            fill_opacity=round(0.06 + 0.9 * abs(2 * share - 1), 2),
        )
        x, y = left + pitch * (j + 0.48), left + pitch * (i + 0.63)
        strong = " strong" if abs(2 * share - 1) > 0.75 else ""
        parts += [shade, text(round(100 * share), x, y, class_=f"count mid{strong}")]
    return drawing(
        left + size + 4, left + size + 4, *parts, label="How sure each measure is before each other"
    )


def matrix(labels: Sequence[str], values: np.ndarray, label: str) -> str:
    """Draw a matrix of differences, dark where two representations are alike; what is missing is
    hatched."""
    names, n = [shortened(name) for name in labels], len(labels)
    left, side = 14 + CHARACTER * max(map(len, names)), 400.0
    pitch = side / n
    paths = [
        tag("path", d=d, class_="missing" if level < 0 else f"q{level}")
        for level, d in _squares(values, left, pitch)
    ]
    lines = [
        tag(
            "path",
            d=f"M{left:.1f} {g.start * pitch:.2f}h{side}M{left + g.start * pitch:.2f} 0v{side}",
            class_="edge",
        )
        for g in spans(labels)[1:]
    ]
    every = max(1, round(10 / pitch))
    for i, name in list(enumerate(names))[::every]:
        at, x = pitch * (i + 0.5), left + pitch * (i + 0.5) + 3.5
        lines += [text(name, left - 6, at + 3.5, class_="tick end")]
        lines += [
            text(
                name,
                x,
                side + 8,
                class_="tick end",
                transform=f"rotate(-90 {x:.1f} {side + 8:.1f})",
            )
        ]
    bar = _scale(left + side + 12, side, limits(values))
    return drawing(
        left + side + ROOM, side + left, *paths, *lines, *bar, label=label, class_="chart matrix"
    )


def _scale(x: float, side: float, ends: tuple[float, float]) -> list[str]:
    """Draw the colours of a matrix with their numbers, what is alike on top."""
    step = side / LEVELS
    parts = [
        tag(
            "path",
            d=f"M{x:.1f} {i * step:.2f}h10v{step + 0.25:.2f}h-10z",
            class_=f"q{LEVELS - 1 - i}",
        )
        for i in range(LEVELS)
    ]
    low, high = ends
    numbers = [(low, 9.0), ((low + high) / 2, side / 2 + 3.5), (high, side)]
    return [
        *parts,
        *(text(f"{value:.3g}".replace("-", "−"), x + 14, y, class_="tick") for value, y in numbers),
    ]


def limits(values: np.ndarray) -> tuple[float, float]:
    """Return the smallest and largest difference between two different representations, (0, 1) if
    there is none."""
    pairs = values[~np.eye(len(values), dtype=bool)]
    known = pairs[np.isfinite(pairs)]
    return (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)


def levels(values: np.ndarray) -> np.ndarray:
    """Return the colour of every cell: the last for the smallest difference, 0 for the largest, -1
    for none."""
    low, high = limits(values)
    position = np.clip((values - low) / (high - low if high > low else 1), 0, 1)
    found: np.ndarray = np.where(
        np.isfinite(position), np.rint((LEVELS - 1) * (1 - np.nan_to_num(position))), -1
    )
    return found.astype(int)


def pair(part: Part, quality: str, measure: str, words: tuple[str, str]) -> str:
    """Draw the expected beside the measured differences."""
    both = (part.expected[quality], part.measured[measure])
    return "".join(
        f"<div><h4>{escape(word)}</h4>{matrix(part.labels, values, word)}</div>"
        for word, values in zip(words, both)
    )


def _squares(values: np.ndarray, left: float, pitch: float) -> list[tuple[int, str]]:
    found = levels(values)
    size = pitch + 0.25  # neighbours overlap, or the page would shine through between them
    width = f"h{size:.2f}v{size:.2f}h-{size:.2f}z"
    return [
        (
            int(level),
            "".join(
                f"M{left + j * pitch:.2f} {i * pitch:.2f}{width}"
                for i, j in np.argwhere(found == level)
            ),
        )
        for level in np.unique(found)
    ]


# ------------------------------------------------------------------------------ groups, publication


def strips(panel: Panel) -> str:
    """Draw the accuracy of every model by its group; groups that were left out are grey."""
    values = [a for group in panel.groups for a in group.accuracies] or [0.0, 1.0]
    low, high = min(values), max(values)
    low, high = (low - 0.06 * (high - low or 0.1), high + 0.06 * (high - low or 0.1))
    left, width, row = (
        30 + CHARACTER * max(len(shortened(g.name)) for g in panel.groups),
        360.0,
        24.0,
    )
    tall = row * len(panel.groups)
    parts = []
    for tick in ticks(low, high):
        x = left + (width - left - 14) * (tick - low) / (high - low)
        parts += [tag("path", d=f"M{x:.1f} 4v{tall + 2:.0f}", class_="grid")]
        parts += [text(f"{tick:g}", x, tall + 20, class_="tick mid")]
    for i, group in enumerate(panel.groups):
        y, kind = 4 + row * (i + 0.5), "" if group.kept else " dropped"
        xs = [left + (width - left - 14) * (a - low) / (high - low) for a in group.accuracies]
        parts += [text(shortened(group.name), left - 14, y + 4, class_="tick end" + kind)]
        if xs:
            parts += [tag("path", d=f"M{min(xs):.1f} {y:.1f}H{max(xs):.1f}", class_="range" + kind)]
        for x, accuracy in zip(xs, group.accuracies):
            said = f"{group.name}: accuracy {accuracy:.3f}" + ("" if group.kept else ", left out")
            parts += [tag("circle", title(said), cx=x, cy=y, r=4, class_="dot" + kind)]
    return drawing(width, tall + 26, *parts, label=f"Accuracies of {len(panel.groups)} groups")


def scatter(rows: Sequence[RankRow]) -> str:
    """Draw our mean ranks against the published ones, with the labels for which there is room."""
    worst = max(value for row in rows for value in (row.ours, row.published))
    left, side = 44.0, 330.0
    scale = side / max(worst - 1, 1)
    parts = [tag("path", d=f"M{left} {6 + side}L{left + side} 6", class_="whisker")]
    for tick in _rank_ticks(worst):
        at = scale * (tick - 1)
        parts += [
            tag(
                "path",
                d=f"M{left + at:.1f} 6v{side}M{left} {6 + side - at:.1f}h{side}",
                class_="grid",
            )
        ]
        parts += [text(f"{tick:g}", left + at, side + 22, class_="tick mid")]
        parts += [text(f"{tick:g}", left - 8, side - at + 10, class_="tick end")]
    points = [(scale * (row.published - 1), scale * (row.ours - 1)) for row in rows]
    taken = [(x - 5, y, x + 5) for x, y in points]  # where no label may go: from, height, to
    for row, (x, y) in zip(rows, points):
        said = f"{row.label}: mean rank {row.ours:.2f} here, {row.published:.2f} published"
        parts += [tag("circle", title(said), cx=left + x, cy=6 + side - y, r=5, class_="dot")]
        end = x + 8 + CHARACTER * len(row.label)
        if all(
            abs(y - height) > 10 or stop < x + 6 or end < start for start, height, stop in taken
        ):
            parts += [text(row.label, left + x + 8, 10 + side - y, class_="tick")]
            taken += [(x + 8, y, end)]
    parts += [text("published mean rank", left + side, side + 38, class_="tick end")]
    parts += [text("here", 4, 14, class_="tick")]
    return drawing(left + side + 76, side + 44, *parts, label="Mean ranks here and published")


def _attribute(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else escape(str(value))


def _added(classes: str, name: Name) -> str:
    return classes + (" added" if name.is_added else "")


def _room(names: Sequence[Name]) -> float:
    return 14 + CHARACTER * max((len(name.text) for name in names), default=0)
