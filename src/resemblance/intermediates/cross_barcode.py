"""Cross-barcode of two distance matrices: the intervals of scale in which the topologies differ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import ModuleType

import numpy as np

from ..base.extras import require_package


@dataclass(frozen=True, eq=False)
class SortedEdges:
    """The distances between n points, as the input of a cross-barcode.

    ``lengths``: the distances above the diagonal, row by row, shape (n (n - 1) / 2,). ``radius``:
    the enclosing radius, the smallest distance within which a point has all other points.
    ``order``: the positions of the lengths, in ascending order of length.
    """

    lengths: np.ndarray
    radius: float

    @cached_property
    def order(self) -> np.ndarray:
        # Equal lengths may come in any order, because their order changes only zero-length bars.
        from ._order import ascending_positions

        return ascending_positions(self.lengths)


def bar_length_totals(n: int, first: SortedEdges, second: SortedEdges) -> tuple[float, float]:
    """Return the total length of the bars of each of the two cross-barcodes of
    :func:`cross_barcodes`, in the units of the edges: first, then second.

    ``n``: the number of points. Both totals are 0 if ``first`` is ``second``. The sums are
    correctly rounded, so neither the order of the points nor ties change a sum.
    """
    if first is second:  # the cone of a complex over itself has no loop of positive length
        return 0.0, 0.0
    forward, backward = (math.fsum(b[:, 1] - b[:, 0]) for b in cross_barcodes(n, first, second))
    return forward, backward


def enclosing_radius(distances: np.ndarray) -> float:
    """Return the smallest distance within which some point has all other points, in the units of
    ``distances``: the distances above the diagonal, row by row."""
    from scipy.spatial.distance import squareform

    return float(squareform(distances, checks=False).max(axis=1).min())


def cross_barcodes(
    n: int, first: SortedEdges, second: SortedEdges
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the first persistent homology of the mapping cones of VR(w1) and of VR(w2) into
    VR(min(w1, w2)), for two sets of distances between the same n points.

    .. math:: \mathrm{H}_1 \bigl( \operatorname{Cone} ( \mathrm{VR}_t(w_i) \to
        \mathrm{VR}_t(\min(w_1, w_2)) ) \bigr)

    as t grows, where VR is the Vietoris-Rips complex and coefficients are in F2. The bars are equal
    to the bars of the Vietoris-Rips complex of 2n points with the distances 0, w, w, min(w1, w2) in
    blocks (Barannikov et al. 2022); no bar is infinite. The result is exact: births and deaths are
    entries of the matrices. The matrices need no triangle inequality.

    The function returns the bars of w1 and the bars of w2, two arrays of shape (k, 2): birth and
    death, birth < death, sorted. Time grows about as n^3; memory is a few matrices of shape (n, n)
    and at most n^2 / 2 times the number of bars in bits. Needs the extra ``topology``.
    """
    cone = _import_compiled_kernels()
    from ._order import edges_entering_later, merge_orders

    lengths = np.minimum(first.lengths, second.lengths)
    order = merge_orders(first.lengths, second.lengths, first.order, second.order)
    m = lengths.take(order)
    size = np.searchsorted(m, max(first.radius, second.radius), side="right")
    order, m = order[:size], m[:size]
    edges = cone.Edges(*(points.take(order) for points in _edge_endpoints(n)))
    starts = np.empty(size + 1, dtype=np.int64)
    links = cone.Links(starts, cone.link_components(n, edges, starts))
    place = np.empty(len(lengths), dtype=np.int32)
    place[order] = np.arange(size)
    bars = []
    for w in (first, second):
        w_order = edges_entering_later(lengths, w.lengths, w.order, w.radius, place)
        count = np.searchsorted(m, w.radius, side="right")
        w_lengths = w.lengths.take(order[:count])
        bars.append(
            _sort_nonzero_bars(cone.barcode(n, edges, links, m[:count], w_lengths, w_order))
        )
    return bars[0], bars[1]


def _sort_nonzero_bars(bars: np.ndarray) -> np.ndarray:
    """Return the bars (k, 2) of positive length, sorted by birth and then death."""
    bars = bars[bars[:, 0] < bars[:, 1]]
    return bars[np.lexsort((bars[:, 1], bars[:, 0]))]


@lru_cache(maxsize=1)
def _edge_endpoints(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first points and the second points of the pairs of n points, row by row above the
    diagonal, (n (n - 1) / 2,) each, read-only."""
    first, second = (points.astype(np.int32) for points in np.triu_indices(n, k=1))
    first.flags.writeable = second.flags.writeable = False
    return first, second


def _import_compiled_kernels() -> ModuleType:
    """Import and return the module of compiled kernels; raise an error without numba."""
    require_package("numba")
    from . import _cone

    return _cone
