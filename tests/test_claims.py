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
from resemblance.checks.data import generic_pair, many_kinds
from resemblance.checks.groups import transformed
from resemblance.checks.trial import Trial, trial_of
from resemblance.measure import Measure

# Claims hold where values mean little, too.
pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

# Members of the catalogue, the published variants, and every variant whose claims change with its
# parameters.
EXTRA = [
    "mean_cca[aggregation=mean_squared]", "mean_cca[divisor=width]", "pwcca[directions=all]",
    "pwcca[weights=symmetric]", "pwcca[weights=second]", "cka[estimator=debiased]",
    "cka[estimator=lange]", "cka[estimator=features]", "cka[kernel=rbf]",
    "cka[kernel=rbf,bandwidth=0.5,estimator=debiased]", "cka[kernel=rbf,estimator=lange]",
    "rsa[compare=pearson]", "rsa[rdm=cosine]", "rsa[rdm=euclidean]",
    "rsa[rdm=sqeuclidean,compare=pearson]", "rsa[compare=cosine]", "rsa[compare=kendall]",
    "jaccard[metric=euclidean,k=5]", "rank_similarity[metric=euclidean]",
    "procrustes[squared=True]", "gulp[ridge=0.01]", "hard_correlation_match[matching=greedy]",
    "distance_correlation[squared=True]", "uniformity_difference[self_pairs=False]",
    "rtd[direction=first]", "rtd[direction=second]", "jensen_shannon[outputs=logits]",
    "imd[estimator=stochastic,probes=64,repeats=2]", "cka[kernel=laplace]",
    "cka[kernel=rbf,pairs=all]", "cka[kernel=cosine]", "cka[kernel=cosine,estimator=debiased]",
    "mka[k=10,metric=cosine]", "mka[k=10,symmetrize=True]", "mka[k=10,diagonal=False]",
    "mka[k=10,baseline=permutation]", "mka[k=2]", "mka[k=10,index=hnsw]", "kcka[k=10,variant=code]",
    "kcka[k=10,index=hnsw]", "jaccard[index=hnsw]", "rank_similarity[index=hnsw]",
    "second_order_cosine[index=hnsw]", "mutual_knn[metric=euclidean]", "mutual_knn[metric=inner]",
    "mutual_knn[corrected=True,k=5]", "cycle_knn[metric=euclidean,k=3]",
    "cycle_knn[corrected=True,k=3]", "lcs_knn[metric=euclidean]",
    "edit_distance_knn[metric=euclidean]", "cknna[kernel=linear]", "cknna[estimator=centered]",
    "cknna[estimator=centered,kernel=linear]", "mutual_knn[index=hnsw,metric=inner]",
    "cycle_knn[index=hnsw,corrected=True,k=3]", "lcs_knn[index=hnsw]",
    "edit_distance_knn[index=hnsw,metric=euclidean]", "cknna[index=hnsw]",
    "information_imbalance[corrected=True,k=3]", "information_imbalance[metric=cosine]",
    "riemannian[shrinkage=0.5]", "soft_matching[units=unit]", "shape[alpha=0]", "shape[alpha=1]",
    "mmd[bandwidth=0.5]", "subspace_overlap[k=2]", "pwcka[explained_variance=0.5]",
    "sliced_wasserstein[projections=20,seed=1]",
]  # fmt: skip


def tried(m: Measure, samples: int = 60) -> Trial:
    """A trial in which rounding may move a value by 1e-9; by more where squared distances are near
    the rank tolerance, or roots are of cancellations."""
    return trial_of(m, samples, 1e-6 if m.name in ("gulp", "imd", "rtd") else 1e-9)


def members() -> list[Measure]:
    everything = [*rs.list_measures(), *rs.preset("resi"), *map(rs.get_measure, EXTRA)]
    return list(dict.fromkeys(trial_of(m).entry for m in everything))


MEMBERS = members()
SAME_CLASSES = ("disagreement", "jensen_shannon")  # features of outputs are classes


def undecided(m: Measure) -> set[str]:
    """The checks that may decide nothing, as few as there are."""
    checks = {"variants"} if not m.defaults.keys() - {"labels"} else set()
    if not m.differentiable:
        checks |= {"gradient", "finite gradient"}
    if ("estimator", "stochastic") in m.parameters:  # random vectors belong to positions
        checks.add("order of samples")
    if ("estimator", "features") in m.parameters:  # what other features give has no extreme
        checks |= {"X is most similar to X", "direction"}
    if "whitened" in m.spec and ("rdm", "sqeuclidean") in m.parameters:  # as CKA, but of samples
        checks.add("invariant to sample rotation")
    return checks


# There is a value but no gradient, and that is said: where singular vectors are ambiguous, PWCCA
# also where correlations tie, and where the best rotation may turn dead units anywhere.
AMBIGUOUS = {"a circle", "four categories", "one category a sample"}
TIED = AMBIGUOUS | {f"{kind} (X = Y)" for kind in AMBIGUOUS} | {"whitened", "both whitened"}
EQUAL = {f"{kind} (X = Y)" for kind, _ in many_kinds()} - {"one column (X = Y)"}
DEAD = {"a dead unit", "columns twice", "of rank 2", *AMBIGUOUS}
NO_GRADIENT = {
    "aligned_cosine": {f"{kind} (X = Y)" for kind in DEAD}
    | {"of rank 2", "dead units on each side"},
    **dict.fromkeys(("svcca", "subspace_overlap", "pwcka", "shape"), TIED),
    **dict.fromkeys(("svcca[truncation=resi]", "subspace_overlap[k=2]"), TIED),
    **dict.fromkeys(("pwcka[explained_variance=0.5]", "gulp[ridge=0.01]"), TIED),
    **dict.fromkeys(
        ("pwcca", "pwcca[weights=second]", "pwcca[weights=symmetric]"),
        TIED | EQUAL | {"n < d", "rotated and scaled"},
    ),
}
FAMILIES = sorted({m.family for m in MEMBERS})


@pytest.mark.parametrize("family", FAMILIES)
def test_every_check_holds(family, subtests):
    for m in [m for m in MEMBERS if m.family == family]:
        with subtests.test(str(m)):
            outcomes = list(outcomes_of(tried(m), checks_of(m)))
            assert [o for o in outcomes if o.holds is False] == []
            assert {o.check for o in outcomes if o.holds is None} == undecided(m)
            details = {o.check: o.detail for o in outcomes}
            assert set(details) == set(checks_of(m))
            is_narrow = m.name in SAME_CLASSES or m.spec == "pwcca[directions=resi]"
            assert bool(details["different widths"]) == is_narrow
            if m.differentiable:
                refused = details["finite gradient"].removeprefix("no gradient: ").split(", ")
                assert set(refused) - {""} == NO_GRADIENT.get(m.spec, set())


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


@pytest.mark.parametrize("family", FAMILIES)
def test_claims_hold_for_every_combination_of_choices(family, subtests):
    why = "directions='resi' takes its weights from X|estimator='features' takes kernel='linear'"
    for m in [m for m in COMBINATIONS if m.family == family]:
        trial = tried(m, samples=30)
        with subtests.test(str(m)):
            if m.spec in REFUSED:
                with pytest.raises(ValueError, match=f"{m.name}: ({why})"):
                    m(*trial.inputs())
                continue
            outcomes = list(outcomes_of(trial, claims(m)))
            assert [o for o in outcomes if o.holds is False] == []
            open_ = {o.check for o in outcomes if o.holds is None}
            assert open_ <= undecided(m) | {"triangle inequality"}


def test_equal_singular_values_are_kept_or_cut_together(subtests):
    """Balanced classes, one-hot: all singular values are equal, and which components lead is up to
    rounding."""
    for invariance in ["permutation", "orthogonal", "isotropic_scaling", "translation"]:
        for spec in [
            "svcca[explained_variance=0.5]",
            "pwcka",
            "pwcka[explained_variance=0.3]",
            "subspace_overlap[k=2]",
        ]:
            with subtests.test(f"{invariance}, {spec}"):
                m, rng = rs.get_measure(spec), np.random.default_rng(0)
                x, y = np.eye(4)[np.arange(40) % 4], rng.standard_normal((40, 2))
                white = np.linalg.qr(y - y.mean(axis=0))[0]
                for a, b in ((x, y), (y, x), (x, white), (np.c_[x, y], np.c_[white, y**2])):
                    value = m(a, b)
                    for _ in range(5):
                        assert m(
                            transformed(a, invariance, rng), transformed(b, invariance, rng)
                        ) == pytest.approx(value, abs=1e-9)


def test_columns_are_classes_of_outputs():
    for name in SAME_CLASSES:
        with pytest.raises(ValueError, match=r"\(60, 4\) and Y \(60, 7\) must have the same cl"):
            rs.get_measure(name)(*generic_pair(d=4, e=7))


def test_zero_columns_change_nothing_for_rotation_invariant_measures(subtests):
    """But for the eigenspace overlap, which divides by the width."""
    x, y = map(rs.Representation, generic_pair())
    padded = rs.Representation(np.pad(x.array, ((0, 0), (0, 3))))
    for m in MEMBERS:
        if "orthogonal" in m.invariant_to and m.name != "eigenspace_overlap":
            with subtests.test(str(m)):
                assert m(padded, y) == pytest.approx(m(x, y), rel=1e-7, abs=1e-7)
