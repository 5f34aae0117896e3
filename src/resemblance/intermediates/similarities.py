"""Similarity scores for the search of nearest neighbours. The scores are inner products of rows,
computed block by block in the library and on the device of the data."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from ..base.arrays import (
    Array,
    as_float64,
    detach,
    device,
    epsilon,
    euclidean_norm,
    is_torch,
    namespace,
    scalar,
    to_numpy,
)
from ..base.exceptions import UndefinedError
from ..data.representation import Representation, representation_title
from .chords import (
    EQUAL_ROW_EPSILONS,
    MAX_COSINE_DISTANCE_ROUNDING,
    TIE_EPSILONS,
    cosines_lose_digits,
    direction_variance,
    unit_row_chords,
)
from .digits import (
    below_rounding_message,
    check_digits,
    resolution,
    to_double_precision,
    uncentered_norm,
)
from .distances import gathering_row_ranges
from .exact_differences import (
    power_of_two_below_norm,
    round_shifted_points,
    shifted_gram,
    supports_shifted_gram,
)
from .points import centered, directed, mean_direction, size, unit, unit_rows

# A squared distance below this share of the squared lengths is recomputed from differences.
MIN_UNCANCELLED_SHARE = 0.01
# 1 minus a cosine below this number is recomputed from the difference of the unit rows.
MAX_NEAR_COSINE_DISTANCE = 1e-3
NeighborMetric = Literal["cosine", "euclidean"]
Affinity = Literal["cosine", "euclidean", "inner"]


class Similarity(NamedTuple):
    """Scores between rows: the nearest neighbours of a row have the largest scores. Scores are
    defined up to a constant per row.

    ``targets``: the rows to multiply with, None for ``points``. ``gram``: all inner products, if
    known.
    """

    points: Array
    squares: Array | None  # squared lengths, for Euclidean distances only
    terms: np.ndarray  # magnitude of the subtracted numbers, per row
    # Centred points to compare with, for inner products with a large common offset.
    targets: Array | None = None
    # Inner products of all rows; if features outnumber samples, ``points`` holds the same array.
    gram: np.ndarray | None = None

    def to_others(self, rows: np.ndarray) -> Array:
        """Return the scores of the samples ``rows`` with all samples, minus infinity for a sample
        with itself, shape (rows, n)."""
        if self.gram is not None and self.squares is not None:
            return mask_own_columns(2 * self.gram[rows] - self.squares, rows)
        return mask_own_columns(self._of_all(take_rows(self.points, rows)), rows)

    def to_listed(self, rows: np.ndarray, indices: Array) -> np.ndarray:
        """Return the scores of the samples ``rows`` with the samples in ``indices``, (rows, m), in
        the shape of ``indices``."""
        if self.gram is None:
            values = products_with_listed(self.points, rows, indices, self.targets)
        else:
            values = self.gram[rows[:, None], indices]
        if self.squares is None:
            return values
        return 2 * values - to_numpy(take_listed(self.squares, indices))

    def _of_all(self, points: Array) -> Array:
        targets = self.points if self.targets is None else self.targets
        transposed = namespace(points).matrix_transpose(targets)
        if self.squares is None:
            return points @ transposed
        block = (2 * points) @ transposed
        block -= self.squares
        return block


def neighbor_similarity(x: Representation, metric: Affinity) -> Similarity:
    """Return the scores for a neighbour search by ``metric``. Raise ``UndefinedError`` when no
    sample is nearer than another."""
    require_distinct_samples(x)
    if metric == "inner":
        rows = detach(unit(x, centered=False))
        lengths = to_numpy(euclidean_norm(rows, axis=1))
        spread = scalar(size(x)) / scalar(uncentered_norm(x))
        if TIE_EPSILONS * epsilon(rows) <= MAX_COSINE_DISTANCE_ROUNDING * spread**2:
            return Similarity(rows, None, lengths * lengths.max())
        # The product with the mean row is equal for all neighbours of a row, so centring drops it.
        targets = detach(centered(x) / uncentered_norm(x))
        return Similarity(
            rows, None, lengths * scalar(x.xp.max(euclidean_norm(targets, axis=1))), targets
        )
    if metric == "cosine":
        return _chord_similarity(x) if has_narrow_directions(x) else _cosine_similarity(x)
    if supports_shifted_gram(x):
        gram = shifted_gram(x)
        return Similarity(gram, np.diagonal(gram), np.diagonal(gram), gram=gram)
    points = detach(round_shifted_points(x).points)
    squares = x.xp.vecdot(points, points)
    return Similarity(points, squares, to_numpy(squares))


def _cosine_similarity(x: Representation) -> Similarity:
    rows = detach(unit_rows(x))
    return Similarity(rows, None, to_numpy(x.xp.vecdot(rows, rows)))


def has_narrow_directions(x: Representation) -> bool:
    """Return whether the rows point in so nearly the same direction that cosines lose digits."""
    variance = direction_variance(mean_direction(x), scalar(x.xp.mean(directed(x))))
    return cosines_lose_digits(variance, epsilon(x.array))


def precise_unit_rows(x: Representation) -> Array:
    """Return the rows scaled to unit length, (n, d), in double precision where cosines lose
    digits."""
    return detach(unit_rows(to_double_precision(x) if has_narrow_directions(x) else x))


def _chord_similarity(x: Representation) -> Similarity:
    """Return scores for the metric "cosine" from distances between unit rows, in place of cosines
    close to 1."""
    rows = precise_unit_rows(x)
    chords = unit_row_chords(rows, below_rounding_message(x))
    if chords is None:
        return _cosine_similarity(x)
    squares = x.xp.vecdot(chords.points, chords.points)
    lengths, is_zero = to_numpy(squares) ** 0.5, to_numpy(chords.is_row) == 0
    # Unit rows are rounded relative to 1. A zero row is equally near to all samples.
    terms = np.where(is_zero, 1 / epsilon(rows), lengths * (1 + lengths))
    # A zero row has cosine 0 with every sample, so all squared distances to the row are 2.
    return Similarity(chords.points, squares + 2 * (1 - chords.is_row), terms)


def products_with_listed(
    points: Array, rows: np.ndarray, indices: Array, targets: Array | None = None
) -> np.ndarray:
    """Return the inner products of ``points[row]`` with the rows of ``targets`` (default
    ``points``) that ``indices`` lists for the row, (rows, m). ``rows``: (rows,), ``indices``:
    (rows, m)."""
    xp, width = namespace(points), indices.shape[1] * points.shape[1]
    parts = []
    for start, stop in gathering_row_ranges(len(rows), width):
        neighbors = take_listed(points if targets is None else targets, indices[start:stop, :])
        row_points = take_rows(points, rows[start:stop])
        parts.append((neighbors @ row_points[:, :, None])[:, :, 0])
    return to_numpy(xp.concat(parts))


def squared_distances_to_listed(points: Array, indices: np.ndarray) -> np.ndarray:
    """Return the squared distances between every row of ``points`` and the rows in ``indices``,
    (n, m), computed from differences, in the shape of ``indices``."""
    xp, parts = namespace(points), []
    for start, stop in gathering_row_ranges(indices.shape[0], indices.shape[1] * points.shape[1]):
        difference = take_listed(points, indices[start:stop]) - points[start:stop, None, :]
        parts.append(xp.vecdot(difference, difference))
    return to_numpy(xp.concat(parts))


def distances_to_listed(x: Representation, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the Euclidean distances in unit size (centred, Frobenius norm 1) between every sample
    and the samples in ``indices``, (n, m), in the shape of ``indices``; and the lengths in unit
    size of the points behind the distances, shape (n,), in float64.

    If features outnumber samples, only distances that are small relative to the lengths are
    computed from differences.
    """
    if not supports_shifted_gram(x):
        points, size_there = round_shifted_points(x)
        squares = np.asarray(squared_distances_to_listed(points, indices), dtype=np.float64)
        lengths = to_numpy(euclidean_norm(points, axis=1)) / scalar(size_there)
        return np.sqrt(squares) / scalar(size_there), lengths
    unit_size, gram = power_of_two_below_norm(x), as_float64(shifted_gram(x))
    lengths = np.diagonal(gram)
    sums = lengths[:, None] + lengths[indices]
    squares = sums - 2 * np.take_along_axis(gram, indices, axis=1)
    row, place = np.nonzero(squares < MIN_UNCANCELLED_SHARE * sums)
    for start, stop in gathering_row_ranges(len(row), x.shape[1]):
        i, j = row[start:stop], indices[row[start:stop], place[start:stop]]
        difference = (x.array[i] - x.array[j]) / unit_size
        squares[row[start:stop], place[start:stop]] = np.vecdot(difference, difference)
    size_there = scalar(size(x)) / unit_size
    return np.sqrt(squares) / size_there, np.sqrt(lengths) / size_there


def take_rows(points: Array, rows: np.ndarray) -> Array:
    """Return ``points[rows]`` for an array of any library."""
    return namespace(points).take(points, _row_index_array(rows, points), axis=0)


def take_listed(points: Array, indices: Array) -> Array:
    """Return ``points[indices]`` for an array of any library, the rows or numbers at
    ``indices``."""
    xp, index = namespace(points), _row_index_array(indices, points)
    entries = xp.take(points, xp.reshape(index, (-1,)), axis=0)
    return xp.reshape(entries, (*index.shape, *points.shape[1:]))


def _row_index_array(rows: Array, points: Array) -> Array:
    if isinstance(rows, np.ndarray):
        return namespace(points).asarray(rows, device=device(points))
    return rows


def mask_own_columns(block: Array, rows: np.ndarray) -> Array:
    """Return scores (rows, n) with minus infinity where a sample meets itself: in row i, at column
    ``rows[i]``. The block is overwritten where the library allows."""
    xp = namespace(block)
    if isinstance(block, np.ndarray) or is_torch(block):
        block[xp.arange(len(rows), device=device(block)), _row_index_array(rows, block)] = -math.inf
        return block
    columns = xp.arange(block.shape[1], device=device(block))
    is_own = _row_index_array(rows, block)[:, None] == columns[None, :]
    return xp.where(is_own, xp.full_like(block, -math.inf), block)


def cosines_to_listed(x: Representation, indices: np.ndarray) -> np.ndarray:
    """Return the cosine similarities in x between every sample and the samples that ``indices``,
    (n, m), lists for the sample, in the shape of ``indices``."""
    return products_with_listed(detach(unit_rows(x)), np.arange(len(indices)), indices)


def cosines_of_pairs(x: Representation, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the cosine similarities in x between the samples ``first`` and ``second``, pair by
    pair, (pairs,)."""
    rows = detach(unit_rows(x))
    parts = [
        x.xp.vecdot(take_rows(rows, first[start:stop]), take_rows(rows, second[start:stop]))
        for start, stop in gathering_row_ranges(len(first), rows.shape[1])
    ]
    return to_numpy(x.xp.concat(parts)) if parts else np.empty(0)


def cosine_distances_of_pairs(
    x: Representation, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Return 1 minus the cosine similarities in x between the samples ``first`` and ``second``,
    pair by pair, (pairs,).

    Rows in nearly the same direction have half of the squared distance between the unit rows, which
    keeps the digits that cosines close to 1 lose. Rows in the same direction up to rounding have
    distance 0.
    """
    distances = 1 - cosines_of_pairs(x, first, second)
    rows = detach(unit_rows(x))
    equal_below = (EQUAL_ROW_EPSILONS * max(resolution(x), epsilon(rows))) ** 2 / 2
    near = np.flatnonzero(distances < MAX_NEAR_COSINE_DISTANCE)
    for start, stop in gathering_row_ranges(len(near), rows.shape[1]):
        part = near[start:stop]
        difference = take_rows(rows, first[part]) - take_rows(rows, second[part])
        halves = to_numpy(x.xp.vecdot(difference, difference)) / 2
        distances[part] = np.where(halves <= equal_below, 0, halves)
    return distances


def require_distinct_samples(x: Representation) -> None:
    """Raise ``UndefinedError`` when no sample of x is nearer than another: all rows are equal, or
    differ by less than rounding."""
    if scalar(size(x)) == 0:
        raise UndefinedError(
            f"{representation_title(x)} is constant (all its rows are equal): no sample has "
            "nearest neighbours"
        )
    check_digits(x)
