"""What unrelated representations score: exactly the mean over all orders of the samples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import resemblance as rs
from resemblance.data.representation import Representation
from resemblance.inference.reorder import permute_representation

pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

N = 5
ORDERS = [list(order) for order in itertools.permutations(range(N))]
KNOWN = [
    "cka", "cka[kernel=cosine]", "cka[kernel=rbf]", "cka[bandwidth=0.7,kernel=laplace]",
    "cka[kernel=rbf,width=3]",
    "cka[estimator=debiased]", "cka[estimator=lange]", "cka[estimator=lange,kernel=rbf]",
    "cka[estimator=debiased,kernel=cosine]", "cka[estimator=features]",
    "rsa", "rsa[compare=pearson]", "rsa[compare=kendall]", "rsa[compare=cosine]",
    "rsa[compare=cosine,rdm=euclidean]",
    "distance_correlation[squared=True]",
    "mean_cca[aggregation=mean_squared]", "mean_cca[aggregation=mean_squared,divisor=width]",
    "linear_regression", "linear_regression[predict=first]",
    "subspace_overlap[k=2]", "eigenspace_overlap", "ensd", "pwcka", "pwcka[explained_variance=0.6]",
    "gulp[squared=True]", "gulp[ridge=0.1,squared=True]",
    "mka[k=3]", "mka[k=3,symmetrize=True]", "mka[diagonal=False,k=3]", "mka[k=2,metric=cosine]",
    "mka[corrected=True,k=3]", "kcka[k=3]", "kcka[k=3,variant=code]",
    "mutual_knn[k=2]", "mutual_knn[corrected=True,k=3]", "mutual_knn[k=2,metric=inner]",
    "cycle_knn[k=2]", "cycle_knn[corrected=True,k=2]", "cknna[estimator=biased,k=3]",
    "cknna[estimator=biased,k=2,kernel=linear]",
    "information_imbalance", "information_imbalance[corrected=True,k=2]",
    "jaccard[k=2]", "jaccard[k=3]", "rank_similarity[k=3]", "lcs_knn[k=2]", "lcs_knn[k=3]",
    "disagreement",
]  # fmt: skip
UNKNOWN = [
    "distance_correlation", "mean_cca", "svcca", "pwcca", "gulp", "procrustes", "nbs",
    "edit_distance_knn", "cknna", "second_order_cosine", "mmd", "sliced_wasserstein",
    "linear_predictivity",
]  # fmt: skip
ORDERED = {"jaccard", "rank_similarity", "lcs_knn"}  # without a closed form where samples tie
KINDS = {"tall": (3, 3), "wide": (8, 9), "tied": (3, 3)}


def pair(kind: str, seed: int = 0) -> tuple[Representation, Representation]:
    rng = np.random.default_rng([seed, N])
    x, y = (
        0.5 + rng.standard_normal((N, width)) + 4 * rng.standard_normal((N, 1))
        for width in KINDS[kind]
    )
    if kind == "tied":  # values of few kinds, and equal rows
        x, y = np.round(x), np.round(y)
        x[1], y[4] = x[0], y[3]
    return Representation(x), Representation(y)


def with_classes(spec: str, pair: tuple[Representation, Representation]) -> rs.Measure:
    """The measure, or for outputs of different widths one that takes them."""
    x, y = pair
    return rs.get_measure("rsa" if spec == "disagreement" and x.shape != y.shape else spec)


def mean_over_orders(measure: rs.Measure, x: Representation, y: Representation) -> float:
    values = [measure.evaluate(x, permute_representation(y, np.array(o))) for o in ORDERS]
    return float(np.mean(values))


def test_chance_is_the_mean_over_all_orders(subtests):
    for i, spec in enumerate(KNOWN):
        for kind in (list(KINDS)[i % 2], "tied"):
            with subtests.test(f"{spec}, {kind}"):
                x, y = pair(kind)
                measure = with_classes(spec, (x, y))
                if kind == "tied" and measure.name in ORDERED:
                    with pytest.raises(rs.UndefinedError, match="no closed form of chance where"):
                        measure.chance(x, y)
                    continue
                assert measure.chance(x, y) == pytest.approx(
                    mean_over_orders(measure, x, y), rel=1e-9, abs=1e-9
                )


def test_chance_is_claimed_exactly_where_it_is_known():
    assert all(rs.get_measure(spec).chance for spec in KNOWN)
    assert not any(rs.get_measure(spec).chance for spec in UNKNOWN)
    names = {spec.partition("[")[0] for spec in KNOWN}
    assert {m.name for m in rs.list_measures() if m.chance} <= names


def test_lists_of_most_samples_have_no_chance_that_is_cheap():
    x, y = (Representation(a) for a in np.random.default_rng(2).standard_normal((2, 60, 5)))
    with pytest.raises(rs.UndefinedError, match="not computed where k=50 of 60"):
        rs.lcs_knn.with_parameters(k=50).chance(x, y)
    assert 0 < rs.lcs_knn.with_parameters(k=20).chance(x, y) < 20 / 59


# ------------------------------------------------------------------------------------ above chance


def test_corrected_values_are_those_above_chance(subtests):
    for kind in KINDS:
        for spec, corrected in [
            ("mutual_knn[k=3]", {"corrected": True}),
            ("cycle_knn[k=2]", {"corrected": True}),
            ("mka[k=3]", {"corrected": True}),
            ("mka[k=3,symmetrize=True]", {"corrected": True}),
        ]:
            with subtests.test(f"{spec}, {kind}"):
                x, y = pair(kind)
                measure = rs.get_measure(spec)
                value, chance = measure.evaluate(x, y), measure.chance(x, y)
                above = (value - chance) / (1 - chance)
                assert measure.with_parameters(**corrected).evaluate(x, y) == pytest.approx(
                    above, rel=1e-12, abs=1e-12
                )


def test_corrected_imbalance_is_one_minus_what_is_above_chance():
    """Of the way from chance to the smallest value that there is for n samples, not to 0."""
    x, y = pair("tall")
    measure = rs.information_imbalance.with_parameters(k=2)
    smallest = (2 + 1) / N
    above = (measure.evaluate(x, y) - 1) / (smallest - 1)
    assert measure.with_parameters(corrected=True).evaluate(x, y) == pytest.approx(
        1 - above, rel=1e-12
    )
    assert measure.with_parameters(corrected=True).evaluate(x, x) == 0


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(3)
    arrays = {name: rng.standard_normal((30, 5 + i)) for i, name in enumerate("abc")}
    arrays["tied"] = np.round(rng.standard_normal((30, 2)))
    measures = ["cka", "mutual_knn", "linear_regression", "jaccard", "procrustes"]
    return rs.compare(arrays, measures=measures, progress=False)


def test_a_comparison_records_the_chance_of_each_pair(comparison):
    records = {(r["measure"], r["x"], r["y"]): r["chance"] for r in comparison.records()}
    assert records["mutual_knn", "a", "b"] == pytest.approx(10 / 29)
    assert records["linear_regression", "a", "c"] == pytest.approx(5 / 29)
    assert records["linear_regression", "c", "a"] == pytest.approx(7 / 29)
    assert records["cka", "a", "b"] == records["cka", "b", "a"] > 0
    # nothing is tested against itself, and without a closed form nothing is recorded
    for without in [("cka", "a", "a"), ("procrustes", "a", "b"), ("jaccard", "a", "tied")]:
        assert records[without] is None
    assert records["jaccard", "a", "b"] is not None
    assert comparison["jaccard"][0, 3] > 0
    assert not comparison.failures
