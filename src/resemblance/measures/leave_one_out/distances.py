"""Leave-one-out distance correlation and norm of the difference of distances."""

from __future__ import annotations

import numpy as np

from ...base.arrays import as_float64, row_blocks, scalar
from ...data.representation import Representation, cached, representation_title
from ...intermediates.distances import distances
from ...intermediates.matrices import distance_pair_matrix
from ...intermediates.points import size
from .inner_products import check_min_samples, check_remainder, leave_one_out_products


def leave_one_out_distance_corr(x: Representation, y: Representation, squared: bool) -> np.ndarray:
    """Return the leave-one-out distance correlation, shape (n,), in [0, 1]; exact.

    Raises ``UndefinedError`` if all distances are equal, or nearly equal, without some sample.
    """
    check_min_samples("distance_correlation", x, 2)
    product = leave_one_out_products(distance_pair_matrix(x), distance_pair_matrix(y))
    value = np.clip(
        product / np.sqrt(leave_one_out_deviation(x) * leave_one_out_deviation(y)), 0, 1
    )
    return np.asarray(value if squared else np.sqrt(value))


@cached("n")
def leave_one_out_deviation(x: Representation) -> np.ndarray:
    """Return the squared norm of the double-centred distances without each sample, shape (n,)."""
    a = distance_pair_matrix(x)
    squared = leave_one_out_products(a, a)
    check_remainder(representation_title(x), squared / a.square)
    return squared


def leave_one_out_rsm_norm(x: Representation, y: Representation) -> np.ndarray:
    """Return the leave-one-out Frobenius norm of the distance difference, shape (n,); exact.

    O(n^2) time. Raises ``UndefinedError`` for a constant representation.
    """
    a, b = (scalar(size(r)) for r in (x, y))
    d, e = (as_float64(distances(r)) for r in (x, y))
    scale = max(a, b)
    rows = np.concatenate(
        [
            ((a / scale * d[start:stop] - b / scale * e[start:stop]) ** 2).sum(axis=1)
            for start, stop in row_blocks(len(d))
        ]
    )
    remainders = rows.sum() - 2 * rows
    if rows.sum() > 0:
        check_remainder("rsm_norm_difference", remainders / rows.sum())
    return scale * np.sqrt(remainders)
