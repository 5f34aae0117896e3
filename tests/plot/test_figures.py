"""The numbers of a figure are the same on the page and in matplotlib, for each kind of figure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
from factories.evidence import arrays, compared, made_evidence
from matplotlib.collections import LineCollection, PolyCollection, QuadMesh

import resemblance as rs
from resemblance import plot
from resemblance.plot._ranks import paint_boxes
from resemblance.report.chapters import (
    figure_markup,
    line_keys,
    mean_rank_chart,
    tie_diagram_of_result,
)
from resemblance.report.colors import colors_by_class
from resemblance.report.of_comparison import result_from_comparison, result_from_evidence
from resemblance.report.of_drift import drift_result
from resemblance.sections.figures import (
    Bars,
    Box,
    Boxes,
    Chart,
    Choice,
    Dendrogram,
    Diagram,
    Figure,
    HeatMap,
    Switch,
)
from resemblance.sections.result import Result
from resemblance.sections.sections import Section

PIXEL = 0.2  # positions on a page have one decimal
Element = ElementTree.Element
Axes = Any
Check = Callable[[Any, Element, Axes], None]


def check_figure(figure: Figure, ax: Axes) -> None:
    """Check that the SVG of a figure of a page shows the numbers that matplotlib shows."""
    keys = line_keys(Section("s", "S", "", figures=(figure,)), {})
    ((_, markup),) = figure_markup(figure, "figure", keys).parts
    CHECKS[type(figure)](figure, ElementTree.fromstring(markup), ax)


# ------------------------------------------------------------------------------ what a page shows


def elements(svg: Element, kind: str) -> list[Element]:
    """The elements of an SVG whose class begins with these words."""
    words = kind.split()
    return [e for e in svg.iter() if e.get("class", "").split()[: len(words)] == words]


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", text)]


def path_starts(paths: list[Element]) -> np.ndarray:
    """Where paths begin, (n, 2)."""
    return np.array([numbers(path.get("d", ""))[:2] for path in paths])


def positions(svg: Element, values: Any, kind: str = "mid", *, is_log: bool = False) -> np.ndarray:
    """Where values are along an axis of a page, by the numbers that are written at the axis."""
    ticks = []
    for text in svg.iter("text"):
        words = (text.text or "").replace("−", "-")
        if text.get("class") == kind and re.fullmatch(r"-?[\d.]+(e-?\d+)?", words):
            ticks.append((float(words), float(text.get("x" if kind == "mid" else "y", ""))))
    values_at_ticks, places = np.array(ticks).T
    assert len(ticks) >= 2
    places = places if kind == "mid" else places - 3.5  # a number stands beside its line
    scale = np.log10 if is_log else np.asarray
    return np.polyval(
        np.polyfit(scale(values_at_ticks), places, 1), scale(np.asarray(values, dtype=float))
    )


def assert_near(page: Any, painted: Any) -> None:
    np.testing.assert_allclose(np.array(page), np.array(painted), atol=PIXEL)


def columns(*values: Any) -> np.ndarray:
    return np.stack(np.broadcast_arrays(*values), axis=-1)


# ------------------------------------------------------------------------------- what is painted


def line_segments(ax: Axes, width: float) -> np.ndarray:
    """The lines of one width in a collection, (n, 2, 2), without those that are not there."""
    parts = [c for c in ax.collections if isinstance(c, LineCollection)]
    lines = [s for c in parts if c.get_linewidth()[0] == width for s in c.get_segments()]
    return np.array([line for line in lines if len(line) == 2 and np.isfinite(line).all()])


def lines_with_marks(ax: Axes) -> list[Any]:
    return [line for line in ax.lines if line.get_marker() not in ("", "None")]


# ------------------------------------------------------------------------------- kinds of figures


def check_map(figure: HeatMap, svg: Element, ax: Axes) -> None:
    (mesh,) = [c for c in ax.collections if isinstance(c, QuadMesh)]
    shape = len(figure.rows), len(figure.columns)
    values = np.ma.filled(mesh.get_array(), np.nan).reshape(shape)
    painted = mesh.cmap(mesh.norm(values))[..., :3]
    page, colors = np.full((*shape, 3), np.nan), colors_by_class()
    for path in svg.find(".//g[@class='cells']") or []:
        for j, i, width in re.findall(r"M(\d+) (\d+)h(\d+)", path.get("d", "")):
            if path.get("class") in colors:
                page[int(i), int(j) : int(j) + int(width)] = colors[path.get("class")]
    assert (np.isnan(page[..., 0]) == np.isnan(values)).all()
    assert_close = np.testing.assert_allclose
    assert_close(page[~np.isnan(values)], painted[~np.isnan(values)], atol=0.02)
    texts = [t.text.replace("−", "-") for t in elements(svg, "count") if t.text]
    assert_close([float(t) for t in texts], values[~np.isnan(values)], atol=0.005 + 1e-9)
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    hatched = {tuple(np.floor(s[0] + [0.5, 0.5 - 1e-9])) for c in lines for s in c.get_segments()}
    ways = [
        m for p in elements(svg, "unsure") for m in re.findall(r"M([\d.]+) ([\d.]+)l", p.get("d"))
    ]
    assert hatched == {(np.floor(float(x)), np.floor(float(y) - 1e-9)) for x, y in ways}


def check_chart(figure: Chart, svg: Element, ax: Axes) -> None:
    groups = [g for g in reversed(svg.findall("g")) if elements(g, "marks")]
    dashed = [g for g in groups if "d1" in g.get("class", "")]
    solid = [g for g in groups if g not in dashed]
    assert len(solid) == len(lines_with_marks(ax))
    if figure.is_plane:
        check_plane(solid, lines_with_marks(ax))
        return
    bands = [c for c in ax.collections if isinstance(c, PolyCollection)]
    for group, line in zip(solid, lines_with_marks(ax), strict=True):
        x, y = line.get_data()
        is_finite = np.isfinite(y)
        places = columns(positions(svg, x), positions(svg, y, "end"))[is_finite]
        assert_near(path_starts(elements(group, "marks")), places)
    page_bands = [band for group in solid for band in elements(group, "band")]
    for page, band in zip(page_bands, bands, strict=True):
        x, y = np.unique(band.get_paths()[0].vertices, axis=0).T
        ends = np.array(numbers(page.get("d", ""))).reshape(-1, 2)
        ends = ends[np.lexsort((-ends[:, 1], ends[:, 0]))]
        assert_near(ends, columns(positions(svg, x), positions(svg, y, "end")))
    dotted = [line.get_ydata() for line in ax.lines if line.get_linestyle() == ":"]
    chance = [np.mean([y for y in dotted if len(y)], axis=0)] if dashed else []
    for group, y in zip(dashed, chance, strict=True):
        assert_near(path_starts(elements(group, "marks"))[:, 1], positions(svg, y, "end"))


def check_plane(groups: list[Element], lines: list[Any]) -> None:
    """Up to a shift and one scale, as both axes have no numbers."""
    page = np.concatenate([path_starts(elements(group, "marks")) for group in groups])
    painted = np.concatenate([line.get_xydata() for line in lines])
    painted = painted[np.isfinite(painted).all(axis=1)] * [1, -1]  # down, as on a page
    page, painted = (points - points.mean(axis=0) for points in (page, painted))
    scale = (page * painted).sum() / (painted**2).sum()
    assert_near(page, scale * painted)


def check_tree(figure: Dendrogram, svg: Element, ax: Axes) -> None:
    page = [numbers(group[-1].get("d", "")) for group in elements(svg, "branch")]
    (brackets,) = [c for c in ax.collections if isinstance(c, LineCollection)]
    for way, ((x, y), (height, _), (_, other_y), (other_x, _)) in zip(
        page, brackets.get_segments(), strict=True
    ):
        assert_near(np.array(way)[[0, 2, 4]], positions(svg, [x, height, other_x]))
        pitch = float(svg.get("viewBox", "").split()[3]) - 42
        rows = pitch / len(figure.leaves) * (np.array([y, other_y]) + 0.5)
        assert_near(np.array(way)[[1, 3]], rows)


def check_bars(figure: Bars, svg: Element, ax: Axes) -> None:
    dots = np.concatenate([line.get_xydata() for line in lines_with_marks(ax)])
    dots = dots[np.argsort(dots[:, 1])]
    ends = (figure.span or (-np.inf, np.inf)) if figure.log_x else (-np.inf, np.inf)
    values = np.clip(dots[:, 0], *ends)  # a page draws a value beyond an axis at its end
    page = [float(dot.get("cx", "")) for dot in elements(svg, "dot")]
    difference = np.abs(page - positions(svg, values, is_log=figure.log_x))
    is_inside = values == dots[:, 0]
    assert (difference[is_inside] < PIXEL).all()
    assert is_inside.any()
    page = [numbers(line.get("d", "")) for line in elements(svg, "range")]
    spans = line_segments(ax, 1.2)
    spans = spans[np.argsort(spans[:, 0, 1])] if len(spans) else spans
    assert len(page) == len(spans)
    for way, span in zip(page, spans, strict=True):
        assert_near([way[0], way[2]], positions(svg, span[:, 0], is_log=figure.log_x))
    limits = [line.get_xdata()[0] for line in ax.lines if line.get_marker() in ("", "None")]
    page = [
        path_starts([path])[0, 0] for group in elements(svg, "limit") for path in group.iter("path")
    ]
    assert_near(sorted(set(page)), positions(svg, limits, is_log=figure.log_x))


def check_boxes(figure: Boxes, svg: Element, ax: Axes) -> None:
    bodies = [rect for rect in elements(svg, "box") if float(rect.get("height", "")) == 14]
    for body, patch in zip(bodies, ax.patches, strict=True):
        ends = positions(svg, [patch.get_x(), patch.get_x() + patch.get_width()])
        left = float(body.get("x", ""))
        assert_near([left, left + float(body.get("width", ""))], ends)
    medians = [s[0, 0] for s in line_segments(ax, 1.5)]
    assert_near(path_starts(elements(svg, "median"))[:, 0], positions(svg, medians))
    whiskers = line_segments(ax, 1.0)[..., 0].reshape(-1, 4)
    page = [np.array(numbers(w.get("d", "")))[[0, 2, 3, 5]] for w in elements(svg, "whisker")]
    assert_near(page, positions(svg, whiskers))


def check_diagram(figure: Diagram, svg: Element, ax: Axes) -> None:
    page = [numbers(group[-1].get("d", "")) for group in elements(svg, "branch tie")]
    ties = [line.get_xdata() for line in ax.lines if line.get_linewidth() > 2]
    assert_near([(way[0] + 3, way[2] - 3) for way in page], positions(svg, ties))
    arms = [line.get_xdata()[0] for line in ax.lines if line.get_linewidth() < 2]
    assert_near(
        path_starts([arm[1] for arm in elements(svg, "branch arm")])[:, 0], positions(svg, arms)
    )


CHECKS: dict[type, Check] = {
    HeatMap: check_map,
    Chart: check_chart,
    Dendrogram: check_tree,
    Bars: check_bars,
    Boxes: check_boxes,
    Diagram: check_diagram,
}


# --------------------------------------------------------------- figures of pages, and their plots


LAYERS = [f"{model}/{layer}" for model in ("one", "two", "three") for layer in ("in", "mid", "out")]
UNLIKE = ["a/0", "a/1", "b/0", "b/1", "b/2", "c/0", "c/1", "c/2", "c/3"]


@pytest.fixture(autouse=True)
def no_window():
    backend = plt.get_backend()
    plt.switch_backend("agg")
    yield
    plt.close("all")
    plt.switch_backend(backend)


def suite_result() -> Result:
    g = np.random.default_rng(0)
    merits = {"cka": 2.0, "procrustes": 1.9, "rsa": 0.0, "gulp": -1.0}
    scores = {
        f"cell {i}": {m: v + 0.3 * g.standard_normal() for m, v in merits.items()} for i in range(8)
    }
    return Result("resi", "mini", (Section("all", "All", "", scores=scores),))


def drift_report() -> Any:
    x = np.random.default_rng(0).standard_normal((60, 5)) * [3, 2, 1, 1, 0.5]
    return rs.drift(x, x + 0.3, progress=False, n_resamples=10)


def page_figure(result: Result, name: str, measure: str) -> Any:
    """The figure of a measure on the page of a comparison or an evidence."""
    (figure,) = [f for f in result["similarity"].figures if f.name == name]
    if isinstance(figure, Choice):
        return next(heat for heat in figure.maps if heat.name == measure)
    assert isinstance(figure, Switch)
    label = rs.get_measure(measure).label
    return figure.figures[figure.choices.index(label)]


def page_and_plot(names, figure, measure, **options):
    """The figure of a page, and the plot of the same evidence."""
    kind = {"map": "heatmap", "depths": "layers", "matches": "layers", "plane": "mds"}
    data = made_evidence(compared(arrays(names)))
    page = page_figure(result_from_evidence(data), figure, measure)
    options |= {"match": "best"} if figure == "matches" else {}
    return page, data.plot(measure, kind=kind.get(figure, figure), **options)


def map_below_0():
    data = compared(arrays(["a/x", "a/y", "b/x", "b/y"], related=2), None, ["rsa", "cka"])
    return page_figure(result_from_comparison(data), "map", "rsa"), plot.heatmap(data, "rsa")


def map_with_gaps():
    data = compared(arrays(["a", "b", "c"]) | {"dead": np.zeros((40, 3))}, None, ["cka", "gulp"])
    return page_figure(result_from_comparison(data), "map", "gulp"), plot.heatmap(data, "gulp")


def drift_bars():
    report = drift_report()
    (figure,) = drift_result(report)["drifts"].figures
    return figure, plot.drift(report)


def ranks_in_boxes():
    boxes = (Box("a", (1.0, 2.0, 3.0, 4.0, 4.0)), Box("b", (2.0, 2.0, 1.0)), Box("c", (3.0, 1.5)))
    figure = Boxes("b", "B", "rank", boxes, span=(1.0, 5.0))
    return figure, paint_boxes(figure)


FIGURES = {
    "map": lambda: page_and_plot(LAYERS, "map", "cka"),
    "map of a distance with lines across": lambda: page_and_plot(LAYERS, "map", "procrustes"),
    "map below 0": map_below_0,
    "map with gaps": map_with_gaps,
    "layers of equal depth": lambda: page_and_plot(LAYERS, "depths", "cka"),
    "best matches": lambda: page_and_plot(UNLIKE[:5], "matches", "cka"),
    "best matches of several depths": lambda: page_and_plot(UNLIKE, "matches", "procrustes"),
    "plane": lambda: page_and_plot(LAYERS, "plane", "procrustes"),
    "plane of one model": lambda: page_and_plot(LAYERS[:3], "plane", "cka"),
    "plane of models and other names": lambda: page_and_plot([*LAYERS, "x", "y"], "plane", "cka"),
    "tree": lambda: page_and_plot(LAYERS, "tree", "cka"),
    "ranks": lambda: (mean_rank_chart(suite_result()), plot.ranks(suite_result())),
    "drifts": drift_bars,
    "boxes": ranks_in_boxes,
    "ties": lambda: (
        tie_diagram_of_result(suite_result()),
        plot.critical_difference(suite_result()),
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_page_and_matplotlib_show_the_same_numbers(name):
    check_figure(*FIGURES[name]())
