"""Shared functions of the statistics: rows as NumPy arrays, dissimilarities, correlation by exact
ranks, claims."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from ..base.arrays import as_float64
from ..base.exceptions import UndefinedError
from ..base.rng import generator
from ..contracts.claims import COSINE_INVARIANCES, SHAPE_INVARIANCES
from ..data.representation import Representation, as_representation
from ..intermediates.chords import cosines_lose_digits, direction_variance, unit_row_chords
from ..intermediates.digits import below_rounding_message
from ..intermediates.distances import average_ranks_in_range, squared_distance_blocks
from ..intermediates.points import normalize_rows
from ..intermediates.rectangles import (
    MatrixBlock,
    cosine_to_dissimilarity,
    squared_distance_function,
)
from ..significance import rank_correlation

RdmKind = Literal["cosine", "correlation", "euclidean"]
RdmCorrelation = Literal["spearman", "pearson"]
# Rounding error of a number, relative to the largest number that it is computed from.
RANK_TIE_ROUNDING = 16 * float(np.finfo(float).eps)
# From this number of values on, repeated use repays the time to load compiled code.
MIN_COMPILED_VALUES = 100_000


def rdm_invariance_claims(rdm: RdmKind) -> dict[str, set[str]]:
    """Return {"invariant_to": the invariances}, which depend on the kind of dissimilarities."""
    without_map = {"permutation", "isotropic_scaling"}
    kinds = {
        "cosine": COSINE_INVARIANCES,
        "correlation": without_map,
        "euclidean": SHAPE_INVARIANCES,
    }
    return {"invariant_to": kinds[rdm]}


def double_precision_rows(x: Representation) -> np.ndarray:
    """Return the representation as a NumPy array in double precision, shape (n, d)."""
    return as_float64(x.array)


def random_row_numbers(n: int, count: int, seed: int, name: str) -> np.ndarray:
    """Return sorted row numbers below n: all, or, if n is more than ``count``, a random subset of
    ``count`` numbers. ``seed`` and ``name`` decide the draw."""
    if n <= count:
        return np.arange(n)
    return np.sort(generator(seed, name, "samples").choice(n, count, replace=False))


def condensed_dissimilarities(points: np.ndarray, kind: str, precision: float = 0.0) -> np.ndarray:
    """Return the dissimilarities between the rows of ``points``, row by row above the diagonal, (n
    (n - 1) / 2,).

    A row without direction (zero, or constant for "correlation") has dissimilarity 1 to all other
    rows. ``precision``: the relative rounding error of the stored numbers; a row that varies less
    is constant. The values equal :func:`resemblance.intermediates.distances.condensed_rdm` (up to a
    factor for Euclidean distances).
    """
    mask = ~np.tri(len(points), dtype=bool)
    if kind == "euclidean":
        points = center_and_scale_rows(points)
        (squares,) = squared_distance_blocks(points, len(points))
        return np.sqrt(squares[mask])
    points = normalize_rows(points, kind, precision)
    if row_cosines_lose_digits(points):
        return cosine_distances(points, points)[mask]
    return cosine_to_dissimilarity(cosine_matrix(points)[mask])


def cosine_matrix(rows: np.ndarray) -> np.ndarray:
    """Return the cosines between all ``rows`` of unit length on and above the diagonal, shape (n,
    n); the entries below the diagonal are 0."""
    from scipy.linalg.blas import dsyrk

    # BLAS stores matrices by columns: the lower triangle there is the upper triangle here.
    return dsyrk(1.0, rows, lower=1).T


def row_cosines_lose_digits(*arrays: np.ndarray) -> bool:
    """Return whether the rows of unit length in all arrays together are so nearly parallel that
    cosines lose digits."""
    count = sum(len(rows) for rows in arrays)
    mean = sum(rows.sum(axis=0) for rows in arrays) / count
    share = sum(float(np.count_nonzero(rows.any(axis=1))) for rows in arrays) / count
    return cosines_lose_digits(direction_variance(mean, share), float(np.finfo(float).eps))


def cosine_distances(rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return 1 minus the cosines between ``rows``, (n, d), and ``targets``, (m, d), both of unit
    length or zero, shape (n, m).

    For nearly parallel rows, the result is half of the squared distances between the unit vectors,
    which keeps the digits. A row of zeros has distance 1 from all targets.
    """
    chords = None
    if row_cosines_lose_digits(rows, targets):
        all_rows = np.concatenate([rows, targets])
        chords = unit_row_chords(all_rows, below_rounding_message(as_representation(all_rows)))
    if chords is None:
        return cosine_to_dissimilarity(rows @ targets.T)
    n, m = len(rows), len(targets)
    squares = squared_distance_function(chords.points[:n], chords.points[n:])
    are_rows = np.outer(chords.is_row[:n], chords.is_row[n:])
    return squares(MatrixBlock(slice(0, n), slice(0, m))) * are_rows / 2 + (1 - are_rows)


def center_and_scale_rows(points: np.ndarray) -> np.ndarray:
    """Return new rows: ``points`` (n, d) minus the mean row, divided by the largest magnitude
    unless all entries are 0.

    A column that varies only by rounding becomes 0, as the means of equal rows do.
    """
    largest = np.abs(points).max(axis=0)
    points = points - points[:1]
    points = points - points.mean(axis=0)
    points[:, np.abs(points).max(axis=0) <= RANK_TIE_ROUNDING * largest] = 0
    return points / (np.abs(points).max() or 1)


def rdm_agreement(
    a: np.ndarray,
    b: np.ndarray,
    kind: RdmKind,
    compare: RdmCorrelation,
    precisions: tuple[float, float] = (0.0, 0.0),
) -> float:
    """Return the correlation ``compare`` between the dissimilarities of ``kind`` of the rows of
    ``a`` and of ``b``, (n, d) and (n, e).

    ``precisions``: the relative rounding errors of the stored numbers of ``a`` and ``b``.
    """
    first, second = (
        condensed_dissimilarities(rows, kind, eps) for rows, eps in zip((a, b), precisions)
    )
    return rdm_correlation(first, second, compare)


def mean_rdm_agreement(
    pairs: Iterable[tuple[np.ndarray, np.ndarray]],
    kind: RdmKind,
    compare: RdmCorrelation,
    precision: float = 0.0,
) -> float:
    """Return the mean of :func:`rdm_agreement` over pairs of arrays. ``precision``: the relative
    rounding error of the stored numbers of all arrays."""
    return float(
        np.mean([rdm_agreement(a, b, kind, compare, (precision, precision)) for a, b in pairs])
    )


def rdm_correlation(a: np.ndarray, b: np.ndarray, compare: RdmCorrelation) -> float:
    """Return the Pearson or Spearman correlation, as ``compare`` says, of two vectors of
    dissimilarities ``a`` and ``b``, (pairs,).

    Raises :class:`UndefinedError` for a vector with entries that are equal up to rounding.
    """
    for vector in (a, b):
        low, high = float(vector.min()), float(vector.max())
        if high - low <= RANK_TIE_ROUNDING * max(abs(low), abs(high)):
            raise UndefinedError(
                "all dissimilarities are equal: nothing to correlate; is the representation "
                "constant?"
            )
    if compare == "spearman":
        return float(rank_correlation(tie_tolerant_ranks(a), tie_tolerant_ranks(b)))
    a, b = a - a.mean(), b - b.mean()
    return float(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), -1, 1))


def tie_tolerant_ranks(vector: np.ndarray) -> np.ndarray:
    """Return the average ranks of a vector, from 1 to n.

    Neighbouring sorted values share their mean rank if the values differ by rounding errors only.
    From ``MIN_COMPILED_VALUES`` values on, compiled code computes the ranks if numba is installed.
    (The default of ``average_ranks`` is larger.)
    """
    return average_ranks_in_range(
        vector, float(vector.min()), float(vector.max()), MIN_COMPILED_VALUES
    )
