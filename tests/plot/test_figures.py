"""Every kind of figure is the same on the page and in matplotlib; each check of it can fail."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from factories.evidence import arrays, compared, made_evidence
from factories.figures import BARS, CHART, FIGURES, LINES, MODEL_SCORES, POINTS, TREE, square_map

import resemblance as rs
from resemblance import plot
from resemblance.checks import check_figure
from resemblance.plot.drawing import paint
from resemblance.report.chapters import mean_rank_chart
from resemblance.report.of_comparison import result_from_comparison, result_from_evidence
from resemblance.report.of_drift import drift_result
from resemblance.sections.figures import FIGURE_TYPES, Bar, Box, Boxes, Chart, Choice, Line, Merge
from resemblance.sections.result import Result
from resemblance.sections.sections import Section


@pytest.fixture(autouse=True)
def no_window():
    backend = plt.get_backend()
    plt.switch_backend("agg")
    yield
    plt.close("all")
    plt.switch_backend(backend)


def failed(figure: Any, axes: Any = None) -> set[str]:
    return {o.check for o in check_figure(figure, axes) if o.holds is False}


@pytest.fixture(scope="module")
def outcomes():
    """The outcomes of all checks by the names of the figures."""
    return {name: check_figure(figure) for name, figure in FIGURES.items()}


@pytest.mark.parametrize("name", FIGURES)
def test_a_page_and_matplotlib_agree(outcomes, name):
    assert [o for o in outcomes[name] if o.holds is False] == []


def test_every_kind_of_figure_is_checked(outcomes):
    assert {type(figure) for figure in FIGURES.values()} == set(FIGURE_TYPES.values())
    checked = [FIGURES[name] for name, found in outcomes.items() if all(o.holds for o in found)]
    drawn = {type(figure).__name__ for figure in checked}
    assert drawn == {*FIGURE_TYPES} - {"Clouds", "Strips"}
    for kind in ("clouds", "strips"):
        with pytest.raises(ValueError, match="only a page draws"):
            paint(FIGURES[kind])


# ----------------------------------------------------- the figures of results, and what plot draws

LAYERS = [f"{model}/{layer}" for model in ("one", "two", "three") for layer in ("in", "mid", "out")]
UNLIKE = ["a/0", "a/1", "b/0", "b/1", "b/2", "c/0", "c/1", "c/2", "c/3"]


def page_figure(result: Result, name: str, measure: str) -> Any:
    """The figure of a measure on the page of a comparison or an evidence."""
    (figure,) = [f for f in result["similarity"].figures if f.name == name]
    if isinstance(figure, Choice):
        return next(heat for heat in reversed(figure.maps) if heat.name == measure)
    return figure.figures[figure.choices.index(rs.get_measure(measure).label)]


def of_evidence(names, figure, measure):
    """The figure of a page, and the plot of the same evidence."""
    kinds = {"map": "heatmap", "depths": "layers", "matches": "layers", "plane": "mds"}
    data = made_evidence(compared(arrays(names)))
    options = {"match": "best"} if figure == "matches" else {}
    page = page_figure(result_from_evidence(data), figure, measure)
    return page, data.plot(measure, kind=kinds.get(figure, figure), **options)


def of_comparison(arrays_by_name, measure, measures):
    data = compared(arrays_by_name, None, measures)
    page = page_figure(result_from_comparison(data), "map", measure)
    return page, plot.heatmap(data, measure)


def suite_result() -> Result:
    g = np.random.default_rng(0)
    merits = {"cka": 2.0, "procrustes": 1.9, "rsa": 0.0, "gulp": -1.0}
    scores = {
        f"cell {i}": {m: v + 0.3 * g.standard_normal() for m, v in merits.items()} for i in range(8)
    }
    return Result("resi", "mini", (Section("all", "All", "", scores=scores),))


def drifts():
    x = np.random.default_rng(0).standard_normal((60, 5)) * [3, 2, 1, 1, 0.5]
    report = rs.drift(x, x + 0.3, progress=False, n_resamples=10)
    return drift_result(report)["drifts"].figures[0], plot.drift(report)


PLOTS = {
    "map": lambda: of_evidence(LAYERS, "map", "cka"),
    "map of a distance with lines across": lambda: of_evidence(LAYERS, "map", "procrustes"),
    "map below 0": lambda: of_comparison(
        arrays(["a/x", "a/y", "b/x", "b/y"], related=2), "rsa", ["rsa", "cka"]
    ),
    "map with gaps": lambda: of_comparison(
        arrays(["a", "b", "c"]) | {"dead": np.zeros((40, 3))}, "gulp", ["cka", "gulp"]
    ),
    "layers of equal depth": lambda: of_evidence(LAYERS, "depths", "cka"),
    "best matches": lambda: of_evidence(UNLIKE[:5], "matches", "cka"),
    "best matches of several depths": lambda: of_evidence(UNLIKE, "matches", "procrustes"),
    "plane": lambda: of_evidence(LAYERS, "plane", "procrustes"),
    "plane of one model": lambda: of_evidence(LAYERS[:3], "plane", "cka"),
    "plane of models and other names": lambda: of_evidence([*LAYERS, "x", "y"], "plane", "cka"),
    "tree": lambda: of_evidence(LAYERS, "tree", "cka"),
    "ranks": lambda: (mean_rank_chart(suite_result()), plot.ranks(suite_result())),
    "drifts": drifts,
}


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_of_a_result_has_the_numbers_and_names_of_its_page(name):
    """``plot`` writes longer words at axes than a page, which has them in headings, and shorter
    names of pairs of models."""
    figure, axes = PLOTS[name]()
    others = {WORDS, NAMES} if isinstance(figure, Chart) else {WORDS}
    assert failed(figure, axes) <= others


# ------------------------------------------------------------------------------- what can go wrong

MAP, HATCHED = FIGURES["map"], FIGURES["map with lines across"]
BOXES, PLANE = FIGURES["boxes"], FIGURES["plane"]
SWITCH = FIGURES["switch"]
WITHOUT_TITLE = SWITCH.figures[1]._replace(title="")
DASHED = CHART._replace(lines=(LINES[0], LINES[1]._replace(is_dashed=True)))
SAME_NUMBERS, NAMES = "the same numbers", "the same names in order"
WORDS, MISSING = "the same words at the axes", "missing values"


def moved(line: Line, by: float) -> Line:
    return line._replace(points=tuple((x, y + by) for x, y in line.points))


def wider(line: Line) -> Line:
    return line._replace(intervals=tuple((low, high + 0.05) for low, high in line.intervals))


TWO_DASHED = DASHED._replace(
    lines=(*DASHED.lines, moved(DASHED.lines[1], 0.1)._replace(name="ceiling"))
)


def with_gap(line: Line) -> Line:
    return line._replace(points=(line.points[0], (0.5, np.nan), line.points[2]))


TEXT = MODEL_SCORES.brackets[0]._replace(text="0.2")
MOVED = MODEL_SCORES.bars[0]._replace(points=(0.5, 0.6))
BROKEN = [  # a figure of a page, what matplotlib draws in its place, and the check that notices
    (BARS, BARS._replace(bars=(BARS.bars[0]._replace(value=0.55), *BARS.bars[1:])), SAME_NUMBERS),
    (BARS, BARS._replace(bars=(BARS.bars[0]._replace(low=0.3), *BARS.bars[1:])), SAME_NUMBERS),
    (BARS, BARS._replace(bars=(BARS.bars[0]._replace(low=None), *BARS.bars[1:])), SAME_NUMBERS),
    (BARS, BARS._replace(threshold=0.4), SAME_NUMBERS),
    (MODEL_SCORES, MODEL_SCORES._replace(band=(0.5, 0.8)), SAME_NUMBERS),
    (MODEL_SCORES, MODEL_SCORES._replace(brackets=MODEL_SCORES.brackets[:1]), SAME_NUMBERS),
    (MODEL_SCORES, MODEL_SCORES._replace(brackets=(TEXT, MODEL_SCORES.brackets[1])), SAME_NUMBERS),
    (MODEL_SCORES, MODEL_SCORES._replace(bars=(MOVED, *MODEL_SCORES.bars[1:])), SAME_NUMBERS),
    (BARS, BARS._replace(bars=BARS.bars[:2]), SAME_NUMBERS),
    (BARS, BARS._replace(bars=(Bar("other", 0.5, 0.4, 0.6), *BARS.bars[1:])), NAMES),
    (BARS, BARS._replace(bars=BARS.bars[::-1]), NAMES),
    (BARS, BARS._replace(x="ρ"), WORDS),
    (BARS, BARS._replace(bars=(*BARS.bars[:2], Bar("GULP", np.nan))), MISSING),
    (BOXES, BOXES._replace(boxes=(Box("CKA", (1.0, 2.0, 5.0)), BOXES.boxes[1])), SAME_NUMBERS),
    (BOXES, BOXES._replace(boxes=BOXES.boxes[::-1]), NAMES),
    (CHART, CHART._replace(lines=(moved(LINES[0], 0.05), LINES[1])), SAME_NUMBERS),
    (CHART, CHART._replace(lines=(wider(LINES[0]), LINES[1])), SAME_NUMBERS),
    (CHART, CHART._replace(lines=LINES[:1]), SAME_NUMBERS),
    (CHART, CHART._replace(lines=(LINES[0]._replace(name="GULP"), LINES[1])), NAMES),
    (CHART, CHART._replace(y="loss"), WORDS),
    (CHART, CHART._replace(x="loss"), WORDS),
    (POINTS, POINTS._replace(lines=(LINES[0]._replace(intervals=()), LINES[1])), SAME_NUMBERS),
    (DASHED, DASHED._replace(lines=(LINES[0], moved(DASHED.lines[1], 0.1))), SAME_NUMBERS),
    (
        TWO_DASHED,  # the mean of the dashed lines stays
        TWO_DASHED._replace(
            lines=(LINES[0], moved(TWO_DASHED.lines[1], 0.05), moved(TWO_DASHED.lines[2], -0.05))
        ),
        SAME_NUMBERS,
    ),
    (DASHED, DASHED._replace(lines=LINES[:1]), SAME_NUMBERS),
    (CHART, CHART._replace(lines=(with_gap(LINES[0]), LINES[1])), MISSING),
    (PLANE, PLANE._replace(lines=(moved(PLANE.lines[0], 0.5), PLANE.lines[1])), SAME_NUMBERS),
    (PLANE, PLANE._replace(lines=PLANE.lines[:1]), SAME_NUMBERS),
    (TREE, TREE._replace(merges=(Merge(0, 2, 0.2), TREE.merges[1])), SAME_NUMBERS),
    (TREE, TREE._replace(leaves=("b", "a", "c")), NAMES),
    (TREE, TREE._replace(x="loss"), WORDS),
    (MAP, MAP._replace(values=((0.0, 0.6, None), *MAP.values[1:])), SAME_NUMBERS),
    (MAP, MAP._replace(is_reversed=True), SAME_NUMBERS),
    (MAP, MAP._replace(values=((0.0, 0.5, 0.5), *MAP.values[1:])), MISSING),
    (MAP, MAP._replace(rows=("a", "c", "b")), NAMES),
    (HATCHED, HATCHED._replace(hatched=((1, 0),)), SAME_NUMBERS),
]  # fmt: skip


@pytest.mark.parametrize(("figure", "other", "check"), BROKEN)
def test_matplotlib_that_draws_something_else_is_noticed(figure, other, check):
    assert check in failed(figure, paint(other))


def test_marks_outside_of_the_axes_are_noticed():
    for figure in (BARS, CHART, PLANE):
        axes = paint(figure)
        axes.set_xlim(-9, -8)
        assert "marks inside the axes" in failed(figure, axes)


@pytest.mark.parametrize(
    ("figure", "check"),
    [
        (BARS._replace(title=" "), "a description"),
        (BARS._replace(title="two  spaces"), "a description"),
        (BARS._replace(bars=(Bar("CKA", 0.5, note=" "),)), "a description"),
        (CHART._replace(span_y=(0.0, np.nan)), "marks inside the page"),
        (Boxes("b", "B", "x", (Box("one", (np.inf, 1.0)),)), "a description"),
        (Boxes("b", "B", "x", (Box("one", (1.0, 2.0)), Box("none", ()))), SAME_NUMBERS),
        (SWITCH._replace(figures=(SWITCH.figures[0], WITHOUT_TITLE)), "a description"),
    ],
)
def test_a_figure_that_cannot_be_read_or_drawn_is_noticed(figure, check):
    assert check in failed(figure)


def test_what_has_nothing_to_compare_decides_nothing(monkeypatch):
    undecided = {o.check for o in check_figure(BARS._replace(bars=())) if o.holds is None}
    assert SAME_NUMBERS in undecided
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    outcomes = {o.check: o.holds for o in check_figure(square_map("m", ((1.0,),)))}
    assert (outcomes["a description"], outcomes[SAME_NUMBERS]) == (True, None)


def test_what_is_no_figure_is_refused():
    with pytest.raises(TypeError, match="Line is no kind of figure"):
        check_figure(LINES[0])
