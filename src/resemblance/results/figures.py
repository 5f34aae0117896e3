"""The figures that a result can have: data with names, drawn by a page and written to a file."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Line(NamedTuple):
    """Points (x, y) that belong together, and their intervals (low, high) if known, one a point."""

    name: str
    points: tuple[tuple[float, float], ...]
    intervals: tuple[tuple[float, float], ...] = ()


class Chart(NamedTuple):
    """Lines, or clouds of points, over common axes.

    ``threshold`` draws a horizontal line that ``note`` explains; ``joined``: points of a line are
    connected.
    """

    name: str
    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    note: str = ""
    joined: bool = True
    log_x: bool = False
    threshold: float | None = None


class Bar(NamedTuple):
    """An estimate with its interval; ``low`` and ``high`` are None where there is none."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None


class Bars(NamedTuple):
    """Estimates below each other, such as of one quantity for every measure.

    ``threshold`` draws a vertical line. ``span``: the ends of the axis, such as the first and the
    last rank; by default as the values need. ``log_x``: the axis is logarithmic.
    """

    name: str
    title: str
    x: str
    bars: tuple[Bar, ...]
    note: str = ""
    threshold: float | None = None
    span: tuple[float, float] | None = None
    log_x: bool = False


class HeatMap(NamedTuple):
    """A matrix of values with names, None where there is no value.

    ``span``: the values at the ends of the colour scale; by default the extremes. ``is_diverging``:
    the scale has two colours that meet at 0, or in the middle of ``span``.
    """

    name: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    note: str = ""
    span: tuple[float, float] | None = None
    is_diverging: bool = False


class Box(NamedTuple):
    """A sample of values, drawn as quartiles, whiskers and points; ``points`` names each value."""

    name: str
    values: tuple[float, ...]
    points: tuple[str, ...] = ()


class Boxes(NamedTuple):
    """Distributions below each other on one axis, such as the ranks of every measure."""

    name: str
    title: str
    x: str
    boxes: tuple[Box, ...]
    note: str = ""
    span: tuple[float, float] | None = None


class Cloud(NamedTuple):
    """Points in a plane.

    ``groups``: the number of the group of each point, which is its colour. ``origins``: where each
    point came from; a line joins the two.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    groups: tuple[int, ...] = ()
    origins: tuple[tuple[float, float], ...] = ()


class Clouds(NamedTuple):
    """Point clouds in one row, all on one scale."""

    name: str
    title: str
    clouds: tuple[Cloud, ...]
    note: str = ""


class Strip(NamedTuple):
    """The values of one group as dots; ``is_used``: it took part in what is shown elsewhere."""

    name: str
    values: tuple[float, ...]
    is_used: bool = True
    note: str = ""


class Strips(NamedTuple):
    """Dots of several groups below each other on one axis, such as accuracies by treatment."""

    name: str
    title: str
    x: str
    strips: tuple[Strip, ...]
    note: str = ""


class Option(NamedTuple):
    """One of the matrices to choose from; ``choices`` has an entry for every selector."""

    choices: tuple[str, ...]
    maps: tuple[HeatMap, ...]


class Choice(NamedTuple):
    """Matrices of which a reader selects those to see, by one or more selectors with names."""

    name: str
    title: str
    selectors: tuple[str, ...]
    options: tuple[Option, ...]
    note: str = ""


Figure: TypeAlias = Chart | Bars | HeatMap | Boxes | Clouds | Strips | Choice
KINDS: dict[str, type[Figure]] = {
    kind.__name__: kind for kind in (Chart, Bars, HeatMap, Boxes, Clouds, Strips, Choice)
}
