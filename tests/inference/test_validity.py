"""Inference keeps its promises: levels of tests, coverage of intervals; and the stored studies."""

from __future__ import annotations

import evidence
import numpy as np
import pytest
import validity
from scipy.stats import binom
from validity_intervals import NARROW, pair_of
from validity_tests import BLOCKS, SERIES, Key, exact_p, grouped, rejections, values_in_orders
from validity_tests import rows as unrelated

import resemblance as rs
from resemblance.data.representation import Representation
from resemblance.significance.orders import design_of

DEBIASED = "cka[estimator=debiased]"


def bounds(sets: int, share: float = 0.05, doubt: float = 1e-3) -> tuple[float, float]:
    """Return between which numbers of times something of this probability happens."""
    return binom.ppf(doubt, sets, share), binom.isf(doubt, sets, share)


# ----------------------------------------------------------------------------- small simulations


def test_exact_moments_reject_unrelated_representations_as_often_as_they_say():
    m = rs.get_measure(DEBIASED)
    p = np.array(
        [
            exact_p(m, *map(Representation, unrelated(np.random.default_rng([1, i]))))
            for i in range(300)
        ]
    )
    for level in (0.05, 0.25, 0.5):
        low, high = bounds(len(p), level)
        assert low <= (p <= level).sum() <= high


def test_evidence_rejects_unrelated_representations_as_often_as_it_says():
    p = []
    for i in range(150):
        x, y = unrelated(np.random.default_rng([2, i]))
        evidence = rs.evidence({"x": x}, {"y": y}, measures=[DEBIASED], progress=False)
        p.append(evidence.pvalue(DEBIASED)[0, 0])
    low, high = bounds(len(p), 0.2)
    assert low <= np.sum(np.array(p) <= 0.2) <= high


def test_dependent_samples_need_orders_of_whole_blocks():
    free, whole = 0.0, 0.0
    for i in range(60):
        rng = np.random.default_rng([3, i])
        data = grouped(rng, BLOCKS)
        free += sum(rejections(data, rng, [DEBIASED], "free").values())
        whole += sum(rejections(data, rng, [DEBIASED], "blocks", whole_blocks=BLOCKS).values())
    assert free > 55
    assert whole <= bounds(60)[1]


def test_intervals_without_each_sample_hold_the_expected_value():
    values, lows, highs = [], [], []
    for i in range(150):
        x, y = pair_of(np.random.default_rng([4, i]), 100, NARROW)
        evidence = rs.evidence(
            {"x": x},
            {"y": y},
            measures=["cka"],
            null="permutations",
            n_permutations=1,
            progress=False,
        )
        assert evidence.parts["cka"].kind == "left_out"
        values.append(evidence["cka"][0, 0])
        lows.append(evidence.low("cka")[0, 0])
        highs.append(evidence.high("cka")[0, 0])
    expected = np.mean(values)
    holds = np.sum((np.array(lows) <= expected) & (expected <= np.array(highs)))
    low, _ = bounds(len(values), 0.95)
    assert holds >= low
    width = np.mean(np.subtract(highs, lows)) / (2 * 1.96 * np.std(values))
    assert 0.85 < width < 1.25


# ------------------------------------------------------------------------------- the benchmark


@pytest.mark.parametrize("spec", [DEBIASED, "cka[kernel=rbf]", "rsa", "mutual_knn", "procrustes"])
def test_the_studies_draw_what_evidence_draws(spec):
    x, y = unrelated(np.random.default_rng(5))
    design = design_of(len(x), n_permutations=6, seed=8)
    evidence = rs.evidence(
        {"x": x},
        {"y": y},
        measures=[spec],
        null="permutations",
        n_permutations=6,
        seed=8,
        progress=False,
    )
    orders = [design.order(draw) for draw in range(6)]
    sides = [Representation(x)], [Representation(y)]
    values = values_in_orders(rs.get_measure(spec), *sides, orders)
    (null,) = evidence.nulls.values()
    np.testing.assert_allclose(null.drawn, values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("table", "case"),
    [
        ("levels", "5 shared classes"),
        ("differences", "no difference, widths 20 and 200"),
        ("maps", "6 x 6, 9 pairs share a signal"),
    ],
)
def test_a_study_says_the_same_each_time_and_in_every_order(table, case):
    (study,) = (s for s in validity.STUDIES if s[:2] == (table, case))
    results = [study.measured(index) for index in (0, 1)]
    again = [study.measured(index) for index in (1, 0)][::-1]
    assert results == again
    rows = study.summary(study, results)
    assert len(rows) == len({row[:5] for row in rows}) == len(results[0])
    assert all(0 <= row.number <= 100 and row.sets == 2 for row in rows)


def test_coverage_is_how_often_the_mean_of_all_values_is_held():
    study = next(s for s in validity.STUDIES if s.table == "coverage")
    sets = [
        {
            Key("groups", "cka", "value"): value,
            Key("groups", "cka", "low"): low,
            Key("groups", "cka", "high"): low + 1,
            Key("", "cka", "other value 0"): 4.0,
        }
        for value, low in ((2.0, 2.5), (2.0, 3.5))
    ]
    covered, width = study.summary(study, sets)
    assert (covered.way, covered.what, covered.number) == ("rs.evidence", "coverage", 50)
    assert width.number == pytest.approx(1 / (2 * 1.96 * 1))


def test_the_tables_of_the_page_are_those_of_what_was_measured():
    rows = validity.stored(validity.MEASURED, validity.Row)
    for name, make in validity.TABLES.items():
        assert (validity.GENERATED / name).read_text("utf-8") == make(rows), name
    assert evidence.TABLES.read_text("utf-8") == evidence.tables(
        evidence.stored(evidence.MEASURED, evidence.Cost)
    )


def test_the_stored_studies_are_complete_and_keep_the_promises():
    rows = validity.stored(validity.MEASURED, validity.Row)
    assert {row[:2] for row in rows} == {study[:2] for study in validity.STUDIES}
    right = {
        ("Gaussian rows", "orders"),
        ("Gaussian rows", "exact moments"),
        ("lognormal rows", "orders"),
        ("lognormal rows", "exact moments"),
        ("20 blocks of 5 rows", "whole blocks"),
        ("5 shared classes", "inside classes"),
        ("series of 200", "shifted windows"),
    }
    levels = [row for row in rows if row.what == "rejected" and (row.case, row.way) in right]
    assert len(levels) == 9 + 7 + 9 + 7 + 5 + 5 + len(SERIES)
    for row in levels:
        assert row.sets >= 500
        assert row.number <= 100 * bounds(row.sets)[1] / row.sets, row
    for row in rows:
        if row.what == "coverage" and row.way == "rs.evidence":
            assert row.number >= 100 * bounds(row.sets, 0.95)[0] / row.sets, row
        if row.what == "family-wise error" and row.way.startswith(("adjusted", "best")):
            assert row.number <= 100 * bounds(row.sets)[1] / row.sets, row


def test_equal_models_of_several_subjects_are_called_different_by_the_t_test_only() -> None:
    shares = {
        row[1:3]: row.number
        for row in validity.stored(validity.MEASURED, validity.Row)
        if row.table == "subjects"
    }
    assert len(shares) == 6
    for (_, way), share in shares.items():
        assert share <= 5 if way == "score_models" else share > 20


def test_lower_bounds_of_recalls_are_rarely_above_the_expected_recall() -> None:
    rows = validity.stored(validity.MEASURED, validity.Row)
    wrong = {row[1:3]: row for row in rows if row[0] == "recalls" and row.what == "wrong"}
    assert len(wrong) == 20
    for (_, way), row in wrong.items():
        if way == "rs.upgrade_index":
            assert row.number <= 100 * bounds(row.sets, 0.025)[1] / row.sets
        else:
            assert row.number > 4
    accepted = [row.number for row in rows if row.table == "accepted"]
    assert len(accepted) == 3
    assert max(accepted) < 2.5
