"""Views of the distances between samples, always in unit size: multiply by ``size(x)`` for the
actual ones.

They are built in blocks of rows of a fixed height, so that besides the result only one block is in
memory, and the numbers do not depend on how much memory there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..arrays import Array, device, epsilon, inner, namespace, root, scalar, stacked
from ..representation import Representation, Undefined, title, view
from ..significance import average_ranks
from .points import preshape, standardized_rows, unit_rows

# height of a block; a property of the algorithm, not a tuning option: changing it changes rounding
ROWS = 256
GATHERED = 2**17  # numbers gathered at a time, so that they stay in the processor's cache


def row_blocks(n: int, height: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of consecutive blocks of ``height`` rows, by default ``ROWS``."""
    height = ROWS if height is None else height
    return ((start, min(start + height, n)) for start in range(0, n, height))


def gathered_blocks(n: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of consecutive blocks of rows, where each row gathers ``width``
    numbers."""
    return row_blocks(n, max(1, GATHERED // width))


def squared_distance_blocks(points: Array) -> Iterator[Array]:
    """Yield the squared Euclidean distances of each block of rows to all rows.

    Distances below the rounding error of the products they are computed from are set to zero, so a
    row and its duplicate are at distance 0, not 1e-8.
    """
    squares = squared_lengths(points)
    return (squared_distance_block(points, squares, i, j) for i, j in row_blocks(points.shape[0]))


def squared_lengths(points: Array) -> Array:
    """Squared Euclidean length of every row, shape (n,)."""
    return namespace(points).sum(points * points, axis=1)


def squared_distance_block(points: Array, squares: Array, start: int, stop: int) -> Array:
    """The block of :func:`squared_distance_blocks` of rows start..stop.

    ``squares`` are the :func:`squared_lengths` of all rows.
    """
    xp = namespace(points)
    both = squares[start:stop, None] + squares[None, :]
    block = both - 2 * (points[start:stop, :] @ xp.matrix_transpose(points))
    # NaN stays NaN.
    return xp.where(block <= 4 * epsilon(points) * both, xp.zeros_like(block), block)


def distance_matrix(points: Array) -> Array:
    """Euclidean distances between all rows, shape (n, n)."""
    xp, n = namespace(points), points.shape[0]
    blocks = map(root, squared_distance_blocks(points))
    return stacked(blocks, xp.empty((n, n), dtype=points.dtype, device=device(points)))


@view
def distances(x: Representation) -> Array:
    """Euclidean distances between the samples of the pre-shape, shape (n, n)."""
    return distance_matrix(preshape(x))


@view
def double_centered_distances(x: Representation) -> Array:
    """Distances minus their row and column means plus their mean, shape (n, n)."""
    return double_centered(distance_matrix(preshape(x)))


def double_centered(a: Array) -> Array:
    """A symmetric matrix minus its row and column means plus their mean, in its place where its
    library can."""
    xp = namespace(a)
    means = xp.mean(a, axis=0)
    rest = (means - xp.mean(means))[None, :]
    return stacked((a[i:j, :] - means[i:j, None] - rest for i, j in row_blocks(a.shape[0])), a)


@view
def distance_deviation(x: Representation) -> Array:
    """Frobenius norm of the double-centred distances (n times the distance standard deviation)."""
    a = double_centered_distances(x)
    return inner(a, a) ** 0.5


@view
def distance_norm(x: Representation) -> Array:
    """Frobenius norm of the distance matrix."""
    a = distances(x)
    return inner(a, a) ** 0.5


# ---------------------------------------------------------- representational dissimilarity matrices


def rdm(x: Representation, kind: str) -> Array:
    """Upper triangle of the dissimilarities between samples, shape (n (n - 1) / 2,).

    ``kind``: "correlation" (1 - Pearson correlation over features), "cosine" (1 - cosine),
    "euclidean", "sqeuclidean". A row without direction (zero, or constant for "correlation") has
    dissimilarity 1 to all others.
    """
    rows, n = _dissimilarity(x, kind), x.shape[0]
    index = x.xp.arange(n, device=device(x.array))
    above = (rows(i, j)[index[None, :] > index[i:j, None]] for i, j in row_blocks(n))
    return stacked(above, x.xp.empty(n * (n - 1) // 2, dtype=x.array.dtype, device=device(x.array)))


@view
def rdm_vector(x: Representation, kind: str, compare: str) -> Array:
    """The RDM made ready to be compared by an inner product.

    ``compare``: "pearson" (centred, unit norm), "spearman" (likewise, from its average ranks),
    "cosine" (unit norm), "kendall" (average ranks). Raises ``Undefined`` when all dissimilarities
    are equal.
    """
    vector = rdm(x, kind)
    low, high = scalar(x.xp.min(vector)), scalar(x.xp.max(vector))
    if high - low <= 16 * epsilon(vector):
        raise Undefined(
            f"all {kind} dissimilarities between samples of {title(x)} are equal: nothing to "
            "correlate"
        )
    if compare in ("spearman", "kendall"):
        # Rounding must not order equal dissimilarities, nor (in single precision) tie all that are
        # close together.
        vector = average_ranks(
            vector, min(16 * epsilon(vector) * high, 1e-3 * (high - low) / vector.shape[0])
        )
    if compare == "kendall":
        return vector
    if compare != "cosine":
        vector = vector - x.xp.mean(vector)
    return vector / inner(vector, vector) ** 0.5


def _dissimilarity(x: Representation, kind: str) -> Callable[[int, int], Array]:
    """Return the function that gives rows start..stop of the dissimilarity matrix."""
    if kind in ("sqeuclidean", "euclidean"):
        points, form = preshape(x), root if kind == "euclidean" else lambda block: block
        squares = squared_lengths(points)
        return lambda start, stop: form(squared_distance_block(points, squares, start, stop))
    rows = unit_rows(x) if kind == "cosine" else standardized_rows(x)
    return lambda start, stop: 1 - rows[start:stop, :] @ x.xp.matrix_transpose(rows)
