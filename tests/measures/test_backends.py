"""One source for every array library: NumPy, PyTorch and the strict array API give the same values;
gradients pass."""

from __future__ import annotations

from itertools import product
from typing import Any

import array_api_strict
import numpy as np
import pytest
import torch
from factories.measures import declared
from test_claims import MEMBERS

import resemblance as rs
from resemblance.base.arrays import is_on_cpu, to_numpy
from resemblance.checks.data import with_repeats
from resemblance.checks.trial import with_matching_labels
from resemblance.intermediates.points import centered
from resemblance.intermediates.spectra import decomposition

# Small pairs, so that finite differences are cheap: what their values mean does not matter.
pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

RNG = np.random.default_rng(0)
SQUARE = RNG.standard_normal((2, 30, 6))
X, Y = SQUARE
STRICT = array_api_strict.asarray(X)
DOORS = (rs.cka, rs.jaccard, rs.rsa, rs.pwcca)  # in any library, in NumPy, both, of vectors


# ---------------------------------------------------------------------------------- the same values


def test_values_are_those_of_numpy_in_the_library_of_the_data(subtests):
    """Which values: see the checks of every measure in test_claims."""
    for measure in DOORS:
        with subtests.test(str(measure)):
            expected, tensor = measure(X, Y), measure(torch.asarray(X), torch.asarray(Y))
            assert type(expected) is float
            assert isinstance(tensor, torch.Tensor)
            assert (tensor.shape, tensor.dtype, tensor.device.type) == ((), torch.float64, "cpu")
            assert not tensor.requires_grad
            strict = measure(STRICT, array_api_strict.asarray(Y))
            assert (strict.shape, strict.dtype) == ((), array_api_strict.float64)
            assert [float(tensor), float(strict)] == pytest.approx([expected] * 2, rel=1e-10)


def test_tensors_of_every_kind_are_computed_in_float64(subtests):
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.int16, torch.bool):
        x, y = (torch.asarray(np.maximum(3 * data, 0)).to(dtype) for data in SQUARE)
        for measure in (rs.cka, rs.jaccard, rs.rsa.with_parameters(rdm="euclidean")):
            with subtests.test(f"{measure} of {dtype}"):
                value = measure(x, y)
                assert value.dtype == torch.float64
                expected = measure(x.double().numpy(), y.double().numpy())
                assert float(value) == pytest.approx(expected, rel=1e-10, abs=1e-10)


PRODUCTS = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul


@declared("Digits")
def digits(x: rs.Representation, y: rs.Representation) -> Any:
    """Say whether matrices are multiplied with all their digits."""
    half = torch.asarray([1 + 2**-12])  # bfloat16 and TF32 have no such number
    is_set = all(p.fp32_precision in ("none", "ieee") for p in PRODUCTS)
    is_set &= torch.get_float32_matmul_precision() == "highest"
    return torch.asarray(float(is_set and bool(half[None] @ half[:, None] > 1 + 2**-12)))


def test_measures_take_all_digits_where_the_program_takes_fewer(subtests):
    x, y = (torch.asarray(data, dtype=torch.float32) for data in SQUARE)
    ways = {
        "a call": lambda: float(digits(x, y)),
        "compare": lambda: rs.compare([x, y], measures=digits, progress=False)["digits"][0, 1],
    }
    for name, way in ways.items():
        for setting in ("high", "medium"):
            with subtests.test(f"{name}, {setting}"):
                torch.set_float32_matmul_precision(setting)
                before = [p.fp32_precision for p in PRODUCTS]
                try:
                    assert way() == 1
                    assert torch.get_float32_matmul_precision() == setting
                    assert [p.fp32_precision for p in PRODUCTS] == before
                finally:
                    torch.set_float32_matmul_precision("highest")
        with subtests.test(f"{name}, autocast"), torch.autocast("cpu", torch.bfloat16):
            assert (x @ y.T).dtype == torch.bfloat16
            assert way() == 1


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
    expected = interval("participation_ratio", X, n_resamples=3)
    found = interval("participation_ratio", x, n_resamples=3)
    assert found.low == pytest.approx(expected.low, rel=1e-10)
    null = permutation_null("temporal_drift", X, order, n_permutations=3)
    assert permutation_null("temporal_drift", x, order, n_permutations=3).mean == pytest.approx(
        null.mean
    )


@pytest.mark.usefixtures("brought")
def test_values_on_a_device_out_of_reach(subtests):
    x, y = map(rs.Representation, SQUARE)
    a, b = (rs.Representation(on_device(data)) for data in SQUARE)
    for m in MEMBERS:
        measure = with_matching_labels(m, len(X))
        with subtests.test(str(m)):
            there, here = ([with_repeats(m, r) for r in pair] for pair in ((a, b), (x, y)))
            value = measure(*there)
            expected_type = (), array_api_strict.float64, DEVICE
            assert (value.shape, value.dtype, value.device) == expected_type
            assert float(value) == pytest.approx(measure(*here), rel=1e-10, abs=1e-10)


def test_what_is_not_finite_on_a_device_is_named(brought):
    data = X.copy()
    data[3, 2] = np.nan
    with pytest.raises(rs.UndefinedError, match=r"1 NaN or infinite value.*row 3, column 2"):
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
    assert not is_on_cpu(Elsewhere(X))
    assert np.array_equal(to_numpy(Elsewhere(X)), X)


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


def test_the_precision_reported_is_that_of_the_values(subtests):
    for place, dtype in [
        (place, dtype) for place, (_, dtypes) in KINDS.items() for dtype in dtypes
    ]:
        with subtests.test(f"{place}, {dtype}"):
            x = rs.Representation(KINDS[place][0](dtype))
            expected = "float64" if place == "torch" or dtype == "float64" else "float32"
            assert (x.dtype, str(x.array.dtype).rpartition(".")[2]) == (expected, expected)
            result = rs.compare({"a": x.source, "b": x.source}, measures="cka", progress=False)
            entry = result.provenance["rows"]["a"]
            assert (entry["dtype"].rpartition(".")[2], entry["computed_in"]) == (dtype, expected)


# ---------------------------------------------------------------------------------------- gradients


def test_where_there_is_no_gradient_there_is_a_value():
    white = np.linalg.qr(X - X.mean(axis=0))[0]
    x, y = torch.tensor(white, requires_grad=True), torch.tensor(Y)
    with pytest.raises(rs.UndefinedError, match="singular values, where there is no gradient"):
        rs.pwcca(x, y)
    assert torch.isfinite(rs.pwcca(x.detach(), y))
    with torch.no_grad():
        assert torch.isfinite(rs.pwcca(x, y))


def test_intermediates_that_carry_gradients_are_not_remembered():
    remembered, recorded = (
        rs.Representation(torch.tensor(X)),
        rs.Representation(torch.tensor(X, requires_grad=True)),
    )
    assert centered(remembered) is centered(remembered)
    assert centered(recorded) is not centered(recorded)
    assert not recorded._cache
    y = rs.Representation(torch.tensor(SQUARE[1]))
    rs.procrustes(recorded, y).backward()
    rs.procrustes(recorded, y).backward()  # a remembered graph would have been freed by now
    assert not recorded._cache
    assert decomposition(y) is decomposition(y)


# ---------------------------------------------------------------------------------- mixed libraries

MIXED = (
    (X, torch.tensor(X), "X is a numpy array and Y a torch array"),
    (torch.tensor(X), X, "X is a torch array and Y a numpy array"),
    (STRICT, X, "X is a array_api_strict array and Y a numpy array"),
    (torch.tensor(X), STRICT, "X is a torch array and Y a array_api_strict array"),
)


def test_libraries_do_not_mix(subtests):
    for measure, (x, y, kinds) in product(DOORS, MIXED):
        with (
            subtests.test(f"{measure}: {kinds}"),
            pytest.raises(ValueError, match=f"{measure.name}.*: {kinds}; convert one of them"),
        ):
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


@pytest.mark.parametrize(
    "data", [torch.zeros(3, 2, dtype=torch.complex64), array_api_strict.ones((3, 2)) * 1j]
)
def test_complex_numbers_of_every_library_are_refused(data):
    with pytest.raises(ValueError, match=r"real numbers; got dtype \S*complex\d+; take abs"):
        rs.cka(data, data)


def test_gradients_at_repeated_singular_values(subtests):
    """Whitened data: the singular vectors have no derivative there, the space they span has one."""
    for name in ["linear_regression", "mean_cca", "gulp", "eigenspace_overlap"]:
        with subtests.test(str(name)):
            rng = np.random.default_rng(0)
            white = rng.standard_normal((10, 3))
            white = np.linalg.qr(white - white.mean(axis=0))[0]
            x = torch.tensor(white, requires_grad=True)
            y = torch.tensor(rng.standard_normal((10, 4)), requires_grad=True)
            assert torch.autograd.gradcheck(rs.get_measure(name), (x, y), atol=1e-5)
