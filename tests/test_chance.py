"""What unrelated representations score: exactly the mean over all orders of the samples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import resemblance as rs
from resemblance.representation import Representation

pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

N = 6
ORDERS = [list(order) for order in itertools.permutations(range(N))]
KNOWN = [
    "cka", "cka[kernel=cosine]", "cka[kernel=rbf]", "cka[kernel=laplace,bandwidth=0.7]",
    "cka[estimator=debiased]", "cka[estimator=lange]", "cka[estimator=lange,kernel=rbf]",
    "cka[estimator=debiased,kernel=cosine]",
    "rsa", "rsa[compare=pearson]", "rsa[compare=kendall]", "rsa[compare=cosine]",
    "rsa[compare=cosine,rdm=euclidean]",
    "distance_correlation[squared=True]",
    "mean_cca[aggregation=mean_squared]", "mean_cca[aggregation=mean_squared,divisor=width]",
    "linear_regression", "linear_regression[predict=first]",
    "subspace_overlap[k=2]", "eigenspace_overlap", "ensd", "pwcka", "pwcka[explained_variance=0.6]",
    "gulp[squared=True]", "gulp[ridge=0.1,squared=True]",
    "mka[k=3]", "mka[k=3,symmetrize=True]", "mka[diagonal=False,k=3]", "mka[k=2,metric=cosine]",
    "mka[baseline=permutation,k=3]", "kcka[k=3]", "kcka[k=3,variant=code]",
    "mutual_knn[k=2]", "mutual_knn[corrected=True,k=3]", "mutual_knn[k=2,metric=inner]",
    "cycle_knn[k=2]", "cycle_knn[corrected=True,k=2]", "cknna[estimator=centered,k=3]",
    "cknna[estimator=centered,k=2,kernel=linear]",
    "information_imbalance", "information_imbalance[corrected=True,k=2]",
    "jaccard[k=2]", "jaccard[k=4]", "rank_similarity[k=3]", "lcs_knn[k=3]", "lcs_knn[k=4]",
    "disagreement",
]  # fmt: skip
UNKNOWN = [
    "distance_correlation", "mean_cca", "svcca", "pwcca", "gulp", "procrustes", "nbs",
    "edit_distance_knn", "cknna", "second_order_cosine", "mmd", "sliced_wasserstein",
    "linear_predictivity",
]  # fmt: skip
KINDS = {"tall": (3, 2), "wide": (8, 9), "tied": (3, 4)}


def pair(kind: str, seed: int = 0, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, n])
    d, e = KINDS[kind]
    x, y = 0.5 + rng.standard_normal((n, d)), 0.5 + rng.standard_normal((n, e))
    if kind == "tied":  # values of few kinds, and equal rows
        x, y = np.round(x), np.round(y)
        x[1], y[4] = x[0], y[3]
    return x, y


def mean_over_orders(measure: rs.Measure, x: np.ndarray, y: np.ndarray) -> float:
    first = Representation(x)
    return float(np.mean([measure.evaluate(first, Representation(y[order])) for order in ORDERS]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spec", KNOWN)
def test_chance_is_the_mean_over_all_orders(spec, kind):
    measure = rs.get_measure(spec)
    x, y = pair(kind)
    try:
        chance = measure.chance(Representation(x), Representation(y))
    except rs.Undefined as error:
        assert kind == "tied" and "no closed form" in str(error)
        return
    assert chance == pytest.approx(mean_over_orders(measure, x, y), rel=1e-9, abs=1e-9)
