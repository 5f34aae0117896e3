"""Values of a measure without some of the samples: in closed form where it has one, or anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from inspect import unwrap
from typing import Any

import numpy as np

from ..base.arrays import scalar
from ..base.exceptions import UndefinedError
from ..contracts._measure import Measure
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

# As keys of intermediates.
NEAREST_FUNCTION, FINITE_FUNCTION, FINGERPRINT_FUNCTION = (
    unwrap(nearest),
    unwrap(check_all_finite),
    unwrap(fingerprint),
)


def has_closed_form_jackknife(measure: Measure, n: int) -> bool:
    """Say whether a measure has the values without each of n samples in closed form.

    Where it computes many samples in blocks, so as to store no matrix of all their pairs, it has
    not: the closed form would store several.
    """
    return measure.leave_one_out is not None and not measure.takes_blocks(n)


def leave_one_out_values(measure: Measure, x: Representation, y: Representation) -> np.ndarray:
    """Return the values of a measure without each sample, shape (n,), in float64.

    By the claim ``leave_one_out`` of the measure, at about the cost of one value; without it, or
    where it raises :class:`UndefinedError`, by n calls. Raises ``UndefinedError`` when there is no
    value without some sample, and ``ValueError`` for more samples than the claim has a closed form
    for.
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
            pass  # the other samples may have a value that differences of sums do not resolve
    return leave_group_out_values(measure, x, y, np.arange(n)[:, None])


def leave_group_out_values(
    measure: Measure, x: Representation, y: Representation, groups: Iterable[np.ndarray]
) -> np.ndarray:
    """Return the values of a measure without each group of rows, one call each, shape (groups,).

    A parameter that lists one entry for each sample, such as ``labels``, loses those of the group,
    too. Raises ``UndefinedError`` when there is no value without some group.
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
        values.append(scalar(subsample_measure(measure, rows, n).evaluate(first, second)))
    return np.asarray(values, dtype=np.float64)


def subsample_representation(
    x: Representation, rows: np.ndarray, token: str = ""
) -> Representation:
    """Return a representation of some of the samples. From the intermediates of all of them it has
    that its values are finite, and the nearest neighbours that are among the samples.

    ``token`` takes the place of the fingerprint.
    """
    ids = None if x.ids is None else [x.ids[i] for i in rows]
    part = replace_rows(x, take_rows(x.source, rows), ids)

    def carry(key: Any, compute: Callable[[Representation], Any]) -> Any:
        function, parameters = key
        if function is NEAREST_FUNCTION:
            return nearest_in_subset(x, rows, **dict(parameters))
        if function is FINITE_FUNCTION:
            with suppress(UndefinedError):  # what is not finite may be in other rows
                return check_all_finite(x)
        return token or None if function is FINGERPRINT_FUNCTION else None

    part._carry = carry
    return part


def subsample_measure(measure: Measure, rows: np.ndarray, n: int) -> Measure:
    """Return the measure for some of n samples: with their entries of the parameters that list one
    for each sample."""
    tables = {name: v for name, v in measure.parameters if isinstance(v, tuple) and len(v) == n}
    parameters = {
        name: tuple(np.array(v, dtype=object)[rows].tolist()) for name, v in tables.items()
    }
    return measure.with_parameters(**parameters) if parameters else measure


def _detach_pair(x: Representation, y: Representation) -> tuple[Representation, Representation]:
    first = without_gradient(x)
    return first, first if y is x else without_gradient(y)
