"""The order in which pairs are visited, so that only two blocks of representations hold views at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .measure import Measure
from .representation import Representation
from .rng import generator

UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


class Group(NamedTuple):
    """Measures that are computed together because they share views, and the bytes of one representation's views."""

    measures: tuple[Measure, ...]
    size: int


class Tile(NamedTuple):
    """One unit of work: the measures of a group for a block of rows against a block of columns."""

    measures: tuple[Measure, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]


def parse_bytes(memory: int | str) -> int:
    """Read a number of bytes: 2_000_000_000, "2GB", "512 MiB"."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?(?:e\+?\d+)?)\s*([kmg]?i?b)?\s*", str(memory).lower())
    if match is None or not 1 <= (size := float(match[1]) * UNITS[match[2] or ""]) < math.inf:
        raise ValueError(f'memory must be a positive number of bytes such as "2GB"; got {memory!r}')
    return int(size)


def group_measures(measures: Sequence[Measure], n: int, d: int, count: int, memory: int) -> list[Group]:
    """Keep all measures together if the views of all representations fit the budget, else split what shares nothing.

    Measures stay together when they share a view that is quadratic in n; everything without one forms one group.
    """
    views = {m: views_used(m, n, d) for m in measures}
    together = _group(measures, views)
    if together.size * count <= memory:
        return [together]
    quadratic = {m: {key for key, size in views[m].items() if size >= 4 * n * (n - 1)} for m in measures}
    groups: list[tuple[list[Measure], set[Any]]] = [([], set())]
    for m in measures:
        home = next((g for g in groups if (g[1] & quadratic[m]) or not (g[1] or quadratic[m])), None)
        if home is None:
            home = ([], set())
            groups.append(home)
        home[0].append(m)
        home[1].update(quadratic[m])
    return [_group(members, views) for members, _ in groups if members]


def tiles(groups: Sequence[Group], rows: int, columns: int | None, memory: int, block: int | None) -> Iterator[Tile]:
    """Yield the tiles of every group; ``columns=None`` means all pairs of ``rows`` representations.

    The block height is what fits the budget, or ``block`` if that is smaller: two blocks hold views, and as much as one
    is left for what making a view takes. Consecutive tiles share a block wherever possible: the columns are walked
    forwards and backwards in turn.
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


@lru_cache(maxsize=256)
def views_used(measure: Measure, n: int, d: int) -> dict[Any, int]:
    """Return the views of one representation that a measure takes, each with its bytes at (n, d).

    Found by running the measure on a small probe and scaling the shapes found there, so a measure never declares
    what it needs. A measure that does not run on the probe is taken to need a copy of the array.
    """
    rows = max(23, measure.min_samples + 6)
    columns = 7 if d <= n else rows + 8
    scale = {rows: n, columns: d, rows * (rows - 1) // 2: n * (n - 1) // 2}
    noise = generator(0, "probe").standard_normal((2, rows, columns))
    x, y = Representation(noise[0]), Representation(noise[1])
    try:
        measure.evaluate(x, y)
    except Exception:  # whatever a measure raises here, it is for the real data to say
        return {(measure, "unknown"): 8 * n * d}
    return {key: _bytes(value, scale | _own_sizes(key, measure, rows, n)) for key, value in x.views.items()}


def _own_sizes(key: Any, measure: Measure, rows: int, n: int) -> dict[int, int]:
    """A view of a sample: its size is the parameter of the measure, of which the probe could give all its rows only."""
    given = {**measure.defaults, **dict(measure.parameters)}
    sizes = [given[name] for name, value in key[1] if value == rows and isinstance(given.get(name), int)]
    return {rows: min(n, *sizes)} if sizes else {}


def _bytes(value: Any, scale: Mapping[int, int]) -> int:
    if isinstance(value, tuple):
        return sum(_bytes(part, scale) for part in value)
    if not isinstance(value, np.ndarray):
        return 0
    return int(math.prod(scale.get(length, length) for length in value.shape) * value.itemsize)
