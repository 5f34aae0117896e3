"""The published numbers as they were printed, the ranks that follow from them, and comparison with
other ranks."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial

import numpy as np
import pytest

import resemblance as rs
from papers.ding.claims import CLAIMS_OF
from papers.published import compare_published, order_agreement, published, published_ranks


@pytest.fixture(scope="module")
def cells():
    return published()


def cell(cells, table, label, architecture, quality, dataset=None):
    """The one value of a table."""
    (found,) = (
        c
        for c in cells
        if (c.table, c.label, c.architecture, c.quality) == (table, label, architecture, quality)
        and dataset in (None, c.dataset)
    )
    return found


PRINTED = [  # table, measure, network, quality, data set, value, stars, test
    ("21", "CKA", "VGG19", "auprc", None, 0.77, "", "labels"),
    ("21", "CKA", "RNet18", "auprc", None, 1.0, "", "labels"),
    ("21", "CKA", "ViT_B32", "conformity", None, 0.72, "", "labels"),
    ("8", "AngShape", "SAGE", "spearman_jsd", "Flickr", 0.63, "**", "output"),
    ("7", "PWCCA", "GAT", "spearman_accuracy", "OGBN-Arxiv", -0.3, "**", "accuracy"),
    ("12", "CKA", "GAT", "spearman", "Flickr", 0.39, "", "layers"),
    ("30", "CKA", "SAGE", "seconds", None, 0.03, "", "runtime"),
    ("3_submission", "LinReg", "RNet18", "spearman_accuracy", None, 0.18, "", "accuracy"),
    ("3_final", "LinReg", "RNet18", "spearman_accuracy", None, 0.19, "", "accuracy"),
]


def test_values_are_those_of_the_paper(cells):
    for *key, value, stars, test in PRINTED:
        found = cell(cells, *key)
        assert (found.value, found.stars, found.test) == (value, stars, test), key
    for table, source, data in (
        ("3_submission", "OpenReview submission", "MNLI"),
        ("3_final", "ICLR 2025 version", "SST2"),
    ):
        assert {c.source for c in published(table)} == {source}
        assert {c.dataset for c in published(table) if c.domain == "language"} == {data}


def test_missing_and_doubtful_values_have_a_reason(cells):
    for c in cells:
        assert bool(c.reason) == (c.value is None or c.doubtful), c
        if c.value is not None and c.quality != "seconds":
            assert (0 if c.quality in ("auprc", "conformity") else -1) <= c.value <= 1, c
    assert cell(cells, "21", "PWCCA", "RNet18", "auprc").reason == "the paper prints nan"
    assert cell(cells, "21", "RTD", "RNet18", "auprc").reason.endswith("no row for this measure")
    assert all(c.doubtful for c in published("15a") if c.label != "RankSim")
    short = cell(cells, "21", "IMD", "RNet18", "auprc")
    assert (short.value, short.doubtful) == (1.0, True)
    assert cell(cells, "21", "IMD", "RNet18", "conformity").value is None
    for table, value in (("8", 0.59), ("3_submission", 0.5)):  # which contradict each other
        one = cell(cells, table, "HardCorr", "SAGE", "spearman_jsd", "Flickr")
        assert (one.value, one.doubtful) == (value, True)
    # The later version differs from both: a result that changed
    assert not cell(cells, "21", "AlignCos", "RNet18", "auprc").doubtful


def test_every_column_has_an_entry_for_each_of_the_24_measures(cells):
    columns = Counter((c.table, *c[3:9]) for c in cells)
    assert set(columns.values()) == {24}
    names = {measure.name: measure.label for measure in rs.preset("resi")}
    assert {(c.measure, c.label) for c in cells} == set(names.items())


@pytest.mark.parametrize("domain", [None, "graphs", "language", "vision"])
def test_ranks_count_the_better_measures(cells, domain):
    ranked_by = {test: {"auprc"} for test in ("labels", "shortcut", "augmentation")}
    ranked_by |= {"accuracy": {"spearman_accuracy"}, "layers": {"spearman"}}
    ranked_by |= {"output": {"spearman_jsd", "spearman_disagreement"}}
    columns = defaultdict(list)
    for c in cells:
        is_ranked = c.table[0] != "3" and c.quality in ranked_by.get(c.test, ())
        if is_ranked and domain in (None, c.domain) and c.value is not None and not c.doubtful:
            columns[c.table, c.quality, c.dataset, c.architecture].append((c.label, c.value))
    ranks = defaultdict(list)
    for column in columns.values():
        for label, value in column if len(column) >= 12 else ():
            ranks[label].append(1 + sum(other > value for _, other in column))
    found = published_ranks(domain)
    assert found == {label: pytest.approx(np.mean(r)) for label, r in ranks.items()}
    assert list(found.values()) == sorted(found.values())
    assert domain != "vision" or "RTD" not in found


def test_comparison_with_the_published_ranks():
    paper = published_ranks("graphs")
    rows = compare_published({"RSA": 2.0, "CKA": 3.5, "2nd-Cos": 3.5, "MyMeasure": 1.0}, "graphs")
    assert [row.label for row in rows] == ["RSA", "2nd-Cos", "CKA"]
    assert [(row.ours, row.position) for row in rows] == [(2.0, 1), (3.5, 2), (3.5, 2)]
    assert [row.published for row in rows] == [paper[row.label] for row in rows]
    assert [row.position_published for row in rows] == [3, 1, 2]  # of 9.73, 7.92 and 9.71


def test_agreement_of_orders():
    paper = published_ranks()
    assert order_agreement(compare_published(paper)) == pytest.approx(1)
    assert order_agreement(
        compare_published({label: -mean for label, mean in paper.items()})
    ) == pytest.approx(-1)
    few = {label: paper[label] for label in ("CKA", "RSA")}
    assert np.isnan(order_agreement(compare_published(few)))
    assert np.isnan(order_agreement(compare_published(dict.fromkeys(paper, 2.0))))


def test_what_claims_quote_of_table_1_is_what_it_prints():
    """The mean over the three measures of Spearman's correlation in every benchmark, language."""
    values = defaultdict(list)
    for c in published("1", paper="ding"):
        if (c.domain, c.quality) == ("language", "spearman"):
            values[c.test].append(c.value)
    del values["average"]
    (claim,) = (text for number, _, text, _ in CLAIMS_OF["summary"] if number == "T3")
    assert claim.partition(" (")[0] == ", ".join(f"{np.mean(of):.2f}" for of in values.values())


def test_a_measure_that_a_table_calls_otherwise_is_said_to_be_renamed():
    reasons = Counter((c.table, c.label) for c in published(paper="mka") if "calls it" in c.reason)
    assert set(reasons) == {("16", "MKA (k=100)")}
    assert all(c.reason for c in published("16", paper="mka") if c.label == "MKA (k=100)")


def test_what_is_not_published_is_refused():
    with pytest.raises(ValueError, match="no published table '17'; known: 3_final, 3_submission"):
        published("17")
    for call in (published_ranks, partial(compare_published, {"CKA": 1.0})):
        with pytest.raises(ValueError, match="no domain 'text'; known: graphs, language, vision"):
            call("text")


def test_measures_that_are_not_published_or_have_no_rank_are_left_out():
    assert compare_published({"cka": 1.0}) == []
    assert [row.label for row in compare_published({"CKA": float("nan"), "RSA": 1.0})] == ["RSA"]
