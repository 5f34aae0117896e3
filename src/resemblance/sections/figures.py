"""The figures of a result: named data, which a page draws and a file stores."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Line(NamedTuple):
    """A line or point cloud: points (x, y), and if known an interval (low, high) per point.

    ``titles``: the tooltip of each point; by default the name of the line and the two coordinates.
    ``note``: the tooltip of the name in the legend. ``is_shown``: whether the line is visible at
    first; by default, of up to ten lines in a section all are visible, and of more lines the first
    eight.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    intervals: tuple[tuple[float, float], ...] = ()
    titles: tuple[str, ...] = ()
    note: str = ""
    is_dashed: bool = False
    is_shown: bool | None = None


class Chart(NamedTuple):
    """Lines or point clouds over common axes.

    ``threshold``: a horizontal line, which ``note`` explains. ``joined``: whether to connect the
    points of a line. ``span_y``: the limits of the vertical axis; by default as the points need.
    ``is_labeled``: write the title of a point beside it where there is room. ``is_plane``: the two
    axes have the same scale and no numbers, as in multidimensional scaling.
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
    """An estimate ``value`` with an interval; ``low`` and ``high`` are None without an interval.

    ``note``: the tooltip; by default the name and the numbers. ``is_marked``: the bar stands out,
    for example the reader's own measure. ``is_hollow``: the mark is hollow, for example for a value
    that is not significant. ``points``: the values behind the estimate, for example of subjects.
    """

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    note: str = ""
    is_marked: bool = False
    is_hollow: bool = False
    points: tuple[float, ...] = ()


class Bracket(NamedTuple):
    """A bracket that joins two rows, given by their positions from 0, with a text, for example the
    p-value of a difference."""

    first: int
    second: int
    text: str


class Bars(NamedTuple):
    """Estimates in rows, for example of a quantity for every measure.

    ``threshold``: a vertical line. ``span``: the limits of the axis, for example the first and the
    last rank; by default as the values need; values beyond are drawn at the end. ``log_x``: a
    logarithmic axis. ``is_limit``: bars begin at the threshold, and bars above it stand out.
    ``is_dotted``: markers without bars, for ranks, which have no 0. ``band``: the ends of a grey
    band, for example a noise ceiling. ``brackets``: at the right of the rows.
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
    band: tuple[float, float] | None = None
    brackets: tuple[Bracket, ...] = ()


class HeatMap(NamedTuple):
    """A matrix of values with row and column names; None is a missing value.

    ``span``: the values at the ends of the colour scale; by default the extreme values.
    ``is_diverging``: the scale has two colours that meet at 0, or in the middle of ``span`` if 0 is
    outside. ``is_reversed``: small values are dark, for distances, where 0 means equal. ``titles``:
    the tooltip of each cell, for example the reason for a missing value; "" shows the number.
    ``subtitle``: grey text after the title. ``hatched``: row and column of the hatched cells;
    ``hatching``: the meaning of hatched cells. ``chance``: the chance level of each value, also in
    the tooltip.
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
    hatched: tuple[tuple[int, int], ...] = ()
    hatching: str = ""
    chance: tuple[tuple[float | None, ...], ...] = ()


class Box(NamedTuple):
    """A sample of values, drawn as quartiles, whiskers and points.

    ``points``: a name for each value. ``group``: boxes of the same group, for example a family of
    measures, have the same colour, and a legend explains the colours.
    """

    name: str
    values: tuple[float, ...]
    points: tuple[str, ...] = ()
    group: str = ""


class Boxes(NamedTuple):
    """Box plots in rows on a common axis, for example the ranks of every measure."""

    name: str
    title: str
    x: str
    boxes: tuple[Box, ...]
    note: str = ""
    span: tuple[float, float] | None = None


class Cloud(NamedTuple):
    """Points in a plane.

    ``groups``: the group number of each point, which selects the colour. ``origins``: the earlier
    position of each point; a line joins the two positions.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    groups: tuple[int, ...] = ()
    origins: tuple[tuple[float, float], ...] = ()


class Clouds(NamedTuple):
    """Point clouds side by side, each scaled to fill a square; clouds with origins share a
    scale."""

    name: str
    title: str
    clouds: tuple[Cloud, ...]
    note: str = ""


class Strip(NamedTuple):
    """The values of a group as dots; ``is_used``: whether other figures include the group.
    ``note``: a remark on the group, which a file keeps and a page does not show."""

    name: str
    values: tuple[float, ...]
    is_used: bool = True
    note: str = ""


class Strips(NamedTuple):
    """Dots of several groups in rows on a common axis, for example accuracies by treatment."""

    name: str
    title: str
    x: str
    strips: tuple[Strip, ...]
    note: str = ""


class Option(NamedTuple):
    """A selection: an entry for each selector, and the indices of its maps in the choice.

    ``note``: a line below the maps, for example the resulting score.
    """

    choices: tuple[str, ...]
    maps: tuple[int, ...]
    note: str = ""


class Choice(NamedTuple):
    """Heat maps with named selectors, from which a reader selects.

    ``maps``: each matrix once, however many options show it. A selector offers the entries of all
    options that agree with the previous selectors. Without JavaScript, and in print, the page shows
    the options of ``static``, by default the first. ``is_linked``: a selection here also applies to
    all linked choices and all switches of the section. ``groups``: a heading per option, above the
    options of the first selector, for example the family of a measure.
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
    """A merge of two branches of a tree at a height.

    ``left`` and ``right``: a leaf number, or the number of leaves plus the number of an earlier
    merge.
    """

    left: int
    right: int
    height: float


class Dendrogram(NamedTuple):
    """A tree that joins names step by step, the nearest first.

    ``merges``: a merge fewer than leaves, in order of height. ``order``: the leaves from top to
    bottom. ``x``: the meaning of the height.
    """

    name: str
    title: str
    x: str
    leaves: tuple[str, ...]
    merges: tuple[Merge, ...]
    order: tuple[int, ...]
    note: str = ""


class Switch(NamedTuple):
    """Figures of the same kind for several items, for example measures; the page shows one at a
    time.

    ``choices``: the name of each figure. The reader selects a figure with the selector of this name
    in a :class:`Choice` of the same section. Without JavaScript, and in print, the page shows the
    first figure.
    """

    name: str
    title: str
    selector: str
    choices: tuple[str, ...]
    figures: tuple[Chart | Dendrogram, ...]
    note: str = ""


Figure: TypeAlias = Chart | Bars | HeatMap | Boxes | Clouds | Strips | Choice | Dendrogram | Switch
FIGURE_TYPES: dict[str, type[Figure]] = {
    kind.__name__: kind
    for kind in (Chart, Bars, HeatMap, Boxes, Clouds, Strips, Choice, Dendrogram, Switch)
}
