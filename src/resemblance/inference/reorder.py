"""Permute the samples of a representation, with cached intermediates permuted along declared
axes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from inspect import unwrap
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base.arrays import Array, device, namespace, records_gradient
from ..data.representation import Representation, fingerprint, replace_rows, working_values
from ..intermediates.exact_differences import shifted_gram
from ..intermediates.grams import gram_by_feature_blocks
from ..intermediates.points import is_rotated, preshape
from ..intermediates.similarities import take_rows
from ..intermediates.ties import Nearest, Ties

AxisRuleKind = Literal["fixed", "axes", "pairs", "neighbors", "parts"]
GATHERED_ROWS = 64  # rows per block, so that blocks stay in the processor's cache
# Intermediates that read the source.
SOURCE_INTERMEDIATES = (unwrap(working_values), unwrap(fingerprint), unwrap(gram_by_feature_blocks))
# Any rotation of the points is valid; reusing the rotation saves a decomposition per permutation.
ROTATED_INTERMEDIATES = (unwrap(preshape), unwrap(shifted_gram))


class AxisRule(NamedTuple):
    """The rule for permuting an intermediate with the samples.

    ``"axes"``: the listed axes of a dense or sparse array run over the samples. ``"pairs"``: a
    vector of all pairs of samples. ``"neighbors"``: lists of neighbours with ties. ``"fixed"``: the
    value does not change. ``"parts"``: a tuple with a rule per part.
    """

    kind: AxisRuleKind
    axes: tuple[int, ...] = ()
    parts: tuple[AxisRule, ...] = ()


@dataclass(frozen=True, eq=False)
class Permutation:
    """A permutation of n samples: sample ``rows[i]`` moves to position i, as in ``array[rows]``.

    Raises ``ValueError`` unless ``rows`` contains each of 0 ... n - 1 exactly once.
    """

    rows: np.ndarray

    def __post_init__(self) -> None:
        rows = np.asarray(self.rows)
        is_whole = rows.ndim == 1 and rows.dtype.kind in "iu" and rows.size > 0 and rows.min() >= 0
        if not is_whole or not (np.bincount(rows, minlength=len(rows)) == 1).all():
            raise ValueError(
                f"a permutation must contain each of 0 ... n - 1 once; got shape {rows.shape} and "
                f"dtype {rows.dtype}"
            )
        object.__setattr__(self, "rows", rows.astype(np.intp, copy=False))

    @cached_property
    def inverse(self) -> np.ndarray:
        """The new position of every sample, shape (n,)."""
        inverse = np.empty_like(self.rows)
        inverse[self.rows] = np.arange(len(self.rows))
        return inverse

    @property
    def n_pairs(self) -> int:
        """The number of pairs of samples."""
        return len(self.rows) * (len(self.rows) - 1) // 2

    @cached_property
    def pairs(self) -> np.ndarray:
        """The old position of every pair in a vector of all n (n - 1) / 2 pairs of samples, row by
        row above the diagonal: ``vector[pairs]`` is the permuted vector."""
        n = len(self.rows)
        first, second = (self.rows[ends] for ends in np.triu_indices(n, 1))
        low, high = np.minimum(first, second), np.maximum(first, second)
        return np.asarray(low * (2 * n - low - 1) // 2 + high - low - 1)


# --------------------------------------------------------------------------------- representations


@lru_cache(maxsize=512)
def axis_rule(function: Callable[..., Any]) -> AxisRule | None:
    """Return the rule for permuting the values of the intermediate ``function``, from the axes
    that the function declares.

    Return None if a permutation of the samples requires recomputing the intermediate. Warns once of
    a function without declared axes.
    """
    axes = getattr(function, "axes", None)
    if axes is None:
        warnings.warn(
            f"the intermediate {function.__name__} declares no axes, so each permutation of the "
            "samples computes the intermediate again: write @rs.cached('n d') for rows of samples, "
            "@rs.cached('k') for a value that does not depend on the order of the samples, or "
            "@rs.cached('anew') to keep it so",
            stacklevel=2,
        )
        return None
    if axes == ("anew",):
        return None
    rules = tuple(map(_rule_of_words, axes))
    return rules[0] if len(rules) == 1 else AxisRule("parts", parts=rules)


def _rule_of_words(words: str) -> AxisRule:
    if words == "pairs":
        return AxisRule("pairs")
    if words == "neighbors":
        return AxisRule("neighbors")
    axes = tuple(axis for axis, word in enumerate(words.split()) if word == "n")
    return AxisRule("axes" if axes else "fixed", axes)


def permute_representation(
    y: Representation, order: np.ndarray | Permutation, *, with_source: bool = False
) -> Representation:
    """Return ``y`` with permuted samples; cached intermediates of ``y`` are permuted, not
    recomputed.

    Row i of the result is row ``order[i]`` of ``y``; name, dtype, precision and ids stay the same,
    so the rows of a stimulus move to the position of another stimulus. An intermediate is permuted
    on first use, and so is the array: the array is not copied for measures that need only other
    intermediates. An intermediate without declared axes is recomputed from the permuted array, and
    so are all intermediates if gradients are recorded. ``with_source``: also copy ``source``, which
    a user-defined measure may read; otherwise ``source`` has the shape and type, but no numbers.

    Raises ``ValueError`` for an order that does not contain each sample once, and for an
    intermediate with another shape than declared.
    """
    permutation = order if isinstance(order, Permutation) else Permutation(order)
    if len(permutation.rows) != y.shape[0]:
        raise ValueError(
            f"permute_representation: a permutation of {len(permutation.rows)} samples for data of "
            f"shape {y.shape}"
        )
    if records_gradient(y.source):
        return _permuted_array(y, permutation)
    source = _permuted_source(y, permutation) if with_source else _empty_like_source(y)
    z = replace_rows(y, source, y.ids)

    def carry(key: Any, compute: Callable[[Representation], Any]) -> Any:
        # The closure does not refer to z, so that z is freed without garbage collection.
        function, _ = key
        if function in SOURCE_INTERMEDIATES:
            return None if with_source else compute(_permuted_array(y, permutation))
        rule = axis_rule(function)
        if rule is None:
            return None
        value = compute(y)
        if (
            rule.kind == "pairs"
            and isinstance(value, np.ndarray)
            and len(value) == permutation.n_pairs
        ):
            return permute_pair_vector(y, key, value, permutation)
        return permute_intermediate(rule, value, permutation, function.__name__)

    z._carry = carry
    return z


def _permuted_array(y: Representation, permutation: Permutation) -> Representation:
    z = replace_rows(y, _permuted_source(y, permutation), y.ids)

    def carry(key: Any, compute: Callable[[Representation], Any]) -> Any:
        function, _ = key
        rule = axis_rule(function) if function in ROTATED_INTERMEDIATES else None
        return rule and permute_intermediate(rule, compute(y), permutation, function.__name__)

    z._carry = carry if is_rotated(y) else None
    return z


def _permuted_source(y: Representation, permutation: Permutation) -> Array:
    # The source of a permuted representation has no numbers; read the array instead.
    return take_rows(y.array if y._carry else y.source, permutation.rows)


def _empty_like_source(y: Representation) -> Array:
    """Return an array with the shape, dtype and device of the source, but without its numbers."""
    xp, kind = y.xp, y.source.dtype
    number = math.nan if xp.isdtype(kind, "real floating") else 0
    return xp.broadcast_to(xp.full((1, 1), number, dtype=kind, device=device(y.source)), y.shape)


# ----------------------------------------------------------------------------------- intermediates


def permute_intermediate(rule: AxisRule, value: Any, permutation: Permutation, name: str) -> Any:
    """Return ``value``, an intermediate, with permuted samples, a new value; a fixed value is
    returned unchanged.

    None and an empty array have no samples and do not change. Raises ``ValueError`` for a value
    without the axes that the intermediate ``name`` declares.
    """
    n, shape = len(permutation.rows), tuple(getattr(value, "shape", ()))
    if rule.kind == "fixed" or value is None or 0 in shape:
        return value
    if rule.kind == "parts" and isinstance(value, tuple) and len(value) == len(rule.parts):
        parts = [
            permute_intermediate(part, entry, permutation, name)
            for part, entry in zip(rule.parts, value)
        ]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if rule.kind == "neighbors" and isinstance(value, Nearest):
        return _permute_neighbors(value, permutation)
    if rule.kind == "pairs" and shape == (permutation.n_pairs,):
        return _take_along_axis(value, permutation.pairs)
    if rule.kind == "axes" and all(axis < len(shape) and shape[axis] == n for axis in rule.axes):
        if hasattr(value, "tocsr"):
            return _permute_sparse(value, permutation)
        return _permute_axes(rule.axes, value, permutation.rows)
    raise ValueError(
        f"the intermediate {name} declares axes that its value has not: "
        f"{type(value).__name__} of shape {shape} for {n} samples; correct the words of @rs.cached"
    )


def permute_pair_vector(
    x: Representation, key: Any, vector: np.ndarray, permutation: Permutation
) -> np.ndarray:
    """Return a new vector of all pairs of samples, row by row above the diagonal, with permuted
    samples, computed from the square matrix.

    ``key``: the cache key of ``vector`` among the intermediates of ``x``. The entries of a sample
    are contiguous in a row of the matrix, but not in the vector, so the function needs a fraction
    of the time, and the memory of the matrix.
    """
    rows, n = permutation.rows, len(permutation.rows)
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
    """Return the symmetric matrix (n, n), with zeros on the diagonal, of ``vector``, all pairs of
    samples row by row above the diagonal, (n (n - 1) / 2,).

    ``x`` keeps the matrix in its cache. ``key``: the cache key of ``vector`` among the
    intermediates of ``x``.
    """
    from scipy.spatial.distance import squareform

    name = square_from_pair_vector, (("of", key),)
    with x._lock:
        if name not in x._cache:
            x._cache[name] = squareform(vector, checks=False)
        return np.asarray(x._cache[name])


def _permute_sparse(value: Any, permutation: Permutation) -> Any:
    """Return ``value``, a sparse (n, n) array, with permuted rows and columns, a new array of the
    same format; the new indices are sorted without a sort."""
    rows = permutation.rows
    return value.tocsc()[:, rows].tocsr()[rows].asformat(value.format)


def _permute_axes(axes: tuple[int, ...], value: Array, rows: np.ndarray) -> Array:
    if axes == (0, 1) and isinstance(value, np.ndarray) and value.ndim == 2:
        return _permute_both_axes(value, rows)
    for axis in axes:
        value = _take_along_axis(value, rows, axis)
    return value


def _permute_both_axes(value: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return a new matrix ``value[rows][:, rows]``, computed in blocks of rows."""
    result = np.empty_like(value, order="C")
    for start in range(0, len(rows), GATHERED_ROWS):
        block = slice(start, start + GATHERED_ROWS)
        # With mode="clip" NumPy writes directly into ``out``; all rows are in range anyway.
        np.take(value[rows[block]], rows, axis=1, out=result[block], mode="clip")
    return result


def _take_along_axis(value: Array, index: Any, axis: int = 0) -> Array:
    """Return the entries of ``value``, an array of any library, at ``index`` along ``axis``. With
    NumPy, ``index`` may have several axes; with other libraries only if ``value`` is a vector."""
    if isinstance(value, np.ndarray):
        return np.take(value, np.asarray(index), axis=axis)
    xp = namespace(value)
    index = xp.asarray(index, device=device(value))
    result = xp.take(value, xp.reshape(index, (-1,)), axis=axis)
    return result if index.ndim == 1 else xp.reshape(result, index.shape)


def _inverse_like(inverse: np.ndarray, value: Array) -> Array:
    """Return the inverse permutation in the library and dtype of ``value``."""
    if isinstance(value, np.ndarray):
        return inverse.astype(value.dtype)
    return namespace(value).asarray(inverse, dtype=value.dtype, device=device(value))


# --------------------------------------------------------------------------- neighbours with ties


def _permute_neighbors(neighbors: Nearest, permutation: Permutation) -> Nearest:
    """Return the nearest neighbours after permuting the samples: rows move, and neighbours have
    their new indices; tied neighbours are sorted by their new indices."""
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
    place = np.arange(k) - ties.certain[:, None]  # position among the tied samples
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
