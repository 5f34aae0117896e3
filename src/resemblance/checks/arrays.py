"""Checks of a measure on arrays of other libraries: the values of NumPy, and gradients where they
are claimed."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from ..base.arrays import scalar
from ..base.rng import generator
from ..contracts._measure import Measure
from ..data.representation import Undefined
from .data import degenerate_pairs
from .trial import Check, Ruling, Trial, answer, computed, in_words, labelled, strictly

STEP = 1e-6  # of a difference quotient, in units of the data
QUOTIENT = 1e-4  # how far a difference quotient may be from a derivative
NO_TORCH = "PyTorch is not installed"
NO_STRICT = "array-api-strict is not installed"


def tensors() -> dict[str, Check]:
    """Return the checks that need another array library, by their names."""
    return {
        "PyTorch": same_on_tensors,
        "array API": same_on_standard_arrays,
        "gradient": gradient,
        "finite gradient": finite_gradient,
    }


def same_on_tensors(trial: Trial) -> Ruling:
    """Check that tensors give the value of arrays, and stay as they are."""
    if not _has_torch():
        return "", None, NO_TORCH
    import torch

    return _same_elsewhere(trial, lambda x: torch.from_numpy(x.copy()))


def same_on_standard_arrays(trial: Trial) -> Ruling:
    """Check that arrays which have no more than the array API standard give the value of arrays of
    NumPy, without being written to."""
    if importlib.util.find_spec("array_api_strict") is None:
        return "", None, NO_STRICT
    import array_api_strict

    def read_only(x: np.ndarray) -> Any:
        x = x.copy()
        x.flags.writeable = False
        return array_api_strict.asarray(x, copy=False)

    return _same_elsewhere(trial, read_only)


def _same_elsewhere(trial: Trial, convert: Callable[[np.ndarray], Any]) -> Ruling:
    """Check the values of arrays of another library, for inputs of several shapes."""
    for inputs in trial.shapes():
        expected, entry = answer(trial.entry, *inputs).value, labelled(trial.entry, len(inputs[0]))
        if np.isnan(expected):  # which other checks are about
            continue
        others = [convert(a) if np.ndim(a) == 2 else a for a in inputs]
        try:
            with strictly():
                value = scalar(computed(entry, *others))
        except Exception as error:
            fault = in_words(error, entry)
            if getattr(entry, "differentiable", False):
                return "", False, f"{fault}; write it with x.xp, or claim differentiable=False"
            return "", None, f"takes NumPy arrays only: {fault}"
        if not trial.same(value, expected):
            shapes = tuple(a.shape for a in inputs if np.ndim(a) == 2)
            return "", False, f"of them {value:.8g}, of arrays {expected:.8g} {shapes}"
        if any((np.asarray(b) != a).any() for a, b in zip(inputs, others) if np.ndim(a) == 2):
            return "", False, "writes into them"
    return "", True, ""


def gradient(trial: Trial) -> Ruling:
    """Check the derivative in a generic direction against a difference quotient, on each side, for
    pairs of several shapes."""
    if not trial.entry.differentiable:
        return "not claimed", None, "none is recorded where it is not claimed"
    if not _has_torch():
        return "claimed", None, NO_TORCH
    for (shape, pair), side in product(enumerate(trial.shapes()), (0, 1)):
        if np.isnan(answer(trial.entry, *pair).value):
            continue
        try:
            with strictly():
                warnings.simplefilter(
                    "ignore", UserWarning
                )  # of conversions, which are the finding
                slope = _slope(trial, pair, side)
        except Exception as error:
            if isinstance(error, Undefined) and shape > 0:
                continue  # fewer samples than features may be a special case
            return "claimed", False, in_words(error, trial.entry)
        if slope is None:
            remedy = "write it with x.xp, or claim differentiable=False"
            return "claimed", False, f"none reaches {'XY'[side]}: {remedy}"
        derivative, quotient = slope
        if not abs(derivative - quotient) <= QUOTIENT * max(1.0, abs(quotient)):
            detail = f"of {'XY'[side]} {derivative:.6g}, difference quotient {quotient:.6g}"
            return "claimed", False, detail
    return "claimed", True, ""


def finite_gradient(trial: Trial) -> Ruling:
    """Check that gradients are finite, or refused, where distances, ranks or singular values
    degenerate; the detail names what is refused though it has a value."""
    if not trial.entry.differentiable:
        return "not claimed", None, "none is recorded where it is not claimed"
    if not _has_torch():
        return "claimed", None, NO_TORCH
    refused = []
    for kind, *pair in degenerate_pairs(max(24, trial.entry.min_samples)):
        x, y = map(trial.suited, pair)
        if np.isnan(answer(trial.entry, x, y).value):
            continue
        try:
            with strictly():
                gradients = _gradients(trial.entry, x, y)
        except ValueError:
            refused.append(kind)
            continue
        if not all(np.isfinite(g).all() for g in gradients):
            return "claimed", False, f"of {kind}: NaN or infinite"
    return "claimed", True, f"no gradient: {', '.join(refused)}" if refused else ""


def _has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def _gradients(measure: Measure, x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    import torch

    arguments = [torch.tensor(a, requires_grad=True) for a in (x, y)]
    gradients = torch.autograd.grad(measure(*arguments), arguments)
    return [g.numpy() for g in gradients]


def _slope(trial: Trial, pair: Any, side: int) -> tuple[float, float] | None:
    """Return the derivative in a generic direction and a difference quotient, or None if no
    gradient is recorded."""
    import torch

    step = pair[side].std() * generator(side, "direction").standard_normal(pair[side].shape)
    arguments = [torch.tensor(a, requires_grad=i == side) for i, a in enumerate(pair)]
    value = trial.entry(*arguments)
    if not getattr(value, "requires_grad", False):
        return None
    value.backward()
    derivative = float((arguments[side].grad * torch.tensor(step)).sum())
    return derivative, _quotient(trial, pair, side, step)


def _quotient(trial: Trial, pair: Any, side: int, step: np.ndarray) -> float:
    ends = []
    for sign in (1, -1):
        moved = [a + sign * STEP * step if i == side else a for i, a in enumerate(pair)]
        ends.append(trial.value(*moved))
    return (ends[0] - ends[1]) / (2 * STEP)
