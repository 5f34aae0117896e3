"""Leave-one-out distance correlation and norm of the difference of distances."""

from __future__ import annotations

import numpy as np

from ...base.arrays import as_float64, row_blocks, scalar
from ...data.representation import Representation, cached, representation_title
from ...intermediates.distances import deviation_sums, distance_deviations, distances
from ...intermediates.matrices import distance_pair_matrix
from ...intermediates.points import size
from .inner_products import check_min_samples, check_remainder, leave_one_out_products


def leave_one_out_distance_corr(x: Representation, y: Representation, squared: bool) -> np.ndarray:
    """Return the leave-one-out distance correlation, shape (n,), in [0, 1]; exact. ``squared``:
    whether to leave out the root.

    Raises ``UndefinedError`` if all distances are equal, or nearly equal, without some sample.
    """
    check_min_samples("distance_correlation", x, 2)
    product = leave_one_out_products(distance_pair_matrix(x), distance_pair_matrix(y))
    value = np.clip(
        product / np.sqrt(leave_one_out_deviation(x) * leave_one_out_deviation(y)), 0, 1
    )
    return np.asarray(value if squared else np.sqrt(value))


def leave_one_out_debiased_distance_corr(x: Representation, y: Representation) -> np.ndarray:
    """Return the debiased distance correlation without each sample, shape (n,); exact, O(n^2).

    Raises ``UndefinedError`` if the U-centred distances vanish, or nearly vanish, without some
    sample.
    """
    check_min_samples("distance_correlation", x, 4)
    product = _leave_one_out_u_centered(x, y)
    squares = _leave_one_out_u_square(x) * _leave_one_out_u_square(y)
    return np.asarray(np.clip(product / np.sqrt(squares), -1, 1))


@cached("n")
def _leave_one_out_u_square(x: Representation) -> np.ndarray:
    squared, deviations = _leave_one_out_u_centered(x, x), as_float64(distance_deviations(x))
    # U-centring also takes away digits: the distances to an outlier are nearly sums of two terms.
    check_remainder(representation_title(x), squared / (2 * np.vdot(deviations, deviations)))
    return squared


def _leave_one_out_u_centered(x: Representation, y: Representation) -> np.ndarray:
    """Return the inner product of the U-centred distances of x and of y without each sample,
    U-centred again, shape (n,)."""
    from scipy.spatial.distance import squareform

    n = x.n_samples
    d, e = (squareform(as_float64(distance_deviations(r)), checks=False) for r in (x, y))
    a, b = (as_float64(deviation_sums(r)) for r in (x, y))
    own = np.vecdot(d, e)
    margins = a @ b - a * b - d @ b - e @ a + own
    total = own.sum() - 2 * own
    return np.asarray(total - 2 / (n - 3) * margins + 4 * a * b / ((n - 2) * (n - 3)))


@cached("n")
def leave_one_out_deviation(x: Representation) -> np.ndarray:
    """Return the squared norm of the double-centred distances without each sample, (n,).

    The points have Frobenius norm 1 with all samples. Without a sample, the distances are centred
    again. Raises ``UndefinedError`` if almost nothing remains without some sample.
    """
    a = distance_pair_matrix(x)
    squared = leave_one_out_products(a, a)
    check_remainder(representation_title(x), squared / a.square)
    return squared


def leave_one_out_rsm_norm(x: Representation, y: Representation) -> np.ndarray:
    """Return the leave-one-out Frobenius norm of the distance difference, in the units of the data,
    shape (n,); exact.

    O(n^2) time. Raises ``UndefinedError`` for a constant representation, and if almost nothing of
    the difference remains without some sample.
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
