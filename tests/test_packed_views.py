"""Views read from packed memory are the views that were packed: the same numbers, strides and
sharing of memory, so that the same last digits follow."""

from __future__ import annotations

import pickle
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse

import resemblance as rs
from resemblance.packed_views import pack, read_views
from resemblance.representation import Representation, comparing, values, view
from resemblance.spill import take_views

MEASURES = [m for m in rs.preset("all") if m.extra is None]


class Kinds(NamedTuple):
    plain: np.ndarray
    alias: np.ndarray
    columns: np.ndarray
    backwards: np.ndarray
    constant: np.ndarray
    entry: np.ndarray
    nothing: np.ndarray
    fortran: np.ndarray
    protected: np.ndarray
    unaligned: np.ndarray
    words: tuple[str, ...]
    table: sparse.csr_matrix


@view
def kinds(x: Representation, scale: float = 1.0) -> Kinds:
    a = scale * x.array
    protected = a[:, :1].copy()
    protected.flags.writeable = False
    record = np.zeros(5, dtype=[("flag", "i1"), ("value", "f8")])
    return Kinds(
        a,
        a.T,
        a[:, 1:3],
        a[::-2, ::-1],
        np.broadcast_to(a[0], a.shape),
        np.asarray(a[0, 0]),
        a[:0],
        np.asfortranarray(a + 1),
        protected,
        record["value"],
        ("a", "b"),
        sparse.csr_matrix(np.round(a)),
    )


@view
def of_source(x: Representation) -> tuple[np.ndarray, int]:
    return x.source[1:, ::2], 7


@view
def unpicklable(x: Representation):
    return lambda: x.shape


def arrays_in(value):
    if isinstance(value, np.ndarray):
        return [value]
    if sparse.issparse(value):
        return [value.data, value.indices, value.indptr]
    return [a for part in value for a in arrays_in(part)] if isinstance(value, tuple) else []


def is_same(a: np.ndarray, b: np.ndarray) -> bool:
    layout = a.strides == b.strides or a.size == 0
    return layout and a.dtype == b.dtype and a.flags.writeable == b.flags.writeable


def through(how, x, tmp_path):
    """Return a representation of the same data that finds the views of another."""
    fresh = Representation(x.source, x.name)
    if how == "memory":
        return pack(x).views().lent_to(fresh)
    if how == "pickle":
        return pickle.loads(pickle.dumps(pack(x).views())).lent_to(fresh)
    pack(x).write(tmp_path / "x.views")
    return read_views(tmp_path / "x.views").lent_to(fresh)


@pytest.mark.parametrize("how", ["memory", "file", "pickle"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_views_come_back_as_they_were(rng, tmp_path, how, order):
    x = Representation(np.asarray(rng.standard_normal((6, 4)), order=order), "x")
    expected = [kinds(x), kinds(x, scale=2.0), of_source(x), values(x)]
    y = through(how, x, tmp_path)
    x.forget()
    found = [kinds(y), kinds(y, scale=2.0), of_source(y), values(y)]
    for a, b in zip(expected, found, strict=True):
        for one, other in zip(arrays_in(a), arrays_in(b), strict=True):
            if one.strides != (9,):  # of records, whose strides are no multiple of their entries
                assert is_same(one, other)
            np.testing.assert_array_equal(one, other)
    assert found[0].words == ("a", "b")
    assert found[2][1] == 7
    assert np.shares_memory(found[0].alias, found[0].plain)
    assert np.shares_memory(found[0].backwards, found[0].plain)
    assert np.shares_memory(found[2][0], y.source)
    assert not np.shares_memory(found[0].plain, found[1].plain)


def test_memory_is_packed_once(rng):
    x = Representation(rng.standard_normal((100, 50)))
    kinds(x)
    once = x.source.nbytes
    assert pack(x).size < 4 * once  # plain, Fortran, the sparse one; nothing for aliases
    plain = Representation(x.source)
    values(plain)
    assert pack(plain).size == 0


def test_what_cannot_be_packed_is_computed_again(rng, tmp_path):
    @view
    def local(x: Representation) -> np.ndarray:
        return x.array + 1

    x = Representation(rng.standard_normal((6, 4)))
    assert unpicklable(x)() == (6, 4)
    assert local(x)[0, 0] == x.array[0, 0] + 1
    y = through("file", x, tmp_path)
    assert unpicklable(y)() == (6, 4)
    np.testing.assert_array_equal(local(y), local(x))
    assert {name.function for name in pack(x).contents} == {"values"}


def test_who_changes_an_array_changes_no_file(rng, tmp_path):
    x = Representation(rng.standard_normal((6, 4)))
    kinds(x)
    pack(x).write(tmp_path / "x.views")
    before = (tmp_path / "x.views").read_bytes()
    one, other = (read_views(tmp_path / "x.views").lent_to(Representation(x.source)) for _ in "ab")
    kinds(one).plain[:] = 0
    np.testing.assert_array_equal(kinds(other).plain, x.array)
    assert (tmp_path / "x.views").read_bytes() == before


@pytest.mark.parametrize("shape", [(40, 7), (30, 44), (25, 1)])
def test_all_measures_have_the_same_bits_with_packed_views(rng, tmp_path, shape):
    data = rng.standard_normal((2, *shape)).astype(np.float32)
    data[1] += data[0]
    x, y = (Representation(d, n) for d, n in zip(data, "xy"))
    expected = values_of(x, y)
    for r in (x, y):
        r.forget()
        take_views(r, MEASURES)
    computed = set(x.views)
    lent = through("file", x, tmp_path), through("memory", y, tmp_path)
    assert values_of(*lent) == expected
    assert not {k for k in set(lent[0].views) - computed if k[0] is not values}


def values_of(x, y):
    found = {}
    with comparing(x, y):
        for m in MEASURES:
            try:
                found[m.spec] = m.evaluate(x, y)
            except ValueError as error:
                found[m.spec] = str(error)
    return found
