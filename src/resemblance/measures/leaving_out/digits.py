"""What is left of a sum without one of its terms: whether it still has digits, and of means."""

from __future__ import annotations

import numpy as np

from ...arrays import as_float64, scalar
from ...representation import Representation, Undefined, title
from ...views.points import preshape, size

MOST_SQUARED = 4096  # samples, of which the whole matrix is made, in a tenth of the time
LEAST = 1e-7  # share of a sum that has to be left, so that it keeps half of its digits
REMEDY = "recompute the values, or leave out groups of samples"


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


def row_sums(vector: np.ndarray, n: int) -> np.ndarray:
    """Return the sums of the rows of a symmetric matrix with zero diagonal, given the pairs i < j
    row by row, shape (n,)."""
    if n <= MOST_SQUARED:
        from scipy.spatial.distance import squareform

        return squareform(vector, checks=False).sum(axis=1)
    sums, start = np.zeros(n), 0
    for i in range(n - 1):
        row = vector[start : start + n - 1 - i]
        sums[i] += row.sum()
        sums[i + 1 :] += row
        start += n - 1 - i
    return sums


def size_without(x: Representation, centered: bool = True) -> np.ndarray:
    r"""Return the squared sizes of the pre-shape without each sample, centred again.

    .. math:: 1 - a \lVert p_i \rVert^2

    for rows :math:`p_i` of the pre-shape, shape (n,), in [0, 1]; a = 1 if not ``centered``. Raises
    ``Undefined`` for a representation that is constant, or nearly so, without some sample.
    """
    rest = _share_without(x, centered)
    need_rest(title(x), rest)
    return rest


def is_constant_without(x: Representation) -> bool:
    """Say whether all samples are equal but one, without which the representation is constant."""
    return scalar(size(x)) == 0 or bool(_share_without(x, True).min() < 1e-12)


def _share_without(x: Representation, centered: bool) -> np.ndarray:
    points = as_float64(preshape(x, centered=centered))
    squares = np.einsum("ij,ij->i", points, points)
    return 1 - factor(len(points), centered) * squares


def factor(n: int, centered: bool = True) -> float:
    """Return a, the factor of what n rows lose without one of them: more if they are centred."""
    return n / (n - 1) if centered else 1.0
