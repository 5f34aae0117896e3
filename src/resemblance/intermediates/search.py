r"""The exact search of nearest neighbours: single precision proposes, double precision decides.

**What is certified.** Neighbours of x are the y with the largest t(y): the inner product
:math:`x^\top y`, or for Euclidean distances :math:`2 x^\top y - \lVert y \rVert^2`. In float32,
with :math:`\epsilon = 2^{-23}` and d features, in whatever order a library adds them up,

.. math:: \left| \operatorname{fl}(x^\top y) - x^\top y \right| \le
    \frac{(d + 2) \epsilon / 2}{1 - d \epsilon / 2} \lVert x \rVert \lVert y \rVert
    \le c \, \lVert x \rVert \lVert y \rVert, \qquad c = 0.51 \, (d + 8) \, \epsilon

for :math:`d \epsilon < 0.01`, two of the d + 2 for the conversion of x and y, plus what underflows,
at most :math:`16 (d + 1)` times the smallest normal number, as no entry exceeds 1. For Euclidean
distances :math:`2 \lVert x \rVert \lVert y \rVert \le \lVert x \rVert^2 + \lVert y \rVert^2`, and
there are two more roundings, of :math:`\lVert y \rVert^2` and of the difference, which the other 6
of the d + 8 pay for. So the error is at most :math:`c (\lVert x \rVert^2 + \lVert y \rVert^2)`. The
second half is added to the score of y before any are chosen: those proposed are the largest in
:math:`2 x^\top y - (1 - c) \lVert y \rVert^2`, and no other y has a larger t(y) than the smallest
score among them plus :math:`c \lVert x \rVert^2`. A sample far out so costs the others nothing. For
inner products c times the length of x and the largest length takes its place.

**What is accepted.** The proposed are put in order by t in float64. A row is accepted if its k
nearest are farther apart from each other, and from all others, than the tolerance for ties and the
rounding of float64, which is bounded in the same way, together: then every search finds these, in
this order, and none tie. All other rows are searched again, in float64 and in full. So the
neighbours are those of a search in float64 alone, for any data.
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
# Samples for each one that is proposed, below which comparing these again costs what is gained.
MIN_SAMPLES_PER_CANDIDATE = 32


def search_nearest(similarity: Similarity, k: int) -> Nearest:
    """The k nearest neighbours of every row, and how many rows single precision left open."""
    if is_screening_worthwhile(similarity, k):
        return _screened_neighbors(similarity, k)
    n = similarity.points.shape[0]
    return stack_row_blocks(
        nearest_by_full_comparison(np.arange(start, stop), similarity, k)
        for start, stop in row_blocks(n)
    )


def nearest_by_full_comparison(rows: np.ndarray, similarity: Similarity, k: int) -> Nearest:
    """The k nearest neighbours of these rows, by comparing them with all others in the precision of
    the data; rows are numbered as listed here."""
    block, terms = similarity.to_others(rows), similarity.terms[rows]
    if isinstance(block, np.ndarray):
        return largest_with_ties(block, k, terms)
    return largest_with_ties_on_device(block, k, terms)


def is_screening_worthwhile(similarity: Similarity, k: int) -> bool:
    """Say whether to let single precision propose, by the shapes alone."""
    return has_bounded_error(similarity) and similarity.points.shape[
        0
    ] >= MIN_SAMPLES_PER_CANDIDATE * (k + EXTRA_CANDIDATES)


def has_bounded_error(similarity: Similarity) -> bool:
    """Say whether the error of single precision is below that of double precision and bounded."""
    is_double = similarity.gram is None and epsilon(similarity.points) == float(
        DOUBLE_PRECISION.eps
    )
    return bool(is_double and similarity.points.shape[1] * float(SINGLE_PRECISION.eps) < 0.01)


def _screened_neighbors(similarity: Similarity, k: int) -> Nearest:
    """The nearest neighbours of every row by :func:`_screen_rows`, and in full where that is not
    certain."""
    indices, certain = _screen_all_rows(similarity, k, min_certain=k)
    return fill_missing_neighbors(similarity, indices, certain == k)


def _screen_all_rows(
    similarity: Similarity, k: int, min_certain: int
) -> tuple[np.ndarray, np.ndarray]:
    """:func:`_screen_rows` of every row, unless so many are certain for less than half of them:
    many
    ties, or clusters too tight for single precision."""
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
    """The nearest neighbours of every row: those listed where they are certain, else by a search in
    full."""
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
    """The k nearest neighbours of every row, nearest first, and how many of them come in this order
    in every search, without ties, (n,)."""
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
    """The gap between two values of a row, from which on all searches have them in this order."""
    # Squared lengths are at most 4 |x|^2 + 2 |t|, so this bounds all that is subtracted; 16 eps of
    # it are the tolerance for ties, the others twice the rounding of two values.
    magnitude, d = 10 * terms + 5 * np.abs(values).max(axis=1), similarity.points.shape[1]
    return (3 * d + 48) * DOUBLE_PRECISION.eps * magnitude + 16 * (d + 1) * DOUBLE_PRECISION.tiny


def _single_precision_error(d: int) -> float:
    """The c above, in single precision."""
    return 0.51 * (d + 8) * float(SINGLE_PRECISION.eps)


def _single_precision_similarity(similarity: Similarity) -> Similarity:
    """Scores in single precision, that of a sample raised by what its length may cost."""
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
    """The k nearest of those that single precision proposes, nearest first, and how many of them
    are certain, by row."""
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
