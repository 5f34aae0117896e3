"""Findings of a suite: kept and read again, ranked, on a page, in a terminal, and by the commands
of a suite."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Annotated

import pandas
import pytest
import typer
from factories.files import hide
from factories.output import assert_fits
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import resemblance as rs
from papers.judging import Evidence, NoData, judged
from resemblance import cli
from resemblance.bench.study import Purpose, add_claims, append_to_log, study_folder
from resemblance.cli.suites import SuiteCommands, bench_commands
from resemblance.report import charts, rows, svg, terminal, write_page
from resemblance.report.chapters import line_keys
from resemblance.report.diagrams import critical_difference_svg
from resemblance.report.output import print_tables, write_output
from resemblance.report.page import summarize_verdicts
from resemblance.sections.claims import (
    NO_DATA,
    NOT_REPRODUCED,
    PARTLY_REPRODUCED,
    REPRODUCED,
    Claim,
)
from resemblance.sections.figures import (
    Bar,
    Bars,
    Box,
    Boxes,
    Chart,
    Choice,
    Cloud,
    Clouds,
    Diagram,
    HeatMap,
    Line,
    Option,
    Strip,
    Strips,
)
from resemblance.sections.result import RESULT_COLUMNS, Result
from resemblance.sections.sections import RankRule, Section, Sign, Table
from resemblance.sections.values import distinct_labels, finite_or_none

CLAIMS = (
    Claim("S1", "Stability is recovered.", "ρ > 0.99", "ρ = 0.997", REPRODUCED),
    Claim(
        "S2", "CKA notices nothing.", "0.95", "0.851", PARTLY_REPRODUCED, "at 16 components it does"
    ),
    Claim("S3", "Procrustes has false alarms.", "44 %", "12 %", NOT_REPRODUCED),
    Claim("S4", "Language models agree.", "ρ = 0.8", "–", NO_DATA),
)
TABLE = Table(
    "deletion",
    "Spectral deletion",
    ("measure", "k", "p", "value", "mixed"),
    (("CKA", 8, 0.5, 1234.5, "a"), ("RSA", 16, 1e-7, -0.04, 2.5), ("GULP", 9, None, None, None)),
    "By components.",
)
LINES = (
    Line("CKA", ((0.0, 0.1), (0.5, 0.4), (1.0, 0.9)), ((0.0, 0.2), (0.3, 0.5), (0.8, 1.0))),
    Line("RSA", ((0.0, 0.2), (0.5, 0.3), (1.0, 0.7))),
)
CHART = Chart(
    "noise", "Weight noise", "noise", "drift", LINES, "The line is chance.", threshold=0.5
)
CLOUD = Chart("cloud", "Quadrants", "CKA", "stability", LINES, joined=False)
BARS = Bars(
    "taus",
    "Correlations",
    "τ",
    (Bar("CKA", 0.5, 0.4, 0.6), Bar("RSA", -0.2), Bar("GULP", 0.123)),
    "Sorted.",
    0.3,
)
FINDINGS = Result(
    "toy",
    "small",
    (
        Section(
            "recovery",
            "Recovery",
            "What is known.",
            (TABLE,),
            (CHART, CLOUD, BARS),
            CLAIMS[:2],
            {
                "a": {"cka": 0.9, "rsa": 0.5, "gulp": 0.7},
                "b": {"cka": 0.8, "rsa": 0.8, "gulp": None},
                "c": {"cka": None},
            },
            {"GULP": "k must be below n"},
        ),
        Section("canary", "The canary", "Alarms.", claims=CLAIMS[2:]),
        Section("empty", "Nothing", ""),
    ),
    {"cka": "CKA", "rsa": "RSA"},
    {"recovery": 12.34, "canary": 7000.0},
    {"version": "1", "seeds": [0, 1]},
)
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
    bars = st.builds(Bar, words, numbers, st.none() | numbers, st.none() | numbers)
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
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_findings_are_read_as_they_were_saved_and_can_be_shown(tmp_path, found, size, labels):
    findings = Result("toy", size, found, labels, {"one": 0.5}, {"none": None, "list": [1, "ä"]})
    findings.save(tmp_path / "result.json")
    read = rs.load(tmp_path / "result.json")
    assert read == findings
    write_page(read, tmp_path / "page.html")
    write_output(read, "csv", tmp_path / "found.csv")
    page = Tags((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert page.words.count("How it was made") == 2


@pytest.mark.parametrize("findings", [FINDINGS, NOTHING])
def test_a_saved_file_is_the_whole(findings, tmp_path):
    findings.save(tmp_path / "result.json")
    assert rs.load(tmp_path / "result.json") == findings
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


def test_a_damaged_file_says_so(tmp_path, subtests):
    path = tmp_path / "result.json"
    FINDINGS.save(path)
    text = path.read_text(encoding="utf-8")
    document_start = '{"format": "resemblance Result 1", "suite": "toy", "size": "s", '
    for wrong in (
        "",
        "[]",
        "null",
        "{}",
        '{"format": 2}',
        '{"format": "resemblance Result 1"}',
        document_start + '"sections": 5}',
        document_start + '"sections": [], "more": 1}',
        document_start + '"sections": [{"name": "a"}]}',
        text[: len(text) // 2],
        text.replace('"kind": "Chart"', '"kind": "Pie"'),
        text.replace('"rows"', '"r"'),
        text.replace('"not reproduced"', '"maybe"'),
    ):
        path.write_text(wrong, encoding="utf-8")
        message = (
            r"is not a saved result that can be read .*; (result\.save|compute the result again)"
        )
        with subtests.test(wrong[:80]), pytest.raises(ValueError, match=message):
            rs.load(path)


def test_parts_that_do_not_fit_are_an_error(subtests):
    line = Line("l", ((0, 1),), ((0, 1), (0, 1)))
    empty = Section("s", "", "")
    for sections, message in (
        ([empty._replace(tables=(TABLE, TABLE))], "section 's': 2 parts are called 'deletion'"),
        ([empty._replace(tables=(Table("t", "", ("a", "b"), (("x",),)),))], "row 0 has 1 entries"),
        ([empty._replace(figures=(CHART._replace(lines=(line,)),))], "line 'l': 2 intervals for 1"),
        ([empty._replace(claims=(CLAIMS[0]._replace(verdict="yes"),))], "S1: no verdict 'yes'"),
        ([empty, empty], "2 parts are called 's'"),
    ):
        with subtests.test(message), pytest.raises(ValueError, match=message):
            Result("toy", "small", tuple(sections))


def test_known_numbers_are_floats_and_others_none():
    assert [finite_or_none(v) for v in (1, 0.5, None, math.nan, -math.inf)] == [
        1.0,
        0.5,
        None,
        None,
        None,
    ]


def test_a_judge_without_data_gives_no_verdict():
    def lacks(facts):
        raise NoData("the run lacks x")

    def partly(facts):
        return Evidence("c", (True, False), "d")

    first, second = judged([("1", "a", "b", lacks), ("2", "a", "b", partly)], {})
    assert first == Claim("1", "a", "b", "–", NO_DATA, "the run lacks x")
    assert second == Claim("2", "a", "b", "c", PARTLY_REPRODUCED, "d")


def test_an_error_in_a_judge_is_no_verdict():
    for wrong in (lambda facts: facts["x"], lambda facts: max([])):
        with pytest.raises((KeyError, ValueError)):
            judged([("1", "a", "b", wrong)], {})


def test_labels_of_variants_are_distinct():
    assert distinct_labels({"cka": "CKA", "cka[kernel=rbf]": "CKA", "rsa": "RSA"}) == {
        "cka": "CKA",
        "cka[kernel=rbf]": "CKA [kernel=rbf]",
        "rsa": "RSA",
    }
    assert distinct_labels({"mine": "CKA", "cka": "CKA"}) == {"mine": "mine", "cka": "cka"}


def test_ranks_are_within_cells_and_what_has_no_value_is_last():
    assert FINDINGS.ranks() == {
        ("recovery", "a"): {"cka": 1.0, "gulp": 2.0, "rsa": 3.0},
        ("recovery", "b"): {"cka": 1.0, "rsa": 1.0, "gulp": 3.0},
    }
    means = {p.measure: p.mean for p in FINDINGS.places().rows}
    assert list(means.items()) == [("cka", 1.0), ("rsa", 2.0), ("gulp", 2.5)]
    assert NOTHING.places().rows == ()


# ----------------------------------------------------------------------------------------- the page


class Tags(HTMLParser):
    """All tags of a page with their attributes, its text, and the cells of its tables."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.tables, self.inside = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.inside.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th") and "table" in self.inside:
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        self.words.append(data)
        if {"td", "th"} & set(self.inside):
            self.tables[-1][-1][-1] += data

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def written(findings, folder, **options):
    write_page(findings, folder / "page.html", **options)
    return (folder / "page.html").read_text(encoding="utf-8")


def test_everything_is_on_the_page(tmp_path):
    text = written(FINDINGS, tmp_path, title="The toy", introduction="To begin with.")
    page = Tags(text)
    said = " ".join(page.words)
    for section in FINDINGS.sections:
        assert section.title in said
        assert section.about in said
    for claim in CLAIMS:
        assert any(
            {claim.claim, claim.theirs} <= set(row) for table in page.tables for row in table
        )
        assert claim.ours + claim.note in said.replace("  ", "").replace(
            f"{claim.ours} ", claim.ours
        )
    for part in (TABLE, CHART, CLOUD, BARS):
        assert part.title in said
        assert part.note in said
    for told in (
        "To begin with.",
        "k must be below n",
        "0, 1",
        "12 s",
        "1.9 h",
        "Mean ranks of the measures",
    ):
        assert told in said
    assert len([a for a in page.all("svg") if a.get("class") == "chart"]) == 4
    assert all(a["aria-label"] for a in page.all("svg") if a.get("role") == "img")
    assert ("3", "claims put to the test") in zip(page.words, page.words[1:])
    verdicts = "4 claims: 1 reproduced; 1 in part; 1 not reproduced; 1 no data."
    assert verdicts in page.words


def test_tables_write_numbers_for_people_and_sort_by_their_values(tmp_path):
    page = Tags(written(FINDINGS, tmp_path))
    (table,) = [t for t in page.tables if t[0] == list(TABLE.columns)]
    assert table[1:] == [
        ["CKA", "8", "0.500", "1234", "a"],
        ["RSA", "16", "1e−7", "−0.04", "2.5"],
        ["GULP", "9", "–", "–", "–"],
    ]
    values = [a["data-v"] for a in page.all("td") if "data-v" in a]
    assert values == ["8.0", "0.5", "1234.5", "16.0", "1e-07", "-0.04", "9.0", "", ""]
    columns = [a.get("class") for a in page.all("th") if a.get("scope") == "col"]
    assert columns[5:10] == [None, "n", "n", "n", None]


def test_equal_findings_are_equal_pages_and_nothing_else_is_left(tmp_path):
    first = written(FINDINGS, tmp_path)
    FINDINGS.save(tmp_path / "result.json")
    assert written(rs.load(tmp_path / "result.json"), tmp_path) == first
    assert sorted(p.name for p in tmp_path.iterdir()) == ["page.html", "result.json"]


@pytest.mark.parametrize(
    "found",
    [
        NOTHING,
        replace(FINDINGS, seconds={}, provenance={}),
        Result("toy", "s", FINDINGS.sections[2:]),
        Result("toy", "s", (Section("a", "A", "", scores={"x": {"cka": 1.0}}),)),
        Result(
            "toy",
            "s",
            (Section("a", "A", "", (Table("t", "T", (), ()), Table("u", "U", ("x",), ()))),),
        ),
        Result(
            "toy",
            "s",
            (Section("a", "A", "", (), (BARS._replace(bars=()), CHART._replace(lines=()))),),
        ),
    ],
)
def test_pages_of_odd_findings(found, tmp_path):
    text = written(found, tmp_path)
    assert text.rstrip().endswith("</html>")
    assert "nan" not in re.sub(r"(?s)<style.*?</style>|<script.*?</script>", "", text)


def test_verdicts_are_counted():
    assert summarize_verdicts(NOTHING) == "This run puts no claim to the test."
    one = Result("toy", "s", (Section("a", "A", "", claims=CLAIMS[:1]),))
    assert summarize_verdicts(one) == "1 claim: 1 reproduced."


def test_claims_are_listed_in_words_with_links(tmp_path):
    text = written(FINDINGS, tmp_path)
    start = text.partition('<details class="holds"')[2].partition("</details>")[0]
    claims = re.findall(r'href="#(section-[^"]*)">([^<]*)</a> <span class="dim">(\w+)<', start)
    assert {number for _, _, number in claims} == {c.number for c in FINDINGS.claims}
    assert all(f'<section id="{place}"' in text for place, _, _ in claims)


def test_a_line_keeps_its_color_and_few_of_many_are_shown():
    def section(*names):
        return Section(
            "s", "", "", figures=(CHART._replace(lines=tuple(Line(n, ()) for n in names)),)
        )

    numbers = {}
    assert [k.number for k in line_keys(section("a", "b"), numbers).values()] == [0, 1]
    assert {n: k.number for n, k in line_keys(section("c", "b"), numbers).items()} == {
        "c": 0,
        "b": 1,
    }
    mixed = line_keys(section("a", "c", "b"), numbers)
    assert len({k.number for k in mixed.values()}) == 3  # never two alike in one section
    many = line_keys(section(*map(str, range(30))), {})
    assert sum(k.is_shown for k in many.values()) == 8
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


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (-0.3, 0.9, [-0.2, 0, 0.2, 0.4, 0.6, 0.8]),
        (0, 60, [0, 10, 20, 30, 40, 50, 60]),
        (1e-6, 3e-6, [1e-6, 1.5e-6, 2e-6, 2.5e-6, 3e-6]),
    ],
)
def test_ticks_are_round(low, high, found):
    ticks = svg.round_ticks(low, high)
    assert len(ticks) <= 7
    if high > 1e-5:
        assert ticks == pytest.approx(found)
    assert all(low <= t * (1 + 1e-9) and t <= high * (1 + 1e-9) for t in ticks)


def test_logarithmic_ticks():
    assert svg.log_ticks(0.01, 100) == [0.01, 0.1, 1, 10, 100]
    assert svg.log_ticks(1, 50) == [1, 2, 5, 10, 20, 50]


def test_points_without_a_value_are_not_drawn():
    line = Line("a", ((0.0, math.nan), (1.0, 0.5), (2.0, None)), ((0, 1), (0.4, math.nan), (0, 1)))
    assert charts.finite_points(line) == Line("a", ((1.0, 0.5),), ((0.5, 0.5),))
    keys = {"a": charts.LineStyle(0, True)}
    drawn = charts.line_chart(CHART._replace(lines=(line,)), keys)
    assert "nan" not in drawn
    assert "There is nothing to draw" in charts.line_chart(
        CHART._replace(lines=(Line("a", ()),)), keys
    )


def test_figures_say_their_values():
    keys = {"CKA": charts.LineStyle(0, True), "RSA": charts.LineStyle(11, False)}
    drawn = charts.line_chart(CHART, keys)
    assert "<title>CKA: drift 0.4 at noise 0.5</title>" in drawn
    assert "<title>threshold 0.5</title>" in drawn
    assert drawn.count('class="band"') == 1
    assert 'class="m m11 d1 off joined"' in drawn
    assert charts.line_chart(CLOUD, keys).count('class="span"') == 1
    assert "<title>CKA: 0.5, 0.4 to 0.6</title>" in rows.bar_rows_svg(BARS)
    assert rows.bar_rows_svg(BARS).count('class="range"') == 1


@pytest.mark.parametrize("joined", [True, False])
def test_very_many_points_are_one_path(joined):
    line = Line("CKA", tuple((i / 500, 0.5) for i in range(500)))
    drawn = charts.line_chart(
        CHART._replace(lines=(line,), joined=joined), {"CKA": charts.LineStyle(0, True)}
    )
    assert drawn.count("marks") == (not joined)


def test_bars_of_a_limit_begin_at_it_on_a_logarithmic_axis():
    drifts = (Bar("small", 0.5), Bar("large", 50.0, 20.0, 90.0), Bar("none", 0.0), Bar("far", 1e9))
    figure = Bars(
        "d", "D", "times", drifts, span=(0.1, 100), log_x=True, threshold=1, is_limit=True
    )
    drawn = rows.bar_rows_svg(figure)
    stems = re.findall(r'd="M([\d.]+) [\d.]+H([\d.]+)" class="stem"', drawn)
    (at,) = {start for start, _ in stems}
    small, large, none, far = (float(end) for _, end in stems)
    assert none < small < float(at) < large < far < rows.ROW_CHART_WIDTH
    assert re.findall(r'class="(row[^"]*)"', drawn) == ["row", "row over"] * 2
    wrong = figure._replace(bars=(Bar("a", -1.0),))
    with pytest.raises(ValueError, match="bars 'd': -1 cannot be on a logarithmic axis"):
        rows.bar_rows_svg(wrong)


def test_boxes_have_quartiles_whiskers_and_every_value():
    box = Box("CKA", (1.0, 2.0, 3.0, 4.0, 20.0), ("a", "b", "c", "d", "e"))
    drawn = rows.box_rows_svg(Boxes("b", "B", "rank", (box, Box("none", ())), span=(1.0, 20.0)))
    assert "<title>CKA: median 3, mean 6, 5 values</title>" in drawn
    assert "<title>CKA: rank 20 in e</title>" in drawn
    assert "<title>none: no value</title>" in drawn
    assert drawn.count('class="point"') == 5
    whisker, upper = re.search(r'M[\d.]+ 12H([\d.]+)M[\d.]+ 12H([\d.]+)"', drawn).groups()
    farthest = max(float(x) for x in re.findall(r'cx="([\d.]+)"', drawn))
    assert float(whisker) < float(upper) < farthest  # 20 is beyond 1.5 times the span


def test_strips_say_what_was_left_out():
    used, not_used = Strip("standard", (0.9, 0.95)), Strip("random", (0.3,), is_used=False)
    drawn = rows.strip_rows_svg(Strips("s", "S", "accuracy", (used, not_used)))
    assert "<title>standard: accuracy 0.95</title>" in drawn
    assert "<title>random: accuracy 0.3, left out</title>" in drawn
    assert drawn.count('class="row unused"') == 1


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


def test_labels_cover_nothing():
    points = ((1.0, 1.0), (1.01, 1.0), (3.0, 2.0))
    line = Line("CKA", points, titles=("A: first", "B: second", "C: third"))
    figure = CLOUD._replace(lines=(line,), is_labeled=True)
    drawn = charts.line_chart(figure, {"CKA": charts.LineStyle(0, True)})
    assert "<title>B: second</title>" in drawn
    assert re.findall(r'class="tick">([^<]*)<', drawn) == ["A", "B", "C"]


# ------------------------------------------------------------------------------------- in a browser


def square(name, values, **options):
    names = tuple("abc"[: len(values)])
    return HeatMap(name, name, names, names, values, **options)


KINDS = (
    Boxes("boxes", "Boxes", "rank", (Box("CKA", (1.0, 2.0, 4.0), ("x", "y", "z")),)),
    Strips("strips", "Strips", "accuracy", (Strip("standard", (0.9, 0.95)),)),
    square("map", ((0.0, 0.5, None), (0.5, 0.0, -1.0), (None, -1.0, 0.0)), is_diverging=True,
           titles=(("", "", "constant"), ("", "", ""), ("constant", "", ""))),
    Clouds("clouds", "Clouds", (Cloud("one", ((1.0, 0.0), (0.0, 1.0)), (0, 1)),)),
    Diagram("ties", "Ties", "mean rank", ("CKA", "<b>", "GULP", "RTD"), (1.25, 2.0, 2.0, 3.5),
            ((0, 1), (1, 2)), "A bar joins ties."),
    Choice(
        "choice", "Choice", ("models", "measure"),
        (Option(("bert", "CKA"), (0, 1), "CKA: 0.5"), Option(("bert", "RSA"), (0, 2)),
         Option(("gcn", "RSA"), (3,))),
        (square("expected", ((0.0, 1.0), (1.0, 0.0)), is_reversed=True),
         square("by CKA", ((0.0, 0.25), (0.25, 0.0))),
         square("by RSA", ((0.0, 0.75), (0.5, 0.0))),
         square("other", ((0.0, 0.125, 1.0), (0.125, 0.0, 1.0), (1.0, 1.0, 0.0)))),
    ),
)  # fmt: skip
CHOSEN = Table(
    "scores", "Scores", ("measure", "a", "b", "c"), 
    (("CKA", 0.5, -0.25, 3.0), ("RSA", 0.75, None, 1)),
    groups=("", "first", "first", "second"), marked=(0,), framed=((1, 1),),
    shades=((None, 0.5, -0.25, 1.0), (None, 0.75, None, 1 / 3)),
    signs=(Sign(1, 2, "†", "too few"),), hints=("", "a hint", "", ""),
    selectors=("quality", "domain"), 
    choices=(("", ""), ("JSD", "vision"), ("AUPRC", ""), ("", "graphs")),
)  # fmt: skip
KINDS_RESULT = Result("toy", "full", (Section("kinds", "Kinds", "", (CHOSEN,), KINDS),))


def test_every_kind_of_figure_is_read_as_it_was_saved_and_shown(tmp_path):
    KINDS_RESULT.save(tmp_path / "result.json")
    read = rs.load(tmp_path / "result.json")
    assert read == KINDS_RESULT
    page = Tags(written(read, tmp_path))
    said = " ".join(page.words)
    assert all(figure.title in said for figure in KINDS)
    names = [a["id"] for _, a in page.tags if "id" in a]
    assert len(names) == len(set(names))
    assert all(a["aria-label"] for a in page.all("svg") if a.get("role") == "img")


def test_a_diagram_has_a_line_for_every_name_and_a_bar_for_every_group(tmp_path):
    (figure,) = [f for f in KINDS if isinstance(f, Diagram)]
    drawn = critical_difference_svg(figure)
    assert drawn.count('class="branch arm"') == 4
    assert drawn.count('class="branch tie"') == 2
    assert "<b>" not in drawn
    assert "RTD: mean rank 3.5; told from all others" in drawn
    starts = [float(x) for x in re.findall(r'd="M([\d.]+) 36V[\d.]+H[\d.]+"/>', drawn)]
    assert starts == sorted(starts)
    assert starts[1] == starts[2]  # equal values
    assert (
        critical_difference_svg(figure._replace(values=(1.0,) * 4)).count("<g") == 6
    )  # all at one place
    assert "nothing to draw" in critical_difference_svg(Diagram("none", "None", "x", (), ()))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"values": (1.0, 2.0)}, "the values are not those of 4 names, the smallest first"),
        ({"values": (4.0, 3.0, 2.0, 1.0)}, "the values are not those of 4 names"),
        ({"groups": ((0, 4),)}, "a group is not of two or more of 4 names"),
        ({"groups": ((1, 1),)}, "a group is not of two or more"),
    ],
)
def test_a_diagram_must_fit_its_names(change, words):
    (figure,) = [f for f in KINDS if isinstance(f, Diagram)]
    section = Section("s", "S", "", figures=(figure._replace(**change),))
    with pytest.raises(ValueError, match=rf"section 's', figure 'ties': {words}"):
        Result("toy", "full", (section,))


def test_cells_of_the_same_models_are_resampled_together(tmp_path):
    """Models decide which of two measures is better, and never vary: nothing is left to chance."""
    scores = {f"cell {i}": {"cka": i % 2, "rsa": 0.5, "gulp": 1 - i % 2} for i in range(12)}
    rules = {cell: RankRule(models=f"models {i % 2}") for i, cell in enumerate(scores)}
    section = Section("s", "S", "", scores=scores)
    with_models = Result("toy", "full", (section._replace(rules=rules),))
    without = Result("toy", "full", (section,))
    assert set(with_models.models().values()) == {"models 0", "models 1"}
    assert set(without.models().values()) == {""}
    assert all(place.low == place.mean == place.high for place in with_models.places().rows)
    assert any(place.low < place.high for place in without.places().rows)
    with_models.save(tmp_path / "result.json")
    assert rs.load(tmp_path / "result.json") == with_models


def test_the_page_of_a_suite_has_a_diagram_where_ties_mean_anything(tmp_path):
    scores = {f"cell {i}": {"cka": 2, "rsa": i % 2, "gulp": 0.5} for i in range(12)}
    section = Section("s", "S", "", scores=scores)
    for size, cells, count in (("full", 12, 1), ("small", 12, 0), ("full", 5, 0)):
        part = section._replace(scores=dict(list(scores.items())[:cells]))
        text = written(Result("sensitivity", size, (part,)), tmp_path)
        assert text.count('id="standing-ties"') == count
        assert text.count('class="branch tie"') == count
        assert text.count('id="standing-ranks"') == 1


def test_cells_are_shaded_framed_and_signed(tmp_path):
    text = written(KINDS_RESULT, tmp_path)
    assert '<td class="n s" data-v="0.5" style="--v:0.5">0.50</td>' in text
    assert '<td class="n s neg" data-v="-0.25" style="--v:0.25">' in text
    assert '<td class="n s best" data-v="0.75" style="--v:0.75">' in text
    assert '<td class="n s" data-v="3.0" style="--v:1.0">3</td>' in text  # the largest
    assert 'title="too few">–<sup class="hang">†</sup></td>' in text
    assert text.count('<tr class="tied">') == 1
    assert '<th scope="col" class="n" title="a hint">a</th>' in text


def test_marks_of_every_kind_of_figure_are_read(tmp_path, look):
    write_page(KINDS_RESULT, tmp_path / "page.html")
    place = "#section-kinds-{}"
    marks = {
        f"{place.format('boxes')} .point": "CKA: rank 1 in x",
        f"{place.format('strips')} .dot": "standard: accuracy 0.9",
        f"{place.format('map')} .cells": "b  and  b:  0",
        f"{place.format('map')} .missing": "b  and  b:  0",  # its middle is that of the map
        f"{place.format('clouds')} .p": "points: one",
        f"{place.format('ties')} .arm path": "CKA: mean rank 1.25; not told from <b>",
        f"{place.format('ties')} .tie path": "no two can be told apart: CKA, <b>",
        f"{place.format('choice')} .maps .cells .q99": "a  and  a:  expected 0, by CKA 0",
    }
    seen = look(tmp_path / "page.html", list(marks))
    assert dict(zip(marks, seen.said, strict=True)) == marks
    assert seen.hidden == []
    assert look(tmp_path / "page.html", width=390).wide <= 390


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
    text = written(KINDS_RESULT, tmp_path).replace("</body>", CHOOSING + "</body>")
    path.write_text(text, encoding="utf-8")
    page = Tags(open_page(path))
    assert (page.tags[0][1].get("data-ready"), page.tags[0][1].get("data-errors")) == ("yes", None)
    (body,) = page.all("body")
    assert json.loads(body["data-told"]) == [
        "expected+by CKA=CKA: 0.5",
        "expected+by RSA=",
        "other=",
        "RSA",
        "measure,a",
        "measure,b",
        "measure,b,c",
        "1,1,1",
    ]
    assert body["data-key"] == "b  and  c:  −1"


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


def test_labels_are_spelled_out(tmp_path):
    text = written(FINDINGS, tmp_path)
    meaning = f"RSA</dt><dd>{rs.get_measure('rsa').summary} <a "
    assert meaning + 'href="https://doi.org/10.3389/neuro.06.004.2008"' in text
    assert 'href="#label-RSA">RSA</a>' in text
    own = replace(FINDINGS, labels={"no_such_measure": "Mine"})
    assert 'id="labels"' not in written(own, tmp_path)


def test_boxes_of_a_group_have_one_color_that_is_explained():
    boxes = [Box(name, (1.0, 2.0), (), group) for name, group in zip("abc", "xyx")]
    svg = rows.box_rows_svg(Boxes("b", "B", "rank", (*boxes, Box("d", (1.0,)))))
    assert re.findall(r'class="box( c\d)?"', svg) == [" c0", " c1", " c0", "", " c0", " c1"]
    assert re.findall(r'class="name">([xy])<', svg) == ["x", "y"]


def test_ranks_begin_at_1(tmp_path):
    ranked = Bars("r", "R", "mean rank", (Bar("a", 2.0), Bar("b", 9.5)), span=(1.0, 10.0))
    dots = rows.bar_rows_svg(ranked._replace(is_dotted=True))
    assert dots.count('class="dot"') == 2
    assert 'class="stem"' not in dots  # a rank is no length
    assert re.findall(r'class="mid">([^<]*)</text>', dots)[0] == "1"
    svg = rows.bar_rows_svg(ranked)
    ticks = [float(t) for t in re.findall(r'class="mid">([^<]*)</text>', svg)]
    assert ticks == [1, 2, 4, 6, 8, 10]
    starts = {float(x) for x in re.findall(r'd="M([\d.]+) [\d.]+H[\d.]+" class="stem"', svg)}
    assert starts == {float(re.search(r'd="M([\d.]+) 0V', svg)[1])}  # at the line of rank 1
    found = Result("toy", "small", (Section("s", "S", "", figures=(ranked,)),))
    found.save(tmp_path / "found.json")
    assert rs.load(tmp_path / "found.json") == found


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
    page = Tags(open_page(path, "#100%"))  # an address that nobody encoded
    (body,) = page.all("body")
    assert (page.tags[0][1].get("data-ready"), page.tags[0][1].get("data-errors")) == ("yes", None)
    assert body["data-orders"] == "CKA,RSA,GULP RSA,CKA,GULP CKA,GULP,RSA RSA,GULP,CKA"
    assert body["data-shown"] == "4,2"


# ------------------------------------------------------------------------------------- the commands


OWN = """
import resemblance as rs
@rs.measure(label="Mine", family="descriptive", larger_is_more_similar=True, range=(0, 1),
    symmetric=True,
            citation="none")
def mine(x, y):
    'Always 1.'
    return 1.0
"""


def run_toy(
    folder,
    *,
    measures=None,
    size="default",
    only=None,
    power=1,
    claims=None,
    executor=None,
    memory="2GB",
    progress=None,
):
    """Run the toy suite."""
    measures = (rs.cka, rs.rsa) if measures is None else measures
    if measures[0].name == "procrustes":
        raise KeyboardInterrupt
    sums = [(n, n * (n + 1) / 2) for n in range(3)]
    section = Section(
        "sums",
        "Sums",
        "of numbers",
        (Table("t", "T", ("n", "sum"), tuple(sums)),),
        scores={"cell": {m.spec: float(i) for i, m in enumerate(measures)}},
    )
    with study_folder(folder, Purpose("toy", size)) as (place, _):
        sections = []
        for done, name in enumerate(only or ("sums", "other"), 1):
            of_paper = CLAIMS[:1] if name == "sums" else ()
            sections.append(section._replace(name=name, claims=of_paper))
            if progress:
                progress("adding", done, 2)
        result = Result(
            "toy",
            size,
            tuple(sections),
            {m.spec: m.label for m in measures},
            provenance={"power": power},
            title="Toys",
            about="Toys first.",
        )
        result = add_claims(result, claims, {"sums": sums, "other": sums})
        result.save(place / "result.json")
        append_to_log(place, f"toy: {len(sections)} sections")
    return result


def power_of_toys(power: Annotated[int, typer.Option(help="Of toys.")] = 1) -> dict[str, object]:
    """The option that only toys have."""
    if power < 0:
        raise ValueError("--power must not be negative")
    return {"power": power}


def one_section(study: Path, section: Annotated[str, typer.Option(help="Only this.")] = ""):
    """The result of a study, or one of its sections."""
    result = rs.load(study / "result.json")
    sections = tuple(s for s in result.sections if section in ("", s.name))
    return replace(result, sections=sections)


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    commands = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    toy = SuiteCommands(
        "toy",
        run_toy,
        ("small", "default"),
        lambda options: ("cka", "rsa"),
        experiments=("sums", "other"),
        options=power_of_toys,
        read=one_section,
    )
    commands.add_typer(bench_commands({"toy": toy}, {}), name="bench")
    monkeypatch.setattr(cli, "commands", lambda: commands)
    monkeypatch.chdir(tmp_path)

    def called(*words):
        command, *more = map(str, words)
        code = cli.run(["bench", command, *["toy"] * (command == "run"), *more])
        return code, *capsys.readouterr()

    return called


def test_run_prints_and_writes_and_continues(call, tmp_path):
    code, out, err = call("run", "--jobs", 1)
    assert code == 0
    assert re.search(r"S1 +reproduced", out)
    assert re.search(r"\n RSA +1\.0\n", out)
    assert f"Open {tmp_path / 'toy' / 'index.html'}" in out
    assert "adding: 2 of 2" in err
    page = (tmp_path / "toy" / "index.html").read_text(encoding="utf-8")
    assert "<h1>Toys</h1>" in page
    assert "Toys first." in page
    assert call("run", "--jobs", 2, "--quiet") == (0, "", "")
    found = rs.load(tmp_path / "toy" / "result.json")
    assert [s.name for s in found.sections] == ["sums", "other"]


def test_run_with_some_experiments_and_measures_of_ones_own(call, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    words = ("run", "here", "--size", "small", "--only", "other", "-q", "-j", 1)
    assert call(*words, "--add-measure", "own.py:mine")[0] == 0
    found = rs.load(tmp_path / "here" / "result.json")
    assert (found.size, [s.name for s in found.sections]) == ("small", ["other"])
    assert list(found["other"].scores["cell"]) == ["cka", "rsa", "mine"]
    assert call(*words, "-m", "svcca,cka")[0] == 0
    assert list(rs.load(tmp_path / "here" / "result.json").labels) == ["svcca", "cka"]


def test_a_suite_has_options_of_its_own(call, tmp_path):
    assert call("run", "--power", 3, "-q", "-j", 1)[0] == 0
    assert rs.load(tmp_path / "toy" / "result.json").provenance["power"] == 3
    code, _, err = call("run", "--power", -1)
    assert (code, err) == (2, "error: --power must not be negative\n")
    assert call("report", "toy", "--section", "other", "--html", "part.html")[0] == 0
    assert "Sums of" not in (tmp_path / "part.html").read_text(encoding="utf-8")


JUDGES = """
from resemblance.sections.claims import Claim

def judge(facts):
    return [Claim("T1", "sums are even", "yes", str(facts[-1][1]), "reproduced")]

def broken(facts):
    return [1 / 0]

CLAIMS, BROKEN, WRONG = {"sums": judge}, {"sums": broken}, [judge]
"""


def test_claims_are_judged_by_a_file_of_ones_own(call, tmp_path):
    (tmp_path / "judges.py").write_text(JUDGES)
    for jobs in (1, 2):
        assert call("run", "--claims", "judges.py:CLAIMS", "-q", "-j", jobs)[0] == 0
        claims = rs.load(tmp_path / "toy" / "result.json")["sums"].claims
        assert [(c.number, c.ours) for c in claims][1:] == [("T1", "3.0")]
    assert call("run", "-q", "-j", 1)[0] == 0
    assert len(rs.load(tmp_path / "toy" / "result.json")["sums"].claims) == 1
    code, _, err = call("run", "--claims", "judges.py:BROKEN", "-q", "-j", 1)
    assert code == 3
    assert "judges.py:8, in broken: return [1 / 0]" in err


def test_a_file_of_claims_in_a_package_may_import_its_neighbors(call, tmp_path):
    folder = tmp_path / "some_papers" / "one"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").touch()
    (folder / "judges.py").write_text(JUDGES)
    (folder / "claims.py").write_text(
        "from some_papers.one.judges import BROKEN\nfrom .judges import CLAIMS\n"
    )
    before = set(folder.parent.rglob("*"))
    assert call("run", "--claims", f"{folder / 'claims.py'}:CLAIMS", "-q", "-j", 1)[0] == 0
    claims = rs.load(tmp_path / "toy" / "result.json")["sums"].claims
    assert [c.number for c in claims][1:] == ["T1"]
    code, _, err = call("run", "--claims", f"{folder / 'claims.py'}:BROKEN", "-q", "-j", 1)
    assert code == 3
    assert "judges.py:8, in broken: return [1 / 0]" in err
    assert set(folder.parent.rglob("*")) == before  # nothing compiled is left


def test_what_is_compiled_of_a_file_is_not_run_in_its_place(call, tmp_path, subtests):
    folder = tmp_path / "hidden_claims"
    folder.mkdir()
    for path in (folder / "__init__.py", folder / "judges.py", tmp_path / "judges.py"):
        path.write_text(JUDGES)
        hide("raise AssertionError('another code')", path)
    for file in ("judges.py", "hidden_claims/judges.py"):
        with subtests.test(file):
            code, _, err = call("run", "--claims", f"{file}:CLAIMS", "-q", "-j", 1)
            assert (code, err) == (0, "")


def test_mistakes_in_claims_are_one_line(call, tmp_path, subtests):
    (tmp_path / "judges.py").write_text(JUDGES)
    for claims, message in (
        ("judges", "--claims must be FILE.py:NAME; got judges"),
        ("gone.py:CLAIMS", "gone.py does not exist"),
        ("judges.py:CLAIM", "has no claims 'CLAIM'; did you mean 'CLAIMS'?"),
        ("judges.py:WRONG", "must be a mapping from names of sections to functions"),
    ):
        with subtests.test(claims):
            code, out, err = call("run", "--claims", claims, "-q")
            assert (code, out, err.count("\n")) == (2, "", 1)
            assert err.startswith("error: ")
            assert message in err


@pytest.mark.parametrize("value", ["None", "[('T1', 'a')]", "3"])
def test_a_judge_that_returns_no_claims_is_a_mistake(call, tmp_path, value):
    (tmp_path / "judges.py").write_text(f"CLAIMS = {{'sums': lambda facts: {value}}}")
    code, _, err = call("run", "--claims", "judges.py:CLAIMS", "-q", "-j", 1)
    assert (code, err.count("\n")) == (2, 1)
    assert "what judges section 'sums' must return a list of resemblance.sections.Claim" in err


def test_claims_of_a_section_that_was_not_run_are_named(call, tmp_path):
    (tmp_path / "judges.py").write_text("CLAIMS = {'summs': lambda facts: []}")
    code, _, err = call("run", "--claims", "judges.py:CLAIMS", "-j", 1)
    assert code == 0
    assert "--claims: summs not judged; the result has only the sections sums, other" in err


def test_what_is_in_every_module_is_not_suggested_for_claims(call, tmp_path):
    (tmp_path / "judges.py").write_text("MINE = {}")
    err = call("run", "--claims", "judges.py:XY", "-q")[2]
    assert "known: MINE" in err


def test_status_asks_whose_study_it_is_before_it_plans(tmp_path, capsys):
    (tmp_path / "study.json").write_text('{"format": 3, "suite": "other", "size": "default"}')
    assert cli.run(["bench", "status", str(tmp_path)]) == 2
    assert (
        "is a study of other; bench knows resi, sensitivity, manifolds, stability"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e308])
def test_a_figure_that_no_axis_can_hold_is_a_mistake(value, tmp_path):
    boxes = Boxes("b", "B", "x", (Box("one", (value, -1e308, 1.0)),))
    result = Result("toy", "", (Section("s", "S", "", figures=(boxes,)),))
    with pytest.raises(ValueError, match="cannot be drawn: give finite values"):
        write_page(result, tmp_path / "page.html")


def test_status_says_how_far_a_study_is(call):
    code, _, err = call("status", "toy")
    assert code == 2
    assert "toy is not a study: it has no study.json" in err
    call("run", "--size", "small", "-q", "-j", 1)
    _, out, _ = call("status", "toy")
    assert out.startswith("toy: toy, small, not running\n")
    assert "last: 2" in out
    _, out, _ = call("status", "toy", "--format", "json")
    facts = {"suite": "toy", "size": "small", "parts": 0, "scores": 4}
    assert facts.items() <= json.loads(out).items()
    assert call("status", "toy", "--format", "csv")[0] == 2


def test_an_interrupt_says_that_it_can_be_continued(call):
    code, out, err = call("run", "-m", "procrustes", "-j", 1, "-q")
    assert (code, out) == (130, "")
    assert "interrupted: what is done is kept in toy; the same command continues from there" in err


def test_results_in_every_format(call, tmp_path):
    (tmp_path / "toy").mkdir()
    FINDINGS.save(tmp_path / "toy" / "result.json")
    _, out, _ = call("results", "toy")
    assert re.search(r"S3 +not reproduced +Procrustes has false alarms. +44 % +12 %", out)
    assert re.search(r"\n CKA +1\.0 *\n", out)
    assert "2 cells do not settle the order of 3 measures" in out
    _, out, _ = call("results", "toy", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [r["kind"] for r in rows].count("claim") == 4
    (row,) = [r for r in rows if (r["name"], r["measure"]) == ("a", "gulp")]
    assert (row["section"], float(row["value"]), float(row["rank"])) == ("recovery", 0.7, 2.0)
    (row,) = [r for r in rows if (r["name"], r["measure"]) == ("b", "gulp")]
    assert (row["value"], float(row["rank"])) == ("", 3.0)
    _, out, _ = call("results", "toy", "--format", "json")
    saved = json.loads((tmp_path / "toy" / "result.json").read_text(encoding="utf-8"))
    assert json.loads(out) == saved | {"trial": False}
    assert call("results", "toy", "-o", "found.parquet") == (0, "", "wrote found.parquet\n")
    frame = pandas.read_parquet(tmp_path / "found.parquet")
    assert list(frame.columns) == list(RESULT_COLUMNS)
    assert (len(frame), frame["value"].dtype) == (len(rows), float)
    assert call("results", "toy", "-o", "found.csv")[0] == 0
    assert len((tmp_path / "found.csv").read_text(encoding="utf-8").splitlines()) == 1 + len(rows)


def test_the_rows_of_one_table_as_csv_and_parquet(tmp_path):
    write_output(FINDINGS, "csv", tmp_path / "t.csv", "deletion")
    rows_read = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert [(r["measure"], r["p"], r["trial"]) for r in rows_read] == [
        ("CKA", "0.5", "False"),
        ("RSA", "1e-07", "False"),
        ("GULP", "", "False"),
    ]
    numeric = TABLE._replace(rows=(("CKA", 8, 0.5, 1.0, "a"),))
    plain = replace(FINDINGS, sections=(Section("s", "S", "", (numeric,)),))
    write_output(plain, "parquet", tmp_path / "t.parquet", "Spectral Deletion")  # its title
    assert pandas.read_parquet(tmp_path / "t.parquet").measure.tolist() == ["CKA"]
    with pytest.raises(ValueError, match="the result has no table 'x'; it has deletion"):
        write_output(plain, "csv", None, "x")
    both = (TABLE, Table("other", TABLE.title, ("a",), ()))
    with pytest.raises(ValueError, match="have different columns; name one of them"):
        write_output(Result("toy", "s", (Section("s", "S", "", both),)), "csv", None, TABLE.title)


def test_tables_of_data_are_what_csv_and_parquet_have(tmp_path):
    def data(name, columns, *rows):
        return Table(name, name, columns, rows, is_data=True)

    grades = data("grades", ("measure", "grade"), ("CKA", 0.5))
    values = [data(f"v{i}", ("a", "b"), (i, 0.5), (i, 0.25)) for i in (1, 2)]
    found = Result("toy", "full", (Section("s", "S", "", (*values, grades, TABLE)),))
    write_output(found, "csv", tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "measure,grade,trial\nCKA,0.5,False\n"
    write_output(found, "parquet", tmp_path / "t.parquet")
    assert pandas.read_parquet(tmp_path / "t.parquet").values.tolist() == [
        [i, b, False] for i in (1, 2) for b in (0.5, 0.25)
    ]
    page = Tags(written(found, tmp_path))
    assert "grades" not in page.words


def test_a_terminal_shows_leading_tables():
    table = TABLE._replace(is_leading=True, groups=("", "spectrum", "", "", ""))
    text = told_by(Result("toy", "s", (Section("s", "S", "", (table,)),)))
    assert "Spectral deletion" in text
    assert re.search(r"measure +spectrum k +p +value +mixed\n", text)
    assert re.search(r"RSA +16 +1e−7 +−0.04 +2.5\n", text)


def test_findings_without_scores_or_claims_in_every_format(tmp_path):
    for kind in ("table", "csv", "json", "parquet"):
        write_output(NOTHING, kind, tmp_path / f"none.{kind}")
    assert len(pandas.read_parquet(tmp_path / "none.parquet")) == 0
    assert (tmp_path / "none.table").read_text() == "toy, small\n\n"


SURE = {f"x{i}": {"cka": 0.9, "rsa": 0.5 + 0.1 * (i % 2), "imd": 0.55} for i in range(8)}


def ran(size="default", suite="stability", scores=SURE, **more):
    labels = {"cka": "CKA", "rsa": "RSA", "imd": "IMD"}
    claims = (
        Claim("S1", "it holds", "1", "2", NOT_REPRODUCED),
        Claim("S2", "it is so", "3", "3", REPRODUCED),
    )
    return Result(
        suite,
        size,
        (Section("part", "Part", "about", scores=scores, claims=claims),),
        labels,
        **more,
    )


def told_by(findings):
    target = io.StringIO()
    print_tables(terminal.result_tables(findings), target)
    return target.getvalue()


def page_of(findings, tmp_path):
    write_page(findings, tmp_path / "page.html")
    return (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_run_says_first_what_it_is_of_and_who_leads(tmp_path):
    facts = {"data sets": "digits", "models": "12: resnet", "seeds": "2"}
    found = ran(facts=facts)
    said = "CKA leads with a mean rank of 1.00 among 3 measures over 8 cells; every other measure"
    page = page_of(found, tmp_path)
    in_order = "12: resnet", said, "2 claims: 1 reproduced; 1 not reproduced."
    assert sorted(in_order, key=page.index) == [*in_order]
    assert "default: small models on data that comes with the package; not the paper" in page
    assert said in told_by(found)
    assert "tied with the leader" not in told_by(found).partition("\n CKA")[2].partition("\n")[2]


def test_a_trial_has_a_banner_and_neither_verdicts_nor_intervals_nor_order(tmp_path):
    found = ran("small")
    found.save(tmp_path / "result.json")
    assert rs.load(tmp_path / "result.json") == found
    assert {c.verdict for c in found.claims} == {NO_DATA}
    page, told = page_of(found, tmp_path), told_by(found)
    for words in (page, told):
        assert "Trial run: the scores mean nothing." in words
        assert "leads" not in words
        assert "not reproduced" not in words
        assert "95 %" not in words
    first = [line.split()[0] for line in told.splitlines() if line[1:4] in ("CKA", "RSA", "IMD")]
    assert first == ["CKA", "IMD", "RSA"]
    records = found.records()
    assert {(r["trial"], r["rank"]) for r in records} == {(True, None)}
    assert {r["trial"] for r in ran().records()} == {False}


def test_a_measure_that_plays_no_part_is_named(tmp_path):
    partly = {cell: {m: v for m, v in own.items() if m != "imd"} for cell, own in SURE.items()}
    assert "IMD plays no part in what was run here." in told_by(ran(scores=partly))
    assert "IMD plays no part in what was run here." in page_of(ran(scores=partly), tmp_path)
    assert "so the measures play no part" in told_by(ran(scores={}))
    assert "no part" not in told_by(ran())


def test_the_footer_names_a_command_that_exists(tmp_path):
    assert "<code>resemblance bench run stability</code>" in page_of(ran(), tmp_path)
    assert "<code>resemblance bench combine STUDY ...</code>" in page_of(
        ran(suite="joint"), tmp_path
    )


def test_the_report_is_written_again(call, tmp_path):
    (tmp_path / "toy").mkdir()
    FINDINGS.save(tmp_path / "toy" / "result.json")
    assert call("report", "toy") == (0, f"Open {tmp_path / 'toy' / 'index.html'}\n", "")
    assert call("report", "toy", "--html", "page.html")[0] == 0
    texts = [(tmp_path / p).read_text(encoding="utf-8") for p in ("page.html", "toy/index.html")]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--size", "smal"], "got 'smal'; did you mean 'small'"),
        (["run", "--only", "sms"], "got 'sms'; did you mean 'sums'"),
        (["run", "--memory", "much"], "much"),
        (["run", "-m", "nka"], "no measure 'nka'; did you mean"),
        (["run", "--add-measure", "no.py:mine"], "no.py does not exist"),
        (["results", "nowhere"], "nowhere has no results yet; run a benchmark there"),
        (["results", "nowhere", "--format", "xml"], "got 'xml'"),
        (["report", "nowhere"], "nowhere has no results yet"),
    ],
)
def test_a_mistake_is_one_line(words, message, call, tmp_path):
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_study_of_another_suite_is_a_mistake(call, tmp_path):
    (tmp_path / "toy").mkdir()
    replace(FINDINGS, suite="other").save(tmp_path / "toy" / "result.json")
    code, _, err = call("report", "toy", "--section", "sums")
    assert (code, err) == (2, "error: --section is for studies of toy, and toy is none\n")
    code, _, err = call("report", "toy", "--html", "nowhere/page.html")
    assert (code, err.count("\n")) == (2, 1)


def test_the_help_names_sizes_and_experiments(call):
    code, out, _ = call("run", "--help")
    assert code == 0
    assert {"small,", "default", "sums,", "other."} <= set(out.split())


def test_the_tables_fit_the_terminal_and_claims_without_data_are_one_line(call, tmp_path, capsys):
    words = "What is claimed, at some length. " * 4, "in the paper 0.5 ± 0.1", "in this run " * 9
    verdicts = enumerate((REPRODUCED, NO_DATA, NOT_REPRODUCED, NO_DATA))
    long = [Claim(str(i), *words, verdict, "") for i, verdict in verdicts]
    more = Section("more", "More", "about", claims=tuple(long))
    (tmp_path / "toy").mkdir()
    replace(FINDINGS, sections=(*FINDINGS.sections, more)).save(tmp_path / "toy" / "result.json")
    shown = assert_fits(lambda: cli.run(["bench", "results", "toy"]), capsys)
    assert "No data on 3 claims: S4, 1, 3." in shown
    _, piped, _ = call("results", "toy")
    # One line for each.
    assert len([line for line in piped.splitlines() if "What is claimed" in line]) == 2


def test_what_a_notebook_shows():
    told = "4 (1 reproduced, 1 in part, 1 not reproduced, 1 no data)"
    last = repr(FINDINGS).splitlines()[-1]
    assert last == f"  suite toy, size small, sections 3, claims {told}, measures 3"
    assert told in FINDINGS._repr_html_()
    assert repr(NOTHING) == "suite toy, size small, sections 0, claims 0, measures 0"
