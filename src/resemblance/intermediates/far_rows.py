"""Points whose distances keep their digits when some rows are far from all others.

The mean row of data with one giant row is far from all rows, so that the squared lengths of the
centred points are far larger than the squared distances between the other rows.
"""

from __future__ import annotations

import numpy as np

from ..base.arrays import Array, as_float64, carries_gradient, detach, like, namespace, scalar
from ..data.representation import Representation, view
from .points import preshape, size

FAR = 100.0  # times the median squared length: a row that is so long moves the mean of the others


def far_rows(squares: Array) -> np.ndarray | None:
    """Say which rows are far from the others, by squared lengths of centred rows; None if none
    is."""
    lengths = detach(squares)
    ordered = namespace(lengths).sort(lengths)  # where the data are: three numbers leave
    count = ordered.shape[0]
    if not count:
        return None
    median = (scalar(ordered[(count - 1) // 2]) + scalar(ordered[count // 2])) / 2
    if not scalar(ordered[count - 1]) > FAR * median:
        return None
    return np.asarray(as_float64(lengths) > FAR * median)


@view
def rows_that_are_near(x: Representation) -> np.ndarray | None:
    """Say which rows are not far from the others; None if all are near."""
    if x.origin or x.signed:
        return None
    points = detach(preshape(x))
    is_far = far_rows(x.xp.vecdot(points, points))
    return None if is_far is None else ~is_far


@view
def near_points(x: Representation) -> Array:
    """:func:`~.points.preshape`, or the same points around the mean of the rows that are not far
    from the others: their distances are the same, and keep their digits."""
    points = preshape(x)
    is_near = None if carries_gradient(x.source) else rows_that_are_near(x)
    if is_near is None:
        return points
    first = int(np.flatnonzero(is_near)[0])
    weights = like(is_near / np.count_nonzero(is_near), points)
    shifted = x.array - x.array[first : first + 1, :]
    return (shifted - weights[None, :] @ shifted) / size(x)
