"""One source for every array library: NumPy, PyTorch and the strict array API give the same values;
gradients pass."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import array_api_strict
import numpy as np
import pytest
import torch

import resemblance as rs
from resemblance.arrays import on_processor, to_numpy
from resemblance.checks.trial import for_few_samples
from resemblance.measure import Measure
from resemblance.views.points import centered
from resemblance.views.spectra import decomposition

# Small pairs, so that finite differences are cheap: what their values mean does not matter.
pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

RNG = np.random.default_rng(0)
SQUARE = RNG.standard_normal((2, 30, 6))
WIDE = RNG.standard_normal((2, 12, 20))  # more features than samples
LABELS = {n: tuple(i % 3 for i in range(n)) for n in (30, 12)}
VARIANTS = [
    "cka[kernel=rbf]",
    "cka[estimator=debiased]",
    "cka[kernel=rbf,estimator=lange]",
    "cka[kernel=laplace]",
    "cka[kernel=rbf,pairs=all]",
    "cka[kernel=cosine]",
    "mka[k=10,symmetrize=True]",
    "mka[k=10,metric=cosine]",
    "kcka[k=10,variant=code]",
    "distance_correlation[squared=True]",
    "gulp[ridge=0.1]",
    "hard_correlation_match[matching=greedy]",
    "jaccard[metric=euclidean]",
    "mean_cca[aggregation=mean_squared]",
    "mean_cca[divisor=width]",
    "pwcca[directions=all]",
    "procrustes[squared=True]",
    "pwcca[weights=symmetric]",
    "rsa[compare=kendall]",
    "rsa[compare=pearson]",
    "rsa[compare=cosine,rdm=euclidean]",
    "rsa[compare=pearson,rdm=sqeuclidean]",
    "uniformity_difference[self_pairs=False]",
    "mutual_knn[metric=inner]",
    "cknna[estimator=centered,kernel=linear]",
    "information_imbalance[metric=cosine]",
    "riemannian[shrinkage=0.5]",
    "soft_matching[units=unit]",
    "shape[alpha=0]",
    "shape[alpha=1]",
    "subspace_overlap[k=2]",
    "pwcka[explained_variance=0.5]",
]
CATALOGUE = [for_few_samples(m) for m in rs.list_measures()]
MEASURES = (
    CATALOGUE
    + [m for m in rs.preset("resi") if m not in CATALOGUE]
    + [rs.get_measure(v) for v in VARIANTS]
)
DIFFERENTIABLE = [m for m in MEASURES if m.differentiable]
NOT_WIDE = {"pwcca[directions=resi]"}  # undefined with n <= d
# Equal canonical correlations have no order, and which variate gets which weight is what PWCCA
# sums.
NO_ORDER = {"pwcca", "pwcca[weights=symmetric]"}


def labelled(measure: Measure, n: int) -> Measure:
    return measure.where(labels=LABELS[n]) if measure.name == "accuracy_difference" else measure


def pairs(measure: Measure) -> list[np.ndarray]:
    return [SQUARE] if measure.spec in NOT_WIDE else [SQUARE, WIDE]


# ---------------------------------------------------------------------------------- the same values


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_torch_is_numpy(measure):
    for x, y in pairs(measure):
        m = labelled(measure, len(x))
        expected, found = m(x, y), m(torch.asarray(x), torch.asarray(y))
        assert type(expected) is float
        assert isinstance(found, torch.Tensor)
        assert (found.shape, found.dtype, found.device.type) == ((), torch.float64, "cpu")
        assert not found.requires_grad
        assert float(found) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_the_strict_array_api_is_numpy(measure):
    for x, y in pairs(measure):
        m = labelled(measure, len(x))
        found = m(array_api_strict.asarray(x), array_api_strict.asarray(y))
        assert (found.shape, found.dtype) == ((), array_api_strict.float64)
        assert float(found) == pytest.approx(m(x, y), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_arrays_that_cannot_be_written_to_are_enough(measure, monkeypatch):
    """Such as those of JAX: the standard does not ask for assignment."""

    def refuse(*_):
        raise TypeError("immutable")

    monkeypatch.setattr(type(STRICT), "__setitem__", refuse)
    for x, y in pairs(measure):
        m = labelled(measure, len(x))
        expected = pytest.approx(m(x, y), rel=1e-10, abs=1e-10)
        assert float(m(array_api_strict.asarray(x), array_api_strict.asarray(y))) == expected


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_tensors_of_every_kind_are_computed_in_float64(measure, subtests):
    for dtype in [torch.float32, torch.bfloat16, torch.float16, torch.int16, torch.bool]:
        with subtests.test(str(dtype)):
            x, y = (torch.asarray(3 * data).to(dtype) for data in SQUARE)
            m = labelled(measure, len(x))
            try:
                expected = m(x.double().numpy(), y.double().numpy())
            except (
                rs.Undefined
            ) as reason:  # two columns of ones and zeros can be too few for a covariance
                with pytest.raises(rs.Undefined, match=str(reason)[:10]):
                    m(x, y)
                continue
            found = m(x, y)
            assert found.dtype == torch.float64
            assert float(found) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_views_of_tensors_leave_them_unchanged(measure):
    x, y = (torch.asarray(data.T.copy()).T for data in SQUARE)
    labelled(measure, len(x))(x, y)
    assert np.array_equal(x.numpy(), SQUARE[0])
    assert np.array_equal(y.numpy(), SQUARE[1])


def test_compare_takes_tensors():
    tensors = {name: torch.asarray(data) for name, data in zip("xy", SQUARE)}
    arrays = dict(zip("xy", SQUARE))
    found, expected = (
        rs.compare(given, measures="default", progress=False) for given in (tensors, arrays)
    )
    for measure in expected.measures:
        assert np.allclose(found[measure.spec], expected[measure.spec], rtol=1e-10, atol=1e-10)


def test_the_dtype_of_the_data_is_part_of_what_results_are_kept_under(tmp_path):
    """What counts as rounding follows the dtype, also where NumPy has none of that name."""
    half = [
        torch.tensor(np.hstack([a, a @ np.ones((6, 2)) / 2]), dtype=torch.bfloat16) for a in SQUARE
    ]
    pairs = {"half": half, "single": [a.float() for a in half]}
    values = {kind: rs.mean_cca(*pair).item() for kind, pair in pairs.items()}
    assert values["half"] != pytest.approx(values["single"], rel=1e-3)
    for order in (("half", "single"), ("single", "half")):
        given = {f"{kind} {side}": r for kind in order for side, r in zip("xy", pairs[kind])}
        found = rs.compare(given, measures="mean_cca", progress=False, save=tmp_path / "kept.db")
        for kind in order:
            x, y = (found.rows.index(f"{kind} {side}") for side in "xy")
            assert found["mean_cca"][x, y] == pytest.approx(values[kind], rel=1e-12)


# ------------------------------------------------------------------------------------- accelerators

DEVICE = array_api_strict.Device("device1")


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Let arrays on ``DEVICE`` be out of the reach of NumPy, like those of CuPy: they are exported
    only to whom asks for a copy on the CPU. The shapes of the copies."""
    kind, shapes = type(STRICT), []
    where, export = kind.__dlpack_device__, kind.__dlpack__

    def device_of(self):
        return (2, 0) if self.device == DEVICE else where(self)

    def exported(self, **options):
        if self.device == DEVICE and options.get("dl_device") != (1, 0):
            raise BufferError("the values are on a device")
        shapes.append(self.shape)
        return export(self, **options)

    monkeypatch.setattr(kind, "__dlpack_device__", device_of)
    monkeypatch.setattr(kind, "__dlpack__", exported)
    return shapes


def on_device(data: np.ndarray, dtype: str = "float64") -> Any:
    return array_api_strict.asarray(
        data, dtype=getattr(array_api_strict, dtype), device=DEVICE, copy=True
    )


@pytest.mark.usefixtures("brought")
def test_intervals_and_nulls_of_statistics_on_a_device_out_of_reach():
    from resemblance.stability import interval, permutation_null

    order, x = np.arange(len(X)) % 4, on_device(X)
    expected = interval("participation_ratio", X, draws=3)
    found = interval("participation_ratio", x, draws=3)
    assert found.low == pytest.approx(expected.low, rel=1e-10)
    null = permutation_null("temporal_drift", X, order, draws=3)
    assert permutation_null("temporal_drift", x, order, draws=3).mean == pytest.approx(null.mean)


@pytest.mark.usefixtures("brought")
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_values_on_a_device_out_of_reach(measure):
    for x, y in pairs(measure):
        m = labelled(measure, len(x))
        found = m(on_device(x), on_device(y))
        assert (found.shape, found.dtype, found.device) == ((), array_api_strict.float64, DEVICE)
        assert float(found) == pytest.approx(m(x, y), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(
    "measure", [rs.cka, rs.distance_correlation, rs.rsa.where(compare="pearson")], ids=str
)
def test_what_stays_on_the_device(brought, measure):
    """Checking for NaN, too, brings back two numbers and no array."""
    measure(on_device(X), on_device(SQUARE[1]))
    assert brought == []


def test_what_is_not_finite_on_a_device_is_named(brought):
    data = X.copy()
    data[3, 2] = np.nan
    with pytest.raises(rs.Undefined, match=r"1 NaN or infinite value.*row 3, column 2"):
        rs.cka(on_device(data), on_device(X))
    assert brought == [X.shape]


class Elsewhere:
    """What CuPy gives: an array that NumPy is refused, with a way of its own."""

    def __init__(self, values: np.ndarray):
        self.values, self.device = values, "<CUDA Device 0>"

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return array_api_strict

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("the values are on a device")

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise TypeError("implicit conversion to a NumPy array is not allowed")

    def get(self) -> np.ndarray:
        return self.values


def test_arrays_with_a_way_of_their_own_to_numpy():
    assert not on_processor(Elsewhere(X))
    assert np.array_equal(to_numpy(Elsewhere(X)), X)


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_arrays_over_memory_that_is_read_only(measure):
    for data in pairs(measure):
        m, locked = labelled(measure, len(data[0])), data.copy()
        locked.flags.writeable = False
        x, y = (array_api_strict.asarray(a, copy=False) for a in locked)
        assert float(m(x, y)) == pytest.approx(m(*data), rel=1e-10, abs=1e-10)


KINDS = {
    "an accelerator": (lambda dtype: on_device(X, dtype), ["float32", "float64", "int16"]),
    "without double precision": (
        lambda dtype: array_api_strict.asarray(
            X.astype(dtype), device=array_api_strict.Device("no_float64")
        ),
        ["float32", "int16"],
    ),
    "torch": (
        lambda dtype: torch.asarray(X).to(getattr(torch, dtype)),
        ["bfloat16", "float16", "float32", "float64", "int16", "bool"],
    ),
}


@pytest.mark.parametrize(
    ("place", "dtype"), [(place, dtype) for place, (_, dtypes) in KINDS.items() for dtype in dtypes]
)
def test_the_precision_reported_is_that_of_the_values(place, dtype):
    x = rs.Representation(KINDS[place][0](dtype))
    expected = "float64" if place == "torch" or dtype == "float64" else "float32"
    assert (x.precision, str(x.array.dtype).rpartition(".")[2]) == (expected, expected)
    result = rs.compare({"a": x.source, "b": x.source}, measures="cka", progress=False)
    entry = result.provenance["rows"]["a"]
    assert (entry["dtype"].rpartition(".")[2], entry["computed_in"]) == (dtype, expected)


def test_double_precision_is_refused_where_there_is_none():
    x = array_api_strict.ones((3, 2), device=array_api_strict.Device("no_float64"))
    with pytest.raises(ValueError, match="cannot be computed in float64 where it is"):
        rs.Representation(x, dtype="float64")


# ---------------------------------------------------------------------------------------- gradients


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_a_gradient_is_recorded_exactly_when_that_is_claimed(measure):
    for data in pairs(measure):
        m = labelled(measure, len(data[0]))
        expected = m(*data)
        for wanted in ((True, False), (False, True), (True, True)):
            x, y = (torch.tensor(a, requires_grad=g) for a, g in zip(data, wanted))
            if m.spec in NO_ORDER and data is WIDE:
                with pytest.raises(
                    rs.Undefined, match="equal or zero singular values, where there is no gradient"
                ):
                    m(x, y)
                continue
            found = m(x, y)
            assert found.requires_grad == m.differentiable
            assert float(found.detach()) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(
    ("measure", "shape"),
    [pytest.param(m, (12, 4), id=f"{m}-n > d") for m in DIFFERENTIABLE]
    + [pytest.param(m, (7, 9), id=f"{m}-n < d") for m in DIFFERENTIABLE if m.spec not in NO_ORDER],
)
def test_gradients_are_those_of_finite_differences(measure, shape):
    generator = torch.Generator().manual_seed(1)
    x, y = (
        torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for _ in "xy"
    )
    assert torch.autograd.gradcheck(measure, (x, y), fast_mode=True)


@pytest.mark.parametrize(
    "measure", [m for m in DIFFERENTIABLE if m.name != "jensen_shannon"], ids=str
)
def test_gradients_are_those_of_finite_differences_for_different_widths(measure):
    generator = torch.Generator().manual_seed(2)
    x, y = (
        torch.randn(12, d, generator=generator, dtype=torch.float64, requires_grad=True)
        for d in (3, 5)
    )
    assert torch.autograd.gradcheck(measure, (x, y), fast_mode=True)


X = SQUARE[0]
SPECIAL = {
    "identical": (X, X.copy()),
    "rotated": (X, X @ np.linalg.qr(RNG.standard_normal((6, 6)))[0]),
    "scaled": (X, 3 * X),
    "rank deficient": (X[:, :2] @ RNG.standard_normal((2, 6)), SQUARE[1]),
    "dead units": (X * (np.arange(6) < 4), SQUARE[1] * (np.arange(6) > 0)),
    "duplicate samples": (np.tile(X[:10], (3, 1)), SQUARE[1]),
    "a zero sample": (X * (np.arange(30)[:, None] > 0), SQUARE[1]),
    "dead units of identical ones": (X * (np.arange(6) < 4), X * (np.arange(6) < 4)),
    "one feature": (X[:, :1], SQUARE[1][:, :1]),
    "whitened": (np.linalg.qr(X - X.mean(axis=0))[0], SQUARE[1]),
    "both whitened": tuple(np.linalg.qr(a - a.mean(axis=0))[0] for a in SQUARE),
    "a circle": (
        np.c_[np.cos(np.arange(30) * np.pi / 15), np.sin(np.arange(30) * np.pi / 15)],
        SQUARE[1],
    ),
    "balanced classes": (np.eye(5)[np.arange(30) % 5], SQUARE[1]),
    "huge": (X * 1e150, SQUARE[1]),
    "tiny": (X * 1e-150, SQUARE[1]),
}
SAME = [
    case for case in SPECIAL if case in ("identical", "rotated", "scaled") or "identical" in case
]
TIED = ["whitened", "both whitened", "a circle", "balanced classes"]
VECTORS = [
    "svcca",
    "svcca[truncation=resi]",
    "pwcka",
    "pwcka[explained_variance=0.5]",
    "subspace_overlap",
]
VECTORS += ["subspace_overlap[k=2]", "gulp[ridge=0.1]", "shape"]
# There is a value but no gradient, and that is said: the best rotation may turn dead units on both
# sides anywhere.
NO_GRADIENT = (
    dict.fromkeys(VECTORS, TIED)
    | {name: [*SAME, *TIED] for name in NO_ORDER}
    | {"aligned_cosine": ["rank deficient", "dead units", "dead units of identical ones"]}
)
NO_GRADIENT |= {"pwcca[weights=symmetric]": [*SAME, *TIED]}
CLASSES = {"a circle", "balanced classes"}  # of another number than those of the other outputs


@pytest.mark.parametrize("measure", DIFFERENTIABLE, ids=str)
def test_gradients_are_finite_or_refused_where_a_distance_or_a_rank_degenerates(measure, subtests):
    excluded = CLASSES if measure.name == "jensen_shannon" else set()
    for case in [case for case in SPECIAL if case not in excluded]:
        with subtests.test(case):
            x, y = (torch.tensor(data, requires_grad=True) for data in SPECIAL[case])
            if (measure.spec, case) == ("rsa[compare=pearson]", "one feature"):
                continue  # undefined: no correlation over one feature
            if case in NO_GRADIENT.get(measure.spec, ()):
                with pytest.raises(
                    rs.Undefined, match="singular values, where there is no gradient"
                ):
                    measure(x, y)
                assert torch.isfinite(measure(x.detach(), y.detach()))
                with torch.no_grad():
                    assert torch.isfinite(measure(x, y))
                continue
            for gradient in torch.autograd.grad(measure(x, y), (x, y)):
                assert torch.isfinite(gradient).all()


@pytest.mark.parametrize(
    "measure", [rs.cka, rs.procrustes_size_shape, rs.mean_cca, rs.gulp.where(squared=True)], ids=str
)
def test_dead_units_do_not_change_the_gradient_of_the_others(measure):
    x, y = (torch.tensor(data, requires_grad=True) for data in SQUARE)
    dead = torch.nn.functional.pad(x.detach(), (0, 2)).requires_grad_()
    alone, padded = (torch.autograd.grad(measure(a, y), a)[0] for a in (x, dead))
    assert torch.allclose(padded[:, :6], alone, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("measure", [rs.cka, rs.procrustes.where(squared=True)], ids=str)
def test_gradients_vanish_where_two_representations_agree(measure):
    x = torch.tensor(X, requires_grad=True)
    gradient = torch.autograd.grad(measure(x, torch.tensor(X)), x)[0]
    assert float(gradient.abs().max()) < 1e-6


def test_descent_makes_a_representation_similar():
    x, y = torch.tensor(X, requires_grad=True), torch.tensor(SQUARE[1])
    optimizer = torch.optim.Adam([x], lr=0.1)
    for _ in range(60):
        optimizer.zero_grad()
        loss = 1 - rs.cka(x, y)
        loss.backward()
        optimizer.step()
    assert float(rs.cka(x.detach(), y)) > 0.95


def test_views_that_carry_gradients_are_not_remembered():
    remembered, recorded = (
        rs.Representation(torch.tensor(X)),
        rs.Representation(torch.tensor(X, requires_grad=True)),
    )
    assert centered(remembered) is centered(remembered)
    assert centered(recorded) is not centered(recorded)
    assert not recorded._views
    y = rs.Representation(torch.tensor(SQUARE[1]))
    rs.procrustes(recorded, y).backward()
    rs.procrustes(recorded, y).backward()  # a remembered graph would have been freed by now
    assert not recorded._views
    assert decomposition(y) is decomposition(y)


# ---------------------------------------------------------------------------------- mixed libraries

STRICT = array_api_strict.asarray(X)


MIXED = (
    (X, torch.tensor(X), "X is a numpy array and Y a torch array"),
    (torch.tensor(X), X, "X is a torch array and Y a numpy array"),
    (STRICT, X, "X is a array_api_strict array and Y a numpy array"),
    (torch.tensor(X), STRICT, "X is a torch array and Y a array_api_strict array"),
)


# One door for all measures: each is tried with one case, and each case with some.
@pytest.mark.parametrize(
    ("measure", "case"), list(zip(MEASURES, cycle(MIXED))), ids=lambda v: getattr(v, "spec", "")
)
def test_libraries_do_not_mix(measure, case):
    x, y, kinds = case
    with pytest.raises(ValueError, match=f"{measure.name}.*: {kinds}; convert one of them"):
        measure(x, y)


class Tagged(torch.Tensor):
    """A tensor of a class of one's own."""


@pytest.mark.parametrize("kind", [torch.nn.Parameter, lambda data: data.as_subclass(Tagged)])
def test_parameters_and_other_subclasses_are_tensors(kind):
    """Embedding matrices are parameters."""
    plain, special = torch.tensor(X), kind(torch.tensor(X))
    other = torch.tensor(SQUARE[1])
    expected = pytest.approx(rs.cka(plain, other).item(), abs=1e-12)
    assert rs.cka(special, other).item() == expected
    assert rs.cka(other, special).item() == expected
    found = rs.compare({"a": special, "b": other}, measures="cka", progress=False)
    assert found["cka"][0, 1] == expected
    assert found.provenance["libraries"]["torch"] == torch.__version__


def test_compare_says_so_before_it_computes():
    message = (
        r"compare: 'a' is computed by numpy in float64 and 'b' by torch in float64; convert one"
    )
    with pytest.raises(ValueError, match=message):
        rs.compare({"a": X, "b": torch.tensor(X)}, progress=False)
    single = rs.Representation(X, dtype="float32")
    with pytest.raises(
        ValueError, match="'a' is computed by numpy in float64 and 'b' by numpy in float32"
    ):
        rs.compare({"a": X, "b": single}, progress=False)


def test_labels_may_be_of_any_library():
    labels = np.arange(30) % 3
    expected = rs.accuracy_difference(*SQUARE, labels=tuple(labels.tolist()))
    for given in (labels, labels.tolist(), torch.asarray(labels)):
        assert rs.accuracy_difference(*SQUARE, labels=given) == expected


@pytest.mark.parametrize(
    "data", [torch.zeros(3, 2, dtype=torch.complex64), array_api_strict.ones((3, 2)) * 1j]
)
def test_complex_numbers_of_every_library_are_refused(data):
    with pytest.raises(ValueError, match=r"real numbers; got dtype \S*complex\d+; take abs"):
        rs.cka(data, data)


@pytest.mark.parametrize("name", ["linear_regression", "mean_cca", "gulp", "eigenspace_overlap"])
def test_gradients_at_repeated_singular_values(name):
    """Whitened data: the singular vectors have no derivative there, the space they span has one."""
    rng = np.random.default_rng(0)
    white = np.linalg.qr(rng.standard_normal((20, 4)) - 0)[0]
    white = np.linalg.qr(white - white.mean(axis=0))[0]
    x = torch.tensor(white, requires_grad=True)
    y = torch.tensor(rng.standard_normal((20, 5)), requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, b: getattr(rs, name)(a, b), (x, y), atol=1e-5)
