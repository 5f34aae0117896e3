"""Points with distances that keep their digits when some rows are outliers, far from all other
rows.

A giant row pulls the mean row away from all rows, so the squared lengths of centred points are far
larger than the squared distances between ordinary rows.
"""

from __future__ import annotations

import numpy as np

from ..base.arrays import (
    Array,
    as_array_like,
    as_float64,
    detach,
    namespace,
    records_gradient,
    scalar,
)
from ..data.representation import Representation, cached
from .points import preshape, size

# An outlier row has a squared length above this multiple of the median squared length.
OUTLIER_LENGTH_RATIO = 100.0


def outlier_row_mask(squares: Array) -> np.ndarray | None:
    """Return a mask (n,) of the outlier rows; None without outliers. ``squares``: the squared
    lengths of centred rows, (n,)."""
    lengths = detach(squares)
    sorted_lengths = namespace(lengths).sort(lengths)  # on the device: only three numbers leave
    count = sorted_lengths.shape[0]
    if not count:
        return None
    median = (scalar(sorted_lengths[(count - 1) // 2]) + scalar(sorted_lengths[count // 2])) / 2
    if not scalar(sorted_lengths[count - 1]) > OUTLIER_LENGTH_RATIO * median:
        return None
    return np.asarray(as_float64(lengths) > OUTLIER_LENGTH_RATIO * median)


@cached("n")
def inlier_row_mask(x: Representation) -> np.ndarray | None:
    """Return a mask (n,) of the rows that are not outliers; None without outliers."""
    if x.origin or x.signed:
        return None
    points = detach(preshape(x))
    is_far = outlier_row_mask(x.xp.vecdot(points, points))
    return None if is_far is None else ~is_far


@cached("n d")
def inlier_centered_points(x: Representation) -> Array:
    """Return the points of Frobenius norm 1, in at most n columns; with outlier rows, all columns
    (n, d) minus the mean of the other rows, divided by the same norm. Distances between the points
    are unchanged and keep their digits."""
    points = preshape(x)
    is_near = None if records_gradient(x.source) else inlier_row_mask(x)
    if is_near is None:
        return points
    first = int(np.flatnonzero(is_near)[0])
    weights = as_array_like(is_near / np.count_nonzero(is_near), points)
    shifted = x.array - x.array[first : first + 1, :]
    return (shifted - weights[None, :] @ shifted) / size(x)
