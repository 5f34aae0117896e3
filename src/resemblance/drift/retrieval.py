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

from ..arrays import to_numpy
from ..representation import Representation, Undefined, title
from ..rng import generator
from .maps import Affine

MANY, FEW = 500, 200  # samples looked up: many, unless each is compared with a lot of numbers
EFFORT = 5 * 10**10  # products for one search of all that are looked up
MOST_NOISE = 20  # versions with noise, for thresholds
NEAR, NEARLY_ALL = 0.1, 0.95  # of the distance to the k-th neighbour; of the samples
POINTS = 500  # compared with a block at a time
VALUES, HEIGHT = 2**22, 2**13  # in a block, at most: 32 MB in double precision; and rows

Blocks = Iterable[tuple[int, np.ndarray]]
Take = Callable[[np.ndarray], np.ndarray]


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
        height = max(1, min(HEIGHT, VALUES // self.source.shape[1]))
        for start in range(0, len(self.source), height):
            yield start, self._counted(self.source[start : start + height])

    def _counted(self, rows: np.ndarray) -> np.ndarray:
        rows = np.asarray(rows).astype(self.precision, copy=False).astype(np.float64, copy=False)
        missing = self.width - rows.shape[1]
        return (np.pad(rows, [(0, 0), (0, missing)]) if missing else rows) / self.unit


class Sample(NamedTuple):
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
    def classes(self) -> np.ndarray | None:
        """The classes of the samples in use."""
        return None if self.groups is None else self.groups[self.rows]


def same_rows(x: Rows, y: Rows) -> bool:
    """Whether both hold exactly the same rows, as often as each other, in whatever order."""
    return x.source.shape == y.source.shape and _total(x) == _total(y)


def _total(rows: Rows) -> int:
    """The sum of the digests of all rows, the same in any order."""
    return sum(
        int.from_bytes(blake2b(row.tobytes(), digest_size=32).digest(), "big")
        for _, block in rows._replace(unit=1.0).blocks()
        for row in block + 0.0
    )


def rows_of(x: Representation) -> Rows:
    """Return the rows of a representation; raise :class:`Undefined`, naming the first row with a
    NaN or an infinite value."""
    rows = Rows(to_numpy(x.source), x.precision, 1.0, x.shape[1])
    for start, block in rows.blocks():
        if not (np.isfinite(block.min()) and np.isfinite(block.max())):
            row, column = (int(i) for i in np.argwhere(~np.isfinite(block))[0])
            where = f"the first at row {start + row}, column {column}"
            raise Undefined(
                f"{title(x)} has NaN or infinite values, {where}; leave those samples out or fill "
                "them in"
            )
    return rows


class Lost(NamedTuple):
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


def queries_of(used: int, n: int, d: int, seed: int) -> np.ndarray:
    """Positions, among the samples used, of those that are looked up."""
    count = min(used, max(FEW, min(MANY, EFFORT // (n * d))))
    return np.sort(generator(seed, "queries", used).permutation(used)[:count])


def noise_draws(draws: int, queries: int, n: int, d: int) -> int:
    """How many versions with noise are affordable, at least one."""
    return max(1, min(draws, MOST_NOISE, EFFORT // (5 * queries * n * d)))


def nearest(
    points: np.ndarray, selves: np.ndarray, blocks: Blocks, centre: np.ndarray, k: int
) -> np.ndarray:
    """Indices of the k rows nearest to every point, without the point itself, the row of
    ``selves``; shape (len(points), k)."""
    twice = 2 * (points - centre)
    best, rows = np.full((len(points), k), -np.inf), np.zeros((len(points), k), dtype=np.int64)
    for start, block in blocks:
        b = block - centre
        with np.errstate(over="ignore"):
            squares = (b**2).sum(axis=1)
        for some in (slice(i, i + POINTS) for i in range(0, len(points), POINTS)):
            close = _closeness(twice[some], b, squares, selves[some] - start)
            _merge(best[some], rows[some], close, start)
    return rows


def _closeness(
    twice: np.ndarray, block: np.ndarray, squares: np.ndarray, selves: np.ndarray
) -> np.ndarray:
    """Minus the squared distances, up to a constant of every point; what overflows is far away."""
    with np.errstate(over="ignore", invalid="ignore"):
        close = twice @ block.T
        close -= squares
    np.nan_to_num(close, copy=False, nan=-np.inf, neginf=-np.inf)
    inside = np.flatnonzero((selves >= 0) & (selves < len(block)))
    close[inside, selves[inside]] = -np.inf
    return close


def _merge(best: np.ndarray, rows: np.ndarray, close: np.ndarray, start: int) -> None:
    """Keep, in place, the k largest of those before and those of another block."""
    k, columns = best.shape[1], np.indices(close.shape)[1]
    if close.shape[1] > k:
        columns = np.argpartition(close, -k, axis=1)[:, -k:]
    values = np.concatenate([best, np.take_along_axis(close, columns, axis=1)], axis=1)
    where = np.concatenate([rows, columns + start], axis=1)
    largest = np.argpartition(values, -k, axis=1)[:, -k:]
    best[:] = np.take_along_axis(values, largest, axis=1)
    rows[:] = np.take_along_axis(where, largest, axis=1)


def lost(points: np.ndarray, true: np.ndarray, nearest: np.ndarray, take: Take) -> np.ndarray:
    """Share of the nearest rows that are farther from a point than its farthest true neighbour.

    ``true`` and ``nearest``, both (len(points), k), are indices of rows; ``take`` gives them in the
    version that decides.
    """
    shares = np.empty(len(points))
    for some in (slice(i, i + 50) for i in range(0, len(points), 50)):
        near, limit = take(true[some]), distances(points[some], take(true[some])).max(axis=1)
        sizes = (points[some] ** 2).sum(axis=1) + (near**2).sum(axis=2).max(axis=1)
        limit += 64 * np.finfo(np.float64).eps * sizes
        shares[some] = (distances(points[some], take(nearest[some])) > limit[:, None]).mean(axis=1)
    return shares


def distances(points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Squared distances from every point to its rows, shapes (m, d) and (m, k, d)."""
    with np.errstate(over="ignore"):
        return ((rows - points[:, None]) ** 2).sum(axis=2)


def neighbours_lost(
    sample: Sample,
    mapped: np.ndarray,
    whole: Affine | None,
    frame: np.ndarray | None,
    draws: int,
    seed: int,
    tick: Callable[[float], None],
) -> Lost:
    """Look up the queries in both versions, across the two, and in versions with noise.

    ``mapped`` is where the map puts the samples in use, each as fitted to others; ``whole`` is the
    map for all rows, or ``None``: then it is judged among the samples in use. ``frame``: the
    directions of the noise times its length, or ``None`` for no noise. ``tick`` is called with how
    many points were looked up.
    """
    (x, y), queries = sample.all, sample.queries
    is_same = x.source.shape[1] == y.source.shape[1]
    a, b, centre = x.take(queries), y.take(queries), x.take(sample.rows).mean(axis=0)

    def among(points: np.ndarray, blocks: Blocks, centre: np.ndarray) -> np.ndarray:
        rows = nearest(
            points, np.tile(queries, len(points) // len(queries)), blocks, centre, sample.k
        )
        tick(len(points))
        return rows

    noisy = [] if frame is None else [a + _noise(frame, len(a), seed, i, -1) for i in range(draws)]
    true, old, *rest = np.split(
        among(np.concatenate([a, b, *noisy]), x.blocks(), centre), 2 + len(noisy)
    )
    new = among(b, y.blocks(), y.take(sample.rows).mean(axis=0))
    again = [
        among(points, _with_noise(x, frame, seed, draw), centre)
        for draw, points in enumerate(noisy)
        if frame is not None
    ]
    noise_old, noise_again = (
        np.concatenate([np.zeros(0), *(lost(a, true, r, x.take) for r in rows)])
        for rows in (rest, again)
    )
    if whole is None:
        beyond = _beyond_in_use(sample, mapped)
        tick(len(b))
    else:
        blocks = _mapped(x, whole, sample.rows, mapped)
        beyond = lost(b, new, among(b, blocks, sample.y.mean(axis=0)), y.take)
    return Lost(
        old_index=lost(a, true, old, x.take) if is_same else None,
        reembedded=lost(a, true, new, x.take),
        mapped=beyond,
        noise_old_index=noise_old,
        noise_reembedded=noise_again,
        among=len(x.source),
        mapped_among=len(sample.rows) if whole is None else len(x.source),
        moved=_moved(sample, a, b, true, old) if is_same else 0.0,
    )


def _beyond_in_use(sample: Sample, mapped: np.ndarray) -> np.ndarray:
    """Neighbours of new rows among new ones that are lost among mapped old ones, of the samples in
    use."""
    selves, centre = np.searchsorted(sample.rows, sample.queries), sample.y.mean(axis=0)
    points = sample.y[selves]
    true, near = (
        nearest(points, selves, [(0, rows)], centre, sample.k) for rows in (sample.y, mapped)
    )
    return lost(points, true, near, sample.y.__getitem__)


def _mapped(
    x: Rows, whole: Affine, drawn: np.ndarray, mapped: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """Old rows through the map: those it was fitted to as a map fitted to others puts them."""
    for start, block in x.blocks():
        rows = whole(block)
        inside = np.flatnonzero((drawn >= start) & (drawn < start + len(rows)))
        rows[drawn[inside] - start] = mapped[inside]
        yield start, rows


def _with_noise(
    x: Rows, frame: np.ndarray, seed: int, draw: int
) -> Iterator[tuple[int, np.ndarray]]:
    for start, block in x.blocks():
        yield start, block + _noise(frame, len(block), seed, draw, start)


def _noise(frame: np.ndarray, count: int, seed: int, draw: int, start: int) -> np.ndarray:
    random = generator(seed, "noise of neighbours", draw, start)
    return random.standard_normal((count, len(frame))) @ frame


def _moved(
    sample: Sample, a: np.ndarray, b: np.ndarray, true: np.ndarray, old: np.ndarray
) -> float:
    """Share of the samples that are where another one was, if nearly all are where one was, else 0.

    A sample that is where another one was and still is, is a copy of it, not one in another place.
    """
    (x, y), nearest_before, distance = sample.all, np.empty(len(a)), np.empty(len(a))
    place = np.empty(len(a), dtype=np.int64)
    for some in (slice(i, i + 50) for i in range(0, len(a), 50)):
        nearest_before[some] = distances(a[some], x.take(true[some])).min(axis=1)
        far = distances(b[some], x.take(old[some]))
        distance[some] = far.min(axis=1)
        place[some] = old[some][np.arange(len(far)), far.argmin(axis=1)]
    reach = NEAR**2 * nearest_before
    stayed = distances(b, a[:, None])[:, 0] <= reach
    is_copy = distances(y.take(place), x.take(place)[:, None])[:, 0] <= reach
    elsewhere = (distance <= reach) & ~stayed & ~is_copy
    return float(elsewhere.mean()) if (stayed | elsewhere).mean() >= NEARLY_ALL else 0.0
