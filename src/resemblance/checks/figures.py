"""Checks of a figure: the drawing on a page and the drawing by matplotlib agree."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias
from xml.etree import ElementTree

import numpy as np

from ..base.extras import import_optional
from ..base.rendering import cell_colors, figure_svgs, figure_types, paint_figure
from .trial import Outcome

PIXEL = 0.2  # tolerance of positions, which have one decimal on a page
# tolerances of a colour and of a number with two decimals
COLOR_TOLERANCE, TEXT_TOLERANCE = 0.02, 0.005 + 1e-9
POINT_SIZE, BRACKET_LINE_WIDTH = 2.5, 0.8  # of matplotlib's small points and brackets
POSITIONS = ("x", "y", "cx", "cy", "d", "points")  # SVG attributes that contain positions
KINDS_WITH_ALL_NAMES = ("Bars", "Boxes", "Dendrogram")
Element: TypeAlias = ElementTree.Element
Axes: TypeAlias = Any  # matplotlib.axes.Axes
Problems: TypeAlias = Iterator[str]


def check_figure(figure: Any, axes: Any = None) -> tuple[Outcome, ...]:
    """Return the outcome of every check of a figure of ``resemblance.sections``.

    A text for screen readers contains the title, and each tooltip has words. All marks are finite,
    inside the drawing of the page and inside the axes of matplotlib. The page and matplotlib show
    the same numbers at the same positions, the names in the order of the figure, and the names of
    the axes. A missing value has no mark, and is hatched, left as a gap, or named without a number.
    A check of a drawing that matplotlib does not make, such as a row of clouds, decides nothing.

    Parameters
    ----------
    figure : a figure, such as a figure of ``rs.drift(x, y)``'s page, of any kind. Figures in a
        selector are checked one by one.
    axes : axes of matplotlib with a drawing of the same figure; by default the function draws the
        figure.

    Raises ``TypeError`` for an object that is not a figure.
    """
    if type(figure) not in figure_types().values():
        raise TypeError(f"check_figure: {type(figure).__name__} is no kind of figure")
    outcomes: dict[str, Outcome] = {}
    for part in getattr(figure, "maps", None) or getattr(figure, "figures", None) or (figure,):
        for outcome in _outcomes_of_part(part, axes):
            if outcomes.setdefault(outcome.check, outcome).holds is not False:
                outcomes[outcome.check] = outcome
    return tuple(outcomes.values())


PAGE_CHECKS = ("a description", "marks inside the page")
AXES_CHECKS = (
    "marks inside the axes", "the same names in order", "the same words at the axes",
    "missing values", "the same numbers",
)  # fmt: skip


def _outcomes_of_part(figure: Any, axes: Axes) -> Iterator[Outcome]:
    try:
        svgs = [ElementTree.fromstring(svg) for _, svg in figure_svgs(figure) if "<svg" in svg]
    except Exception as error:
        yield from _undecided(PAGE_CHECKS + AXES_CHECKS, f"{type(error).__name__}: {error}", False)
        return
    yield _outcome(PAGE_CHECKS[0], _description_problems(figure, svgs))
    yield _outcome(PAGE_CHECKS[1], _page_position_problems(figure, svgs))
    if type(figure).__name__ not in NUMBER_CHECKS or not svgs:
        reason = "matplotlib does not draw it" if svgs else "nothing has a value"
        yield from _undecided(AXES_CHECKS, reason)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from _outcomes_of_axes(figure, svgs[0], axes)


def _outcomes_of_axes(figure: Any, svg: Element, axes: Axes) -> Iterator[Outcome]:
    try:
        painted = paint_figure(figure) if axes is None else axes
        painted.figure.canvas.draw()
    except ImportError as error:
        yield from _undecided(AXES_CHECKS, str(error))
        return
    except Exception as error:
        yield from _undecided(AXES_CHECKS, f"{type(error).__name__}: {error}", False)
        return
    problems = (
        _axes_position_problems(painted),
        _name_problems(figure, svg, painted),
        _axis_word_problems(figure, svg, painted),
        _missing_value_problems(figure, svg, painted),
        NUMBER_CHECKS[type(figure).__name__](figure, svg, painted),
    )
    yield from map(_outcome, AXES_CHECKS, problems)
    if axes is None:
        import_optional("matplotlib.pyplot").close(painted.figure)


def _undecided(names: Iterable[str], reason: str, holds: bool | None = None) -> Iterator[Outcome]:
    return (Outcome(name, "yes", holds, reason) for name in names)


def _outcome(name: str, problems: Problems) -> Outcome:
    try:
        problem = next(problems, "")
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return Outcome(name, "yes", not problem, problem)


# ---------------------------------------------------------------- what is the same for all kinds


def _description_problems(figure: Any, svgs: list[Element]) -> Problems:
    if not figure.title.strip():
        yield "the figure has no title"
    for svg in svgs:
        label = svg.get("aria-label", "")
        if svg.get("role") != "img" or not label.strip() or "  " in label:
            yield f"its text for screen readers is {label!r}"
        titles = [figure.title, *(cloud.name for cloud in getattr(figure, "clouds", ()))]
        if not any(title in label for title in titles):
            yield f"its text for screen readers lacks the title: {label!r}"
        if any(not (title.text or "").strip() for title in svg.iter("title")):
            yield "the pointer reads nothing at a mark"


def _page_position_problems(figure: Any, svgs: list[Element]) -> Problems:
    for svg in svgs:
        _, _, width, height = map(float, svg.get("viewBox", "").split())
        for element in _outside_of_cells(svg):
            places = " ".join(element.get(name, "") for name in POSITIONS)
            if re.search("nan|inf", places):
                yield f"a place is not finite: {places}"
        for x, y in _mark_places(svg):
            if not (0 <= x <= width and 0 <= y <= height):
                yield f"a mark at {x:g}, {y:g} is outside of {width:g} x {height:g}"


def _outside_of_cells(svg: Element) -> Iterator[Element]:
    """Yield the elements outside transformed groups: their positions are in coordinates of the
    drawing."""
    for child in svg:
        if "transform" not in child.attrib:
            yield child
            yield from _outside_of_cells(child)


def _mark_places(svg: Element) -> Iterator[tuple[float, float]]:
    for element in _outside_of_cells(svg):
        if element.tag == "circle":
            yield float(element.get("cx", "nan")), float(element.get("cy", "nan"))
        elif element.tag == "path" and (numbers := _numbers(element.get("d", ""))):
            yield numbers[0], numbers[1]


def _axes_position_problems(ax: Axes) -> Problems:
    (left, right), (low, high) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
    slack_x, slack_y = 1e-6 * (right - left), 1e-6 * (high - low)
    for line in _lines_with_marks(ax):
        x, y = np.asarray(line.get_data(), dtype=float)
        x, y = x[np.isfinite(x) & np.isfinite(y)], y[np.isfinite(x) & np.isfinite(y)]
        is_inside = (x >= left - slack_x) & (x <= right + slack_x)
        is_inside &= (y >= low - slack_y) & (y <= high + slack_y)
        if not is_inside.all():
            yield f"{np.sum(~is_inside)} marks are outside of the axes"
    if not np.isfinite([left, right, low, high]).all():
        yield "the axes are not finite"


def _name_problems(figure: Any, svg: Element, ax: Axes) -> Problems:
    names = _names_of(figure)
    for where, shown in (
        ("the page", _names_on_page(figure, svg)),
        ("matplotlib", _names_painted(figure, ax)),
    ):
        rest = iter(names)
        if not all(any(_is_short_for(text, name) for name in rest) for text in shown):
            yield f"{where} has the names {shown}, and not {names}"
        if type(figure).__name__ in KINDS_WITH_ALL_NAMES and len(shown) != len(names):
            yield f"{where} has {len(shown)} of {len(names)} names"


def _names_of(figure: Any) -> list[str]:
    """Return the names of a figure in the order of drawing; [] for a kind without names."""
    match type(figure).__name__:
        case "HeatMap":
            return list(figure.rows)
        case "Dendrogram":
            return [figure.leaves[i] for i in figure.order]
        case "Chart":
            return [line.name for line in figure.lines if not line.is_dashed]
    return [part.name for part in getattr(figure, "bars", ()) or getattr(figure, "boxes", ())]


def _names_on_page(figure: Any, svg: Element) -> list[str]:
    match type(figure).__name__:
        case "Chart":  # the legend is outside the drawing
            return []
        case "HeatMap":
            left = [t for t in svg.iter("text") if "transform" not in t.attrib]
            # names of layers beside names of models
            layers = _texts(t for t in left if t.get("class") == "end")
            return layers or _texts(t for t in left if t.get("class") == "end name")
        case "Dendrogram":
            return _texts(_elements(svg, "end name"))
    rows = [g for g in svg.iter("g") if g.find("text[@class='end name']") is not None]
    return [_texts(row.iter("text"))[0] for row in rows]


def _names_painted(figure: Any, ax: Axes) -> list[str]:
    match type(figure).__name__:
        case "Chart":
            texts = [t.get_text() for t in ax.get_legend().get_texts()] if ax.get_legend() else []
            count = len(_names_of(figure))
            # a legend of many lines has only their number
            return texts[:count] if len(texts) >= count else []
        case "HeatMap":
            labels = ax.get_yticklabels(which="minor") or ax.get_yticklabels()
            return [label.get_text() for label in labels]
    return [label.get_text() for label in ax.get_yticklabels()]


def _is_short_for(text: str, name: str) -> bool:
    """Return whether a text stands for a name: the name, the name cut at "…", or the layer of
    model/layer."""
    text, name = text.replace(r"\$", "$"), " ".join(name.split())
    pieces = text.split("…")
    return text in (name, name.rpartition("/")[2]) or (
        len(pieces) > 1 and all(piece.strip() in name for piece in pieces)
    )


def _axis_word_problems(figure: Any, svg: Element, ax: Axes) -> Problems:
    x = getattr(figure, "x", "")
    if getattr(figure, "is_plane", False) or not x:
        return
    page = _texts(t for t in svg.iter("text") if "axis" in t.get("class", ""))
    if x not in [name.removesuffix(" (logarithmic)") for name in page]:
        yield f"the page names its axis {page}, and not {x!r}"
    if _plain(ax.get_xlabel()) != _plain(x):
        yield f"matplotlib names its axis {ax.get_xlabel()!r}, and not {x!r}"
    if (y := getattr(figure, "y", "")) and _plain(ax.get_ylabel()) != _plain(y):
        yield f"matplotlib names its vertical axis {ax.get_ylabel()!r}, and not {y!r}"


def _plain(text: str) -> str:
    return " ".join(text.replace(r"\$", "$").split())


def _missing_value_problems(figure: Any, svg: Element, ax: Axes) -> Problems:
    kind = type(figure).__name__
    if kind == "HeatMap":
        missing = ~np.isfinite(np.array(figure.values, dtype=float))
        is_masked = np.ma.getmaskarray(_mesh(ax).get_array()).reshape(missing.shape)
        if (missing != is_masked).any() or bool(ax.patch.get_hatch()) != missing.any():
            yield f"matplotlib masks {is_masked.sum()} of {missing.sum()} values that are missing"
        if _cells(svg, ("missing",)) != set(zip(*np.nonzero(missing))):
            yield f"the page does not hatch the {missing.sum()} values that are missing"
    if kind == "Chart":
        count = sum(_finite_count(line.points) for line in figure.lines)
        marks = [line.get_xydata() for line in ax.lines if len(line.get_xydata())]
        painted = sum(_finite_count(data) for data in marks)
        limits = figure.threshold is not None
        if painted - 2 * limits < count:
            yield f"matplotlib has {painted} points, and the figure has {count} with values"
    if kind == "Bars":
        count = sum(math.isfinite(bar.value) for bar in figure.bars)
        if len(_elements(svg, "dot")) != count:
            yield f"the page has {len(_elements(svg, 'dot'))} marks for {count} values"
        if sum(_finite_count(line.get_xydata()) for line in _lines_with_marks(ax)) < count:
            yield f"matplotlib has fewer marks than {count} values"


def _finite_count(points: Any) -> int:
    array = np.array(points, dtype=float).reshape(-1, 2)
    return int(np.isfinite(array).all(axis=1).sum())


# ----------------------------------------------------------------------- numbers, for each kind


def _map_problems(figure: Any, svg: Element, ax: Axes) -> Problems:
    shape, mesh = (len(figure.rows), len(figure.columns)), _mesh(ax)
    values = np.array(figure.values, dtype=float)
    painted = np.ma.filled(mesh.get_array().astype(float), np.nan).reshape(shape)
    if not np.allclose(painted, values, equal_nan=True):
        yield "matplotlib has other values"
    colors = cell_colors()
    page = np.full((*shape, 3), np.nan)
    for kind, color in colors.items():
        for i, j in _cells(svg, (kind,)):
            page[i, j] = color
    is_drawn, has_value = ~np.isnan(page[..., 0]), np.isfinite(values)
    if svg.find(".//image") is None:
        shown = mesh.cmap(mesh.norm(painted))[..., :3]
        if (is_drawn != has_value).any():
            yield "the page has other cells with a colour"
        elif np.abs(page - shown)[has_value].max(initial=0) > COLOR_TOLERANCE:
            yield "a cell has another colour on the page"
    texts = [float(text.replace("−", "-")) for text in _texts(_elements(svg, "count"))]
    if texts and not np.allclose(texts, values[has_value], atol=TEXT_TOLERANCE, rtol=0.06):
        yield f"the page writes other numbers: {texts}"
    collection = import_optional("matplotlib.collections").LineCollection
    lines = [c for c in ax.collections if isinstance(c, collection)]
    hatched = {
        (math.floor(y + 0.5 - 1e-9), math.floor(x + 0.5))
        for c in lines
        for (x, y), *_ in c.get_segments()
    }
    starts = [
        re.findall(r"M([\d.]+) ([\d.]+)l", path.get("d", "")) for path in _elements(svg, "unsure")
    ]
    crossed = {(math.floor(float(y) - 1e-9), int(float(x))) for ways in starts for x, y in ways}
    if not hatched == crossed == set(figure.hatched):
        yield f"lines across {sorted(crossed)} on the page, {sorted(hatched)} by matplotlib"


def _chart_problems(figure: Any, svg: Element, ax: Axes) -> Problems:
    groups = [g for g in reversed(svg.findall("g")) if _elements(g, "marks")]
    dashed = [g for g in groups if "d1" in g.get("class", "")]
    solid, lines = [g for g in groups if g not in dashed], _lines_with_marks(ax)
    if len(solid) != len(lines):
        yield f"{len(solid)} lines on the page, {len(lines)} by matplotlib"
        return
    if figure.is_plane:
        yield from _plane_problems(solid, lines)
        return
    to_x = _axis_of_page(svg, "mid", is_log=figure.log_x)
    to_y = _axis_of_page(svg, "end")
    for group, line in zip(solid, lines):
        x, y = np.asarray(line.get_data(), dtype=float)
        is_finite = np.isfinite(y)
        places = np.column_stack([to_x(x), to_y(y)])[is_finite]
        yield from _differences(_path_starts(_elements(group, "marks")), places, "points")
    polygons = import_optional("matplotlib.collections").PolyCollection
    bands = [c for c in ax.collections if isinstance(c, polygons)]
    page_bands = [band for group in solid for band in _elements(group, "band")]
    if len(bands) != len(page_bands):
        yield f"{len(page_bands)} bands on the page, {len(bands)} by matplotlib"
    for page, band in zip(page_bands, bands):
        x, y = np.unique(band.get_paths()[0].vertices, axis=0).T
        ends = np.array(_numbers(page.get("d", ""))).reshape(-1, 2)
        ends = np.unique(ends * [1, -1], axis=0) * [1, -1]
        yield from _differences(ends, np.column_stack([to_x(x), to_y(y)]), "intervals")
    if not figure.joined:
        paths = [path.get("d", "") for group in solid for path in _elements(group, "span")]
        painted = [(*to_x([x]), *to_y([low, high])) for (x, low), (_, high) in _segments(ax, 1.2)]
        yield from _differences(
            np.array(_numbers(" ".join(paths))).reshape(-1, 3), painted, "intervals"
        )
    dotted = [line.get_data() for line in ax.lines if line.get_linestyle() == ":"]
    dotted = [np.asarray(points, dtype=float) for points in dotted if len(points[0])]
    if len(dashed) == 1 < len(dotted):  # the page shows the mean chance level of all lines
        page_y = _path_starts(_elements(dashed[0], "marks"))[:, 1]
        yield from _differences(page_y, to_y(np.mean(dotted, axis=0)[1]), "dashed lines")
        return
    if dashed and len(dashed) != len(dotted):
        yield f"{len(dashed)} dashed lines on the page, {len(dotted)} by matplotlib"
    for group, (x, y) in zip(dashed, dotted):
        places = np.column_stack([to_x(x), to_y(y)])
        yield from _differences(_path_starts(_elements(group, "marks")), places, "dashed lines")


def _plane_problems(groups: Sequence[Element], lines: Sequence[Any]) -> Problems:
    """Yield the differences, in words, between the points on a page and the points of matplotlib,
    up to a shift and a scale, because the axes of a plane have no numbers. ``groups``: the SVG
    groups of the lines. ``lines``: the lines of matplotlib."""
    page = np.concatenate([_path_starts(_elements(group, "marks")) for group in groups])
    painted = np.concatenate([line.get_xydata() for line in lines])
    # the vertical axis of a page points down
    painted = painted[np.isfinite(painted).all(axis=1)] * [1, -1]
    if len(page) != len(painted):
        yield f"{len(page)} points on the page, {len(painted)} by matplotlib"
        return
    page, painted = (points - points.mean(axis=0) for points in (page, painted))
    scale = (page * painted).sum() / (painted**2).sum()
    yield from _differences(page, scale * painted, "points")


def _tree_problems(figure: Any, svg: Element, ax: Axes) -> Problems:
    page = [_numbers(group[-1].get("d", "")) for group in _elements(svg, "branch")]
    collection = import_optional("matplotlib.collections").LineCollection
    (brackets,) = [c for c in ax.collections if isinstance(c, collection)]
    to_x = _axis_of_page(svg, "mid")
    pitch = (float(svg.get("viewBox", "").split()[3]) - 42) / len(figure.leaves)
    ways = [
        [*to_x([x, height, other_x]), pitch * (y + 0.5), pitch * (other_y + 0.5)]
        for (x, y), (height, _), (_, other_y), (other_x, _) in brackets.get_segments()
    ]
    yield from _differences([[w[0], w[2], w[4], w[1], w[3]] for w in page], ways, "branches")


def _bars_problems(figure: Any, svg: Element, ax: Axes) -> Problems:
    to_x = _axis_of_page(svg, "mid", is_log=figure.log_x)
    if not len(ax.get_xticks()):
        yield "the axis of values has numbers on the page, none by matplotlib"
    lines = _lines_with_marks(ax)
    names = [label.get_position()[1] for label in ax.get_yticklabels()]
    dots = np.concatenate([line.get_xydata() for line in lines])
    dots = dots[np.isfinite(dots).all(axis=1) & np.isin(dots[:, 1], names)]
    _, first = np.unique(dots[:, 1], return_index=True)
    dots = dots[first]
    ends = (figure.span or (-np.inf, np.inf)) if figure.log_x else (-np.inf, np.inf)
    is_inside = np.clip(dots[:, 0], *ends) == dots[:, 0]  # the page draws other marks at the end
    page = np.array([float(dot.get("cx", "")) for dot in _elements(svg, "dot")])
    if len(page) != len(dots):
        yield f"{len(page)} marks on the page, {len(dots)} by matplotlib"
        return
    yield from _differences(page[is_inside], to_x(dots[is_inside, 0]), "values")
    spans = _segments(ax, 1.2)
    spans = spans[np.argsort(spans[:, 0, 1], kind="stable")] if len(spans) else spans
    ways = [_numbers(line.get("d", "")) for line in _elements(svg, "range")]
    painted = [to_x(span[:, 0]) for span in spans]
    yield from _differences([[way[0], way[2]] for way in ways], painted, "intervals")
    small = [line for line in lines if line.get_markersize() == POINT_SIZE]
    places = np.concatenate([line.get_xydata() for line in small]) if small else np.empty((0, 2))
    points = [float(point.get("cx", "")) for point in _elements(svg, "point")]
    yield from _differences(points, to_x(places[:, 0]), "points")
    bands = _elements(svg, "ceiling")
    ends = [(float(b.get("x", "")), float(b.get("width", ""))) for b in bands]
    band_ends = [to_x([p.get_x(), p.get_x() + p.get_width()]) for p in ax.patches]
    yield from _differences([(x, x + width) for x, width in ends], band_ends, "bands")
    pitch = (float(svg.get("viewBox", "").split()[3]) - 42) / len(figure.bars)
    joined = [_numbers(path.get("d", "")) for path in _elements(svg, "bracket")]
    rows = [(y / pitch - 0.5, other / pitch - 0.5) for _, y, _, other, _ in joined]
    yield from _differences(rows, _segments(ax, BRACKET_LINE_WIDTH)[..., 1], "brackets")
    texts = _texts(_elements(svg, "mid level"))
    if texts != [text.get_text() for text in ax.texts]:
        yield f"the page writes {texts} at its brackets, not as matplotlib"
    limits = {line.get_xdata()[0] for line in ax.lines if line.get_marker() in ("", "None")}
    groups = _elements(svg, "limit")
    page_limits = {_path_starts([p])[0, 0] for group in groups for p in group.iter("path")}
    yield from _differences(sorted(page_limits), to_x(sorted(limits)), "thresholds")


def _boxes_problems(figure: Any, svg: Element, ax: Axes) -> Problems:
    to_x = _axis_of_page(svg, "mid")
    bodies = [rect for rect in _elements(svg, "box") if float(rect.get("height", "")) == 14]
    page = [
        (float(b.get("x", "")), float(b.get("x", "")) + float(b.get("width", ""))) for b in bodies
    ]
    painted = [to_x([p.get_x(), p.get_x() + p.get_width()]) for p in ax.patches]
    yield from _differences(page, painted, "quartiles")
    medians = [s[0, 0] for s in _segments(ax, 1.5)]
    yield from _differences(_path_starts(_elements(svg, "median"))[:, 0], to_x(medians), "medians")
    whiskers = _segments(ax, 1.0)[..., 0].reshape(-1, 4)
    ways = [np.array(_numbers(w.get("d", "")))[[0, 2, 3, 5]] for w in _elements(svg, "whisker")]
    yield from _differences(ways, to_x(whiskers), "whiskers")


NUMBER_CHECKS: Mapping[str, Callable[[Any, Element, Axes], Problems]] = {
    "HeatMap": _map_problems,
    "Chart": _chart_problems,
    "Dendrogram": _tree_problems,
    "Bars": _bars_problems,
    "Boxes": _boxes_problems,
}


# ------------------------------------------------------------------------------------ what is drawn


def _differences(page: Any, painted: Any, what: str) -> Problems:
    """Yield a sentence if the positions on a page and the positions of matplotlib differ in number
    or by more than ``PIXEL``. ``page``, ``painted``: in page coordinates, of equal shape. ``what``:
    the noun of the positions."""
    page, painted = np.array(page, dtype=float), np.array(painted, dtype=float)
    if not page.size == painted.size == 0 and page.shape != painted.shape:
        yield f"{len(page)} {what} on the page, {len(painted)} by matplotlib"
    elif page.size and not np.abs(page - painted).max() <= PIXEL:
        i = np.unravel_index(np.argmax(np.abs(page - painted)), page.shape)
        yield f"{what} differ: at {page[i]:.1f} on the page, {painted[i]:.1f} by matplotlib"


def _elements(svg: Element, kind: str) -> list[Element]:
    """Return the elements of an SVG whose class begins with the words of ``kind``."""
    words = kind.split()
    return [e for e in svg.iter() if e.get("class", "").split()[: len(words)] == words]


def _texts(elements: Iterable[Element]) -> list[str]:
    return [element.text or "" for element in elements]


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", text)]


def _path_starts(paths: Sequence[Element]) -> np.ndarray:
    """Return the start points of paths, (n, 2)."""
    return np.array([_numbers(path.get("d", ""))[:2] for path in paths]).reshape(-1, 2)


def _cells(svg: Element, kinds: Sequence[str]) -> set[tuple[int, int]]:
    """Return the set of (row, column) of the cells of a heat map with a class in ``kinds``."""
    group = svg.find(".//g[@class='cells']")
    paths = [path for path in (() if group is None else group) if path.get("class") in kinds]
    runs = [run for path in paths for run in re.findall(r"M(\d+) (\d+)h(\d+)", path.get("d", ""))]
    return {(int(i), int(j) + k) for j, i, width in runs for k in range(int(width))}


def _axis_of_page(svg: Element, kind: str, *, is_log: bool = False) -> Callable[[Any], np.ndarray]:
    """Return the function from values to positions along an axis of a page, fitted to the tick
    labels. ``kind``: the class of the labels, "mid" for the horizontal axis."""
    ticks = []
    for text in svg.iter("text"):
        words = (text.text or "").replace("−", "-")
        if text.get("class") == kind and re.fullmatch(r"-?[\d.]+(e-?\d+)?", words):
            ticks.append((float(words), float(text.get("x" if kind == "mid" else "y", ""))))
    values, places = np.array(ticks).T
    places = places if kind == "mid" else places - 3.5  # a tick label is 3.5 below its line
    scale = np.log10 if is_log else np.asarray
    line = np.polyfit(scale(values), places, 1)
    return lambda values: np.polyval(line, scale(np.asarray(values, dtype=float)))


def _lines_with_marks(ax: Axes) -> list[Any]:
    return [line for line in ax.lines if line.get_marker() not in ("", "None", "|")]


def _segments(ax: Axes, width: float) -> np.ndarray:
    """Return the finite lines of line width ``width`` in the collections of axes, as start and end
    (x, y): (n, 2, 2)."""
    collection = import_optional("matplotlib.collections").LineCollection
    parts = [c for c in ax.collections if isinstance(c, collection)]
    lines = [s for c in parts if c.get_linewidth()[0] == width for s in c.get_segments()]
    finite = [line for line in lines if len(line) == 2 and np.isfinite(line).all()]
    return np.array(finite).reshape(-1, 2, 2)


def _mesh(ax: Axes) -> Any:
    kind = import_optional("matplotlib.collections").QuadMesh
    (mesh,) = [c for c in ax.collections if isinstance(c, kind)]
    return mesh
