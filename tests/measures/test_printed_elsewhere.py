# ruff: noqa: E501 - a row of the table is a line
"""Numbers that other packages print or store, from data that a seed makes: the same numbers here.

Single precision, or an epsilon in a denominator, limits the digits of some sources.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import resemblance as rs

FORMS: dict[str, Callable[[float], float]] = {
    "same": lambda v: v,
    "arccos": math.acos,
    "angle / 90°": lambda v: 2 * math.acos(v) / math.pi,
    "one minus": lambda v: 1 - v,
    "square": lambda v: v * v,
    "chord": lambda v: math.sqrt(2 - 2 * v),
}

# github.com/nacloos/similarity-repository, figures/metric_vs_repo.csv: the name there, how many of
# its 32 repositories store the number, the measure here, and the form of our value.
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
    ("feature_space_linear_cka", 1, "cka", "same", 0.48934274),
    ("feature_space_linear_cka-debiased_True", 1, "cka[estimator=debiased]", "same", 0.023598699),
    ("gulp", 1, "gulp", "square", 7.0849929),
    ("hard_correlation_match", 1, "hard_correlation_match", "same", 0.33639146),
    ("jaccard_similarity", 1, "jaccard", "same", 0.21488075),
    ("linear_regression", 1, "linear_regression[predict=first]", "same", 0.86342482),
    ("magnitude_difference", 1, "magnitude_difference", "same", 0.090006166),
    ("nbs-distance=angular", 7, "nbs", "arccos", 0.76298158),
    ("nbs-distance=euclidean", 7, "bures", "same", 5.8511261),
    ("nbs-distance=squared_euclidean", 6, "bures", "square", 34.235676),
    ("nbs-score", 7, "nbs", "same", 0.72277872),
    ("orthogonal_angular_shape_metric_centered", 1, "nbs", "arccos", 0.76298158),
    ("orthogonal_procrustes_centered_and_normalized", 1, "nbs", "chord", 0.744609),
    ("permutation_procrustes", 1, "permutation_procrustes", "same", 9.346932),
    ("procrustes-distance=angular", 7, "nbs", "arccos", 0.76298158),
    ("procrustes-distance=euclidean", 7, "bures", "same", 5.8511261),
    ("procrustes-distance=squared_euclidean", 6, "bures", "square", 34.235676),
    ("procrustes-score", 7, "nbs", "same", 0.72277872),
    ("rank_similarity", 1, "rank_similarity", "same", 0.13711225),
    ("rsa-rdm=correlation-compare=corr_cov", 1, "rsa[compare=whitened_pearson]", "same", 0.03024634),
    ("rsa-rdm=correlation-compare=cosine", 1, "rsa[compare=cosine]", "same", 0.95870495),
    ("rsa-rdm=correlation-compare=cosine_cov", 1, "rsa[compare=whitened_cosine]", "same", 0.48071283),
    ("rsa-rdm=correlation-compare=kendall", 2, "rsa[compare=kendall]", "same", -0.0020022247),
    ("rsa-rdm=correlation-compare=pearson", 4, "rsa[compare=pearson]", "same", 0.003506246),
    ("rsa-rdm=correlation-compare=rho_a", 1, "rsa", "same", -0.0040927957),
    ("rsa-rdm=correlation-compare=spearman", 4, "rsa", "same", -0.0040927957),
    ("rsa-rdm=correlation-compare=tau_a", 1, "rsa[compare=kendall]", "same", -0.0020022247),
    ("rsa-rdm=correlation-compare=tau_b", 1, "rsa[compare=kendall]", "same", -0.0020022247),
    ("rsa-rdm=cosine-compare=pearson", 1, "rsa[compare=pearson,rdm=cosine]", "same", 0.064897144),
    ("rsa-rdm=cosine-compare=spearman", 1, "rsa[rdm=cosine]", "same", 0.05966408),
    ("rsa-rdm=euclidean-compare=pearson", 1, "rsa[compare=pearson,rdm=euclidean]", "same", 0.058435729),
    ("rsa-rdm=euclidean-compare=spearman", 2, "rsa[rdm=euclidean]", "same", 0.026652156),
    ("rsa-rdm=gaussian-compare=spearman", 1, "rsa[rdm=euclidean]", "same", 0.026652156),
    ("rsa-rdm=mahalanobis-compare=bures", 1, "nbs", "same", 0.72277872),
    ("rsa-rdm=mahalanobis-compare=corr_cov", 1, "rsa[compare=whitened_pearson,rdm=sqeuclidean]", "same", 0.026005153),
    ("rsa-rdm=mahalanobis-compare=cosine", 1, "rsa[compare=cosine,rdm=sqeuclidean]", "same", 0.95108535),
    ("rsa-rdm=mahalanobis-compare=cosine_cov", 1, "cka", "same", 0.48934274),
    ("rsa-rdm=mahalanobis-compare=kendall", 1, "rsa[compare=kendall,rdm=euclidean]", "same", 0.018740399),
    ("rsa-rdm=mahalanobis-compare=pearson", 1, "rsa[compare=pearson,rdm=sqeuclidean]", "same", 0.04808492),
    ("rsa-rdm=mahalanobis-compare=rho_a", 1, "rsa[rdm=euclidean]", "same", 0.026652156),
    ("rsa-rdm=mahalanobis-compare=spearman", 1, "rsa[rdm=euclidean]", "same", 0.026652156),
    ("rsa-rdm=mahalanobis-compare=tau_a", 1, "rsa[compare=kendall,rdm=euclidean]", "same", 0.018740399),
    ("rsa-rdm=mahalanobis-compare=tau_b", 1, "rsa[compare=kendall,rdm=euclidean]", "same", 0.018740399),
    ("rsa-rdm=squared_euclidean-compare=bures", 1, "nbs", "same", 0.72277872),
    ("rsa-rdm=squared_euclidean-compare=corr_cov", 1, "rsa[compare=whitened_pearson,rdm=sqeuclidean]", "same", 0.026005153),
    ("rsa-rdm=squared_euclidean-compare=cosine", 5, "rsa[compare=cosine,rdm=sqeuclidean]", "same", 0.95108535),
    ("rsa-rdm=squared_euclidean-compare=cosine_cov", 1, "cka", "same", 0.48934274),
    ("rsa-rdm=squared_euclidean-compare=kendall", 1, "rsa[compare=kendall,rdm=euclidean]", "same", 0.018740399),
    ("rsa-rdm=squared_euclidean-compare=pearson", 1, "rsa[compare=pearson,rdm=sqeuclidean]", "same", 0.04808492),
    ("rsa-rdm=squared_euclidean-compare=rho_a", 1, "rsa[rdm=euclidean]", "same", 0.026652156),
    ("rsa-rdm=squared_euclidean-compare=spearman", 1, "rsa[rdm=euclidean]", "same", 0.026652156),
    ("rsa-rdm=squared_euclidean-compare=tau_a", 1, "rsa[compare=kendall,rdm=euclidean]", "same", 0.018740399),
    ("rsa-rdm=squared_euclidean-compare=tau_b", 1, "rsa[compare=kendall,rdm=euclidean]", "same", 0.018740399),
    ("rsm_norm_difference", 1, "rsm_norm_difference[norm=spectral]", "same", 4.2840209),
    ("second_order_cosine_similarity", 1, "second_order_cosine[of=distance]", "same", 0.9230453),
    ("soft_correlation_match", 1, "soft_correlation_match", "same", 0.37613554),
    ("svcca-dim=10-squared_score", 5, "subspace_overlap[k=10]", "same", 0.37395683),
    ("svcca-distance=angular", 1, "mean_cca", "arccos", 0.47322088),
    ("svcca-score", 1, "mean_cca", "same", 0.89010497),
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
