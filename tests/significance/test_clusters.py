"""Clusters over time by sign flips: a loop over all flips with scipy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from resemblance.significance.clusters import sign_flip_clusters


def clusters_by_loop(values: np.ndarray, threshold: float, signs: Any) -> list[tuple[Any, ...]]:
    """Return column, start, stop and mass of clusters of t above a threshold, time by time."""
    clusters = []
    for column in range(values.shape[2]):
        t = ttest_1samp(values[:, :, column] * np.array(signs), 0, axis=1).statistic
        places = [k for k in range(len(t)) if t[k] > threshold]
        for _, group in itertools.groupby(enumerate(places), key=lambda p: p[1] - p[0]):
            run = [place for _, place in group]
            clusters.append((column, run[0], run[-1], t[run].sum()))
    return clusters


@pytest.mark.parametrize("two_sided", [False, True])
def test_pvalues_are_shares_of_all_sign_patterns(two_sided: bool) -> None:
    values = np.random.default_rng(4).standard_normal((12, 6, 2))
    values[3:7, :, 0] += 1.5
    values[8:11, :, 1] -= 1.2
    threshold = student.isf(0.05 / (1 + two_sided), 5)
    patterns = list(itertools.product((1, -1), repeat=6))
    sides = (1, -1) if two_sided else (1,)
    expected = [
        (*place, side * mass)
        for side in sides
        for *place, mass in clusters_by_loop(side * values, threshold, patterns[0])
    ]
    largest = [
        max(
            (c[3] for side in sides for c in clusters_by_loop(side * values, threshold, signs)),
            default=0.0,
        )
        for signs in patterns
    ]
    test = sign_flip_clusters(values, two_sided=two_sided)
    assert test.n_patterns == 64
    assert test.min_pvalue == (1 + two_sided) / 64
    assert [c[:3] for c in test.clusters] == sorted(e[:3] for e in expected)
    for cluster in test.clusters:
        mass = next(e[3] for e in expected if e[:3] == cluster[:3])
        assert cluster.mass == pytest.approx(mass)
        share = np.mean([value >= abs(mass) - 1e-9 for value in largest])
        assert cluster.pvalue == pytest.approx(share)
    assert min(c.pvalue for c in test.clusters) < 0.05
    drawn = sign_flip_clusters(values, two_sided=two_sided, n_permutations=63, seed=1)
    assert drawn.n_patterns == 63
    assert drawn.clusters[0].mass == test.clusters[0].mass
    assert (drawn.clusters[0].pvalue * 64) % 1 == 0
    assert drawn.min_pvalue == 1 / 64


def test_values_without_a_test_are_refused(subtests: Any) -> None:
    values = np.ones((5, 3, 1))
    cases: dict[str, tuple[str, np.ndarray, dict[str, Any]]] = {
        "one subject": ("two subjects", values[:, :1], {}),
        "a curve alone": ("shape", values[..., 0], {}),
        "missing": ("finite", np.where(values > 0, np.nan, 0), {}),
        "alpha": ("alpha", values, {"alpha": 0.5}),
        "permutations": ("n_permutations", values, {"n_permutations": 0}),
    }
    for name, (message, data, options) in cases.items():
        with subtests.test(name), pytest.raises(ValueError, match=message):
            sign_flip_clusters(data, **options)
    equal = sign_flip_clusters(values).clusters
    assert [(c.start, c.stop, c.pvalue) for c in equal] == [(0, 4, 1 / 8)]
    assert not sign_flip_clusters(0 * values).clusters
