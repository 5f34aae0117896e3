"""Matrices of all pairs of samples that are never in memory: computed again, piece by piece, for
every pass over them.

A pass visits rectangles of a fixed size, one after the other. What it sums over a rectangle is
added up with the rounding errors of the additions, so that the sums of a billion entries are as
exact as those of a thousand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..arrays import Array, carries_gradient, device, epsilon, inner, namespace, root, scalar
from ..representation import Representation
from .points import preshape, standardized_rows, unit_rows

ABOVE = 4096  # samples; a matrix of all pairs of more is not stored
# A rectangle of this size, and its like, stay in the processor's cache. It is a property of the
# algorithm, not a tuning option: changing it changes rounding.
ROWS, COLUMNS = 256, 512


class Rectangle(NamedTuple):
    """Rows and columns of a matrix of all pairs, as slices; a square on the diagonal, or apart."""

    rows: slice
    columns: slice

    @property
    def is_square(self) -> bool:
        """Whether it lies on the diagonal."""
        return self.rows == self.columns

    @property
    def has_diagonal(self) -> bool:
        """Whether it is on the diagonal, or has all columns from there on."""
        return self.is_square or self.columns.stop is None

    @property
    def weight(self) -> int:
        """How often its entries are in the symmetric matrix: those off the diagonal squares twice,
        as the rectangle below the diagonal is not visited."""
        return 1 if self.is_square else 2


# The entries of a rectangle, in an array that nobody else has.
Entries = Callable[[Rectangle], Array]


def is_large(x: Representation) -> bool:
    """Say whether matrices of all pairs of samples are not stored for this representation."""
    return x.shape[0] > ABOVE and not carries_gradient(x.source)


def rectangles(n: int) -> Iterator[Rectangle]:
    """Yield the squares on the diagonal of an (n, n) matrix, and what is to the right of them."""
    for start in range(0, n, ROWS):
        stop = min(start + ROWS, n)
        yield Rectangle(slice(start, stop), slice(start, stop))
        for left in range(stop, n, COLUMNS):
            yield Rectangle(slice(start, stop), slice(left, min(left + COLUMNS, n)))


def rows_from(start: int, stop: int, first: int = 0) -> Rectangle:
    """Return rows start..stop, from column ``first`` on, which is not right of the diagonal."""
    return Rectangle(slice(start, stop), slice(first, None))


def all_rectangles(n: int, m: int) -> Iterator[Rectangle]:
    """Yield rectangles that cover an (n, m) matrix."""
    for start in range(0, n, ROWS):
        for left in range(0, m, COLUMNS):
            rows, columns = (start, min(start + ROWS, n)), (left, min(left + COLUMNS, m))
            yield Rectangle(slice(*rows), slice(*columns))


# ----------------------------------------------------------------------------------------- entries


def squared_lengths(points: Array) -> Array:
    """Squared Euclidean length of every row, shape (n,)."""
    return namespace(points).sum(points * points, axis=1)


def rounding_of_squares(points: Array) -> float:
    """Rounding of a squared distance, relative to the sum of the squared lengths of the rows."""
    return max(4.0, math.sqrt(points.shape[1])) * epsilon(points)  # sums of so many products


def squared_distances_of(points: Array, others: Array | None = None) -> Entries:
    """Squared Euclidean distances between rows, or from them to ``others``; 0 on the diagonal.

    Distances below the rounding error of the products they are computed from are set to zero, so a
    row and its duplicate are at distance 0, not 1e-8.
    """
    xp, rounding = namespace(points), rounding_of_squares(points)
    targets = points if others is None else others
    squares, lengths = squared_lengths(points), squared_lengths(targets)
    largest, transposed = scalar(xp.max(squares) + xp.max(lengths)), xp.matrix_transpose(targets)

    def entries(at: Rectangle) -> Array:
        both = squares[at.rows, None] + lengths[None, at.columns]
        # Scaled by a power of two, whose products are exact, before they are summed.
        block = (-2 * points[at.rows, :]) @ transposed[:, at.columns]
        block += both
        on_diagonal = others is None and at.has_diagonal
        if not on_diagonal and scalar(xp.min(block)) > rounding * largest:
            return block
        if isinstance(block, np.ndarray):  # the same, in its place
            both *= rounding
            np.copyto(block, 0, where=block <= both)
        else:  # NaN stays NaN
            block = xp.where(block <= rounding * both, xp.zeros_like(block), block)
        return without_diagonal(block) if others is None and at.is_square else block

    return entries


def distances_of(points: Array) -> Entries:
    """Euclidean distances between rows."""
    squares = squared_distances_of(points)
    form = np.sqrt if isinstance(points, np.ndarray) else root  # no square is negative
    return lambda at: form(squares(at))


def dissimilarities_of(points: Array, kind: str) -> Entries:
    """Dissimilarities between rows of :func:`dissimilar_points`, of a kind of
    :func:`~.distances.rdm`; not meaningful on the diagonal."""
    if kind == "euclidean":
        return distances_of(points)
    if kind == "sqeuclidean":
        return squared_distances_of(points)
    transposed = namespace(points).matrix_transpose(points)

    def entries(at: Rectangle) -> Array:
        block = (-1 * points[at.rows, :]) @ transposed[:, at.columns]
        block += 1
        return block

    return entries


def dissimilar_points(x: Representation, kind: str) -> Array:
    """The points whose products or distances are the dissimilarities of a kind."""
    if kind in ("euclidean", "sqeuclidean"):
        return preshape(x)
    return unit_rows(x) if kind == "cosine" else standardized_rows(x)


def diagonal_of(block: Array) -> Array:
    """Say of each entry of a square whether it is on the diagonal."""
    index = namespace(block).arange(block.shape[0], device=device(block))
    return index[:, None] == index[None, :]


def without_diagonal(block: Array, value: float = 0.0) -> Array:
    """Return a square with this value on its diagonal."""
    xp = namespace(block)
    return xp.where(diagonal_of(block), xp.full_like(block, value), block)


# -------------------------------------------------------------------------------------------- sums


class ExactSum:
    """A sum of many arrays, or numbers, that carries its rounding errors along (Neumaier)."""

    def __init__(self, shape: int | tuple[int, ...] = ()):
        self._sum, self._lost = np.zeros(shape), np.zeros(shape)

    def add(self, values: np.ndarray | float) -> None:
        """Add values of this shape."""
        total = self._sum + values
        part = total - self._sum
        self._lost = self._lost + (self._sum - (total - part)) + (values - part)
        self._sum = total

    @property
    def value(self) -> np.ndarray:
        """The sum so far."""
        return self._sum + self._lost


def products(matrices: list[Entries], pairs: list[tuple[int, int]], n: int) -> np.ndarray:
    """Frobenius inner products of symmetric matrices, for pairs of positions in the list.

    One product of a pair does not depend on which others there are, to the last bit.
    """
    total = ExactSum(len(pairs))
    for at in rectangles(n):
        blocks = [entries(at) for entries in matrices]
        total.add(at.weight * np.array([scalar(inner(blocks[i], blocks[j])) for i, j in pairs]))
    return total.value


class Deviations:
    """Number, mean, and squared deviations from it, of numbers that come in arrays; their ends."""

    def __init__(self) -> None:
        self._parts: list[tuple[float, float, float]] = []
        self.low, self.high = np.inf, -np.inf

    def add(self, block: Array, weight: int) -> None:
        """Add the entries of an array, which it overwrites, ``weight`` times each."""
        xp, size = namespace(block), weight * float(np.prod(block.shape))
        self.low = min(self.low, scalar(xp.min(block)))
        self.high = max(self.high, scalar(xp.max(block)))
        mean = scalar(xp.mean(block))
        block -= mean
        self._parts.append((size, mean, weight * scalar(inner(block, block))))

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
