"""The names of columns: which are equal, which only number, and the order that two sides share."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from functools import lru_cache
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..base.formatting import list_names
from .sample_ids import ID_COLUMN_NAME

# The names of the columns of a table or of the last dimension of a DataArray; None without names.
FeatureNames = tuple[Hashable, ...] | None
NUMBERED_NAME = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)
COLUMN_NAMES_REMEDY = (
    "name the same columns alike on both sides, or pass X.to_numpy() if the columns belong together"
    " by their places"
)


def dataarray_feature_names(data: Any, width: int) -> FeatureNames:
    """Return the names of the columns of a DataArray with so many features; None for other data.

    Of a dimension without an index, a coordinate names the columns: that called ``<dimension>_id``,
    or the only one without repeats.
    """
    if not hasattr(data, "dims") or not hasattr(data, "indexes"):
        return None
    names = _dimension_labels(data)
    return to_python_names(names) if len(names) == width else None


def _dimension_labels(data: Any) -> tuple[Hashable, ...]:
    dimension = data.dims[-1] if len(data.dims) == 2 else None
    if dimension in data.indexes:
        return tuple(data.indexes[dimension])
    along = {str(k): c.values for k, c in data.coords.items() if c.dims == (dimension,)}
    unique = {k: v for k, v in along.items() if len(set(v.tolist())) == len(v)}
    name = f"{dimension}_id"
    if name in unique:
        return tuple(unique[name].tolist())
    return tuple(next(iter(unique.values())).tolist()) if len(unique) == 1 else ()


def dataarray_coordinate_ids(data: Any) -> tuple[Hashable, ...]:
    """Return the ids of the rows of a DataArray whose first dimension has no index: those of the
    coordinate called ``<dimension>_id``, of the only one with a usual name of ids, or of the only
    one without repeats; none without one."""
    dimension = data.dims[0] if data.dims else None
    along = {str(k): c.values for k, c in data.coords.items() if c.dims == (dimension,)}
    unique = {k: v for k, v in along.items() if len(set(v.tolist())) == len(v)}
    named = [k for k in along if ID_COLUMN_NAME.fullmatch(k)]
    for names in ([f"{dimension}_id"], [k for k in named if k in unique], named, [*unique]):
        if len(names) == 1 and names[0] in along:
            return tuple(along[names[0]].tolist())
    return ()


def to_python_names(names: Sequence[Any]) -> tuple[Hashable, ...]:
    """Return names as words and numbers of Python, which are equal whatever library they came
    in."""
    return tuple(name.item() if isinstance(name, np.generic) else name for name in names)


@lru_cache(maxsize=256)
def column_numbers(names: tuple[Hashable, ...]) -> tuple[int, ...] | None:
    """Return the number in each name where names only number the columns, else None.

    They do so where all are 0, 1, ... or 1, 2, ... in some order, alone or between the same words.
    """
    parts = [_number_in_name(name) for name in names]
    if None in parts or len({(start, end) for start, _, end in filter(None, parts)}) > 1:
        return None
    numbers = tuple(number for _, number, _ in filter(None, parts))
    first = min(numbers, default=0)
    is_count = (
        first in (0, 1)
        and len(set(numbers)) == len(numbers) == max(numbers, default=-1) - first + 1
    )
    return numbers if is_count else None


def _number_in_name(name: Hashable) -> tuple[str, int, str] | None:
    if isinstance(name, str):
        parts = NUMBERED_NAME.fullmatch(name)
        return (parts[1], int(parts[2]), parts[3]) if parts else None
    is_whole = isinstance(name, Integral) or (isinstance(name, Real) and float(name).is_integer())
    return ("", int(name), "") if is_whole and not isinstance(name, bool) else None  # type: ignore[call-overload]


def are_columns_ordered(names: FeatureNames) -> bool:
    """Say whether names do not number the columns, or do so in order."""
    numbers = None if names is None else column_numbers(names)
    return numbers is None or list(numbers) == sorted(numbers)


def column_order(
    called: str, x: str, of_x: FeatureNames, y: str, of_y: FeatureNames, *, is_one_model: bool
) -> tuple[int, ...] | None:
    """Return the columns of y in the order of x; None where they are in this order already.

    ``is_one_model``: the columns of both are the same coordinates. ``x`` and ``y``: how errors call
    the two. Numbered names of another count are put in the order of their numbers. Raises
    ``ValueError`` for names of which some are equal and some not, and for one model also for other
    names, and where a side without names meets numbers that are out of order.
    """
    if of_x == of_y:
        return None
    if of_x is None or of_y is None:
        if is_one_model and not (are_columns_ordered(of_x) and are_columns_ordered(of_y)):
            bare, numbered = (x, y) if of_x is None else (y, x)
            raise ValueError(
                f"{called}: the columns of {numbered} are numbered and not in the order of their "
                f"numbers, and those of {bare} have no names, so their order is unknown; "
                f"{COLUMN_NAMES_REMEDY}"
            )
        return None
    if (numbers := tuple(map(column_numbers, (of_x, of_y)))) and None not in numbers:
        return _numbered_column_order(called, x, of_x, y, of_y, is_one_model)
    mine, theirs = set(of_x), set(of_y)
    if mine == theirs and len(mine) == len(of_x) == len(of_y):
        places = {name: place for place, name in enumerate(of_y)}
        return tuple(places[name] for name in of_x)
    _check_column_names(called, (x, of_x), (y, of_y), is_one_model)
    return None


def _numbered_column_order(
    called: str,
    x: str,
    of_x: tuple[Hashable, ...],
    y: str,
    of_y: tuple[Hashable, ...],
    is_one_model: bool,
) -> tuple[int, ...] | None:
    a, b = (column_numbers(names) or () for names in (of_x, of_y))
    words = [(p[0], p[2]) for p in map(_number_in_name, (of_x[0], of_y[0])) if p]
    if is_one_model and words[0] == words[1] and min(a) != min(b):
        _check_column_names(called, (x, of_x), (y, of_y), is_one_model)
    if len(a) != len(b):
        return None if are_columns_ordered(of_y) else tuple(np.argsort(b).tolist())
    places = {number - min(b): place for place, number in enumerate(b)}
    order = tuple(places[number - min(a)] for number in a)
    return None if list(order) == sorted(order) else order


def _check_column_names(
    called: str,
    of_x: tuple[str, tuple[Hashable, ...]],
    of_y: tuple[str, tuple[Hashable, ...]],
    is_one_model: bool,
) -> None:
    """Raise ``ValueError`` for names that differ, of two models only where some are equal."""
    (x, first), (y, second) = of_x, of_y
    shared = set(first) & set(second)
    if not shared and not is_one_model:
        return
    only = [name for name in second if name not in shared]
    missing = [name for name in first if name not in shared]
    repeated = [name for names in (first, second) for name in names if names.count(name) > 1]
    if not only and not missing:
        raise ValueError(
            f"{called}: {x} and {y} have columns of one name, such as {repeated[0]!r}, so their "
            "order cannot be matched; rename the columns, or pass X.to_numpy()"
        )
    differing = (
        f"{y} has {list_names(map(repr, only), 3)}"
        if only
        else f"{y} lacks {list_names(map(repr, missing), 3)}"
    )
    differing += f" where {x} has {list_names(map(repr, missing), 3)}" if only and missing else ""
    differing += f" and {x} does not" if only and not missing else ""
    some = f"; {len(shared)} names are equal" if shared else ""
    keep = "keep the columns that both have, X[[c for c in X if c in set(Y)]] on both sides, or "
    raise ValueError(
        f"{called}: {x} and {y} have columns of other names: {differing}{some}; "
        f"{keep * bool(shared)}{COLUMN_NAMES_REMEDY}"
    )
