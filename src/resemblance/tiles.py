"""The order in which pairs are visited, so that only two blocks of representations hold views at a
time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .measure import Measure
from .representation import Representation, comparing
from .rng import generator

UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
}


class Group(NamedTuple):
    """Measures that are computed together because they share views, and the bytes of one
    representation's views."""

    measures: tuple[Measure, ...]
    size: int


class Tile(NamedTuple):
    """One unit of work: the measures of a group for a block of rows against a block of columns."""

    measures: tuple[Measure, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]


def parse_bytes(memory: int | str) -> int:
    """Read a number of bytes: 2_000_000_000, "2GB", "512 MiB". A bare number below a million lacks
    its unit."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?(?:e\+?\d+)?)\s*([kmg]?i?b)?\s*", str(memory).lower())
    size = float(match[1]) * UNITS[match[2] or ""] if match else 0.0
    if match is None or not 1 <= size < math.inf:
        raise ValueError(f'memory must be a positive number of bytes such as "2GB"; got {memory!r}')
    if not match[2] and size < 1e6:
        raise ValueError(
            f'memory={memory!r} is {size:g} bytes, too few for any work; did you mean "{memory}GB"?'
        )
    return int(size)


def in_units(size: float) -> str:
    """Write a number of bytes with the unit a person would use: "1.6 GB"."""
    unit, bytes_of_it = next((u for u in (("GB", 1e9), ("MB", 1e6)) if size >= u[1]), ("kB", 1e3))
    return f"{size / bytes_of_it:.3g} {unit}" if size < 1e12 else f"{size / 1e9:,.0f} GB"


def group_measures(
    measures: Sequence[Measure], n: int, d: int, count: int, memory: int, left: int | None = None
) -> list[Group]:
    """Keep all measures together if the views of all representations fit the budget, else split
    what shares nothing.

    Measures stay together when they share a view that is quadratic in n; everything without one
    forms one group. A group of which not even two representations fit what is ``left`` of the
    machine is split into its measures.
    """
    views = {m: views_used(m, n, d) for m in measures}
    together = _group(measures, views)
    if together.size * count <= memory:
        return [together]
    quadratic = {
        m: {key for key, size in views[m].items() if size >= 4 * n * (n - 1)} for m in measures
    }
    groups: list[tuple[list[Measure], set[Any]]] = [([], set())]
    for m in measures:
        home = next(
            (g for g in groups if (g[1] & quadratic[m]) or not (g[1] or quadratic[m])), None
        )
        if home is None:
            home = ([], set())
            groups.append(home)
        home[0].append(m)
        home[1].update(quadratic[m])
    shared = [_group(members, views) for members, _ in groups if members]
    return [part for group in shared for part in _split(group, views, left)]


def _split(group: Group, views: dict[Measure, dict[Any, int]], left: int | None) -> list[Group]:
    if left is None or 2 * group.size <= left:
        return [group]
    return [_group([m], views) for m in group.measures]


def tiles(
    groups: Sequence[Group], rows: int, columns: int | None, memory: int, block: int | None
) -> Iterator[Tile]:
    """Yield the tiles of every group; ``columns=None`` means all pairs of ``rows`` representations.

    The block height is what fits the budget, or ``block`` if that is smaller: two blocks hold
    views, and as much as one is left for what making a view takes. Consecutive tiles share a block
    wherever possible: the columns are walked forwards and backwards in turn.
    """
    for group in groups:
        height = max(1, memory // (3 * max(group.size, 1)))
        if group.size * (rows + (columns or 0)) <= memory:
            height = max(rows, columns or 0)
        height = min(height, block or height)
        row_blocks = _blocks(rows, height)
        column_blocks = row_blocks if columns is None else _blocks(columns, height)
        for i, row_block in enumerate(row_blocks):
            partners = column_blocks[i:] if columns is None else column_blocks
            for column_block in partners if i % 2 == 0 else reversed(partners):
                yield Tile(group.measures, row_block, column_block)


def _blocks(count: int, height: int) -> list[tuple[int, ...]]:
    return [tuple(range(start, min(start + height, count))) for start in range(0, count, height)]


def _group(measures: Sequence[Measure], views: dict[Measure, dict[Any, int]]) -> Group:
    union: dict[Any, int] = {}
    for m in measures:
        union |= views[m]
    return Group(tuple(measures), sum(union.values()))


def pair_bytes(measure: Measure, n: int, d: int, e: int) -> int:
    """Return the bytes of all that a measure keeps for one pair of widths d and e: the views of
    both, and the shared.

    A lower bound of what it needs: what making a view takes for a moment is not in it.
    """
    own = sum(sum(views_used(measure, n, width).values()) for width in (d, e))
    probe = _probe(measure, max(d, e) > n) if n >= measure.min_samples else None
    if probe is None:
        return own
    scale = probe.scale(measure, n, math.sqrt(d * e))  # d e for a matrix of all columns against all
    return own + sum(_bytes(value, scale) for value in probe.shared.values())


def views_used(measure: Measure, n: int, d: int) -> dict[Any, int]:
    """Return the views of one representation that a measure takes, each with its bytes at (n, d).

    Found by running the measure on a small probe and scaling the shapes found there, so a measure
    never declares what it needs. A measure that does not run on the probe is taken to need a copy
    of the array; one that needs more samples than there are takes none.
    """
    if n < measure.min_samples:
        return {}
    probe = _probe(measure, d > n)
    if probe is None:
        return {(measure, "unknown"): 8 * n * d}
    return {
        key: _bytes(value, probe.scale(measure, n, d) | _own_sizes(key, measure, probe.rows, n))
        for key, value in probe.views.items()
    }


class Shape(NamedTuple):
    """The shape of an array and the bytes of one of its entries."""

    lengths: tuple[int, ...]
    itemsize: int


class Probe(NamedTuple):
    """What a measure left behind for two small arrays: the shapes of the views of one, and of what
    the pair shared."""

    rows: int
    columns: int
    views: Mapping[Any, tuple[Shape, ...]]
    shared: Mapping[Any, tuple[Shape, ...]]

    def scale(self, measure: Measure, n: int, d: float) -> dict[int, float]:
        """Return what the lengths found here become for arrays of shape (n, d)."""
        rows = self.rows
        return {rows: n, rows - 1: n - 1, self.columns: d, rows * (rows - 1) // 2: n * (n - 1) // 2}


@lru_cache(maxsize=256)
def _probe(measure: Measure, wide: bool) -> Probe | None:
    """Run a measure on small arrays, with more columns than rows or fewer; ``None`` if it does not
    run."""
    rows = max(23, measure.min_samples + 6)
    columns = rows + 8 if wide else 7
    noise = generator(0, "probe").standard_normal((2, rows, columns))
    x, y = Representation(noise[0]), Representation(noise[1])
    try:
        with comparing(x, y) as shared:
            measure.evaluate(x, y)
    except Exception:  # whatever a measure raises here, it is for the real data to say
        return None
    kept = (
        {key: tuple(_shapes(value)) for key, value in views.items()} for views in (x.views, shared)
    )
    return Probe(rows, columns, *kept)


def _own_sizes(key: Any, measure: Measure, rows: int, n: int) -> dict[int, float]:
    """A view of a sample: its size is the parameter of the measure, of which the probe could give
    all its rows only."""
    settings = {**measure.defaults, **dict(measure.parameters)}
    sizes = [
        settings[name]
        for name, value in _named(key[1])
        if value == rows and isinstance(settings.get(name), int)
    ]
    return {rows: min(n, *sizes)} if sizes else {}


def _named(parameters: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Parameters by name, those of a named tuple one by one."""
    for name, value in parameters:
        yield from value._asdict().items() if hasattr(value, "_asdict") else ((name, value),)


def _shapes(value: Any) -> Iterator[Shape]:
    if isinstance(value, tuple):
        for part in value:
            yield from _shapes(part)
    elif isinstance(value, np.ndarray):
        yield Shape(value.shape, value.itemsize)


def _bytes(shapes: Sequence[Shape], scale: Mapping[int, float]) -> int:
    return sum(
        int(math.prod(scale.get(length, length) for length in lengths) * itemsize)
        for lengths, itemsize in shapes
    )
