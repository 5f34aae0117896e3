"""What rounding leaves of the differences between samples.

A number of size r is stored with an error of about r eps, where eps belongs to the precision in
which the number was stored, or is computed in. Where samples differ by less than that, every
comparison of their differences is a comparison of rounding errors.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array, as_float64, detach, epsilon, namespace, norm, scalar, to_numpy
from ..representation import Representation, Undefined, title, value_blocks, view

SHARE = (
    0.5  # error of the stored numbers, relative to the spread, from which on nothing is compared
)


@view
def resolution(x: Representation) -> float:
    """Relative distance between neighbouring numbers in the precision that the data came in; 0 for
    integers."""
    is_rounded = x.xp.isdtype(x.source.dtype, "real floating")
    return float(epsilon(x.source)) if is_rounded else 0.0


@view
def norm_of(x: Representation) -> Array:
    """Frobenius norm of the points as they are."""
    return norm(x.array)


def check_digits(x: Representation, spread: float) -> None:
    """Raise ``Undefined`` where the differences between the samples lie below rounding.

    ``spread``: Frobenius norm of the centred points. Constant columns, and rows that are equal,
    have lost nothing.
    """
    if not (x.origin or x.signed) and spread > 0 and rounding_share(x, spread=spread) > SHARE:
        raise Undefined(below_rounding(x))


def below_rounding(x: Representation) -> str:
    """The sentence that says that differences lie below rounding, and what to do."""
    is_stored = resolution(x) >= float(np.finfo(x.precision).eps)
    dtype = str(x.source.dtype).rpartition(".")[2] if is_stored else x.precision
    remedy = f"before the data are stored in {dtype}" if is_stored else "or take dtype='float64'"
    return (
        f"the samples of {title(x)} differ by less than the rounding of {dtype}: centre first "
        f"(subtract the mean of each feature, {remedy})"
    )


@view
def rounding_share(x: Representation, spread: float) -> float:
    """Error of the numbers as they are stored and computed, relative to the Frobenius norm
    ``spread`` of the centred points; columns that are constant count as exact."""
    eps = max(resolution(x), float(np.finfo(x.precision).eps))
    bound = eps * (scalar(norm_of(x)) / spread)
    return bound if bound <= SHARE else eps * (_length_of_varying(x) / spread)


def _length_of_varying(x: Representation) -> float:
    """Norm of the columns that are not constant."""
    varies, lengths, first = np.zeros(x.shape[1], dtype=bool), [], None
    for block in map(detach, value_blocks(x)):
        first = block[:1, :] if first is None else first
        varies |= to_numpy(namespace(block).any(block != first, axis=0))
        lengths.append(as_float64(norm(block, axis=0)))
    return scalar(norm(np.stack(lengths)[:, varies]))
