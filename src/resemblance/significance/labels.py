"""Labels of samples as integer codes."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any

import numpy as np

from ..base.arrays import to_numpy


def label_codes(caller: str, values: Any, n: int, role: str = "labels") -> np.ndarray:
    """Return the labels ``values``, a list or array of numbers or words, as integers from 0, (n,):
    the position of each label among the sorted distinct labels.

    ``caller``, ``role``: the function and the parameter in errors. Raises ``ValueError`` unless
    there is one label for each of n samples, no label is missing, and all labels are numbers or all
    have one type.
    """
    array = _label_array(values)
    if array.shape != (n,):
        remedy = f"; give their column, of shape ({n},)" if array.shape == (n, 1) else ""
        raise ValueError(
            f"{caller}: {role} must be one per sample, shape ({n},); got shape "
            f"{array.shape}{remedy}"
        )
    is_masked = isinstance(values, np.ma.MaskedArray)
    if np.ma.getmaskarray(values).any() if is_masked else any(map(_is_unusable_label, array)):
        has_text = any(isinstance(v, str) and v == "nan" for v in array.tolist())
        text = "; the text nan counts as missing: spell a name of these letters NaN"
        raise ValueError(
            f"{caller}: {role} are missing, NaN or infinite for some samples; leave those samples "
            f"out{text if has_text else ''}"
        )
    kinds = {_label_kind(v) for v in array.tolist()}
    if len(kinds) > 1:
        raise ValueError(
            f"{caller}: {role} are of several types ({', '.join(sorted(kinds))}); make all of "
            "them words"
        )
    try:
        return np.unique(array, return_inverse=True)[1]
    except TypeError:
        raise ValueError(
            f"{caller}: {role} must be numbers or words; got {next(iter(kinds))}"
        ) from None


def is_missing_label(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas.NA (whose equality is undefined)."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _is_unusable_label(value: Any) -> bool:
    infinite = isinstance(value, float | np.floating) and not math.isfinite(value)
    # astype(str) turns NaN into "nan"
    return infinite or is_missing_label(value) or (isinstance(value, str) and value == "nan")


def _label_array(values: Any) -> np.ndarray:
    """Return the labels ``values`` as an array: a list of numbers as numbers, and other lists as
    objects, so numbers and None in a list of words do not become words."""
    if hasattr(values, "__dlpack__"):
        return to_numpy(values)
    if not isinstance(values, list | tuple):
        return np.asarray(values)
    objects = np.asarray(values, dtype=object)
    are_numbers = all(isinstance(v, int | float | np.number) for v in objects.ravel())
    return np.asarray(values) if are_numbers else objects


def _label_kind(value: Any) -> str:
    if isinstance(value, Number | np.bool_):
        return "number"
    return "str" if isinstance(value, str) else type(value).__name__
