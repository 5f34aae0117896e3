"""Warnings about values that mean little and arrays that look transposed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Set
from typing import Any

import numpy as np

from .arrays import carries_gradient, detach, to_numpy
from .representation import Representation, Undefined

SHAPE = {"orthogonal", "isotropic_scaling", "translation"}
TRANSPOSED = "; did you pass (n_features, n_samples)?"
DISSIMILARITIES = (
    "{} x {}, symmetric, zeros on the diagonal: dissimilarities taken for features? Pass what they "
    "are of, or correlate the triangles of two such matrices by scipy.stats.spearmanr"
)
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
    square = next((r.shape for r in (x, y) if _is_dissimilarity(r)), None)
    taken = DISSIMILARITIES.format(*square) if square else ""
    try:
        caveat = uninformative(_detached(x), _detached(y))
    except Undefined:
        return taken
    if caveat and d == e >= MUCH_WIDER * n:
        caveat += TRANSPOSED
    return "; ".join(filter(None, (caveat, taken)))


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


def _is_dissimilarity(x: Representation) -> bool:
    """Say whether features look like a matrix of dissimilarities between the samples.

    A matrix of two values is the adjacency of a graph, whose rows are features.
    """
    if x.shape[0] != x.shape[1] or x.shape[0] < 3:
        return False
    matrix = to_numpy(detach(x.source))
    slack = 16 * float(np.finfo(np.result_type(matrix, np.float16)).eps * np.abs(matrix).max())
    is_hollow = matrix.any() and np.abs(np.diagonal(matrix)).max() <= slack < np.inf
    if not is_hollow or not np.allclose(matrix, matrix.T, rtol=0, atol=slack):
        return False
    return len(np.unique(matrix)) > 2


def _detached(x: Representation) -> Representation:
    """Return the same values outside any gradient graph, where views are remembered."""
    if not carries_gradient(x.source):
        return x
    return Representation(detach(x.source), x.name, dtype=x.dtype)
