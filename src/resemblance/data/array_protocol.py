"""Array protocol of representations: conversion to NumPy, and clear errors for array operators and
attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.arrays import detach, to_numpy

# Operators of arrays, by the names of the special methods
ARITHMETIC_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "matmul": "@", "pow": "**",
    "floordiv": "//", "mod": "%",
}  # fmt: skip

COMPARISON_OPERATORS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}

CALLS = {"abs": "abs(x.array)", "float": "float(x.array[i, j])", "contains": "y in x.array"}


def as_read_only_numpy(array: Any, dtype: Any, copy: bool | None) -> np.ndarray:
    """Return the values of ``array``, of any library, as a NumPy array: a read-only view if
    possible, a writable copy if ``copy`` is True.

    ``dtype``: None for the dtype of the values. ``copy``: None copies if necessary; False raises
    ``ValueError`` if another dtype would need a copy.
    """
    values = to_numpy(detach(array))
    if copy:
        return np.array(values, dtype=dtype, copy=True)
    if copy is False and dtype is not None and values.dtype != np.dtype(dtype):
        raise ValueError(f"values of {values.dtype} cannot be {np.dtype(dtype)} without a copy")
    view = np.asarray(values, dtype=dtype).view()
    view.flags.writeable = False
    return view


def missing_attribute_message(title: str, name: str, is_of_arrays: bool) -> str:
    """Return the message of the ``AttributeError`` for a missing attribute ``name`` of the
    representation ``title``. If arrays have the attribute (``is_of_arrays``), the message
    recommends ``x.array``."""
    remedy = f"; its values are an array: x.array.{name}" if is_of_arrays else ""
    return f"{title} has no attribute {name!r}{remedy}"


def forbid_operators(kind: type) -> None:
    """Set the array operators of a class, in place, to functions that raise a ``TypeError`` and
    recommend ``.array``."""
    for name, symbol in ARITHMETIC_OPERATORS.items():
        setattr(kind, f"__{name}__", _refused_operator(symbol, is_first=True))
        setattr(kind, f"__r{name}__", _refused_operator(symbol, is_first=False))
    for name, symbol in COMPARISON_OPERATORS.items():
        setattr(kind, f"__{name}__", _refused_operator(symbol, is_first=True))
    for name in ("neg", "pos"):
        setattr(kind, f"__{name}__", _refuse_unary_operator)
    for name, call in CALLS.items():
        setattr(kind, f"__{name}__", _refusing_call(call))


def _refused_operator(symbol: str, is_first: bool) -> Any:
    def refuse(self: Any, other: Any) -> Any:
        operands, swapped = ("x.array", "y"), ("y", "x.array")
        left, right = operands if is_first else swapped
        raise TypeError(
            f"a Representation is no array, so it has no {symbol}; write {left} {symbol} {right}"
        )

    return refuse


def _refuse_unary_operator(self: Any) -> Any:
    raise TypeError("a Representation is no array, so it has no sign; write -x.array")


def _refusing_call(call: str) -> Any:
    def refuse(self: Any, *_: Any) -> Any:
        raise TypeError(f"a Representation is no number and no array; write {call}")

    return refuse
