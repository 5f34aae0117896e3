"""Results: kept and read again, ranked, on a page and in a browser."""

from __future__ import annotations

import html
import json
import math
import re
from dataclasses import replace

import pytest
from factories.figures import BARS, CHART, CLAIMS, FIGURES, FINDINGS, SCORES, TABLE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import resemblance as rs
from resemblance.report import charts, svg, write_page
from resemblance.report.chapters import line_keys
from resemblance.report.output import write_output
from resemblance.sections.claims import (
    NO_DATA,
    NOT_REPRODUCED,
    PARTLY_REPRODUCED,
    REPRODUCED,
    Claim,
)
from resemblance.sections.figures import Bar, Bars, Chart, Cloud, Clouds, Line
from resemblance.sections.result import Result
from resemblance.sections.sections import Section, Table
from resemblance.sections.values import distinct_labels

NOTHING = Result("toy", "small", ())


# ------------------------------------------------------------------------------------ kept and read

words = st.text(max_size=8)
numbers = st.floats(-1e300, 1e300)
entries = st.one_of(st.none(), words, numbers, st.integers(-(10**9), 10**9))


@st.composite
def tables(draw, name):
    columns = draw(st.lists(words, max_size=3))
    row = st.tuples(*(entries for _ in columns))
    return Table(
        name, draw(words), tuple(columns), tuple(draw(st.lists(row, max_size=3))), draw(words)
    )


@st.composite
def drawn_charts(draw, name):
    points = draw(st.lists(st.tuples(numbers, numbers), max_size=3))
    spans = tuple(draw(st.tuples(numbers, numbers)) for _ in points) if draw(st.booleans()) else ()
    lines = (Line(draw(words), tuple(points), spans), Line(draw(words), ()))
    level = draw(st.none() | numbers)
    title, x, y, note = (draw(words) for _ in range(4))
    return Chart(name, title, x, y, lines, note, draw(st.booleans()), False, level)


@st.composite
def sections(draw, name):
    points = st.lists(numbers, max_size=2).map(tuple)
    ends = st.none() | numbers
    bars = st.builds(Bar, words, numbers, ends, ends, points=points)
    rows = tuple(draw(st.lists(bars, max_size=2)))
    figures = draw(drawn_charts("c")), Bars("b", draw(words), "x", rows)
    cells = st.dictionaries(words, st.none() | numbers, max_size=3)
    scores = draw(st.dictionaries(words, cells, max_size=2))
    verdict = draw(st.sampled_from([REPRODUCED, PARTLY_REPRODUCED, NOT_REPRODUCED, NO_DATA]))
    claims = (Claim(draw(words), draw(words), "t", "o", verdict),)
    reasons = draw(st.dictionaries(words, words, max_size=2))
    parts = (draw(tables("t")),), figures, claims, scores, reasons
    return Section(name, draw(words), draw(words), *parts)


@given(
    st.tuples(sections("one"), sections("two")), words, st.dictionaries(words, words, max_size=2)
)
@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_findings_are_read_as_they_were_saved_and_can_be_shown(tmp_path, found, size, labels):
    findings = Result("toy", size, found, labels, {"one": 0.5}, {"none": None, "list": [1, "ä"]})
    findings.save(tmp_path / "result.json")
    read = rs.load(tmp_path / "result.json")
    assert read == findings
    write_page(read, tmp_path / "page.html")
    write_output(read, "csv", tmp_path / "found.csv")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("How it was made") == 2


def test_a_damaged_file_says_so(tmp_path, subtests):
    path = tmp_path / "result.json"
    FINDINGS.save(path)
    text = path.read_text(encoding="utf-8")
    start = '{"format": "resemblance Result 1", "suite": "toy", "size": "s", "sections": '
    message = r"is not a saved result that can be read .*; (result\.save|compute the result again)"
    for wrong in (
        "[]",
        '{"format": 2}',
        '{"format": "resemblance Result 1"}',
        *(start + sections + "}" for sections in ("5", '[], "more": 1', '[{"name": "a"}]')),
        text.replace('"kind": "Chart"', '"kind": "Pie"'),
        text.replace('"rows"', '"r"'),
        text.replace('"not reproduced"', '"maybe"'),
    ):
        path.write_text(wrong, encoding="utf-8")
        with subtests.test(wrong[:80]), pytest.raises(ValueError, match=message):
            rs.load(path)


TREE, CHOICE = FIGURES["tree"], FIGURES["choice"]
WRONG_FIGURES = (
    (TREE._replace(order=(0, 1)), "the order is not that of 3 leaves"),
    (TREE._replace(merges=TREE.merges[:1]), "1 merges do not join 3 leaves"),
    (CHOICE._replace(selectors=("one",)), "2 choices for 1 selectors"),
    (CHOICE._replace(maps=CHOICE.maps[:2]), "an option has no map of 2"),
    (FIGURES["switch"]._replace(choices=("CKA",)), "1 choices for 2 figures"),
    (FIGURES["map"]._replace(rows=("a",)), "values do not fit 1 rows and 3 columns"),
)


def test_parts_that_do_not_fit_are_an_error(subtests):
    line = Line("l", ((0, 1),), ((0, 1), (0, 1)))
    empty = Section("s", "", "")
    for sections, message in (
        ([empty._replace(tables=(TABLE, TABLE))], "section 's': 2 parts are called 'deletion'"),
        ([empty._replace(tables=(Table("t", "", ("a", "b"), (("x",),)),))], "row 0 has 1 entries"),
        ([empty._replace(figures=(CHART._replace(lines=(line,)),))], "line 'l': 2 intervals for 1"),
        ([empty._replace(claims=(CLAIMS[0]._replace(verdict="yes"),))], "S1: no verdict 'yes'"),
        ([empty, empty], "2 parts are called 's'"),
        *(([empty._replace(figures=(wrong,))], words) for wrong, words in WRONG_FIGURES),
    ):
        with subtests.test(message), pytest.raises(ValueError, match=message):
            Result("toy", "small", tuple(sections))


def test_labels_of_variants_are_distinct():
    labels = {"cka": "CKA", "cka[kernel=rbf]": "CKA", "rsa": "RSA"}
    assert distinct_labels(labels) == labels | {"cka[kernel=rbf]": "CKA [kernel=rbf]"}
    assert distinct_labels({"mine": "CKA", "cka": "CKA"}) == {"mine": "mine", "cka": "cka"}


def test_ranks_are_within_cells_and_what_has_no_value_is_last():
    assert FINDINGS.ranks() == {
        ("recovery", "a"): {"cka": 1.0, "gulp": 2.0, "rsa": 3.0},
        ("recovery", "b"): {"cka": 1.0, "rsa": 1.0, "gulp": 3.0},
    }
    means = {p.measure: p.mean for p in FINDINGS.mean_ranks()}
    assert list(means.items()) == [("cka", 1.0), ("rsa", 2.0), ("gulp", 2.5)]
    assert NOTHING.mean_ranks() == ()


# ----------------------------------------------------------------------------------------- the page


def written(findings, folder, **options):
    write_page(findings, folder / "page.html", **options)
    return (folder / "page.html").read_text(encoding="utf-8")


EMPTY = Section("a", "A", "")
ODD = (
    NOTHING,
    replace(FINDINGS, seconds={}, provenance={}),
    Result("toy", "s", (EMPTY._replace(scores={"x": {"cka": 1.0}}),)),
    Result("toy", "s", (EMPTY._replace(tables=(Table("t", "T", (), ()),)),)),
    Result("toy", "s", (EMPTY._replace(figures=(BARS._replace(bars=()),)),)),
    Result("toy", "s", (EMPTY._replace(figures=(CHART._replace(lines=()),)),)),
)


@pytest.mark.parametrize("found", ODD)
def test_odd_results_have_pages_and_are_read_as_they_were_saved(found, tmp_path):
    text = written(found, tmp_path)
    assert text.rstrip().endswith("</html>")
    assert "nan" not in re.sub(r"(?s)<style.*?</style>|<script.*?</script>", "", text)
    found.save(tmp_path / "result.json")
    assert rs.load(tmp_path / "result.json") == found


def test_every_kind_of_figure_is_read_as_it_was_saved(tmp_path):
    found = Result("toy", "full", (EMPTY._replace(tables=(SCORES,), figures=DISTINCT),))
    found.save(tmp_path / "result.json")
    assert rs.load(tmp_path / "result.json") == found


def test_claims_are_listed_in_words_with_links(tmp_path):
    text = written(FINDINGS, tmp_path)
    start = text.partition('<details class="holds"')[2].partition("</details>")[0]
    claims = re.findall(r'href="#(section-[^"]*)">([^<]*)</a> <span class="dim">(\w+)<', start)
    assert {number for _, _, number in claims} == {c.number for c in FINDINGS.claims}
    assert all(f'<section id="{place}"' in text for place, _, _ in claims)


def test_a_line_keeps_its_color_and_few_of_many_are_shown():
    def section(*names):
        chart = CHART._replace(lines=tuple(Line(name, ()) for name in names))
        return Section("s", "", "", figures=(chart,))

    numbers = {}
    assert [k.number for k in line_keys(section("a", "b"), numbers).values()] == [0, 1]
    assert [k.number for k in line_keys(section("c", "b"), numbers).values()] == [0, 1]
    mixed = line_keys(section("a", "c", "b"), numbers)
    assert len({k.number for k in mixed.values()}) == 3  # never two alike in one section
    many = line_keys(section(*map(str, range(30))), {})
    assert sum(k.is_shown for k in many.values()) == 8
    assert all(k.is_shown for k in line_keys(section(*map(str, range(10))), {}).values())
    first = list(many.values())[:20]
    looks = {(k.number % 10, k.mark, k.classes.split()[2:3] == ["d1"]) for k in first}
    assert len(looks) == 20


# -------------------------------------------------------------------------------------- the figures


def test_places_are_those_of_the_values():
    x = charts.x_axis([(v, 0.0) for v in (0.0, 0.01, 1.0)], CHART._replace(log_x=True))
    assert x(0.0) < x(0.01) < x(0.1) < x(1.0)
    assert x(0.1) - x(0.01) == pytest.approx(x(1.0) - x(0.1))
    x = charts.x_axis([(2.0, 0.0), (4.0, 0.0)], CHART)
    assert x(3.0) == pytest.approx((x(2.0) + x(4.0)) / 2)
    assert math.isfinite(charts.x_axis([(3.0, 0.0)], CHART)(3.0))
    with pytest.raises(ValueError, match="chart 'noise': -1 cannot be on a logarithmic axis"):
        charts.x_axis([(-1.0, 0.0), (1.0, 0.0)], CHART._replace(log_x=True))


def test_close_ticks_have_different_numbers():
    axis = svg.AxisScale(0.5, 0.5015, 0, 600)
    numbers = svg.axis_numbers(axis, svg.round_ticks(0.5, 0.5015, 3), 0)
    words = [re.sub("<[^>]*>", "", number) for number in numbers]
    assert words == ["0.5", "0.5005", "0.501", "0.5015"]
    assert svg.log_ticks(0.9, 7.0) == [1.0, 2.0, 5.0]
    assert svg.log_ticks(0.09, 70.0) == [0.1, 1.0, 10.0]


def test_points_without_a_value_are_not_drawn():
    line = Line("a", ((0.0, math.nan), (1.0, 0.5), (2.0, None)), ((0, 1), (0.4, math.nan), (0, 1)))
    assert charts.finite_points(line) == Line("a", ((1.0, 0.5),), ((0.5, 0.5),))
    keys = {"a": charts.LineStyle(0, True)}
    drawn = charts.line_chart(CHART._replace(lines=(line,)), keys)
    assert "nan" not in drawn
    assert "Nothing to draw" in charts.line_chart(CHART._replace(lines=(Line("a", ()),)), keys)


@pytest.mark.parametrize("joined", [True, False])
def test_very_many_points_are_one_path(joined):
    line = Line("CKA", tuple((i / 500, 0.5) for i in range(500)))
    drawn = charts.line_chart(
        CHART._replace(lines=(line,), joined=joined), {"CKA": charts.LineStyle(0, True)}
    )
    assert drawn.count("marks") == (not joined)


def test_clouds_fill_their_squares_and_those_that_moved_share_a_scale():
    near = Cloud("near", ((1.0, 5.0), (2.0, 5.0)))
    far = Cloud("far", ((20.0, 0.0), (0.0, 0.0)), (0, 13))
    drawn = "".join(charts.point_cloud_row(Clouds("c", "C", (near, far))))
    assert re.findall(r"M([\d.]+) 75.0h0", drawn) == ["8.0", "142.0", "142.0", "8.0"]
    assert re.findall(r'class="(p [^"]*)"', drawn) == ["p new", "p p0", "p p1"]
    moved = Cloud("moved", ((1.0, 0.0),), origins=((0.0, 0.0),))
    more = moved._replace(name="more", points=((2.0, 0.0),))
    drawn = "".join(charts.point_cloud_row(Clouds("c", "C", (moved, more))))
    ways = re.findall(r'd="([^"]*)" class="way"', drawn)
    assert ways == ["M220.0 220.0L325.0 220.0", "M220.0 220.0L430.0 220.0"]


# ------------------------------------------------------------------------------------- in a browser

DISTINCT = tuple({figure.name: figure for figure in (*FIGURES.values(), CHART)}.values())
SOME = tuple(FIGURES[n] for n in ("boxes", "strips", "map", "clouds", "choice"))
KINDS = Result("toy", "full", (Section("kinds", "Kinds", "", (SCORES,), SOME),))


def test_cells_are_shaded_framed_and_signed(tmp_path):
    text = written(KINDS, tmp_path)
    assert '<td class="n s" data-v="0.5" style="--v:0.5">0.50</td>' in text
    assert '<td class="n s neg" data-v="-0.25" style="--v:0.25">' in text
    assert '<td class="n s best" data-v="0.75" style="--v:0.75">' in text
    assert '<td class="n s" data-v="3.0" style="--v:1.0">3</td>' in text  # the largest
    assert 'title="too few">–<sup class="hang">†</sup></td>' in text
    assert text.count('<tr class="tied">') == 1
    assert '<th scope="col" class="n" title="a hint">a</th>' in text


def test_marks_of_every_kind_of_figure_are_read(tmp_path, look):
    write_page(KINDS, tmp_path / "page.html")
    place = "#section-kinds-{}"
    marks = {
        f"{place.format('boxes')} .point": "CKA: rank 1 in x",
        f"{place.format('strips')} .dot": "standard: accuracy 0.9",
        f"{place.format('map')} .cells": "b  and  b:  0",
        f"{place.format('map')} .missing": "b  and  b:  0",  # its middle is that of the map
        f"{place.format('clouds')} .p": "points: one",
        f"{place.format('choice')} .maps .cells .q99": "a  and  b:  expected 1, by CKA 0.25",
    }
    seen = look(tmp_path / "page.html", list(marks))
    assert dict(zip(marks, seen.said, strict=True)) == marks
    assert seen.hidden == []
    assert look(tmp_path / "page.html", width=390).wide <= 390


def noted(page, name):
    """What a script notes at the body of a page whose own scripts ran without an error."""
    (opening,) = re.findall(r"<html[^>]*>", page)
    assert 'data-ready="yes"' in opening
    assert "data-errors" not in opening
    return html.unescape(re.search(rf'<body[^>]* data-{name}="([^"]*)"', page)[1])


CHOOSING = """<script>
    const figure = document.querySelector("figure.choice"), told = [];
    const pick = (list, value) => {
      list.value = value; list.dispatchEvent(new Event("change")); };
    const tell = () => told.push([...figure.querySelectorAll(".maps .part")].map(p => p.textContent)
      .join("+") + "=" + figure.querySelector(".readout").textContent);
    const lists = figure.querySelectorAll("select");
    const words = list => [...list.options].map(o => o.textContent);
    tell();
    pick(lists[1], [...lists[1].options][1].value); tell();
    pick(lists[0], [...lists[0].options][1].value); tell();
    told.push(words(lists[1]).join());
    const columns = document.querySelectorAll("form.columns select");
    const table = document.querySelector("table.sorted");
    const open = () => told.push([...table.tHead.rows[1].cells].filter(c => !c.hidden)
      .map(c => c.textContent).join());
    open();
    pick(columns[0], "AUPRC"); open();
    pick(columns[1], "graphs"); pick(columns[0], "*"); open();
    told.push([...table.tHead.rows[0].cells].map(c => c.hidden ? 0 : c.colSpan).join());
    document.body.dataset.told = JSON.stringify(told);
    const svg = document.querySelector("figure.map svg"), key = name =>
      svg.dispatchEvent(new KeyboardEvent("keydown", { key: name }));
    key("ArrowDown"); key("ArrowRight"); key("ArrowRight");
    document.body.dataset.key = document.querySelector("figure.map .readout").textContent;
    </script>"""


def test_maps_and_columns_can_be_chosen(open_page, tmp_path):
    path = tmp_path / "page.html"
    text = written(KINDS, tmp_path).replace("</body>", CHOOSING + "</body>")
    path.write_text(text, encoding="utf-8")
    shown = open_page(path)
    assert json.loads(noted(shown, "told")) == [
        "expected+by CKA=CKA: 0.5",
        "expected+by RSA=",
        "other=",
        "RSA",
        "measure,a",
        "measure,b",
        "measure,b,c",
        "1,1,1",
    ]
    assert noted(shown, "key") == "b  and  c:  −1"


def test_what_the_pointer_reads(tmp_path, look):
    long = Table("long", "Long", ("measure", "n"), tuple((f"m{i}", i) for i in range(200)))
    more = Section("more", "More", "about", (long,))
    write_page(replace(FINDINGS, sections=(*FINDINGS.sections, more)), tmp_path / "page.html")
    chart = "figure:nth-of-type({}) .chart"
    marks = {
        f"{chart.format(1)} .m0 .marks": "CKA: drift 0.1 at noise 0",
        f"{chart.format(1)} .m1 > path:not(.marks)": "RSA",
        f"{chart.format(1)} .limit path": "threshold 0.5",
        f"{chart.format(2)} .m0 .marks": "CKA: stability 0.1 at CKA 0",
        f"{chart.format(3)} .dot": "CKA: 0.5, 0.4 to 0.6",
        f"{chart.format(3)} .limit path": "threshold 0.3",
        "#standing .dot": "CKA: 1",
    }
    seen = look(tmp_path / "page.html", list(marks))
    assert dict(zip(marks, seen.said, strict=True)) == marks
    assert seen.hidden == []  # no row of a long table is out of sight


def test_numbers_with_words_stand_and_sort_as_numbers_with_real_minus_signs(tmp_path):
    table = Table(
        "t",
        "T",
        ("measure", "95 %", "share", "both", "place", "words"),
        (
            ("a", "-0.5 to 1.2", "97%", "0.1 (-0.2 to 0.4)", "1 to 3 of 5", "layer-1"),
            ("b", "0.3 ± 0.4", None, "0.2", "4 of 5", "from -0.09"),
        ),
    )
    text = written(Result("toy", "small", (Section("s", "S", "", (table,)),)), tmp_path)
    cells = re.findall(r'<td class="n" data-v="([^"]*)">([^<]*)</td>', text)
    assert cells == [
        ("-0.5", "−0.5 to 1.2"),
        ("97", "97%"),
        ("0.1", "0.1 (−0.2 to 0.4)"),
        ("1", "1 to 3 of 5"),
        ("0.3", "0.3 ± 0.4"),
        ("", "–"),
        ("0.2", "0.2"),
        ("4", "4 of 5"),
    ]
    assert "<td>layer-1</td>" in text
    assert "<td>from −0.09</td>" in text


def test_tables_can_be_sorted_and_lines_chosen(open_page, tmp_path):
    act = """<script>
    const table = document.querySelector("table.sorted"), rows = () => [...table.tBodies[0].rows];
    const first = () => rows().map(row => row.cells[0].textContent).join();
    const click = i => {
      table.tHead.rows[0].cells[i].querySelector("button").click(); return first(); };
    document.body.dataset.orders = [click(3), click(3), click(0), click(0)].join(" ");
    const shown = () => document.querySelectorAll("svg.chart .m:not(.off)").length;
    const before = shown();
    document.querySelector(".chip input").click();
    document.body.dataset.shown = [before, shown()].join();
    </script>"""
    path = tmp_path / "page.html"
    path.write_text(
        written(FINDINGS, tmp_path).replace("</body>", act + "</body>"), encoding="utf-8"
    )
    shown = open_page(path, "#100%")  # an address that nobody encoded
    assert noted(shown, "orders") == "CKA,RSA,GULP RSA,CKA,GULP CKA,GULP,RSA RSA,GULP,CKA"
    assert noted(shown, "shown") == "4,2"
