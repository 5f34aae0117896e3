"""Heat maps of a measure over all pairs, or of the dissimilarities within a representation, with as
many names along the sides as fit."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base.extras import import_optional
from ..base.text import check_choice
from ..comparison import arrangements
from ..comparison.arrangements import layer_name, layers_by_model
from ..comparison.comparison import Comparison
from ..contracts._measure import Measure
from ..data.representation import as_representation
from ..inference.result import Evidence
from ..measures._dissimilarities import rdm as dissimilarities_of
from ..report.colors import color_limits, diverging_center
from ..report.comparing.figures import hatched_value_map, map_entries
from ..report.comparing.stats import color_scale
from ..report.maps import CORNER_HATCHING, DIAGONAL_HATCHING, ModelSpan, cell_texts, model_groups
from ..report.svg import shorten_distinct_names
from ..sections.figures import HeatMap
from ._style import (
    PALE_GRAY,
    POINTS_PER_INCH,
    SLATE_GRAY,
    Axes,
    axes_in_style,
    escape_matplotlib_name,
    escape_matplotlib_names,
    estimate_text_width,
    figure_width,
    font_size_points,
    map_colormap,
    matplotlib_setting,
)
from .arguments import measure_axis_label, page_context_to_plot

MAX_SIDE_WITH_NUMBERS = 12  # cells along a side of a map with numbers in the cells
MAP_SIDE_INCHES = (1.9, 4.6)  # smallest and largest side of a map
CELL_INCHES, NUMBERED_CELL_INCHES = 0.14, 0.31  # side of a cell without and with a number
MAX_SQUARE_ASPECT = 4.0  # up to this ratio of the sides, cells are squares
MAX_VECTOR_CELLS = 10_000  # more cells are stored as an image
# Smallest font sizes of cell names and model names
MIN_CELL_NAME_SIZE, MIN_MODEL_NAME_SIZE = 4.8, 5.5
COLOR_BAR_INCHES = 0.75  # width of the colour bar
MAX_SIDE_NAME_LENGTH = 24  # characters of a name


def heatmap(
    comparison: Comparison | Evidence,
    measure: str | Measure | None = None,
    *,
    ax: Axes | None = None,
    stretch: bool = False,
    values: bool | None = None,
    order: Literal["tree"] | None = None,
    evidence: Evidence | None = None,
) -> Axes:
    """Draw the values of a measure over all pairs as a heat map; return the axes.

    Dark is similar, whatever the direction of the measure. Colours span the range of the measure,
    so that two maps of the same measure are comparable; an infinite end of the range is replaced by
    the extreme value. Brown is below 0. Layers with names ``model/layer`` form blocks, and each
    model name appears once. Pairs without a value are hatched. You can also draw a comparison of
    one list against another.

    Parameters
    ----------
    comparison : a comparison, or an evidence; in an evidence, pairs that are not significantly
        above chance (adjusted p above 0.05) have lines across.
    measure : the measure to draw; optional if there is a single measure.
    ax : matplotlib axes to draw in; by default a new figure.
    stretch : let the colours span the values instead of the range; the colour bar says so.
    values : write the values into the cells; by default if the longer side has at most 12 cells.
    order : "tree" puts similar representations next to each other, using average linkage;
        representations with a missing value come last.
    evidence : the evidence on the comparison, if ``comparison`` is a comparison.

    Raises ``KeyError`` for a measure missing from the comparison, and ``ValueError`` for any other
    type of result, for another order, and for a tree of one list against another.
    """
    context = page_context_to_plot("heatmap", comparison, measure, evidence, stretch=stretch)
    check_choice("plot.heatmap: order", order, ("tree", None))
    data, info = context.comparison, context.leading
    heat = hatched_value_map(context, info)
    note = color_scale(context.values(info), info.range, stretch=stretch).note
    if order == "tree":
        branches = arrangements.linkage_tree(data, info.spec)
        names = [branches.names[i] for i in branches.order]
        names += [name for name in data.rows if name not in branches.names]
        heat = _reorder_map(heat, [data.rows.index(name) for name in names])
    return paint_heat_map(
        heat, ax, scale=measure_axis_label(data, info), scale_note=note, is_written=values
    )


def rdm(
    X: Any,
    rdm: str = "correlation",
    *,
    groups: Sequence[Hashable] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the dissimilarities between the samples of a representation; return the axes.

    Dark is similar. Colours begin at 0, or at the lowest value if cross-validated dissimilarities
    are negative. As many sample ids as fit are along the sides.

    Parameters
    ----------
    X : an array (n, d), a representation, or the return value of
        :func:`resemblance.dissimilarities` or :func:`resemblance.from_dissimilarities`.
    rdm : as in :func:`resemblance.rdm`; ignored if ``X`` contains dissimilarities.
    groups : a label for each sample, for example a category; samples of a group are put together,
        groups in the order of their first sample.
    ax : matplotlib axes to draw in; by default a new figure.

    Raises ``ValueError`` for another kind and for another number of labels, and ``UndefinedError``
    as :func:`resemblance.rdm`.
    """
    x = as_representation(X, "X")
    values = dissimilarities_of(x, rdm)
    names = [str(name) for name in (range(len(values)) if x.ids is None else x.ids)]
    if groups is not None:
        if len(groups) != len(values):
            raise ValueError(f"plot.rdm: {len(groups)} groups for {len(values)} samples of X")
        labels = [str(group) for group in groups]
        first_places = {label: place for place, label in reversed(list(enumerate(labels)))}
        order = sorted(range(len(labels)), key=lambda i: first_places[labels[i]])
        values = values[np.ix_(order, order)]
        names = [f"{labels[i]}/{names[i]}" for i in order]
    low, high = min(float(values.min()), 0.0), float(values.max()) or 1.0
    label = f"dissimilarity: {x.signed.kind if x.signed else rdm}"
    sides = (tuple(names), tuple(names))
    heat = HeatMap("rdm", label, *sides, map_entries(values), span=(low, high), is_reversed=True)
    return paint_heat_map(heat, ax, scale=label, is_written=False)


def paint_heat_map(
    heat: HeatMap,
    ax: Axes | None = None,
    *,
    scale: str = "",
    scale_note: str = "",
    is_written: bool | None = None,
) -> Axes:
    """Paint a heat map in a new figure or in ``ax``; return the axes.

    ``scale``: the label of the colour bar; if it is too long, the bar has the title of the map.
    ``scale_note``: a second line of the label. ``is_written``: whether to write the values into the
    cells; None writes the values in maps of up to 12 cells a side.
    """
    rows, columns = len(heat.rows), len(heat.columns)
    is_written = max(rows, columns) <= MAX_SIDE_WITH_NUMBERS if is_written is None else is_written
    pitch = _cell_size_points(rows, columns, ax, is_written)
    size = 7 if ax is None else _tick_label_size()
    if ax is None and (inches := figure_width()):
        pitch = _cell_size_in_width(inches, heat.rows, columns, size)
    left = choose_side_names(heat.rows, pitch, size, is_below=False)
    bottom = choose_side_names(heat.columns, pitch, size, is_below=True)
    width = (columns * pitch + left.room) / POINTS_PER_INCH + COLOR_BAR_INCHES
    height = (
        (max(rows * pitch, 24) + bottom.room) / POINTS_PER_INCH + 0.1 + 0.2 * bool(heat.hatched)
    )
    with axes_in_style(ax, max(width, 2.2), max(height, 1.1)) as axes:
        mesh = _draw_mesh(axes, heat)
        _draw_color_bar(axes, mesh, heat, scale, scale_note)
        _draw_side_names(axes, left, bottom)
        _hatch_cells(axes, heat, mesh, is_written)
        if is_written:
            _write_values(axes, heat, mesh, pitch)
    return axes


def _reorder_map(heat: HeatMap, order: Sequence[int]) -> HeatMap:
    """Return a new square map in another order along the two sides, without tooltips and chance.
    ``order``: for every new position, the index of the old position."""
    names, place = tuple(heat.rows[i] for i in order), {old: new for new, old in enumerate(order)}
    values = tuple(tuple(heat.values[i][j] for j in order) for i in order)
    hatched = tuple((place[i], place[j]) for i, j in heat.hatched)
    return heat._replace(
        rows=names, columns=names, values=values, titles=(), hatched=hatched, chance=()
    )


def _tick_label_size() -> float:
    return font_size_points("xtick.labelsize")


def _cell_size_points(rows: int, columns: int, ax: Axes | None, is_written: bool) -> float:
    """Return the side of a cell in points: the side that fits into ``ax``, or a legible side for a
    new figure. ``rows``, ``columns``: numbers of cells. ``is_written``: the cells have numbers, and
    need more room."""
    if ax is not None and hasattr(ax, "get_window_extent"):
        box, scale = ax.get_window_extent(), POINTS_PER_INCH / ax.figure.dpi
        return float(min(box.width / columns, box.height / rows) * scale)
    longest_side = max(rows, columns)
    side = np.clip(
        longest_side * (NUMBERED_CELL_INCHES if is_written else CELL_INCHES), *MAP_SIDE_INCHES
    )
    return float(side * POINTS_PER_INCH / longest_side)


def _cell_size_in_width(inches: float, rows: Sequence[str], columns: int, size: float) -> float:
    """Return the side of a cell in points for a figure ``inches`` wide, with room for the colour
    bar and the names ``rows``, which depends on the side. ``columns``: the number of columns.
    ``size``: the font size in points."""
    width = (inches - COLOR_BAR_INCHES) * POINTS_PER_INCH
    room = choose_side_names(rows, width / columns, size, is_below=False).room
    return max(width - room, width / 4) / columns


def _draw_mesh(ax: Axes, heat: HeatMap) -> Any:
    """Draw the coloured cells, and return the matplotlib mesh; cells without a value are
    hatched."""
    values = _map_values(heat)
    rows, columns = values.shape
    low, high = color_limits(heat)
    if heat.is_diverging:
        middle, reach = diverging_center(low, high)
        low, high = middle - reach, middle + reach
    high = high if high > low else low + 1.0  # as on a page
    edges = np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5
    options = {
        "cmap": map_colormap(is_diverging=heat.is_diverging, is_reversed=heat.is_reversed),
        "vmin": low,
        "vmax": high,
        "rasterized": values.size > MAX_VECTOR_CELLS,
    }
    cells = np.ma.masked_invalid(values)
    mesh = ax.pcolormesh(*edges, cells, edgecolors="face", linewidth=0.1, **options)
    ax.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    ax.set_aspect("equal" if max(rows / columns, columns / rows) <= MAX_SQUARE_ASPECT else "auto")
    ax.set_anchor("W")  # the layout assumes that the left names begin there
    ax.spines[:].set_visible(False)
    if not np.isfinite(values).all():
        ax.patch.set(facecolor=PALE_GRAY, hatch="//////", edgecolor=SLATE_GRAY, linewidth=0)
    return mesh


def _map_values(heat: HeatMap) -> np.ndarray:
    """Return the values of a map, shape (rows, columns), NaN for a missing value."""
    return np.array(heat.values, dtype=float)


def _draw_color_bar(ax: Axes, mesh: Any, heat: HeatMap, label: str, note: str) -> None:
    """Draw the colour bar of ``mesh`` with its numbers, the similar end on top. ``label``: beside
    the bar. ``note``: a second line of the label."""
    height = ax.get_window_extent().height * POINTS_PER_INCH / ax.figure.dpi
    is_short = estimate_text_width(label, font_size_points("axes.labelsize")) <= height
    label = escape_matplotlib_name(label if is_short else heat.title, 60)
    low, high = color_limits(heat)
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.9, pad=0.03, aspect=18, panchor=False)
    bar.outline.set_visible(False)
    bar.ax.set_ylim(*((high, low) if heat.is_reversed else (low, high)))
    bar.ax.tick_params(length=0)
    bar.set_label(label + (f"\n{note}" if note else ""))
    bar.solids.set_edgecolor("face")  # no thin white lines between the colours in PDF viewers


def _hatch_cells(ax: Axes, heat: HeatMap, mesh: Any, is_written: bool) -> None:
    """Draw lines across the hatched cells, and write the meaning of the lines below the map.
    ``is_written``: the cells have numbers, so the lines are in the corners."""
    if not heat.hatched:
        return
    values = _map_values(heat)
    strokes = CORNER_HATCHING if is_written else DIAGONAL_HATCHING
    ends, colors = [], []
    for i, j in heat.hatched:
        ink = _readable_text_color(mesh, float(values[i, j]))
        for x, y, size in strokes:
            start = j - 0.5 + x, i - 0.5 + y
            ends.append([start, (start[0] + size, start[1] - size)])
            colors.append(ink)
    collection = import_optional("matplotlib.collections").LineCollection
    ax.add_collection(collection(ends, colors=colors, linewidths=0.5, alpha=0.8))
    ax.set_xlabel(
        f"Lines across: {heat.hatching}",
        fontsize=_tick_label_size(),
        color=matplotlib_setting("axes.labelcolor"),
    )


def _readable_text_color(mesh: Any, value: float) -> str:
    """Return the colour of a text, dark or white, that is legible on the colour of a value in
    ``mesh``."""
    if not np.isfinite(value):
        return "#1c2530"
    red, green, blue, _ = mesh.cmap(mesh.norm(value))
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else "#1c2530"


def _write_values(ax: Axes, heat: HeatMap, mesh: Any, pitch: float) -> None:
    texts = cell_texts(heat.values, (mesh.norm.vmin, mesh.norm.vmax))
    longest = max((len(text) for row in texts for text in row), default=1)
    size = min(font_size_points("ytick.labelsize"), 0.9 * pitch / (0.6 * longest))
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size}
    for (i, j), value in np.ndenumerate(_map_values(heat)):
        if text := texts[i][j]:
            ax.text(j, i, text, color=_readable_text_color(mesh, float(value)), **style)


# -------------------------------------------------------------------------------------------- names


class SideNames(NamedTuple):
    """The names along a side, the font sizes, and the space for the names, in points.

    ``cells``: (position, name) of single cells, position 0 for the first cell; ``models``: spans of
    models, with names ``offset`` points away. ``size``, ``model_size``: the font sizes. ``room``:
    the space. ``are_turned``, ``are_models_turned``: whether names are rotated by 90 degrees.
    """

    cells: tuple[tuple[float, str], ...]
    models: tuple[ModelSpan, ...]
    size: float
    model_size: float
    offset: float
    room: float
    are_turned: bool
    are_models_turned: bool

    @property
    def borders(self) -> tuple[float, ...]:
        """The positions between neighbouring models, in cells from the middle of the first cell."""
        return tuple(run.start - 0.5 for run in self.models[1:])


def choose_side_names(
    names: Sequence[str], pitch: float, size: float, *, is_below: bool
) -> SideNames:
    """Return the names to write along a side with cells of ``pitch`` points, in a font of at most
    ``size`` points. If not all cell names fit, every second, third ... name stays, or only the
    names of models. ``names``: of all cells. ``is_below``: the side is the bottom, not the left."""
    models = model_spans_along_side(names)
    name_size = min(size, 0.92 * pitch)
    fits = name_size >= MIN_CELL_NAME_SIZE
    step = 1 if fits else math.ceil(1.1 * MIN_CELL_NAME_SIZE / pitch)
    places = range(0, len(names), step) if fits or not models else range(0)
    short_names = shorten_distinct_names(
        [layer_name(name) if models else name for name in names], MAX_SIDE_NAME_LENGTH
    )
    texts = [short_names[i] for i in places]
    name_size = max(name_size, MIN_CELL_NAME_SIZE)
    max_width = max((estimate_text_width(text, name_size) for text in texts), default=0.0)
    are_turned = is_below and max_width > 0.9 * pitch
    depth = max_width if are_turned or not is_below else name_size * bool(texts)
    offset = depth + 7 if texts else 3
    titles = shorten_distinct_names([run.name for run in models], MAX_SIDE_NAME_LENGTH)
    lengths = [estimate_text_width(title, size) for title in titles]
    room = [(run.stop - run.start) * pitch / length for run, length in zip(models, lengths)]
    model_size = size * min([1.0, *room])
    fit = model_size >= MIN_MODEL_NAME_SIZE
    model_size = model_size if fit else size
    model_depth = (1.3 * size if fit else max(lengths)) if models else 0.0
    cells = tuple(zip(map(float, places), texts))
    rotations = are_turned, fit != is_below
    return SideNames(
        cells, models, name_size, model_size, offset, offset + model_depth + 4, *rotations
    )


def model_spans_along_side(names: Sequence[str]) -> tuple[ModelSpan, ...]:
    """Return the spans of the models along a side with cells of these names; () unless all names
    are layers, the layers of each model are consecutive, and a model has several."""
    groups = model_groups(names)
    return groups if len(groups) == len(layers_by_model(names)) < len(names) else ()


def _draw_side_names(ax: Axes, left: SideNames, bottom: SideNames) -> None:
    """Write the names along the two sides, with borders between models."""
    for border in left.borders:
        ax.axhline(border, color="white", linewidth=1.4)
    for border in bottom.borders:
        ax.axvline(border, color="white", linewidth=1.4)
    _draw_names_of_side(ax, left, is_below=False)
    _draw_names_of_side(ax, bottom, is_below=True)


def _draw_names_of_side(ax: Axes, side: SideNames, *, is_below: bool) -> None:
    """Write names along the bottom or the left of a map: cell names as minor ticks, model names as
    major ticks."""
    axis = ax.xaxis if is_below else ax.yaxis
    axis.remove_overlapping_locs = False
    places, texts = zip(*side.cells) if side.cells else ((), ())
    axis.set_ticks(
        places,
        escape_matplotlib_names(texts, 2 * MAX_SIDE_NAME_LENGTH),
        minor=True,
        fontsize=side.size,
    )
    models = escape_matplotlib_names([run.name for run in side.models], MAX_SIDE_NAME_LENGTH)
    axis.set_ticks([run.middle for run in side.models], models, fontsize=side.model_size)
    axis_name = "x" if is_below else "y"
    ax.tick_params(axis_name, which="both", length=0)
    ax.tick_params(axis_name, which="minor", pad=2.5, labelrotation=90 * side.are_turned)
    ax.tick_params(axis_name, which="major", pad=side.offset)
    for label in axis.get_ticklabels(which="major"):
        label.set(rotation=90 * side.are_models_turned)
        label.set(**({"ha": "center"} if is_below else {"va": "center"}))
