"""Every claim of every measure, in both directions, on generic data: invariant where claimed,
variant where not."""

from __future__ import annotations

import itertools
import typing

import numpy as np
import pytest
from conftest import for_few_samples

import resemblance as rs
from resemblance.declared import INVARIANCES, JOINT_INVARIANCES
from resemblance.measure import Measure

# Claims hold where values mean little, too.
pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

LABELS = tuple(np.random.default_rng(9).integers(4, size=60).tolist())

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


def members() -> list[Measure]:
    found = dict.fromkeys(
        [*map(for_few_samples, rs.list_measures()), *rs.preset("resi"), *map(rs.get_measure, EXTRA)]
    )
    return [m.where(labels=LABELS) if m.name == "accuracy_difference" else m for m in found]


MEMBERS = members()
every_measure = pytest.mark.parametrize("m", MEMBERS, ids=str)


def generic_pair(
    n: int = 60, d: int = 6, e: int = 6, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Two related representations without any special symmetry; logit-like rows for the output
    measures."""
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal((n, 5)) + 2 * rng.standard_normal((4, 5))[rng.integers(4, size=n)]
    x, y = (
        np.tanh(latent @ rng.standard_normal((5, w)) / 2) + 0.3 * rng.standard_normal((n, w))
        for w in (d, e)
    )
    return x * rng.uniform(0.7, 1.4, d) + rng.uniform(0.2, 0.8, d), 1.3 * y * rng.uniform(
        0.7, 1.4, e
    ) + 0.4


def orthogonal(d: int, rng: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def transformed(x: np.ndarray, invariance: str, rng: np.random.Generator) -> np.ndarray:
    """Apply a generic member of the group, different for every call."""
    d = x.shape[1]
    linear = orthogonal(d, rng) * rng.uniform(0.4, 2.5, d) @ orthogonal(d, rng)
    shift = rng.uniform(0.5, 2, d) * x.std()
    return {
        "permutation": lambda: x[:, np.roll(rng.permutation(d), 1)],
        "orthogonal": lambda: x @ orthogonal(d, rng),
        "isotropic_scaling": lambda: rng.choice([0.05, 3.1]) * x,
        "invertible_linear": lambda: x @ linear,
        "translation": lambda: x + shift,
        "affine": lambda: x @ linear + shift,
    }[invariance]()


def tolerance(m: Measure) -> float:
    """How far rounding may move a value: squared distances near the rank tolerance and roots of
    cancellations."""
    return 1e-6 if m.name in ("gulp", "imd", "rtd") else 1e-9


@every_measure
@pytest.mark.parametrize("invariance", INVARIANCES)
def test_invariant_exactly_where_claimed(m, invariance):
    """m(T X, S Y) = m(X, Y) for generic T and S of the group, if and only if it is claimed."""
    unchanged = []
    for seed in range(3):
        rng = np.random.default_rng(100 + seed)
        x, y = generic_pair(seed=seed)
        before = m(x, y)
        after = [
            m(transformed(x, invariance, rng), y),
            m(x, transformed(y, invariance, rng)),
            m(transformed(x, invariance, rng), transformed(y, invariance, rng)),
        ]
        unchanged += [abs(value - before) <= tolerance(m) * max(1, abs(before)) for value in after]
    claimed = invariance in m.invariant_to
    assert all(unchanged) == claimed, (
        f"{m} claims {'' if claimed else 'no '}invariance to {invariance}, but m(TX, SY) = m(X, "
        f"Y) in {sum(unchanged)} of {len(unchanged)} cases"
    )


def jointly_transformed(
    x: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Apply one orthogonal map of the samples to both, which leaves the means as they are."""
    n = len(x)
    basis = np.linalg.qr(np.c_[np.ones(n), rng.standard_normal((n, n - 1))])[0]
    mean, rest = basis[:, :1], basis[:, 1:]
    turn = mean @ mean.T + rest @ orthogonal(n - 1, rng) @ rest.T
    return turn @ x, turn @ y


def joint_invariances(m: Measure) -> set[str]:
    """What leaves the value unchanged when it is done to both sides alike, for every seed."""
    unchanged = []
    for seed in range(3):
        pair = outputs_pair(m, seed)
        before = m(*pair)
        after = value_or_nan(m, *jointly_transformed(*pair, np.random.default_rng(seed)))
        unchanged.append(abs(after - before) <= tolerance(m) * max(1, abs(before)))
    return set(JOINT_INVARIANCES) if all(unchanged) else set()


@every_measure
def test_invariant_to_joint_maps_exactly_where_claimed(m):
    if ("outputs", "probabilities") in m.parameters or m.name == "accuracy_difference":
        assert not m.invariant_to & set(JOINT_INVARIANCES)  # it takes no rotated samples
        return
    assert joint_invariances(m) == m.invariant_to & set(JOINT_INVARIANCES)


@every_measure
def test_symmetric_exactly_where_claimed(m):
    values = [(m(x, y), m(y, x)) for x, y in (generic_pair(seed=s) for s in range(3))]
    same = all(a == pytest.approx(b, rel=1e-9, abs=1e-9) for a, b in values)
    assert same == m.symmetric


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


def outputs_pair(m: Measure, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return tuple(as_outputs(m, a) for a in generic_pair(n=30, seed=seed))


def as_outputs(m: Measure, x: np.ndarray) -> np.ndarray:
    """The same, or probabilities where the measure takes these only."""
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return (
        powers / powers.sum(axis=1, keepdims=True)
        if ("outputs", "probabilities") in m.parameters
        else x
    )


def value_or_nan(m: Measure, x: np.ndarray, y: np.ndarray) -> float:
    try:
        return m(x, y)
    except rs.Undefined:
        return np.nan


def is_symmetric(m: Measure) -> bool:
    pairs = [outputs_pair(m, seed) for seed in range(2)]
    return all(m(x, y) == pytest.approx(m(y, x), rel=1e-9, abs=1e-9) for x, y in pairs)


def invariances(m: Measure) -> set[str]:
    """What leaves the value unchanged, on both sides and for every seed."""
    unchanged = set(INVARIANCES)
    for seed in range(3):
        (x, y), rng = outputs_pair(m, seed), np.random.default_rng(100 + seed)
        before = m(x, y)
        for t in INVARIANCES:  # in this order, for each draws from rng
            value = value_or_nan(m, transformed(x, t, rng), transformed(y, t, rng))
            if not abs(value - before) <= tolerance(m) * max(1, abs(before)):
                unchanged.discard(t)
    return unchanged


@pytest.mark.parametrize("m", COMBINATIONS, ids=str)
def test_claims_hold_for_every_combination_of_choices(m):
    if m.spec in REFUSED:
        why = (
            "directions='resi' takes its weights from X|estimator='features' takes kernel='linear'"
        )
        with pytest.raises(ValueError, match=f"{m.name}: ({why})"):
            m(*outputs_pair(m, 0))
        return
    assert is_symmetric(m) == m.symmetric
    assert invariances(m) == m.invariant_to - set(JOINT_INVARIANCES)
    if ("outputs", "probabilities") not in m.parameters:
        assert joint_invariances(m) == m.invariant_to & set(JOINT_INVARIANCES)
    (x, y), (low, high) = outputs_pair(m, 0), m.range
    assert all(low <= value_or_nan(m, *pair) <= high for pair in ((x, y), (y, x), (x, x)))


# An estimate of what other features would give has no bounds, and X itself is no extreme of it.
@pytest.mark.parametrize("m", [m for m in MEMBERS if m.spec != "cka[estimator=features]"], ids=str)
def test_values_stay_in_the_claimed_range_and_nothing_is_more_similar_than_the_same(m):
    low, high = m.range
    itself = []
    for seed in range(3):
        x, y = generic_pair(seed=seed)
        noise = np.random.default_rng(seed).standard_normal(x.shape)
        if (
            "estimator",
            "features",
        ) in m.parameters:  # takes features that have something in common
            noise += 2 * noise[:, :1]
        for other in (x, y, noise, -x, x**3, x[::-1]):
            assert low <= m(x, other) <= high
            if not np.array_equal(x, other):
                itself.append((m(x, x), m(x, other)))
    assert all(
        (same >= other - 1e-9) if m.larger_is_more_similar else (same <= other + 1e-9)
        for same, other in itself
    )


def representations_of_many_kinds() -> list[np.ndarray]:
    x, rng = generic_pair()[0], np.random.default_rng(0)
    angles = np.arange(60) * np.pi / 30
    return [
        *(x, 50 * x, x[:, :1], np.c_[x, np.zeros(60)], np.c_[x, x], np.repeat(x[:30], 2, axis=0)),
        *(
            x[:, :2] @ rng.standard_normal((2, 6)),
            rng.standard_normal((60, 80)),
            np.eye(60),
            np.eye(4)[np.arange(60) % 4],
        ),
        *(np.where(np.arange(60)[:, None] == 3, 0, x), np.c_[np.cos(angles), np.sin(angles)]),
    ]


@pytest.mark.parametrize(
    "m", [*MEMBERS, *(m for m in COMBINATIONS if m.spec not in REFUSED)], ids=str
)
def test_a_representation_is_most_similar_to_itself_exactly_where_claimed(m):
    """At the end of the range, for dead units, n < d, categories ...; where that is denied, one of
    them shows it."""
    extreme, found = m.range[m.larger_is_more_similar], []
    for x in representations_of_many_kinds():
        try:
            found.append(m(as_outputs(m, x), as_outputs(m, x).copy()))
        except rs.Undefined:
            continue
    assert found
    assert all(value == pytest.approx(extreme, abs=1e-7) for value in found) == m.identity


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


def between(m: Measure, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> float:
    """How much longer the direct way is than the one over y: positive where the triangle inequality
    fails."""
    return m(x, z) - m(x, y) - m(y, z)


METRICS = [m for m in MEMBERS if m.metric]


@pytest.mark.parametrize("m", METRICS, ids=str)
def test_triangle_inequality_where_a_metric_is_claimed(m):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, z = generic_pair(seed=seed)
        y = (x + z) / 2 if seed % 2 else x + 0.3 * rng.standard_normal(x.shape)
        assert max(between(m, x, y, z), between(m, y, z, x), between(m, z, x, y)) <= 1e-9


def line() -> tuple[np.ndarray, ...]:
    """Three points of a line: the square of the whole way exceeds the sum of the squares of its
    halves."""
    x, _ = generic_pair()
    step = 0.05 * np.random.default_rng(0).standard_normal(x.shape)
    return x, x + step, x + 2 * step


def walk() -> tuple[np.ndarray, ...]:
    """Two steps of noise from 8 points of the plane; the seed is the first that violates in both
    directions."""
    rng = np.random.default_rng(336)
    x = rng.standard_normal((8, 2))
    y = x + 0.3 * rng.standard_normal(x.shape)
    return x, y, y + 0.3 * rng.standard_normal(x.shape)


def certain() -> tuple[np.ndarray, ...]:
    """Certain of one class, undecided, certain of the other: 1 bit directly, 0.62 bits in two
    steps."""
    return tuple(np.tile(p, (3, 1)) for p in ([1.0, 0.0], [0.5, 0.5], [0.0, 1.0]))


def joint() -> tuple[np.ndarray, ...]:
    """Neighbours in two independent numbers are close in both, but those in one tell nothing about
    the other."""
    both = np.random.default_rng(0).standard_normal((60, 2))
    return both[:, :1], both, both[:, 1:]


def shifted() -> tuple[np.ndarray, ...]:
    """Two small shifts, each within the noise of the samples, and what they are together."""
    x = generic_pair()[0]
    return x, x + 0.1, x + 0.2


def widened() -> tuple[np.ndarray, ...]:
    """A line, the same line in a space of 50 dimensions, and the line moved: a shift is smaller in
    wider spaces."""
    x = generic_pair()[0][:, :1]
    return x, np.c_[x, np.zeros((len(x), 49))], x + 5


VIOLATIONS = {
    "mmd": shifted,
    "mmd[bandwidth=0.5]": shifted,
    "sliced_wasserstein": widened,
    "sliced_wasserstein[projections=20,seed=1]": widened,
    "procrustes[squared=True]": line,
    "gulp[squared=True]": line,
    "jensen_shannon": lambda: tuple(100 * p for p in certain()),
    "jensen_shannon[outputs=probabilities]": certain,
    "rtd": walk,
    "rtd[direction=first]": walk,
    "rtd[direction=second]": walk,
    "information_imbalance": joint,
    "information_imbalance[metric=cosine]": lambda: tuple(
        np.c_[z, np.ones(len(z))] for z in joint()
    ),
    "information_imbalance[corrected=True,k=3]": joint,
}


def test_every_distance_is_claimed_to_be_a_metric_or_shown_not_to_be():
    distances = [
        m for m in (*MEMBERS, *map(rs.get_measure, VIOLATIONS)) if not m.larger_is_more_similar
    ]
    assert {m.spec for m in distances if not m.metric} == set(VIOLATIONS)
    assert not any(m.metric for m in MEMBERS if m.larger_is_more_similar)


@pytest.mark.parametrize("spec", VIOLATIONS)
def test_triangle_inequality_fails_where_no_metric_is_claimed(spec):
    m = rs.get_measure(spec)
    assert not m.metric
    assert between(m, *VIOLATIONS[spec]()) > 1e-6


# The random vectors of an estimate belong to positions: another order is another draw.
@pytest.mark.parametrize(
    "m", [m for m in MEMBERS if ("estimator", "stochastic") not in m.parameters], ids=str
)
def test_order_of_samples_is_irrelevant(m):
    x, y = generic_pair()
    order = np.random.default_rng(1).permutation(len(x))
    reordered = m.where(labels=np.asarray(LABELS)[order]) if m.name == "accuracy_difference" else m
    assert reordered(x[order], y[order]) == pytest.approx(m(x, y), rel=1e-7, abs=1e-7)


@every_measure
def test_same_value_cold_and_warm_and_inputs_unchanged(m):
    x, y = generic_pair()
    x.flags.writeable = y.flags.writeable = False
    before = x.copy(), y.copy()
    a, b = rs.Representation(x), rs.Representation(y)
    assert m(a, b) == m(a, b) == m(x, y)
    assert np.array_equal(x, before[0])
    assert np.array_equal(y, before[1])


@every_measure
def test_different_widths(m):
    """Any two widths are compared; the result does not depend on which argument is wider."""
    x, y = generic_pair(d=4, e=7)
    if m.name in ("disagreement", "jensen_shannon"):  # columns are classes there
        with pytest.raises(
            ValueError, match=r"\(60, 4\) and Y \(60, 7\) must have the same classes"
        ):
            m(x, y)
        return
    value = m(x, y)
    assert np.isfinite(value)
    if m.symmetric:
        assert m(y, x) == pytest.approx(value, rel=1e-9, abs=1e-9)


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


@every_measure
def test_seed_is_the_only_source_of_randomness(m):
    x, y = generic_pair()
    np.random.seed(5)  # noqa: NPY002 - the global generator is what must not be touched
    m(x, y)
    drawn = np.random.random()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    assert drawn == np.random.random()  # noqa: NPY002
    assert m.deterministic


@pytest.mark.parametrize("m", [m for m in MEMBERS if m.min_samples > 1], ids=str)
def test_few_samples_are_refused_not_guessed(m):
    x, y = generic_pair(n=m.min_samples - 1)
    with pytest.raises(rs.Undefined, match=m.name):
        m(x, y)
