"""Every check of every measure, at the precision of the catalogue: claims in both directions,
invariant where claimed and variant where not."""

from __future__ import annotations

import itertools
import typing

import numpy as np
import pytest

import resemblance as rs
from resemblance.checks.checking import checks_of, outcomes_of
from resemblance.checks.claims import claims
from resemblance.checks.data import generic_pair
from resemblance.checks.groups import transformed
from resemblance.checks.trial import Trial, trial_of
from resemblance.measure import Measure

# Claims hold where values mean little, too.
pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

# Members of the catalogue, the published variants, and every variant whose claims change with its
# parameters.
EXTRA = [
    "mean_cca[aggregation=mean_squared]",
    "mean_cca[divisor=width]",
    "pwcca[directions=all]",
    "pwcca[weights=symmetric]",
    "pwcca[weights=second]",
    "cka[estimator=debiased]",
    "cka[estimator=lange]",
    "cka[estimator=features]",
    "cka[kernel=rbf]",
    "cka[kernel=rbf,bandwidth=0.5,estimator=debiased]",
    "rsa[rdm=cosine]",
    "rsa[rdm=euclidean]",
    "rsa[rdm=sqeuclidean,compare=pearson]",
    "rsa[compare=cosine]",
    "rsa[compare=kendall]",
    "jaccard[metric=euclidean,k=5]",
    "rank_similarity[metric=euclidean]",
    "procrustes[squared=True]",
    "gulp[ridge=0.01]",
    "hard_correlation_match[matching=greedy]",
    "distance_correlation[squared=True]",
    "uniformity_difference[self_pairs=False]",
    "rtd[direction=first]",
    "rtd[direction=second]",
    "jensen_shannon[outputs=logits]",
    "imd[estimator=stochastic,probes=64,repeats=2]",
    "cka[kernel=laplace]",
    "cka[kernel=rbf,pairs=all]",
    "cka[kernel=cosine]",
    "cka[kernel=cosine,estimator=debiased]",
    "mka[k=10,metric=cosine]",
    "mka[k=10,symmetrize=True]",
    "mka[k=10,diagonal=False]",
    "mka[k=10,baseline=permutation]",
    "mka[k=2]",
    "mka[k=10,index=hnsw]",
    "kcka[k=10,variant=code]",
    "kcka[k=10,index=hnsw]",
    "jaccard[index=hnsw]",
    "rank_similarity[index=hnsw]",
    "second_order_cosine[index=hnsw]",
    "mutual_knn[metric=euclidean]",
    "mutual_knn[metric=inner]",
    "mutual_knn[corrected=True,k=5]",
    "cycle_knn[metric=euclidean,k=3]",
    "cycle_knn[corrected=True,k=3]",
    "lcs_knn[metric=euclidean]",
    "edit_distance_knn[metric=euclidean]",
    "cknna[kernel=linear]",
    "cknna[estimator=centered]",
    "mutual_knn[index=hnsw,metric=inner]",
    "cycle_knn[index=hnsw,corrected=True,k=3]",
    "lcs_knn[index=hnsw]",
    "edit_distance_knn[index=hnsw,metric=euclidean]",
    "cknna[index=hnsw]",
    "information_imbalance[corrected=True,k=3]",
    "information_imbalance[metric=cosine]",
    "riemannian[shrinkage=0.5]",
    "soft_matching[units=unit]",
    "shape[alpha=0]",
    "shape[alpha=1]",
    "mmd[bandwidth=0.5]",
    "subspace_overlap[k=2]",
    "pwcka[explained_variance=0.5]",
    "sliced_wasserstein[projections=20,seed=1]",
]


def tried(m: Measure, samples: int = 60) -> Trial:
    """A trial in which rounding may move a value by 1e-9; by more where squared distances are near
    the rank tolerance, or roots are of cancellations."""
    return trial_of(m, samples, 1e-6 if m.name in ("gulp", "imd", "rtd") else 1e-9)


def members() -> list[Measure]:
    everything = [*rs.list_measures(), *rs.preset("resi"), *map(rs.get_measure, EXTRA)]
    return list(dict.fromkeys(trial_of(m).measure for m in everything))


MEMBERS = members()


def undecided(m: Measure) -> set[str]:
    """The checks that may decide nothing, as few as there are."""
    checks = {"variants"} if not m.defaults.keys() - {"labels"} else set()
    if not m.differentiable:
        checks.add("gradient")
    if ("estimator", "stochastic") in m.parameters:  # random vectors belong to positions
        checks.add("order of samples")
    if ("estimator", "features") in m.parameters:  # what other features give has no extreme
        checks |= {"X is most similar to X", "direction"}
    return checks


@pytest.mark.parametrize("m", MEMBERS, ids=str)
def test_every_check_holds(m):
    outcomes = list(outcomes_of(tried(m), checks_of(m)))
    assert [o for o in outcomes if o.holds is False] == []
    assert {o.check for o in outcomes if o.holds is None} == undecided(m)
    assert {o.check for o in outcomes} == set(checks_of(m))


# Numbers on which claims depend, and what keeps the rest small.
NUMBERS = {"ridge": (0.0, 0.01), "alpha": (0.0, 0.5, 1.0)}
SMALL = {"k": 3, "probes": 64, "repeats": 2}
REFUSED = {"pwcca[directions=resi,weights=second]", "pwcca[directions=resi,weights=symmetric]"} | {
    f"cka[estimator=features,kernel={kernel}{pairs}]"
    for kernel in ("rbf", "laplace", "cosine")
    for pairs in ("", ",pairs=all")
}


def combinations() -> list[Measure]:
    """Every combination of what parameters can be that is no member: a claim made for a part can be
    false of it."""
    found = []
    for m in rs.list_measures():
        kinds = typing.get_type_hints(m.function)
        values = {name: (False, True) for name in m.defaults if kinds[name] is bool} | dict(
            m.choices
        )
        values |= {name: NUMBERS[name] for name in m.defaults if name in NUMBERS}
        small = m.where(**{name: number for name, number in SMALL.items() if name in m.defaults})
        found += [
            small.where(**dict(zip(values, chosen)))
            for chosen in itertools.product(*values.values())
        ]
    known = {m.spec for m in MEMBERS}
    return [m for m in found if m.spec not in known and m.name != "accuracy_difference"]


COMBINATIONS = combinations()


@pytest.mark.parametrize("m", COMBINATIONS, ids=str)
def test_claims_hold_for_every_combination_of_choices(m):
    trial = tried(m, samples=30)
    if m.spec in REFUSED:
        why = (
            "directions='resi' takes its weights from X|estimator='features' takes kernel='linear'"
        )
        with pytest.raises(ValueError, match=f"{m.name}: ({why})"):
            m(*trial.pair())
        return
    outcomes = list(outcomes_of(trial, claims(m)))
    assert [o for o in outcomes if o.holds is False] == []
    assert {o.check for o in outcomes if o.holds is None} <= undecided(m) | {"triangle inequality"}


@pytest.mark.parametrize(
    "spec",
    [
        "svcca[explained_variance=0.5]",
        "pwcka",
        "pwcka[explained_variance=0.3]",
        "subspace_overlap[k=2]",
    ],
)
@pytest.mark.parametrize(
    "invariance", ["permutation", "orthogonal", "isotropic_scaling", "translation"]
)
def test_equal_singular_values_are_kept_or_cut_together(spec, invariance):
    """Balanced classes, one-hot: all singular values are equal, and which components lead is up to
    rounding."""
    m, rng = rs.get_measure(spec), np.random.default_rng(0)
    x, y = np.eye(4)[np.arange(40) % 4], rng.standard_normal((40, 2))
    white = np.linalg.qr(y - y.mean(axis=0))[0]
    for a, b in ((x, y), (y, x), (x, white), (np.c_[x, y], np.c_[white, y**2])):
        value = m(a, b)
        for _ in range(5):
            assert m(
                transformed(a, invariance, rng), transformed(b, invariance, rng)
            ) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("name", ["disagreement", "jensen_shannon"])
def test_columns_are_classes_of_outputs(name):
    with pytest.raises(ValueError, match=r"\(60, 4\) and Y \(60, 7\) must have the same classes"):
        rs.get_measure(name)(*generic_pair(d=4, e=7))


@pytest.mark.parametrize("m", [m for m in MEMBERS if m.family != "outputs"], ids=str)
def test_any_two_widths_have_a_value(m):
    assert np.isfinite(m(*generic_pair(d=4, e=7)))


# The eigenspace overlap divides by the width.
@pytest.mark.parametrize(
    "m",
    [m for m in MEMBERS if "orthogonal" in m.invariant_to and m.name != "eigenspace_overlap"],
    ids=str,
)
def test_zero_columns_change_nothing_for_rotation_invariant_measures(m):
    x, y = generic_pair()
    padded = np.hstack([x, np.zeros((len(x), 3))])
    assert m(padded, y) == pytest.approx(m(x, y), rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("m", [m for m in MEMBERS if m.min_samples > 1], ids=str)
def test_few_samples_are_refused_not_guessed(m):
    x, y = generic_pair(n=m.min_samples - 1)
    with pytest.raises(rs.Undefined, match=m.name):
        m(x, y)
