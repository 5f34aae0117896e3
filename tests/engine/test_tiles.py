"""The memory of intermediates: what is planned, and what is taken."""

import tracemalloc

import numpy as np
import pytest
from factories.measures import declared

import resemblance as rs
from resemblance.base.arrays import epsilon, row_blocks, safe_sqrt
from resemblance.data.representation import Representation, needs_copy, working_values
from resemblance.engine.intermediate_sizes import (
    group_measures,
    intermediates_used,
    pair_cache_bytes,
)
from resemblance.engine.work import split_into_blocks
from resemblance.intermediates.distances import condensed_rdm, distance_matrix
from resemblance.intermediates.points import preshape

MEASURES = ("procrustes", "cka", "pwcca", "aligned_cosine", "distance_correlation")


def held(x):
    """Return the bytes of the memory that the intermediates of a representation have besides
    the data."""
    pieces = {}
    for value in x.cache.values():
        for array in value if isinstance(value, tuple) else (value,):
            if isinstance(array, np.ndarray) and not np.shares_memory(array, x.source):
                pieces[array.ctypes.data] = array.nbytes
    return sum(pieces.values())


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("shape", [(200, 30), (60, 90)])
@pytest.mark.parametrize(("dtype", "copied"), [("float64", False), ("float32", True)])
def test_planned_bytes_are_those_of_distinct_memory(name, shape, dtype, copied):
    rng = np.random.default_rng(0)
    x, y = (Representation(rng.standard_normal(shape).astype(dtype)) for _ in range(2))
    m = rs.get_measure(name)
    m.evaluate(x, y)
    planned = sum(intermediates_used(m, *shape, copied).values())
    assert planned == pytest.approx(held(x), rel=0.03)
    assert planned <= sum(intermediates_used(m, *shape, apart=True).values())


def test_names_of_the_same_array_are_counted_once():
    n, d = 1000, 100
    array = 8 * n * d
    plain, copied = (sum(intermediates_used(rs.cka, n, d, c).values()) for c in (False, True))
    apart = sum(intermediates_used(rs.cka, n, d, apart=True).values())
    assert copied - plain == array  # the values are a copy of data in float32
    assert apart - copied >= array  # the pre-shape is the array in unit size
    assert (
        pair_cache_bytes(rs.cka, n, d, d) - pair_cache_bytes(rs.cka, n, d, d, copied=False)
        == 2 * array
    )
    assert pair_cache_bytes(rs.cka, n, d, d) < 2 * apart


def test_a_sample_of_the_rows_is_not_the_array():
    @declared("Sampled")
    def sampled(x, y, sample=500):
        """Sampled: the first rows."""
        for r in (x, y):
            first_rows(r, sample=min(sample, r.shape[0]))
        return 0.0

    few, many = (
        sum(intermediates_used(sampled, n, 10, copied=False).values()) for n in (400, 4000)
    )
    assert few == 0
    assert many == 8 * 500 * 10


@rs.cached
def first_rows(x, sample):
    """The first rows: all of them without a copy."""
    return x.array if sample == x.shape[0] else x.array[:sample].copy()


@pytest.mark.parametrize(
    "source",
    [
        np.ones((4, 3)),
        np.ones((4, 3), "float32"),
        np.ones((3, 4)).T,
        np.ones((4, 3), ">f8"),
        np.ones((4, 3), int),
    ],
)
def test_values_that_are_copied_are_known_before_they_are_computed(source):
    x = Representation(source)
    assert needs_copy(x) == (not np.shares_memory(working_values(x), x.source))


def test_tensors_that_are_copied_are_known():
    import torch

    plain = torch.ones(4, 3, dtype=torch.float64)
    assert not needs_copy(Representation(plain))
    assert needs_copy(Representation(plain.float()))
    assert needs_copy(Representation(plain.new_ones(3, 4).T))


def test_tiles_are_taller_where_memory_is_shared():
    measures = [rs.get_measure(name) for name in MEASURES[:4]]
    rows = {}
    for apart in (False, True):
        intermediates = {
            m: intermediates_used(m, 2000, 256, copied=False, apart=apart) for m in measures
        }
        groups = group_measures(intermediates, 2000, 50, 10**9)
        blocks = [
            (group, *tile)
            for group, size in groups
            for tile in split_into_blocks(size, 50, None, 10**9)
        ]
        rows[apart] = len({(group, block.start) for group, block, _ in blocks})
    assert rows[False] < rows[True]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_budget_bounds_the_memory_of_a_comparison(dtype):
    rng = np.random.default_rng(0)
    data = {str(i): rng.standard_normal((400, 40)).astype(dtype) for i in range(12)}
    two = dict(list(data.items())[:2])
    rs.compare(two, measures=MEASURES[:4], progress=False)  # probes and imports
    peaks = {}
    for memory in (4_500_000, 10**9):
        tracemalloc.start()
        rs.compare(data, measures=MEASURES[:4], memory=memory, progress=False)
        peaks[memory] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peaks[4_500_000] < 4_500_000 < peaks[10**9]


# ------------------------------------------------------------------------ squared lengths of rows


def distances_block_by_block(points, is_above=False):
    """Distances whose every block of rows has the squares computed for itself; of all columns, or
    above the diagonal. Products of other widths may be rounded otherwise."""
    blocks = []
    for start, stop in row_blocks(len(points)):
        first = start if is_above else 0
        squares = np.sum(points * points, axis=1)
        both = squares[start:stop, None] + squares[None, first:]
        # Not points @ points.T, which NumPy computes by another routine than other products
        block = both + (-2 * points[start:stop, :]) @ points[first:, :].T
        block = np.where(block <= 4 * epsilon(points) * both, 0, block)
        blocks += [row[i:] for i, row in enumerate(block, 1)] if is_above else [block]
    return np.concatenate(blocks)


@pytest.mark.parametrize("n", [40, 256, 600])
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["plain", "ties", "duplicates", "offset"])
def test_squares_computed_once_change_no_bit(n, precision, kind):
    points = np.random.default_rng(n).standard_normal((n, 17)).astype(precision)
    if kind == "ties":
        points = np.round(points)
    if kind == "duplicates":
        points[n // 2 :] = points[: n - n // 2]
    if kind == "offset":
        points += 1e4
    x = Representation(points, dtype=precision)
    squares = distances_block_by_block(preshape(x))
    above = distances_block_by_block(preshape(x), is_above=True)
    assert np.array_equal(distance_matrix(preshape(x)), safe_sqrt(squares))
    size_of_squares = epsilon(points) * np.square(preshape(x)).sum(axis=1).max()
    assert np.allclose(condensed_rdm(x, "sqeuclidean"), above, rtol=0, atol=16 * size_of_squares)
    assert np.array_equal(condensed_rdm(x, "euclidean"), safe_sqrt(condensed_rdm(x, "sqeuclidean")))
    assert np.array_equal(condensed_rdm(x, "euclidean") == 0, above == 0)
