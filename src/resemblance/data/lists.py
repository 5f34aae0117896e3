"""Lists and mappings of arrays passed in place of one array: vectors by sample id, and remedies for
ambiguous lists."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import is_torch, namespace
from ..base.formatting import list_names

MAX_LISTED_SHAPES = 3  # shapes in a message
# A mapping is ambiguous if the vectors are at least 3 times as long as the number of entries (from
# 10 entries upwards: 10 times as long)
FEW, LONGER, MUCH_LONGER = 10, 3, 10


class VectorRows(NamedTuple):
    """Vectors of one length as the rows of an array, and the ids of the samples."""

    array: Any
    ids: tuple[Hashable, ...]


def stack_mapping(data: Any, title: str, *, has_ids: bool = False) -> VectorRows | None:
    """Return the vectors of a mapping from ids to vectors; None for other data.

    ``title``: the data in errors. ``has_ids``: the caller passes ids, so the entries are samples.
    Raises ``ValueError`` for vectors of different lengths, for rows of a table (1, d), and for
    words that may be column names: fewer than ten words with vectors at least three times as long
    as the number of words, or any number of words with vectors at least ten times as long.
    """
    if not isinstance(data, Mapping) or not data or hasattr(data, "dims"):
        return None
    shapes = {}
    for key, vector in data.items():
        shapes[key] = shape = _entry_shape(vector)
        if len(shape) != 1 and not (len(shape) == 2 and shape[0] == 1):
            return None  # a mapping to arrays, or to something else
    (first_key, shape), *other_entries = shapes.items()
    for key, other_shape in other_entries:
        if other_shape != shape:
            raise ValueError(
                f"{title} is a mapping from ids to vectors of different lengths: {first_key!r} has "
                f"shape {shape}, {key!r} {other_shape}; keep the vectors of one length: {{k: v for "
                f"k, v in X.items() if np.shape(v) == {shape}}}"
            )
    if len(shape) == 2 and len(shapes) > 1:
        raise ValueError(
            f"{title} is a mapping from ids to arrays {shape}; pass their rows: "
            "{k: v[0] for k, v in X.items()}"
        )
    if len(shape) == 2 or not shape[0] or isinstance(next(iter(data.values())), str):
        return None
    if not has_ids and all(isinstance(key, str) for key in data):
        _check_no_columns(tuple(data), shape[0], title)
    return VectorRows(_stack_vectors(list(data.values())), tuple(data))


def _check_no_columns(names: tuple[str, ...], length: int, title: str) -> None:
    """Raise ``ValueError`` for few names with long vectors: the names may be samples or columns.
    ``length``: of the vectors."""
    n = len(names)
    if n == 1 or length < (LONGER if n < FEW else MUCH_LONGER) * n:
        return
    raise ValueError(
        f"{title} is a mapping from {n} words, such as {names[0]!r}, to {length} numbers each; if "
        f"the words are the names of columns with {length} samples, pass pandas.DataFrame(X); if "
        f"they are the ids of {n} samples, pass rs.Representation(X, ids=list(X))"
    )


def list_problem(data: Any) -> str:
    """Return why a list of arrays is not a representation, with remedies; "" for other data."""
    if not isinstance(data, list | tuple):
        return ""
    if data and all(isinstance(entry, Mapping) for entry in data):
        return "is a list of records: pass pd.DataFrame(X)"
    shapes = [_entry_shape(entry) for entry in data]
    axes = {len(shape) for shape in shapes}
    are_tensors = all(map(is_torch, data))
    if axes == {1} and are_tensors and len(set(shapes)) == 1:
        return "is a list of tensors: pass torch.stack(X)"
    if axes == {1} and len(set(shapes)) > 1:
        lengths = [shape[0] for shape in shapes]
        return (
            "is not an array of numbers: its rows have different lengths, "
            f"{min(lengths)} to {max(lengths)}"
        )
    if len(axes) != 1 or not axes <= {2, 3, 4}:
        return ""
    statement = f"is a list of {len(shapes)} arrays, {list_names(shapes, MAX_LISTED_SHAPES)}"
    join = "torch.cat(X)" if are_tensors else "np.concatenate(X)"
    if axes != {2}:
        pooled = "from_tokens" if axes == {3} else "from_maps"
        batchwise_code = f'np.concatenate([rs.{pooled}(x, pool="mean").array for x in X])'
        are_joined = len({shape[1:] for shape in shapes}) == 1
        joined_code = f'rs.{pooled}({join}, pool="mean")'
        return (
            f"{statement}; if these are batches, pass "
            f"{joined_code if are_joined else batchwise_code}"
        )
    return f"{statement}; {_array_list_remedies(shapes, join, are_tensors)}"


def _array_list_remedies(shapes: list[tuple[int, ...]], join: str, are_tensors: bool) -> str:
    """Return the possible meanings of a list of two-dimensional arrays of these ``shapes``, with a
    remedy for each meaning, as text. ``join``: the code that joins the arrays by rows."""
    stack, axis = ("torch.stack", "dim") if are_tensors else ("np.stack", "axis")
    heights, widths = {shape[0] for shape in shapes}, {shape[1] for shape in shapes}
    if len(widths) == 1:
        means = f"{stack}([x.mean({axis}=0) for x in X])"
        cut_remedy = f"; {stack}([x[:{min(heights)}] for x in X]) cuts them to one length"
        return (
            f"if these are batches, pass {join}; if each has the tokens or time bins of one "
            f'sample, pad them, rs.from_tokens(padded, pool="mean", mask=real), or take their '
            f"means, {means}{cut_remedy * (len(heights) > 1)}"
        )
    if len(heights) == 1:
        return (
            "if these are layers, pass them to rs.compare(X); if each has the channels of one "
            f"trial by time bins, take their means, {stack}([x.mean({axis}=1) for x in X]), or cut "
            f"them to one length, {stack}([x[:, :{min(widths)}].T for x in X])"
        )
    return "the numbers of rows and of columns differ: pass each array to rs.Representation"


def batch_shapes_hint(shapes: list[tuple[int, ...]]) -> str:
    """Return a hint for an error about numbers of rows, if arrays of these ``shapes`` look like
    batches: equal shapes, except for a shorter last batch; else ""."""
    if len(shapes) < 2 or any(len(shape) < 2 for shape in shapes):
        return ""
    *full_shapes, last_shape = shapes
    is_shorter = (
        len(set(full_shapes)) == 1
        and last_shape[1:] == full_shapes[0][1:]
        and last_shape[0] < full_shapes[0][0]
    )
    return "; if these are batches of one layer, pass np.concatenate(X)" if is_shorter else ""


def _entry_shape(entry: Any) -> tuple[int, ...]:
    if hasattr(entry, "shape"):
        return tuple(entry.shape)
    if isinstance(entry, str | bytes) or not hasattr(entry, "__len__"):
        return ()
    try:
        return np.shape(entry)
    except ValueError:  # lists of different lengths
        return (len(entry), -1)


def _stack_vectors(vectors: list[Any]) -> Any:
    if all(map(is_torch, vectors)):
        return namespace(vectors[0]).stack(vectors)
    return np.stack([np.asarray(vector) for vector in vectors])
