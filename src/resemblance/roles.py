"""What a statistic may need in addition to a representation, by the name of the argument: labels,
conditions, a replicate, a control, an encoder."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Number
from typing import Any

import numpy as np

from .arrays import to_numpy
from .declared import argument
from .inputs import check_order, order_of
from .representation import Representation, check_same_samples, finite


def classes(called: str, x: Representation, values: Any, role: str = "labels") -> np.ndarray:
    """Return labels as integers from 0, in the order of the sorted labels, by position.

    Raises ``ValueError`` unless there is one per sample, none is missing, and all are numbers or
    all of one type; and when the index of labels and the ids of the samples say that they do not
    belong together.
    """
    array, n = _label_array(values), x.shape[0]
    if array.shape != (n,):
        remedy = f"; give their column, of shape ({n},)" if array.shape == (n, 1) else ""
        raise ValueError(
            f"{called}: {role} must be one per sample, shape ({n},); got shape "
            f"{array.shape}{remedy}"
        )
    check_order(called, "X", x.order, f"the index of {role}", order_of(values, role))
    masked = isinstance(values, np.ma.MaskedArray)
    if np.ma.getmaskarray(values).any() if masked else any(map(_is_missing, array)):
        raise ValueError(
            f"{called}: {role} are missing, NaN or infinite for some samples; leave those samples "
            "out"
        )
    kinds = {_kind(v) for v in array.tolist()}
    if len(kinds) > 1:
        raise ValueError(
            f"{called}: {role} are of several types ({', '.join(sorted(kinds))}); make all of "
            "them words"
        )
    try:
        return np.unique(array, return_inverse=True)[1]
    except TypeError:
        raise ValueError(
            f"{called}: {role} must be numbers or words; got {next(iter(kinds))}"
        ) from None


def _label_array(values: Any) -> np.ndarray:
    """Labels as an array in which numbers, and None, have not become words."""
    if hasattr(values, "__dlpack__"):
        return to_numpy(values)
    if not isinstance(values, list | tuple):
        return np.asarray(values)
    objects = np.asarray(values, dtype=object)
    are_numbers = all(isinstance(v, int | float | np.number) for v in objects.ravel())
    return np.asarray(values) if are_numbers else objects


def _kind(value: Any) -> str:
    if isinstance(value, Number | np.bool_):
        return "number"
    return "str" if isinstance(value, str) else type(value).__name__


def _is_missing(value: Any) -> bool:
    """Whether a label is None, NaN, infinite, or another value that is not equal to itself (NaT,
    pandas.NA)."""
    if value is None or (isinstance(value, float | np.floating) and not math.isfinite(value)):
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA is neither true nor false
        return True


def _conditions(called: str, x: Representation, values: Any) -> np.ndarray:
    return classes(called, x, values, "conditions")


def _replicate(called: str, x: Representation, data: Any) -> Representation:
    """Return a second representation of the same samples in the same order."""
    y = argument(data, "replicate")
    if x.shape[0] != y.shape[0]:
        raise ValueError(
            f"{called}: X {x.shape} and its replicate {y.shape} must have the same samples (rows)"
        )
    check_same_samples(called, x, y)
    finite(y)
    return y


def _control(called: str, x: Representation, data: Any) -> Representation:
    """Return the representation of other samples by the same features."""
    y = argument(data, "control")
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            f"{called}: X {x.shape} and control {y.shape} must have the same features (columns)"
        )
    finite(y)
    return y


def _encoder(called: str, x: Representation, encoder: Any) -> Callable[[np.ndarray], Any]:
    if not callable(encoder):
        raise ValueError(
            f"{called}: encoder must be a function from inputs to a representation; got {encoder!r}"
        )
    function: Callable[[np.ndarray], Any] = encoder
    return function


ROLES: Mapping[str, Callable[[str, Representation, Any], Any]] = {
    "labels": classes,
    "conditions": _conditions,
    "replicate": _replicate,
    "control": _control,
    "encoder": _encoder,
}
