"""What a statistic may need in addition to a representation, by the name of the argument: labels,
conditions, a replicate, a control, an encoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .declared import argument
from .inputs import check_order, order_of
from .representation import Representation, check_same_samples, finite
from .significance.labels import numbers_of


def classes(called: str, x: Representation, values: Any, role: str = "labels") -> np.ndarray:
    """Return labels as integers from 0, in the order of the sorted labels, by position.

    Raises ``ValueError`` unless there is one per sample, none is missing, and all are numbers or
    all of one type; and when the index of labels and the ids of the samples say that they do not
    belong together.
    """
    numbers = numbers_of(called, values, x.shape[0], role)
    check_order(called, "X", x.order, f"the index of {role}", order_of(values, role))
    return numbers


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
