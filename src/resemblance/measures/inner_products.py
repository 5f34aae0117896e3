"""What follows for measures from what they compare: the forms that a function of an inner product
of two matrices has, when values mean little, and what is left without a sample.

Each matrix is a function of one representation and the parameters of the measure. Where the value
divides by what is no sum of squares, the matrices are divided by the part of it that is theirs.

Values without each sample are (n,) in float64, the same as those of n calls but for rounding, or as
near as their functions say. Where rows are centred, a = n / (n - 1): centring what is left of
centred rows :math:`p_j` once more adds :math:`p_i / (n - 1)` to each of them, so sums of products
of rows lose :math:`a\\, p_i q_i^\\top`. Where there is no value without some sample, and where
subtraction would leave too few digits of it, ``UndefinedError`` is raised.
"""

from __future__ import annotations

import math

import numpy as np

from ..base.arrays import as_float64, scalar
from ..base.exceptions import UndefinedError
from ..base.formatting import format_percent
from ..data.representation import Representation, representation_title
from ..intermediates.matrices import FactoredPairMatrix, StoredPairMatrix
from ..intermediates.points import preshape, size


def unnormalized_product(product: float, x_square: float, y_square: float) -> float:
    """Return the value of a measure that is the inner product itself."""
    return product


def negated_product(product: float, x_square: float, y_square: float) -> float:
    """Return the value of a measure that is minus the inner product."""
    return -product


def squared_distance(product: float, x_square: float, y_square: float) -> float:
    """Return the squared distance of two matrices: |A|^2 + |B|^2 - 2 <A, B>."""
    return x_square + y_square - 2 * product


def chance_corrected_cosine(product: float, x_square: float, y_square: float) -> float:
    """Return (m - c) / (1 - c) of matrices with the cosine m and, on average over all orders, the
    cosine c = |A| |B|."""
    chance = math.sqrt(x_square * y_square)
    return (product / chance - chance) / (1 - chance)


def product_over_min(product: float, x_scale: float, y_scale: float) -> float:
    """Return the share that the inner product is of the smaller of two numbers."""
    return product / min(x_scale, y_scale)


def product_over_max(product: float, x_scale: float, y_scale: float) -> float:
    """Return the share that the inner product is of the larger of two numbers."""
    return product / max(x_scale, y_scale)


def product_over_squared_norms(product: float, x_square: float, y_square: float) -> float:
    """Return <A, B> / (<A, A> <B, B>)."""
    return product / (x_square * y_square)


def feature_count(x: Representation) -> float:
    """Return the number of features."""
    return float(x.shape[1])


# -------------------------------------------------------------------------- values that mean little

MIN_CEILING_SHARE = 0.8
REPORTED_CEILING_SHARES = (0.99, 0.95, 0.9, MIN_CEILING_SHARE)


def warn_fixed_by_n(n: int) -> str:
    """The sentence for a value that n samples fix."""
    return f"fixed by the number of samples: {n} leave it this value whatever the data"


def warn_near_ceiling(n: int, share: float) -> str:
    """The sentence for a share of the way to the value of equal representations; empty for a small
    one."""
    reported_share = next((step for step in REPORTED_CEILING_SHARES if share >= step), None)
    if reported_share is None:
        return ""
    return (
        f"little above chance: unrelated representations of {n} samples come "
        f"{format_percent(reported_share)} of the way to equal ones"
    )


def warn_full_rank(n: int, room: int, *dimensions: int) -> str:
    """The sentence for spaces of these dimensions, of ``room`` possible ones."""
    return (
        warn_fixed_by_n(n)
        if max(dimensions) >= room
        else warn_near_ceiling(n, max(dimensions) / room)
    )


def has_few_columns(*sides: Representation) -> bool:
    """Say whether all sides have too few columns for one of them to span most of what the samples
    have."""
    return max(r.shape[1] for r in sides) < MIN_CEILING_SHARE * (sides[0].n_samples - 1)


def has_low_dimension(x: Representation, y: Representation) -> bool:
    """Say whether both sides together have too few columns for a product of two flatnesses to come
    near 1."""
    room = x.n_samples - 1
    return math.sqrt(min(x.shape[1], room) * min(y.shape[1], room)) < MIN_CEILING_SHARE * room


# ------------------------------------------------------------------------------------------- chance


def rescale_from_chance(value: float, chance: float, best: float = 1.0) -> float:
    """Return (value - chance) / (best - chance): 0 at chance, 1 for the best value.

    Raises ``UndefinedError`` where chance is the best value.
    """
    if abs(best - chance) < 1e-9:
        raise UndefinedError(
            "nothing is left above chance: any order of the samples has the same similarity; take "
            "a smaller k"
        )
    return (value - chance) / (best - chance)


def constant_zero(x: Representation, y: Representation) -> float:
    """0, as of every correlation."""
    return 0.0


def constant_one(x: Representation, y: Representation) -> float:
    """1, in whose units the value is."""
    return 1.0


# --------------------------------------------------------------------------------- without a sample


def leave_one_out_products(
    k: FactoredPairMatrix | StoredPairMatrix,
    l: FactoredPairMatrix | StoredPairMatrix,
    rows: np.ndarray | None = None,
) -> np.ndarray:
    r"""Return the inner products of two centred matrices without each sample, centred again.

    .. math:: \langle K, L \rangle - 2 a \sum_j K_{ij} L_{ij} + a^2 K_{ii} L_{ii}

    ``rows``: the inner products of their rows, if they are known.
    """
    rows, a = k.inner_of_rows(l) if rows is None else rows, recentering_factor(k.samples)
    return rows.sum() - 2 * a * rows + a * a * k.diagonal() * l.diagonal()


def prefers_batched_products(x: Representation, y: Representation, partners: float) -> bool:
    """Say whether inner products of rows of matrices in memory are better computed for all pairs
    together, piece by piece."""
    return partners > 2


def prefers_batched_wide_products(x: Representation, y: Representation, partners: float) -> bool:
    """Say whether they are for products of points: by the operations for the entries, which take
    n^2 d for each representation, against products of features."""
    n = x.shape[0]
    d, e = (min(r.shape) for r in (x, y))
    return 4 * d * e > n * (9 + (d + e) / partners)


def leave_one_out_u_products(rows: np.ndarray) -> np.ndarray:
    r"""Return the inner products of two U-centred matrices without each sample, U-centred again,
    from those of their rows.

    .. math:: \langle K, L \rangle - 2 \frac{n - 2}{n - 3} \sum_j K_{ij} L_{ij}

    The rows of K sum to 0, so without sample i entry jk becomes :math:`K_{jk} + (K_{ij} + K_{ik}) /
    (n - 3)`.
    """
    n = len(rows)
    return rows.sum() - 2 * (n - 2) / (n - 3) * rows


# samples, of which the whole matrix is made, in a tenth of the time
MAX_SQUARE_MATRIX_SAMPLES = 4096


# share of a sum that has to be left, so that it keeps half of its digits
MIN_REMAINING_SHARE = 1e-7
LEAVE_ONE_OUT_REMEDY = "recompute the values, or leave out groups of samples"


def check_min_samples(name: str, x: Representation, min_samples: int) -> None:
    """Raise ``UndefinedError`` when one sample less than ``x`` has is too few for a measure."""
    n = x.shape[0]
    if n - 1 < min_samples:
        raise UndefinedError(
            f"{name} needs at least {min_samples} samples; {n - 1} are left of {n} without one"
        )


def check_remainder(name: str, shares: np.ndarray, min_share: float = MIN_REMAINING_SHARE) -> None:
    """Raise ``UndefinedError`` when without some sample too little is left of a sum; ``shares`` is
    the share that is left."""
    samples = np.flatnonzero(~(shares > min_share))
    if len(samples):
        raise UndefinedError(
            f"{name}: without sample {samples[0]} of {len(shares)} nothing, or too little for a "
            f"difference, is left; {LEAVE_ONE_OUT_REMEDY}"
        )


def leave_one_out_term_means(terms: np.ndarray) -> np.ndarray:
    """Return the mean of the other terms for each of n terms, shape (n,)."""
    return (terms.sum() - terms) / (len(terms) - 1)


def condensed_row_sums(vector: np.ndarray, n: int) -> np.ndarray:
    """Return the sums of the rows of a symmetric matrix with zero diagonal, given the pairs i < j
    row by row, shape (n,)."""
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


def leave_one_out_squared_sizes(x: Representation, centered: bool = True) -> np.ndarray:
    r"""Return the squared sizes of the pre-shape without each sample, centred again.

    .. math:: 1 - a \lVert p_i \rVert^2

    for rows :math:`p_i` of the pre-shape, shape (n,), in [0, 1]; a = 1 if not ``centered``. Raises
    ``UndefinedError`` for a representation that is constant, or nearly so, without some sample.
    """
    remainders = left_out_share(x, centered)
    check_remainder(representation_title(x), remainders)
    return remainders


def has_single_deviating_sample(x: Representation) -> bool:
    """Say whether all samples are equal but one, without which the representation is constant."""
    return scalar(size(x)) == 0 or bool(left_out_share(x, True).min() < 1e-12)


def left_out_share(x: Representation, centered: bool) -> np.ndarray:
    points = as_float64(preshape(x, centered=centered))
    squares = np.einsum("ij,ij->i", points, points)
    return 1 - recentering_factor(len(points), centered) * squares


def recentering_factor(n: int, centered: bool = True) -> float:
    """Return a, the factor of what n rows lose without one of them: more if they are centred."""
    return n / (n - 1) if centered else 1.0
