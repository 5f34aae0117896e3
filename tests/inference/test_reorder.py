"""Intermediates that are carried over to another order of the samples, and declared axes."""

from __future__ import annotations

import gc
import math
import weakref
from typing import Any

import numpy as np
import pytest
import torch
from test_claims import MEMBERS

import resemblance as rs
from resemblance import Representation, UndefinedError
from resemblance.base.rng import generator
from resemblance.catalogue import get_measures
from resemblance.checks.trial import with_matching_labels
from resemblance.contracts._measure import Measure, measure
from resemblance.data.representation import cached
from resemblance.inference.reorder import AxisRule, axis_rule, permute_representation
from resemblance.intermediates.points import unit

N = 40
# Values that depend on the positions of the samples, or on stimuli that move as wholes
LEFT_OUT = {("search", "hnsw"), ("estimator", "stochastic")}
MEASURES = [
    with_matching_labels(m, N)
    for m in MEMBERS
    if m.takes != "repeats" and not LEFT_OUT & {*m.parameters}
]


def pair_of(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Two related representations of the same samples."""
    noise = generator(3, kind).standard_normal((3, N, 60))
    x, y = noise[0] + noise[2], noise[1] + noise[2]
    relu = np.maximum(x[:, :6], 0), np.maximum(y[:, :7] - 0.3, 0)
    relu[1][::3] = 0
    return {"tall": (x[:, :6], y[:, :9]), "wide": (x[:, :60], y), "relu": relu}[kind]


def value_of(m: Measure, x: Representation, y: Representation) -> float:
    try:
        return float(m.evaluate(x, y))
    except UndefinedError:
        return math.nan


def orders(n: int, *labels: Any) -> list[np.ndarray]:
    return [generator(5, "order", n, draw, *labels).permutation(n) for draw in range(2)]


def assert_carried(m: Measure, x: Representation, y: Representation) -> None:
    own, other = orders(x.shape[0], "x")[0], orders(y.shape[0], "y")[0]
    X, Y = x.source[own], y.source[other]
    moved = permute_representation(y, other)
    expected = value_of(m, x, Representation(Y))
    assert value_of(m, x, moved) == close(expected, m)
    expected = value_of(m, Representation(X), Representation(Y))
    assert value_of(m, permute_representation(x, own), moved) == close(expected, m)


def close(expected: float, m: Measure) -> Any:
    span = np.ptp(m.range) if np.isfinite(m.range).all() else 0
    return pytest.approx(expected, rel=1e-9, abs=1e-12 * span, nan_ok=True)


def test_reordered_intermediates_give_the_same_value(subtests):
    """Of wide data; of tall and tied data: see the checks of every measure in test_claims."""
    for m in MEASURES:
        with subtests.test(str(m)):
            assert_carried(m, *map(Representation, pair_of("wide")))


SOME = get_measures(["cka", "cka[kernel=rbf]", "rsa", "mutual_knn", "mka[k=10]", "procrustes"])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_tensors(dtype):
    x, y = (Representation(torch.asarray(r, dtype=dtype)) for r in pair_of("relu"))
    order = orders(N)[0]
    for m in SOME:
        value = m.evaluate(x, permute_representation(y, order))
        expected = m.evaluate(x, Representation(y.source[torch.asarray(order)]))
        assert isinstance(value, torch.Tensor) == isinstance(expected, torch.Tensor)
        assert float(value) == pytest.approx(float(expected), rel=1e-9)


def test_gradients_pass_through_the_moved_array():
    x, y = (torch.asarray(r) for r in pair_of("tall"))
    y.requires_grad_()
    order = torch.asarray(orders(N)[0])
    z = permute_representation(Representation(y), order.numpy())
    rs.cka.evaluate(Representation(x), z).backward()
    gradient, y.grad = y.grad, None
    rs.cka(x, y[order]).backward()
    assert torch.allclose(gradient, y.grad, atol=1e-14)


@pytest.mark.parametrize(
    "order", [np.arange(N - 1), np.zeros(N, dtype=int), np.arange(N) - 1, np.arange(N) / 2]
)
def test_an_order_holds_each_sample_once(order):
    with pytest.raises(ValueError, match="permutation"):
        permute_representation(Representation(pair_of("tall")[0]), order)


def test_a_moved_representation_is_freed_with_its_last_reference():
    y = Representation(pair_of("tall")[1])
    z = permute_representation(y, orders(N)[0])
    unit(z)
    gone = weakref.ref(z)
    gc.disable()
    try:
        del z
        assert gone() is None
    finally:
        gc.enable()


# ------------------------------------------------------------------------------- declared axes


def test_the_words_of_a_declaration():
    @cached("n k", "scalar", "d n")
    def parts(x: Representation) -> Any:
        return None

    rows, fixed, columns = AxisRule("axes", (0,)), AxisRule("fixed"), AxisRule("axes", (1,))
    (function,) = {key.__wrapped__ for key in [parts]}
    assert axis_rule(function) == AxisRule("parts", parts=(rows, fixed, columns))
    for bad in ("", "n, d", 3, "N d", "samples d", "pairs n"):
        with pytest.raises(ValueError, match=r"such as cached\('n d'\).*scalar, pairs.*; got"):
            cached(bad)
    cached("n d"), cached("n k", "k")  # what the message advises


def declared(function: Any) -> Measure:
    return measure(
        label="mine",
        invariant_to={"permutation"},
        family="alignment",
        larger_is_more_similar=True,
        range=(-math.inf, math.inf),
        symmetric=True,
        citation="",
        version=1,
    )(function)


def test_intermediates_of_users_move_along_their_axes():
    calls = []

    @cached("n", "n k")
    def strongest(x: Representation, count: int) -> tuple[np.ndarray, np.ndarray]:
        calls.append(x)
        sizes = np.abs(x.array)
        return sizes.argmax(axis=1), np.sort(sizes, axis=1)[:, -count:]

    @declared
    def mine(x: Representation, y: Representation, *, count: int = 2) -> float:
        (a, p), (b, q) = strongest(x, count=count), strongest(y, count=count)
        return float(((a == b)[:, None] * p * q).sum())

    x, y = map(Representation, pair_of("tall"))
    assert_carried(mine, x, y)
    calls.clear()
    for order in orders(N):
        mine.evaluate(x, permute_representation(y, order))
    assert not calls


def test_a_wrong_declaration_is_refused():
    @cached("n d")
    def means(x: Representation) -> np.ndarray:
        return x.array.mean(axis=0)

    y = Representation(pair_of("tall")[1])
    with pytest.raises(ValueError, match=r"means declares axes .* shape \(9,\) for 40 samples"):
        means(permute_representation(y, orders(N)[0]))
