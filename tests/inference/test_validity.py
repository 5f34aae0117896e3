"""Inference keeps its promises: levels of tests, coverage of intervals; and the stored studies."""

from __future__ import annotations

import evidence
import numpy as np
import validity
from scipy.stats import binom
from validity_intervals import NARROW, pair_of
from validity_tests import BLOCKS, SERIES, grouped, rejections
from validity_tests import rows as unrelated

import resemblance as rs

DEBIASED = "cka[estimator=debiased]"


def bounds(sets: int, share: float = 0.05, doubt: float = 1e-3) -> tuple[float, float]:
    """Return between which numbers of times something of this probability happens."""
    return binom.ppf(doubt, sets, share), binom.isf(doubt, sets, share)


# ----------------------------------------------------------------------------- small simulations


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
        ("Gaussian rows", "permutations"),
        ("Gaussian rows", "exact moments"),
        ("lognormal rows", "permutations"),
        ("lognormal rows", "exact moments"),
        ("20 blocks of 5 rows", "whole blocks"),
        ("5 shared classes", "within classes"),
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
