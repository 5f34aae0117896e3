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
from .ties import MORE, Nearest, largest, largest_on_device, no_ties, stacked, top

SINGLE, DOUBLE = np.finfo(np.float32), np.finfo(np.float64)
# Samples for each one that is proposed, below which comparing these again costs what is gained.
SAMPLES = 32


def search(similarity: Similarity, k: int) -> Nearest:
    """The k nearest neighbours of every row, and how many rows single precision left open."""
    if pays(similarity, k):
        return _certified(similarity, k)
    n = similarity.points.shape[0]
    return stacked(
        nearest_to(np.arange(start, stop), similarity, k) for start, stop in row_blocks(n)
    )


def nearest_to(rows: np.ndarray, similarity: Similarity, k: int) -> Nearest:
    """The k nearest neighbours of these rows, by comparing them with all others in the precision of
    the data; rows are numbered as listed here."""
    block, terms = similarity.to_others(rows), similarity.terms[rows]
    if isinstance(block, np.ndarray):
        return largest(block, k, terms)
    return largest_on_device(block, k, terms)


def pays(similarity: Similarity, k: int) -> bool:
    """Say whether to let single precision propose, by the shapes alone."""
    return is_bounded(similarity) and similarity.points.shape[0] >= SAMPLES * (k + MORE)


def is_bounded(similarity: Similarity) -> bool:
    """Say whether the error of single precision is below that of double precision and bounded."""
    is_double = similarity.gram is None and epsilon(similarity.points) == float(DOUBLE.eps)
    return bool(is_double and similarity.points.shape[1] * float(SINGLE.eps) < 0.01)


def _certified(similarity: Similarity, k: int) -> Nearest:
    """The nearest neighbours of every row by :func:`_proposed`, and in full where that is not
    certain."""
    listed, certain = _proposed_to_all(similarity, k, enough=k)
    return completed(similarity, listed, certain == k)


def _proposed_to_all(similarity: Similarity, k: int, enough: int) -> tuple[np.ndarray, np.ndarray]:
    """:func:`_proposed` of every row, unless so many are certain for less than half of them: many
    ties, or clusters too tight for single precision."""
    n, single = similarity.points.shape[0], _in_single(similarity)
    listed, certain = np.empty((n, k), dtype=np.int64), np.zeros(n, dtype=np.int64)
    for start, stop in row_blocks(n):
        rows = np.arange(start, stop)
        listed[start:stop], certain[start:stop] = _proposed(similarity, single, rows, k)
        if 2 * np.count_nonzero(certain[:stop] >= enough) < stop:
            break
    return listed, certain


def completed(similarity: Similarity, listed: np.ndarray, certain: np.ndarray) -> Nearest:
    """The nearest neighbours of every row: those listed where they are certain, else by a search in
    full."""
    k = listed.shape[1]
    open_rows = np.flatnonzero(~certain)
    if not len(open_rows):
        return Nearest(listed, no_ties(k))
    again = stacked(
        nearest_to(open_rows[start:stop], similarity, k)
        for start, stop in row_blocks(len(open_rows))
    )
    listed[open_rows] = again.listed
    ties = again.ties._replace(rows=open_rows[again.ties.rows])
    return Nearest(listed, ties, len(open_rows))


def certainly_nearest(similarity: Similarity, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest neighbours of every row, nearest first, and how many of them come in this order
    in every search, without ties, (n,)."""
    if is_bounded(similarity):
        listed, certain = _proposed_to_all(similarity, k, enough=k // 2)
        if 2 * np.count_nonzero(certain >= k // 2) >= len(listed):
            return listed, certain
    listed = search(similarity, k).listed
    values = similarity.to_listed(np.arange(len(listed)), listed)
    gaps = values[:, :-1] - values[:, 1:] > _rounding(similarity, similarity.terms, values)[:, None]
    return listed, np.logical_and.accumulate(gaps, axis=1).sum(axis=1)


def _rounding(similarity: Similarity, terms: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The gap between two values of a row, from which on all searches have them in this order."""
    # Squared lengths are at most 4 |x|^2 + 2 |t|, so this bounds all that is subtracted; 16 eps of
    # it are the tolerance for ties, the others twice the rounding of two values.
    magnitude, d = 10 * terms + 5 * np.abs(values).max(axis=1), similarity.points.shape[1]
    return (3 * d + 48) * DOUBLE.eps * magnitude + 16 * (d + 1) * DOUBLE.tiny


def _relative_error(d: int) -> float:
    """The c above, in single precision."""
    return 0.51 * (d + 8) * float(SINGLE.eps)


def _in_single(similarity: Similarity) -> Similarity:
    """Scores in single precision, that of a sample raised by what its length may cost."""
    points, squares, terms, targets, _ = similarity
    xp = namespace(points)
    if squares is not None:
        squares = xp.astype((1 - _relative_error(points.shape[1])) * squares, xp.float32)
    if targets is not None:
        targets = xp.astype(targets, xp.float32)
    return Similarity(xp.astype(points, xp.float32), squares, terms, targets)


def _proposed(
    similarity: Similarity, single: Similarity, rows: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest of those that single precision proposes, nearest first, and how many of them
    are certain, by row."""
    scores, xp = single.to_others(rows), namespace(single.points)
    columns = top(scores, k + MORE)
    smallest = to_numpy(xp.min(xp.take_along_axis(scores, columns, axis=1), axis=1))
    values = similarity.to_listed(rows, columns)
    order = np.argsort(-values, axis=1)[:, : k + 1]
    ordered = np.take_along_axis(values, order, axis=1)
    terms, d = similarity.terms[rows], similarity.points.shape[1]
    others = smallest + _relative_error(d) * terms + 16 * (d + 1) * float(SINGLE.tiny)
    next_ones = np.maximum(ordered[:, 1:], others[:, None])
    is_apart = ordered[:, :k] - next_ones > _rounding(similarity, terms, values)[:, None]
    listed = np.take_along_axis(to_numpy(columns), order[:, :k], axis=1)
    return listed, np.logical_and.accumulate(is_apart, axis=1).sum(axis=1)
