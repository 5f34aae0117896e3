"""The exact search of neighbours: what single precision proposes is what double precision finds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import resemblance as rs
from resemblance.base.arrays import row_blocks
from resemblance.inference.jackknife import subsample_representation
from resemblance.intermediates import search as searching
from resemblance.intermediates.neighbors import (
    nearest,
    nearest_in_subset,
    reuse_neighbors_in_subsets,
)
from resemblance.intermediates.search import (
    is_screening_worthwhile,
    nearest_by_full_comparison,
    search_nearest,
)
from resemblance.intermediates.similarities import Similarity, neighbor_similarity
from resemblance.intermediates.ties import Nearest, stack_row_blocks

N, D = 600, 24
AFFINITIES = ["cosine", "euclidean", "inner"]


def gaussian(shape=(N, D), seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def clusters(width):
    return gaussian()[np.arange(N) % 20] + width * gaussian(seed=1)


def with_an_outlier(distance):
    data = gaussian()
    data[7] *= distance
    return data


def with_zero_rows():
    data = gaussian()
    data[::9] = 0
    return data


def scaled_rows(low, high):
    return gaussian() * np.logspace(low, high, N)[:, None]


# Data, and whether single precision leaves rows open: None where that is not the point.
CASES = {
    "Gaussian": (gaussian(), False),
    "wide": (gaussian((N, 2 * N)), False),
    "one feature": (gaussian((N, 1)), None),
    "two features": (gaussian((N, 2)), None),
    "clusters": (clusters(0.1), False),
    "tight clusters": (clusters(1e-6), True),
    "clusters of rounding": (clusters(1e-15), True),
    "duplicates": (np.repeat(gaussian((N // 3, D)), 3, axis=0), True),
    "one-hot": (np.eye(8)[np.arange(N) % 8], True),
    "binary": ((gaussian() > 0).astype(float), True),
    "grid": (np.round(gaussian((N, 3))), True),
    "ReLU": (np.maximum(gaussian((N, 4)) - 0.5, 0), True),
    "zero rows": (with_zero_rows(), None),
    "offset": (gaussian() + 1e8, None),
    "an outlier": (with_an_outlier(1e6), None),
    "a distant outlier": (with_an_outlier(1e12), None),
    "an outlier beyond float32": (with_an_outlier(1e60), None),
    "rows of all scales": (scaled_rows(-20, 20), None),
    "rows beyond the squares of float64": (scaled_rows(-150, 150), None),
    "huge": (1e150 * gaussian(), False),
    "tiny": (1e-150 * gaussian(), False),
    "subnormal": (1e-310 * gaussian(), None),
    "float32": (gaussian().astype(np.float32), False),
}


def in_full(similarity: Similarity, k: int) -> Nearest:
    blocks = row_blocks(similarity.points.shape[0])
    return stack_row_blocks(
        nearest_by_full_comparison(np.arange(*block), similarity, k) for block in blocks
    )


def assert_same(a: Nearest, b: Nearest) -> None:
    assert np.array_equal(a.listed, b.listed)
    for first, second in zip(a.ties, b.ties):
        assert np.array_equal(first, second)


def test_the_neighbors_are_those_of_double_precision(subtests):
    for k in [1, 10]:
        for case in CASES:
            for metric in AFFINITIES:
                with subtests.test(f"{k}, {case}, {metric}"):
                    data, is_open = CASES[case]
                    similarity = neighbor_similarity(rs.Representation(data), metric)
                    assert is_screening_worthwhile(similarity, k) == (similarity.gram is None)
                    if similarity.gram is not None:
                        continue
                    quick = search_nearest(similarity, k)
                    assert_same(quick, in_full(similarity, k))
                    if is_open is not None and metric == "euclidean" and k == 10:
                        assert (quick.redone > 0) == is_open


def test_those_of_a_part_are_taken_from_the_neighbors_of_all_samples(subtests):
    half = np.sort(np.random.default_rng(3).choice(N, N // 2, replace=False))
    k = 10
    for case, (data, _) in CASES.items():
        for metric in AFFINITIES:
            with subtests.test(f"{case}, {metric}"):
                part = subsample_representation(rs.Representation(data), half)
                a, b = (
                    nearest(r, k=k, metric=metric) for r in (part, rs.Representation(data[half]))
                )
                assert_same(a, b)
                with reuse_neighbors_in_subsets(True):
                    first = nearest(rs.Representation(data), k=k, metric=metric)
                assert_same(first, nearest(rs.Representation(data), k=k, metric=metric))
    whole = rs.Representation(gaussian())
    assert nearest_in_subset(whole, half, 10, "cosine", "exact") is not None
    with pytest.raises(rs.UndefinedError, match="k must be"):
        nearest(subsample_representation(whole, half[:5]), k=10, metric="cosine")


@pytest.mark.parametrize("metric", AFFINITIES)
@pytest.mark.parametrize(
    "data", [gaussian((40, 5)), scaled_rows(-25, 0)[::15], with_an_outlier(1e30)[:40]]
)
def test_the_error_of_single_precision_is_bounded(data, metric):
    """No score differs from the similarity, computed in fractions, by more than the bound by which
    the smallest proposed score is lowered."""
    similarity = neighbor_similarity(rs.Representation(data), metric)
    points, squares, terms, *_ = similarity
    scores = searching._single_precision_similarity(similarity).to_others(np.arange(len(points)))
    c, d = searching._single_precision_error(points.shape[1]), points.shape[1]
    rows = [[Fraction(v) for v in row] for row in points]
    for i, j in np.random.default_rng(0).integers(len(points), size=(60, 2)):
        if i == j:
            continue
        exact = sum(a * b for a, b in zip(rows[i], rows[j]))
        if squares is not None:
            exact = 2 * exact - Fraction(squares[j])
        allowed = c * terms[i] + 16 * (d + 1) * float(np.finfo(np.float32).tiny)
        beyond = allowed if squares is None else allowed + 2 * c * squares[j]
        assert -beyond <= float(exact - Fraction(float(scores[i, j]))) <= allowed
