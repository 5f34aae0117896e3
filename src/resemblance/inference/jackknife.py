"""Leave-one-out and leave-group-out values of a measure: in closed form, or recomputed."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from inspect import unwrap
from typing import Any

import numpy as np

from ..base.arrays import scalar
from ..base.exceptions import UndefinedError
from ..contracts._measure import Measure
from ..contracts.folds import HELD_OUT, restrict_folds
from ..data.representation import (
    Representation,
    check_all_finite,
    fingerprint,
    pair_cache,
    replace_rows,
    without_gradient,
)
from ..intermediates.neighbors import nearest, nearest_in_subset
from ..intermediates.similarities import take_rows

# The functions that are cache keys.
NEAREST_FUNCTION, FINITE_FUNCTION, FINGERPRINT_FUNCTION = (
    unwrap(nearest),
    unwrap(check_all_finite),
    unwrap(fingerprint),
)


def has_closed_form_jackknife(measure: Measure, n: int) -> bool:
    """Return whether a measure has a closed form for leave-one-out values with ``n`` samples.

    A measure that computes n samples in blocks, to avoid storing an n x n matrix, has no closed
    form: the closed form would store several n x n matrices.
    """
    return measure.leave_one_out is not None and not measure.takes_blocks(n)


def leave_one_out_values(measure: Measure, x: Representation, y: Representation) -> np.ndarray:
    """Return the values of a measure without each sample, shape (n,), in float64.

    The claim ``leave_one_out`` of the measure computes all values at about the cost of one value.
    Without the claim, or if the claim raises :class:`UndefinedError`, the function makes n calls.
    Raises ``UndefinedError`` when a value without some sample does not exist, and ``ValueError``
    for too many samples for the closed form.
    """
    x, y = _detach_pair(x, y)
    n = x.shape[0]
    if measure.leave_one_out is not None and not has_closed_form_jackknife(measure, n):
        raise ValueError(
            f"{measure}: the values without each of {n:,} samples take matrices of all their "
            "pairs; leave out groups instead: by= with one label per sample"
        )
    if measure.leave_one_out is not None:
        try:
            with pair_cache(x, y):
                return np.asarray(measure.leave_one_out(x, y), dtype=np.float64)
        except UndefinedError:
            # Differences of sums may lack precision where a recomputed value exists.
            pass
    return leave_group_out_values(measure, x, y, np.arange(n)[:, None])


def leave_group_out_values(
    measure: Measure, x: Representation, y: Representation, groups: Iterable[np.ndarray]
) -> np.ndarray:
    """Return the values of a measure without each group of rows, a call per group, shape
    (groups,). ``groups``: the row indices of each group.

    A parameter with an entry per sample, such as ``labels``, also loses the entries of the group.
    Raises ``UndefinedError`` when a value without some group does not exist.
    """
    x, y = _detach_pair(x, y)
    n = x.shape[0]
    values = []
    for group in groups:
        rows = np.setdiff1d(np.arange(n), group)
        if len(rows) == 0:
            raise UndefinedError(f"{measure}: no sample is left without a group of all {n}")
        first = subsample_representation(x, rows)
        second = first if y is x else subsample_representation(y, rows)
        values.append(scalar(subsample_measure(measure, rows, x).evaluate(first, second)))
    return np.asarray(values, dtype=np.float64)


def subsample_representation(
    x: Representation, rows: np.ndarray, token: str = "", ids_of: np.ndarray | None = None
) -> Representation:
    """Return a new representation of the rows ``rows`` of ``x``, which reuses two intermediates of
    ``x``.

    The reused intermediates are the check for finite values, and the nearest neighbours that are
    among the rows. ``token``, unless "", replaces the fingerprint as the identifier of the data.
    ``ids_of``: rows of ``x`` with the ids of the new samples, by default ``rows``.
    """
    ids = None if x.ids is None else [x.ids[i] for i in (rows if ids_of is None else ids_of)]
    part = replace_rows(x, take_rows(x.source, rows), ids)

    def known(key: Any) -> Any:
        function, parameters = key
        if function is NEAREST_FUNCTION:
            return nearest_in_subset(x, rows, **dict(parameters))
        if function is FINITE_FUNCTION:
            with suppress(UndefinedError):  # the infinite values may be in other rows
                return check_all_finite(x)
        return token or None if function is FINGERPRINT_FUNCTION else None

    part._known = known
    return part


def subsample_measure(measure: Measure, rows: np.ndarray, x: Representation) -> Measure:
    """Return the measure for the samples ``rows`` of the n samples of ``x``: a copy with parameters
    of n entries, or n x n entries, and folds cut to ``rows``. Other measures are returned
    unchanged."""
    n = x.n_samples
    tables = {
        name: np.array(v, dtype=object)
        for name, v in measure.parameters
        if isinstance(v, tuple) and len(v) == n and name != HELD_OUT
    }
    parameters: dict[str, Any] = {
        name: (v[np.ix_(rows, rows)] if v.shape == (n, n) else v[rows]).tolist()
        for name, v in tables.items()
    }
    if measure.held_out is not None:
        parameters[HELD_OUT] = restrict_folds(measure.held_out, rows, x)
    return measure.with_parameters(**parameters) if parameters else measure


def _detach_pair(x: Representation, y: Representation) -> tuple[Representation, Representation]:
    first = without_gradient(x)
    return first, first if y is x else without_gradient(y)
