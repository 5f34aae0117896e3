"""Facts of the rows that no map explains: what each is, that it comes first, and that its remedy
works."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from factories.versions import clustered, orthogonal, quick, unit_rows, with_rows

import resemblance as rs
from resemblance.base.results import saved_document
from resemblance.report.of_drift import drift_result
from resemblance.versions.facts import find_version_facts
from resemblance.versions.retrieval import version_rows

OLD = clustered(0)
NEW = OLD @ orthogonal(24, np.random.default_rng(1))
CHOSEN = [3, 7, 1, 20, 11, 15]
BITS, WORDS = np.packbits(OLD > 0, axis=1), np.random.default_rng(0).standard_normal((200, 128)) > 0
DEAD = OLD * (np.arange(24) % 6 > 0)
ONE_HOT = np.eye(5)[np.arange(600) % 5]
REPEATED = np.arange(600) % 590

FACTS = {
    "half migrated": (OLD, with_rows(OLD, slice(360, None), NEW[360:]), {"equal rows": 360}),
    "half migrated, in float32": (
        OLD, with_rows(OLD, slice(8), NEW[:8]).astype("f4"), {"equal rows": 592},
    ),
    "lengths lost": (unit_rows(OLD), OLD, {"lengths": 600}),
    "lengths of some": (
        OLD, with_rows(OLD, slice(500, None), unit_rows(OLD[500:])), {"lengths": 100},
    ),
    "lengths and another model": (
        OLD, np.concatenate([OLD[:200], unit_rows(OLD[200:400]), NEW[400:]]),
        {"equal rows": 200, "lengths": 200},
    ),
    "cut and normalised": (OLD, unit_rows(OLD[:, :8]), {"leading columns": 600}),
    "cut": (OLD[:, :8], OLD.astype("f4"), {"leading columns": 600}),
    "chosen": (OLD, OLD[:, CHOSEN], {"chosen columns": 600}),
    "chosen and normalised": (unit_rows(OLD[:, CHOSEN]), OLD, {"chosen columns": 600}),
    "in another order": (OLD, OLD[:, ::-1].astype("f4"), {"order of columns": 600}),
    "chosen with dead units": (DEAD, DEAD[:, [3, 6, 0, 5, 12]], {"chosen columns": 600}),
    "other inputs": (OLD, clustered(3), {"other inputs": 600}),
    "unrelated": (OLD, clustered(3)[:, :8] ** 3, {"unrelated rows": 600}),
    "zeros": (OLD, with_rows(NEW, slice(0, 20), 0), {"zeros": 20}),
    "one zero": (OLD, with_rows(NEW, slice(5, 6), 0), {"zeros": 1}),
    "zeros in both": (
        with_rows(OLD, slice(0, 9), 0), with_rows(NEW, slice(0, 9), 0), {"zeros": 9},
    ),
    "a default vector": (OLD, with_rows(NEW, slice(0, 30), NEW[77]), {"copies": 31}),
    "inputs that repeat": (OLD[REPEATED], NEW[REPEATED], {"copies": 20}),
    "an outlier": (OLD, with_rows(NEW, slice(3, 4), 1e9), {"far rows": 1}),
    "packed bits": (OLD, BITS, {"packed bits": 600}),
    "packed bits, signed": (BITS.astype(int) - 128, OLD > 0.0, {"packed bits": 600}),
    "nothing but a rotation": (OLD, NEW, {}),
    "nothing at all": (OLD, OLD.copy(), {}),
    "rounding": (OLD, OLD.astype("f4"), {}),
    "a factor": (OLD, OLD.astype("f4") * 3, {}),
    "noise": (OLD, OLD + 0.5 * clustered(4), {}),
    "a nonlinear model": (OLD, np.tanh(NEW[:, :9] + NEW[:, 9:18]), {}),
    "classes": (ONE_HOT, ONE_HOT * 2, {}),
}  # fmt: skip
OF_ANY_SIZE = [case for case in FACTS if FACTS[case][1].dtype != "f4" and "bits" not in case]


@pytest.mark.parametrize(
    ("case", "size"),
    [(case, 1) for case in FACTS] + list(zip(OF_ANY_SIZE, itertools.cycle((1e-200, 1e90)))),
)
def test_rows_show_facts_that_no_map_explains(case, size):
    x, y, expected = FACTS[case]
    versions = (version_rows(rs.Representation(v * size if size != 1 else v)) for v in (x, y))
    facts = find_version_facts(*versions)
    assert {fact.kind: fact.count for fact in facts} == expected
    assert all(f.count == f.rows or f"{f.count:,} of {f.rows:,} rows" in f.sentence for f in facts)


drift_of_few = functools.partial(quick, max_samples=150)  # facts are those of all rows


def test_facts_come_first_and_take_the_place_of_maps_that_do_not_hold(subtests):
    for name in ("half migrated", "lengths lost", "zeros"):
        with subtests.test(name):
            report = drift_of_few(*FACTS[name][:2])
            first = report.row_facts[0]
            assert report.conclusion.startswith(f"Drift for a search index. {first.sentences}")
            assert ("What happened" in report.conclusion) == (name == "zeros")
            assert saved_document(report)["row_facts"][0]["kind"] == first.kind
            page = drift_result(report)
            assert page.sections[0].tables[0].rows[0][0] == first.kind
            assert "rs.upgrade_index" not in page.conclusion


def test_what_a_fact_advises_works():
    reference, current, _ = FACTS["half migrated"]
    changed = (reference != current).any(axis=1)
    assert drift_of_few(reference[changed], current[changed]).changes == ("rotation",)
    reference, current, _ = FACTS["lengths lost"]
    assert not drift_of_few(unit_rows(reference), unit_rows(current)).drifted
    reference, current, _ = FACTS["cut and normalised"]
    assert not drift_of_few(unit_rows(reference[:, :8]), current).drifted
    for name in ("chosen", "chosen and normalised", "in another order"):
        reference, current, _ = FACTS[name]
        (fact,) = drift_of_few(reference, current).row_facts
        kept = eval(fact.remedy.rpartition("most, ")[2].rstrip("."))
        shorter = min(reference, current, key=lambda v: (v.shape[1], v is reference))
        assert "3, 7, 1, 20, 11, 15 (from 0)" in fact.sentence or name == "in another order"
        assert not drift_of_few(unit_rows(kept), unit_rows(shorter.astype(float))).drifted
    reference, current, _ = FACTS["zeros"]
    rest = ~(current == 0).all(axis=1)
    assert not drift_of_few(reference[rest], current[rest]).row_facts
    for packed, back in ((BITS, 0), (FACTS["packed bits, signed"][0], 128)):
        unpacked = np.unpackbits((packed + back).astype(np.uint8), axis=1)[:, :24]
        assert (unpacked == (OLD > 0)).all()


@pytest.mark.parametrize("kind", [np.uint16, np.uint64])
def test_bits_packed_into_words_are_named_with_a_remedy_that_unpacks_them(kind):
    packed = np.packbits(WORDS, axis=1).view(kind)
    report = quick(WORDS.astype(float), packed)
    assert [fact.kind for fact in report.row_facts] == ["packed bits"]
    assert "np.ascontiguousarray(vectors).view(np.uint8)" in report.conclusion
    unpacked = np.unpackbits(np.ascontiguousarray(packed).view(np.uint8), axis=1)[:, :128]
    assert np.array_equal(unpacked, WORDS)


def test_facts_of_rows_in_another_order_are_left_out_of_its_verdict():
    conclusion = quick(OLD, OLD[np.r_[1, 0, 2:600]], max_samples=600).conclusion
    assert "another order" in conclusion
    assert "Two models" not in conclusion


@pytest.mark.parametrize("compare", ["pairs", "batches", "index"])
def test_copies_of_samples_are_named_once(compare):
    rows = np.arange(600) % 300
    rows[:10] = np.arange(10) + 590
    queries = clustered(5, n=40)
    turned = queries @ orthogonal(24, np.random.default_rng(1))
    if compare == "index":
        report = rs.upgrade_index(OLD[rows], NEW[rows], queries, turned, progress=False)
    else:
        report = quick(OLD[rows], NEW[rows], paired=compare == "pairs")
    assert [fact.kind for fact in report.row_facts].count("copies") == 1
    assert not any("cop" in caveat or "distinct" in caveat for caveat in report.caveats)
