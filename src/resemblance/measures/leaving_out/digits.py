"""What is left of a sum without one of its terms: whether it still has digits, and of means."""

from __future__ import annotations

import numpy as np

from ...arrays import Array, scalar, to_numpy
from ...representation import Representation, Undefined, title
from ...views.points import preshape, size

LEAST = 1e-7  # share of a sum that has to be left, so that it keeps half of its digits
REMEDY = "compute the values anew or leave out groups of samples"


def as_float64(array: Array) -> np.ndarray:
    """Return an array of any library as a NumPy array in float64."""
    return np.asarray(to_numpy(array), dtype=np.float64)


def need_samples(name: str, x: Representation, least: int) -> None:
    """Raise ``Undefined`` when one sample less than ``x`` has is too few for a measure."""
    n = x.shape[0]
    if n - 1 < least:
        raise Undefined(
            f"{name} needs at least {least} samples; {n - 1} are left of {n} without one"
        )


def need_rest(name: str, rest: np.ndarray, least: float = LEAST) -> None:
    """Raise ``Undefined`` when without some sample too little is left of a sum; ``rest`` is the
    share that is left."""
    few = np.flatnonzero(~(rest > least))
    if len(few):
        raise Undefined(
            f"{name}: without sample {few[0]} of {len(rest)} nothing, or too little for a "
            f"difference, is left; {REMEDY}"
        )


def mean_without(terms: np.ndarray) -> np.ndarray:
    """Return the mean of the other terms for each of n terms, shape (n,)."""
    return (terms.sum() - terms) / (len(terms) - 1)


def size_without(x: Representation) -> np.ndarray:
    r"""Return the squared sizes of the pre-shape without each sample, centred again.

    .. math:: 1 - a \lVert p_i \rVert^2

    for rows :math:`p_i` of the pre-shape, shape (n,), in [0, 1]. Raises ``Undefined`` for a
    representation that is constant, or nearly so, without some sample.
    """
    points = as_float64(preshape(x))
    rest = 1 - len(points) / (len(points) - 1) * np.einsum("ij,ij->i", points, points)
    need_rest(title(x), rest)
    return np.asarray(rest)


def is_constant_without(x: Representation) -> bool:
    """Say whether all samples are equal but one, by whose removal the representation becomes
    constant."""
    if scalar(size(x)) == 0:
        return True
    points = as_float64(preshape(x))
    squares = np.einsum("ij,ij->i", points, points)
    return bool(1 - len(points) / (len(points) - 1) * squares.max() < 1e-12)
