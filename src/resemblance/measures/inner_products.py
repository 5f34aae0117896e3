"""Measures that compare two matrices by the inner product: values, ceiling warnings and chance.

Each matrix is a function of one representation and the parameters of the measure. If the value
divides by a quantity that is not a sum of squares, each matrix is divided by its own factor of the
quantity. In the functions of a value, ``product`` is <A, B>, and ``x_square`` and ``y_square`` are
<A, A> and <B, B>.
"""

from __future__ import annotations

import math

from ..base.exceptions import UndefinedError
from ..base.formatting import format_percent
from ..data.representation import Representation


def unnormalized_product(product: float, x_square: float, y_square: float) -> float:
    """Return ``product``, the inner product of two matrices, unchanged. The squared norms
    ``x_square`` and ``y_square`` are not used."""
    return product


def negated_product(product: float, x_square: float, y_square: float) -> float:
    """Return minus ``product``, the inner product of two matrices. The squared norms ``x_square``
    and ``y_square`` are not used."""
    return -product


def squared_distance(product: float, x_square: float, y_square: float) -> float:
    """Return the squared distance of two matrices, <A, A> + <B, B> - 2 <A, B>, from ``x_square``,
    ``y_square`` and ``product``."""
    return x_square + y_square - 2 * product


def chance_corrected_cosine(product: float, x_square: float, y_square: float) -> float:
    """Return (m - c) / (1 - c) for the cosine m = <A, B> / c of two matrices, with c = |A| |B|.

    ``product``: <A, B>; ``x_square``, ``y_square``: |A|^2, |B|^2. The matrices are scaled so that c
    is the mean cosine over all permutations of the samples.
    """
    chance = math.sqrt(x_square * y_square)
    return (product / chance - chance) / (1 - chance)


def product_over_min(product: float, x_scale: float, y_scale: float) -> float:
    """Return ``product``, the inner product of two matrices, divided by the smaller of ``x_scale``
    and ``y_scale``, a number per representation."""
    return product / min(x_scale, y_scale)


def product_over_max(product: float, x_scale: float, y_scale: float) -> float:
    """Return ``product``, the inner product of two matrices, divided by the larger of ``x_scale``
    and ``y_scale``, a number per representation."""
    return product / max(x_scale, y_scale)


def product_over_squared_norms(product: float, x_square: float, y_square: float) -> float:
    """Return <A, B> / (<A, A> <B, B>) from ``product``, ``x_square`` and ``y_square``."""
    return product / (x_square * y_square)


def feature_count(x: Representation) -> float:
    """Return the number of features."""
    return float(x.shape[1])


def prefers_batched_products(x: Representation, y: Representation, partners: float) -> bool:
    """Return whether products of rows of stored matrices are faster for all pairs together, block
    by block: with more than two partners. ``partners``: the number of representations compared with
    a representation."""
    return partners > 2


def prefers_batched_wide_products(x: Representation, y: Representation, partners: float) -> bool:
    """Return whether the products of linear Gram matrices are faster for all pairs together, block
    by block, than from products of features.

    Compares the operations: products of entries take n^2 d per representation, shared by its
    ``partners``, the number of representations compared with it; products of features take n d e
    per pair.
    """
    n = x.shape[0]
    d, e = (min(r.shape) for r in (x, y))
    return 4 * d * e > n * (9 + (d + e) / partners)


# -------------------------------------------------------------------------- values that mean little


MIN_CEILING_SHARE = 0.8
REPORTED_CEILING_SHARES = (0.99, 0.95, 0.9, MIN_CEILING_SHARE)


def warn_fixed_by_n(n: int) -> str:
    """Return the warning that the number ``n`` of samples alone fixes the value."""
    return f"fixed by the number of samples: with {n} samples every data set gives this value"


def warn_near_ceiling(n: int, share: float) -> str:
    """Return the warning for unrelated representations of ``n`` samples that score ``share``, from
    0 to 1, of the way from the worst value to equal representations; "" for a share below
    ``MIN_CEILING_SHARE``."""
    reported_share = next((step for step in REPORTED_CEILING_SHARES if share >= step), None)
    if reported_share is None:
        return ""
    return (
        f"little above chance: unrelated representations of {n} samples come "
        f"{format_percent(reported_share)} of the way to equal ones"
    )


def warn_full_rank(n: int, room: int, *dimensions: int) -> str:
    """Return the warning for subspaces of ``dimensions`` in a space of dimension ``room`` over n
    samples: fixed if a subspace fills the space, near the ceiling for a share of 0.8 or more, else
    ""."""
    if max(dimensions) >= room:
        return warn_fixed_by_n(n)
    return warn_near_ceiling(n, max(dimensions) / room)


def has_few_columns(*sides: Representation) -> bool:
    """Return whether every representation has fewer than 0.8 (n - 1) columns, too few to span most
    of the sample space."""
    return max(r.shape[1] for r in sides) < MIN_CEILING_SHARE * (sides[0].n_samples - 1)


def has_low_dimension(x: Representation, y: Representation) -> bool:
    """Return whether the geometric mean of both widths, each at most n - 1, is below 0.8 (n - 1).

    The product of two flatnesses then stays below the ceiling of 1.
    """
    room = x.n_samples - 1
    return math.sqrt(min(x.shape[1], room) * min(y.shape[1], room)) < MIN_CEILING_SHARE * room


# ------------------------------------------------------------------------------------------- chance


def rescale_from_chance(value: float, chance: float, best: float = 1.0) -> float:
    """Return (value - chance) / (best - chance): 0 at chance, 1 at the best value.

    Raises ``UndefinedError`` if chance equals the best value.
    """
    if abs(best - chance) < 1e-9:
        raise UndefinedError(
            "nothing is left above chance: every permutation of the samples has the same "
            "similarity; take a smaller k"
        )
    return (value - chance) / (best - chance)


def constant_zero(x: Representation, y: Representation) -> float:
    """Return 0, the chance level of every correlation."""
    return 0.0


def constant_one(x: Representation, y: Representation) -> float:
    """Return 1, the chance level of a value in units of chance."""
    return 1.0
