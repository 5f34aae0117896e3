"""Nearest neighbours lost by a change. The search reads rows in blocks, so a memory-mapped file is
never in memory as a whole.

Neighbours are the k other samples at the smallest Euclidean distance. A retrieved row is correct if
the row is at most as far, in the version that decides, as the k-th nearest row in that version.
Ties are therefore no losses, whatever the order of a search.
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

# Number of queries: many, or fewer if a query is compared with a large amount of data.
MAX_LOOKED_UP_SAMPLES, MIN_LOOKED_UP_SAMPLES = (500, 200)
MAX_SEARCH_PRODUCTS = 5 * 10**10  # multiplications for one search of all queries
MAX_NOISE_DRAWS = 20  # most versions with noise, for thresholds
# Largest ratio of a product of lengths to the squared distance computed from the product. At this
# ratio 10 of 16 digits are left.
MAX_CANCELLATION_RATIO = 2.0**20
# largest length of a point in units of the rows; farther points are moved nearer
MAX_POINT_LENGTH = 2.0**300
SAFE_SIZE_RANGE = 2.0**-300, 2.0**300  # sizes whose squares neither overflow nor underflow
# Distances are tied if they differ by less than this multiple of the rounding of the vectors, and
# by less than this share of the distance.
TIE_ROUNDING_FACTOR, TIE_DISTANCE_TOLERANCE = 16, 1e-9
# Share of the distance to the nearest neighbour; share of the samples.
SAME_PLACE_RADIUS, MIN_PERMUTED_SHARE = (0.1, 0.95)
POINTS_PER_PRODUCT = 500  # points per matrix product with a block
# Most values in a block, 32 MB in double precision, and most rows.
MAX_BLOCK_VALUES, MAX_BLOCK_ROWS = (2**22, 2**13)

RowBlocks = Iterable[tuple[int, np.ndarray]]
RowLookup = Callable[[np.ndarray], np.ndarray]


class Rows(NamedTuple):
    """The rows of a version as given, on disk or in memory, with the precision, unit and width in
    which the comparison uses the rows."""

    source: np.ndarray
    precision: str
    unit: float
    width: int

    def take(self, indices: np.ndarray) -> np.ndarray:
        """Return the rows at ``indices`` of any shape, with shape (..., width)."""
        return self._counted(self.source[indices.ravel()]).reshape(*indices.shape, self.width)

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield pairs: the index of the first row, and a block of rows (rows, d)."""
        height = max(1, min(MAX_BLOCK_ROWS, MAX_BLOCK_VALUES // self.source.shape[1]))
        for start in range(0, len(self.source), height):
            yield start, self.part(start, start + height)

    def part(self, start: int, stop: int) -> np.ndarray:
        """Return the rows from ``start`` to before ``stop``, (stop - start, d)."""
        return self._counted(self.source[start:stop])

    def _counted(self, rows: np.ndarray) -> np.ndarray:
        rows = np.asarray(rows).astype(self.precision, copy=False).astype(np.float64, copy=False)
        n_missing = self.width - rows.shape[1]
        return (np.pad(rows, [(0, 0), (0, n_missing)]) if n_missing else rows) / self.unit


class PairedSample(NamedTuple):
    """The subsample of the two versions in a common unit and width, (n, d).

    ``rows``: the positions of the subsample among all rows. ``queries``: the positions of the
    queries among all rows. ``all`` and ``groups``: all rows of the two versions, and the class
    numbers of all rows. ``k``: neighbours per query.
    """

    x: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None
    rows: np.ndarray
    queries: np.ndarray
    k: int
    all: tuple[Rows, Rows]
    is_reduced: bool  # whether dimensions were dropped

    @property
    def widths(self) -> tuple[int, int]:
        """The numbers of columns: of the reference, then of the current version."""
        before, after = self.all
        return before.source.shape[1], after.source.shape[1]

    @property
    def classes(self) -> np.ndarray | None:
        """The classes of the subsample, (n,); None without classes."""
        return None if self.groups is None else self.groups[self.rows]


def same_rows(x: Rows, y: Rows) -> bool:
    """Return whether two versions contain exactly the same rows, with the same counts, in any
    order."""
    return x.source.shape == y.source.shape and _row_digest_sum(x) == _row_digest_sum(y)


def _row_digest_sum(rows: Rows) -> int:
    """Return the sum of the hashes of all rows, which does not depend on their order."""
    return sum(
        int.from_bytes(blake2b(row.tobytes(), digest_size=32).digest(), "big")
        for _, block in rows._replace(unit=1.0).blocks()
        for row in block + 0.0
    )


def version_rows(x: Representation) -> Rows:
    """Return the rows of a representation; raise :class:`UndefinedError`, with the position of the
    first NaN or infinite value, unless all values are finite."""
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
    """Shares of the k nearest neighbours lost, by query, and the same losses under noise.

    ``mapped``: new queries search mapped old rows. ``among``, ``mapped_among``: the numbers of rows
    searched. ``moved``: the share of samples in the old position of another sample.
    """

    old_index: np.ndarray | None  # new queries search old rows; None if the widths differ
    reembedded: np.ndarray  # new queries search new rows
    # new queries search mapped old rows, relative to new queries that search new rows
    mapped: np.ndarray
    noise_old_index: np.ndarray
    noise_reembedded: np.ndarray
    among: int
    mapped_among: int
    # share of samples in the position of another sample; 0 unless nearly all samples are in an old
    # position
    moved: float


def choose_queries(n_used: int, n: int, d: int, seed: int) -> np.ndarray:
    """Return sorted random positions of queries among the ``n_used`` samples: 200 to 500, fewer for
    large data, and all if there are not so many.

    ``n``, ``d``: the number of searched rows, and of columns.
    """
    count = min(
        n_used,
        max(MIN_LOOKED_UP_SAMPLES, min(MAX_LOOKED_UP_SAMPLES, MAX_SEARCH_PRODUCTS // (n * d))),
    )
    return np.sort(generator(seed, "queries", n_used).permutation(n_used)[:count])


def affordable_noise_draws(n_resamples: int, queries: int, n: int, d: int) -> int:
    """Return how many noisy copies of the vectors to search: at most ``n_resamples``, and few
    enough for the limit of products per search.

    ``queries``: the number of queries. ``n``, ``d``: the number of searched rows, and of columns.
    """
    return max(1, min(n_resamples, MAX_NOISE_DRAWS, MAX_SEARCH_PRODUCTS // (5 * queries * n * d)))


def column_medians(rows: np.ndarray) -> np.ndarray:
    """Return the median of each column of ``rows`` (n, d), (d,): a centre for
    :func:`find_nearest_rows`, robust to far rows."""
    return np.asarray(np.median(rows, axis=0))


def find_nearest_rows(
    points: np.ndarray, own_rows: np.ndarray, blocks: RowBlocks, center: np.ndarray, k: int
) -> np.ndarray:
    """Return the indices of the k rows nearest to every point, the nearest first, without the
    point's own row: (n_points, k).

    ``points``: (n_points, d). ``own_rows``: the index of the own row of each point, -1 for none.
    ``blocks``: (index of the first row, rows). Distances come from products about ``center``, the
    :func:`column_medians` of the rows. If a distance is too short for the digits of the products,
    the distance is computed again from differences.
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
    """Return ``points`` (n, d) times ``factor``; points far beyond all rows move nearer along their
    direction, so that squares do not overflow."""
    lengths = np.abs(points).max(axis=1, initial=0.0)
    with np.errstate(over="ignore"):
        factors = np.minimum(1.0, MAX_POINT_LENGTH / np.maximum(lengths * factor, 1.0))
    return (points * factors[:, None]) * factor


def _nearby_power_of_two(size: float) -> float:
    """Return a power of two near a positive number ``size``, as a divisor that loses no digits; 1
    for 0, and for infinity and NaN."""
    if size == 0 or not np.isfinite(size):
        return 1.0
    return float(2.0 ** np.clip(np.frexp(size)[1], -1021, 1021))


def _nearest_in_block(
    points: np.ndarray, block: np.ndarray, squares: np.ndarray, own_rows: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return sort keys in the order of the distances, and the indices in a block, for the k rows of
    the block nearest to each point.

    Both arrays are (points, k), or (points, rows) for a block of fewer than k rows. The rows of a
    point are in no order. ``squares``: the squared lengths of the rows of the block. ``own_rows``:
    the index in the block of the point's own row; an index outside the block is no row.

    A key is (squared distance - squared length of the point) / squared length of the point, so a
    key is at least -1 up to rounding. A squared length below 1 counts as 1 in the divisor. If the
    distance is far shorter than the length, the key would be rounding error; the key is then
    -(squared length / squared distance), below -400,000, or -inf at distance 0. The key is inf for
    the point's own row and on overflow, so that other rows come first.
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
    for i in np.flatnonzero(is_short[np.arange(len(keys)), last]):  # other rows may be as near
        rows = np.flatnonzero(closeness[i] >= best[i, last[i]] - slack * sizes[i].max())
        distances = _squared_row_lengths(block[rows] - points[i])
        nearest = np.argpartition(distances, k - 1)[:k]
        keys[i], columns[i] = _short_distance_keys(lengths[i], distances[nearest]), rows[nearest]
    return keys, columns


def _short_distance_keys(length: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Return the keys -(length / distance) for squared distances that are far shorter than the
    squared length of the point; -inf for distance 0. ``length``: the squared length, in a shape
    that fits ``distances``."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(-length / distances)


def _squared_row_lengths(rows: np.ndarray) -> np.ndarray:
    """Return the squared lengths of the last axis of ``rows``, (..., d) to (...); infinite on
    overflow."""
    with np.errstate(over="ignore"):
        return np.asarray(np.einsum("...d,...d->...", rows, rows))


def _negated_squared_distances(
    points: np.ndarray, block: np.ndarray, squares: np.ndarray, own_rows: np.ndarray
) -> np.ndarray:
    """Return |p|² - |p - b|² for every point p and row b of a block, (points, rows); -inf on
    overflow and at the own row of a point.

    ``squares``: |b|² of the rows. ``own_rows``: the index in the block of the own row of each
    point.
    """
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
    """Merge the k smallest keys so far with the keys of another block, in place.

    ``best`` and ``rows`` (points, k) are the keys so far, in no order, and the indices of their
    rows. ``keys``, ``columns``: from :func:`_nearest_in_block`, for the block that begins at row
    ``start``.
    """
    k = best.shape[1]
    values = np.concatenate([best, keys], axis=1)
    indices = np.concatenate([rows, columns + start], axis=1)
    nearest = np.argpartition(values, k - 1, axis=1)[:, :k]
    best[:] = np.take_along_axis(values, nearest, axis=1)
    rows[:] = np.take_along_axis(indices, nearest, axis=1)


def lost_neighbor_share(
    points: np.ndarray, true: np.ndarray, retrieved: np.ndarray, take: RowLookup
) -> np.ndarray:
    """Return, for every point, the share of retrieved rows that are farther than the farthest true
    neighbour of the point: (n_points,), from 0 to 1.

    ``points``: (n_points, d). ``true`` (n_points, k) and ``retrieved`` (n_points, any): indices of
    rows. ``take``: returns the rows at indices, in the version that decides.
    """
    return np.asarray(are_lost_neighbors(points, true, retrieved, take).mean(axis=1))


def are_lost_neighbors(
    points: np.ndarray, true: np.ndarray, retrieved: np.ndarray, take: RowLookup
) -> np.ndarray:
    """Return which retrieved rows are farther from a point than the farthest true neighbour of the
    point: booleans in the shape of ``retrieved``.

    ``points``: (n_points, d). ``true`` (n_points, k) and ``retrieved`` (n_points, any) are indices
    of rows; ``take`` returns the rows at indices, in the version that decides. The function
    compares the excess of squared distances over the squared distance of a true neighbour. The
    excess keeps its digits for any position of points and rows: |b − p|² − |o − p|² = (b − o) · (b
    − p + o − p). Two rows are tied if rounding of the vectors can explain the difference and the
    difference is at most a billionth of the squared distance.
    """
    are_farther = np.empty(retrieved.shape, bool)
    for batch in (slice(i, i + 50) for i in range(0, len(points), 50)):
        neighbors, candidates = take(true[batch]), take(retrieved[batch])
        point = points[batch, None]
        factor = 1 / _nearby_power_of_two(float(np.abs(neighbors - point).max(initial=0.0)))
        # Rescale only sizes with squares that would lose digits.
        if not SAFE_SIZE_RANGE[0] < factor < SAFE_SIZE_RANGE[1]:
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
    """Return the squared distance of rows (m, k, d) to a point minus the squared distance of the
    origin to the point: (m, k). ``origin``, ``point``: (m, 1, d)."""
    with np.errstate(over="ignore", invalid="ignore"):
        ends = rows - point
        ends += origin - point
        return np.nan_to_num(np.einsum("mkd,mkd->mk", rows - origin, ends), nan=np.inf)


def squared_distances_to_rows(points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the squared distances from every point (m, d) to the rows of the point (m, k, d): (m,
    k)."""
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
    """Return the shares of neighbours that the queries lose across versions, and in versions with
    noise.

    ``mapped`` contains the mapped subsample, with every sample mapped by a fit to other samples;
    ``affine_map`` is the map for all rows, or ``None`` to judge the map within the subsample.
    ``frame``: the directions of the noise times the length of the noise, (r, d), or ``None`` for no
    noise. ``n_resamples``: the number of versions with noise. ``tick`` is called with the number of
    points searched.
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

    if frame is None:
        noisy = []
    else:
        noisy = [a + _neighbor_noise(frame, len(a), seed, i, -1) for i in range(n_resamples)]
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
    """Return, for each query, the share of new neighbours that the new query loses among mapped old
    rows, within the subsample. ``mapped``: the mapped subsample, (n, d)."""
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
    """Yield pairs: the index of the first row, and a block of mapped old rows. Rows at the
    positions ``sample_rows`` (n,), which fitted the map, are replaced by ``mapped`` (n, d), the
    rows mapped by a fit to other rows."""
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
    """Return the share of samples in the old position of another sample, if nearly all samples are
    in an old position, else 0.

    ``a``, ``b``: the queries before and after. ``true``, ``old_neighbors``: the indices of the old
    rows nearest to a and to b. If the other sample is still in the old position, the sample is a
    copy and not in another place. If most samples have copies, as in classes, the function returns
    0 unless the versions contain the same rows.
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
    if (is_unmoved | is_elsewhere).mean() >= MIN_PERMUTED_SHARE:
        return float(is_elsewhere.mean())
    return 0.0
