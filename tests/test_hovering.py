"""A mark of every figure of every kind of page is read by the pointer; what a page leaves out."""

from __future__ import annotations

import re

import numpy as np
import pytest
from factories.evidence import arrays, compared, made_evidence

import resemblance as rs
from resemblance.report import write_page
from resemblance.report.chapters import has_values
from resemblance.report.of_drift import drift_result
from resemblance.results import figures as kinds
from resemblance.results.figures import (
    Bar,
    Bars,
    Box,
    Boxes,
    Chart,
    Choice,
    Cloud,
    Clouds,
    Dendrogram,
    Diagram,
    HeatMap,
    Line,
    Merge,
    Option,
    Strip,
    Strips,
    Switch,
)
from resemblance.results.result import Result
from resemblance.results.sections import Section, Sign, Table

MARKS = {  # of each kind of figure: what the pointer is at
    "chart": "svg .m:not(.off) .marks",
    "bars": "svg .dot",
    "boxes": "svg .point",
    "strips": "svg .dot",
    "map": "svg .cells",
    "clouds": "svg",
    "tree": "svg .branch path",
    "diagram": "svg .branch path",
    "switch": ".view:not([hidden]) :is(.marks, .branch path)",
    "choice": ".maps .cells",
}
CHART = Chart("chart", "Lines", "x", "y", (Line("CKA", ((0.0, 0.1), (1.0, 0.9))),))
MAP = HeatMap("map", "A map", ("a", "b"), ("a", "b"), ((0.0, 0.2), (0.5, 1.0)))
TREE = Dendrogram("tree", "Tree", "height", ("a", "b"), (Merge(0, 1, 0.5),), (0, 1))
SAMPLE = (
    CHART,
    Bars("bars", "Bars", "rank", (Bar("CKA", 1.5, 1.0, 2.0),)),
    Boxes("boxes", "Boxes", "rank", (Box("CKA", (1.0, 2.0, 3.0), group="spectral"),)),
    Strips("strips", "Strips", "accuracy", (Strip("standard", (0.8, 0.9)),)),
    MAP,
    Clouds("clouds", "Clouds", (Cloud("one", ((1.0, 0.0), (0.0, 1.0))),)),
    Choice("choice", "Choice", ("measure",), (Option(("CKA",), (0,)),), (MAP,)),
    TREE,
    Diagram("diagram", "Ties", "mean rank", ("CKA", "RSA", "GULP"), (1.2, 2.0, 2.8), ((0, 1),)),
    Switch("switch", "Switch", "measure", ("CKA",), (TREE._replace(name="inner"),)),
)
NAMES = ("a/1", "a/2", "b/1", "b/2")


def every_kind() -> Result:
    return Result("toy", "full", (Section("all", "All", "", figures=SAMPLE),))


def evidence() -> object:
    return made_evidence(compared(arrays(NAMES)))


def drift() -> Result:
    g = np.random.default_rng(0)
    x = g.normal(size=(60, 4))
    labels = np.repeat(np.arange(3), 20)
    return drift_result(rs.drift(x, x + 0.3 * g.normal(size=x.shape), labels=labels, draws=10))


@pytest.mark.parametrize("made", [every_kind, evidence, drift], ids=lambda f: f.__name__)
def test_a_mark_of_every_figure_is_read(made, tmp_path, look):
    path = tmp_path / "page.html"
    write_page(made(), path)
    text = path.read_text(encoding="utf-8").replace("<details", "<details open")
    path.write_text(text, encoding="utf-8")
    places = re.findall(r'<figure class="(\w+)[^"]*" id="([^"]+)"', text)
    marks = [f"[id='{place}'] {MARKS[kind]}" for kind, place in places]
    silent = [m for m, said in zip(marks, look(path, marks).said) if not _is_read(said)]
    assert places
    assert silent == []


def _is_read(said: str) -> bool:
    return bool(said) and not said.startswith("nothing is ")


def test_the_sample_has_every_kind_of_figure():
    assert {type(figure) for figure in SAMPLE} == set(kinds.KINDS.values())


# --------------------------------------------------------------------- what has nothing is left out


def test_a_table_without_any_value_is_left_out_and_named(tmp_path):
    columns = ("measure", "a", "b")
    tables = (
        Table("none", "Nothing here", columns, (("CKA", None, "–"), ("RSA", float("nan"), ""))),
        Table("empty", "Empty", columns, ()),
        Table("some", "Something", columns, (("CKA", None, 0.5), ("RSA", None, None))),
    )
    section = Section("s", "S", "", tables)
    path = write_page(Result("toy", "full", (section,)), tmp_path / "page.html")
    text = path.read_text(encoding="utf-8")
    assert 'id="section-s-some"' in text
    assert 'id="section-s-none"' not in text
    assert "Without any value, and left out: Nothing here; Empty." in text


def test_names_alone_and_signs_are_values():
    assert has_values(Table("t", "T", ("name",), (("CKA",),)))
    rows = (("CKA", None),)
    assert not has_values(Table("t", "T", ("name", "a"), rows))
    assert has_values(Table("t", "T", ("name", "a"), rows, signs=(Sign(0, 1, "†", "too few"),)))


def test_a_legend_has_several_entries(tmp_path):
    for lines, count in ((CHART.lines, 0), ((*CHART.lines, Line("RSA", ((0.0, 1.0),))), 1)):
        section = Section("s", "S", "", figures=(CHART._replace(lines=lines),))
        path = write_page(Result("toy", "full", (section,)), tmp_path / "page.html")
        assert path.read_text(encoding="utf-8").count('<div class="legend"') == count


def test_boxes_of_one_group_have_no_legend(tmp_path):
    for groups, shown in (("one", "one"), False), (("one", "two"), True):
        boxes = tuple(Box(f"m{i}", (1.0, 2.0), group=group) for i, group in enumerate(groups))
        section = Section("s", "S", "", figures=(Boxes("boxes", "Boxes", "rank", boxes),))
        path = write_page(Result("toy", "full", (section,)), tmp_path / "page.html")
        assert (">one</text>" in path.read_text(encoding="utf-8")) == shown
