"""The manifold suite: what it compares, the grades, the claims of the paper, the report and the
commands."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from conftest import assert_fits
from resemblance.report.manifolds_data import figures, lines
from resemblance.report.manifolds_output import manifold_tables
from resemblance.report.manifolds_page import write_manifolds_page
from resemblance.suites.manifolds.claims import claims

import resemblance as rs
from papers.published import compare_published, published, published_ranks
from resemblance import cli
from resemblance.comparison import info_of
from resemblance.grounding import by_reference, concordance, kendall
from resemblance.representation import Undefined
from resemblance.results.claims import CONTRADICTED, NO_DATA, PARTLY, REPRODUCED
from resemblance.suites.manifolds.grades import CLUSTERS, ManifoldResult, Point, load_manifolds
from resemblance.suites.manifolds.suite import SIZES, Case, cases, clouds, run

SAYS = {"larger_is_more_similar": False, "symmetric": True, "reference": "none"}
HOSTILE = "<script>alert(1)</script>"
MEASURES = [
    "mka",
    "mka[k=15]",
    "kcka[variant=code]",
    "kcka",
    "cka",
    "cka[kernel=rbf]",
    "cka[kernel=rbf,bandwidth=0.2]",
]
OWN = """
import resemblance as rs
@rs.measure(label="Centres", family="statistic", larger_is_more_similar=False,
    range=(0, float("inf")), symmetric=True,
            reference="none")
def centres(x, y):
    '''Distance of the means of the first columns.'''
    return abs(float(x.array[:, 0].mean() - y.array[:, 0].mean()))
"""


@rs.measure(label=HOSTILE, family="statistic", range=(0, np.inf), **SAYS)
def seldom(x, y):
    """A value for rings only."""
    if len(x.array) != 500:
        raise Undefined(f"no value for {HOSTILE} & others")
    return abs(float(np.abs(x.array).sum() - np.abs(y.array).sum()))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def result(study):
    return run(study, measures=[*MEASURES, seldom], size="small")


def made_up(curves, *, larger_is_more_similar=True, **columns):
    """A result of one measure "mine" with these points: by experiment, value by what is
    compared."""
    measure = rs.Measure(
        lambda x, y: 0.0, "mine", "Mine", "statistic", larger_is_more_similar, (0, 1), True, "none"
    )
    points = [
        Point(
            e, "mine", 100, 2, 0, float(at), False, v, 1 - v if larger_is_more_similar else v, None
        )._replace(**columns)
        for e, curve in curves.items()
        for at, v in curve.items()
    ]
    return ManifoldResult("default", ("mine",), (info_of(measure),), (), tuple(points), {}, {}, {})


# ---------------------------------------------------------------------------------------- qualities


def test_one_reference_against_others():
    (block,) = by_reference([0, 1, 2])
    assert [v.tolist() for v in block] == [[0, 0, 0], [0, 1, 2], [0.0, 1.0, 2.0]]
    assert np.array([[5.0, 6.0, 7.0]])[block.rows, block.columns].tolist() == [5, 6, 7]


@pytest.mark.parametrize(
    ("measured", "tau"),
    [
        ([0, 1, 2, 3], 1.0),
        ([3, 2, 1, 0], -1.0),
        ([0, 2, 1, 3], 2 / 3),
        ([0, 1, np.nan, 3], 1.0),
        ([1, 1, 1, 1], np.nan),
        ([0, 1, 1, 2], 5 / np.sqrt(5 * 6)),
        ([np.nan] * 3 + [1], np.nan),
        ([0, np.inf, 1, 2], 1 / 3),
    ],
)
def test_kendall(measured, tau):
    found = kendall(np.array(measured, float), np.arange(4.0))
    assert found.value == pytest.approx(tau, nan_ok=True)
    assert found.weight == 1


# -------------------------------------------------------------------------------------------- cases


@pytest.mark.parametrize("size", SIZES)
def test_every_case_is_there_once_and_can_be_made(size):
    found = cases(SIZES[size])
    assert len(set(found)) == len(found)
    assert {c.shape for c in found} == {"swiss_roll", "rings", "clusters", "spots", "cubes"}
    for case in found if size == "small" else ():
        reference, shapes = clouds(case)
        assert reference.shape == (case.n, case.d)
        assert all(s.array.shape == reference.shape for s in shapes)
        assert case.shape == "spots" or tuple(s.at for s in shapes) == case.at


def test_what_nothing_was_done_to_is_the_reference():
    reference, shapes = clouds(Case("rings", 500, 2, 0, (1,)))
    assert np.array_equal(reference, shapes[0].array)
    reference, shapes = clouds(Case("cubes", 40, 3, 0, (0.0, 2.0)))
    assert np.array_equal(reference, shapes[0].array)
    assert not np.array_equal(reference, shapes[1].array)


# ------------------------------------------------------------------------------------------- grades


def test_a_similarity_and_a_distance_in_the_right_order_have_tau_1():
    falling = {at: 1 - at / 100 for at in range(1, 13)}
    found = made_up({"rings": {k: falling[k] for k in range(1, 6)}, "clusters": falling}).grade(
        "mine"
    )
    assert (found.rings, found.clusters, found.rings_conformity, found.clusters_conformity) == (
        1,
        1,
        1,
        1,
    )
    found = made_up(
        {"rings": {k: falling[k] for k in range(1, 6)}}, larger_is_more_similar=False
    ).grade("mine")
    assert (found.rings, found.rings_conformity) == (-1, 0)


def test_an_order_that_lacks_a_value_has_no_tau():
    assert np.isnan(made_up({"rings": {1: 1.0, 2: 0.5, 3: np.nan}}).grade("mine").rings)


def test_only_the_clusters_of_the_original_are_graded():
    values = {k: 1 - k / 100 if k in CLUSTERS else 0.5 for k in range(2, 13)}
    result = made_up({"clusters": values})
    assert result.grade("mine").clusters == 1
    assert result.tau("mine", "clusters") < 1


def test_peak_is_where_the_similarity_is_largest_and_of_a_plateau_in_the_middle():
    assert made_up({"swiss_roll": {0.0: 0.2, 0.5: 0.3, 0.9: 0.8}}).grade("mine").peak == 0.9
    assert (
        made_up({"swiss_roll": {0.0: 0.2, 0.4: 1.0, 0.5: 1.0, 0.6: 1.0}}).grade("mine").peak == 0.5
    )
    distance = made_up({"swiss_roll": {0.0: 0.2, 0.5: 0.3, 0.9: 0.8}}, larger_is_more_similar=False)
    assert distance.grade("mine").peak == 0.0


def test_a_measure_without_an_order_of_the_clusters_is_not_said_to_have_found_it(result, tmp_path):
    """The rings are in the right order; the clusters have no value."""
    own = (p for p in result.points if p.measure == "seldom")
    points = tuple(p._replace(difference=p.at) if p.experiment == "rings" else p for p in own)
    found = replace(result, size="default", points=points, chosen=("seldom",))
    assert (found.grade("seldom").rings, np.isnan(found.grade("seldom").clusters)) == (1, True)
    write_manifolds_page(found, tmp_path / "page.html")
    assert "None of 1 measure puts both" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_trial_has_no_order_of_measures():
    good, bad = ({e: {1: 1.0, 2: v, 3: v / 2} for e in ("rings", "clusters")} for v in (0.5, 5.0))
    better, worse = made_up(good), made_up(bad)
    points = (*(p._replace(measure="worse") for p in worse.points), *better.points)
    described = (worse.measures[0]._replace(spec="worse"), *better.measures)
    both = replace(better, chosen=("worse", "mine"), measures=described, points=points)
    assert [g.measure for g in both.grades()] == ["mine", "worse"]
    assert [g.measure for g in replace(both, size="small").grades()] == ["worse", "mine"]


def test_lost_kept_and_stability():
    moved = {"moved": {0.0: 1.0, 2.0: 0.9, 5.0: 0.75}, "lost": {0.0: 0.3}}
    found = made_up(moved).grade("mine")
    assert (found.kept, found.lost) == (0.75, 0.3)
    assert np.isnan(made_up(moved, larger_is_more_similar=False).grade("mine").kept)
    result = made_up({"perturbed": {0.5: 0.4}})
    points = [
        result.points[0]._replace(n=n, value=v, seed=s)
        for n, v, s in ((10, 0.5, 0), (10, 0.7, 1), (20, 1.0, 0))
    ]
    grown = ManifoldResult(**{**vars(result), "points": tuple(points)})
    assert grown.curve("mine", "perturbed", "n") == {10: pytest.approx(0.6), 20: 1.0}
    assert grown.grade("mine").over_n == pytest.approx(0.2 / 0.8)  # of 0.6 and 1
    assert np.isnan(grown.grade("mine").over_d)


def test_grades_are_those_of_the_values(result):
    grade = result.grade("cka")
    reference, shapes = clouds(Case("rings", 500, 2, 0, (1, 2, 3, 4, 5)))
    values = np.array([rs.cka(reference, s.array) for s in shapes])
    assert list(result.curve("cka", "rings").values()) == values.tolist()
    assert grade.rings == kendall(-values, np.arange(5.0)).value
    assert grade.rings_conformity == concordance(-values, np.arange(5.0)).value
    assert {g.measure for g in result.grades()} == set(result.chosen)
    assert np.isnan(result.grade("seldom").clusters)


# -------------------------------------------------------------------------- claims of the MKA paper


def test_mka_orders_rings_and_clusters_for_every_number_of_neighbours(result):
    """Rows M1 and M6 of what the authors' code gives."""
    specs = [s.spec for s in result.sweeps if s.measure == "mka"]
    for spec in specs:
        assert result.tau(spec, "rings") == 1, spec
        assert result.tau(spec, "clusters", CLUSTERS) == 1, spec
    assert {result.info(spec).parameters.get("k") for spec in specs} == {5, 15, 50}


@pytest.mark.parametrize(("k", "tau"), [(15, 1.0), (100, 1.0), (150, 0.8), (450, 0.2)])
def test_kcka_orders_rings_for_few_neighbours(k, tau):
    reference, shapes = clouds(Case("rings", 500, 2, 0, (1, 2, 3, 4, 5)))
    differences = np.array([-rs.kcka(reference, s.array, k=k, variant="code") for s in shapes])
    assert kendall(differences, np.arange(5.0)).value == pytest.approx(tau)


def test_cka_does_not_order_rings(result):
    assert result.tau("cka", "rings") == pytest.approx(0.2)
    assert result.tau("cka[kernel=rbf]", "rings") == pytest.approx(0.2)
    assert result.tau("cka[bandwidth=0.2,kernel=rbf]", "rings") == 1


def test_claims_have_a_verdict_and_say_what_is_missing(result):
    found = {c.number: c for c in claims(replace(result, size="default"))}
    assert len(found) == 18
    assert found["M1"].verdict == found["M6"].verdict == found["M12 n"].verdict == REPRODUCED
    assert found["M1"].ours == "τ = 1.00 (k\u00a05–50)"
    assert found["M12 lost"].verdict == PARTLY  # MKA is not near 0, which kCKA is
    assert found["M13 d"].verdict == CONTRADICTED
    assert "by its authors' code both settle lower" in found["M13 d"].note
    assert found["M5"].verdict == found["M8"].verdict == NO_DATA  # there is no RTD
    assert all(c.verdict == NO_DATA for c in claims(made_up({"rings": {1: 1.0, 2: 0.5}})))
    assert {(c.ours, c.verdict) for c in claims(result)} == {("–", NO_DATA)}  # a trial


# ------------------------------------------------------------------------------------------ running


def test_a_result_is_read_as_it_was_saved(study, result):
    read = load_manifolds(study / "result.json")
    for name, value in vars(result).items():
        if name != "points":
            assert getattr(read, name) == value, name
    assert str(read.points) == str(result.points)  # with NaN, which is not equal to itself
    assert str(read.grades()) == str(result.grades())


def test_a_damaged_result_says_so(tmp_path):
    for text in ("", "{}", '{"format": 99}', "[1]"):
        (tmp_path / "result.json").write_text(text)
        with pytest.raises(ValueError, match="is not a result that can be read"):
            load_manifolds(tmp_path / "result.json")


def test_a_second_run_computes_only_what_is_new(study, result):
    def cells():
        with sqlite3.connect(study / "comparisons.db") as db:
            return dict(db.execute("SELECT measure, count(*) FROM cells GROUP BY measure"))

    before, told = cells(), []
    again = run(
        study, measures=[*MEASURES, seldom], size="small", progress=lambda *news: told.append(news)
    )
    assert cells() == before
    assert str(again.points) == str(result.points)
    assert told[-1] == ("comparing", len(result.points), len(result.points))
    run(study, measures=[*MEASURES, seldom, "procrustes"], size="small")
    after = cells()
    assert {m: n for m, n in after.items() if m not in before} == {
        "procrustes": after["procrustes"]
    }
    assert {m: after[m] for m in before} == before
    result.save(study / "result.json")


def test_rtd_is_left_out_where_it_takes_too_long(monkeypatch):
    few = SIZES["small"]._replace(
        roll=40, rs=(0.5,), spots=(60,), d_spots=(2,), cubes=(30,), d_cubes=(2,), slow=100
    )
    monkeypatch.setitem(SIZES, "small", few)
    found = run(measures=["rtd"], size="small")
    assert {p.experiment for p in found.points} == {"swiss_roll", "perturbed", "lost", "moved"}
    assert found.left_out == {"rtd": "above 100 samples: it takes too long"}
    assert np.isnan(found.grade("rtd").rings)


def test_a_size_that_does_not_exist():
    with pytest.raises(ValueError, match="size cannot be 'smal'; did you mean 'small'"):
        run(size="smal")


# ------------------------------------------------------------------------------------------- report


class Tags(HTMLParser):
    """All tags of a page with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


@pytest.fixture(scope="module")
def page(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "index.html"
    write_manifolds_page(result, path)
    return path


def test_figures_hold_every_value(result):
    found = {f.key: f for f in figures(result)}
    assert list(found) == ["roll", "rings", "clusters", "perturbed", "lost", "moved"]
    (curve,) = [c for c in found["rings"].panels[0].curves if c.line.spec == "mka"]
    assert [(x, v) for x, _, v in curve.points] == list(result.curve("mka", "rings").items())
    (curve,) = [c for c in found["rings"].panels[1].curves if c.line.spec == "mka"]
    assert [(x, y) for x, y, _ in curve.points] == [(5, 1), (15, 1), (50, 1)]
    (curve,) = [c for c in found["rings"].panels[0].curves if c.line.spec == "seldom"]
    assert max(y for _, y, _ in curve.points) == 1  # no difference
    assert min(y for _, y, _ in curve.points) == 0  # the largest of the panel
    assert [len(f.clouds) for f in found.values()] == [5, 5, 5, 2, 2, 3]


def test_measures_have_names_and_those_of_a_user_stand_out(result):
    found = lines(result)
    assert found["mka[k=15]"].text == "MKA (k 15)"
    assert [m for m, line in found.items() if line.is_added] == ["seldom"]
    assert found["seldom"].is_distance
    assert [line.number for line in found.values()] == list(range(len(MEASURES) + 1))


def test_the_page_has_all_and_loads_nothing(result, page, tmp_path):
    text = page.read_text(encoding="utf-8")
    for claim in claims(result):
        assert claim.number in text
    assert "Trial run: the scores mean nothing." in text
    assert 'id="verdict"' not in text
    write_manifolds_page(replace(result, size="default"), tmp_path / "real.html")
    real = (tmp_path / "real.html").read_text(encoding="utf-8")
    assert (
        "Of 8 measures, only MKA and MKA (k 15) put both the rings and the clusters in the right "
        "order" in real
    )
    assert "Trial run" not in real
    assert "contradicted by the authors' own numbers" in real
    tags = Tags(text).tags
    assert [
        a
        for tag, a in tags
        if tag in ("link", "img", "iframe") or "src" in a or "http" in a.get("href", "")
    ] == []
    assert [tag for tag, _ in tags].count("script") == 1  # the label of a measure is text
    write_manifolds_page(result, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == text


def test_the_page_in_a_browser(page, open_page):
    tags = Tags(open_page(page, "#sort=1")).tags
    assert (tags[0][1].get("data-ready"), tags[0][1].get("data-errors")) == ("yes", None)
    (header,) = [a for tag, a in tags if tag == "th" and "aria-sort" in a]
    assert header["aria-sort"] == "descending"
    values = [float(a["data-v"] or "nan") for tag, a in tags if tag == "td" and "data-v" in a][::10]
    known = [v for v in values if not np.isnan(v)]
    assert known == sorted(known, reverse=True)


def test_measures_can_be_hidden_and_shown(page, open_page, tmp_path):
    choose = """<script>
    for (const chip of document.querySelectorAll(".chip")) {
      chip.querySelector("input").click();
      chip.dispatchEvent(new Event("pointerenter")); chip.dispatchEvent(new Event("pointerleave"));
    }
    document.body.dataset.shown = document.querySelectorAll("svg.chart .m:not(.off)").length;
    for (const button of document.querySelectorAll(".legend button")) button.click();
    document.body.dataset.again = document.querySelectorAll("svg.chart .m:not(.off)").length;
    </script>"""
    text = page.read_text(encoding="utf-8")
    (tmp_path / "index.html").write_text(
        text.replace("</body>", choose + "</body>"), encoding="utf-8"
    )
    tags = Tags(open_page(tmp_path / "index.html")).tags
    (body,) = [a for tag, a in tags if tag == "body"]
    assert tags[0][1].get("data-errors") is None
    drawn = [a["class"] for tag, a in Tags(text).tags if tag == "g"]
    assert int(body["data-again"]) == sum("off" not in c.split() for c in drawn)
    assert int(body["data-shown"]) == sum("off" in c.split() for c in drawn)


# ------------------------------------------------------------------------------------- command line


def told(capsys, *words):
    code = cli.run(["manifolds", *map(str, words)])
    return code, *capsys.readouterr()


def test_run_with_a_measure_of_ones_own(tmp_path, capsys, monkeypatch):
    few = SIZES["small"]._replace(
        roll=40, rs=(0.0, 0.5), spots=(60,), d_spots=(2,), cubes=(30,), d_cubes=(2,), ks=(5,)
    )
    monkeypatch.setitem(SIZES, "small", few)
    (tmp_path / "own.py").write_text(OWN)
    words = [
        "--size",
        "small",
        "-m",
        "cka",
        "--measure",
        f"{tmp_path / 'own.py'}:centres",
        "--jobs",
        1,
    ]
    code, out, err = told(capsys, "run", tmp_path / "study", *words)
    assert code == 0
    assert f"Open {tmp_path / 'study' / 'index.html'}" in out
    assert "comparing:" in err
    assert set(load_manifolds(tmp_path / "study" / "result.json").chosen) == {"cka", "centres"}
    assert "Centres" in (tmp_path / "study" / "index.html").read_text(encoding="utf-8")
    code, out, err = told(capsys, "run", tmp_path / "study", *words, "--quiet")
    assert (code, out, err) == (0, "", "")


def test_results_in_every_format(study, result, capsys, tmp_path):
    _, out, _ = told(capsys, "results", study)
    assert "mka[k=15]" in out
    assert "Trial run: the scores mean nothing." in out
    assert "reproduced" not in out
    _, out, err = told(capsys, "results", study, "--format", "csv")
    assert err == "Trial run: the scores mean nothing.\n"
    rows = {row["measure"]: row for row in csv.DictReader(io.StringIO(out))}
    assert float(rows["mka"]["rings"]) == result.grade("mka").rings
    assert {row["trial"] for row in rows.values()} == {"True"}
    assert rows["seldom"]["clusters"] == ""
    _, out, _ = told(capsys, "results", study, "--format", "json")
    document = json.loads(out)
    assert len(document["comparisons"]) == len(result.points)
    assert {c["number"] for c in document["claims"]} == {c.number for c in claims(result)}
    code, _, _ = told(capsys, "results", study, "-o", tmp_path / "points.parquet")
    assert (code, (tmp_path / "points.parquet").exists()) == (0, True)
    code, out, _ = told(capsys, "report", study, "-o", tmp_path / "page.html")
    assert (code, out) == (0, f"Open {tmp_path / 'page.html'}\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--size", "larg"], "--size cannot be 'larg'"),
        (["run", "-m", "nka"], "no measure 'nka'; did you mean"),
        (["results", "nowhere"], "nowhere has no results yet: resemblance manifolds run nowhere"),
    ],
)
def test_a_mistake_is_one_line(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = told(capsys, *words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# -------------------------------------------------------------------------------- published numbers


def test_published_numbers_of_the_mka_paper():
    def value(table, measure, **facts):
        found = [
            c
            for c in published(table, paper="mka")
            if c.measure == measure and all(getattr(c, name) == v for name, v in facts.items())
        ]
        (cell,) = found
        return cell

    assert value("1", "cka[kernel=rbf]", architecture="RNet18").value == 0.33
    assert value("5", "mka", architecture="RNet18", quality="spearman").value == 1.0
    row = value(
        "7", "kcka[variant=code]", architecture="BERT", pooling="cls", quality="spearman_jsd"
    )
    assert (row.value, row.test, row.domain, row.dataset, row.label) == (
        0.27,
        "output",
        "language",
        "MNLI",
        "kCKA (k=100)",
    )
    assert (
        value("17", "jaccard", architecture="GAT", dataset="Flickr", quality="spearman").value
        == 0.96
    )
    assert len(published(paper="mka")) == 6752
    assert {c.measure for c in published(paper="mka")} >= {
        "mka",
        "mka[k=15]",
        "mka[k=50]",
        "mka[k=200]",
        "kcka[variant=code]",
    }
    for c in published(paper="mka"):
        assert rs.get_measure(c.measure).spec == c.measure
        assert (c.value is None) <= bool(c.reason)


def test_ranks_of_the_mka_paper_stand_beside_ours():
    ranks = published_ranks("vision", paper="mka")
    assert next(iter(ranks)) == "mka"
    assert (
        ranks["mka"].cells == 42
    )  # seven models: accuracy, two outputs, labels, shortcuts, layers
    rows = compare_published({"kcka[variant=code]": 1.5, "mka": 3.0, "mine": 2.0}, paper="mka")
    assert [(r.label, r.position, r.position_published) for r in rows] == [
        ("kcka[variant=code]", 1, 2),
        ("mka", 2, 1),
    ]
    with pytest.raises(ValueError, match="give ranks by specification, such as"):
        compare_published({"MKA": 1.0}, paper="mka")
    with pytest.raises(ValueError, match="no paper 'nature'; known: resi, mka"):
        published(paper="nature")


def test_the_tables_fit_the_terminal(study, result, capsys):
    shown = assert_fits(lambda: cli.run(["manifolds", "results", str(study)]), capsys)
    assert "Trial run: the scores mean nothing." in shown
    assert any(
        "No data on" in str(part) for part in manifold_tables(replace(result, size="default"))
    )


def test_what_the_pointer_reads(page, tmp_path, look):
    marks = {
        "#rings .panels .m:not(.off) circle": r"\S+.*: [\d.−]+ at rings = \d",
        "#rings .clouds svg path": "points: 1 of radius 1",
    }
    seen = look(page, tmp_path, list(marks))
    for (mark, expected), said in zip(marks.items(), seen.said, strict=True):
        assert re.fullmatch(expected, said), (mark, said)
    assert seen.hidden == []


def test_the_page_is_no_wider_than_a_phone(page, tmp_path, look):
    assert look(page, tmp_path, width=390).wide <= 390


def test_what_a_notebook_shows(result):
    missing = sum(np.isnan(p.value) for p in result.points)
    assert missing
    assert repr(result) == (
        f"<ManifoldResult: size small, measures {len(result.chosen)}, comparisons "
        f"{len(result.points)}, without a value {missing}>"
    )
    assert str(len(result.points)) in result._repr_html_()
