"""Kernels of nearest neighbours: recorded values, definitions written out, copies of samples, and
data without a value.

``stab_outputs_kernels.json``: the authors' code at f0ff8f0, called on the arrays of
``stab_inputs.npz``.
"""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from factories.files import GOLDEN
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import cosine_similarity

import resemblance as rs
from resemblance.intermediates.neighbor_kernels import neighbor_distances, umap_weight_matrix
from resemblance.intermediates.neighbors import NeighborSearch, neighbors

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
    for case, delta in itertools.product(RECORDED, ["None", "0.2", "0.45"]):
        with subtests.test(f"{case}, {delta}"):
            factor = 1.0 if delta == "None" else float(delta)
            value = rs.cka(*inputs[case], kernel="rbf", pairs="all", bandwidth=factor)
            assert value == pytest.approx(RECORDED[case][f"CKA_RBF_{delta}"], rel=1e-5)


# -------------------------------------------------------------------------- definitions written out


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


@pytest.mark.parametrize("n", [30, 3000])
def test_cosine_cka_needs_two_directions(n, rng):
    x, y = np.outer(rng.uniform(1, 2, n), rng.standard_normal(7)), rng.standard_normal((n, 7))
    with pytest.raises(rs.UndefinedError, match="'X' have the same direction"):
        rs.cka(x, y, kernel="cosine")


# --------------------------------------------------------------------------------- scale and widths


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
    r, search = rs.Representation(x), NeighborSearch(19, "cosine")
    expected = np.take_along_axis(1 - cosine_similarity(x), neighbors(r, *search), axis=1)
    assert neighbor_distances(r, search) == pytest.approx(expected, abs=1e-14)
