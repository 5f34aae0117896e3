# ruff: noqa: E501 - a row of the table is a line
"""Numbers that other packages print or store, from data that a seed makes: the same numbers here.

Single precision, or an epsilon in a denominator, limits the digits of some sources.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist, squareform

import resemblance as rs
from resemblance.intermediates.cross_barcode import SortedEdges, cross_barcodes, enclosing_radius

FORMS: dict[str, Callable[[float], float]] = {
    "same": lambda v: v,
    "arccos": math.acos,
    "angle / 90°": lambda v: 2 * math.acos(v) / math.pi,
    "one minus": lambda v: 1 - v,
    "square": lambda v: v * v,
    "chord": lambda v: math.sqrt(2 - 2 * v),
}

# github.com/nacloos/similarity-repository, figures/metric_vs_repo.csv: the name there, how many of
# its 32 repositories store the number, the measure here, and the form of our value. Other names
# of the same number of the same measure are left out.
REPOSITORIES = (
    ("aligned_cosine_similarity", 1, "aligned_cosine", "same", 0.92846148),
    ("bures_distance", 1, "bures", "same", 5.8511261),
    ("cca-distance=angular", 5, "mean_cca", "arccos", 0.47322088),
    ("cca-score", 5, "mean_cca", "same", 0.89010497),
    ("cca-squared_score", 5, "mean_cca[aggregation=mean_squared]", "same", 0.85830014),
    ("cka-kernel=linear-hsic=gretton-distance=angular", 17, "cka", "arccos", 1.0594604),
    ("cka-kernel=linear-hsic=gretton-distance=one_minus_score", 1, "cka", "one minus", 0.51065726),
    ("cka-kernel=linear-hsic=gretton-score", 17, "cka", "same", 0.48934274),
    ("cka-kernel=linear-hsic=lange-distance=angular", 6, "cka[estimator=lange]", "arccos", 1.5174346),
    ("cka-kernel=linear-hsic=lange-score", 6, "cka[estimator=lange]", "same", 0.053336443),
    ("cka-kernel=linear-hsic=song-distance=angular", 4, "cka[estimator=debiased]", "arccos", 1.5471954),
    ("cka-kernel=linear-hsic=song-score", 4, "cka[estimator=debiased]", "same", 0.023598699),
    ("concentricity_difference", 1, "concentricity_difference", "same", 0.0054241432),
    ("distance_correlation", 1, "distance_correlation", "same", 0.88526965),
    ("eigenspace_overlap_score", 1, "eigenspace_overlap", "same", 0.83103492),
    ("ensd", 1, "ensd", "same", 6.7507932),
    ("ensd-distance=angular_normalized", 1, "cka", "angle / 90°", 0.67447343),
    ("gulp", 1, "gulp", "square", 7.0849929),
    ("hard_correlation_match", 1, "hard_correlation_match", "same", 0.33639146),
    ("jaccard_similarity", 1, "jaccard", "same", 0.21488075),
    ("linear_regression", 1, "linear_regression[predict=first]", "same", 0.86342482),
    ("magnitude_difference", 1, "magnitude_difference", "same", 0.090006166),
    ("nbs-distance=angular", 7, "nbs", "arccos", 0.76298158),
    ("nbs-distance=squared_euclidean", 6, "bures", "square", 34.235676),
    ("nbs-score", 7, "nbs", "same", 0.72277872),
    ("orthogonal_procrustes_centered_and_normalized", 1, "nbs", "chord", 0.744609),
    ("permutation_procrustes", 1, "permutation_procrustes", "same", 9.346932),
    ("rank_similarity", 1, "rank_similarity", "same", 0.13711225),
    ("rsa-rdm=correlation-compare=corr_cov", 1, "rsa[compare=whitened_pearson]", "same", 0.03024634),
    ("rsa-rdm=correlation-compare=cosine", 1, "rsa[compare=cosine]", "same", 0.95870495),
    ("rsa-rdm=correlation-compare=cosine_cov", 1, "rsa[compare=whitened_cosine]", "same", 0.48071283),
    ("rsa-rdm=correlation-compare=kendall", 2, "rsa[compare=kendall]", "same", -0.0020022247),
    ("rsa-rdm=correlation-compare=pearson", 4, "rsa[compare=pearson]", "same", 0.003506246),
    ("rsa-rdm=correlation-compare=rho_a", 1, "rsa", "same", -0.0040927957),
    ("rsa-rdm=cosine-compare=pearson", 1, "rsa[compare=pearson,rdm=cosine]", "same", 0.064897144),
    ("rsa-rdm=cosine-compare=spearman", 1, "rsa[rdm=cosine]", "same", 0.05966408),
    ("rsa-rdm=euclidean-compare=pearson", 1, "rsa[compare=pearson,rdm=euclidean]", "same", 0.058435729),
    ("rsa-rdm=euclidean-compare=spearman", 2, "rsa[rdm=euclidean]", "same", 0.026652156),
    ("rsa-rdm=mahalanobis-compare=corr_cov", 1, "rsa[compare=whitened_pearson,rdm=sqeuclidean]", "same", 0.026005153),
    ("rsa-rdm=mahalanobis-compare=cosine", 1, "rsa[compare=cosine,rdm=sqeuclidean]", "same", 0.95108535),
    ("rsa-rdm=mahalanobis-compare=kendall", 1, "rsa[compare=kendall,rdm=euclidean]", "same", 0.018740399),
    ("rsa-rdm=mahalanobis-compare=pearson", 1, "rsa[compare=pearson,rdm=sqeuclidean]", "same", 0.04808492),
    ("rsm_norm_difference", 1, "rsm_norm_difference[norm=spectral]", "same", 4.2840209),
    ("second_order_cosine_similarity", 1, "second_order_cosine[of=distance]", "same", 0.9230453),
    ("soft_correlation_match", 1, "soft_correlation_match", "same", 0.37613554),
    ("svcca-dim=10-squared_score", 5, "subspace_overlap[k=10]", "same", 0.37395683),
    ("svcca-var=0.99-distance=angular", 5, "svcca", "arccos", 0.67103036),
    ("svcca-var=0.99-score", 5, "svcca", "same", 0.78318141),
    ("uniformity_difference", 1, "uniformity_difference[rows=raw]", "same", 0.0078405604),
)  # fmt: skip


@pytest.mark.parametrize(("name", "repositories", "spec", "form", "expected"), REPOSITORIES)
def test_the_table_of_similarity_repository(name, repositories, spec, form, expected):
    rng = np.random.RandomState(0)
    x, y = rng.uniform(size=(30, 25)), rng.uniform(size=(30, 25))
    value = FORMS[form](float(rs.get_measure(spec)(x, y)))
    assert value == pytest.approx(expected, rel=3e-7), f"{name}, by {repositories} repositories"


def test_the_demonstration_of_kornblith_et_al():
    """google-research/representation_similarity, Demo.ipynb: linear, RBF, debiased CKA, and CCA.

    The demonstration does not centre the data for CCA, so the rows are x and -x here.
    """
    rng = np.random.RandomState(1337)
    x = rng.randn(100, 10)
    y = rng.randn(100, 10) + x
    assert rs.cka(x, y) == pytest.approx(0.55761, abs=5e-6)
    kernel = rs.cka(x, y, kernel="rbf", bandwidth=0.5, pairs="all")
    assert kernel == pytest.approx(0.65483, abs=5e-6)
    assert rs.cka(x, y, estimator="debiased") == pytest.approx(0.51346, abs=5e-6)
    both = [np.vstack([a, -a]) for a in (x, y)]
    assert rs.mean_cca(*both, aggregation="mean_squared") == pytest.approx(0.54312, abs=5e-6)


LINNERUD = (  # chins, sit-ups, jumps; weight, waist, pulse
    "5 162 60 2 110 60 12 101 101 12 105 37 13 155 58 4 101 42 8 101 38 6 125 40 15 200 40 "
    "17 251 250 17 120 38 13 210 115 14 215 105 1 50 50 6 70 31 12 210 120 4 60 25 11 230 80 "
    "15 225 73 2 110 43",
    "191 36 50 189 37 52 193 38 58 162 35 62 189 35 46 182 36 56 211 38 56 167 34 60 176 31 74 "
    "154 33 56 169 34 50 166 33 52 154 34 64 247 46 50 193 36 46 202 37 62 176 37 54 157 32 52 "
    "156 33 54 138 33 68",
)


def test_the_canonical_correlations_of_linnerud():
    """The data of scikit-learn's tests; correlations as R's ``cancor`` and SAS print them."""
    exercise, body = (np.array(text.split(), float).reshape(20, 3) for text in LINNERUD)
    correlations = np.array([0.7956, 0.2006, 0.0726])
    assert rs.mean_cca(exercise, body) == pytest.approx(correlations.mean(), abs=5e-5)
    squares = rs.mean_cca(exercise, body, aggregation="mean_squared")
    assert squares == pytest.approx((correlations**2).mean(), abs=1e-4)


# ------------------------------------------------------------------------------------------- netrep


def netrep_networks() -> list[list[np.ndarray]]:
    rng = np.random.default_rng(0)
    return [[rng.standard_normal((1024, 64)) for _ in range(64)] for _ in ("train", "test")]


def test_the_sum_of_the_distances_of_netrep():
    """ahwillia/netrep, examples/pairwise_distances.ipynb: the sum of all fitted distances."""
    networks, _ = netrep_networks()
    table = rs.compare(networks, measures="angular_shape", progress=False)
    assert np.sum(table["angular_shape"]) == pytest.approx(5478.173387196459, rel=1e-13)


@pytest.mark.long
def test_the_sum_of_the_held_out_distances_of_netrep():
    """The second sum of the same notebook: distances of samples that took no part in the fit."""
    networks = [np.vstack(parts) for parts in zip(*netrep_networks())]
    folds = [(range(1024), range(1024, 2048))]
    table = rs.compare(networks, measures="angular_shape", held_out=folds, progress=False)
    (spec,) = table.keys()
    assert np.sum(table[spec]) == pytest.approx(6333.232718084371, rel=1e-13)


# ---------------------------------------------------------------------------------------------- RTD


def uniform(*shape: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.RandomState(7)
    return rng.uniform(size=shape), rng.uniform(size=shape)


def rings(same: int) -> np.ndarray:
    """Five rings of 100 points: ``same`` of radius 1, then 1.25, 0.75, 1.5, 0.5."""
    angles = 2 * np.pi * np.arange(100) / 100
    radii = [*[1] * same, 1.25, 0.75, 1.5, 0.5][:5]
    return np.concatenate([r * np.column_stack([np.cos(angles), np.sin(angles)]) for r in radii])


# The notebooks print the number of bars, and the 97.6 % quantile, the maximum and the median of their
# lengths. No bar of the ring of one radius with itself.
BARCODES = (
    (*uniform(1000, 2), (1219, 0.10457093082368374, 0.15257642325013876, 0.05195973068475723)),
    (*uniform(100, 10), (149, 0.2792401611804962, 0.36882200837135315, 0.048989325761795044)),
    (rings(1), rings(1), (0,)),
    (rings(1), rings(2), (600, 0.035174768418073654, 0.11198318749666214, 0.0034274086356163025)),
    (rings(2), rings(1), (200, 0.026847925037145615, 0.026847925037145615, 0.026847925037145615)),
    (rings(1), rings(3), (300, 0.035174768418073654, 0.11198318749666214, 0.031426265835762024)),
    (rings(3), rings(1), (500, 0.010321404784917831, 0.013078518211841583, 0.006443798542022705)),
    (rings(1), rings(4), (300, 0.042209722101688385, 0.11198318749666214, 0.035174768418073654)),
    (rings(4), rings(1), (400, 0.023914720863103867, 0.023914720863103867, 0.00928284227848053)),
    (rings(1), rings(5), (400, 0.042209722101688385, 0.11198318749666214, 0.035174768418073654)),
    (rings(5), rings(1), (300, 0.017732389271259308, 0.017732389271259308, 0.010697435587644577)),
)


@pytest.mark.parametrize(("x", "y", "expected"), BARCODES)
def test_the_bars_of_rtd(x, y, expected):
    """IlyaTrofimov/RTD: Example.ipynb, MetricsTest.ipynb and Rings.ipynb, which has exact ties.

    ripser++ works in single precision; rounded distances give all printed digits.
    """
    edges = []
    for distances in (cdist(x, x), cdist(y, y)):
        scaled = squareform(distances / np.quantile(distances, 0.9), checks=False)
        scaled = scaled.astype(np.float32).astype(float)
        edges.append(SortedEdges(scaled, enclosing_radius(scaled)))
    bars, _ = cross_barcodes(len(x), *edges)
    lengths, n = np.sort(bars[:, 1] - bars[:, 0]), len(bars)
    printed = (n, lengths[n * 976 // 1000], lengths[-1], lengths[n // 2]) if n else (0,)
    assert printed == pytest.approx(expected, rel=1e-15)


def test_the_example_of_rtd():
    """The README of IlyaTrofimov/RTD: the mean over ten subsets, in single precision."""
    rng = np.random.RandomState(7)
    p, q = rng.uniform(size=(1000, 2)), rng.uniform(size=(1000, 2))
    values = []
    for _ in range(10):
        rows = list(range(1000))
        rng.shuffle(rows)
        values.append(rs.rtd(p[rows[:500]], q[rows[:500]]))
    assert np.mean(values) == pytest.approx(35.55234398557805, rel=1e-9)


# ------------------------------------------------------------------------------------------- DADApy

COLUMNS = [[0], [1], [2], [0, 1], [0, 2], [1, 2]]


def test_the_information_imbalances_of_dadapy():
    """sissa-data-science/DADApy, tests/test_metric_comparisons/test_information_imbalance.py: from
    three coordinates to some, and from some to three, with all digits; between two, with two."""
    path = Path(__file__).parents[1] / "golden" / "dadapy_points.csv"
    points = np.loadtxt(path, delimiter=",") / 1e6
    subsets = [points[:, columns] for columns in COLUMNS]
    to_some = [rs.information_imbalance(points, some) for some in subsets]
    assert to_some == [0.14400000000000002, 0.15, 0.968, 0.02, 0.1426, 0.1492]
    to_all = [rs.information_imbalance(some, points) for some in subsets]
    assert to_all == [0.5978, 0.5128, 0.9695999999999999, 0.02, 0.6208, 0.5434]
    between = rs.information_imbalance(*subsets[:2]), rs.information_imbalance(*subsets[1::-1])
    assert between == pytest.approx((1.02, 0.99), abs=0.005)
