"""Checks of a measure on arrays of other libraries: equal values as with NumPy, and gradients where
the measure declares gradients."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from ..base.arrays import scalar
from ..base.exceptions import UndefinedError
from ..base.rng import generator
from ..contracts._measure import Measure
from .data import degenerate_pairs
from .trial import (
    CheckContext,
    CheckFunction,
    CheckResult,
    call_checked,
    call_outcome,
    copy_if_array,
    format_user_error,
    is_matrix,
    shared_by_checks,
    warnings_as_errors,
    with_matching_labels,
)

GRADIENT_STEP = 1e-6  # step of a difference quotient, in units of the data
MAX_QUOTIENT_ERROR = 1e-4  # largest difference between a difference quotient and a derivative
NO_TORCH = "PyTorch is not installed"
NO_STRICT = "array-api-strict is not installed"


def array_library_checks() -> dict[str, CheckFunction]:
    """Return the checks that need another array library, by name. Without the library, a check
    decides nothing."""
    return {
        "PyTorch": same_on_tensors,
        "array API": same_on_standard_arrays,
        "gradient": gradient,
        "finite gradient": finite_gradient,
    }


@shared_by_checks
def inputs_with_values(trial: CheckContext) -> list[tuple[tuple[Any, ...], float]]:
    """Return pairs (inputs, value) for generic inputs of several shapes; leave out inputs without a
    value."""
    pairs = (
        (inputs, call_outcome(trial.entry, *map(copy_if_array, inputs)).value)
        for inputs in trial.shapes()
    )
    return [(inputs, value) for inputs, value in pairs if not np.isnan(value)]


def same_on_tensors(trial: CheckContext) -> CheckResult:
    """Check that PyTorch tensors give the same values as NumPy arrays, and remain unchanged."""
    if not _has_torch():
        return "", None, NO_TORCH
    import torch

    return _same_for_converted_arrays(trial, lambda x: torch.from_numpy(x.copy()))


def same_on_standard_arrays(trial: CheckContext) -> CheckResult:
    """Check that read-only arrays with no more than the array API standard give the same values as
    NumPy arrays."""
    if importlib.util.find_spec("array_api_strict") is None:
        return "", None, NO_STRICT
    import array_api_strict

    def read_only(x: np.ndarray) -> Any:
        x = x.copy()
        x.flags.writeable = False
        return array_api_strict.asarray(x, copy=False)

    return _same_for_converted_arrays(trial, read_only)


def _same_for_converted_arrays(
    trial: CheckContext, convert: Callable[[np.ndarray], Any]
) -> CheckResult:
    """Check that arrays converted by ``convert`` give the values of NumPy arrays, for inputs of
    several shapes, and remain unchanged. A function that refuses such arrays fails only if the
    function claims gradients."""
    trial = trial.with_few_starts()
    for inputs, expected in inputs_with_values(trial):
        entry = with_matching_labels(trial.entry, len(inputs[0]))
        converted_inputs = [convert(a) if is_matrix(a) else a for a in inputs]
        try:
            with warnings_as_errors():
                value = scalar(call_checked(entry, *converted_inputs))
        except Exception as error:
            fault = format_user_error(error, entry)
            if getattr(entry, "differentiable", False):
                return "", False, f"{fault}; write it with x.xp, or claim differentiable=False"
            return "", None, f"takes NumPy arrays only: {fault}"
        if not trial.same(value, expected):
            shapes = tuple(a.shape for a in inputs if is_matrix(a))
            return "", False, f"of them {value:.8g}, of arrays {expected:.8g} {shapes}"
        if any(
            (np.asarray(b) != a).any() for a, b in zip(inputs, converted_inputs) if is_matrix(a)
        ):
            return "", False, "writes into them"
    return "", True, ""


def gradient(trial: CheckContext) -> CheckResult:
    """Check the derivative in a random direction against a difference quotient, for X and for Y,
    and for pairs of several shapes. Without the claim of gradients, decide nothing."""
    if not trial.entry.differentiable:
        return "not claimed", None, "none is recorded where it is not claimed"
    if not _has_torch():
        return "claimed", None, NO_TORCH
    for (pair, _), side in product(inputs_with_values(trial), (0, 1)):
        try:
            with warnings_as_errors():
                warnings.simplefilter(
                    "ignore", UserWarning
                )  # warnings of conversions, which the check reports itself
                slope = _directional_derivative(trial, pair, side)
        except Exception as error:
            is_special = {a.shape for a in pair} != {(trial.samples, trial.features)}
            if isinstance(error, UndefinedError) and is_special:
                continue  # fewer samples than features may be a special case
            return "claimed", False, format_user_error(error, trial.entry)
        if slope is None:
            remedy = "write it with x.xp, or claim differentiable=False"
            return "claimed", False, f"none reaches {'XY'[side]}: {remedy}"
        derivative, quotient = slope
        if not abs(derivative - quotient) <= MAX_QUOTIENT_ERROR * max(1.0, abs(quotient)):
            detail = f"of {'XY'[side]} {derivative:.6g}, difference quotient {quotient:.6g}"
            return "claimed", False, detail
    return "claimed", True, ""


def finite_gradient(trial: CheckContext) -> CheckResult:
    """Check that gradients are finite, or refused by a ``ValueError``, where distances, ranks or
    singular values degenerate. The detail names data with a value and a refused gradient."""
    if not trial.entry.differentiable:
        return "not claimed", None, "none is recorded where it is not claimed"
    if not _has_torch():
        return "claimed", None, NO_TORCH
    refused_kinds = []
    for kind, *pair in degenerate_pairs(max(24, trial.entry.min_samples)):
        x, y = map(trial.suited, pair)
        try:
            with warnings_as_errors():
                gradients = _gradients(trial.entry, x, y)
        except Exception as error:
            if np.isnan(call_outcome(trial.entry, x, y).value):
                continue  # other checks report missing values
            if not isinstance(error, ValueError):
                raise
            refused_kinds.append(kind)
            continue
        if not all(np.isfinite(g).all() for g in gradients):
            return "claimed", False, f"of {kind}: NaN or infinite"
    return "claimed", True, f"no gradient: {', '.join(refused_kinds)}" if refused_kinds else ""


def _has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def _gradients(measure: Measure, x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    import torch

    arguments = [torch.tensor(a, requires_grad=True) for a in (x, y)]
    gradients = torch.autograd.grad(measure(*arguments), arguments)
    return [g.numpy() for g in gradients]


def _directional_derivative(
    trial: CheckContext, pair: Any, side: int
) -> tuple[float, float] | None:
    """Return the derivative of one side of a pair (0 for X, 1 for Y) in a random direction, and the
    difference quotient; None if the value has no gradient. ``pair``: the arrays X and Y."""
    import torch

    step = pair[side].std() * generator(side, "direction").standard_normal(pair[side].shape)
    arguments = [torch.tensor(a, requires_grad=i == side) for i, a in enumerate(pair)]
    value = trial.entry(*arguments)
    if not getattr(value, "requires_grad", False):
        return None
    value.backward()
    derivative = float((arguments[side].grad * torch.tensor(step)).sum())
    return derivative, _difference_quotient(trial, pair, side, step)


def _difference_quotient(trial: CheckContext, pair: Any, side: int, step: np.ndarray) -> float:
    values = []
    for sign in (1, -1):
        inputs = [a + sign * GRADIENT_STEP * step if i == side else a for i, a in enumerate(pair)]
        values.append(trial.value(*inputs))
    return (values[0] - values[1]) / (2 * GRADIENT_STEP)
