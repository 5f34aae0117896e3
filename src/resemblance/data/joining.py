"""Restrict representations to common samples, average over repeats, and put columns in one
order."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from ..base.arrays import Array, as_array_like, as_float64, detach, to_numpy
from ..base.exceptions import UndefinedError
from ..significance.labels import label_codes
from .columns import are_columns_ordered, column_numbers, column_order
from .gaps import count_trials_with_gaps, describe_gaps
from .inputs import check_sample_order, sample_order
from .representation import Representation, as_representation, replace_rows, representation_title
from .sample_ids import id_spelling_hint


def join_samples(*representations: Any) -> tuple[Representation, ...]:
    """Return representations, or data frames as representations, with the common sample ids alone.

    The samples are in the order of the first argument.

    Raises ``ValueError`` when an argument has no ids or has repeated ids, or when no id is common
    to all arguments.
    """
    if len(representations) == 1 and isinstance(representations[0], Mapping):
        raise ValueError(
            "join_samples takes representations as separate arguments; for a mapping write "
            "dict(zip(x, rs.join_samples(*x.values())))"
        )
    if not representations:
        raise ValueError("join_samples: there is nothing to join")
    inputs = [as_representation(data) for data in representations]
    for r in inputs:
        repeated_ids = [i for i, count in Counter(r.order or ()).items() if count > 1]
        if r.order is None or repeated_ids:
            problem = f"; {repeated_ids[0]!r} occurs several times" if repeated_ids else ""
            raise ValueError(
                f"join_samples: {representation_title(r)} needs one unique id per sample{problem}"
            )
    common_ids = set.intersection(*(set(r.order or ()) for r in inputs))
    order = [i for i in inputs[0].order or () if i in common_ids]
    if not order:
        hint = id_spelling_hint(*(r.order for r in inputs[:2]))
        raise ValueError(f"join_samples: no sample id is common to all representations{hint}")
    return tuple(_select_by_ids(r, order) for r in inputs)


def condition_means(trials: Any, conditions: Any, *, name: str = "") -> Representation:
    r"""Return the mean over the trials of each condition, so that conditions are the samples.

    .. math:: \bar x_c = \frac{1}{|T_c|} \sum_{t \in T_c} x_t

    ``trials``: an array or representation, (n_trials, units). ``conditions``: a label for each
    trial, numbers or words. The rows, (conditions, units), are in the order of the sorted labels,
    and the labels are the ids. If the labels first occur in another order, comparing the means with
    rows without ids is an error. Repeats of a condition are not independent: if every trial were a
    sample, unrelated representations would look alike.

    Raises ``ValueError`` unless every trial has a label, and for labels with an index that has the
    trials in another order; ``UndefinedError`` for infinite values. If trials have NaN, the mean of
    a condition is over the trials with a number, with a warning. If no trial of a condition has a
    number for a feature, the mean is NaN, without a warning.
    """
    x = as_representation(trials)
    if x.signed and not x.signed.signs.all():
        raise UndefinedError(
            f"condition_means: {representation_title(x)} has missing dissimilarities, and means "
            "need all dissimilarities: leave out the conditions with missing values, and call "
            "rs.from_dissimilarities for the rest"
        )
    numbers = label_codes("condition_means", conditions, x.shape[0], "conditions")
    index = sample_order(conditions, "conditions")
    check_sample_order(
        "condition_means", representation_title(x), x.order, "the index of conditions", index
    )
    rows = [np.flatnonzero(numbers == number) for number in range(numbers.max() + 1)]
    means = [
        x.xp.mean(x.xp.take(x.array, as_array_like(indices, x.array), axis=0), axis=0)
        for indices in rows
    ]
    stacked = x.xp.stack(means)
    if not bool(x.xp.all(x.xp.isfinite(stacked))):
        stacked = _nan_condition_means(x, rows)
    labels = np.asarray(conditions, dtype=object)
    first_rows = [int(indices[0]) for indices in rows]
    y = replace_rows(x, stacked, [labels[row] for row in first_rows])
    y.name, y.is_sorted = name or x.name, first_rows != sorted(first_rows)
    return y


def _nan_condition_means(x: Representation, rows: Sequence[np.ndarray]) -> Array:
    """Return the mean of each condition over the trials with a number, (conditions, d); NaN if no
    trial has a number.

    ``rows``: the positions of the trials of each condition. Warns if only some trials of a
    condition have a number.
    """
    values = as_float64(to_numpy(detach(x.array)))
    if np.isinf(values).any():
        raise UndefinedError(
            f"condition_means: {representation_title(x)} {describe_gaps(~np.isfinite(values))}"
        )
    gaps = np.isnan(values)
    sums = np.array([np.where(gaps[indices], 0.0, values[indices]).sum(axis=0) for indices in rows])
    counts = np.array([(~gaps[indices]).sum(axis=0) for indices in rows])
    sizes = np.array([len(indices) for indices in rows])[:, None]
    if ((counts > 0) & (counts < sizes)).any():
        warnings.warn(
            count_trials_with_gaps("condition_means", representation_title(x), gaps), stacklevel=3
        )
    return as_array_like(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan), x.array)


def align_columns(
    caller: str, representations: Sequence[Representation], *, is_one_model: bool = False
) -> tuple[Representation, ...]:
    """Return the representations with the columns of equal names in the order of the first
    representation.

    ``caller``: the function in errors. If the names only number the columns, and the
    representations differ in the order of numbers, the columns are sorted by number.
    ``is_one_model``: column i is the same coordinate in all representations.

    Raises ``ValueError`` if only some names are equal; for one model also if the names differ, or
    if a representation without names meets numbers that are out of order.
    """
    numbers = [column_numbers(r.features or ()) or () for r in representations]
    orders = {tuple(i - min(columns) for i in columns) for columns in filter(None, numbers)}
    aligned, owners = list[Representation](), dict[Hashable, Representation]()
    for r in representations:
        if len(orders) > 1 and not are_columns_ordered(r.features):
            order = np.argsort(column_numbers(r.features or ()) or ()).tolist()
            r = reorder_columns(r, order, "their numbers")
        fallback = next((x for x in aligned if x.features and is_one_model), None)
        reference = next((owners[name] for name in r.features or () if name in owners), fallback)
        if reference is not None and r.features is not None:
            r = align_columns_to(caller, reference, r, is_one_model=is_one_model)
        owners = dict.fromkeys(r.features or (), r) | owners
        aligned.append(r)
    for r in aligned if is_one_model else ():
        unnamed = next((x for x in aligned if x.features is None), r)
        align_columns_to(caller, unnamed, r, is_one_model=True)
    return tuple(aligned)


def align_columns_to(
    caller: str, x: Representation, y: Representation, *, is_one_model: bool
) -> Representation:
    """Return y with the columns in the order of x, if the names are the same; otherwise y
    unchanged.

    ``caller``: the function in errors. ``is_one_model``: column i is the same coordinate on both
    sides. Raises ``ValueError`` if only some names are equal; for one model also if the names
    differ, or if a side without names meets numbers that are out of order.
    """
    names = representation_title(x), x.features, representation_title(y), y.features
    order = column_order(caller, *names, is_one_model=is_one_model)
    return y if order is None else reorder_columns(y, order, representation_title(x))


def reorder_columns(x: Representation, order: Sequence[int], order_name: str) -> Representation:
    """Return a new representation with the columns at the positions ``order``; ``order_name``
    describes the order in caveats."""
    y = copy(x)
    y.source = x.xp.take(x.source, as_array_like(np.asarray(order), x.source), axis=1)
    y.features = None if x.features is None else tuple(x.features[i] for i in order)
    y.path, y.column_order = None, order_name
    y._key, y._version = "", None  # other data
    return y


def _select_by_ids(x: Representation, ids: list[Hashable]) -> Representation:
    row = {sample: i for i, sample in enumerate(x.order or ())}
    rows = x.xp.asarray([row[i] for i in ids])
    return replace_rows(x, x.xp.take(x.source, rows, axis=0), ids)
