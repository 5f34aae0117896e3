"""Building blocks of inline SVG figures: elements, axes and round numbers for ticks."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from ..base.formatting import format_number

LABEL_CHARACTER_WIDTH = 5.8  # mean width of a character in labels
MAX_LABEL_LENGTH = 28  # characters of a name
NAME_SEPARATORS = "./_- "  # separators between the words of a name
# Words of letters and digits, and the single characters between words
NAME_TOKENS = re.compile(r"[^\W_]+|[\W_]")
EMPTY_FIGURE_HTML = '<p class="note">Nothing to draw: all values are missing.</p>'
LABEL_DISTANCES = (0.75, 1.8, 3.0, 4.2, 5.4)  # between a point and the label, in label heights
# Degrees, in the order in which label positions are tried
LABEL_ANGLES = (0, 180, 45, -45, 135, -135, 90, -90)
MARKER_RADIUS, LABEL_GAP = 4.0, 3.0  # radius of a point, and gap between labels in a row
MAX_TICK_FIGURES = 9  # significant digits of a number along an axis
MAX_POINTS_WITH_LEADERS = 60  # with more points, no label has a leader line
AXIS_OVERSHOOT = 0.02  # fraction of an axis by which an outlier is drawn beyond the end


class AxisScale(NamedTuple):
    """An axis that maps values to positions: ``low`` is at ``start``, ``high`` at ``end``.

    ``zero``: the position of values up to 0 on a logarithmic axis; None for ``start``.
    """

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False
    zero: float | None = None

    def __call__(self, value: float) -> float:
        """Return the position of a value in pixels; a value far outside is slightly beyond the
        end."""
        if self.is_log and value <= 0:
            return self.start if self.zero is None else self.zero
        low, high, position = (
            math.log10(v) if self.is_log else v for v in (self.low, self.high, value)
        )
        share = (position - low) / (high - low)
        return self.start + min(max(share, -AXIS_OVERSHOOT), 1 + AXIS_OVERSHOOT) * (
            self.end - self.start
        )


class ElementStyle(Protocol):
    """A function that returns the SVG attributes of a kind of element."""

    def __call__(self, kind: str, group_kind: str = "") -> Mapping[str, str]:
        """Return the attributes of an element of ``kind``, for example ``"dot"``, in a group of
        ``group_kind``."""


def css_class_style(kind: str, group_kind: str = "") -> dict[str, str]:
    """Return {"class_": kind}, the CSS class of an element; the style sheet of a page defines the
    class. ``group_kind`` has no effect."""
    return {"class_": kind}


def svg_element(element: str, *children: str, **attributes: object) -> str:
    """Return an SVG element as text.

    Children are markup; attribute values are escaped. In names of attributes, "_" becomes "-", and
    ``class_`` means class.
    """
    pairs = "".join(
        f' {k.rstrip("_").replace("_", "-")}="{_svg_attribute(v)}"' for k, v in attributes.items()
    )
    if not children:
        return f"<{element}{pairs}/>"
    return f"<{element}{pairs}>{''.join(children)}</{element}>"


def _svg_attribute(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else escape(str(value))


def svg_text(content: object, x: float, y: float, **attributes: object) -> str:
    """Return an SVG text element at (x, y) in pixels; ``content`` is escaped. ``attributes``: of
    the element."""
    return svg_element("text", escape(str(content)), x=x, y=y, **attributes)


def svg_title(content: str) -> str:
    """Return the tooltip of an element as markup. ``content``: plain text; the function escapes the
    text."""
    return svg_element("title", escape(content))


def figure_note(content: str) -> str:
    """Return a line of text above a figure; "" for an empty text."""
    return f'<p class="part">{escape(content)}</p>' if content else ""


def svg_figure(
    width: float,
    height: float,
    parts: Iterable[str],
    label: str,
    style: ElementStyle = css_class_style,
    kind: str = "chart",
    **extra: object,
) -> str:
    """Return the SVG element around the parts of a figure; screen readers read ``label``.

    ``width``, ``height``: the size in units of the coordinates. ``parts``: SVG elements as texts.
    ``style``: a function from the kind of an element to its attributes. ``kind``: the kind of the
    element for ``style``. ``extra``: further attributes.
    """
    attributes: dict[str, object] = {**style(kind), "role": "img", "aria_label": label, **extra}
    return svg_element("svg", *parts, viewBox=f"0 0 {width:g} {height:g}", **attributes)


def shorten_name(name: str, max_length: int = MAX_LABEL_LENGTH) -> str:
    """Return a name of at most ``max_length`` characters: a longer name has "…" in place of the
    middle."""
    half = max_length // 2
    return name if len(name) <= max_length else f"{name[:half]}…{name[1 - half :]}"


def shorten_distinct_names(names: Sequence[str], max_length: int = MAX_LABEL_LENGTH) -> list[str]:
    """Return the names in the same order, long names shortened to ``max_length`` characters such
    that the parts that differ stay.

    A name loses the middle. If two names would become equal, the names keep the part between the
    common beginning and the common end, with as many surrounding words as fit:
    ``…layer.0.attention…`` and ``…layer.1.attention…``. Different names stay different; in the
    worst case names are longer than ``max_length``.
    """
    short_names = {name: shorten_name(name, max_length) for name in names}
    names_by_label = defaultdict[str, list[str]](list)
    for name, label in short_names.items():
        names_by_label[label].append(name)
    for group in names_by_label.values():
        if len(group) > 1:
            short_names |= zip(group, _differing_parts(group, max_length))
    if len(set(short_names.values())) < len(short_names):
        return shorten_distinct_names(names, 2 * max_length)
    return [short_names[name] for name in names]


def _differing_parts(names: Sequence[str], max_length: int) -> list[str]:
    """Return names cut to the words that not all names share, with some surrounding words, at most
    ``max_length`` characters."""
    words = [NAME_TOKENS.findall(name) for name in names]
    fewest = min(map(len, words))
    is_shared = [len(set(column)) == 1 for column in zip(*words)]
    n_prefix = is_shared.index(False) if False in is_shared else fewest
    suffixes = list(zip(*(name_words[n_prefix:][::-1] for name_words in words)))
    is_shared = [len(set(column)) == 1 for column in suffixes]
    n_suffix = is_shared.index(False) if False in is_shared else len(suffixes)
    return [
        _surrounding_words(name_words, n_prefix, len(name_words) - n_suffix, max_length)
        for name_words in words
    ]


def _surrounding_words(words: Sequence[str], start: int, stop: int, max_length: int) -> str:
    """Return the words from ``start`` to before ``stop`` as text, with further words on the two
    sides while the text has at most ``max_length`` characters, and "…" where words are cut."""
    size = len("".join(words[start:stop])) + 2
    for step in range(2 * len(words)):  # alternate between left and right
        first, end = (start - 1, stop) if step % 2 == 0 else (start, stop + 1)
        new_size = len("".join(words[max(first, 0) : end])) + 2
        if first >= 0 and end <= len(words) and size < new_size <= max_length:
            start, stop, size = first, end, new_size
    left, right = "…" * (start > 0), "…" * (stop < len(words))
    middle = "".join(words[start:stop])
    middle = middle.lstrip(NAME_SEPARATORS) if left else middle
    middle = middle.rstrip(NAME_SEPARATORS) if right else middle
    return f"{left}{shorten_name(middle, max_length)}{right}"


def row_name_svg(name: str, x: float, y: float, label: str = "") -> str:
    """Return the name of a row as SVG, right-aligned at ``x``, as ``label`` or, if ``label`` is "",
    shortened; a shortened name has the full name as tooltip."""
    label = label or shorten_name(name)
    words = svg_text(label, round(x, 1), round(y, 1), class_="end name")
    return words if label == name else svg_element("g", svg_title(name), words)


def name_column_width(names: Iterable[str], max_width: float = math.inf) -> float:
    """Return the width in pixels of the longest name after shortening, with a margin, and at most
    ``max_width``."""
    longest = max(map(len, shorten_distinct_names(list(names))), default=0)
    return min(max_width, 20 + LABEL_CHARACTER_WIDTH * longest)


def padded_range(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends (low, high) of an axis for values, with a little room.

    An end becomes 0 if all values have one sign, and the least magnitude is at most 0.6 times the
    largest. The upper end becomes 1 if the largest value is in [0.75, 1) and no value is below -1.
    Ends at 0 and 1 get no room.
    """
    low, high = min(values), max(values)
    low = 0.0 if 0 < low <= 0.6 * high else low
    if low >= -1 and 0.75 <= high < 1:
        high = 1.0
    elif low < 0 and 0.6 * low <= high < 0:
        high = 0.0
    if separated_ends(low, high) != (low, high):
        return separated_ends(low, high)
    slack = 0.05 * (high - low)
    return (low if low in (0, 1) else low - slack), (high if high in (0, 1) else high + slack)


def separated_ends(low: float, high: float) -> tuple[float, float]:
    """Return the ends (low, high) of an axis unchanged, or moved apart if nearly equal.

    Raises ``ValueError`` for ends that are not finite, or too far apart for a number.
    """
    if not math.isfinite(high - low):
        raise ValueError(f"an axis from {low:g} to {high:g} cannot be drawn: give finite values")
    size = max(abs(low), abs(high))
    if high - low > 1e-9 * size and size > 1e-290:
        return low, high
    slack = 0.5 * size if size > 1e-290 else 0.5
    return low - slack, high + slack


def positive_range(values: Sequence[float], name: str) -> tuple[float, float]:
    """Return the smallest and the largest positive value, for a logarithmic axis; (1, 1) without
    positive values. ``name``: the figure, in messages.

    Raises ``ValueError`` for a negative value.
    """
    if min(values) < 0:
        raise ValueError(f"{name}: {min(values):g} cannot be on a logarithmic axis")
    positive = [v for v in values if v > 0] or [1.0]
    return min(positive), max(positive)


def log_axis(values: Sequence[float], start: float, end: float, name: str) -> AxisScale:
    """Return a logarithmic axis for values, from pixel ``start`` to pixel ``end``; 0 has a separate
    position. ``name``: the chart in messages.

    Raises ``ValueError`` for a negative value.
    """
    low, high = positive_range(values, f"chart {name!r}")
    zero, start = start, start + 34 if 0 in values else start
    if high <= 1.001 * low:
        low, high = low / 3, high * 3
    return AxisScale(low, high, start, end, True, zero)


def round_ticks(low: float, high: float, max_ticks: int = 6) -> list[float]:
    """Return round numbers from ``low`` to ``high``, in at most ``max_ticks`` steps.

    A step is 1, 2 or 5 times a power of ten.
    """
    rough_step = (high - low) / max_ticks
    power = 10.0 ** math.floor(math.log10(rough_step))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough_step * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return the positions of ticks from ``low`` to ``high``, both positive: the powers of ten; on
    a long axis, only every second or third.

    An axis of up to three powers also has the multiples by 2 and 5.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    step = max(1, math.ceil(len(powers) / 8))
    factors = (1, 2, 5) if len(powers) <= 3 else (1,)
    candidates = [float(f"{f}e{p}") for p in powers if p % step == 0 for f in factors]
    return [t for t in candidates if low * (1 - 1e-9) <= t <= high * (1 + 1e-9)]


def axis_ticks(axis: AxisScale, max_ticks: int = 8) -> list[float]:
    """Return round numbers along an axis, with at most ``max_ticks`` steps; on a logarithmic axis
    the numbers of :func:`log_ticks`, and 0 if 0 has a separate position."""
    if not axis.is_log:
        return round_ticks(axis.low, axis.high, max_ticks)
    zero = [0.0] if axis.zero is not None and axis.zero != axis.start else []
    return [*zero, *log_ticks(axis.low, axis.high)]


def place_labels(
    points: Sequence[tuple[float, float]],
    widths: Sequence[float],
    height: float,
    box: tuple[float, float, float, float],
) -> list[tuple[float, float, bool] | None]:
    """Return the label position for every point: start (left end), middle of the height, and
    whether the label needs a leader line; None if there is no room.

    ``points``, ``widths``, ``height``, ``box``: in pixels; the sizes of the labels are ``widths``
    and ``height``. The first free position counts: next to or around the point, then farther away.
    A free position covers no point and no other label, and is within ``box``, (left, top, right,
    bottom). With many points, only the nearest positions count.
    """
    rings = LABEL_DISTANCES if len(points) <= MAX_POINTS_WITH_LEADERS else LABEL_DISTANCES[:1]
    turns = np.radians(LABEL_ANGLES)
    ways = np.array([[g * height * np.cos(turns), g * height * np.sin(turns)] for g in rings])
    dx, dy = ways.transpose(1, 0, 2).reshape(2, -1)
    left, top, right, bottom = box
    marks = [
        (x - MARKER_RADIUS, y - MARKER_RADIUS, x + MARKER_RADIUS, y + MARKER_RADIUS)
        for x, y in points
    ]
    boxes, places = list(marks), list[tuple[float, float, bool] | None]()
    for (x, y), width in zip(points, widths):
        start = x + dx - width * np.where(dx > 1, 0, np.where(dx < -1, 1, 0.5))
        middle = y + dy
        is_free = (start > left) & (start + width < right)
        is_free &= (middle - height / 2 > top) & (middle + height / 2 < bottom)
        l, t, r, b = np.array(boxes).T[:, :, None]
        is_beside = (start + width < l) | (start > r)
        is_above = (middle + height / 2 < t) | (middle - height / 2 > b)
        free_places = np.flatnonzero(is_free & (is_beside | is_above).all(axis=0))
        if not free_places.size:
            places.append(None)
            continue
        k = free_places[0]
        a, m = float(start[k]), float(middle[k])
        places.append((a, m, bool(k >= len(LABEL_ANGLES))))
        boxes.append((a - LABEL_GAP, m - height / 2, a + width + LABEL_GAP, m + height / 2))
    return places


def axis_numbers(
    axis: AxisScale, ticks: Iterable[float], y: float, style: ElementStyle = css_class_style
) -> list[str]:
    """Return the numbers ``ticks`` below a horizontal axis as SVG texts at height ``y``, without
    numbers that would touch the previous number."""
    parts, end, ticks = [], -math.inf, list(ticks)
    figures = _tick_figures(ticks)
    for tick in ticks:
        number = format_number(tick, figures)
        place, half = axis(tick), LABEL_CHARACTER_WIDTH * len(number) / 2
        if place - half > end + 5:
            parts.append(svg_text(number, round(place, 1), y, **style("mid")))
            end = place + half
    return parts


def _tick_figures(ticks: Sequence[float]) -> int:
    """Return the number of significant digits, at least 3, that shows every tick to a tenth of the
    smallest step."""
    step = min((abs(b - a) for a, b in pairwise(ticks)), default=math.inf)
    for figures in range(3, MAX_TICK_FIGURES):
        if all(abs(float(f"{tick:.{figures}g}") - tick) <= step / 10 for tick in ticks):
            return figures
    return MAX_TICK_FIGURES


def vertical_grid(
    x: AxisScale,
    ticks: Sequence[float],
    height: float,
    name: str,
    base: float = math.nan,
    style: ElementStyle = css_class_style,
) -> list[str]:
    """Return the vertical lines of an axis as SVG, ``height`` pixels high, a darker line at the
    tick ``base``, with numbers and the name of the axis below."""
    kinds = ("grid zero" if tick == base else "grid" for tick in ticks)
    lines = [
        svg_element("path", d=f"M{x(t):.1f} 0V{height:g}", **style(kind))
        for t, kind in zip(ticks, kinds)
    ]
    middle = round((x.start + x.end) / 2, 1)
    return [
        *lines,
        *axis_numbers(x, ticks, height + 16, style),
        svg_text(name, middle, height + 36, **style("mid axis")),
    ]


def threshold_line(value: float, d: str, style: ElementStyle = css_class_style) -> str:
    """Return the line of a threshold as SVG, and a wide invisible line for the pointer. ``value``:
    for the tooltip. ``d``: the path of the line."""
    reach = svg_element("path", d=d, **style("reach"))
    return svg_element(
        "g",
        svg_title(f"threshold {format_number(value)}"),
        reach,
        svg_element("path", d=d),
        **style("limit"),
    )
