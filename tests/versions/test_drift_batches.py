"""Batches of other samples by one model: tests of two samples against their formulas, their level,
and what differs by name."""

from __future__ import annotations

import json

import numpy as np
import pytest
from factories.versions import by_kind, by_name, quick, with_rows
from scipy.spatial.distance import cdist, pdist
from scipy.stats import ks_2samp

import resemblance as rs
from resemblance.base.results import saved_text
from resemblance.report.of_drift import drift_result
from resemblance.versions.two_samples import (
    class_shares_test,
    classifier_test,
    energy_test,
    feature_tests,
    mmd_test,
)


def batch(n: int, seed: int, shares: list[float] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Rows of four classes, and the classes."""
    g, centers = np.random.default_rng(seed), np.random.default_rng(7).standard_normal((4, 6))
    classes = g.choice(4, n, p=shares)
    return 2 * centers[classes] + g.standard_normal((n, 6)), classes


FIRST, FIRST_CLASSES = batch(160, 1)
SECOND, SECOND_CLASSES = batch(120, 2)
SHIFTED = SECOND + 1.5 * np.eye(6)[2]
CLASS_MOVED = SECOND + (SECOND_CLASSES == 1)[:, None] * 2.5 * np.eye(6)[0]


def unpaired(y: np.ndarray, classes: np.ndarray | None = None, **options: object) -> rs.DriftReport:
    labels = {} if classes is None else {"labels": FIRST_CLASSES, "batch_labels": classes}
    return quick(FIRST, y, paired=False, **labels, **options)


def test_batches_of_one_distribution_do_not_differ():
    report = unpaired(SECOND, SECOND_CLASSES)
    assert not report.drifted
    assert report.changes == report.features == report.moved == report.unexplained_by_map == ()
    for drift in report.drifts:
        is_known = drift.pvalue is not None
        assert is_known == (drift.value is not None) == (drift.reason == "")
        assert not (drift.paired and is_known)
    assert by_name(report)["cka"].reason == "the test needs the same samples in both versions"
    assert report.unexplained is None
    assert json.loads(saved_text(report))["settings"]["batch"] == 120


CHANGED = {
    "a feature": (SHIFTED, SECOND_CLASSES, {"energy", "mmd", "features"}),
    "the spread": (3 * SECOND, SECOND_CLASSES, {"energy", "mmd"}),
    "dimensions": (SECOND * [3, 1, 1, 0.1, 0.1, 0.1], SECOND_CLASSES, {"effective_rank"}),
    "the shares of classes": (*batch(120, 3, [0.7, 0.1, 0.1, 0.1]), {"class_shares"}),
    "a class": (CLASS_MOVED, SECOND_CLASSES, {"class_rows"}),
}


@pytest.mark.parametrize("change", CHANGED)
def test_what_differs_between_batches_is_named(change):
    y, classes, expected = CHANGED[change]
    report = unpaired(y, classes)
    assert report.drifted
    assert expected <= {drift.name for drift in report.drifts if drift.exceeds_threshold}
    assert not report.index.drifted
    if change == "a feature":
        assert [feature.column for feature in report.features] == [2]
        assert "Columns with another distribution, from 0: 2." in report.conclusion
        feature = report.features[0]
        assert feature.after - feature.before == pytest.approx(1.5, abs=0.5)
    if change == "a class":
        assert by_kind(report)["moved_classes"].sentence == "1"
        assert report.changes == ("moved_classes",)
        assert report.class_shifts[0].label == 1
        two = quick(FIRST, y, paired=False, labels=FIRST_CLASSES == 1, batch_labels=classes == 1)
        assert two.class_shifts[0].label
    for thing in (report._repr_html_(), repr(report), drift_result(report).conclusion):
        assert "different samples" in thing


def test_statistics_of_two_samples_are_those_of_their_formulas():
    x, y = FIRST[:30], SECOND[:25]
    pooled = np.concatenate([x, y])
    a, b, c = (cdist(*pair).mean() for pair in ((x, y), (x, x), (y, y)))
    energy = energy_test(pooled, 30, 0)
    assert energy.value == pytest.approx(2 * a - b - c)
    width = np.median(pdist(pooled) ** 2)
    k = np.exp(-(cdist(pooled, pooled) ** 2) / width)
    value = k[:30, :30].mean() + k[30:, 30:].mean() - 2 * k[:30, 30:].mean()
    assert mmd_test(pooled, 30, 0).value == pytest.approx(np.sqrt(value))
    assert energy.pvalue == pytest.approx((1 + (energy.permuted >= energy.value).sum()) / 1000)
    level = 0.02
    at_most = [v for v in energy.permuted if (1 + (energy.permuted >= v).sum()) / 1000 <= level]
    assert energy.limit(level) <= min(at_most)
    distances, p = feature_tests(x, y)
    for column, (distance, value) in enumerate(zip(distances, p)):
        other = ks_2samp(x[:, column], y[:, column], method="asymp")
        assert (distance, value) == pytest.approx((other.statistic, other.pvalue))
    counts = np.array([10, 20]), np.array([15, 5])
    assert class_shares_test(*counts, 0).value == pytest.approx(0.75 - 1 / 3)


def test_the_classifier_is_judged_on_rows_that_it_was_not_fitted_to():
    parts = np.random.default_rng(0).standard_normal((90, 20))
    assert 0.3 < classifier_test(parts, 60, 0).value < 0.7
    parts[:60, 3] += 3
    found = classifier_test(parts, 60, 0)
    assert found.value > 0.9
    assert found.pvalue == 1 / 1000


def test_tests_of_two_samples_keep_their_level():
    """Of 100 pairs of batches without a difference, 5 % and at most the chance of three deviations
    are rejected by each test, and by all together."""
    names = ("energy", "mmd", "classifier", "together")
    rejected = dict.fromkeys(names, 0)
    for seed in range(100):
        pooled = np.random.default_rng(seed).standard_normal((50, 5))
        p = [test(pooled, 30, seed, 99).pvalue for test in (energy_test, mmd_test, classifier_test)]
        for name, value in zip(names, (*p, 3 * min(p))):
            rejected[name] += value <= 0.05
    assert max(rejected.values()) <= 5 + 3 * np.sqrt(100 * 0.05 * 0.95)
    assert min(rejected[name] for name in names[:3]) >= 1


@pytest.mark.parametrize("scale", [1e-200, 1e90])
def test_batches_in_any_unit_and_at_any_offset_give_the_same(scale):
    here = by_name(unpaired(SHIFTED))
    there = by_name(quick(FIRST * scale, SHIFTED * scale, paired=False))
    moved = by_name(quick(FIRST + 1e6, SHIFTED + 1e6, paired=False))
    for name in ("energy", "mmd", "classifier", "effective_rank"):
        assert there[name].value == pytest.approx(here[name].value)
        assert moved[name].value == pytest.approx(here[name].value, rel=1e-4)


def test_the_seed_alone_draws_the_permutations():
    g = np.random.default_rng(0)
    x, y = g.standard_normal((60, 4)), g.standard_normal((40, 4)) + 0.2
    one, same, other = (
        [drift.pvalue for drift in rs.drift(x, y, paired=False, seed=seed).drifts]
        for seed in (0, 0, 1)
    )
    assert one == same != other


def test_rows_of_both_batches_are_a_fact():
    (fact,) = unpaired(np.concatenate([SECOND, FIRST[:30]])).row_facts
    assert (fact.kind, fact.count, fact.rows) == ("shared rows", 30, 150)
    (zeros,) = unpaired(with_rows(SECOND, slice(0, 3), 0)).row_facts
    assert (zeros.kind, zeros.count) == ("zeros", 3)


BAD_BATCHES = [
    ({"current": SECOND[:, :3]}, "with the same model"),
    ({"current": SECOND[:19]}, "at least 20 samples in each batch"),
    ({"labels": FIRST_CLASSES}, "got labels only: pass batch_labels"),
    ({"batch_labels": SECOND_CLASSES}, "got batch_labels only: pass labels"),
    ({"paired": True, "current": FIRST, "batch_labels": FIRST_CLASSES}, "pass paired=False"),
    (
        {"labels": FIRST_CLASSES, "batch_labels": FIRST_CLASSES},
        r"batch_labels must be one per sample.*120",
    ),
    ({"threshold": 0.05}, 'threshold="calibrated"'),
    ({"paired": "no"}, "True or False"),
]


def test_mistakes_about_batches_are_named(subtests):
    for change, words in BAD_BATCHES:
        call = {"reference": FIRST, "current": SECOND, "paired": False} | change
        with subtests.test(words), pytest.raises(ValueError, match=words):
            rs.drift(**call, progress=False)
