"""Sample ids that do not match between two sides: slices of a table, two spellings of the same ids,
and rows sorted by the package."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from numbers import Integral
from pathlib import Path

import numpy as np

from ..base.formatting import list_names

# Usual names of columns, arrays and coordinates with sample ids
ID_COLUMN_NAME = re.compile(
    r"(?i:(.*[_ ])?(ids?|uu?ids?|(file)?(names?|paths?)|files?|keys?|index|urls?|samples?|images?"
    r"|stimul(us|i))|(doc|item|img|image|text|video|user|p|q)ids?)|.*[a-z]I[dD]s?"
)
# Usual names of columns with row numbers
NUMERIC_ID_COLUMN_NAME = re.compile(
    r"(?i:(.*_)?(ids?|index)|idx|row|rowid|uid|unnamed: 0|(doc|item|img|image|text|video|user)id)"
    r"|.*[a-z]I[dD]"
)


def _numeric_id_to_text(name: Hashable) -> str:
    is_whole = isinstance(name, float) and name.is_integer()
    return str(int(name) if is_whole else name)  # type: ignore[call-overload]


# Conversions that make two spellings of an id equal, and the code to show to the user
ID_SPELLINGS: Mapping[Callable[[Hashable], str], str] = {
    _numeric_id_to_text: "str(i) for i in ids",
    lambda name: name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name): (
        "i.decode() for i in ids"
    ),
    lambda name: str(name).lstrip("0") or "0": "str(i).lstrip('0') or '0' for i in ids",
    lambda name: str(name).strip().lower(): "str(i).strip().lower() for i in ids",
    lambda name: Path(str(name)).stem: "pathlib.Path(str(i)).stem for i in ids",
}


def are_table_slices(x_ids: Sequence[Hashable], y_ids: Sequence[Hashable]) -> bool:
    """Return whether ``x_ids`` and ``y_ids`` are integers from two slices of a table: no id is on
    both sides, or the ids count up by 1 from different starts."""
    if not all(isinstance(i, Integral) and not isinstance(i, bool) for i in (*x_ids, *y_ids)):
        return False
    numbers = [np.array(values) for values in (x_ids, y_ids)]
    are_stretches = all((np.diff(values) == 1).all() for values in numbers) and x_ids[0] != y_ids[0]
    return bool(are_stretches or not set(x_ids) & set(y_ids))


def id_spelling_hint(x_ids: Sequence[Hashable] | None, y_ids: Sequence[Hashable] | None) -> str:
    """Return a hint for an error about ids without a match, if ``x_ids`` and ``y_ids`` spell the
    same ids differently; else "". None stands for unknown ids."""
    for form, call in ID_SPELLINGS.items():
        ids_by_form = {form(i): i for i in y_ids or ()}
        x_id = next((i for i in x_ids or () if ids_by_form.get(form(i), i) != i), None)
        if x_id is not None:
            y_id = ids_by_form[form(x_id)]
            return f"; {x_id!r} on one side looks like {y_id!r} on the other: write ids=[{call}]"
    return ""


def check_not_sorted_by_ids(caller: str, x: str, ids: Sequence[Hashable], y: str) -> None:
    """Raise ``ValueError`` for rows y without ids if the package sorted the rows of x by ``ids``,
    unless the ids are 0, 1, ..., n - 1.

    ``caller``, ``x``, ``y``: the function and the two sides in messages. ``ids``: the ids of x.
    """
    if tuple(ids) != tuple(range(len(ids))):
        raise ValueError(
            f"{caller}: {y} has no ids, and the rows of {x} were sorted: "
            f"{list_names(ids, 3)}; name the rows of {y}: "
            "rs.Representation(x, ids=labels), or a data frame with an index; then "
            "rs.join_samples puts both in one order"
        )
