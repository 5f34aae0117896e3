"""Arrays of JAX in every measure: values with and without double precision, gradients, and what
cannot be traced.

JAX compiles each operation once for each shape and dtype, which is nearly all that this costs: so
of every family one measure is tried, and all of them with their variants in the long tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from factories.measures import declared
from test_claims import MEMBERS

import resemblance as rs
from resemblance.checks.data import with_repeats
from resemblance.checks.trial import with_matching_labels
from resemblance.intermediates.rectangles import force_blockwise

# Small pairs, so that finite differences are cheap: what their values mean does not matter.
pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

RNG = np.random.default_rng(3)
TALL = RNG.standard_normal((2, 12, 4))
WIDE = RNG.standard_normal((2, 12, 20))
TIED = np.sign(WIDE)
# They have no value for so few samples.
UNDEFINED = {"cka[estimator=features]", "cycle_knn[corrected=True]"}
MEASURES = [with_matching_labels(m, 12) for m in MEMBERS if m.spec not in UNDEFINED]
OF_EACH_FAMILY = {m.family: m for m in MEASURES[: len(rs.list_measures())] if m.differentiable} | {
    "outputs": rs.jensen_shannon
}


def or_all(measures: Iterable[rs.Measure]) -> pytest.MarkDecorator:
    """Run a test for some measures, and for all in the long tests."""
    every = pytest.param(MEASURES, marks=pytest.mark.long, id="all")
    return pytest.mark.parametrize("measures", [pytest.param(measures, id="some"), every])


@pytest.fixture(autouse=True, scope="module")
def quickly() -> Iterator[None]:
    """Compile operations in less time."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    """Double precision, which JAX has only on request."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture
def single(double: None) -> None:
    jax.config.update("jax_enable_x64", False)


# ------------------------------------------------------------------------------------------- values


def test_equal_rows_in_different_blocks_are_at_distance_zero(small_blocks):
    x, y = (np.tile(array[:5], (2, 1)) for array in TALL)
    small_blocks()
    with force_blockwise(True):
        value = rs.distance_correlation(jnp.asarray(x), jnp.asarray(y))
        assert value == pytest.approx(rs.distance_correlation(x, y), rel=1e-10)


@or_all([*OF_EACH_FAMILY.values(), rs.jaccard, rs.rsa])
def test_values_are_those_of_numpy(measures, subtests):
    pair, arrays = list(map(rs.Representation, TALL)), list(map(jnp.asarray, TALL))
    for measure in measures:
        with subtests.test(str(measure)):
            value = measure(*(with_repeats(measure, a) for a in arrays))
            assert isinstance(value, jax.Array)
            assert (value.shape, value.dtype) == ((), jnp.float64)
            expected = measure(*(with_repeats(measure, r) for r in pair))
            assert float(value) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.usefixtures("single")
@or_all([rs.procrustes, rs.cka])
def test_values_in_single_precision_are_near_those_of_numpy(measures, subtests):
    pair, arrays = list(map(rs.Representation, TALL)), list(map(jnp.asarray, TALL))
    for measure in measures:
        with subtests.test(str(measure)):
            value = measure(*(with_repeats(measure, a) for a in arrays))
            assert (value.shape, value.dtype) == ((), jnp.float32)
            expected = measure(*(with_repeats(measure, r) for r in pair))
            assert float(value) == pytest.approx(expected, rel=1e-3, abs=1e-3)


@pytest.mark.usefixtures("single")
def test_products_take_all_digits_on_every_device():
    used = []

    @declared("Seen", range=(0, np.inf))
    def seen(x: rs.Representation, y: rs.Representation) -> Any:
        """Record the precision of products."""
        used.append(jax.config.jax_default_matmul_precision)
        return x.xp.sum(x.array)

    x, y = jnp.ones((5, 2)), jnp.ones((5, 2))
    seen(x, y)
    rs.compare([x, y], measures=seen, progress=False)
    assert set(used) == {"highest"}
    assert jax.config.jax_default_matmul_precision is None


# ---------------------------------------------------------------------------------------- precision


def test_the_precision_reported_is_that_of_the_values(subtests):
    dtypes = ("bfloat16", "float16", "float32", "float64", "int8", "bool")
    sources = [jnp.asarray(TIED[0]).astype(dtype) for dtype in dtypes]  # in float64 even without it
    for expected in ("float64", "float32"):
        jax.config.update("jax_enable_x64", expected == "float64")
        for dtype, source in zip(dtypes, sources):
            with subtests.test(f"{dtype} in {expected}"):
                x = rs.Representation(source)
                assert (x.dtype, str(x.array.dtype)) == (expected, expected)
                result = rs.compare({"x": source, "y": source}, measures="cka", progress=False)
                entry = result.provenance["rows"]["x"]
                assert (entry["dtype"], entry["computed_in"]) == (dtype, expected)


@pytest.mark.usefixtures("single")
def test_double_precision_is_refused_where_jax_has_none():
    with pytest.raises(ValueError, match=r"float64 where it is; in JAX.*jax_enable_x64"):
        rs.Representation(jnp.ones((3, 2)), dtype="float64")


# ---------------------------------------------------------------------------------------- gradients


def gradients_of_torch(measure: rs.Measure, pair: np.ndarray) -> list[np.ndarray]:
    x, y = (torch.tensor(a, requires_grad=True) for a in pair)
    return [g.numpy() for g in torch.autograd.grad(measure(x, y), (x, y))]


def gradients_of_jax(measure: rs.Measure, pair: np.ndarray) -> tuple[jax.Array, ...]:
    gradients: tuple[jax.Array, ...] = jax.grad(measure, argnums=(0, 1))(*map(jnp.asarray, pair))
    return gradients


@or_all([rs.svcca])
def test_gradients_are_those_of_torch(measures, subtests):
    """Which are those of difference quotients: see the checks of every measure in test_claims."""
    for measure in measures:
        if measure.differentiable:
            with subtests.test(str(measure)):
                expected = gradients_of_torch(measure, TALL)
                for gradient, torchs in zip(gradients_of_jax(measure, TALL), expected):
                    assert np.allclose(gradient, torchs, rtol=1e-7, atol=1e-9)


def test_a_measure_without_gradient_is_a_constant():
    x, y = map(jnp.asarray, TALL)
    value, gradient = jax.value_and_grad(rs.jaccard.with_parameters(k=3))(x, y)
    assert float(value) == rs.jaccard(*TALL, k=3)
    assert not gradient.any()


def test_intermediates_that_carry_gradients_are_not_remembered():
    kept = rs.Representation(jnp.asarray(TALL[1]))
    recorded = []

    def loss(x):
        recorded.append(rs.Representation(x))
        return 1 - rs.cka(recorded[0], kept)

    jax.grad(loss)(jnp.asarray(TALL[0]))
    assert not recorded[0].cache
    assert kept.cache


# ------------------------------------------------------------------------------------------ tracing


def test_arrays_without_values_are_refused_with_a_remedy(subtests):
    x, remedy = jnp.asarray(TALL), r"has no values inside jax\.jit, .*jax\.pure_callback"
    for measure in [rs.cka, rs.jaccard.with_parameters(k=2)]:
        for transform in [jax.jit, jax.vmap, lambda f: jax.jit(jax.grad(f)), jax.checkpoint]:
            with subtests.test(f"{measure}"), pytest.raises(ValueError, match=remedy):
                transform(measure)(x, x)


def test_the_remedy_works():
    def inside(x, y):
        value = jax.ShapeDtypeStruct((), x.dtype)
        call = lambda a, b: np.asarray(rs.cka(a, b))  # noqa: E731
        return jax.pure_callback(call, value, x, y, vmap_method="sequential")

    x, y = map(jnp.asarray, TALL)
    assert float(jax.jit(inside)(x, y)) == pytest.approx(rs.cka(*TALL), rel=1e-12)
    both = jax.vmap(inside)(jnp.stack([x, x]), jnp.stack([y, x]))
    assert np.allclose(both, [rs.cka(*TALL), 1], rtol=1e-12)


SPREAD = """
import jax, jax.numpy as jnp, resemblance as rs
mesh = jax.sharding.Mesh(jax.devices(), ("samples",))
rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("samples"))
x = jax.device_put(jnp.arange(24.0).reshape(6, 4) ** 2, rows)
try:
    rs.rsa(x, x)
except ValueError as error:
    print(error)
print(rs.rsa(*[jax.device_put(x, jax.devices()[0])] * 2))
"""


def test_arrays_on_several_devices_are_refused_with_a_remedy():
    devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    said = subprocess.run(
        [sys.executable, "-c", SPREAD], env=os.environ | devices, capture_output=True, text=True
    )
    first, second = said.stdout.splitlines()
    assert "spread over several devices: pass jax.device_put(X, jax.devices()[0])" in first
    assert float(second) == 1
