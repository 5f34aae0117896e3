"""Kernels of nearest neighbours: recorded values, the definitions written out, the theorems, and
data without widths.

``stab_outputs_kernels.json``: the authors' code at f0ff8f0, called on the arrays of
``stab_inputs.npz``.
"""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from factories.files import GOLDEN
from scipy.optimize import brentq
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics.pairwise import cosine_similarity

import resemblance as rs
from resemblance.intermediates.grams import GramKernel, distance_gram, median_distance
from resemblance.intermediates.neighbor_kernels import (
    neighbor_distances,
    umap_bandwidths,
    umap_weight_matrix,
    umap_weights,
)
from resemblance.intermediates.neighbors import NeighborSearch, neighbors
from resemblance.intermediates.points import size

RECORDED = {
    case: parts["mka"]
    for case, parts in json.loads((GOLDEN / "stab_outputs_kernels.json").read_text()).items()
}
KS = (5, 15, 50, 100)
# 60 samples have no 100 neighbours.
DEFINED = [(case, k) for case in RECORDED for k in KS if (case, k) != ("wide", 100)]


@pytest.fixture(scope="module")
def inputs() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    with np.load(GOLDEN / "stab_inputs.npz") as arrays:
        return {case: (arrays[f"{case}__X"], arrays[f"{case}__Y"]) for case in RECORDED}


@pytest.fixture
def pair(rng) -> tuple[np.ndarray, np.ndarray]:
    x = rng.standard_normal((150, 20))
    return x, x + 0.5 * rng.standard_normal(x.shape)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float((a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b))


def kernel_of(data: np.ndarray, k: int, *, symmetrize: bool = False, diagonal: bool = False):
    """The kernel of Eq. 2, sparse."""
    search = NeighborSearch(k, "euclidean")
    return umap_weight_matrix(
        rs.Representation(data), search, symmetrize=symmetrize, diagonal=diagonal
    )


def centring(n: int) -> np.ndarray:
    return np.eye(n) - 1 / n


# ---------------------------------------------------------------------------------- recorded values


VALUES = {  # by the name of the recorded value: tolerances of 2e-5 where theirs is single precision
    "MKA64": (rs.mka, 1e-9, 0),
    "MKA": (rs.mka, 2e-5, 0),
    "MKA64_nodiag": (rs.mka.with_parameters(diagonal=False), 1e-9, 0),
    "symCKA_diag1": (rs.mka.with_parameters(symmetrize=True), 2e-5, 2e-8),
    "symCKA_diag0": (rs.mka.with_parameters(symmetrize=True, diagonal=False), 2e-5, 2e-8),
    "kCKA": (rs.kcka.with_parameters(variant="code"), 1e-9, 0),
}


def test_values_equal_the_authors_code(inputs, subtests):
    for (case, k), (name, (measure, rel, rounding)) in itertools.product(DEFINED, VALUES.items()):
        with subtests.test(f"{case}, {name}, {k}"):
            expected = pytest.approx(RECORDED[case][f"{name}_k{k}"], rel=rel, abs=rounding)
            assert measure(*inputs[case], k=k) == expected


def test_rbf_cka_with_the_authors_width_equals_their_code(inputs, subtests):
    """Their median is that of all n x n squared distances, the zeros of the diagonal included."""
    for case in RECORDED:
        for delta in ["None", "0.2", "0.45"]:
            with subtests.test(f"{case}, {delta}"):
                factor, grams = 1.0 if delta == "None" else float(delta), []
                for data, side in zip(inputs[case], "XY", strict=True):
                    x = rs.Representation(data)
                    median = np.median(cdist(data, data, "sqeuclidean"))
                    assert median == pytest.approx(
                        RECORDED[case][f"median_sq_dist_{side}"], rel=1e-9
                    )
                    ratio = median**0.5 / float(size(x) * median_distance(x))
                    assert 0.9 < ratio <= 1
                    grams.append(distance_gram(x, GramKernel("rbf", factor * ratio)))
                assert cosine(*grams) == pytest.approx(RECORDED[case][f"CKA_RBF_{delta}"], rel=1e-9)


def test_the_kernel_equals_the_authors_kernel(inputs):
    x = rs.Representation(inputs["gauss_indep"][0])
    with np.load(GOLDEN / "stab_mka_kernel_gauss_indep_k15.npz") as recorded:
        assert np.array_equal(neighbors(x, k=15, metric="euclidean"), recorded["nn_idx"])
        distances = neighbor_distances(x, NeighborSearch(15, "euclidean")) * float(size(x))
        assert distances.min(axis=1) == pytest.approx(recorded["rho"], rel=1e-12)
        assert umap_bandwidths(distances - distances[:, :1]) == pytest.approx(
            recorded["sigma"], rel=1e-9
        )
        kernel = kernel_of(x.array, 15).toarray()
        assert kernel == pytest.approx(recorded["K_float32"], abs=1e-7)
        union = kernel_of(x.array, 15, symmetrize=True).toarray()
        assert union == pytest.approx(recorded["K_sym_float32"], abs=1e-6)


# -------------------------------------------------------------------------- definitions written out


def dense_mka_kernel(x: np.ndarray, k: int, metric: str) -> np.ndarray:
    """Eq. 2 sample by sample, with a root finder instead of the bisection."""
    distances, kernel = cdist(x, x, metric), np.eye(len(x))
    for i, row in enumerate(distances):
        nearest = np.argsort(np.where(np.arange(len(x)) == i, np.inf, row), kind="stable")[:k]
        excess = row[nearest] - row[nearest].min()
        log_sigma = brentq(
            lambda s, e=excess: np.exp(-e / np.exp(s)).sum() - np.log2(k), -30, 30, xtol=1e-14
        )
        kernel[i, nearest] = np.exp(-excess / np.exp(log_sigma))
    return kernel


def test_mka_is_the_cosine_of_row_centered_kernels(pair, subtests):
    h = centring(150)
    for k, metric in itertools.product([3, 15, 149], ["euclidean", "cosine"]):
        with subtests.test(f"{k}, {metric}"):
            mka = rs.mka.with_parameters(k=k, metric=metric)
            kernels = [dense_mka_kernel(r, k, metric) for r in pair]
            assert mka(*pair) == pytest.approx(cosine(*(K @ h for K in kernels)), rel=1e-9)
            union = cosine(*(h @ (K + K.T - K * K.T) @ h for K in kernels))
            assert mka(*pair, symmetrize=True) == pytest.approx(union, rel=1e-9)


def test_kcka_by_its_equations(pair, subtests):
    for k, variant in itertools.product([3, 15, 149], ["paper", "code"]):
        with subtests.test(f"{k}, {variant}"):
            centered, oneself = [], np.eye(150, dtype=bool)
            for r in pair:
                distances = cdist(r, r, "sqeuclidean" if variant == "code" else "euclidean")
                order = np.argsort(np.where(oneself, np.inf, distances), axis=1)[:, :k]
                near = np.take_along_axis(distances, order, axis=1)
                kernel = np.eye(150) * (variant == "code")
                np.put_along_axis(kernel, order, np.exp(-near / (2 * np.median(near))), axis=1)
                centered.append(kernel @ centring(150))
            a, b = centered
            traces = [np.trace(p @ q) for p, q in ((a, b), (a, a), (b, b))]
            code = traces[0] / np.sqrt(traces[1] * traces[2])
            expected = pytest.approx(code if variant == "code" else cosine(a, b), rel=1e-10)
            assert rs.kcka(*pair, k=k, variant=variant) == expected


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
def test_cka_of_other_kernels_by_its_definition(rng, subtests):
    kernels = {
        "laplace": lambda r: np.exp(-cdist(r, r) / (0.7 * np.median(pdist(r)))),
        "cosine": cosine_similarity,
    }
    for kernel, (n, d, e) in itertools.product(kernels, [(50, 6, 4), (20, 30, 45), (30, 40, 5)]):
        with subtests.test(f"{kernel}, {n, d, e}"):
            x, y = rng.standard_normal((n, d)) + 0.5, rng.standard_normal((n, e)) - 0.2
            grams = [centring(n) @ kernels[kernel](r) @ centring(n) for r in (x, y)]
            width = {"bandwidth": 0.7} if kernel == "laplace" else {}
            cka = rs.cka.with_parameters(kernel=kernel, **width)
            assert cka(x, y) == pytest.approx(cosine(*grams), rel=1e-9)
            off = [g - np.diag(np.diag(g)) for g in grams]
            assert cka(x, y, estimator="lange") == pytest.approx(cosine(*off), rel=1e-9)


@pytest.mark.parametrize("n", [30, 3000])
def test_cosine_cka_needs_two_directions(n, rng):
    x, y = np.outer(rng.uniform(1, 2, n), rng.standard_normal(7)), rng.standard_normal((n, 7))
    with pytest.raises(rs.UndefinedError, match="'X' have the same direction"):
        rs.cka(x, y, kernel="cosine")


# --------------------------------------------------------------------------------- scale and widths


def test_bandwidths_over_many_orders_of_magnitude():
    """The bracket grows as far as it must: excesses from 1e-200 of the largest to the largest."""
    excess = np.array(
        [[0, 1e-200, 1, 1], [0, 1e-8, 2e-8, 1], [0, 0.1, 0.2, 0.3], [0, 1e150, 1e150, 1e150]]
    )
    sigma = umap_bandwidths(excess)
    assert np.exp(-excess / sigma[:, None]).sum(axis=1) == pytest.approx(np.full(4, 2.0), rel=1e-12)
    assert sigma[3] == pytest.approx(1e150 / np.log(3), rel=1e-12)


def test_rows_that_cannot_have_the_sum_are_at_the_limit():
    """Five neighbours, log2 5 = 2.3: with three at the smallest distance the sum is 3 for every
    small sigma."""
    distances = np.array([[2.0, 2, 2, 5, 9], [1, 1, 1, 1, 1], [0, 0, 1, 1, 1], [0, 0, 0, 0, 1]])
    sigmas = umap_bandwidths(distances - distances.min(axis=1, keepdims=True))
    assert not sigmas[[0, 1, 3]].any()
    weights = umap_weights(distances)
    assert weights[[0, 1, 3]].tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 1, 1, 1, 0]]
    assert weights[2].sum() == pytest.approx(np.log2(5), rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 15])
def test_exact_copies_are_what_nearly_exact_ones_are(rng, k):
    """One copy of every sample: moving every sample by 1e-9 moves the value by about as much,
    though rho was 0."""
    copies, y = np.tile(rng.standard_normal((40, 3)), (2, 1)), rng.standard_normal((80, 3))
    moved = copies + 1e-9 * rng.standard_normal(copies.shape)
    assert rs.mka(moved, y, k=k) == pytest.approx(rs.mka(copies, y, k=k), abs=1e-6)


@pytest.mark.parametrize("wide", [False, True])
def test_duplicates_are_left_out_by_index_and_have_distance_0(rng, wide):
    x = rng.standard_normal((60, 90 if wide else 5))
    x[10:41] = x[10]  # 31 equal rows
    r = rs.Representation(x)
    distances = neighbor_distances(r, NeighborSearch(15, "euclidean"))
    assert not distances[10:41].any()
    assert (distances[:10] > 0).all()
    kernel = kernel_of(r.array, 15, diagonal=True).toarray()
    assert np.array_equal(np.diag(kernel), np.ones(60))
    assert kernel[10:41].sum(axis=1).tolist() == [16.0] * 31
    y, h = rng.standard_normal((60, 5)), centring(60)
    other = kernel_of(y, 15, diagonal=True).toarray()
    assert rs.mka(x, y, k=15) == pytest.approx(cosine(kernel @ h, other @ h), rel=1e-12)
    assert rs.mka(x, x, k=15) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("measure", [rs.mka, rs.kcka], ids=str)
def test_too_many_neighbors_and_constant_representations_are_refused(pair, measure):
    x, y = pair
    assert np.isfinite(measure(x, y, k=149))
    with pytest.raises(rs.UndefinedError, match=r"needs at least 151 samples; got 150"):
        measure(x, y, k=150)
    with pytest.raises(rs.UndefinedError, match=r"'X' is constant"):
        measure(np.ones((150, 3)), y, k=15)


def test_kernels_that_say_nothing_are_refused():
    x = np.eye(6)  # all at one distance: every sample is a neighbour of every other
    with pytest.raises(rs.UndefinedError, match=r"mka: the self-similarity .* not positive"):
        rs.mka(x, x, k=5)
    with pytest.raises(rs.UndefinedError, match="nothing is left above chance"):
        rs.mka(x, x, k=5, diagonal=False, corrected=True)
    with pytest.raises(rs.UndefinedError, match=r"3 nearest neighbours .* 'X' is zero"):
        rs.kcka(np.repeat(x, 4, axis=0), np.random.default_rng(0).standard_normal((24, 3)), k=3)


def test_a_zero_row_has_cosine_0_with_every_sample(rng):
    x = rng.standard_normal((20, 4))
    x[[3, 8]] = 0
    r = rs.Representation(x)
    search = NeighborSearch(19, "cosine")
    distances, found = neighbor_distances(r, search), neighbors(r, *search)
    assert distances == pytest.approx(
        np.take_along_axis(1 - cosine_similarity(x), found, axis=1), abs=1e-14
    )
    assert distances[3] == pytest.approx(np.ones(19), rel=1e-14)
