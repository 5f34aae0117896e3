"""Values without each sample: equal to n calls on the other samples, in closed form or anew."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np
import pytest
import torch
from factories.measures import with_each

import resemblance as rs
from resemblance.base.exceptions import UndefinedError
from resemblance.contracts._measure import Measure
from resemblance.data.representation import Representation
from resemblance.inference.intervals import interval_kind
from resemblance.inference.jackknife import leave_group_out_values, leave_one_out_values
from resemblance.significance.orders import Design
from resemblance.significance.resampling import standard_error

N = 36
SOME = [0, 4, 5, 11, 17, 23, 29, 35]  # samples 4 and 5 are the outliers
KINDS = ("tall", "square", "wide", "tied", "duplicates")
EXACT = (
    "accuracy_difference", "angular_shape", "bures", "cka", "cka[estimator=debiased]",
    "cka[estimator=lange]", "cka[kernel=cosine]", "cka[estimator=debiased,kernel=cosine]",
    "cka[kernel=laplace,width=3]", "cka[estimator=debiased,kernel=rbf,width=9]",
    "concentricity_difference", "disagreement", "distance_correlation",
    "distance_correlation[squared=True]", "distance_correlation[estimator=debiased]",
    "eigenspace_overlap", "ensd", "gulp",
    "gulp[squared=True]", "jaccard[k=5]", "jaccard[k=5,metric=euclidean]", "jensen_shannon",
    "jensen_shannon[outputs=probabilities]", "linear_regression",
    "linear_regression[predict=first]", "magnitude_difference",
    "mean_cca[aggregation=mean_squared]", "mean_cca[aggregation=mean_squared,divisor=width]",
    "mutual_knn[corrected=True,k=5]", "mutual_knn[k=1]", "mutual_knn[k=34]",
    "mutual_knn[k=5,metric=euclidean]", "mutual_knn[k=5,metric=inner]", "mutual_knn[k=5]", "nbs",
    "procrustes", "procrustes[squared=True]", "procrustes_size_shape", "rsa[compare=cosine]",
    "rsa[compare=pearson]", "rsa[compare=pearson,rdm=sqeuclidean]", "rsa[compare=whitened_cosine]",
    "rsa[compare=whitened_pearson]", "rsm_norm_difference",
)  # fmt: skip
# The least correlation with n calls, and the largest deviation of the standard error from theirs.
APPROXIMATE = {
    "cka[kernel=laplace]": (0.9999, 0.005),
    "cka[kernel=rbf]": (0.9999, 0.005),
    "cka[bandwidth=0.5,kernel=rbf]": (0.998, 0.02),
    "cka[estimator=debiased,kernel=rbf]": (0.9999, 0.005),
    "cka[estimator=lange,kernel=laplace,pairs=all]": (0.9999, 0.005),
    "rsa": (0.99999, 0.001),
    "rsa[rdm=cosine]": (0.99999, 0.001),
    "rsa[rdm=euclidean]": (0.99999, 0.001),
    "rsa[rdm=sqeuclidean]": (0.99999, 0.001),
}


def samples(kind: str, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Two representations of n samples that share four directions."""
    rng = np.random.default_rng(["tall", "square", "wide", "tied", "duplicates"].index(kind))
    d, e = {"square": (n, n - 2), "wide": (2 * n, n + 20)}.get(kind, (8, 11))
    shared = rng.standard_normal((n, 4))
    x, y = (shared @ rng.standard_normal((4, w)) + rng.standard_normal((n, w)) for w in (d, e))
    if kind == "tied":  # few values: many equal distances
        return np.round(x), np.round(y)
    if kind == "duplicates":  # many zeros, zero rows, and samples at the same place
        x, y = np.maximum(x - 1.5, 0), np.maximum(y - 1.5, 0)
        x[n // 4 : n // 2], y[n // 3 : n // 2] = x[0], y[3]
    return x + 0.2, y + 0.3


def outputs(kind: str, spec: str) -> tuple[Measure, np.ndarray, np.ndarray]:
    """A measure, and two arrays that it takes: of outputs, as many classes."""
    x, y = samples(kind)
    m = rs.get_measure(spec)
    if m.family == "outputs":
        y = y[:, : x.shape[1]]
        x = x[:, : y.shape[1]]
        x = x + 1.5 * np.eye(x.shape[1])[np.arange(N) % x.shape[1]]
    if "probabilities" in spec:
        x, y = (np.exp(z) / np.exp(z).sum(axis=1, keepdims=True) for z in (x, y))
    if m.name == "accuracy_difference":
        m = m.with_parameters(labels=tuple(int(label) for label in np.arange(N) % x.shape[1]))
    return m, x, y


def anew(m: Measure, x: np.ndarray, y: np.ndarray, rows: Iterable[int] = range(N)) -> np.ndarray:
    """The values of a call without each sample, or without each of some."""
    values = []
    for i in rows:
        rest = m
        if "labels" in dict(m.parameters):
            rest = m.with_parameters(labels=tuple(np.delete(_labels(m), i).tolist()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rs.UninformativeWarning)
            values.append(float(rest(np.delete(x, i, axis=0), np.delete(y, i, axis=0))))
    return np.array(values)


def _labels(m: Measure) -> np.ndarray:
    return np.array(dict(m.parameters)["labels"])


def claimed(m: Measure, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    assert m.leave_one_out is not None
    return m.leave_one_out(Representation(x), Representation(y))


def test_exact_values_are_those_of_n_calls(subtests):
    for spec in EXACT:
        for kind in KINDS:
            with subtests.test(f"{spec}, {kind}"):
                m, x, y = outputs(kind, spec)
                values, expected = claimed(m, x, y), anew(m, x, y, SOME)
                assert values.dtype == np.float64
                assert values.shape == (N,)
                np.testing.assert_allclose(values[SOME], expected, rtol=1e-8, atol=1e-8)


def test_approximate_values_have_the_spread_of_n_calls(subtests):
    for spec, bounds in APPROXIMATE.items():
        for kind in KINDS:
            with subtests.test(f"{spec}, {kind}"):
                m, x, y = outputs(kind, spec)
                values, expected = claimed(m, x, y), anew(m, x, y)
                ratio = standard_error(values, "left_out") / standard_error(expected, "left_out")
                assert np.corrcoef(values, expected)[0, 1] > bounds[0]
                assert abs(ratio - 1) < bounds[1]
                assert abs(values.mean() - expected.mean()) < 0.03 * expected.std()


def variants(m: Measure) -> list[Measure]:
    """A measure with its defaults, and with every other choice of one parameter."""
    switches = {name: (False, True) for name, v in m.defaults.items() if isinstance(v, bool)}
    choices = {**m.choices, **switches}
    changed = (((name, v),) for name, values in choices.items() for v in values)
    return [*with_each(m, changed), m]


def without_k(spec: str) -> str:
    """The specification of a measure without a number of neighbours."""
    m = rs.get_measure(spec)
    rest = {name: v for name, v in m.parameters if name != "k"}
    return str(rs.get_measure(m.name).with_parameters(**rest))


def test_every_claim_is_tested(subtests):
    tested = {without_k(spec) for spec in (*EXACT, *APPROXIMATE)}
    for m in rs.list_measures():
        with subtests.test(str(m)):
            claimed = {str(variant) for variant in variants(m) if variant.leave_one_out is not None}
            assert claimed <= tested


def one_sample_is_all_there_is(x: np.ndarray, spec: str) -> np.ndarray:
    """Without it a representation is constant: there is no value, or that of n calls."""
    x = np.tile(x[1], (N, 1))
    x[4] = x[4] + 1
    return x


def one_sample_dwarfs_the_others(x: np.ndarray, spec: str) -> np.ndarray:
    if "probabilities" not in spec:
        x[5] *= 1e7
    return x


@pytest.mark.parametrize("change", [one_sample_is_all_there_is, one_sample_dwarfs_the_others])
def test_outliers_have_the_values_of_n_calls(change, subtests):
    for spec in [*EXACT, *APPROXIMATE]:
        with subtests.test(spec):
            m, x, y = outputs("tall", spec)
            check_with_brute_force(m, change(x, spec), y)


def check_with_brute_force(m: Measure, x: np.ndarray, y: np.ndarray) -> None:
    try:
        expected = anew(m, x, y, SOME)
    except UndefinedError:
        with pytest.raises(UndefinedError):
            claimed(m, x, y)
        with pytest.raises(UndefinedError):
            leave_one_out_values(m, Representation(x), Representation(y))
        return
    values = leave_one_out_values(m, Representation(x), Representation(y))[SOME]
    if np.ptp(expected) > 1e-9 and str(m) in APPROXIMATE:
        assert np.corrcoef(values, expected)[0, 1] > 0.999
    else:
        np.testing.assert_allclose(values, expected, rtol=1e-7, atol=1e-7)


def test_one_sample_too_few(subtests):
    for spec in [s for s in EXACT if s != "accuracy_difference"]:
        with subtests.test(str(spec)):
            m, x, y = outputs("tall", spec)
            few = int(m.min_samples)
            with pytest.raises(UndefinedError):
                claimed(m, x[:few], y[:few])


def test_a_direction_of_one_sample():
    """The rank falls by one without it."""
    x, y = samples("tall")
    x[:, 3] = 0
    x[7, 3] = 2.0
    for spec in ("mean_cca[aggregation=mean_squared]", "gulp", "linear_regression"):
        m = rs.get_measure(spec)
        np.testing.assert_allclose(claimed(m, x, y), anew(m, x, y), rtol=1e-8)


def test_nearly_equal_shapes_are_compared_anew():
    x, _ = samples("tall")
    y = x @ np.linalg.qr(np.random.default_rng(3).standard_normal((8, 8)))[0]
    y[2] += 1e-6
    m = rs.get_measure("procrustes")
    with pytest.raises(UndefinedError, match="nearly equal"):
        claimed(m, x, y)
    values = leave_one_out_values(m, Representation(x), Representation(y))
    np.testing.assert_allclose(values, anew(m, x, y), rtol=1e-9)


@pytest.mark.parametrize("spec", ["cka[estimator=debiased]", "nbs", "mutual_knn", "rsa"])
def test_tensors_with_and_without_gradients_have_the_values_of_arrays(spec):
    m, x, y = outputs("tall", spec)
    x, y = (z.astype(np.float32) for z in (x, y))
    expected = leave_one_out_values(m, Representation(x), Representation(y))
    for with_gradient in (False, True):
        tensors = [Representation(torch.tensor(z, requires_grad=with_gradient)) for z in (x, y)]
        values = leave_one_out_values(m, *tensors)
        assert isinstance(values, np.ndarray)
        assert values.dtype == np.float64
        np.testing.assert_allclose(values, expected, rtol=1e-10)


# --------------------------------------------------------------------------------------- anew


def test_labels_lose_the_entries_of_a_group():
    m, x, y = outputs("tall", "accuracy_difference")
    groups = [np.arange(4), np.array([7, 2])]
    values = leave_group_out_values(m, Representation(x), Representation(y), groups)
    for group, value in zip(groups, values):
        rest = tuple(int(label) for label in np.delete(_labels(m), group))
        a, b = (np.delete(z, group, axis=0) for z in (x, y))
        assert value == rs.get_measure("accuracy_difference")(a, b, labels=rest)


@pytest.mark.parametrize(
    ("group", "problem"), [(range(N), "no sample is left"), (range(4), "constant")]
)
def test_no_value_without_a_group_is_no_silent_nan(group, problem):
    x, y = samples("tall")
    x[4:] = x[4]
    with pytest.raises(UndefinedError, match=problem):
        leave_group_out_values(rs.cka, Representation(x), Representation(y), [np.array(group)])


@pytest.mark.parametrize("spec", ["rsa", "cka[kernel=rbf]", "distance_correlation", "cka"])
def test_no_closed_form_stores_all_pairs_of_many_samples(spec):
    measure, x = rs.get_measure(spec), Representation(np.arange(10_000.0).reshape(5000, 2) ** 0.5)
    kinds = {n: interval_kind(measure, Design(n), 2) for n in (4096, 5000)}
    assert kinds == {4096: "left_out", 5000: "left_out" if spec == "cka" else "groups"}
    if spec != "cka":
        with pytest.raises(ValueError, match=r"5,000 samples .* leave out groups"):
            leave_one_out_values(measure, x, x)


def layers(n: int, *widths: int) -> list[Representation]:
    rng = np.random.default_rng(n)
    shared = rng.standard_normal((n, 4))
    return [
        Representation(shared @ rng.standard_normal((4, d)) + rng.standard_normal((n, d)))
        for d in widths
    ]


def test_values_of_a_map_are_those_of_its_pairs_in_tiles_of_any_size(subtests):
    """Wide layers, whose inner products without each sample are made for many pairs at once."""
    some = layers(90, 60, 70, 80, 100, 50, 60)
    for spec in ("cka", "cka[estimator=debiased]", "rsa"):
        for sides in ((some[:3], some[3:]), (some,)):
            with subtests.test(f"{spec}, {len(sides)}"):
                options = {"measures": spec, "progress": False}
                whole, tiled = (
                    rs.evidence(*sides, memory=memory, **options).parts[spec]
                    for memory in ("1GB", "1MB")
                )
                assert whole.kind == "left_out"
                np.testing.assert_array_equal(whole.values, tiled.values)
                expected = rs.get_measure(spec).leave_one_out(sides[0][1], sides[-1][2])
                np.testing.assert_allclose(whole.values[1, 2], expected, rtol=1e-11)
