"""How a value computed of n samples moves with them: read off its shape, and carried out.

An array moves along its axes of length n. Its entries move, too, where they are themselves samples:
the indices of nearest neighbours. A vector of n (n - 1) / 2 entries holds pairs of samples, row by
row above the diagonal. What has no such axis stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base.arrays import Array, device, namespace
from ..data.representation import Representation
from ..intermediates.ties import Nearest, Ties

AxisRuleKind = Literal["fixed", "axes", "labels", "pairs", "graph", "nearest", "parts"]
GATHERED_ROWS = 64  # rows gathered at a time, so that they stay in the processor's cache
FIXED_TYPES = (bool, int, float, str, np.generic, type(None))


class AxisRule(NamedTuple):
    """How a value moves with the samples.

    ``"axes"``: these run over the samples. ``"labels"``: and the entries are samples. ``"pairs"``,
    ``"graph"`` (a sparse array of shape (n, n)), ``"nearest"`` (neighbours with their ties),
    ``"fixed"``: the value stays. ``"parts"``: those of a tuple move each in its way.
    """

    kind: AxisRuleKind
    axes: tuple[int, ...] = ()
    parts: tuple[AxisRule, ...] = ()


FIXED_RULE = AxisRule("fixed")


@dataclass(frozen=True, eq=False)
class Permutation:
    """An order of n samples, with what follows from it: sample ``rows[i]`` moves to place i.

    Raises ``ValueError`` unless ``rows`` holds each of 0 ... n - 1 once.
    """

    rows: np.ndarray

    def __post_init__(self) -> None:
        rows = np.asarray(self.rows)
        is_whole = rows.ndim == 1 and rows.dtype.kind in "iu" and rows.size > 0 and rows.min() >= 0
        if not is_whole or not (np.bincount(rows, minlength=len(rows)) == 1).all():
            raise ValueError(
                f"an order must hold each of 0 ... n - 1 once; got shape {rows.shape} and dtype "
                f"{rows.dtype}"
            )
        object.__setattr__(self, "rows", rows.astype(np.intp, copy=False))

    @cached_property
    def inverse(self) -> np.ndarray:
        """The new place of every sample, shape (n,)."""
        inverse = np.empty_like(self.rows)
        inverse[self.rows] = np.arange(len(self.rows))
        return inverse

    @cached_property
    def pairs(self) -> np.ndarray:
        """The old place of every pair of samples in a vector of all pairs, shape (n (n - 1) /
        2,)."""
        n = len(self.rows)
        first, second = (self.rows[ends] for ends in np.triu_indices(n, 1))
        low, high = np.minimum(first, second), np.maximum(first, second)
        return np.asarray(low * (2 * n - low - 1) // 2 + high - low - 1)


# ------------------------------------------------------------------------------------- read


def read_axis_rule(
    value: Any, n: int, *, is_wide: bool = False, has_labels: bool = True
) -> AxisRule | None:
    """Return how a value of n samples moves, by its type and shape; None if that is not known.

    ``is_wide``: the data have more columns than samples, so that n also counts dimensions; only the
    first axis of length n is one of samples. ``has_labels``: integers in [0, n) beside an axis of
    length n are samples.
    """
    if isinstance(value, Nearest):
        return AxisRule("nearest")
    if isinstance(value, tuple):
        parts = [read_axis_rule(part, n, is_wide=is_wide, has_labels=has_labels) for part in value]
        rules = tuple(part for part in parts if part is not None)
        return AxisRule("parts", parts=rules) if len(rules) == len(parts) else None
    if isinstance(value, FIXED_TYPES):
        return FIXED_RULE
    shape = tuple(getattr(value, "shape", (0,)))
    if 0 in shape:  # of data that have nothing of this kind; others may
        return None
    axes = tuple(axis for axis, length in enumerate(shape) if length == n)
    if hasattr(value, "tocsr"):
        return AxisRule("graph") if shape == (n, n) else None if axes else FIXED_RULE
    if shape == (n * (n - 1) // 2,):
        return AxisRule("pairs")
    if not axes:
        return FIXED_RULE
    kind: AxisRuleKind = "labels" if has_labels and _are_samples(value, n) else "axes"
    return AxisRule(kind, axes[:1] if is_wide else axes)


def _are_samples(value: Array, n: int) -> bool:
    xp = namespace(value)
    is_integer = xp.isdtype(value.dtype, "integral")
    return bool(is_integer and xp.min(value) >= 0 and xp.max(value) < n)


# ------------------------------------------------------------------------------------ carried out


def permute_intermediate(move: AxisRule, value: Any, permutation: Permutation) -> Any:
    """Return a value of the samples in another order; None if it has not the shape that was read.

    A value that stays is returned itself, not a copy.
    """
    if move.kind == "parts":
        return _permute_parts(move, value, permutation)
    if move.kind == "nearest":
        return _permute_neighbors(value, permutation)
    if move.kind == "graph":
        return _permute_sparse(value, permutation)
    if move.kind == "pairs":
        return _permute_pairs(value, permutation)
    shape, n = getattr(value, "shape", ()), len(permutation.rows)
    if any(len(shape) <= axis or shape[axis] != n for axis in move.axes):
        return None
    result = _permute_axes(move.axes, value, permutation.rows)
    return (
        _take_along_axis(_inverse_like(permutation.inverse, value), result)
        if move.kind == "labels"
        else result
    )


def permute_pair_vector(
    x: Representation, key: Any, vector: np.ndarray, permutation: Permutation
) -> np.ndarray | None:
    """Return an intermediate of all pairs of samples in another order, from its square matrix; None
    if it has another length.

    The entries of one sample lie together in a row of the matrix, but not in the vector, so this
    takes a fraction of the time, and the memory of the matrix.
    """
    rows, n = permutation.rows, len(permutation.rows)
    if vector.shape != (n * (n - 1) // 2,):
        return None
    matrix = square_from_pair_vector(x, key, vector)
    result, begin = np.empty_like(vector), 0
    for start in range(0, n, GATHERED_ROWS):
        block = np.take(matrix[rows[start : start + GATHERED_ROWS]], rows[start:], axis=1)
        for row, entries in enumerate(block, 1):
            stop = begin + len(entries) - row
            result[begin:stop] = entries[row:]
            begin = stop
    return result


def square_from_pair_vector(x: Representation, key: Any, vector: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix, with a diagonal of zeros, of an intermediate of all pairs of
    samples.

    ``x`` caches it like an intermediate.
    """
    from scipy.spatial.distance import squareform

    name = square_from_pair_vector, (("of", key),)
    with x._lock:
        if name not in x._cache:
            x._cache[name] = squareform(vector, checks=False)
        return np.asarray(x._cache[name])


def _permute_parts(move: AxisRule, value: Any, permutation: Permutation) -> Any:
    if not isinstance(value, tuple) or len(value) != len(move.parts):
        return None
    parts = [
        permute_intermediate(part, entry, permutation) for part, entry in zip(move.parts, value)
    ]
    if any(part is None and entry is not None for part, entry in zip(parts, value)):
        return None
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


def _permute_pairs(value: Array, permutation: Permutation) -> Array | None:
    return (
        _take_along_axis(value, permutation.pairs)
        if tuple(value.shape) == permutation.pairs.shape
        else None
    )


def _permute_sparse(value: Any, permutation: Permutation) -> Any:
    """Both sides of a sparse array; its indices come out sorted without sorting them."""
    rows = permutation.rows
    if value.shape != (len(rows), len(rows)):
        return None
    return value.tocsc()[:, rows].tocsr()[rows].asformat(value.format)


def _permute_axes(axes: tuple[int, ...], value: Array, rows: np.ndarray) -> Array:
    if axes == (0, 1) and isinstance(value, np.ndarray) and value.ndim == 2:
        return _permute_both_axes(value, rows)
    for axis in axes:
        value = _take_along_axis(value, rows, axis)
    return value


def _permute_both_axes(value: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Both sides of a matrix, by blocks of rows."""
    result = np.empty_like(value, order="C")
    for start in range(0, len(rows), GATHERED_ROWS):
        block = slice(start, start + GATHERED_ROWS)
        # With this mode NumPy writes to the output; it would not need to, as the rows are in range.
        np.take(value[rows[block]], rows, axis=1, out=result[block], mode="clip")
    return result


def _take_along_axis(value: Array, index: Any, axis: int = 0) -> Array:
    """Entries of an array of any library along an axis; ``index`` may have several axes."""
    if isinstance(value, np.ndarray):
        return np.take(value, np.asarray(index), axis=axis)
    xp = namespace(value)
    index = xp.asarray(index, device=device(value))
    result = xp.take(value, xp.reshape(index, (-1,)), axis=axis)
    return result if index.ndim == 1 else xp.reshape(result, index.shape)


def _inverse_like(inverse: np.ndarray, value: Array) -> Array:
    """The new places in the library and the dtype of what holds samples."""
    if isinstance(value, np.ndarray):
        return inverse.astype(value.dtype)
    return namespace(value).asarray(inverse, dtype=value.dtype, device=device(value))


# --------------------------------------------------------------------------- neighbours with ties


def _permute_neighbors(neighbors: Nearest, permutation: Permutation) -> Nearest:
    """The nearest neighbours, those equally near by their new indices."""
    indices = _take_along_axis(
        _inverse_like(permutation.inverse, neighbors.listed),
        np.take(neighbors.listed, permutation.rows, axis=0),
    )
    if not len(neighbors.ties.rows):
        return Nearest(indices, neighbors.ties)
    ties = _permute_ties(neighbors.ties, permutation)
    n, k = indices.shape
    block = indices[ties.rows]
    order = np.argsort(ties.begins.astype(np.int64) * n + block, axis=1)
    block = np.take_along_axis(block, order, axis=1)
    place = np.arange(k) - ties.certain[:, None]  # among the equally near samples for the last ones
    row, column = np.nonzero(place >= 0)
    block[row, column] = ties.members[ties.starts[row] + place[row, column]]
    indices[ties.rows] = block
    return Nearest(indices, ties)


def _permute_ties(ties: Ties, permutation: Permutation) -> Ties:
    order = np.argsort(permutation.inverse[ties.rows])
    sizes = ties.sizes[order]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    positions = np.arange(starts[-1]) + np.repeat(ties.starts[:-1][order] - starts[:-1], sizes)
    n, owner = len(permutation.rows), np.repeat(np.arange(len(sizes)), sizes)
    members = np.sort(owner * n + permutation.inverse[ties.members[positions]]) % n
    return Ties(
        permutation.inverse[ties.rows][order],
        ties.begins[order],
        starts,
        members.astype(ties.members.dtype),
    )
