r"""Exact search of nearest neighbours: single precision proposes candidates, double precision
decides.

**Certificate.** Neighbours of x are the y with the largest t(y): the inner product
:math:`x^\top y`, or for Euclidean distances :math:`2 x^\top y - \lVert y \rVert^2`. In float32,
with :math:`\epsilon = 2^{-23}` and d features, in any order of the sum over features,

.. math:: \left| \operatorname{fl}(x^\top y) - x^\top y \right| \le
    \frac{(d + 2) \epsilon / 2}{1 - d \epsilon / 2} \lVert x \rVert \lVert y \rVert
    \le c \, \lVert x \rVert \lVert y \rVert, \qquad c = 0.51 \, (d + 8) \, \epsilon

for :math:`d \epsilon < 0.01`, where two of the d + 2 stand for the conversion of x and y. Underflow
adds at most :math:`16 (d + 1)` times the smallest normal number, as no entry exceeds 1. For
Euclidean distances :math:`2 \lVert x \rVert \lVert y \rVert \le \lVert x \rVert^2 + \lVert y
\rVert^2`, and there are two more roundings, of :math:`\lVert y \rVert^2` and of the difference; the
other 6 of the d + 8 cover the two roundings. So the error is at most :math:`c (\lVert x \rVert^2 +
\lVert y \rVert^2)`. The search adds the second half to the score of y before it chooses candidates.
The candidates are the y with the largest :math:`2 x^\top y - (1 - c) \lVert y \rVert^2`, and no
other y has a t(y) above the smallest score of a candidate plus :math:`c \lVert x \rVert^2`. A
distant sample therefore does not widen the bound of other samples. For inner products the bound is
c times the length of x and the largest length.

**Acceptance.** The search sorts the candidates by t in float64. It accepts a row if the gaps
between the k nearest candidates, and the gap to all other samples, exceed the tolerance for ties
plus the rounding of float64, bounded in the same way. Then every search finds the same k neighbours
in the same order, without ties. The search repeats all other rows in float64 and in full. For any
data, the neighbours are therefore equal to the neighbours of a search in float64 alone.
"""

from __future__ import annotations

import numpy as np

from ..base.arrays import epsilon, namespace, row_blocks, to_numpy
from .similarities import Similarity
from .ties import (
    EXTRA_CANDIDATES,
    Nearest,
    empty_ties,
    largest_with_ties,
    largest_with_ties_on_device,
    stack_row_blocks,
    unordered_top_columns,
)

SINGLE_PRECISION, DOUBLE_PRECISION = np.finfo(np.float32), np.finfo(np.float64)
# Minimum samples per candidate: with fewer, comparing the candidates again costs the time saved.
MIN_SAMPLES_PER_CANDIDATE = 32


def search_nearest(similarity: Similarity, k: int) -> Nearest:
    """Return the k nearest neighbours of every row, with the number of rows that single precision
    left undecided (``redone``, 0 without a search in single precision)."""
    if is_screening_worthwhile(similarity, k):
        return _screened_neighbors(similarity, k)
    n = similarity.points.shape[0]
    return stack_row_blocks(
        nearest_by_full_comparison(np.arange(start, stop), similarity, k)
        for start, stop in row_blocks(n)
    )


def nearest_by_full_comparison(rows: np.ndarray, similarity: Similarity, k: int) -> Nearest:
    """Return the k nearest neighbours of the samples ``rows`` among all samples, compared in the
    precision of the data. Row numbers of the ties are positions in ``rows``; neighbours are sample
    indices."""
    block, terms = similarity.to_others(rows), similarity.terms[rows]
    if isinstance(block, np.ndarray):
        return largest_with_ties(block, k, terms)
    return largest_with_ties_on_device(block, k, terms)


def is_screening_worthwhile(similarity: Similarity, k: int) -> bool:
    """Return whether candidates in single precision make a search for k neighbours faster: double
    precision, and many samples per neighbour."""
    return has_bounded_error(similarity) and similarity.points.shape[
        0
    ] >= MIN_SAMPLES_PER_CANDIDATE * (k + EXTRA_CANDIDATES)


def has_bounded_error(similarity: Similarity) -> bool:
    """Return whether a search may use single precision: the points are in double precision,
    without a Gram matrix, and the error of single precision has a bound."""
    is_double = similarity.gram is None and epsilon(similarity.points) == float(
        DOUBLE_PRECISION.eps
    )
    return bool(is_double and similarity.points.shape[1] * float(SINGLE_PRECISION.eps) < 0.01)


def _screened_neighbors(similarity: Similarity, k: int) -> Nearest:
    """Return the nearest neighbours of every row from single-precision candidates, and from a full
    search where the candidates are not certain."""
    indices, certain = _screen_all_rows(similarity, k, min_certain=k)
    return fill_missing_neighbors(similarity, indices, certain == k)


def _screen_all_rows(
    similarity: Similarity, k: int, min_certain: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the k nearest neighbours of every row, (n, k), and the number of
    leading neighbours that are certain, (n,), by :func:`_screen_rows`.

    The function stops early, with 0 certain neighbours for the rows that follow, if fewer than half
    of the rows have ``min_certain`` certain neighbours, because of many ties or of clusters too
    tight for single precision.
    """
    n, approximation = similarity.points.shape[0], _single_precision_similarity(similarity)
    indices, certain = np.empty((n, k), dtype=np.int64), np.zeros(n, dtype=np.int64)
    for start, stop in row_blocks(n):
        rows = np.arange(start, stop)
        indices[start:stop], certain[start:stop] = _screen_rows(similarity, approximation, rows, k)
        if 2 * np.count_nonzero(certain[:stop] >= min_certain) < stop:
            break
    return indices, certain


def fill_missing_neighbors(
    similarity: Similarity, indices: np.ndarray, certain: np.ndarray
) -> Nearest:
    """Return the nearest neighbours of every row: ``indices``, (n, k), where ``certain``, booleans
    (n,), else the result of a full search, written into ``indices`` in place."""
    k = indices.shape[1]
    open_rows = np.flatnonzero(~certain)
    if not len(open_rows):
        return Nearest(indices, empty_ties(k))
    neighbors = stack_row_blocks(
        nearest_by_full_comparison(open_rows[start:stop], similarity, k)
        for start, stop in row_blocks(len(open_rows))
    )
    indices[open_rows] = neighbors.listed
    ties = neighbors.ties._replace(rows=open_rows[neighbors.ties.rows])
    return Nearest(indices, ties, len(open_rows))


def stable_neighbors(similarity: Similarity, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k nearest neighbours of every row, nearest first, (n, k); and how many leading
    neighbours have the same order in every search, without ties, (n,)."""
    if has_bounded_error(similarity):
        indices, certain = _screen_all_rows(similarity, k, min_certain=k // 2)
        if 2 * np.count_nonzero(certain >= k // 2) >= len(indices):
            return indices, certain
    indices = search_nearest(similarity, k).listed
    values = similarity.to_listed(np.arange(len(indices)), indices)
    gaps = (
        values[:, :-1] - values[:, 1:]
        > _tie_rounding_gap(similarity, similarity.terms, values)[:, None]
    )
    return indices, np.logical_and.accumulate(gaps, axis=1).sum(axis=1)


def _tie_rounding_gap(similarity: Similarity, terms: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return, for every row, the smallest gap between two scores of the row that gives the same
    order in every search, (rows,). ``terms``: the magnitudes of the rows, (rows,). ``values``: the
    scores, (rows, candidates)."""
    # Squared lengths are at most 4 |x|^2 + 2 |t|, so the magnitude bounds all subtracted numbers.
    # 16 eps of the magnitude are the tolerance for ties, the rest twice the rounding of two values.
    magnitude, d = 10 * terms + 5 * np.abs(values).max(axis=1), similarity.points.shape[1]
    return (3 * d + 48) * DOUBLE_PRECISION.eps * magnitude + 16 * (d + 1) * DOUBLE_PRECISION.tiny


def _single_precision_error(d: int) -> float:
    """Return the bound c on the error of an inner product of d features in single precision,
    relative to the product of the two lengths: |error| <= c |x| |y|."""
    return 0.51 * (d + 8) * float(SINGLE_PRECISION.eps)


def _single_precision_similarity(similarity: Similarity) -> Similarity:
    """Return a new ``Similarity`` in single precision, with the score of every sample raised by
    the error bound of its length."""
    points, squares, terms, targets, _ = similarity
    xp = namespace(points)
    if squares is not None:
        squares = xp.astype((1 - _single_precision_error(points.shape[1])) * squares, xp.float32)
    if targets is not None:
        targets = xp.astype(targets, xp.float32)
    return Similarity(xp.astype(points, xp.float32), squares, terms, targets)


def _screen_rows(
    similarity: Similarity, approximation: Similarity, rows: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k nearest single-precision candidates of the samples ``rows``, nearest first,
    (rows, k), and the number of leading candidates that are certainly the nearest neighbours in
    this order, (rows,).

    ``approximation``: the scores of ``similarity`` in single precision.
    """
    scores, xp = approximation.to_others(rows), namespace(approximation.points)
    columns = unordered_top_columns(scores, k + EXTRA_CANDIDATES)
    smallest = to_numpy(xp.min(xp.take_along_axis(scores, columns, axis=1), axis=1))
    values = similarity.to_listed(rows, columns)
    order = np.argsort(-values, axis=1)[:, : k + 1]
    sorted_values = np.take_along_axis(values, order, axis=1)
    terms, d = similarity.terms[rows], similarity.points.shape[1]
    bounds = (
        smallest + _single_precision_error(d) * terms + 16 * (d + 1) * float(SINGLE_PRECISION.tiny)
    )
    next_values = np.maximum(sorted_values[:, 1:], bounds[:, None])
    is_apart = (
        sorted_values[:, :k] - next_values > _tie_rounding_gap(similarity, terms, values)[:, None]
    )
    indices = np.take_along_axis(to_numpy(columns), order[:, :k], axis=1)
    return indices, np.logical_and.accumulate(is_apart, axis=1).sum(axis=1)
