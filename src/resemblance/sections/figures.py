"""The figures that a result can have: data with names, drawn by a page and written to a file."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Line(NamedTuple):
    """Points (x, y) that belong together, and their intervals (low, high) if known, one a point.

    ``titles``: what the pointer reads at each point; by default the name of the line and both
    numbers. ``note``: what the pointer reads at the name in the legend. ``is_shown``: whether a
    reader sees the line at first; by default all of up to ten lines of a section are, and the first
    eight of more.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    intervals: tuple[tuple[float, float], ...] = ()
    titles: tuple[str, ...] = ()
    note: str = ""
    is_dashed: bool = False
    is_shown: bool | None = None


class Chart(NamedTuple):
    """Lines, or clouds of points, over common axes.

    ``threshold`` draws a horizontal line that ``note`` explains; ``joined``: points of a line are
    connected. ``span_y``: the ends of the vertical axis; by default as the points need.
    ``is_labeled``: the title of a point is written at it where there is room.
    ``is_plane``: a unit is as long on both axes, which have no numbers, as in a map of distances.
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
    span_y: tuple[float, float] | None = None
    is_labeled: bool = False
    is_plane: bool = False


class Bar(NamedTuple):
    """An estimate with its interval; ``low`` and ``high`` are None where there is none.

    ``note``: what the pointer reads; by default the name and the numbers.
    """

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    note: str = ""


class Bars(NamedTuple):
    """Estimates below each other, such as of one quantity for every measure.

    ``threshold`` draws a vertical line. ``span``: the ends of the axis, such as the first and the
    last rank; by default as the values need; what lies beyond is drawn at the end. ``log_x``: the
    axis is logarithmic. ``is_limit``: bars begin at the threshold, and those above it stand out.
    ``is_dotted``: marks without bars, as for ranks, among which there is no 0.
    """

    name: str
    title: str
    x: str
    bars: tuple[Bar, ...]
    note: str = ""
    threshold: float | None = None
    span: tuple[float, float] | None = None
    log_x: bool = False
    is_limit: bool = False
    is_dotted: bool = False


class HeatMap(NamedTuple):
    """A matrix of values with names, None where there is no value.

    ``span``: the values at the ends of the colour scale; by default the extremes. ``is_diverging``:
    the scale has two colours that meet at 0, or in the middle of ``span`` if 0 is not inside it.
    ``is_reversed``: small values are dark, as where a distance of 0 means alike. ``titles``: what
    the pointer reads in each cell, such as why it has no value; "" for its number. ``subtitle``
    is written after the title, in grey. ``ends``: what pale and dark mean, such as "different" and
    "alike". ``hatched``: row and column of the cells that are hatched, and ``hatching`` what that
    means. ``chance``: what each value is by chance, which the pointer reads, too.
    """

    name: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    note: str = ""
    span: tuple[float, float] | None = None
    is_diverging: bool = False
    is_reversed: bool = False
    titles: tuple[tuple[str, ...], ...] = ()
    subtitle: str = ""
    ends: tuple[str, str] | None = None
    hatched: tuple[tuple[int, int], ...] = ()
    hatching: str = ""
    chance: tuple[tuple[float | None, ...], ...] = ()


class Box(NamedTuple):
    """A sample of values, drawn as quartiles, whiskers and points.

    ``points`` names each value. ``group``: boxes of one group, such as the measures of a family,
    have one colour, which a legend explains.
    """

    name: str
    values: tuple[float, ...]
    points: tuple[str, ...] = ()
    group: str = ""


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
    """Point clouds in one row, each as large as its square; those with origins on one scale."""

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
    """One selection: an entry for every selector, and the positions of its maps in the choice.

    ``note``: a line below the maps, such as the score that they lead to.
    """

    choices: tuple[str, ...]
    maps: tuple[int, ...]
    note: str = ""


class Choice(NamedTuple):
    """Matrices from which a reader selects, by one or more selectors with names.

    ``maps``: every matrix once, however many options show it. A selector offers what the options
    have that agree with the selectors before it. Without a program, and in print, the options of
    ``static`` are shown, by default the first. ``is_linked``: a reader who selects something here
    selects it in all such choices and intermediates of the section. ``groups``: a heading above the
    options of the first selector, one an option, such as the family of a measure.
    """

    name: str
    title: str
    selectors: tuple[str, ...]
    options: tuple[Option, ...]
    maps: tuple[HeatMap, ...]
    note: str = ""
    static: tuple[int, ...] = (0,)
    is_linked: bool = False
    groups: tuple[str, ...] = ()


class Merge(NamedTuple):
    """Two branches of a tree that become one at a height.

    ``left`` and ``right``: the number of a leaf or, from the number of leaves on, of an earlier
    merge.
    """

    left: int
    right: int
    height: float


class Dendrogram(NamedTuple):
    """Names joined step by step, the nearest first.

    ``merges``: one fewer than leaves, later ones no lower. ``order``: the leaves from top to
    bottom. ``x``: what the height is.
    """

    name: str
    title: str
    x: str
    leaves: tuple[str, ...]
    merges: tuple[Merge, ...]
    order: tuple[int, ...]
    note: str = ""


class Diagram(NamedTuple):
    """Names at their values on one axis, the smallest first, with bars over those that cannot be
    told apart: a critical-difference diagram.

    ``groups``: the positions of the first and of the last name of every bar.
    """

    name: str
    title: str
    x: str
    names: tuple[str, ...]
    values: tuple[float, ...]
    groups: tuple[tuple[int, int], ...] = ()
    note: str = ""


class Switch(NamedTuple):
    """The same kind of figure of several things, such as measures, of which one is shown.

    ``choices``: the name of each figure. A reader selects it by the selector of this name in a
    :class:`Choice` of the same section. The first is shown without a program and in print.
    """

    name: str
    title: str
    selector: str
    choices: tuple[str, ...]
    figures: tuple[Chart | Dendrogram, ...]
    note: str = ""


Figure: TypeAlias = (
    Chart | Bars | HeatMap | Boxes | Clouds | Strips | Choice | Dendrogram | Diagram | Switch
)
FIGURE_TYPES: dict[str, type[Figure]] = {
    kind.__name__: kind
    for kind in (Chart, Bars, HeatMap, Boxes, Clouds, Strips, Choice, Dendrogram, Diagram, Switch)
}
