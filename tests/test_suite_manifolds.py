"""The manifold suite: what it compares, the grades, the claims of the paper, the report and the
commands."""

from __future__ import annotations

import csv
import io
import re
import sqlite3
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from factories.output import assert_fits

import resemblance as rs
from papers.mka import CLAIMS
from papers.published import compare_published, published, published_ranks
from resemblance import cli
from resemblance.catalogue import get_measures
from resemblance.comparison import info_of
from resemblance.grounding import by_reference, concordance, kendall
from resemblance.report.page import write_page
from resemblance.representation import Undefined
from resemblance.results import Result, load_result
from resemblance.results.claims import CONTRADICTED, NO_DATA, PARTLY, REPRODUCED
from resemblance.suites.manifolds import ManifoldFacts, Measurement, load_facts, result_of, run
from resemblance.suites.manifolds.clouds import CloudCase, cases, clouds
from resemblance.suites.manifolds.curves import styles
from resemblance.suites.manifolds.grades import CLUSTERS
from resemblance.suites.manifolds.suite import MEASURES as USUAL
from resemblance.suites.manifolds.suite import SIZES, collect

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
    return run(study, measures=[*MEASURES, seldom], size="small", claims=CLAIMS)


@pytest.fixture(scope="module")
def facts(study, result):
    return load_facts(study)


@pytest.fixture(scope="module")
def usual():
    return [m.spec for m in get_measures(USUAL)]


@pytest.fixture(scope="module")
def real(facts, usual):
    """The same numbers as if they were of a size that is no trial."""
    return result_of(facts._replace(size="default"), CLAIMS, usual)


def made_up(curves, *, larger_is_more_similar=True, spec="mine"):
    """Facts of one measure with these points: by experiment, value by what is compared."""

    def point(experiment, at, value):
        difference = value
        if larger_is_more_similar and value is not None:
            difference = 1 - value
        place = (experiment, spec, 100, 2, 0, float(at), False)
        return Measurement(*place, value, difference, None)

    points = [point(e, at, v) for e, curve in curves.items() for at, v in curve.items()]
    info = info_of(rs.get_measure("cka"))
    entrant = info._replace(
        spec=spec, label="Mine", larger_is_more_similar=larger_is_more_similar, parameters={}
    )
    return ManifoldFacts("default", (entrant,), (), tuple(points), {}, {})


def judged(facts):
    """Every claim of the paper on some facts, by its number."""
    return {claim.number: claim for judge in CLAIMS.values() for claim in judge(facts)}


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
    reference, shapes = clouds(CloudCase("rings", 500, 2, 0, (1,)))
    assert np.array_equal(reference, shapes[0].array)
    reference, shapes = clouds(CloudCase("cubes", 40, 3, 0, (0.0, 2.0)))
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
    assert np.isnan(made_up({"rings": {1: 1.0, 2: 0.5, 3: None}}).grade("mine").rings)


def test_only_the_clusters_of_the_original_are_graded():
    values = {k: 1 - k / 100 if k in CLUSTERS else 0.5 for k in range(2, 13)}
    facts = made_up({"clusters": values})
    assert facts.grade("mine").clusters == 1
    assert facts.tau("mine", "clusters") < 1


def test_peak_is_where_the_similarity_is_largest_and_of_a_plateau_in_the_middle():
    assert made_up({"swiss_roll": {0.0: 0.2, 0.5: 0.3, 0.9: 0.8}}).grade("mine").peak == 0.9
    assert (
        made_up({"swiss_roll": {0.0: 0.2, 0.4: 1.0, 0.5: 1.0, 0.6: 1.0}}).grade("mine").peak == 0.5
    )
    distance = made_up({"swiss_roll": {0.0: 0.2, 0.5: 0.3, 0.9: 0.8}}, larger_is_more_similar=False)
    assert distance.grade("mine").peak == 0.0


def test_a_measure_without_an_order_of_the_clusters_is_not_said_to_have_found_it(facts):
    """The rings are in the right order; the clusters have no value."""
    (entrant,) = (e for e in facts.entrants if e.spec == "seldom")
    points = tuple(
        p._replace(difference=p.at) if p.experiment == "rings" else p
        for p in facts.points
        if p.measure == "seldom"
    )
    lone = facts._replace(size="default", points=points, entrants=(entrant,))
    assert (lone.grade("seldom").rings, np.isnan(lone.grade("seldom").clusters)) == (1, True)
    headline = "None of 1 measure puts both the rings and the clusters in the right order."
    assert result_of(lone).headline() == headline


def test_where_all_measures_find_both_orders_none_of_them_is_the_only_one(facts):
    real = facts._replace(size="default")
    for specs, start in (
        ("mka", "MKA puts both"),
        ("mka mka[k=15]", "MKA and MKA (k 15) put both"),
    ):
        entrants = tuple(e for e in real.entrants if e.spec in specs.split())
        points = tuple(p for p in real.points if p.measure in specs.split())
        lead = result_of(real._replace(entrants=entrants, points=points)).headline()
        assert lead.startswith(start)


def test_a_trial_has_no_order_of_measures():
    good, bad = ({e: {1: 1.0, 2: v, 3: v / 2} for e in ("rings", "clusters")} for v in (0.5, 5.0))
    better, worse = made_up(good), made_up(bad, spec="worse")
    both = better._replace(
        entrants=worse.entrants + better.entrants, points=worse.points + better.points
    )
    assert [g.measure for g in both.grades()] == ["mine", "worse"]
    assert [g.measure for g in both._replace(size="small").grades()] == ["worse", "mine"]


def test_lost_kept_and_stability():
    moved = {"moved": {0.0: 1.0, 2.0: 0.9, 5.0: 0.75}, "lost": {0.0: 0.3}}
    found = made_up(moved).grade("mine")
    assert (found.kept, found.lost) == (0.75, 0.3)
    assert np.isnan(made_up(moved, larger_is_more_similar=False).grade("mine").kept)
    facts = made_up({"perturbed": {0.5: 0.4}})
    points = [
        facts.points[0]._replace(n=n, value=v, seed=s)
        for n, v, s in ((10, 0.5, 0), (10, 0.7, 1), (20, 1.0, 0))
    ]
    grown = facts._replace(points=tuple(points))
    assert grown.curve("mine", "perturbed", "n") == {10: pytest.approx(0.6), 20: 1.0}
    assert grown.grade("mine").over_n == pytest.approx(0.2 / 0.8)  # of 0.6 and 1
    assert np.isnan(grown.grade("mine").over_d)


def test_grades_are_those_of_the_values(facts):
    grade = facts.grade("cka")
    reference, shapes = clouds(CloudCase("rings", 500, 2, 0, (1, 2, 3, 4, 5)))
    values = np.array([rs.cka(reference, s.array) for s in shapes])
    assert list(facts.curve("cka", "rings").values()) == values.tolist()
    assert grade.rings == kendall(-values, np.arange(5.0)).value
    assert grade.rings_conformity == concordance(-values, np.arange(5.0)).value
    assert {g.measure for g in facts.grades()} == set(facts.measures)
    assert np.isnan(facts.grade("seldom").clusters)


# -------------------------------------------------------------------------- claims of the MKA paper


def test_mka_orders_rings_and_clusters_for_every_number_of_neighbours(facts):
    """Rows M1 and M6 of what the authors' code gives."""
    assert facts.taus_over_k("mka", "rings") == {5: 1, 15: 1, 50: 1}
    assert facts.taus_over_k("mka", "clusters", CLUSTERS) == {5: 1, 15: 1, 50: 1}


@pytest.mark.parametrize(("k", "tau"), [(15, 1.0), (100, 1.0), (150, 0.8), (450, 0.2)])
def test_kcka_orders_rings_for_few_neighbours(k, tau):
    reference, shapes = clouds(CloudCase("rings", 500, 2, 0, (1, 2, 3, 4, 5)))
    differences = np.array([-rs.kcka(reference, s.array, k=k, variant="code") for s in shapes])
    assert kendall(differences, np.arange(5.0)).value == pytest.approx(tau)


def test_cka_does_not_order_rings(facts):
    assert facts.tau("cka", "rings") == pytest.approx(0.2)
    assert facts.tau("cka[kernel=rbf]", "rings") == pytest.approx(0.2)
    assert facts.tau("cka[bandwidth=0.2,kernel=rbf]", "rings") == 1


def test_claims_have_a_verdict_and_say_what_is_missing(facts, result, real):
    claims = {c.number: c for c in real.claims}
    assert len(claims) == 18
    assert claims == judged(facts)
    assert claims["M1"].verdict == claims["M6"].verdict == claims["M12 n"].verdict == REPRODUCED
    assert claims["M1"].ours == "τ = 1.00 (k\u00a05–50)"
    assert claims["M12 lost"].verdict == PARTLY  # MKA is not near 0, which kCKA is
    assert claims["M13 d"].verdict == CONTRADICTED
    assert "by its authors' code both settle lower" in claims["M13 d"].note
    assert claims["M5"].verdict == claims["M8"].verdict == NO_DATA  # there is no RTD
    none = judged(made_up({"rings": {1: 1.0, 2: 0.5}}))
    assert {c.verdict for c in none.values()} == {NO_DATA}
    assert {(c.ours, c.verdict) for c in result.claims} == {("–", NO_DATA)}  # a trial


def test_claims_are_those_of_their_section_and_only_where_they_are_given(facts, real):
    assert [c.number for c in real["rings"].claims] == ["M1", "M2", "M3", "M4", "M5"]
    assert result_of(facts).claims == ()
    with pytest.raises(ValueError, match="there is no section 'ring' for claims; known: swiss rol"):
        run(measures=["cka"], size="small", claims={"ring": CLAIMS["rings"]})


# ------------------------------------------------------------------------------------------ running


def test_a_result_and_its_facts_are_read_as_they_were_saved(study, result, facts):
    assert load_result(study / "result.json") == result
    again = study / "again.json"
    facts.save(again)
    assert load_facts(again) == facts
    assert again.read_text() == (study / "facts.json").read_text()
    again.unlink()


def test_a_damaged_file_says_so(tmp_path):
    for text in ("", "{}", '{"format": 99}', "[1]"):
        (tmp_path / "result.json").write_text(text)
        with pytest.raises(ValueError, match="is not a result that can be read"):
            load_result(tmp_path / "result.json")
        with pytest.raises(ValueError, match="a result of the manifold suite that can"):
            load_facts(tmp_path / "result.json")


def test_a_second_run_computes_only_what_is_new(study, facts):
    def cells():
        with sqlite3.connect(study / "comparisons.db") as db:
            return dict(db.execute("SELECT measure, sum(size) FROM scores GROUP BY measure"))

    saved = {name: (study / name).read_text() for name in ("result.json", "facts.json")}
    before, news = cells(), []
    run(study, measures=[*MEASURES, seldom], size="small", progress=lambda *n: news.append(n))
    assert cells() == before
    assert load_facts(study / "facts.json").points == facts.points
    assert news[-1] == ("comparing", len(facts.points), len(facts.points))
    run(study, measures=[*MEASURES, seldom, "procrustes"], size="small")
    after = cells()
    assert {m: n for m, n in after.items() if m not in before} == {
        "procrustes": after["procrustes"]
    }
    assert {m: after[m] for m in before} == before
    for name, text in saved.items():
        (study / name).write_text(text)


def test_rtd_is_left_out_where_it_takes_too_long(monkeypatch, tmp_path):
    few = SIZES["small"]._replace(
        roll=40, rs=(0.5,), spots=(60,), d_spots=(2,), cubes=(30,), d_cubes=(2,), slow=100
    )
    monkeypatch.setitem(SIZES, "small", few)
    result = run(tmp_path, measures=["rtd"], size="small")
    facts = load_facts(tmp_path / "facts.json")
    assert {p.experiment for p in facts.points} == {"swiss_roll", "perturbed", "lost", "moved"}
    assert facts.left_out == {"rtd": "above 100 samples: it takes too long"}
    small = [case for case in cases(few) if case.n <= 100]
    assert collect(["rtd"], "small", plan=small).left_out == {}
    assert np.isnan(facts.grade("rtd").rings)
    assert result["failures"].reasons == {"RTD": "left out above 100 samples: it takes too long"}


def test_only_what_was_left_out_is_said_to_be(monkeypatch):
    """IMD is compared over at most 50 neighbours: all that the smallest size has."""
    few = SIZES["small"]._replace(roll=60, rs=(), spots=(60,), d_spots=(2,), seeds=0, cubes=())
    for ks, words in (((5, 10), {}), ((5, 55), {"imd": "above 50 neighbours"})):
        size = few._replace(ks=ks)
        monkeypatch.setitem(SIZES, "small", size)
        plan = [case for case in cases(size._replace(cubes=(30,))) if case.over_k and case.n == 60]
        left_out = collect(["imd", "mka"], "small", plan=plan).left_out
        assert {spec: why.partition(":")[0] for spec, why in left_out.items()} == words


def test_a_size_that_does_not_exist():
    with pytest.raises(ValueError, match="size cannot be 'smal'; did you mean 'small'"):
        run(size="smal")


# ----------------------------------------------------------------------------------------- sections


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
    return write_page(result, tmp_path_factory.mktemp("page") / "index.html")


def test_figures_hold_every_value(facts, result):
    assert [s.name for s in result.sections] == [
        *("swiss roll", "rings", "clusters", "perturbed", "lost", "moved"),
        *("grades", "times", "failures"),
    ]
    _, values, orders = result["rings"].figures
    lines = {line.name: line for line in values.lines}
    assert lines["MKA"].points == tuple(facts.curve("mka", "rings").items())
    assert lines["MKA"].titles[1] == f"MKA: {facts.curve('mka', 'rings')[2]:.4g} at rings = 2"
    (line,) = (line for line in orders.lines if line.name == "MKA")
    assert line.points == ((5, 1), (15, 1), (50, 1))
    heights = [y for _, y in lines[HOSTILE].points]
    assert (max(heights), min(heights)) == (1, 0)  # no difference, and the largest of the diagram
    assert lines[HOSTILE].is_dashed
    assert [len(s.figures[0].clouds) for s in result.sections[:6]] == [5, 5, 5, 2, 2, 3]
    assert [len(s.figures) for s in result.sections[:6]] == [3, 3, 3, 5, 5, 6]


def test_measures_have_names_and_those_of_a_user_are_shown(facts, usual):
    drawn = styles(facts, usual)
    assert drawn["mka[k=15]"].name == "MKA (k 15)"
    assert drawn["seldom"].is_distance
    assert list(drawn)[:3] == ["mka", "kcka[variant=code]", "kcka"]
    assert [s for s, style in drawn.items() if not style.is_shown] == []  # they are few
    many = tuple(facts.entrants[0]._replace(spec=spec, label=spec) for spec in usual)
    drawn = styles(facts._replace(entrants=(*facts.entrants[-1:], *many)), usual)
    assert [s for s, style in drawn.items() if style.is_shown][-1] == "seldom"
    assert sum(style.is_shown for style in drawn.values()) == 10  # of the paper, and the user's


def test_scores_are_two_orders_and_one_place(facts, result):
    grades = {g.measure: g for g in facts.grades()}
    scores = result.scores()
    assert set(scores) == {("rings", "tau"), ("clusters", "tau"), ("swiss roll", "peak")}
    assert set(scores["rings", "tau"]) == set(facts.measures)
    assert scores["rings", "tau"]["mka"] == grades["mka"].rings == 1
    assert scores["clusters", "tau"]["seldom"] is None
    assert scores["swiss roll", "peak"]["cka"] == -abs(grades["cka"].peak - 0.5)


def test_the_table_of_grades_is_shaded_by_how_good_they_are(real, result):
    table = real["grades"].tables[0]
    rows = {row[0]: i for i, row in enumerate(table.rows)}
    peak = table.columns.index("peak r")
    assert [row[0] for row in table.rows[:2]] == ["MKA", "MKA (k 15)"]
    assert table.shades[rows["MKA"]][peak] == 1
    assert (rows["MKA"], peak) in table.framed
    assert table.shades[rows[HOSTILE]][table.columns.index("lost")] is None
    assert result["grades"].tables[0].framed == ()  # the grades of a trial mean nothing


def test_failures_are_counted_by_reason(facts, result):
    (table,) = result["failures"].tables
    ours = [p for p in facts.points if p.measure == "seldom" and p.reason]
    assert ours
    ((_, reason, experiments, count),) = (row for row in table.rows if row[0] == HOSTILE)
    assert (reason, count) == (f"no value for {HOSTILE} & others", len(ours))
    assert "Swiss roll" in experiments


def test_the_page_has_all_and_loads_nothing(result, real, page, tmp_path):
    text = page.read_text(encoding="utf-8")
    for claim in result.claims:
        assert claim.number in text
    assert "Trial run: the scores mean nothing." in text
    assert "put both the rings" not in text
    assert "processor time" not in text  # comparisons are timed by the clock
    shown = write_page(real, tmp_path / "real.html").read_text(encoding="utf-8")
    assert (
        "Of 8 measures, only MKA and MKA (k 15) put both the rings and the clusters in the right "
        "order" in shown
    )
    assert "Trial run" not in shown
    assert "contradicted by the authors&#39; own numbers" in shown.replace("'", "&#39;")
    tags = Tags(text).tags
    assert [
        a
        for tag, a in tags
        if tag in ("link", "img", "iframe") or "src" in a or (tag != "a" and "href" in a)
    ] == []
    assert "<script>alert" not in text  # the label of a measure is text
    write_page(result, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == text


def test_the_page_in_a_browser(page, open_page):
    tags = Tags(open_page(page, "#sort=1")).tags
    assert (tags[0][1].get("data-ready"), tags[0][1].get("data-errors")) == ("yes", None)


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
    own = f"{tmp_path / 'own.py'}:centres"
    words = ["--size", "small", "-m", "cka", "--measure", own, "--jobs", 1]
    code, out, err = told(capsys, "run", tmp_path / "study", *words)
    assert code == 0
    assert f"Open {tmp_path / 'study' / 'index.html'}" in out
    assert "comparing:" in err
    assert set(load_result(tmp_path / "study" / "result.json").labels) == {"cka", "centres"}
    assert "Centres" in (tmp_path / "study" / "index.html").read_text(encoding="utf-8")
    code, out, err = told(capsys, "run", tmp_path / "study", *words, "--quiet")
    assert (code, out, err) == (0, "", "")


def test_results_in_every_format(study, result, facts, capsys, tmp_path):
    _, out, _ = told(capsys, "results", study)
    assert "MKA (k 15)" in out
    assert "τ clusters" in out
    assert "Trial run: the scores mean nothing." in out
    assert "reproduced" not in out
    _, out, err = told(capsys, "results", study, "--format", "csv")
    assert err == "Trial run: the scores mean nothing.\n"
    rows = {row["measure"]: row for row in csv.DictReader(io.StringIO(out))}
    assert float(rows["mka"]["rings"]) == facts.grade("mka").rings
    assert {row["trial"] for row in rows.values()} == {"True"}
    assert rows["seldom"]["clusters"] == ""
    code, _, _ = told(capsys, "results", study, "-o", tmp_path / "all.json")
    assert load_result(tmp_path / "all.json") == result
    *_, comparisons = result["grades"].tables
    assert len(comparisons.rows) == len(facts.points)
    code, _, _ = told(capsys, "results", study, "-o", tmp_path / "points.parquet")
    frame = pd.read_parquet(tmp_path / "points.parquet")
    assert (code, list(frame.columns)) == (0, [*Measurement._fields, "trial"])
    assert frame.value.tolist()[:3] == [p.value for p in facts.points[:3]]
    assert len(frame) == len(facts.points)
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


def test_what_the_pointer_reads(page, tmp_path, look):
    marks = {
        "#section-rings .m:not(.off) .marks": r"\S+.*: [\d.−]+ at rings = \d",
        "#section-rings .cloud path": "points: 1 of radius 1",
    }
    seen = look(page, list(marks))
    for (mark, expected), said in zip(marks.items(), seen.said, strict=True):
        assert re.fullmatch(expected, said), (mark, said)
    assert seen.hidden == []


def test_the_page_is_no_wider_than_a_phone(page, tmp_path, look):
    assert look(page, width=390).wide <= 390


def test_what_a_notebook_shows(result, facts):
    assert repr(result).startswith("<Result: suite manifolds, size small, sections 9, claims 18 ")
    assert isinstance(result, Result)
    assert repr(facts) == (
        f"<ManifoldFacts: size small, measures {len(facts.entrants)}, comparisons "
        f"{len(facts.points)}>"
    )
