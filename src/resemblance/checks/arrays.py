"""Checks of a measure on tensors: the values of NumPy, and gradients where they are claimed."""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

import numpy as np

from ..rng import generator
from .trial import Check, Ruling, Trial, in_words, strictly

STEP = 1e-6  # of a difference quotient, in units of the data
QUOTIENT = 1e-3  # how far a difference quotient may be from a derivative
NO_TORCH = "PyTorch is not installed"


def tensors() -> dict[str, Check]:
    """Return the checks that need PyTorch, by their names."""
    return {"PyTorch": same_as_numpy, "gradient": gradient}


def same_as_numpy(trial: Trial) -> Ruling:
    """Check that tensors give a tensor with the value of arrays."""
    if not _has_torch():
        return "", None, NO_TORCH
    import torch

    x, y = trial.pair()
    try:
        with strictly():
            result = trial.measure(torch.tensor(x), torch.tensor(y))
    except Exception as error:
        remedy = "write it with x.xp, or claim differentiable=False"
        if trial.measure.differentiable:
            return "", False, f"{in_words(error, trial.measure)}; {remedy}"
        return "", None, f"takes NumPy arrays only: {in_words(error, trial.measure)}"
    expected, value = trial.value(x, y), float(result)
    holds = trial.same(value, expected)
    detail = f"of tensors {value:.8g}, of arrays {expected:.8g}"
    return "", holds, "" if holds else detail


def gradient(trial: Trial) -> Ruling:
    """Check the derivative in a generic direction against a difference quotient, on each side."""
    if not trial.measure.differentiable:
        return "not claimed", None, "none is recorded where it is not claimed"
    if not _has_torch():
        return "claimed", None, NO_TORCH
    try:
        with strictly():
            warnings.simplefilter("ignore", UserWarning)  # of conversions, which are the finding
            slopes = [_slope(trial, side) for side in (0, 1)]
    except Exception as error:
        return "claimed", False, in_words(error, trial.measure)
    for side, slope in zip("XY", slopes):
        if slope is None:
            detail = f"none reaches {side}: write it with x.xp, or claim differentiable=False"
            return "claimed", False, detail
        derivative, quotient = slope
        if not abs(derivative - quotient) <= QUOTIENT * max(1.0, abs(quotient)):
            detail = f"of {side} {derivative:.6g}, difference quotient {quotient:.6g}"
            return "claimed", False, detail
    return "claimed", True, ""


def _has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def _slope(trial: Trial, side: int) -> tuple[float, float] | None:
    """Return the derivative in a generic direction and a difference quotient, or None if no
    gradient is recorded."""
    import torch

    pair = trial.pair()
    step = pair[side].std() * generator(side, "direction").standard_normal(pair[side].shape)
    arguments = [torch.tensor(a, requires_grad=i == side) for i, a in enumerate(pair)]
    value = trial.measure(*arguments)
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
