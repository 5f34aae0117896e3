r"""Leave-one-out inner products, sums and sizes, and checks that enough of a sum remains.

Leave-one-out values are float64 arrays of shape (n,). The values equal the values of n separate
calls up to rounding, or as closely as the docstring of the function says. Where rows are centred,
a = n / (n - 1). The reason: the rows :math:`p_j` are centred, so centring the rows without sample
i adds :math:`p_i / (n - 1)` to every row, and sums of products of rows lose
:math:`a\, p_i q_i^\top`. The functions raise ``UndefinedError`` if a value without some sample
does not exist, or if subtraction would keep too few digits of the value.
"""

from __future__ import annotations

import numpy as np

from ...base.arrays import as_float64, scalar
from ...base.exceptions import UndefinedError
from ...data.representation import Representation, representation_title
from ...intermediates.pair_matrix import PairMatrix
from ...intermediates.points import preshape, size


def leave_one_out_products(
    k: PairMatrix, l: PairMatrix, rows: np.ndarray | None = None
) -> np.ndarray:
    r"""Return the inner product of two centred matrices K and L without each sample, centred again,
    (n,).

    .. math:: \langle K, L \rangle - 2 a \sum_j K_{ij} L_{ij} + a^2 K_{ii} L_{ii}

    ``rows``: the inner products of the rows of K and L, (n,), if already computed.
    """
    rows, a = k.row_products(l) if rows is None else rows, recentering_factor(k.samples)
    return rows.sum() - 2 * a * rows + a * a * k.diagonal() * l.diagonal()


def leave_one_out_u_products(rows: np.ndarray) -> np.ndarray:
    r"""Return the inner product of two U-centred matrices without each sample, U-centred again,
    (n,).

    .. math:: \langle K, L \rangle - 2 \frac{n - 2}{n - 3} \sum_j K_{ij} L_{ij}

    ``rows`` are the inner products of the rows of K and L, (n,). The rows of K sum to 0, so without
    sample i entry jk becomes :math:`K_{jk} + (K_{ij} + K_{ik}) / (n - 3)`.
    """
    n = len(rows)
    return rows.sum() - 2 * (n - 2) / (n - 3) * rows


def leave_one_out_squared_sizes(x: Representation, centered: bool = True) -> np.ndarray:
    r"""Return the squared Frobenius norm of the points, of norm 1 with all samples, without each
    sample and centred again, (n,), in [0, 1].

    .. math:: 1 - a \lVert p_i \rVert^2

    for the rows :math:`p_i` of the points; a = 1 if not ``centered``. Raises ``UndefinedError`` if
    a representation is constant, or nearly constant, without some sample.
    """
    remainders = left_out_share(x, centered)
    check_remainder(representation_title(x), remainders)
    return remainders


def left_out_share(x: Representation, centered: bool) -> np.ndarray:
    points = as_float64(preshape(x, centered=centered))
    squares = np.einsum("ij,ij->i", points, points)
    return 1 - recentering_factor(len(points), centered) * squares


def recentering_factor(n: int, centered: bool = True) -> float:
    """Return a, the weight of the removed row in a sum over n rows: n / (n - 1) if rows are
    centred, else 1."""
    return n / (n - 1) if centered else 1.0


def has_single_deviating_sample(x: Representation) -> bool:
    """Return whether all samples except one are equal, or all samples are equal."""
    return scalar(size(x)) == 0 or bool(left_out_share(x, True).min() < 1e-12)


def leave_one_out_term_means(terms: np.ndarray) -> np.ndarray:
    """Return, for each of n terms, the mean of the other terms, shape (n,)."""
    return (terms.sum() - terms) / (len(terms) - 1)


# Up to this number of samples the square matrix is built, which takes a tenth of the time.
MAX_SQUARE_MATRIX_SAMPLES = 4096


def condensed_row_sums(vector: np.ndarray, n: int) -> np.ndarray:
    """Return the row sums of a symmetric matrix (n, n) with zero diagonal, shape (n,).

    ``vector`` holds the entries of the pairs i < j, row by row, (n (n - 1) / 2,).
    """
    if n <= MAX_SQUARE_MATRIX_SAMPLES:
        from scipy.spatial.distance import squareform

        return squareform(vector, checks=False).sum(axis=1)
    sums, start = np.zeros(n), 0
    for i in range(n - 1):
        row = vector[start : start + n - 1 - i]
        sums[i] += row.sum()
        sums[i + 1 :] += row
        start += n - 1 - i
    return sums


# A smaller remaining share of a sum has lost more than half of the digits.
MIN_REMAINING_SHARE = 1e-7
LEAVE_ONE_OUT_REMEDY = "recompute the values, or leave out groups of samples"


def check_min_samples(name: str, x: Representation, min_samples: int) -> None:
    """Raise ``UndefinedError`` if ``x`` without one sample has fewer than ``min_samples``.
    ``name``: the measure, for the error."""
    n = x.shape[0]
    if n - 1 < min_samples:
        raise UndefinedError(
            f"{name} needs at least {min_samples} samples; {n - 1} are left of {n} without one"
        )


def check_remainder(name: str, shares: np.ndarray, min_share: float = MIN_REMAINING_SHARE) -> None:
    """Raise ``UndefinedError`` if the share of a sum that remains without some sample is at most
    ``min_share``, or NaN.

    ``shares`` holds the remaining share without each sample, (n,). The error begins with ``name``.
    """
    samples = np.flatnonzero(~(shares > min_share))
    if len(samples):
        raise UndefinedError(
            f"{name}: without sample {samples[0]} of {len(shares)} the value is undefined or "
            f"rounding error; {LEAVE_ONE_OUT_REMEDY}"
        )
