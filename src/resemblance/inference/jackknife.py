"""Values of a measure without some of the samples: in closed form where it has one, or anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from inspect import unwrap
from typing import Any

import numpy as np

from ..base.arrays import scalar
from ..contracts._measure import Measure
from ..data.representation import (
    Representation,
    Undefined,
    comparing,
    fingerprint,
    finite,
    with_rows,
    without_gradient,
)
from ..intermediates.neighbours import nearest, nearest_in_part
from ..intermediates.similarities import take_rows

# As keys of views.
NEAREST, FINITE, FINGERPRINT = unwrap(nearest), unwrap(finite), unwrap(fingerprint)


def is_closed(measure: Measure, n: int) -> bool:
    """Say whether a measure has the values without each of n samples in closed form.

    Where it computes many samples in blocks, so as to store no matrix of all their pairs, it has
    not: the closed form would store several.
    """
    return measure.left_out is not None and not measure.takes_blocks(n)


def left_out_values(measure: Measure, x: Representation, y: Representation) -> np.ndarray:
    """Return the values of a measure without each sample, shape (n,), in float64.

    By the claim ``left_out`` of the measure, at about the cost of one value; without it, or where
    it raises :class:`Undefined`, by n calls. Raises ``Undefined`` when there is no value without
    some sample, and ``ValueError`` for more samples than the claim has a closed form for.
    """
    x, y = _detached(x, y)
    n = x.shape[0]
    if measure.left_out is not None and not is_closed(measure, n):
        raise ValueError(
            f"{measure}: the values without each of {n:,} samples take matrices of all their "
            "pairs; leave out groups instead: by= with one label per sample"
        )
    if measure.left_out is not None:
        try:
            with comparing(x, y):
                return np.asarray(measure.left_out(x, y), dtype=np.float64)
        except Undefined:
            pass  # the other samples may have a value that differences of sums do not resolve
    return values_without(measure, x, y, np.arange(n)[:, None])


def values_without(
    measure: Measure, x: Representation, y: Representation, groups: Iterable[np.ndarray]
) -> np.ndarray:
    """Return the values of a measure without each group of rows, one call each, shape (groups,).

    A parameter that lists one entry for each sample, such as ``labels``, loses those of the group,
    too. Raises ``Undefined`` when there is no value without some group.
    """
    x, y = _detached(x, y)
    n = x.shape[0]
    values = []
    for group in groups:
        rows = np.setdiff1d(np.arange(n), group)
        if len(rows) == 0:
            raise Undefined(f"{measure}: no sample is left without a group of all {n}")
        first = rows_of(x, rows)
        second = first if y is x else rows_of(y, rows)
        values.append(scalar(on_rows(measure, rows, n).evaluate(first, second)))
    return np.asarray(values, dtype=np.float64)


def rows_of(x: Representation, rows: np.ndarray, token: str = "") -> Representation:
    """Return a representation of some of the samples. From the views of all of them it has that its
    values are finite, and the nearest neighbours that are among the samples.

    ``token`` takes the place of the fingerprint.
    """
    ids = None if x.ids is None else [x.ids[i] for i in rows]
    part = with_rows(x, take_rows(x.source, rows), ids)

    def carry(key: Any, compute: Callable[[Representation], Any]) -> Any:
        function, parameters = key
        if function is NEAREST:
            return nearest_in_part(x, rows, **dict(parameters))
        if function is FINITE:
            with suppress(Undefined):  # what is not finite may be in other rows
                return finite(x)
        return token or None if function is FINGERPRINT else None

    part._carry = carry
    return part


def on_rows(measure: Measure, rows: np.ndarray, n: int) -> Measure:
    """Return the measure for some of n samples: with their entries of the parameters that list one
    for each sample."""
    tables = {name: v for name, v in measure.parameters if isinstance(v, tuple) and len(v) == n}
    listed = {name: tuple(np.array(v, dtype=object)[rows].tolist()) for name, v in tables.items()}
    return measure.where(**listed) if listed else measure


def _detached(x: Representation, y: Representation) -> tuple[Representation, Representation]:
    first = without_gradient(x)
    return first, first if y is x else without_gradient(y)
