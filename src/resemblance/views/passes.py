"""Views for many samples: what passes over all pairs leave of a representation, a number for each
sample or less."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..arrays import Array, epsilon, like, namespace, scalar, to_numpy
from ..representation import Representation, Undefined, title, view
from .distances import need_different
from .points import preshape
from .rectangles import (
    Deviations,
    Entries,
    Rectangle,
    all_rectangles,
    diagonal_of,
    dissimilar_points,
    dissimilarities_of,
    distances_of,
    rectangles,
    squared_distances_of,
    squared_lengths,
)

if TYPE_CHECKING:
    from .grams import GramKernel, Pairs

COLLECTED = 2**22  # values that are sorted to select among them
PARTS = 2**16  # of an interval; those with the values that are looked for are looked into

# -------------------------------------------------------------------- symmetric matrices, centred


class Margins(NamedTuple):
    """What double-centring takes from a symmetric matrix: the means of its rows, shape (n,), their
    mean; and the squared Frobenius norm that it leaves."""

    means: np.ndarray
    mean: float
    energy: float


def margins_of(entries: Entries, n: int) -> Margins:
    r"""Return the margins of a symmetric matrix, from one pass.

    .. math:: \lVert H D H \rVert^2 = \sum_{ij} (d_{ij} - \bar{d})^2 - 2 n \sum_i (\bar{d}_i -
        \bar{d})^2
    """
    sums, deviations = np.zeros(n), Deviations()
    for at in rectangles(n):
        block = entries(at)
        xp = namespace(block)
        sums[at.rows] += to_numpy(xp.sum(block, axis=1))
        if not at.is_square:
            sums[at.columns] += to_numpy(xp.sum(block, axis=0))
        deviations.add(block, at.weight)
    means, mean = sums / n, deviations.mean
    rest = 2 * n * float(np.sum((means - mean) ** 2))
    return Margins(means, mean, max(0.0, deviations.squares - rest))


def double_centred(entries: Entries, margins: Margins, of: Array) -> Entries:
    """The entries of a symmetric matrix without the means of its rows and columns, in the library
    of the points ``of``."""
    means = like(margins.means, of)

    def centred(at: Rectangle) -> Array:
        block = entries(at)
        block -= means[at.rows, None]
        block -= (means[at.columns] - margins.mean)[None, :]
        return block

    return centred


@view
def distance_margins(x: Representation) -> Margins:
    """Margins of the distances between the samples of the pre-shape."""
    return margins_of(distances_of(preshape(x)), x.shape[0])


def centred_distance_entries(x: Representation) -> Entries:
    """Entries of the double-centred distances between the samples of the pre-shape."""
    points = preshape(x)
    return double_centred(distances_of(points), distance_margins(x), points)


# ----------------------------------------------------------------------------------------- medians


def numbers_of(entries: Entries, n: int) -> Callable[[], Iterator[np.ndarray]]:
    """Return a function that yields what is above the diagonal of a symmetric matrix, in vectors
    (leaves the array API)."""

    def numbers() -> Iterator[np.ndarray]:
        for at in rectangles(n):
            block = to_numpy(entries(at))
            yield block[np.triu_indices(len(block), 1)] if at.is_square else block.reshape(-1)

    return numbers


def numbers_between(entries: Entries, n: int, m: int) -> Callable[[], Iterator[np.ndarray]]:
    """Return a function that yields the entries of an (n, m) matrix, in vectors."""
    return lambda: (to_numpy(entries(at)).reshape(-1) for at in all_rectangles(n, m))


def at_places(
    numbers: Callable[[], Iterator[np.ndarray]], count: int, places: tuple[int, int], top: float
) -> np.ndarray:
    """Return what is at two neighbouring places, from 0, of so many sorted numbers in 0 to ``top``.

    Each pass narrows the interval that they are in, until few enough are in it, or all in it are
    equal but for rounding. Memory of ``COLLECTED`` numbers.
    """
    low, high, inside = 0.0, top, count
    while inside > COLLECTED:
        low, high, inside = _narrowed(numbers, places, low, high)
        if high - low <= 4 * np.finfo(float).eps * top:
            break
    below, chosen = 0, []
    for block in numbers():
        below += int(np.count_nonzero(block < low))
        part = block[(block >= low) & (block <= high)]
        chosen.append(part if inside <= COLLECTED else part.min(keepdims=True, initial=np.inf))
    values = np.concatenate(chosen)
    if inside > COLLECTED:
        return np.full(2, values.min())
    return np.partition(values, [p - below for p in places])[[p - below for p in places]]


def _narrowed(
    numbers: Callable[[], Iterator[np.ndarray]], places: tuple[int, int], low: float, high: float
) -> tuple[float, float, int]:
    """Return a smaller interval with what is at these places, and how many numbers are in it."""
    counts, below, scale = np.zeros(PARTS, dtype=np.int64), 0, PARTS / (high - low)
    for block in numbers():
        below += int(np.count_nonzero(block < low))
        at = block[(block >= low) & (block <= high)].astype(np.float64, copy=False)
        at -= low
        at *= scale
        counts += np.bincount(np.minimum(at.astype(np.int64), PARTS - 1), minlength=PARTS)
    ends = below + np.cumsum(counts)
    first, last = (int(np.searchsorted(ends, p, side="right")) for p in places)
    slack = 1e-6 / scale + 2 * float(np.spacing(high))  # so that rounding loses none at the ends
    inside = int(counts[max(first - 1, 0) : last + 2].sum())
    return (
        max(low, low + first / scale - slack),
        min(high, low + (last + 1) / scale + slack),
        inside,
    )


@view
def middle_distance(x: Representation, pairs: Pairs) -> float:
    """The median of :func:`~.grams.median_distance`, selected in a few passes."""
    points, n = preshape(x), x.shape[0]
    count = n * (n - 1) // 2
    places = (count - 1) // 2, count // 2
    if pairs == "all":  # n zeros come first, then every distance twice
        places = max(((n * n - 1) // 2 - n) // 2, -1), max((n * n // 2 - n) // 2, -1)
    top = 4 * scalar(x.xp.max(squared_lengths(points))) + np.finfo(float).tiny
    numbers = numbers_of(squared_distances_of(points), n)
    squares = at_places(numbers, count, (max(places[0], 0), max(places[1], 0)), top)
    values = [0.0 if place < 0 else math.sqrt(s) for place, s in zip(places, squares)]
    return sum(values) / 2


# --------------------------------------------------------------------------------- kernel matrices


def kernel_entries(x: Representation, kernel: GramKernel, median: Array) -> Entries:
    """Entries of the kernel matrix of :func:`~.grams.distance_gram`, not centred."""
    sigma = kernel.bandwidth * median
    if scalar(sigma) == 0:
        raise Undefined(
            f"the median distance between samples of {title(x)} is zero, so the kernel has no width"
        )
    points, xp = preshape(x), x.xp
    if kernel.name == "laplace":
        distances = distances_of(points)
        return lambda at: xp.exp(distances(at) / -sigma)
    squares = squared_distances_of(points)
    return lambda at: xp.exp(squares(at) / (-2 * sigma**2))


@view
def kernel_margins(x: Representation, kernel: GramKernel) -> Margins:
    """Margins of the kernel matrix."""
    return margins_of(_entries(x, kernel), x.shape[0])


def _entries(x: Representation, kernel: GramKernel) -> Entries:
    return kernel_entries(x, kernel, middle_distance(x, kernel.pairs))


def centred_kernel(x: Representation, kernel: GramKernel) -> Entries:
    """Entries of the double-centred kernel matrix."""
    return double_centred(_entries(x, kernel), kernel_margins(x, kernel), preshape(x))


def kernel_diagonal(x: Representation, kernel: GramKernel) -> Array:
    """Diagonal of the double-centred kernel matrix, shape (n,)."""
    margins = kernel_margins(x, kernel)
    return like(1 - 2 * margins.means + margins.mean, x.array)


# --------------------------------------------------------------------------------- dissimilarities


class Spread(NamedTuple):
    """Ends, mean, and summed squared deviations from it, of the dissimilarities of all ordered
    pairs of different samples."""

    low: float
    high: float
    mean: float
    squares: float


@view
def dissimilarity_spread(x: Representation, kind: str) -> Spread:
    """Spread of the dissimilarities of a kind; ``Undefined`` when all of them are equal."""
    points, deviations = dissimilar_points(x, kind), Deviations()
    entries = dissimilarities_of(points, kind)
    for at in rectangles(x.shape[0]):
        block = entries(at)
        if not at.is_square:
            deviations.add(block, 2)
        elif block.shape[0] > 1:
            deviations.add(block[~diagonal_of(block)], 1)
    need_different(x, kind, deviations.low, deviations.high, epsilon(points))
    return Spread(deviations.low, deviations.high, deviations.mean, deviations.squares)
