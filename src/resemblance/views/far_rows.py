"""Points whose distances keep their digits when some rows are far from all others.

The mean row of data with one giant row is far from all rows, so that the squared lengths of the
centred points are far larger than the squared distances between the other rows.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array, as_float64, carries_gradient, detach, like
from ..representation import Representation, view
from .points import preshape, size

FAR = 100.0  # times the median squared length: a row that is so long moves the mean of the others


def far_rows(squares: Array) -> np.ndarray | None:
    """Say which rows are far from the others, by squared lengths of centred rows; None if none
    is."""
    lengths = as_float64(detach(squares))
    if not lengths.size or lengths.max() <= FAR * np.median(lengths):
        return None
    return np.asarray(lengths > FAR * np.median(lengths))


@view
def near_points(x: Representation) -> Array:
    """:func:`~.points.preshape`, or the same points around the mean of the rows that are not far
    from the others: their distances are the same, and keep their digits."""
    points = preshape(x)
    if x.origin or x.signed or carries_gradient(x.source):
        return points
    is_far = far_rows(x.xp.vecdot(points, points))
    if is_far is None:
        return points
    first = int(np.flatnonzero(~is_far)[0])
    weights = like(~is_far / np.count_nonzero(~is_far), points)
    shifted = x.array - x.array[first : first + 1, :]
    return (shifted - weights[None, :] @ shifted) / size(x)
