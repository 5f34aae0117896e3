"""Measures of shared neighbours: values of the authors' code, and exact chance levels.

``stab_outputs_kernels.json``: minyoungg/platonic-rep and tariqul-islam/mka, called on the arrays of
``stab_inputs.npz``, as they are ("raw64") and with rows of unit length ("norm64").
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from factories.files import GOLDEN

import resemblance as rs

OUTPUTS = json.loads((GOLDEN / "stab_outputs_kernels.json").read_text())
METRIC = {"raw64": "inner", "norm64": "cosine"}
KERNEL = {"raw64": "linear", "norm64": "cosine"}
CASES = [(case, rows) for case in OUTPUTS for rows in METRIC]


@pytest.fixture(scope="module")
def inputs() -> dict[str, np.ndarray]:
    with np.load(GOLDEN / "stab_inputs.npz") as archive:
        return dict(archive)


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
def test_neighbors_equal_the_authors_code(inputs, subtests):
    for case, rows in CASES:
        with subtests.test(f"{case}, {rows}"):
            x, y = inputs[f"{case}__X"], inputs[f"{case}__Y"]
            theirs = OUTPUTS[case]["platonic"][rows]
            for k in (5, 10, 50):
                options = {"k": k, "metric": METRIC[rows]}  # rel: theirs is a mean in float32
                assert rs.mutual_knn(x, y, **options) == pytest.approx(
                    theirs[f"mutual_knn_k{k}"], rel=1e-6
                )
                assert rs.cycle_knn(x, y, **options) == pytest.approx(
                    theirs[f"cycle_knn_k{k}"], rel=1e-6
                )
            for k in (5, 10):
                options = {"k": k, "metric": METRIC[rows]}
                assert k * rs.lcs_knn(x, y, **options) == pytest.approx(
                    theirs[f"lcs_knn_k{k}"], rel=1e-6
                )
                expected = pytest.approx(theirs[f"edit_distance_knn_k{k}"], rel=1e-6, abs=1e-12)
                assert rs.edit_distance_knn(x, y, **options) == expected


def masked(rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the linear kernel and the mask of its k largest entries per row besides the
    diagonal."""
    kernel = rows @ rows.T
    off = np.where(np.eye(len(rows), dtype=bool), -np.inf, kernel)
    mask = np.zeros_like(kernel)
    np.put_along_axis(mask, np.argsort(-off, axis=1, kind="stable")[:, :k], 1, axis=1)
    return kernel, mask


def hsic(k: np.ndarray, l: np.ndarray) -> float:
    """Song et al. 2012, Eq. 5, with dense matrices."""
    m = len(k)
    k, l, one = k * (1 - np.eye(m)), l * (1 - np.eye(m)), np.ones(m)
    total = (
        np.trace(k @ l)
        + k.sum() * l.sum() / ((m - 1) * (m - 2))
        - 2 / (m - 2) * (one @ k @ l @ one)
    )
    return float(total / (m * (m - 3)))


def test_cknna_equals_the_authors_code_but_for_what_it_adds(inputs, subtests):
    """Theirs divides by the geometric mean of the self-similarities plus 1e-6."""
    for case, rows in CASES:
        with subtests.test(f"{case}, {rows}"):
            x, y = inputs[f"{case}__X"], inputs[f"{case}__Y"]
            theirs = OUTPUTS[case]["platonic"][rows]
            for k in (5, 10, 50):
                (p, a), (q, b) = (masked(unit(z) if rows == "norm64" else z, k) for z in (x, y))
                scale = (hsic(a * p, a * p) * hsic(b * q, b * q)) ** 0.5
                for name, first, second in (("cknna", x, y), ("cknna_BA", y, x)):
                    expected = theirs[f"{name}_k{k}"] * (scale + 1e-6) / scale
                    assert rs.cknna(first, second, k=k, kernel=KERNEL[rows]) == pytest.approx(
                        expected, rel=1e-9, abs=1e-12
                    )


def test_biased_cknna_equals_the_code_of_mka(inputs, subtests):
    for case in OUTPUTS:
        with subtests.test(str(case)):
            x, y = inputs[f"{case}__X"], inputs[f"{case}__Y"]
            for k in (5, 15, 50):
                expected = OUTPUTS[case]["mka"][f"CKNNA_mka_linear_k{k}"]
                value = rs.cknna(x, y, k=k, kernel="linear", estimator="biased")
                assert value == pytest.approx(expected, rel=1e-9)


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
def test_corrected_values_are_one_for_the_same_neighbors_and_need_room_for_chance(rng):
    x = rng.standard_normal((30, 4))
    assert rs.mutual_knn(x, 2 * x, corrected=True) == 1
    assert rs.cycle_knn(x, 2 * x, corrected=True) == 1
    assert rs.information_imbalance(x, 2 * x, corrected=True) == 0
    for measure in (rs.mutual_knn, rs.cycle_knn):
        assert measure(x[:11], x[:11]) == 1
        with pytest.raises(rs.UndefinedError, match="needs at least 12 samples"):
            measure(x[:11], x[:11], corrected=True)
    angle = 2 * np.pi * np.arange(12) / 12
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    with pytest.raises(rs.UndefinedError, match="take a smaller k"):
        rs.cycle_knn(ring, x[:12], k=10, corrected=True)


# -------------------------------------------------------------------------------------- definitions


def test_a_sample_that_is_nobodys_neighbor_does_not_come_back():
    """Five samples in a cluster and one far away, whose neighbours all have nearer ones."""
    points = np.array([[0.0], [1.0], [2.1], [3.3], [4.6], [50.0]])
    assert rs.cycle_knn(points, points, k=3, metric="euclidean") == pytest.approx(5 / 6)


@pytest.mark.parametrize("metric", ["cosine", "inner"])
@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
def test_the_order_of_neighbors_survives_the_measures_that_take_them_as_sets(metric, rng):
    x, y = rng.standard_normal((2, 40, 5))
    a, b = rs.Representation(x), rs.Representation(y)
    kernel = "cosine" if metric == "cosine" else "linear"
    for _ in range(2):
        for order in (rs.lcs_knn, rs.edit_distance_knn):
            assert order(a, b, metric=metric) == order(x, y, metric=metric)
        assert rs.mutual_knn(a, b, metric=metric) == rs.mutual_knn(x, y, metric=metric)
        assert rs.cycle_knn(a, b, metric=metric, corrected=True) == rs.cycle_knn(
            x, y, metric=metric, corrected=True
        )
        assert rs.cknna(a, b, kernel=kernel) == rs.cknna(x, y, kernel=kernel)
