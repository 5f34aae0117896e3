"""One matrix of all pairs of samples of a representation, in three forms: dense, factored, sparse.

A matrix is a light wrapper, created on request: the cache of the representation holds the numbers
and the arrays. Many measures are functions of the inner product of two such matrices.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache, cached_property, partial, reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base.arrays import Array, as_float64, frobenius_inner, row_blocks, to_numpy
from .differences import diagonal_view
from .rectangles import BlockFunction, MatrixBlock, row_blocks_from_column, upper_blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Ways = tuple[str, ...]  # directions of parallel edges, "out" or "in"
CACHED_BLOCK_ROWS = 64  # rows per block, so that powers stay in the processor's cache
# For a smaller symmetric matrix, the full square is faster than the recursion on quarters.
MAX_FULL_SQUARE_SAMPLES = 256


class PairMatrix(ABC):
    """An (n, n) matrix A of a representation. Permuting the samples permutes the rows and columns
    of A.

    ``samples``: n. ``trace``: tr A. ``total``: the sum of all entries. ``square``: <A, A>. The
    constructor takes the numbers that are known; the class computes the other numbers.
    """

    def __init__(
        self,
        samples: int,
        trace: float | None = None,
        total: float | None = None,
        square: float | None = None,
    ) -> None:
        self.samples = samples
        known = {"trace": trace, "total": total, "square": square}
        vars(self).update({name: value for name, value in known.items() if value is not None})

    @cached_property
    def trace(self) -> float:
        return float(self.diagonal().sum())

    @cached_property
    def total(self) -> float:
        return float((self @ np.ones(self.samples)).sum())

    @property
    @abstractmethod
    def square(self) -> float:
        """The squared Frobenius norm <A, A> of the matrix."""

    @abstractmethod
    def block(self, tile: MatrixBlock) -> Array:
        """Return the entries of the block ``tile``, in a new array that the caller may
        overwrite."""

    @abstractmethod
    def diagonal(self) -> np.ndarray:
        """Return the diagonal, shape (n,), for reading."""

    @abstractmethod
    def __matmul__(self, columns: np.ndarray) -> np.ndarray:
        """Return the product with a vector, shape (n,), or with columns, shape (n, columns)."""

    @abstractmethod
    def rescaled(self, factor: float, off_diagonal: float, on_diagonal: float) -> PairMatrix:
        """Return the matrix times ``factor``, then minus ``off_diagonal`` off the diagonal and
        minus ``on_diagonal`` on the diagonal. A dense matrix is overwritten."""

    @abstractmethod
    def triangle_sums(self, symmetric: bool, row_squares: np.ndarray) -> tuple[float, float]:
        """Return the two sums over i, j, k of A_ij A_jk A_ik and of A_ij A_jk A_ki.

        ``symmetric``: A is symmetric. ``row_squares``: the sums of squares of the rows, shape (n,).
        """

    def dense(self) -> np.ndarray:
        """Return the entries in float64, shape (n, n), in a new array that the caller may
        overwrite."""
        return as_float64(self.block(MatrixBlock(slice(None), slice(None))))

    @property
    def entries(self) -> np.ndarray:
        """The entries in float64, shape (n, n), for reading."""
        return self.dense()

    def row_products(self, other: PairMatrix) -> np.ndarray:
        """Return the inner products of every row of this matrix and the same row of ``other``,
        shape (n,)."""
        return np.asarray(np.vecdot(self.entries, other.entries))

    def edge_products(
        self, ways: Ways, weights: np.ndarray, symmetric: bool
    ) -> dict[Ways, np.ndarray]:
        """Return {ways: M @ weights}, shape (n,), with M the entrywise product of the matrices
        along parallel edges: A for a way "out", the transpose for a way "in". Other products that
        cost nothing more are in the result, too.

        ``weights``: (n,). For a symmetric matrix the products are the entrywise square and the
        entrywise cube, and the method computes only blocks on and above the diagonal.
        """
        sums = np.zeros((2, self.samples))
        for start, stop in row_blocks(self.samples, CACHED_BLOCK_ROWS):
            block = self.block(row_blocks_from_column(start, stop, start))
            square = block * block
            block *= square
            for products, power in zip(sums, (square, block)):
                products[start:stop] += power @ weights[start:]
                products[stop:] += weights[start:stop] @ power[:, stop - start :]
        return {("out",) * 2: sums[0], ("out",) * 3: sums[1]}


def expected_inner(a: PairMatrix, b: PairMatrix) -> float:
    r"""Return the mean of <A, B> over all n! permutations of the samples of B.

    .. math:: \frac{\operatorname{tr} A \operatorname{tr} B}{n} + \frac{\operatorname{off} A
        \operatorname{off} B}{n (n - 1)}

    with off the sum of the entries off the diagonal.
    """
    n = a.samples
    return a.trace * b.trace / n + (a.total - a.trace) * (b.total - b.trace) / (n * (n - 1))


def expected_cosine(a: PairMatrix, b: PairMatrix) -> float:
    """Return the mean cosine of A and B over all permutations of the samples of B."""
    return expected_inner(a, b) / math.sqrt(a.square * b.square)


# ------------------------------------------------------------------------------------------- dense


class DenseMatrix(PairMatrix):
    """A matrix of entries: in memory, or with ``blocks`` a symmetric matrix that is computed again
    block by block.

    ``entries`` and ``blocks`` are functions, so that a matrix costs nothing until it is read.
    """

    def __init__(
        self,
        samples: int,
        entries: Callable[[], Array] | None = None,
        blocks: Callable[[], BlockFunction] | None = None,
        **numbers: float,
    ) -> None:
        super().__init__(samples, **numbers)
        self._entries, self._blocks = entries, blocks and cache(blocks)

    @cached_property
    def entries(self) -> np.ndarray:
        return as_float64(self._entries()) if self._entries else self.dense()

    @cached_property
    def square(self) -> float:
        return float(np.vdot(self.entries, self.entries))

    def block(self, tile: MatrixBlock) -> Array:
        return self._blocks()(tile) if self._blocks else self.entries[tile].copy()

    def dense(self) -> np.ndarray:
        if self._entries:
            return np.array(to_numpy(self._entries()), dtype=np.float64)
        matrix = np.empty((self.samples, self.samples))
        for tile in upper_blocks(self.samples):
            matrix[tile] = as_float64(self.block(tile))
            if not tile.is_square:
                matrix[tile.columns, tile.rows] = matrix[tile].T
        return matrix

    def diagonal(self) -> np.ndarray:
        return np.diagonal(self.entries)

    def __matmul__(self, columns: np.ndarray) -> np.ndarray:
        return np.asarray(self.entries @ columns)

    def row_products(self, other: PairMatrix) -> np.ndarray:
        if isinstance(other, DenseMatrix):
            return np.asarray(np.vecdot(self.entries, other.entries))
        return other.row_products(self)

    def rescaled(self, factor: float, off_diagonal: float, on_diagonal: float) -> DenseMatrix:
        matrix, diagonal = self.entries, self.diagonal() * factor - on_diagonal
        for start, stop in row_blocks(self.samples):
            matrix[start:stop] *= factor
            matrix[start:stop] -= off_diagonal
        np.fill_diagonal(matrix, diagonal)
        return DenseMatrix(self.samples, lambda: matrix)

    def edge_products(
        self, ways: Ways, weights: np.ndarray, symmetric: bool
    ) -> dict[Ways, np.ndarray]:
        if symmetric:
            return super().edge_products(ways, weights, symmetric)
        sides = [self.entries if way == "out" else self.entries.T for way in ways]
        rows = [[side[i:j] for side in sides] for i, j in row_blocks(self.samples)]
        return {ways: np.concatenate([reduce(np.multiply, parts) @ weights for parts in rows])}

    def triangle_sums(self, symmetric: bool, row_squares: np.ndarray) -> tuple[float, float]:
        matrix = self.entries
        if symmetric:
            return (_trace_of_cube(matrix),) * 2
        transitive = cyclic = 0.0
        for start, stop in row_blocks(self.samples):
            paths = matrix[start:stop] @ matrix
            transitive += float(frobenius_inner(paths, matrix[start:stop]))
            cyclic += float(frobenius_inner(paths, matrix[:, start:stop].T))
        return transitive, cyclic


def _trace_of_cube(matrix: np.ndarray) -> float:
    r"""Return the trace of the cube of a symmetric matrix, with a third of the work of the full
    square.

    .. math:: \operatorname{tr} \begin{pmatrix} P & Q \\ Q^\top & R \end{pmatrix}^3 =
        \operatorname{tr} P^3 + \operatorname{tr} R^3 + 3 \langle Q Q^\top, P \rangle +
        3 \langle Q^\top Q, R \rangle
    """
    n = len(matrix)
    if n <= MAX_FULL_SQUARE_SAMPLES:
        return float(np.vecdot(matrix @ matrix.T, matrix).sum())
    first, off_block = np.split(matrix[: n // 2], [n // 2], axis=1)
    last = matrix[n // 2 :, n // 2 :]
    cross_sum = np.vecdot(off_block @ off_block.T, first).sum()
    cross_sum += np.vecdot(off_block.T @ off_block, last).sum()
    return _trace_of_cube(first) + _trace_of_cube(last) + 3 * float(cross_sum)


# ---------------------------------------------------------------------------------------- factored


class Factors(NamedTuple):
    """Points P, (n, r), and their ``weight`` w; sides L and R of few columns, (n, k) each, with a
    symmetric L Rᵀ; and a diagonal, (n,), or None for the diagonal of w P Pᵀ + L Rᵀ."""

    points: np.ndarray
    left: np.ndarray
    right: np.ndarray
    diagonal: np.ndarray | None = None
    weight: float = 1.0


class FactoredMatrix(PairMatrix):
    """A symmetric matrix equal to B = w P Pᵀ + L Rᵀ off the diagonal; ``factors`` returns the
    parts.

    ``powers``, if given, returns the sums of squares and the sums of cubes of the entries of every
    row off the diagonal, (2, n).
    """

    def __init__(
        self,
        samples: int,
        factors: Callable[[], Factors],
        powers: Callable[[], np.ndarray] | None = None,
        **numbers: float,
    ) -> None:
        super().__init__(samples, **numbers)
        self.factors, self.powers = cache(factors), powers

    @cached_property
    def product_diagonal(self) -> np.ndarray:
        """The diagonal of B, shape (n,)."""
        points, left, right, _, weight = self.factors()
        return np.asarray(weight * np.vecdot(points, points) + np.vecdot(left, right))

    @cached_property
    def point_gram(self) -> np.ndarray:
        """Pᵀ P, (r, r)."""
        return self.factors().points.T @ self.factors().points

    @cached_property
    def side_products(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pᵀ L and Pᵀ R, (r, k) each, and Rᵀ L, (k, k)."""
        points, left, right, *_ = self.factors()
        return points.T @ left, points.T @ right, right.T @ left

    @cached_property
    def square(self) -> float:
        (p, q, g), w = self.side_products, self.factors().weight
        product = w * w * np.vdot(self.point_gram, self.point_gram)
        product += 2 * w * np.vdot(p, q) + np.vdot(g, g.T)
        return float(product + (self.diagonal() ** 2 - self.product_diagonal**2).sum())

    def diagonal(self) -> np.ndarray:
        diagonal = self.factors().diagonal
        return self.product_diagonal if diagonal is None else diagonal

    def block(self, tile: MatrixBlock) -> np.ndarray:
        points, left, right, _, weight = self.factors()
        block: np.ndarray = points[tile.rows] @ points[tile.columns].T
        if weight != 1:
            block *= weight
        if left.shape[1]:
            block += left[tile.rows] @ right[tile.columns].T
        if tile.has_diagonal:
            diagonal_view(block, tile)[:] = self.diagonal()[tile.rows]
        return block

    def __matmul__(self, columns: np.ndarray) -> np.ndarray:
        points, left, right, _, weight = self.factors()
        rest = self.diagonal() - self.product_diagonal
        products = points @ (weight * (points.T @ columns)) + left @ (right.T @ columns)
        return np.asarray(products + (rest * columns.T).T)

    def row_products(self, other: PairMatrix) -> np.ndarray:
        points, left, right, _, weight = self.factors()
        rest = self.diagonal() - self.product_diagonal
        products = weight * np.vecdot(other @ points, points) + np.vecdot(other @ right, left)
        return np.asarray(products + rest * other.diagonal())

    def rescaled(self, factor: float, off_diagonal: float, on_diagonal: float) -> FactoredMatrix:
        points, left, right, _, weight = self.factors()
        sides = _rescaled_sides(left, right, factor, off_diagonal)
        parts = Factors(points, *sides, self.diagonal() * factor - on_diagonal, weight * factor)
        powers = self.powers and partial(self._rescaled_powers, factor, off_diagonal)
        matrix = FactoredMatrix(self.samples, lambda: parts, powers)
        matrix.point_gram = self.point_gram
        return matrix

    def _rescaled_powers(self, a: float, b: float) -> np.ndarray:
        """Return the sums of squares and the sums of cubes of a A - b over the entries of every row
        off the diagonal, (2, n)."""
        assert self.powers is not None
        sums = self @ np.ones(self.samples) - self.diagonal()
        (squares, cubes), count = self.powers(), self.samples - 1
        return np.array(
            [
                a**2 * squares - 2 * a * b * sums + count * b**2,
                a**3 * cubes - 3 * a**2 * b * squares + 3 * a * b**2 * sums - count * b**3,
            ]
        )

    def edge_products(
        self, ways: Ways, weights: np.ndarray, symmetric: bool
    ) -> dict[Ways, np.ndarray]:
        if self.powers is None:
            return super().edge_products(ways, weights, symmetric)
        squares, cubes = self.powers()
        diagonal = self.diagonal()
        return {("out",) * 2: squares + diagonal**2, ("out",) * 3: cubes + diagonal**3}

    def triangle_sums(self, symmetric: bool, row_squares: np.ndarray) -> tuple[float, float]:
        r"""Return the trace of the cube of :math:`B + D` twice, in O(n r^2) time, for the matrix D
        that differs from 0 on the diagonal alone.

        ``row_squares``: the sums of squares of the rows, (n,). ``symmetric`` is not used.

        .. math:: \operatorname{tr} (B + D)^3 = \operatorname{tr} B^3 + 3 \operatorname{tr} B^2 D +
            3 \operatorname{tr} B D^2 + \operatorname{tr} D^3
        """
        (p, q, g), w, c = self.side_products, self.factors().weight, self.point_gram
        cube = w**3 * _trace_of_cube(c) + 3 * w * w * np.vdot(q, c @ p)
        cube += 3 * w * np.vdot(p.T @ q, g) + np.vdot(g @ g, g.T)
        b, a = self.product_diagonal, self.diagonal()
        d, squared_diagonal = a - b, row_squares - a**2 + b**2
        cube = float(cube + d @ (3 * squared_diagonal + d * (3 * b + d)))
        return cube, cube


def _rescaled_sides(
    left: np.ndarray, right: np.ndarray, factor: float, constant: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sides of ``factor`` L Rᵀ - ``constant`` 1 1ᵀ: (n, k + 1) each. ``left``,
    ``right``: L and R, (n, k)."""
    ones = np.ones(len(left))
    return np.column_stack([factor * left, -constant * ones]), np.column_stack([right, ones])


# ------------------------------------------------------------------------------------------ sparse


class SparseMatrix(PairMatrix):
    """The matrix S + L Rᵀ of a sparse matrix S and a few columns L and R, (n, r): for example S
    plus a constant, or S with centred rows."""

    def __init__(
        self,
        sparse: csr_array,
        left: np.ndarray | None = None,
        right: np.ndarray | None = None,
        **numbers: float,
    ) -> None:
        super().__init__(int(sparse.shape[0]), **numbers)
        self.sparse, no_columns = sparse, np.empty((self.samples, 0))
        self.left = no_columns if left is None else left
        self.right = no_columns if right is None else right

    @cached_property
    def square(self) -> float:
        left, right, entries = self.left, self.right, self.sparse.data
        terms = 2 * np.vdot(left, self.sparse @ right) + np.vdot(left.T @ left, right.T @ right)
        return float(entries @ entries + terms)

    def transposed(self) -> SparseMatrix:
        """Return the transpose, a new matrix."""
        return SparseMatrix(self.sparse.T.tocsr(), self.right, self.left)

    def block(self, tile: MatrixBlock) -> np.ndarray:
        sparse = self.sparse[tile.rows, tile.columns].toarray()
        return np.asarray(sparse + self.left[tile.rows] @ self.right[tile.columns].T)

    def diagonal(self) -> np.ndarray:
        return np.asarray(self.sparse.diagonal() + np.vecdot(self.left, self.right))

    def __matmul__(self, columns: np.ndarray) -> np.ndarray:
        return np.asarray(self.sparse @ columns + self.left @ (self.right.T @ columns))

    def rescaled(self, factor: float, off_diagonal: float, on_diagonal: float) -> SparseMatrix:
        from scipy.sparse import eye_array

        sparse = self.sparse * factor + eye_array(self.samples) * (off_diagonal - on_diagonal)
        sides = _rescaled_sides(self.left, self.right, factor, off_diagonal)
        return SparseMatrix(sparse.tocsr(), *sides)

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Rows i and columns j of the nonzero entries of S and Sᵀ, (m,) each; and, for "out" and
        "in", the entries ij of A, and of L Rᵀ, or of their transposes."""
        n, entries = self.samples, self.sparse.tocoo()
        rows, columns = (side.astype(np.int64) for side in entries.coords)
        places = np.concatenate([rows * n + columns, columns * n + rows])
        places, inverse = np.unique(places, return_inverse=True)
        i, j = places // n, places % n
        values = [np.bincount(part, entries.data, len(i)) for part in np.split(inverse, 2)]
        terms = {
            "out": np.vecdot(self.left[i], self.right[j]),
            "in": np.vecdot(self.right[i], self.left[j]),
        }
        return i, j, {way: s + terms[way] for way, s in zip(terms, values)}, terms

    def edge_products(
        self, ways: Ways, weights: np.ndarray, symmetric: bool
    ) -> dict[Ways, np.ndarray]:
        i, j, of_a, of_terms = self._pairs
        values = math.prod(of_a[way] for way in ways) - math.prod(of_terms[way] for way in ways)
        products = np.bincount(i, values * weights[j], self.samples)
        sides = {"out": (self.left, self.right), "in": (self.right, self.left)}
        # An entrywise product of matrices L Rᵀ is such a matrix, too, of products of columns.
        left, right = (reduce(_column_products, side) for side in zip(*map(sides.get, ways)))
        return {ways: products + left @ (right.T @ weights)}

    def triangle_sums(self, symmetric: bool, row_squares: np.ndarray) -> tuple[float, float]:
        sparse, left, right = self.sparse, self.left, self.right
        paths, beginnings = sparse @ sparse, sparse @ left + left @ (right.T @ left)
        ends = sparse.T @ right  # A² = S² + beginnings Rᵀ + L endsᵀ

        def inner(b: SparseMatrix) -> float:
            """Return <A², B> for the matrix ``b`` = B."""
            terms = np.vdot(b.left, sparse @ (sparse @ b.right)) + np.vdot(beginnings, b @ right)
            return float(paths.multiply(b.sparse).sum() + terms + np.vdot(left, b @ ends))

        return inner(self), inner(self.transposed())


def _column_products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the products, entry by entry, of every column of ``a`` (n, r) and every column of
    ``b`` (n, s): (n, r s)."""
    return (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)
