"""The sums of a stream: products of the columns of layers, as sums or as a triangular factor.

Row i of a layer enters as z_i = (1, x_i - a, |x_i - a|²) with a shift a, the mean of the first rows
of the layer. Sums and triangular factor give the same :class:`LayerMoments`. The linear map that
changes the shift merges two streams.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from ..base.arrays import Array, as_array_like, device, is_torch, namespace, to_numpy

SUM_EPSILON = float(np.finfo(np.float64).eps)
# Per column: a smaller share of a variance is a rounding error.
MIN_VARIANCE_SHARE = 4 * SUM_EPSILON
MIN_CUT_COLUMNS = 64  # smallest number of columns assumed for the tolerance

LayerPair = tuple[int, int]


class LayerMoments(NamedTuple):
    """Moments of layers of a stream.

    ``means``: the mean of each layer, (d,). ``factors``: a matrix (D, d) for each layer, with the
    same inner products, within and between layers, as the centred columns. ``squares``: for two
    layers, the sum over samples of the products of the squared lengths of the centred rows,
    (layers, layers).
    """

    means: tuple[np.ndarray, ...]
    factors: tuple[np.ndarray, ...]
    squares: np.ndarray


class ShiftedSums(ABC):
    """Sums over the rows of layers, after subtracting the shift of the layer from every row."""

    power: int  # whitening magnifies rounding by the condition number to this power

    def __init__(self, widths: Sequence[int]) -> None:
        self._widths = tuple(widths)
        self._shifts: tuple[np.ndarray, ...] = ()  # empty before the first rows

    def add(self, rows: Sequence[Array]) -> None:
        """Add rows (n, d) of every layer to the sums. The first rows determine the shifts."""
        self._shifts = self._shifts or tuple(map(_shift_from_first_rows, rows))
        self._add(
            [
                _augmented_rows(block, as_array_like(a, block))
                for block, a in zip(rows, self._shifts)
            ]
        )

    def merge(self, other: Self, orders: Sequence[np.ndarray]) -> None:
        """Add the sums of another stream, after changing to the shifts of this stream; ``other``
        stays unchanged.

        ``orders``: for each layer, the columns of the other stream in the order of this stream, as
        positions.
        """
        if other._shifts:
            shifts = tuple(shift[order] for shift, order in zip(other._shifts, orders))
            self._shifts = self._shifts or shifts
            transforms = zip(self._shifts, shifts, orders)
            self._merge(
                other,
                [_shift_matrix(b - a) @ _column_order_matrix(order) for a, b, order in transforms],
            )

    def moments(self, layers: Sequence[int], n: int) -> LayerMoments:
        """Return the moments of the layers at positions ``layers`` over n samples; the sums must
        contain every pair of the layers."""
        moments = self._moments(layers, n)
        means = (self._shifts[i] + mean for i, mean in zip(layers, moments.means))
        return moments._replace(means=tuple(means))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays by name; empty before the first rows."""
        shifts = {f"shift.{i}": shift for i, shift in enumerate(self._shifts)}
        return shifts | self._arrays() if shifts else {}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Set the state from the arrays of :meth:`arrays`, in place; ``ValueError`` for a missing
        or damaged array."""
        self._restore(arrays)
        shapes = [(f"shift.{i}", (width,)) for i, width in enumerate(self._widths)]
        self._shifts = tuple(require_finite_array(arrays, name, shape) for name, shape in shapes)

    @abstractmethod
    def _add(self, rows: Sequence[Array]) -> None:
        """Add augmented rows (1, x - a, |x - a|²), (n, d + 2), of every layer."""

    @abstractmethod
    def _merge(self, other: Self, maps: Sequence[np.ndarray]) -> None:
        """Add the sums of another stream; ``maps``: for each layer a matrix (d + 2, d + 2) that
        maps an augmented row to the columns and the shift of this stream."""

    @abstractmethod
    def _moments(self, layers: Sequence[int], n: int) -> LayerMoments: ...
    @abstractmethod
    def _arrays(self) -> dict[str, np.ndarray]: ...
    @abstractmethod
    def _restore(self, arrays: Mapping[str, np.ndarray]) -> None: ...


class ProductSums(ShiftedSums):
    """Sums of the products of all columns, for chosen pairs of layers, compensated for rounding."""

    power = 2

    def __init__(self, widths: Sequence[int], pairs: Sequence[LayerPair], location: Array) -> None:
        super().__init__(widths)
        self._sums: dict[LayerPair, tuple[Array, Array]] = {}
        for i, j in pairs:
            zeros = np.zeros((2, widths[i] + 2, widths[j] + 2))
            self._sums[i, j] = (
                as_array_like(zeros[0], location),
                as_array_like(zeros[1], location),
            )

    def _add(self, rows: Sequence[Array]) -> None:
        self._sums = dict(self._sums)  # a copy of this object keeps the old sums
        for (i, j), (total, error) in self._sums.items():
            product = namespace(total).matrix_transpose(rows[i]) @ rows[j]
            self._sums[i, j] = _two_sum(total, error, product)

    def _merge(self, other: ProductSums, maps: Sequence[np.ndarray]) -> None:
        for (i, j), (total, error) in self._sums.items():
            left, right = as_array_like(maps[i], total), as_array_like(maps[j], total)
            xp = namespace(total)
            for block in other._sums[i, j]:
                product = left @ as_array_like(to_numpy(block), total) @ xp.matrix_transpose(right)
                total, error = _two_sum(total, error, product)
            self._sums[i, j] = total, error

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays: dict[str, np.ndarray] = {}
        for (i, j), (total, error) in self._sums.items():
            arrays |= {f"{i}.{j}.total": to_numpy(total), f"{i}.{j}.lost": to_numpy(error)}
        return arrays

    def _restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        for (i, j), (total, error) in self._sums.items():
            names = (f"{i}.{j}.total", f"{i}.{j}.lost")
            blocks = [require_finite_array(arrays, name, tuple(total.shape)) for name in names]
            self._sums[i, j] = (as_array_like(blocks[0], total), as_array_like(blocks[1], error))

    def _moments(self, layers: Sequence[int], n: int) -> LayerMoments:
        blocks = {(i, j): self._block(i, j) for i in layers for j in layers}
        means = [blocks[i, i][0, 1:-1] / n for i in layers]
        rows = []
        for i, mean in zip(layers, means):
            row = ((blocks[i, j][1:-1, 1:-1], np.outer(mean, m)) for j, m in zip(layers, means))
            rows.append([block - n * mean_product for block, mean_product in row])
        products = np.block(rows)
        raw_squares = np.concatenate([np.diag(blocks[i, i])[1:-1] for i in layers])
        widths = np.cumsum([len(mean) for mean in means])[:-1]
        factors = np.split(_cholesky_root(products, raw_squares), widths, axis=1)
        ends = list(map(_squared_length_functional, means))
        squares = [
            [a @ blocks[i, j] @ b for j, b in zip(layers, ends)] for i, a in zip(layers, ends)
        ]
        return LayerMoments(tuple(means), tuple(factors), np.array(squares))

    def _block(self, i: int, j: int) -> np.ndarray:
        is_stored = (i, j) in self._sums
        total, error = self._sums[(i, j) if is_stored else (j, i)]
        block = to_numpy(total + error)
        return block if is_stored else block.T


class TriangularFactor(ShiftedSums):
    """The triangular factor R of all columns, R'R = the products of all columns.

    R keeps twice as many digits as the products.
    """

    power = 1

    def __init__(self, widths: Sequence[int], pairs: Sequence[LayerPair], location: Array) -> None:
        super().__init__(widths)
        ends = np.cumsum([1, *widths])
        self._ranges = [range(a, b) for a, b in pairwise(ends)]
        self._size = int(ends[-1]) + len(widths)
        self._factor: Array = as_array_like(np.zeros((0, self._size)), location)

    def columns(self, layer: int) -> np.ndarray:
        """Return the positions, in the factor, of the columns (1, x - a, |x - a|²) of a layer, (d
        + 2,)."""
        squares = self._size - len(self._widths) + layer
        return np.array([0, *self._ranges[layer], squares])

    def _add(self, rows: Sequence[Array]) -> None:
        xp = namespace(self._factor)
        points = [block[:, 1:-1] for block in rows]
        squares = [block[:, -1:] for block in rows]
        augmented = xp.concat([rows[0][:, :1], *points, *squares], axis=1)
        self._factor = _triangular_factor(xp.concat([self._factor, augmented], axis=0))

    def _merge(self, other: TriangularFactor, maps: Sequence[np.ndarray]) -> None:
        factor = to_numpy(other._factor).copy()
        shifted = factor.copy()
        for layer, shift_matrix in enumerate(maps):
            columns = self.columns(layer)
            shifted[:, columns] = factor[:, columns] @ shift_matrix.T
        added = as_array_like(shifted, self._factor)
        self._factor = _triangular_factor(namespace(added).concat([self._factor, added], axis=0))

    def _arrays(self) -> dict[str, np.ndarray]:
        return {"factor": to_numpy(self._factor)}

    def _restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        height = min(len(arrays.get("factor", ())), self._size)
        self._factor = as_array_like(
            require_finite_array(arrays, "factor", (height, self._size)), self._factor
        )

    def _moments(self, layers: Sequence[int], n: int) -> LayerMoments:
        stored_factor = to_numpy(self._factor)
        factor = np.zeros((self._size, self._size))
        factor[: len(stored_factor)] = stored_factor
        blocks = [factor[:, self.columns(layer)] for layer in layers]
        means = [block[0, 1:-1] / factor[0, 0] for block in blocks]
        n_used = 1 + sum(self._widths)  # the remaining rows hold only the columns of squares
        ends = zip(blocks, map(_squared_length_functional, means))
        squares = np.stack([block @ row for block, row in ends])
        points = tuple(block[1:n_used, 1:-1] for block in blocks)
        return LayerMoments(tuple(means), points, squares @ squares.T)


def _shift_from_first_rows(rows: Array) -> np.ndarray:
    """Return the mean of the rows, (d,), in NumPy; for a constant column, the mean is exactly the
    constant."""
    first_row = rows[:1]
    return to_numpy(first_row[0] + namespace(rows).mean(rows - first_row, axis=0))


def _augmented_rows(rows: Array, shift: Array) -> Array:
    """Return (1, x - shift, |x - shift|²) for every row x of ``rows`` (n, d), shape (n, d + 2)."""
    xp, points = namespace(rows), rows - shift
    ones = xp.ones((rows.shape[0], 1), dtype=points.dtype, device=device(points))
    return xp.concat([ones, points, xp.sum(points**2, axis=1, keepdims=True)], axis=1)


def _shift_matrix(shift: np.ndarray) -> np.ndarray:
    """Return the matrix (d + 2, d + 2) that maps (1, z, |z|²) to (1, z + shift, |z + shift|²)."""
    change = np.eye(len(shift) + 2)
    change[1:-1, 0] = shift
    change[-1, 1:-1] = 2 * shift
    change[-1, 0] = shift @ shift
    return change


def _column_order_matrix(order: np.ndarray) -> np.ndarray:
    """Return the permutation matrix P (d + 2, d + 2) with P (1, z, |z|²) = (1, z[order], |z|²)."""
    return np.eye(len(order) + 2)[np.concatenate([[0], order + 1, [len(order) + 1]])]


def _squared_length_functional(mean: np.ndarray) -> np.ndarray:
    """Return the vector v, (d + 2,), with v · (1, z, |z|²) = |z - mean|² for all z."""
    return np.array([mean @ mean, *(-2 * mean), 1.0])


def _two_sum(total: Array, error: Array, addend: Array) -> tuple[Array, Array]:
    """Return ``total`` + ``addend``, and ``error`` plus the rounding error of the addition
    (Knuth's two-sum)."""
    new_total = total + addend
    difference = new_total - total
    return new_total, error + ((total - (new_total - difference)) + (addend - difference))


def _cholesky_root(products: np.ndarray, raw_squares: np.ndarray) -> np.ndarray:
    """Return a matrix F (D, D) with F' F = ``products``, by pivoted Cholesky on columns of size 1.

    A column is constant if its variance is within rounding of its sum of squares, ``raw_squares``,
    (D,). The function overwrites ``products``.
    """
    from scipy.linalg.lapack import dpstrf

    variances = np.diag(products).copy()
    # Some products lose hundreds of EPSILON if all squares of a block are equal
    is_varying = variances > 512 * SUM_EPSILON * raw_squares
    scale = np.sqrt(np.where(is_varying, variances, 1.0))
    products *= (is_varying / scale)[:, None]  # in place, because products may take gigabytes
    products *= is_varying / scale
    tolerance = MIN_VARIANCE_SHARE * max(MIN_CUT_COLUMNS, len(products))
    upper, pivots, rank, _ = dpstrf(products.T, tol=tolerance, overwrite_a=True)
    upper[rank:] = 0
    factor = np.empty_like(upper)
    factor[:, pivots - 1] = np.triu(upper)
    factor *= scale
    return np.asarray(factor)


def _triangular_factor(rows: Array) -> Array:
    if is_torch(rows):
        return namespace(rows).linalg.qr(rows, mode="r")[1]
    return np.linalg.qr(rows, mode="r")


def require_finite_array(
    arrays: Mapping[str, np.ndarray], name: str, shape: tuple[int, ...]
) -> np.ndarray:
    """Return the float64 array called ``name`` from ``arrays``.

    Raises ``ValueError`` if the array is missing, has another shape or dtype than float64, or is
    not finite.
    """
    array: Any = arrays.get(name)
    if array is None or array.shape != shape or array.dtype != np.float64:
        raise ValueError(f"the entry {name!r} is missing or of another shape than {shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"the entry {name!r} holds NaN or infinite values")
    return np.asarray(array)
