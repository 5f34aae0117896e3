"""Transformations of one representation, and their effect on stability and similarity."""

from __future__ import annotations

import numpy as np
import pytest

import resemblance as rs
from papers.shesha.synthetic import mixture
from resemblance.stability import transformation_study, transformations


def test_transformations_are_those_of_table_14_and_each_is_there_once():
    points = np.random.default_rng(0).standard_normal((40, 70)) * 1.5 ** np.arange(70)
    made = transformations(points)
    assert sorted(made) == sorted(
        [
            "original", "zscore", "l2norm", "topvar_050", "randfeat_050", "noise_005",
            "noise_010", "noise_025", "noise_050", "noise_100",
            *(f"pca_{k:03d}" for k in (5, 10, 15, 25, 35, 39)),
            *(f"randproj_{k:03d}" for k in (16, 32, 64, 70)),
        ]
    )  # fmt: skip
    assert len({array.tobytes() for array in made.values()}) == 20
    np.testing.assert_array_equal(made["topvar_050"], points[:, 20:])
    np.testing.assert_allclose(np.linalg.norm(made["l2norm"], axis=1), 1)
    np.testing.assert_allclose(made["zscore"].std(axis=0), 1)
    centered = points - points.mean(axis=0)
    grams = (x @ x.T for x in (made["pca_039"], centered))
    np.testing.assert_allclose(*grams, rtol=1e-8)
    assert made["noise_100"].std() > made["noise_005"].std()
    again = transformations(points, seed=1)
    assert not np.array_equal(again["randproj_016"], made["randproj_016"])
    np.testing.assert_array_equal(again["pca_005"], made["pca_005"])
    points[:, 3], points[4] = 0.0, 0.0
    assert all(np.isfinite(made).all() for made in transformations(points).values())


INFINITE = np.where(np.arange(160).reshape(20, 8) == 26, np.inf, np.eye(20, 8))


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.ones((9, 20)), "X must have at least 10 samples and 5 features"),
        (np.ones((20, 4)), "X must have at least 10 samples and 5 features"),
        (INFINITE, r"X \(20, 8\) has NaN or infinite values in 1 samples, the first 3"),
        (np.zeros(20), "."),
        ([["a"] * 8] * 20, "."),
    ],
)
def test_what_cannot_be_transformed_is_refused(points, message):
    with pytest.raises((ValueError, TypeError), match=message):
        transformations(points)


def test_a_study_of_transformations():
    points = mixture(0.9, 0)[:60, :40]
    found = {t.name: t for t in transformation_study(points, k=6)}
    original, whole = found["original"], found.get("pca_039") or found["pca_040"]
    assert original.stability == rs.statistics.feature_split(points, k=6, seed=320)
    assert original.similarity > original.without_self  # it is 1 to itself
    assert found["l2norm"].similarity == found["l2norm"].without_self  # which is no reference
    assert abs(whole.stability) < 0.2 < original.stability
    assert {t.regime for t in found.values()} == {"compression", "preserving"}
    assert list(found) == list(transformations(points))
