"""Estimate the bytes of cached intermediates, and group measures that share intermediates."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base.function_cache import cached_by_function
from ..base.rng import generator
from ..base.user_modules import PACKAGE
from ..contracts._measure import Measure
from ..contracts.claims import written_function
from ..data.representation import MIN_LARGE_VALUES, Representation, force_large_arrays, pair_cache
from ..intermediates.rectangles import MAX_STORED_SAMPLES, force_blockwise

# Measures, and the bytes of their intermediates
SizedMeasureGroup = tuple[tuple[Measure, ...], int]
SOURCE_KEY = "source"  # the owner of the memory of the array itself
# No measure needs this many square matrices of all samples, or of all features, for a pair.
SMALL_DATA_SQUARES = 1000
ProbeWidth = Literal["wide", "middle", "narrow"]  # relative to the number of samples


def group_measures(
    intermediates: Mapping[Measure, Mapping[Any, int]],
    n: int,
    count: int,
    memory: int,
    available: float = math.inf,
) -> list[SizedMeasureGroup]:
    """Return groups of measures, with the bytes of intermediates per representation.

    ``intermediates``: the intermediates of every measure for n samples, with their bytes.
    ``count``: the number of representations. ``memory``: the budget in bytes. All measures form one
    group if the intermediates of all representations fit the budget. Otherwise measures stay
    together when they share an intermediate of quadratic size in n; all measures without a
    quadratic intermediate form another group. A group is split into single measures if the
    intermediates of two representations exceed the ``available`` memory of the machine.
    """
    group_of_all = _group_with_bytes(list(intermediates), intermediates)
    if group_of_all[1] * count <= memory:
        return [group_of_all]
    groups: list[tuple[list[Measure], set[Any]]] = [([], set())]
    for m in intermediates:
        quadratic = {key for key, size in intermediates[m].items() if size >= 4 * n * (n - 1)}
        fitting = (g for g in groups if (g[1] & quadratic) or not (g[1] or quadratic))
        home = next(fitting, None)
        if home is None:
            home = ([], set())
            groups.append(home)
        home[0].append(m)
        home[1].update(quadratic)
    shared = [_group_with_bytes(members, intermediates) for members, _ in groups if members]
    parts = (
        [group]
        if 2 * group[1] <= available
        else [_group_with_bytes([m], intermediates) for m in group[0]]
        for group in shared
    )
    return list(chain.from_iterable(parts))


def _group_with_bytes(
    measures: Sequence[Measure], intermediates: Mapping[Measure, Mapping[Any, int]]
) -> SizedMeasureGroup:
    sizes = dict(chain.from_iterable(intermediates[m].items() for m in measures))
    return tuple(measures), sum(sizes.values())


def representation_cache_bytes(
    measures: tuple[Measure, ...], n: int, d: int, copied: bool = True
) -> int:
    """Return the bytes of the intermediates of measures for an (n, d) representation, shared
    intermediates counted once. ``copied``: whether the array is copied into another precision or
    layout."""
    # A cache would keep the functions of users alive
    are_known = all(m.function.__module__.partition(".")[0] == PACKAGE for m in measures)
    count_bytes = _representation_cache_bytes
    return (count_bytes if are_known else count_bytes.__wrapped__)(measures, n, d, copied)


@lru_cache(maxsize=64)
def _representation_cache_bytes(measures: tuple[Measure, ...], n: int, d: int, copied: bool) -> int:
    return _group_with_bytes(measures, {m: intermediates_used(m, n, d, copied) for m in measures})[
        1
    ]


def is_small(n: int, d: int, count: int, memory: float) -> bool:
    """Return whether intermediates certainly fit into ``memory`` bytes, for ``count``
    representations, or products of representations and measures.

    ``n`` and ``d`` are the largest shape of a representation. Small data need no estimate.
    """
    return 8 * max(n, d) ** 2 * SMALL_DATA_SQUARES * count <= memory


def pair_cache_bytes(measure: Measure, n: int, d: int, e: int, copied: bool = True) -> int:
    """Return the bytes of the intermediates of a measure for a pair of shapes (n, d) and (n, e).

    The sum covers the intermediates of both representations and of the pair; shared memory counts
    once. The sum is a lower bound of the need of the measure: computing an intermediate may
    temporarily take more. ``copied``: whether each array is copied into another precision or
    layout.
    """
    total = sum(sum(intermediates_used(measure, n, width, copied).values()) for width in (d, e))
    probe = _probe_shapes_at(measure, n, max(d, e)) if n >= measure.min_samples else None
    if probe is None:
        return total
    # A matrix of all columns of x against all columns of y has d e entries.
    scale = probe.scale(n, math.sqrt(d * e))
    return total + _scaled_bytes(
        [a for a in chain(*probe.shared.values()) if a.owner is None], scale
    )


def intermediates_used(
    measure: Measure, n: int, d: int, copied: bool = True, *, apart: bool = False
) -> dict[Any, int]:
    """Return the bytes of every intermediate of a measure for an (n, d) representation, by key.

    The function runs the measure on a small probe and scales the shapes of the intermediates up, so
    no measure has to declare intermediates. Memory shared by several intermediates counts for the
    first. The memory of the array itself counts under ``SOURCE_KEY`` if the array is ``copied``
    into another precision or layout. ``apart``: no intermediates share memory. If a measure fails
    on the probe, the function assumes a copy of the array; a measure that needs more than n samples
    uses no intermediates.
    """
    if n < measure.min_samples:
        return {}
    probe = _probe_shapes_at(measure, n, d)
    if probe is None:
        return {(measure, "unknown"): 8 * n * d}
    source_scale = probe.scale(n, d)
    scales = {
        k: source_scale | _subsample_sizes(k, measure, probe.rows, n) for k in probe.intermediates
    }
    scales[SOURCE_KEY] = source_scale
    sizes: dict[Any, int] = {}
    for key, arrays in probe.intermediates.items():
        # On the probe a subsample may contain every row and alias the array; on data it is a copy.
        first = {None, *(owner for owner in scales if scales[owner] != scales[key])}
        sizes[key] = _scaled_bytes([a for a in arrays if apart or a.owner in first], scales[key])
        if copied and not apart and SOURCE_KEY in {a.owner for a in arrays} - first:
            sizes[SOURCE_KEY] = 8 * n * d
    if probe.is_joint and measure.all_pairs and measure.all_pairs.block_bytes:
        sizes[measure, "blocks"] = measure.all_pairs.block_bytes
    return sizes


class ArrayShape(NamedTuple):
    """The shape of an array, the bytes per entry, and the owner of the memory.

    The owner is the key of an earlier intermediate with the same memory, or ``SOURCE_KEY``; None
    for new memory.
    """

    lengths: tuple[int, ...]
    itemsize: int
    owner: Any


class ProbeShapes(NamedTuple):
    """The shapes of the intermediates of a measure on two small arrays, and on the pair.

    ``is_joint``: a pass over the samples serves all representations, and holds a block of each.
    """

    rows: int
    columns: int
    intermediates: Mapping[Any, tuple[ArrayShape, ...]]
    shared: Mapping[Any, tuple[ArrayShape, ...]]
    is_joint: bool

    def scale(self, n: int, d: float) -> dict[int, float]:
        """Return a map from the lengths of axes on the probe (rows, columns, pairs of rows) to the
        lengths for arrays of shape (n, d)."""
        rows = self.rows
        return {rows: n, rows - 1: n - 1, self.columns: d, rows * (rows - 1) // 2: n * (n - 1) // 2}


def _probe_shapes_at(measure: Measure, n: int, d: int) -> ProbeShapes | None:
    """Return the shapes of the intermediates of a measure on small arrays, computed by the same
    branches of the code as for the shape (n, d); None if the measure raises an exception."""
    width: ProbeWidth = "wide" if d > n else "middle" if 3 * d >= n else "narrow"
    is_large = n > MAX_STORED_SAMPLES, n * d >= MIN_LARGE_VALUES
    code_path = width, measure.takes_blocks(n), *is_large
    probes = _probes_of_function(written_function(measure))
    key = measure.spec, *code_path
    if key not in probes:
        probes[key] = _run_probe(measure, *code_path)
    return probes[key]


@cached_by_function
def _probes_of_function(function: Callable[..., Any]) -> dict[Hashable, ProbeShapes | None]:
    """Return the probes of the measures of a function that ran before, by specification and code
    path; an empty dictionary at first."""
    return {}


def _run_probe(
    measure: Measure, width: ProbeWidth, in_blocks: bool, large: bool, large_array: bool
) -> ProbeShapes | None:
    """Return the shapes of the intermediates of a measure on small arrays; None if the measure
    raises an exception.

    ``width``: the number of features relative to the number of samples. ``in_blocks``: call the
    function for many pairs, not the plain function. ``large``: simulate the blockwise mode for
    samples too many for a stored n x n matrix. ``large_array``: simulate an array that is too large
    to copy.
    """
    rows = max(23, measure.min_samples + 6)
    columns = {"wide": rows + 8, "middle": rows // 2, "narrow": 7}[width]
    # A parameter such as k=7 must not look like the number of features.
    columns -= columns in {**measure.defaults, **dict(measure.parameters)}.values()
    noise = generator(0, "probe").standard_normal((2, rows, columns))
    x, y = Representation(noise[0]), Representation(noise[1])
    try:
        with pair_cache(x, y) as shared, force_blockwise(large), force_large_arrays(large_array):
            replaces = measure.all_pairs and measure.all_pairs.replaces
            is_joint = bool(replaces and replaces(x))
            if measure.all_pairs and (in_blocks or measure.is_in_blocks(x, y)):
                measure.all_pairs([x], [y])
            else:
                measure.evaluate(x, y)
    except Exception:  # only exceptions on the real data count
        return None
    owners: dict[Any, Any] = {(z.ctypes.data, z.nbytes): SOURCE_KEY for z in noise}
    intermediates, _ = (_array_shapes(r.cache, owners) for r in (x, y))
    return ProbeShapes(rows, columns, intermediates, _array_shapes(shared, owners), is_joint)


def _subsample_sizes(key: Any, measure: Measure, rows: int, n: int) -> dict[int, float]:
    """Return the numbers of rows, and of pairs of rows, of an intermediate of a subsample; {} for
    other intermediates.

    ``key``: the key of the intermediate. The keys of the result are the numbers on the small probe,
    the values are the numbers for n samples. A parameter of the measure sets the size of the
    subsample; on the probe, the parameter was cut to ``rows``, the number of rows of the probe.
    """
    parameters = {**measure.defaults, **dict(measure.parameters)}
    capped = [parameters.get(name) for name, value in _flatten_parameters(key[1]) if value == rows]
    sizes = [size for size in capped if isinstance(size, int)]
    if not sizes:
        return {}
    size = min(n, *sizes)
    return {rows: size, rows * (rows - 1) // 2: size * (size - 1) // 2}


def _flatten_parameters(parameters: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield parameters as (name, value); a named tuple yields its fields."""
    for name, value in parameters:
        yield from value._asdict().items() if hasattr(value, "_asdict") else ((name, value),)


def _array_shapes(
    intermediates: Mapping[Any, Any], owners: dict[Any, Any]
) -> dict[Any, tuple[ArrayShape, ...]]:
    """Return the shapes of the arrays in each intermediate, by key, in the order of computation.

    ``intermediates``: the values (arrays, tuples, or others) by cache key. ``owners``: maps
    (address, bytes) of an array to the key of the first intermediate with this memory; the function
    adds new arrays to ``owners``, in place.
    """
    shapes: dict[Any, tuple[ArrayShape, ...]] = {}
    for key, value in intermediates.items():
        shapes[key] = ()
        for array in _arrays_in_value(value):
            place = (array.ctypes.data, array.nbytes)
            owner = owners.get(place)
            shapes[key] += (ArrayShape(array.shape, array.itemsize, owner),)
            owners[place] = key if owner in (None, SOURCE_KEY) else owner
    return shapes


def _arrays_in_value(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, tuple):
        for part in value:
            yield from _arrays_in_value(part)
    elif isinstance(value, np.ndarray):
        yield value


def _scaled_bytes(shapes: Sequence[ArrayShape], scale: Mapping[int, float]) -> int:
    total = 0
    for lengths, itemsize, _ in shapes:
        total += int(math.prod(scale.get(length, length) for length in lengths) * itemsize)
    return total
