"""Transformations of one representation, and what they do to its stability and similarity."""

from __future__ import annotations

import numpy as np
import pytest

import resemblance as rs
from papers.shesha.synthetic import mixture
from resemblance.stability import transformation_study, transformations


def test_transformations_are_those_of_table_14_and_each_is_there_once():
    points = np.random.default_rng(0).standard_normal((40, 70)) * 1.5 ** np.arange(70)
    made = transformations(points)
    assert [n for n in made if n.startswith("pca")] == [
        f"pca_{k:03d}" for k in (5, 10, 15, 25, 35, 39)
    ]
    assert [n for n in made if n.startswith("randproj")] == [
        "randproj_016",
        "randproj_032",
        "randproj_064",
        "randproj_070",
    ]
    assert {
        "topvar_050",
        "randfeat_050",
        "noise_005",
        "noise_100",
        "original",
        "zscore",
        "l2norm",
    } <= set(made)
    assert len(made) == len({array.tobytes() for array in made.values()}) == 20
    np.testing.assert_array_equal(made["topvar_050"], points[:, 20:])
    np.testing.assert_allclose(np.linalg.norm(made["l2norm"], axis=1), 1)
    np.testing.assert_allclose(made["zscore"].std(axis=0), 1)
    centered = points - points.mean(axis=0)
    np.testing.assert_allclose(
        made["pca_039"] @ made["pca_039"].T, centered @ centered.T, rtol=1e-8
    )
    assert made["noise_100"].std() > made["noise_005"].std()
    again = transformations(points, seed=1)
    assert not np.array_equal(again["randproj_016"], made["randproj_016"])
    np.testing.assert_array_equal(again["pca_005"], made["pca_005"])


def test_constant_features_and_zero_rows_stay_finite():
    points = np.random.default_rng(0).standard_normal((20, 8))
    points[:, 3], points[4] = 2.0, 0.0
    points[:, 3] = 0.0
    for name, made in transformations(points).items():
        assert np.isfinite(made).all(), name


@pytest.mark.parametrize("shape", [(9, 20), (20, 4)])
def test_too_small_for_transformations(shape):
    with pytest.raises(
        ValueError, match="transformations: X must have at least 10 samples and 5 features"
    ):
        transformations(np.ones(shape))


def test_values_that_are_no_numbers_are_named():
    points = np.random.default_rng(0).standard_normal((20, 8))
    points[3, 2] = np.inf
    with pytest.raises(
        ValueError, match=r"X \(20, 8\) has NaN or infinite values in 1 samples, the first 3"
    ):
        transformations(points)


@pytest.mark.parametrize("bad", [np.full((20, 8), np.nan), np.zeros(20), [["a"] * 8] * 20])
def test_arrays_that_are_none(bad):
    with pytest.raises((ValueError, TypeError)):
        transformations(bad)


def test_a_study_of_transformations():
    found = {t.name: t for t in transformation_study(mixture(0.9, 0)[:60, :40], k=6)}
    original = found["original"]
    assert original.stability == rs.statistics.feature_split(
        mixture(0.9, 0)[:60, :40], k=6, seed=320
    )
    assert original.similarity > original.without_self  # it is 1 to itself
    assert found["l2norm"].similarity == found["l2norm"].without_self  # which is no reference
    assert (
        abs(found["pca_039" if "pca_039" in found else "pca_040"].stability)
        < 0.2
        < found["original"].stability
    )
    assert {t.regime for t in found.values()} == {"compression", "preserving"}
    assert list(found) == list(transformations(mixture(0.9, 0)[:60, :40]))
