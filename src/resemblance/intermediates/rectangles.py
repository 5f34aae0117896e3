"""Matrices of all pairs of samples that are never stored: every pass computes the entries again,
block by block.

A pass visits blocks of a fixed size one after the other. Sums over blocks carry the rounding errors
of the additions, so that a sum of a billion entries is as exact as a sum of a thousand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np

from ..base.arrays import (
    Array,
    as_array_like,
    device,
    epsilon,
    frobenius_inner,
    namespace,
    records_gradient,
    safe_sqrt,
    scalar,
    to_numpy,
)
from ..base.context_values import context_value
from ..data.representation import Representation
from .chords import TIE_EPSILONS, Chords, cosines_lose_digits, direction_variance, unit_row_chords
from .differences import (
    MIN_DISTANCE_ROUNDINGS,
    can_correct_in_place,
    cancellation_corrector,
    diagonal_view,
)
from .digits import below_rounding_message, to_double_precision
from .points import standardized_rows, unit_rows

MAX_STORED_SAMPLES = 4096  # with more samples, (n, n) matrices are not stored
# A few blocks of this size fit in the processor's cache. The size is a property of the algorithm,
# not a tuning option: another size changes rounding.
BLOCK_ROWS, BLOCK_COLUMNS = 256, 512


class MatrixBlock(NamedTuple):
    """The rows and columns of a block of an (n, n) matrix, as slices: a square on the diagonal, or
    a rectangle off the diagonal."""

    rows: slice
    columns: slice

    @property
    def is_square(self) -> bool:
        """Whether the block is a square on the diagonal."""
        return self.rows == self.columns

    @property
    def has_diagonal(self) -> bool:
        """Whether the block contains diagonal entries: a square, or rows with all columns up to
        the last."""
        return self.is_square or self.columns.stop is None

    @property
    def weight(self) -> int:
        """How often the block's entries occur in the symmetric matrix: once in a square on the
        diagonal, twice elsewhere, because a pass does not visit the blocks below the diagonal."""
        return 1 if self.is_square else 2


# A block function returns the entries of a block, in a new array that the caller may overwrite.
BlockFunction = Callable[[MatrixBlock], Array]


_FORCED_BLOCKWISE: ContextVar[bool] = ContextVar("as_large", default=False)


def force_blockwise(large: bool) -> AbstractContextManager[None]:
    """Inside this context, if ``large``, :func:`is_blockwise` is true even with few samples, to
    see the intermediates of many samples."""
    return context_value(_FORCED_BLOCKWISE, large)


def is_blockwise(x: Representation) -> bool:
    """Return whether (n, n) matrices of this representation are computed blockwise, not stored."""
    return (x.shape[0] > MAX_STORED_SAMPLES or _FORCED_BLOCKWISE.get()) and not records_gradient(
        x.source
    )


def upper_blocks(
    n: int, width: int = BLOCK_COLUMNS, height: int | None = None
) -> Iterator[MatrixBlock]:
    """Yield the square blocks on the diagonal of an (n, n) matrix, and the blocks to their right,
    which together cover the diagonal and all entries above. ``height``: the number of rows of a
    block, by default ``BLOCK_ROWS``."""
    height = BLOCK_ROWS if height is None else height
    for start in range(0, n, height):
        stop = min(start + height, n)
        yield MatrixBlock(slice(start, stop), slice(start, stop))
        for column in range(stop, n, width):
            yield MatrixBlock(slice(start, stop), slice(column, min(column + width, n)))


def row_blocks_from_column(start: int, stop: int, first: int = 0) -> MatrixBlock:
    """Return the block of rows start..stop and all columns from ``first`` on; ``first`` must not be
    right of the diagonal."""
    return MatrixBlock(slice(start, stop), slice(first, None))


def covering_blocks(n: int, m: int) -> Iterator[MatrixBlock]:
    """Yield disjoint blocks that cover an (n, m) matrix."""
    for start in range(0, n, BLOCK_ROWS):
        for column in range(0, m, BLOCK_COLUMNS):
            rows = (start, min(start + BLOCK_ROWS, n))
            columns = (column, min(column + BLOCK_COLUMNS, m))
            yield MatrixBlock(slice(*rows), slice(*columns))


# ----------------------------------------------------------------------------------------- entries


def squared_row_norms(points: Array) -> Array:
    """Return the squared Euclidean length of every row of ``points`` (n, d), shape (n,)."""
    return namespace(points).sum(points * points, axis=1)


def squared_distance_rounding(points: Array) -> float:
    """Return the relative rounding error of a squared distance between rows of ``points`` (n, d),
    relative to the sum of the squared lengths of the two rows."""
    return product_sum_rounding(points.shape[1], points)


def product_sum_rounding(d: int, array: Array) -> float:
    """Return the rounding error of a sum of d products in the precision of the array, relative to
    the size of the products."""
    return max(4.0, math.sqrt(d)) * epsilon(array)


def squared_distance_function(points: Array, targets: Array | None = None) -> BlockFunction:
    """Return a function that computes blocks of squared Euclidean distances between rows of
    ``points`` (n, d), or from ``points`` to ``targets`` (m, d); without ``targets`` 0 on the
    diagonal.

    Rows that are equal up to rounding are at distance 0, not 1e-8. Distances come from inner
    products; distances that lost digits are computed again from differences.
    """
    xp, rounding = namespace(points), squared_distance_rounding(points)
    column_points = points if targets is None else targets
    squares, lengths = squared_row_norms(points), squared_row_norms(column_points)
    largest = scalar(xp.max(squares) + xp.max(lengths))
    transposed = xp.matrix_transpose(column_points)
    correct = (
        cancellation_corrector(points, column_points) if can_correct_in_place(points) else None
    )
    threshold = rounding if correct is None else MIN_DISTANCE_ROUNDINGS * rounding

    def entries(tile: MatrixBlock) -> Array:
        sums = squares[tile.rows, None] + lengths[None, tile.columns]
        # Scaling by a power of two is exact, so the points are scaled before the sum.
        block = (-2 * points[tile.rows, :]) @ transposed[:, tile.columns]
        block += sums
        has_diagonal = targets is None and tile.has_diagonal
        if correct is not None:
            if has_diagonal:
                diagonal_view(block, tile[:2])[:] = math.inf
            if not scalar(xp.min(block)) > threshold * largest:  # also for NaN
                correct(block, sums, tile[:2], threshold)
            if has_diagonal:
                diagonal_view(block, tile[:2])[:] = 0 * squares[tile.rows]  # NaN stays NaN
            return block
        if not has_diagonal and scalar(xp.min(block)) > threshold * largest:
            return block
        block = xp.where(block <= rounding * sums, xp.zeros_like(block), block)
        return set_diagonal(block) if targets is None and tile.is_square else block

    return entries


def distance_function(points: Array) -> BlockFunction:
    """Return a function that computes blocks of Euclidean distances between rows of ``points`` (n,
    d)."""
    squares = squared_distance_function(points)
    form = np.sqrt if isinstance(points, np.ndarray) else safe_sqrt  # no square is negative
    return lambda tile: form(squares(tile))


class DissimilarPoints(NamedTuple):
    """Unit rows or zero rows, (n, d). Dissimilarities are 1 minus inner products, or half of the
    squared distances between the chords if there are chords."""

    points: Array
    chords: Chords | None = None


def dissimilarity_function(x: DissimilarPoints) -> BlockFunction:
    """Return a function that computes blocks of the dissimilarities, 1 - cosine or 1 - correlation,
    between the rows that :func:`dissimilar_points` returned as ``x``; diagonal entries have no
    meaning."""
    if x.chords is not None:
        return _chord_dissimilarity_function(x.chords)
    points = x.points
    transposed = namespace(points).matrix_transpose(points)

    def entries(tile: MatrixBlock) -> Array:
        return cosine_to_dissimilarity(points[tile.rows, :] @ transposed[:, tile.columns])

    return entries


def cosine_to_dissimilarity(cosines: Array) -> Array:
    """Return 1 minus the cosines, with values within rounding of 0 set to 0: rows in the same
    direction are equal. A NumPy array is overwritten."""
    xp = namespace(cosines)
    is_plain = isinstance(cosines, np.ndarray)
    dissimilar = np.subtract(1, cosines, out=cosines) if is_plain else 1 - cosines
    rounding = TIE_EPSILONS * epsilon(dissimilar)
    if 0 in dissimilar.shape or scalar(xp.min(dissimilar)) > rounding:
        return dissimilar
    return xp.where(dissimilar <= rounding, xp.zeros_like(dissimilar), dissimilar)


def _chord_dissimilarity_function(chords: Chords) -> BlockFunction:
    """Return a function that computes blocks of half of the squared distances between chords; 1
    from and to a zero row."""
    squares, is_row = squared_distance_function(chords.points), chords.is_row

    def entries(tile: MatrixBlock) -> Array:
        are_rows = is_row[tile.rows, None] * is_row[None, tile.columns]
        return squares(tile) * (are_rows / 2) + (1 - are_rows)

    return entries


def dissimilar_points(x: Representation, kind: str) -> DissimilarPoints:
    """Return the rows with inner products equal to the cosines ("cosine") or the correlations over
    features (any other ``kind``) between samples."""
    form = unit_rows if kind == "cosine" else standardized_rows
    rows = form(x)
    if records_gradient(rows) or x.origin:
        return DissimilarPoints(rows)
    xp = x.xp
    share = scalar(xp.mean(xp.astype(xp.any(rows != 0, axis=1), rows.dtype)))
    if not cosines_lose_digits(direction_variance(xp.mean(rows, axis=0), share), epsilon(rows)):
        return DissimilarPoints(rows)
    return DissimilarPoints(
        rows, unit_row_chords(form(to_double_precision(x)), below_rounding_message(x))
    )


def diagonal_mask(block: Array) -> Array:
    """Return a boolean mask of the diagonal entries of a square block, in the shape of the
    block."""
    index = namespace(block).arange(block.shape[0], device=device(block))
    return index[:, None] == index[None, :]


def set_diagonal(block: Array, value: float = 0.0) -> Array:
    """Return a square block with ``value`` on the diagonal; a NumPy array is overwritten."""
    if isinstance(block, np.ndarray):
        np.fill_diagonal(block, value)
        return block
    xp = namespace(block)
    return xp.where(diagonal_mask(block), xp.full_like(block, value), block)


# -------------------------------------------------------------------------------------------- sums


class ExactSum:
    """A running sum of arrays, or numbers, that carries the rounding errors along (Neumaier)."""

    def __init__(self, shape: int | tuple[int, ...] = ()):
        self._sum, self._lost = np.zeros(shape), np.zeros(shape)

    def add(self, values: np.ndarray | float) -> None:
        """Add ``values``, an array in the shape of the sum, or a number."""
        total = self._sum + values
        part = total - self._sum
        self._lost = self._lost + (self._sum - (total - part)) + (values - part)
        self._sum = total

    @property
    def value(self) -> np.ndarray:
        """The sum so far."""
        return self._sum + self._lost


def matrix_inner_products(
    matrices: list[BlockFunction], pairs: list[tuple[int, int]], n: int
) -> np.ndarray:
    """Return the Frobenius inner products of symmetric (n, n) matrices, for pairs of positions in
    ``matrices``, (pairs,).

    The inner product of a pair does not depend on the other pairs, to the last bit.
    """
    total = ExactSum(len(pairs))
    for tile in upper_blocks(n):
        blocks = [entries(tile) for entries in matrices]
        total.add(
            tile.weight
            * np.array([scalar(frobenius_inner(blocks[i], blocks[j])) for i, j in pairs])
        )
    return total.value


def row_inner_products(
    matrices: Sequence[BlockFunction], pairs: Sequence[tuple[int, int]], n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return two results of one pass over symmetric (n, n) NumPy matrices: the inner products of
    the same rows of two matrices, for pairs of positions in ``matrices``, (pairs, n); and the sums
    of squares and of cubes of the entries of every row off the diagonal, (matrices, 2, n).

    The inner products of a pair do not depend on the other pairs, to the last bit: BLAS multiplies
    two rows at a time, because the rounding of a larger matrix product depends on the shape.
    """
    products, powers = np.zeros((len(pairs), n)), np.zeros((len(matrices), 2, n))
    for tile in upper_blocks(n, width=BLOCK_ROWS):
        blocks = [entries(tile) for entries in matrices]
        sides = [(tile.rows, blocks)]
        if not tile.is_square:  # the mirrored blocks below the diagonal
            sides.append((tile.columns, [block.T.copy() for block in blocks]))
        for rows, parts in sides:
            for place, (i, j) in enumerate(pairs):
                products[place, rows] += np.vecdot(parts[i], parts[j])
            for place, part in enumerate(parts):
                if tile.is_square:
                    np.fill_diagonal(part, 0)
                powers[place, :, rows] += [np.vecdot(part, part), np.vecdot(part * part, part)]
    return products, powers


class RunningMoments:
    """Count, mean, squared deviations, minimum and maximum of numbers that arrive in arrays."""

    def __init__(self) -> None:
        self._parts: list[tuple[float, float, float]] = []
        self.low, self.high = np.inf, -np.inf

    def add(self, block: Array, weight: int) -> None:
        """Add the entries of ``block``, an array of any shape, counted ``weight`` times. The array
        is overwritten."""
        xp, size = namespace(block), weight * float(np.prod(block.shape))
        self.low = min(self.low, scalar(xp.min(block)))
        self.high = max(self.high, scalar(xp.max(block)))
        mean = scalar(xp.mean(block))
        block -= mean
        self._parts.append((size, mean, weight * scalar(frobenius_inner(block, block))))

    @property
    def mean(self) -> float:
        """Mean of all numbers."""
        sizes, means, _ = np.array(self._parts).T
        return float(sizes @ means / sizes.sum())

    @property
    def squares(self) -> float:
        """Sum of the squared deviations from the mean."""
        sizes, means, squares = np.array(self._parts).T
        return float(squares.sum() + sizes @ (means - self.mean) ** 2)


# ------------------------------------------------------------------------- pairs of representations


class UniquePairs(NamedTuple):
    """Distinct representations; pairs (i, j) of positions in ``representations``, i <= j; and
    ``places``, (rows, columns), the position in ``pairs`` for every row and column."""

    representations: tuple[Representation, ...]
    pairs: list[tuple[int, int]]
    places: np.ndarray

    @property
    def samples(self) -> int:
        """The number of samples."""
        return self.representations[0].shape[0]

    def ends(self, numbers: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
        """Return ``numbers`` of the first and of the second representation of every pair, (pairs,)
        each. ``numbers``: a number per representation."""
        i, j = np.array(self.pairs).T
        return np.asarray(numbers)[i], np.asarray(numbers)[j]


def all_row_column_pairs(xs: Sequence[Representation], ys: Sequence[Representation]) -> UniquePairs:
    """Return all distinct pairs of a row of ``xs`` and a column of ``ys``; (x, y) and (y, x) are
    one pair."""
    representations = {id(r): r for r in (*xs, *ys)}
    index = {key: i for i, key in enumerate(representations)}
    places: dict[tuple[int, int], int] = {}
    table = np.empty((len(xs), len(ys)), dtype=np.int64)
    for row, x in enumerate(xs):
        for column, y in enumerate(ys):
            i, j = sorted((index[id(x)], index[id(y)]))
            table[row, column] = places.setdefault((i, j), len(places))
    return UniquePairs(tuple(representations.values()), list(places), table)


# ----------------------------------------------------------------------------------------- centring


class CenteringTerms(NamedTuple):
    """The terms of double-centring a symmetric matrix: the means of the rows, shape (n,); the
    overall mean; and the squared Frobenius norm after centring."""

    means: np.ndarray
    mean: float
    energy: float


def centering_terms(entries: BlockFunction, n: int) -> CenteringTerms:
    r"""Return the row means, the overall mean, and the squared norm after double-centring of a
    symmetric (n, n) matrix D, from a single pass. ``entries``: computes blocks of D.

    .. math:: \lVert H D H \rVert^2 = \sum_{ij} (d_{ij} - \bar{d})^2 - 2 n \sum_i (\bar{d}_i -
        \bar{d})^2
    """
    sums, deviations = np.zeros(n), RunningMoments()
    for tile in upper_blocks(n):
        block = entries(tile)
        xp = namespace(block)
        sums[tile.rows] += to_numpy(xp.sum(block, axis=1))
        if not tile.is_square:
            sums[tile.columns] += to_numpy(xp.sum(block, axis=0))
        deviations.add(block, tile.weight)
    means, mean = sums / n, deviations.mean
    margin_squares = 2 * n * float(np.sum((means - mean) ** 2))
    return CenteringTerms(means, mean, max(0.0, deviations.squares - margin_squares))


def double_centered_entries(
    entries: BlockFunction, margins: CenteringTerms, prototype: Array
) -> BlockFunction:
    """Return a function that computes blocks of a symmetric matrix after double-centring, in the
    array library of ``prototype``. ``entries``: blocks of the matrix; ``margins``: its centring
    terms."""
    means = as_array_like(margins.means, prototype)

    def centered(tile: MatrixBlock) -> Array:
        block = entries(tile)
        block -= means[tile.rows, None]
        block -= (means[tile.columns] - margins.mean)[None, :]
        return block

    return centered


# ---------------------------------------------------------------------------------------- selection

MAX_SORTED_VALUES = 2**22  # values sorted at a time
# Histogram bins of an interval; the next pass searches the bins around the wanted places.
PARTS_PER_INTERVAL = 2**16


def upper_triangle_vectors(entries: BlockFunction, n: int) -> Callable[[], Iterator[np.ndarray]]:
    """Return a function that yields the entries above the diagonal of a symmetric (n, n) matrix,
    in vectors, block by block (leaves the array API). ``entries``: computes blocks of the matrix.
    """

    def numbers() -> Iterator[np.ndarray]:
        for tile in upper_blocks(n):
            block = to_numpy(entries(tile))
            yield block[np.triu_indices(len(block), 1)] if tile.is_square else block.reshape(-1)

    return numbers


def matrix_entry_vectors(
    entries: BlockFunction, n: int, m: int
) -> Callable[[], Iterator[np.ndarray]]:
    """Return a function that yields the entries of an (n, m) matrix, in vectors. ``entries``:
    computes blocks of the matrix."""
    return lambda: (to_numpy(entries(tile)).reshape(-1) for tile in covering_blocks(n, m))


def order_statistics(
    numbers: Callable[[], Iterator[np.ndarray]], count: int, places: tuple[int, int], top: float
) -> np.ndarray:
    """Return the values at two neighbouring ``places``, from 0, of the sorted numbers, (2,).

    ``numbers()`` yields the ``count`` numbers, from 0 to ``top``, in vectors; the function calls
    ``numbers`` once per pass. Every pass narrows the interval around the two values, until the
    interval contains few numbers, or only numbers equal up to rounding. The function needs memory
    for ``MAX_SORTED_VALUES`` numbers.
    """
    low, high, n_inside = 0.0, top, count
    while n_inside > MAX_SORTED_VALUES:
        low, high, n_inside = _narrow_interval(numbers, places, low, high)
        if high - low <= 4 * np.finfo(float).eps * top:
            break
    n_below, parts = 0, []
    for block in numbers():
        n_below += int(np.count_nonzero(block < low))
        part = block[(block >= low) & (block <= high)]
        parts.append(
            part if n_inside <= MAX_SORTED_VALUES else part.min(keepdims=True, initial=np.inf)
        )
    values = np.concatenate(parts)
    if n_inside > MAX_SORTED_VALUES:
        return np.full(2, values.min())
    return np.partition(values, [p - n_below for p in places])[[p - n_below for p in places]]


def _narrow_interval(
    numbers: Callable[[], Iterator[np.ndarray]], places: tuple[int, int], low: float, high: float
) -> tuple[float, float, int]:
    """Return an interval (low, high) inside ``low``..``high`` around the values at ``places``, and
    the count of numbers inside."""
    counts = np.zeros(PARTS_PER_INTERVAL, dtype=np.int64)
    n_below = 0
    scale = PARTS_PER_INTERVAL / (high - low)
    for block in numbers():
        n_below += int(np.count_nonzero(block < low))
        positions = block[(block >= low) & (block <= high)].astype(np.float64, copy=False)
        positions -= low
        positions *= scale
        counts += np.bincount(
            np.minimum(positions.astype(np.int64), PARTS_PER_INTERVAL - 1),
            minlength=PARTS_PER_INTERVAL,
        )
    ends = n_below + np.cumsum(counts)
    first, last = (int(np.searchsorted(ends, p, side="right")) for p in places)
    # With this margin, rounding loses no number at the ends of the interval.
    slack = 1e-6 / scale + 2 * float(np.spacing(high))
    n_inside = int(counts[max(first - 1, 0) : last + 2].sum())
    return (
        max(low, low + first / scale - slack),
        min(high, low + (last + 1) / scale + slack),
        n_inside,
    )
