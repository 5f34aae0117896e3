"""Every claim of every measure, in both directions, on generic data: invariant where claimed, variant where not."""

from __future__ import annotations

import numpy as np
import pytest

import resemblance as rs
from resemblance.measure import INVARIANCES, Measure

LABELS = tuple(np.random.default_rng(9).integers(4, size=60).tolist())

# Members of the catalogue, the published variants, and every variant whose claims change with its parameters.
EXTRA = [
    "mean_cca[aggregation=mean_squared]",
    "pwcca[weights=symmetric]",
    "pwcca[weights=second]",
    "cka[estimator=debiased]",
    "cka[estimator=lange]",
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
    "jensen_shannon[outputs=logits]",
    "imd[estimator=stochastic,probes=64,repeats=2]",
]


def members() -> list[Measure]:
    found = dict.fromkeys([*rs.list_measures(), *rs.preset("resi"), *map(rs.get_measure, EXTRA)])
    return [m.where(labels=LABELS) if m.name == "accuracy_difference" else m for m in found]


MEMBERS = members()
every_measure = pytest.mark.parametrize("m", MEMBERS, ids=str)


def generic_pair(n: int = 60, d: int = 6, e: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two related representations without any special symmetry; logit-like rows for the output measures."""
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal((n, 5)) + 2 * rng.standard_normal((4, 5))[rng.integers(4, size=n)]
    x, y = (np.tanh(latent @ rng.standard_normal((5, w)) / 2) + 0.3 * rng.standard_normal((n, w)) for w in (d, e))
    return x * rng.uniform(0.7, 1.4, d) + rng.uniform(0.2, 0.8, d), 1.3 * y * rng.uniform(0.7, 1.4, e) + 0.4


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
    """How far rounding may move a value: squared distances near the rank tolerance and roots of cancellations."""
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
        f"{m} claims {'' if claimed else 'no '}invariance to {invariance}, but m(TX, SY) = m(X, Y) in "
        f"{sum(unchanged)} of {len(unchanged)} cases"
    )


@every_measure
def test_symmetric_exactly_where_claimed(m):
    values = [(m(x, y), m(y, x)) for x, y in (generic_pair(seed=s) for s in range(3))]
    same = all(a == pytest.approx(b, rel=1e-9, abs=1e-9) for a, b in values)
    assert same == m.symmetric


@every_measure
def test_values_stay_in_the_claimed_range_and_identity_is_the_extreme(m):
    low, high = m.range
    itself = []
    for seed in range(3):
        x, y = generic_pair(seed=seed)
        noise = np.random.default_rng(seed).standard_normal(x.shape)
        for other in (x, y, noise, -x, x**3, x[::-1]):
            assert low - 1e-12 <= m(x, other) <= high + 1e-12
            if not np.array_equal(x, other):
                itself.append((m(x, x), m(x, other)))
    if m.larger_is_more_similar:
        assert all(same >= other - 1e-9 for same, other in itself)
    else:
        assert all(same <= other + 1e-9 and same == pytest.approx(0, abs=1e-7) for same, other in itself)


@every_measure
def test_triangle_inequality_where_a_metric_is_claimed(m):
    violated = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, y = generic_pair(seed=seed)
        between = (x + y) / 2 if seed % 2 else x + 0.3 * rng.standard_normal(x.shape)
        a, b, c = m(x, between), m(between, y), m(x, y)
        violated.append(c > a + b + 1e-9)
    if m.metric:
        assert not m.larger_is_more_similar
        assert not any(violated)


@pytest.mark.parametrize("spec", ["procrustes[squared=True]", "gulp[squared=True]"])
def test_squared_distances_are_not_metrics(spec):
    """On a line the squared distance of the ends exceeds the sum of the squared distances of the halves."""
    m = rs.get_measure(spec)
    x, _ = generic_pair()
    step = 0.05 * np.random.default_rng(0).standard_normal(x.shape)
    path = [x, x + step, x + 2 * step]
    assert not m.metric
    assert m(path[0], path[2]) > m(path[0], path[1]) + m(path[1], path[2])


@every_measure
def test_order_of_samples_is_irrelevant(m):
    if "stochastic" in m.spec:
        return  # its random vectors belong to positions: another order is another draw
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
        with pytest.raises(ValueError, match=r"\(60, 4\) and Y \(60, 7\) must have the same classes"):
            m(x, y)
        return
    value = m(x, y)
    assert np.isfinite(value)
    if m.symmetric:
        assert m(y, x) == pytest.approx(value, rel=1e-9, abs=1e-9)


@every_measure
def test_zero_columns_change_nothing_for_rotation_invariant_distances(m):
    if not {"orthogonal"} <= m.invariant_to or m.name in ("eigenspace_overlap",):  # it divides by the width
        return
    x, y = generic_pair()
    padded = np.hstack([x, np.zeros((len(x), 3))])
    assert m(padded, y) == pytest.approx(m(x, y), rel=1e-7, abs=1e-7)


@every_measure
def test_float32_input_is_close_to_float64(m):
    x, y = generic_pair()
    loose = 0.02 if m.family in ("neighbours", "topology", "outputs") else 1e-5  # neighbours flip, never values
    assert m(x.astype(np.float32), y.astype(np.float32)) == pytest.approx(m(x, y), rel=loose, abs=loose)


@every_measure
def test_seed_is_the_only_source_of_randomness(m):
    x, y = generic_pair()
    np.random.seed(5)  # noqa: NPY002 - the global generator is what must not be touched
    m(x, y)
    drawn = np.random.random()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    assert drawn == np.random.random()  # noqa: NPY002
    assert m.deterministic


@every_measure
def test_few_samples_are_refused_not_guessed(m):
    if m.min_samples <= 1:
        return
    x, y = generic_pair(n=m.min_samples - 1)
    with pytest.raises(rs.Undefined, match=m.name):
        m(x, y)
