"""Names of columns: equal names, names that only number the columns, and a common order of two
sides."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from functools import lru_cache
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..base.formatting import list_names
from .sample_ids import ID_COLUMN_NAME

# The column names of a table or of the last dimension of a DataArray; None without names
FeatureNames = tuple[Hashable, ...] | None
NUMBERED_NAME = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)
COLUMN_NAMES_REMEDY = (
    "give the same columns the same names on both sides, or pass X.to_numpy() if "
    "the columns match by position"
)


def dataarray_feature_names(data: Any, width: int) -> FeatureNames:
    """Return the column names of a DataArray with ``width`` features; None for other data.

    If the dimension has no index, a coordinate provides the names: the coordinate called
    ``<dimension>_id``, or the only coordinate without duplicates.
    """
    if not hasattr(data, "dims") or not hasattr(data, "indexes"):
        return None
    names = _dimension_labels(data)
    return to_python_names(names) if len(names) == width else None


def _dimension_labels(data: Any) -> tuple[Hashable, ...]:
    dimension = data.dims[-1] if len(data.dims) == 2 else None
    if dimension in data.indexes:
        return tuple(data.indexes[dimension])
    coordinates = {str(k): c.values for k, c in data.coords.items() if c.dims == (dimension,)}
    unique = {k: v for k, v in coordinates.items() if len(set(v.tolist())) == len(v)}
    name = f"{dimension}_id"
    if name in unique:
        return tuple(unique[name].tolist())
    return tuple(next(iter(unique.values())).tolist()) if len(unique) == 1 else ()


def dataarray_coordinate_ids(data: Any) -> tuple[Hashable, ...]:
    """Return the row ids of the DataArray ``data`` without an index on the first dimension, from a
    coordinate; () without such a coordinate.

    The coordinate is called ``<dimension>_id``, or is the only coordinate with a usual name of ids,
    or the only coordinate without duplicates.
    """
    dimension = data.dims[0] if data.dims else None
    coordinates = {str(k): c.values for k, c in data.coords.items() if c.dims == (dimension,)}
    unique = {k: v for k, v in coordinates.items() if len(set(v.tolist())) == len(v)}
    id_names = [k for k in coordinates if ID_COLUMN_NAME.fullmatch(k)]
    for names in ([f"{dimension}_id"], [k for k in id_names if k in unique], id_names, [*unique]):
        if len(names) == 1 and names[0] in coordinates:
            return tuple(coordinates[names[0]].tolist())
    return ()


def to_python_names(names: Sequence[Any]) -> tuple[Hashable, ...]:
    """Return names as Python strings and numbers, which compare equal across libraries."""
    return tuple(name.item() if isinstance(name, np.generic) else name for name in names)


@lru_cache(maxsize=256)
def column_numbers(names: tuple[Hashable, ...]) -> tuple[int, ...] | None:
    """Return the numbers in the names if the names only number the columns, else None.

    The names only number the columns if the numbers are 0, 1, ... or 1, 2, ... in some order, alone
    or between the same words.
    """
    parts = [_number_in_name(name) for name in names]
    if None in parts or len({(start, end) for start, _, end in filter(None, parts)}) > 1:
        return None
    numbers = tuple(number for _, number, _ in filter(None, parts))
    offset = min(numbers, default=0)
    is_count = (
        offset in (0, 1)
        and len(set(numbers)) == len(numbers) == max(numbers, default=-1) - offset + 1
    )
    return numbers if is_count else None


def _number_in_name(name: Hashable) -> tuple[str, int, str] | None:
    if isinstance(name, str):
        match = NUMBERED_NAME.fullmatch(name)
        return (match[1], int(match[2]), match[3]) if match else None
    is_whole = isinstance(name, Integral) or (isinstance(name, Real) and float(name).is_integer())
    return ("", int(name), "") if is_whole and not isinstance(name, bool) else None  # type: ignore[call-overload]


def are_columns_ordered(names: FeatureNames) -> bool:
    """Return whether the names do not number the columns, or number the columns in order; True
    without names."""
    numbers = None if names is None else column_numbers(names)
    return numbers is None or list(numbers) == sorted(numbers)


def column_order(
    caller: str, x: str, x_names: FeatureNames, y: str, y_names: FeatureNames, *, is_one_model: bool
) -> tuple[int, ...] | None:
    """Return the positions of the columns of y in the order of x; None if the order is the same, or
    if names do not match columns.

    ``caller``, ``x``, ``y``: the function and the two sides in errors. ``x_names``, ``y_names``:
    the names of the columns, None for unknown names. ``is_one_model``: column i is the same
    coordinate on both sides. If the names only number the columns but the two sides have different
    numbers of columns, the columns of y are sorted by number. Raises ``ValueError`` if only some
    names are equal; for one model also if the names differ, or if a side without names meets
    numbers that are out of order.
    """
    if x_names == y_names:
        return None
    if x_names is None or y_names is None:
        if is_one_model and not (are_columns_ordered(x_names) and are_columns_ordered(y_names)):
            unnamed_title, numbered_title = (x, y) if x_names is None else (y, x)
            raise ValueError(
                f"{caller}: the columns of {numbered_title} are numbered and not in the order of "
                f"their numbers, and those of {unnamed_title} have no names, so their order is "
                f"unknown; {COLUMN_NAMES_REMEDY}"
            )
        return None
    if (numbers := tuple(map(column_numbers, (x_names, y_names)))) and None not in numbers:
        return _numbered_column_order(caller, x, x_names, y, y_names, is_one_model)
    x_set, y_set = set(x_names), set(y_names)
    if x_set == y_set and len(x_set) == len(x_names) == len(y_names):
        positions = {name: position for position, name in enumerate(y_names)}
        return tuple(positions[name] for name in x_names)
    _check_column_names(caller, (x, x_names), (y, y_names), is_one_model)
    return None


def _numbered_column_order(
    caller: str,
    x: str,
    x_names: tuple[Hashable, ...],
    y: str,
    y_names: tuple[Hashable, ...],
    is_one_model: bool,
) -> tuple[int, ...] | None:
    a, b = (column_numbers(names) or () for names in (x_names, y_names))
    affixes = [(p[0], p[2]) for p in map(_number_in_name, (x_names[0], y_names[0])) if p]
    if is_one_model and affixes[0] == affixes[1] and min(a) != min(b):
        _check_column_names(caller, (x, x_names), (y, y_names), is_one_model)
    if len(a) != len(b):
        return None if are_columns_ordered(y_names) else tuple(np.argsort(b).tolist())
    positions = {number - min(b): position for position, number in enumerate(b)}
    order = tuple(positions[number - min(a)] for number in a)
    return None if list(order) == sorted(order) else order


def _check_column_names(
    caller: str,
    x_columns: tuple[str, tuple[Hashable, ...]],
    y_columns: tuple[str, tuple[Hashable, ...]],
    is_one_model: bool,
) -> None:
    """Raise ``ValueError`` if the names differ; for two models, only if some names are equal.
    ``x_columns``, ``y_columns``: the title of a side in errors, and the names of its columns."""
    (x, x_names), (y, y_names) = x_columns, y_columns
    shared_names = set(x_names) & set(y_names)
    if not shared_names and not is_one_model:
        return
    extra_names = [name for name in y_names if name not in shared_names]
    missing_names = [name for name in x_names if name not in shared_names]
    repeated_names = [
        name for names in (x_names, y_names) for name in names if names.count(name) > 1
    ]
    if not extra_names and not missing_names:
        raise ValueError(
            f"{caller}: {x} and {y} have several columns with the same name, such as "
            f"{repeated_names[0]!r}, so their order cannot be matched; rename the columns, or pass "
            "X.to_numpy()"
        )
    if extra_names:
        difference = f"{y} has {list_names(map(repr, extra_names), 3)}"
    else:
        difference = f"{y} lacks {list_names(map(repr, missing_names), 3)}"
    if extra_names and missing_names:
        difference += f" where {x} has {list_names(map(repr, missing_names), 3)}"
    difference += f" and {x} does not" if extra_names and not missing_names else ""
    shared_note = f"; {len(shared_names)} names are equal" if shared_names else ""
    shared_remedy = (
        "keep the columns that both have, X[[c for c in X if c in set(Y)]] on both sides, or "
    )
    raise ValueError(
        f"{caller}: {x} and {y} have columns with different names: {difference}{shared_note}; "
        f"{shared_remedy * bool(shared_names)}{COLUMN_NAMES_REMEDY}"
    )
