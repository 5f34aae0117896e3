"""Which nearest neighbours a change loses: some samples are looked up among all, in blocks, so that
a memory-mapped file is never in memory as a whole.

Neighbours are the k other samples at the smallest Euclidean distance. One that is found is right if
it is at most as far, in the version that decides, as the k-th nearest there: so ties are no losses,
however a search orders them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from ..base.arrays import to_numpy
from ..base.exceptions import UndefinedError
from ..base.rng import generator
from ..data.representation import Representation, representation_title
from .maps import AffineMap

MAX_LOOKED_UP_SAMPLES, MIN_LOOKED_UP_SAMPLES = (
    500,
    200,
)  # samples looked up: many, unless each is compared with a lot of numbers
MAX_SEARCH_PRODUCTS = 5 * 10**10  # products for one search of all that are looked up
MAX_NOISE_DRAWS = 20  # versions with noise, for thresholds
# Products of lengths may be so many times a squared distance that is computed from them: of its 16
# digits 10 are left.
MAX_CANCELLATION_RATIO = 2.0**20
MAX_POINT_LENGTH = 2.0**300  # length of a point in units of the rows; one beyond is brought nearer
SAFE_SIZE_RANGE = 2.0**-300, 2.0**300  # sizes whose squares keep their digits
# Distances are equal that differ by less than so many times the rounding of the vectors, and than
# this share of them.
TIE_ROUNDING_FACTOR, TIE_DISTANCE_TOLERANCE = 16, 1e-9
SAME_PLACE_RADIUS, MIN_PERMUTED_SHARE = (
    0.1,
    0.95,
)  # of the distance to the k-th neighbour; of the samples
POINTS_PER_PRODUCT = 500  # compared with a block at a time
MAX_BLOCK_VALUES, MAX_BLOCK_ROWS = (
    2**22,
    2**13,
)  # in a block, at most: 32 MB in double precision; and rows

RowBlocks = Iterable[tuple[int, np.ndarray]]
RowLookup = Callable[[np.ndarray], np.ndarray]


class Rows(NamedTuple):
    """The rows of a version as given, on disk if they are there, and how they count: in which
    precision, unit, and width."""

    source: np.ndarray
    precision: str
    unit: float
    width: int

    def take(self, indices: np.ndarray) -> np.ndarray:
        """These rows, shape (..., width) for indices of any shape."""
        return self._counted(self.source[indices.ravel()]).reshape(*indices.shape, self.width)

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the index of the first row and the rows of one block after the other."""
        height = max(1, min(MAX_BLOCK_ROWS, MAX_BLOCK_VALUES // self.source.shape[1]))
        for start in range(0, len(self.source), height):
            yield start, self.part(start, start + height)

    def part(self, start: int, stop: int) -> np.ndarray:
        """Rows that follow each other."""
        return self._counted(self.source[start:stop])

    def _counted(self, rows: np.ndarray) -> np.ndarray:
        rows = np.asarray(rows).astype(self.precision, copy=False).astype(np.float64, copy=False)
        n_missing = self.width - rows.shape[1]
        return (np.pad(rows, [(0, 0), (0, n_missing)]) if n_missing else rows) / self.unit


class PairedSample(NamedTuple):
    """The samples in use, of both versions in one unit and width, with their rows; all rows of both
    versions, and their classes."""

    x: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None
    rows: np.ndarray
    queries: np.ndarray
    k: int
    all: tuple[Rows, Rows]
    is_reduced: bool  # to fewer dimensions than there are

    @property
    def widths(self) -> tuple[int, int]:
        """How many columns the versions have."""
        before, after = self.all
        return before.source.shape[1], after.source.shape[1]

    @property
    def classes(self) -> np.ndarray | None:
        """The classes of the samples in use."""
        return None if self.groups is None else self.groups[self.rows]


def same_rows(x: Rows, y: Rows) -> bool:
    """Whether both hold exactly the same rows, as often as each other, in whatever order."""
    return x.source.shape == y.source.shape and _row_digest_sum(x) == _row_digest_sum(y)


def _row_digest_sum(rows: Rows) -> int:
    """The sum of the digests of all rows, the same in any order."""
    return sum(
        int.from_bytes(blake2b(row.tobytes(), digest_size=32).digest(), "big")
        for _, block in rows._replace(unit=1.0).blocks()
        for row in block + 0.0
    )


def version_rows(x: Representation) -> Rows:
    """Return the rows of a representation; raise :class:`UndefinedError`, naming the first row with
    a NaN or an infinite value."""
    rows = Rows(to_numpy(x.source), x.dtype, 1.0, x.shape[1])
    for start, block in rows.blocks():
        if not (np.isfinite(block.min()) and np.isfinite(block.max())):
            row, column = (int(i) for i in np.argwhere(~np.isfinite(block))[0])
            location = f"the first at row {start + row}, column {column}"
            raise UndefinedError(
                f"{representation_title(x)} has NaN or infinite values, {location}; leave those "
                "samples out or fill them in"
            )
    return rows


class NeighborLosses(NamedTuple):
    """Shares of the k nearest neighbours lost, one per sample that was looked up, and what noise
    makes of the same."""

    old_index: np.ndarray | None  # of new rows among old ones; None if the widths differ
    reembedded: np.ndarray  # of new rows among new ones
    # of new rows among old ones that went through the map, against new ones among new ones
    mapped: np.ndarray
    noise_old_index: np.ndarray
    noise_reembedded: np.ndarray
    among: int
    mapped_among: int
    # share of the samples that are where another one was: 0 unless nearly all are where one was
    moved: float


def choose_queries(n_used: int, n: int, d: int, seed: int) -> np.ndarray:
    """Positions, among the samples used, of those that are looked up."""
    count = min(
        n_used,
        max(MIN_LOOKED_UP_SAMPLES, min(MAX_LOOKED_UP_SAMPLES, MAX_SEARCH_PRODUCTS // (n * d))),
    )
    return np.sort(generator(seed, "queries", n_used).permutation(n_used)[:count])


def affordable_noise_draws(n_resamples: int, queries: int, n: int, d: int) -> int:
    """How many versions with noise are affordable, at least one."""
    return max(1, min(n_resamples, MAX_NOISE_DRAWS, MAX_SEARCH_PRODUCTS // (5 * queries * n * d)))


def column_medians(rows: np.ndarray) -> np.ndarray:
    """A centre for :func:`find_nearest_rows`: the median of each column, which no far row moves."""
    return np.asarray(np.median(rows, axis=0))


def find_nearest_rows(
    points: np.ndarray, own_rows: np.ndarray, blocks: RowBlocks, center: np.ndarray, k: int
) -> np.ndarray:
    """Indices of the k rows nearest to every point, without the point itself, the row of
    ``own_rows``, the nearest first; shape (len(points), k).

    Distances come from products about the ``centre``, the :func:`column_medians` of the rows. A
    distance that is so short that the products lose its digits is computed again from differences.
    """
    best, rows = np.full((len(points), k), np.inf), np.zeros((len(points), k), dtype=np.int64)
    p, factor = points - center, 0.0
    for start, block in blocks:
        b = block - center
        if not factor:
            factor = 1 / _nearby_power_of_two(float(np.median(np.abs(b).max(axis=1, initial=0.0))))
            p = _scale_far_points(p, factor)
        b *= factor
        squares = _squared_row_lengths(b)
        for batch in (
            slice(i, i + POINTS_PER_PRODUCT) for i in range(0, len(points), POINTS_PER_PRODUCT)
        ):
            keys, columns = _nearest_in_block(p[batch], b, squares, own_rows[batch] - start, k)
            _merge_nearest(best[batch], rows[batch], keys, columns, start)
    return np.take_along_axis(rows, np.argsort(best, axis=1, kind="stable"), axis=1)


def _scale_far_points(points: np.ndarray, factor: float) -> np.ndarray:
    """Points times a factor, those far beyond all rows brought nearer in their direction."""
    lengths = np.abs(points).max(axis=1, initial=0.0)
    with np.errstate(over="ignore"):
        factors = np.minimum(1.0, MAX_POINT_LENGTH / np.maximum(lengths * factor, 1.0))
    return (points * factors[:, None]) * factor


def _nearby_power_of_two(size: float) -> float:
    """A power of two near a size, by which a division loses no digits."""
    if size == 0 or not np.isfinite(size):
        return 1.0
    return float(2.0 ** np.clip(np.frexp(size)[1], -1021, 1021))


def _nearest_in_block(
    points: np.ndarray, block: np.ndarray, squares: np.ndarray, own_rows: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the k rows of a block nearest to each point, or of all, and keys in the order of
    their distances.

    A key is the squared distance minus the squared length of the point, in units of that length,
    so at least -1 up to rounding. Where the distance is far shorter than the length, and the key
    would be rounding, it is minus the squared length by the squared distance, below -400,000.
    """
    closeness = _negated_squared_distances(points, block, squares, own_rows)
    k = min(k, closeness.shape[1])
    columns = np.argpartition(closeness, -k, axis=1)[:, -k:]
    best = np.take_along_axis(closeness, columns, axis=1)
    lengths = _squared_row_lengths(points)[:, None]
    keys, sizes = -best / np.maximum(lengths, 1.0), lengths + squares[columns]
    is_short = (lengths - best) * MAX_CANCELLATION_RATIO < sizes
    point_indices, slots = np.nonzero(is_short)
    distances = _squared_row_lengths(block[columns[point_indices, slots]] - points[point_indices])
    keys[point_indices, slots] = _short_distance_keys(lengths[point_indices, 0], distances)
    last = best.argmin(axis=1)
    slack = 4 * (block.shape[1] + 8) * np.finfo(np.float64).eps
    for i in np.flatnonzero(is_short[np.arange(len(keys)), last]):  # others may be as near
        rows = np.flatnonzero(closeness[i] >= best[i, last[i]] - slack * sizes[i].max())
        distances = _squared_row_lengths(block[rows] - points[i])
        nearest = np.argpartition(distances, k - 1)[:k]
        keys[i], columns[i] = _short_distance_keys(lengths[i], distances[nearest]), rows[nearest]
    return keys, columns


def _short_distance_keys(length: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """The keys of squared distances that are far shorter than the squared length of the point."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(-length / distances)


def _squared_row_lengths(rows: np.ndarray) -> np.ndarray:
    """The squared lengths of rows; those that overflow are infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(np.einsum("...d,...d->...", rows, rows))


def _negated_squared_distances(
    points: np.ndarray, block: np.ndarray, squares: np.ndarray, own_rows: np.ndarray
) -> np.ndarray:
    """Minus the squared distances, up to a constant of every point; what overflows is far away."""
    with np.errstate(over="ignore", invalid="ignore"):
        closeness = (2 * points) @ block.T
        closeness -= squares
    np.nan_to_num(closeness, copy=False, nan=-np.inf, neginf=-np.inf)
    point_indices = np.flatnonzero((own_rows >= 0) & (own_rows < len(block)))
    closeness[point_indices, own_rows[point_indices]] = -np.inf
    return closeness


def _merge_nearest(
    best: np.ndarray, rows: np.ndarray, keys: np.ndarray, columns: np.ndarray, start: int
) -> None:
    """Keep, in place, the k smallest keys of those before and those of another block."""
    k = best.shape[1]
    values = np.concatenate([best, keys], axis=1)
    indices = np.concatenate([rows, columns + start], axis=1)
    nearest = np.argpartition(values, k - 1, axis=1)[:, :k]
    best[:] = np.take_along_axis(values, nearest, axis=1)
    rows[:] = np.take_along_axis(indices, nearest, axis=1)


def lost_neighbor_share(
    points: np.ndarray, true: np.ndarray, retrieved: np.ndarray, take: RowLookup
) -> np.ndarray:
    """Share of the nearest rows that are farther from a point than its farthest true neighbour."""
    return np.asarray(are_lost_neighbors(points, true, retrieved, take).mean(axis=1))


def are_lost_neighbors(
    points: np.ndarray, true: np.ndarray, retrieved: np.ndarray, take: RowLookup
) -> np.ndarray:
    """Say which of the nearest rows are farther from a point than its farthest true neighbour.

    ``true`` (len(points), k) and ``retrieved`` (len(points), any) are indices of rows; ``take``
    gives them in the version that decides. Squared distances are compared by their differences from
    that of one true neighbour, which keep their digits wherever points and rows are: |b − p|² − |o
    − p|² = (b − o) · (b − p + o − p). Two rows are tied when rounding of the vectors can explain
    the difference, and it is a billionth of the squared distance at most.
    """
    are_farther = np.empty(retrieved.shape, bool)
    for batch in (slice(i, i + 50) for i in range(0, len(points), 50)):
        neighbors, candidates = take(true[batch]), take(retrieved[batch])
        point = points[batch, None]
        factor = 1 / _nearby_power_of_two(float(np.abs(neighbors - point).max(initial=0.0)))
        if (
            not SAFE_SIZE_RANGE[0] < factor < SAFE_SIZE_RANGE[1]
        ):  # else squares keep their digits as they are
            neighbors, candidates, point = neighbors * factor, candidates * factor, point * factor
        limit = _squared_distance_excess(neighbors, neighbors[:, :1], point).max(axis=1)
        radius, size = (
            np.sqrt(_squared_row_lengths(v).max(axis=1)) for v in (neighbors - point, neighbors)
        )
        rounding = TIE_ROUNDING_FACTOR * np.finfo(np.float64).eps * (radius + size)
        limit += radius * np.minimum(rounding, TIE_DISTANCE_TOLERANCE * radius)
        are_farther[batch] = (
            _squared_distance_excess(candidates, neighbors[:, :1], point) > limit[:, None]
        )
    return are_farther


def _squared_distance_excess(rows: np.ndarray, origin: np.ndarray, point: np.ndarray) -> np.ndarray:
    """By how much the squared distance of rows to a point is above that of the origin."""
    with np.errstate(over="ignore", invalid="ignore"):
        ends = rows - point
        ends += origin - point
        return np.nan_to_num(np.einsum("mkd,mkd->mk", rows - origin, ends), nan=np.inf)


def squared_distances_to_rows(points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Squared distances from every point to its rows, shapes (m, d) and (m, k, d)."""
    with np.errstate(over="ignore"):
        return ((rows - points[:, None]) ** 2).sum(axis=2)


def measure_neighbor_losses(
    sample: PairedSample,
    mapped: np.ndarray,
    affine_map: AffineMap | None,
    frame: np.ndarray | None,
    n_resamples: int,
    seed: int,
    tick: Callable[[float], None],
) -> NeighborLosses:
    """Look up the queries in both versions, across the two, and in versions with noise.

    ``mapped`` is where the map puts the samples in use, each as fitted to others; ``affine_map`` is
    the map for all rows, or ``None``: then it is judged among the samples in use. ``frame``: the
    directions of the noise times its length, or ``None`` for no noise. ``tick`` is called with how
    many points were looked up.
    """
    (x, y), queries = sample.all, sample.queries
    is_same = x.source.shape[1] == y.source.shape[1]
    a, b, center = x.take(queries), y.take(queries), column_medians(x.take(sample.rows))

    def among(points: np.ndarray, blocks: RowBlocks, center: np.ndarray) -> np.ndarray:
        rows = find_nearest_rows(
            points, np.tile(queries, len(points) // len(queries)), blocks, center, sample.k
        )
        tick(len(points))
        return rows

    noisy = (
        []
        if frame is None
        else [a + _neighbor_noise(frame, len(a), seed, i, -1) for i in range(n_resamples)]
    )
    true, old_neighbors, *noisy_neighbors = np.split(
        among(np.concatenate([a, b, *noisy]), x.blocks(), center), 2 + len(noisy)
    )
    new_neighbors = among(b, y.blocks(), column_medians(y.take(sample.rows)))
    reembedded_neighbors = [
        among(points, _noisy_row_blocks(x, frame, seed, draw), center)
        for draw, points in enumerate(noisy)
        if frame is not None
    ]
    noise_old, noise_again = (
        np.concatenate([np.zeros(0), *(lost_neighbor_share(a, true, r, x.take) for r in rows)])
        for rows in (noisy_neighbors, reembedded_neighbors)
    )
    if affine_map is None:
        map_losses = _map_losses_in_sample(sample, mapped)
        tick(len(b))
    else:
        blocks = _mapped_row_blocks(x, affine_map, sample.rows, mapped)
        map_losses = lost_neighbor_share(
            b, new_neighbors, among(b, blocks, column_medians(sample.y)), y.take
        )
    return NeighborLosses(
        old_index=lost_neighbor_share(a, true, old_neighbors, x.take) if is_same else None,
        reembedded=lost_neighbor_share(a, true, new_neighbors, x.take),
        mapped=map_losses,
        noise_old_index=noise_old,
        noise_reembedded=noise_again,
        among=len(x.source),
        mapped_among=len(sample.rows) if affine_map is None else len(x.source),
        moved=_share_in_other_place(sample, a, b, true, old_neighbors) if is_same else 0.0,
    )


def _map_losses_in_sample(sample: PairedSample, mapped: np.ndarray) -> np.ndarray:
    """Neighbours of new rows among new ones that are lost among mapped old ones, of the samples in
    use."""
    own_rows, center = np.searchsorted(sample.rows, sample.queries), column_medians(sample.y)
    points = sample.y[own_rows]
    true, retrieved = (
        find_nearest_rows(points, own_rows, [(0, rows)], center, sample.k)
        for rows in (sample.y, mapped)
    )
    return lost_neighbor_share(points, true, retrieved, sample.y.__getitem__)


def _mapped_row_blocks(
    x: Rows, affine_map: AffineMap, sample_rows: np.ndarray, mapped: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """Old rows through the map: those it was fitted to as a map fitted to others puts them."""
    for start, block in x.blocks():
        rows = affine_map(block)
        indices = np.flatnonzero((sample_rows >= start) & (sample_rows < start + len(rows)))
        rows[sample_rows[indices] - start] = mapped[indices]
        yield start, rows


def _noisy_row_blocks(
    x: Rows, frame: np.ndarray, seed: int, draw: int
) -> Iterator[tuple[int, np.ndarray]]:
    for start, block in x.blocks():
        yield start, block + _neighbor_noise(frame, len(block), seed, draw, start)


def _neighbor_noise(frame: np.ndarray, count: int, seed: int, draw: int, start: int) -> np.ndarray:
    random = generator(seed, "noise of neighbours", draw, start)
    return random.standard_normal((count, len(frame))) @ frame


def _share_in_other_place(
    sample: PairedSample, a: np.ndarray, b: np.ndarray, true: np.ndarray, old_neighbors: np.ndarray
) -> float:
    """Share of the samples that are where another one was, if nearly all are where one was, else 0.

    A sample that is where another one was and still is, is a copy of it, not one in another place.
    Where most samples have copies, as in classes, only the same rows are in another order.
    """
    (x, y), nearest_before, distance = sample.all, np.empty(len(a)), np.empty(len(a))
    nearest_rows = np.empty(len(a), dtype=np.int64)
    for batch in (slice(i, i + 50) for i in range(0, len(a), 50)):
        nearest_before[batch] = squared_distances_to_rows(a[batch], x.take(true[batch])).min(axis=1)
        distances = squared_distances_to_rows(b[batch], x.take(old_neighbors[batch]))
        distance[batch] = distances.min(axis=1)
        nearest_rows[batch] = old_neighbors[batch][
            np.arange(len(distances)), distances.argmin(axis=1)
        ]
    if 2 * np.count_nonzero(nearest_before) < len(a) and not same_rows(x, y):
        return 0.0
    max_distance = SAME_PLACE_RADIUS**2 * nearest_before
    is_unmoved = squared_distances_to_rows(b, a[:, None])[:, 0] <= max_distance
    is_copy = (
        squared_distances_to_rows(y.take(nearest_rows), x.take(nearest_rows)[:, None])[:, 0]
        <= max_distance
    )
    is_elsewhere = (distance <= max_distance) & ~is_unmoved & ~is_copy
    return (
        float(is_elsewhere.mean())
        if (is_unmoved | is_elsewhere).mean() >= MIN_PERMUTED_SHARE
        else 0.0
    )
