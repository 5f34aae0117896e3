"""Warnings about values that mean little and arrays that look transposed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Set
from typing import Any

from .arrays import carries_gradient, detach
from .representation import Representation, Undefined

SHAPE = {"orthogonal", "isotropic_scaling", "translation"}
TRANSPOSED = "; did you pass (n_features, n_samples)?"
MUCH_WIDER = 4  # features per sample; from here on both arrays may be transposed


class UninformativeWarning(UserWarning):
    """The value says little, whatever the data: too few samples for so many features."""


def no_caveat(x: Representation, y: Representation, **parameters: Any) -> str:
    """Return no caveat: the default of measures that do not declare when they say little."""
    return ""


def caveat_of(
    uninformative: Callable[..., str], invariant_to: Set[str], x: Representation, y: Representation
) -> str:
    """Return why a value says little about this pair, or an empty string, as for most pairs."""
    if x is y:
        return ""
    n, d, e = x.n_samples, x.shape[1], y.shape[1]
    if n == 2 and invariant_to >= SHAPE:
        return "fixed by the number of samples: any two samples have the same shape"
    try:
        caveat = uninformative(_detached(x), _detached(y))
    except Undefined:
        return ""
    return f"{caveat}{TRANSPOSED}" if caveat and d == e >= MUCH_WIDER * n else caveat


def condition(uninformative: Callable[..., str]) -> str:
    """Return when a value says little: the first paragraph of the docstring of the claim."""
    if uninformative is no_caveat:
        return ""
    paragraph = (inspect.getdoc(uninformative) or "").split("\n\n")[0]
    return paragraph.replace("\n", " ").replace("``", "")


def transposition(
    x: tuple[int, int], y: tuple[int, int], names: tuple[str, str] = ("X", "Y")
) -> str:
    """Return a hint for an error about numbers of rows, if these shapes look transposed."""
    fits = {"both": x[1] == y[1], names[0]: x[1] == y[0], names[1]: x[0] == y[1]}
    suspect = next((name for name, is_match in fits.items() if is_match), None)
    return f"{TRANSPOSED} Transpose {suspect}." if suspect else ""


def _detached(x: Representation) -> Representation:
    """Return the same values outside any gradient graph, where views are remembered."""
    if not carries_gradient(x.source):
        return x
    return Representation(detach(x.source), x.name, dtype=x.dtype)
