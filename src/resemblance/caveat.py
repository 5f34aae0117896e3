"""Warnings for a value that means little, and hints for arrays that look transposed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Set
from typing import Any

from .arrays import carries_gradient, detach
from .representation import Representation, Undefined

SHAPE = {"orthogonal", "isotropic_scaling", "translation"}
TRANSPOSED = "; did you pass (n_features, n_samples)?"
MUCH_WIDER = 4  # features per sample, from which on both arrays may be transposed


class UninformativeWarning(UserWarning):
    """A value that says little or nothing, whatever the data: too few samples for so many
    features."""


def no_caveat(x: Representation, y: Representation, **parameters: Any) -> str:
    """Nothing is known of when the value says little."""
    return ""


def caveat_of(
    uninformative: Callable[..., str], invariant_to: Set[str], x: Representation, y: Representation
) -> str:
    """Return why a value says little of this pair, whatever the data; an empty string for most
    pairs."""
    if x is y:
        return ""
    (n, d), e = x.shape, y.shape[1]
    if n == 2 and invariant_to >= SHAPE:
        return "fixed by the number of samples: any two samples have the same shape"
    try:
        caveat = uninformative(*(_detached(r) for r in (x, y)))
    except Undefined:
        return ""
    return f"{caveat}{TRANSPOSED}" if caveat and d == e >= MUCH_WIDER * n else caveat


def condition(uninformative: Callable[..., str]) -> str:
    """Return when a value says little, in words: the first paragraph of the docstring of the
    claim."""
    if uninformative is no_caveat:
        return ""
    return (
        (inspect.getdoc(uninformative) or "").split("\n\n")[0].replace("\n", " ").replace("``", "")
    )


def transposition(
    x: tuple[int, int], y: tuple[int, int], names: tuple[str, str] = ("X", "Y")
) -> str:
    """Return what to add to an error about numbers of rows, if these shapes look transposed."""
    wrong = {"both": x[1] == y[1], names[0]: x[1] == y[0], names[1]: x[0] == y[1]}
    which = next((name for name, so in wrong.items() if so), None)
    return f"{TRANSPOSED} Transpose {which}." if which else ""


def _detached(x: Representation) -> Representation:
    """The same values outside any gradient graph, with views that are remembered."""
    return (
        Representation(detach(x.source), x.name, dtype=x.dtype) if carries_gradient(x.source) else x
    )
