"""The manifold suite: what it compares, the grades, the claims of the paper, the report and the
commands."""

from __future__ import annotations

import csv
import io
from functools import partial

import numpy as np
import pandas as pd
import pytest

import resemblance as rs
from papers.mka.claims import CLAIMS
from papers.published import published
from resemblance import bench, cli
from resemblance.base.exceptions import UndefinedError
from resemblance.bench import manifolds
from resemblance.bench.grounding import concordance, kendall
from resemblance.bench.manifolds.clouds import CloudCase, cloud_cases, sample_clouds
from resemblance.bench.manifolds.page import manifolds_result
from resemblance.bench.manifolds.suite import MEASURES as USUAL
from resemblance.bench.manifolds.suite import SIZES, compared_clouds, write_clouds
from resemblance.bench.manifolds.values import (
    MANIFOLD_CONFORMITY_RULE,
    ORIGINAL_CLUSTER_COUNTS,
    Measured,
    Measurement,
    curve,
    grade,
    grades,
    tau,
    taus_over_k,
)
from resemblance.bench.pinned import FrozenFeatures
from resemblance.bench.scoring import compare_cases
from resemblance.bench.study import add_claims
from resemblance.catalogue import get_measures
from resemblance.comparison.comparison import measure_info
from resemblance.sections.claims import CONTRADICTED, NO_DATA, PARTLY_REPRODUCED, REPRODUCED

run = partial(bench.run, "manifolds")

SAYS = {"larger_is_more_similar": False, "symmetric": True, "citation": "none"}
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


@rs.measure(label=HOSTILE, family="descriptive", range=(0, np.inf), **SAYS)
def seldom(x, y):
    """A value for rings only."""
    if len(x.array) != 500:
        raise UndefinedError(f"no value for {HOSTILE} & others")
    return abs(float(np.abs(x.array).sum() - np.abs(y.array).sum()))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def whole(study):
    """Return the result of a run, and the measurements of the run."""
    kept = []

    def keep(*words, **options):
        kept.append(compared_clouds(*words, **options))
        return kept[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifolds.suite, "compared_clouds", keep)
        return run(study, measures=[*MEASURES, seldom], size="small", claims=CLAIMS), kept[0]


@pytest.fixture(scope="module")
def result(whole):
    return whole[0]


@pytest.fixture(scope="module")
def facts(whole):
    return whole[1]


@pytest.fixture(scope="module")
def usual():
    return get_measures(USUAL)


@pytest.fixture(scope="module")
def real(facts, usual):
    """The same numbers as if they were of a size that is no trial."""
    large = facts._replace(size="default")
    return add_claims(manifolds_result(large, usual), CLAIMS, dict.fromkeys(CLAIMS, large))


def of_points(points, measures, **more):
    """Return the measurements of a run, from single measurements."""
    by_key = {}
    for p in points:
        by_key.setdefault((p.experiment, p.measure), []).append(p)
    return Measured("default", {m.spec: m for m in measures}, {}, by_key, **more)


def made_up(curves, *, larger_is_more_similar=True, spec="mine"):
    """Return measurements of one made-up measure, from a value for every compared shape of every
    experiment."""

    def point(experiment, at, value):
        difference = value
        if larger_is_more_similar and value is not None:
            difference = 1 - value
        place = (experiment, spec, 100, 2, 0, float(at), False)
        return Measurement(*place, value, difference, None)

    points = [point(e, at, v) for e, curve in curves.items() for at, v in curve.items()]
    info = measure_info(rs.get_measure("cka"))
    entrant = info._replace(
        spec=spec, label="Mine", larger_is_more_similar=larger_is_more_similar, parameters={}
    )
    return of_points(points, [entrant])


def judged(facts):
    """Every claim of the paper on some facts, by its number."""
    return {claim.number: claim for judge in CLAIMS.values() for claim in judge(facts)}


# ---------------------------------------------------------------------------------------- qualities


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
    found = cloud_cases(SIZES[size])
    assert len(set(found)) == len(found)
    assert {c.shape for c in found} == {"swiss_roll", "rings", "clusters", "spots", "cubes"}
    for case in found if size == "small" else ():
        reference, shapes = sample_clouds(case)
        assert reference.shape == (case.n, case.d)
        assert all(s.array.shape == reference.shape for s in shapes)
        assert case.shape == "spots" or tuple(s.at for s in shapes) == case.at


# ------------------------------------------------------------------------------------------- grades


def test_only_the_clusters_of_the_original_are_graded():
    values = {k: 1 - k / 100 if k in ORIGINAL_CLUSTER_COUNTS else 0.5 for k in range(2, 13)}
    facts = made_up({"clusters": values})
    assert grade(facts, "mine")["clusters"] == 1
    assert tau(facts, "mine", "clusters") < 1


@pytest.mark.parametrize(
    ("values", "similar", "peak"),
    [
        ({0.0: 0.2, 0.5: 0.3, 0.9: 0.8}, True, 0.9),
        ({0.0: 0.2, 0.4: 1.0, 0.5: 1.0, 0.6: 1.0}, True, 0.5),
        ({0.0: 0.2, 0.5: 0.3, 0.9: 0.8}, False, 0.0),
    ],
)
def test_peak_is_where_the_similarity_is_largest_and_of_a_plateau_in_the_middle(
    values, similar, peak
):
    facts = made_up({"swiss_roll": values}, larger_is_more_similar=similar)
    assert grade(facts, "mine")["peak"] == peak


def test_the_headline_names_the_measures_that_find_both_orders(facts, subtests):
    real = facts._replace(size="default")

    def headline(specs, points=lambda p: p):
        chosen = [points(p) for p in real.of() if p.measure in specs]
        shown = of_points(chosen, [real.measures[spec] for spec in specs])
        return shown, manifolds_result(shown, []).conclusion

    with subtests.test("the rings are in the right order, and the clusters have no value"):
        lone, words = headline(
            ["seldom"], lambda p: p._replace(difference=p.at) if p.experiment == "rings" else p
        )
        found = grade(lone, "seldom")
        assert (found["rings"], np.isnan(found["clusters"])) == (1, True)
        assert words == "None of 1 measure puts both the rings and the clusters in the right order."
    orders, curve = "the rings and the clusters in the right order", "the S-curve that unrolls"
    for specs, words in (
        (["mka"], f"MKA puts both {orders}; it also finds {curve}"),
        (["mka", "mka[k=15]"], f"MKA and MKA (k 15) put both {orders}; they also find {curve}"),
    ):
        with subtests.test(specs):
            assert headline(specs)[1].startswith(words)


def test_a_trial_has_no_order_of_measures():
    good, bad = ({e: {1: 1.0, 2: v, 3: v / 2} for e in ("rings", "clusters")} for v in (0.5, 5.0))
    better, worse = made_up(good), made_up(bad, spec="worse")
    both = of_points(
        [*better.of(), *worse.of()], [*worse.measures.values(), *better.measures.values()]
    )
    assert list(grades(both)) == ["mine", "worse"]
    assert list(grades(both._replace(size="small"))) == ["worse", "mine"]


def test_lost_kept_and_stability():
    moved = {"moved": {0.0: 1.0, 2.0: 0.9, 5.0: 0.75}, "lost": {0.0: 0.3}}
    found = grade(made_up(moved), "mine")
    assert (found["kept"], found["lost"]) == (0.75, 0.3)
    assert np.isnan(grade(made_up(moved, larger_is_more_similar=False), "mine")["kept"])
    facts = made_up({"perturbed": {0.5: 0.4}})
    (one,) = facts.of()
    of_seeds = ((10, 0.5, 0), (10, 0.7, 1), (20, 1.0, 0))
    points = [one._replace(n=n, value=v, seed=s) for n, v, s in of_seeds]
    grown = of_points(points, facts.measures.values())
    assert curve(grown, "mine", "perturbed", "n") == {10: pytest.approx(0.6), 20: 1.0}
    assert grade(grown, "mine")["over_n"] == pytest.approx(0.2 / 0.8)  # of 0.6 and 1
    assert np.isnan(grade(grown, "mine")["over_d"])


def test_grades_are_those_of_the_values(facts):
    found = grade(facts, "cka")
    reference, shapes = sample_clouds(CloudCase("rings", 500, 2, 0, (1, 2, 3, 4, 5)))
    values = np.array([rs.cka(reference, s.array) for s in shapes])
    assert list(curve(facts, "cka", "rings").values()) == values.tolist()
    assert found["rings"] == kendall(-values, np.arange(5.0)).value
    assert found["rings_conformity"] == concordance(-values, np.arange(5.0)).value
    assert found["rings_conformity"] == tau(facts, "cka", "rings", rule=MANIFOLD_CONFORMITY_RULE)
    assert grades(facts).keys() == facts.measures.keys()
    assert np.isnan(grade(facts, "seldom")["clusters"])


# -------------------------------------------------------------------------- claims of the MKA paper


def test_mka_orders_rings_and_clusters_for_every_number_of_neighbors(facts):
    """Rows M1 and M6 of what the authors' code gives."""
    assert taus_over_k(facts, "mka", "rings") == {5: 1, 15: 1, 50: 1}
    assert taus_over_k(facts, "mka", "clusters", ORIGINAL_CLUSTER_COUNTS) == {5: 1, 15: 1, 50: 1}


@pytest.mark.parametrize(("k", "tau"), [(15, 1.0), (100, 1.0), (150, 0.8), (450, 0.2)])
def test_kcka_orders_rings_for_few_neighbors(k, tau):
    reference, shapes = sample_clouds(CloudCase("rings", 500, 2, 0, (1, 2, 3, 4, 5)))
    differences = np.array([-rs.kcka(reference, s.array, k=k, variant="code") for s in shapes])
    assert kendall(differences, np.arange(5.0)).value == pytest.approx(tau)


def test_cka_does_not_order_rings(facts):
    assert tau(facts, "cka", "rings") == pytest.approx(0.2)
    assert tau(facts, "cka[kernel=rbf]", "rings") == pytest.approx(0.2)
    assert tau(facts, "cka[bandwidth=0.2,kernel=rbf]", "rings") == 1


def test_claims_have_a_verdict_and_say_what_is_missing(facts, result, real):
    claims = {c.number: c for c in real.claims}
    assert len(claims) == 18
    assert claims == judged(facts)
    assert claims["M1"].verdict == claims["M6"].verdict == claims["M12 n"].verdict == REPRODUCED
    assert claims["M1"].ours == "τ = 1.00 (k\u00a05–50)"
    assert claims["M12 lost"].verdict == PARTLY_REPRODUCED  # MKA is not near 0, which kCKA is
    assert claims["M13 d"].verdict == CONTRADICTED
    assert "by its authors' code both settle lower" in claims["M13 d"].note
    assert claims["M5"].verdict == claims["M8"].verdict == NO_DATA  # there is no RTD
    none = judged(made_up({"rings": {1: 1.0, 2: 0.5}}))
    assert {c.verdict for c in none.values()} == {NO_DATA}
    assert {(c.ours, c.verdict) for c in result.claims} == {("–", NO_DATA)}  # a trial


def test_claims_are_those_of_their_section_and_only_where_they_are_given(facts, real):
    assert [c.number for c in real["rings"].claims] == ["M1", "M2", "M3", "M4", "M5"]
    assert manifolds_result(facts, []).claims == ()
    with pytest.raises(ValueError, match="section for claims must be one of 'swiss roll'"):
        run(measures=["cka"], size="small", claims={"ring": CLAIMS["rings"]})


# ------------------------------------------------------------------------------------------ running


def test_rtd_is_left_out_where_it_takes_too_long(monkeypatch, tmp_path):
    few = {
        "roll": 40,
        "rs": (0.5,),
        "spots": (60,),
        "d_spots": (2,),
        "cubes": (30,),
        "d_cubes": (2,),
    }
    small = SIZES["small"]._replace(**few, ks=(5,), slow=100)
    monkeypatch.setitem(SIZES, "small", small)
    result = run(tmp_path, measures=["rtd"], size="small")
    _, _, scores, comparisons = result["grades"].tables
    experiments = {row[0] for row in comparisons.rows}
    assert experiments == {"swiss_roll", "perturbed", "lost", "moved"}
    words = "left out above 100 samples: too slow"
    assert result["failures"].reasons == {"RTD": words}
    at = scores.columns.index("reason")
    assert [row[at] and row[at][: len(words)] for row in scores.rows][1:] == [words, words]


def test_only_what_was_left_out_is_said_to_be(monkeypatch, tmp_path):
    """IMD is compared over at most 50 neighbours: all that the smallest size has."""
    for ks, words in (((5, 10), {}), ((5, 55), {"imd": "above 50 neighbours"})):
        few = SIZES["small"]._replace(roll=60, rs=(), seeds=0, ks=ks)
        monkeypatch.setitem(SIZES, "small", few)
        plan = [case for case in cloud_cases(few) if case.over_k and case.n == 60]
        folder = tmp_path / str(ks)
        content = FrozenFeatures(folder, write_clouds(folder, "small", plan), "")
        measures = get_measures(["imd", "mka"])
        compare = partial(compare_cases, measures=measures)
        left_out = compared_clouds(content, measures, compare).left_out
        assert {spec: why.partition(":")[0] for spec, why in left_out.items()} == words


# ------------------------------------------------------------------------------------- command line


def told(capsys, *words):
    command, *more = map(str, words)
    code = cli.run(["bench", command, *["manifolds"] * (command == "run"), *more])
    return code, *capsys.readouterr()


def test_results_are_a_table_of_grades_or_all_that_was_measured(
    study, result, facts, capsys, tmp_path
):
    _, out, err = told(capsys, "results", study, "--format", "csv")
    assert err == "Trial run: do not interpret these scores.\n"
    rows = {row["measure"]: row for row in csv.DictReader(io.StringIO(out))}
    assert float(rows["mka"]["rings"]) == grade(facts, "mka")["rings"]
    assert {row["trial"] for row in rows.values()} == {"True"}
    assert rows["seldom"]["clusters"] == ""
    code, *_ = told(capsys, "results", study, "-o", tmp_path / "points.parquet")
    frame = pd.read_parquet(tmp_path / "points.parquet")
    assert (code, list(frame.columns)) == (0, [*Measurement._fields, "trial"])
    assert frame.value.tolist()[:3] == [p.value for p in facts.of()[:3]]
    assert len(frame) == len(facts.of()) == len(result["grades"].tables[-1].rows)


def test_a_mistake_is_one_line(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused("""
        bench run manifolds --size larg | got 'larg'
        bench run manifolds --only rings | --only is an option of bench run sensitivity and
        bench run manifolds --protocol paper | --protocol is an option of bench run resi; manifolds
        bench run manifolds --models m | --models is an option of bench run resi and sensitivity
        bench run resi s --models m --size slice | --models cannot be combined with --size
        bench run manifold | got 'manifold'; did you mean 'manifolds'?
        bench run manifolds -m nka | no measure 'nka'; did you mean
        bench results nowhere | nowhere has no results yet; run a benchmark there
    """)
    assert list(tmp_path.iterdir()) == []


# -------------------------------------------------------------------------------- published numbers


def test_published_numbers_of_the_mka_paper():
    def value(table, measure, **facts):
        cells = [c for c in published(table, paper="mka") if c.measure == measure]
        (one,) = [c for c in cells if all(getattr(c, n) == fact for n, fact in facts.items())]
        return one.value

    bert = {"architecture": "BERT", "pooling": "cls", "quality": "spearman_jsd"}
    gat = {"architecture": "GAT", "dataset": "Flickr", "quality": "spearman"}
    assert value("1", "cka[kernel=rbf]", architecture="RNet18") == 0.33
    assert value("5", "mka", architecture="RNet18", quality="spearman") == 1.0
    assert value("7", "kcka[variant=code]", **bert) == 0.27
    assert value("17", "jaccard", **gat) == 0.96
    cells = published(paper="mka")
    assert len(cells) == 6752
    for c in cells:
        assert rs.get_measure(c.measure).spec == c.measure
        assert (c.value is None) <= bool(c.reason)
    with pytest.raises(ValueError, match="no paper 'nature'; known: resi, mka"):
        published(paper="nature")
