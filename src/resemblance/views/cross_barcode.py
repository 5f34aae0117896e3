"""Cross-barcode of two distance matrices: over which scales, and how often, their topology
differs."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np

from ..extras import check

ROUNDING = 1e-9  # asymmetry, relative to the largest distance, that is taken for rounding


def cross_barcode_totals(w1: np.ndarray, w2: np.ndarray) -> tuple[float, float]:
    """Total lengths of the bars of :func:`cross_barcodes`, for both directions.

    The sums are correctly rounded, so they depend neither on the order of the points nor on ties.
    """
    first, second = (math.fsum(bars[:, 1] - bars[:, 0]) for bars in cross_barcodes(w1, w2))
    return first, second


def cross_barcodes(w1: np.ndarray, w2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""First persistent homology of the mapping cones of VR(w1) and of VR(w2) into VR(min(w1, w2)).

    .. math:: \mathrm{H}_1 \bigl( \operatorname{Cone} ( \mathrm{VR}_t(w_i) \to
        \mathrm{VR}_t(\min(w_1, w_2)) ) \bigr)

    as t grows, where VR is the Vietoris-Rips complex and coefficients are in F2. Bars are the same
    as those of the Vietoris-Rips complex of 2n points with the distances 0, w, w, min(w1, w2) in
    blocks (Barannikov et al. 2022); none is infinite. Exact: births and deaths are entries of the
    matrices.

    Args:
        w1: distances, shape (n, n): symmetric, not negative. The triangle inequality is not needed.
        w2: other distances between the same n points.

    Returns:
        Bars of w1 and bars of w2, each of shape (k, 2): birth and death, birth < death, sorted.

    Time grows about as n^3; memory is a few matrices of shape (n, n) and at most n^2 / 2 times the
    number of bars in bits. Needs the extra ``topology``.
    """
    cone = _kernels()
    (a, radius_a), (b, radius_b) = _distances(w1, "w1"), _distances(w2, "w2")
    if a.shape != b.shape:
        raise ValueError(
            f"w1 and w2 must be distances between the same points, got shapes {w1.shape} and "
            f"{w2.shape}"
        )
    m = np.minimum(a, b)
    # The order among equal values is free, as it changes bars of length zero only: the sort need
    # not be stable.
    order = _ascending(m, m <= max(radius_a, radius_b))
    edges = cone.Edges(*_endpoints(len(w1), order))
    starts = np.empty(len(order) + 1, dtype=np.int64)
    links = cone.Links(starts, cone.link_components(len(w1), edges, starts))
    first, second = (
        _bars(cone, len(w1), edges, links, m[order], w[order], r)
        for w, r in ((a, radius_a), (b, radius_b))
    )
    return first, second


def _bars(
    cone: ModuleType, n: int, edges: Any, links: Any, m: np.ndarray, w: np.ndarray, radius: float
) -> np.ndarray:
    """Bars of one direction, from the edges and cone triangles up to its enclosing radius."""
    size = np.searchsorted(m, radius, side="right")
    m, w = m[:size], w[:size]
    by_w = _ascending(w, (w > m) & (w <= radius))
    bars: np.ndarray = cone.barcode(n, edges, links, m, w, by_w)
    bars = bars[bars[:, 0] < bars[:, 1]]
    return bars[np.lexsort((bars[:, 1], bars[:, 0]))]


def _distances(w: np.ndarray, name: str) -> tuple[np.ndarray, float]:
    """Distances above the diagonal, and the enclosing radius: the smallest distance within which a
    point has all."""
    from scipy.spatial.distance import squareform

    w = np.asarray(w, dtype=np.float64)
    if w.ndim != 2 or w.shape[0] != w.shape[1]:
        raise ValueError(f"{name} must be a square matrix of distances, got shape {w.shape}")
    if not np.isfinite(w).all() or (w < 0).any():
        raise ValueError(f"{name} must hold finite distances >= 0")
    both = np.maximum(w, w.T)
    if not (both - w <= ROUNDING * both.max(initial=0)).all():
        raise ValueError(
            f"{name} must be symmetric; take the mean of it and its transpose if that is meant"
        )
    np.fill_diagonal(both, 0)
    return squareform(both, checks=False), both.max(axis=1, initial=0).min(initial=np.inf)


def _ascending(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Positions of the chosen values, in ascending order of the values."""
    positions = np.flatnonzero(mask)
    return positions[np.argsort(values[positions])]


def _endpoints(n: int, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and second point of edges given by their position above the diagonal, row by row."""
    first, second = np.triu_indices(n, k=1)
    return first[order].astype(np.int32), second[order].astype(np.int32)


def _kernels() -> ModuleType:
    """The compiled kernels, imported when needed."""
    check("numba")
    from . import _cone

    return _cone
