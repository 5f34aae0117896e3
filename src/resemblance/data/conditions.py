"""Combine recordings under several conditions, an array per condition, into one representation with
labels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np

from ..base.arrays import as_array_like, namespace
from .joining import align_columns
from .layouts import TrialPool, from_trials
from .representation import Representation


def from_conditions(
    responses: Mapping[Hashable, Any] | Sequence[Any],
    *,
    times: Mapping[Hashable, Any] | Sequence[Any] | None = None,
    pool: TrialPool | None = None,
    window: tuple[int, int] | None = None,
    axes: str | None = None,
    name: str = "",
) -> tuple[Representation, np.ndarray]:
    """Return all trials of several conditions as one representation, and the condition of every
    trial.

    Parameters
    ----------
    responses : an array or representation per condition, (n_trials, units), or with ``pool`` an
        array (n_trials, bins, units), in the order of recording; a mapping with the names of the
        conditions, or a sequence with conditions numbered from 0.
    times : when each trial was recorded (times or trial numbers, all different), shaped like
        ``responses``. The trials are then sorted by time. Without times the order across conditions
        is unknown: the function alternates two trials of the first condition with two trials of the
        next condition, and so on, so odd and even trials, and early and late trials, include every
        condition if every condition has at least four trials.
    pool, window, axes, name : as in :func:`from_trials`.

    The ids of the representation are (condition, number of the trial within the condition). The
    second return value is an array with the condition of every trial: numbers if all names are
    numbers, words if all names are words, and otherwise the names as text. Statistics of drift are
    meaningful only with ``times``, or when every condition was recorded throughout.

    Raises ``ValueError`` for conditions without trials, with units or a library different from the
    first condition, for names that look the same, like 1 and "1", and for times that do not fit or
    repeat.
    """
    arrays_by_name = _conditions_by_name(responses, "responses")
    representations = [
        _condition_trials(label, X, pool, window, axes) for label, X in arrays_by_name.items()
    ]
    units = {r.shape[1] for r in representations}
    if len(units) > 1:
        raise ValueError(
            f"from_conditions: all conditions must have the same units; got {sorted(units)}"
        )
    representations = list(align_columns("from_conditions", representations, is_one_model=True))
    names, counts = _condition_labels(list(arrays_by_name)), [r.shape[0] for r in representations]
    if times is None:
        order = _interleave_trials(counts)
    else:
        order = _trial_time_order(
            _conditions_by_name(times, "times"), arrays_by_name.keys(), counts
        )
    conditions = np.repeat(np.arange(len(representations)), counts)[order]
    ids = [(label, trial) for label, count in zip(arrays_by_name, counts) for trial in range(count)]
    xp, dtype = _common_library_and_dtype(representations)
    stacked = xp.concat([r.source for r in representations])
    rows = xp.take(stacked, as_array_like(order, stacked), axis=0)
    features = next((r.features for r in representations if r.features), None)
    ordered_ids = [ids[i] for i in order]
    return Representation(rows, name, ids=ordered_ids, features=features, dtype=dtype), names[
        conditions
    ]


def _conditions_by_name(arrays: Any, role: str) -> dict[Hashable, Any]:
    if not isinstance(arrays, Mapping | Sequence) or isinstance(arrays, str):
        raise ValueError(
            f"from_conditions: {role} must be a mapping or a list with one array per condition"
        )
    arrays_by_name = dict(arrays) if isinstance(arrays, Mapping) else dict(enumerate(arrays))
    if not arrays_by_name:
        raise ValueError(f"from_conditions: {role} is empty")
    return arrays_by_name


def _condition_trials(
    label: Hashable, X: Any, pool: TrialPool | None, window: Any, axes: str | None
) -> Representation:
    try:
        if pool is not None:
            return from_trials(X, pool=pool, window=window, axes=axes)
        if window is not None:
            raise ValueError('a window needs pool, for example pool="mean"')
        return X if isinstance(X, Representation) else Representation(X, str(label))
    except ValueError as error:
        raise ValueError(f"from_conditions: condition {label!r}: {error}") from error


def _interleave_trials(counts: list[int]) -> np.ndarray:
    """Return an order of the trials, as positions among the trials of all conditions in sequence,
    with every condition in odd and even trials and in both halves.

    ``counts``: the number of trials of each condition. Pairs of trials of one condition alternate
    with pairs of other conditions.
    """
    keys = []
    for condition, count in enumerate(counts):
        pairs = -(-count // 2)
        keys += [((trial // 2 + 0.5) / pairs, condition, trial) for trial in range(count)]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__))


def _trial_time_order(times: dict[Hashable, Any], labels: Any, counts: list[int]) -> np.ndarray:
    if times.keys() != labels:
        raise ValueError(
            f"from_conditions: times has the conditions {list(times)}, and responses has "
            f"{list(labels)}"
        )
    time_arrays = [np.asarray(times[label], dtype=float) for label in labels]
    if [values.shape for values in time_arrays] != [(count,) for count in counts]:
        shapes = [values.shape for values in time_arrays]
        raise ValueError(
            f"from_conditions: times must be one per trial, {counts}; got shapes {shapes}"
        )
    all_times = np.concatenate(time_arrays)
    if not np.isfinite(all_times).all() or len(np.unique(all_times)) < len(all_times):
        raise ValueError("from_conditions: times must be finite and all different")
    return np.argsort(all_times)


def _common_library_and_dtype(representations: list[Representation]) -> tuple[Any, str | None]:
    """Return the array library and the requested dtype of all representations, None for no request;
    raise ``ValueError`` if two representations differ."""
    kinds = sorted({type(r.source).__module__.partition(".")[0] for r in representations})
    precisions = {r.requested_dtype for r in representations}
    if len(kinds) > 1 or len(precisions) > 1:
        dtypes = f"with dtype {' and '.join(map(str, precisions))}"
        problem = f"of {' and '.join(kinds)}" if len(kinds) > 1 else dtypes
        raise ValueError(
            "from_conditions: all conditions must be of one library and dtype; got arrays "
            f"{problem}"
        )
    return namespace(*(r.source for r in representations)), precisions.pop()


def _condition_labels(names: list[Hashable]) -> np.ndarray:
    """Return condition names as an array: all numbers or all words unchanged, mixed names as text.
    Raises ``ValueError`` if two names become the same label."""
    number = int | float | np.bool_ | np.integer | np.floating
    are_numbers = all(isinstance(name, number) for name in names)
    is_plain = are_numbers or all(isinstance(name, str) for name in names)
    labels = np.array(names if is_plain else [str(name) for name in names])
    if len(np.unique(labels)) < len(names):
        is_ambiguous = [(labels == label).sum() > 1 or label != label for label in labels]
        name_list = ", ".join(map(repr, compress(names, is_ambiguous)))
        raise ValueError(
            f"from_conditions: names that look the same: {name_list}; rename one of them"
        )
    return labels
