"""Whether the differences between samples are larger than rounding errors.

A number of size r is stored with an error of about r eps, where eps is the machine epsilon of the
precision of storage or of computation. Where samples differ by less than r eps, every comparison of
their differences is a comparison of rounding errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..base.arrays import (
    EPSILONS,
    Array,
    detach,
    epsilon,
    euclidean_norm,
    has_float64,
    has_no_values,
    scalar,
)
from ..base.exceptions import UndefinedError
from ..data.representation import (
    Representation,
    cached,
    representation_title,
    sum_of_stored_squares,
)

DOUBLE_EPSILON = float(np.finfo(float).eps)
# A larger sum of squared differences has lost no digits to underflow.
MIN_SAFE_SPREADS = {
    np.dtype(kind): float(np.finfo(kind).tiny) / DOUBLE_EPSILON for kind in (np.float32, np.float64)
}
MAX_NUMBERS_PER_COPY = 2**18  # numbers copied at a time
MIN_SAFE_SQUARE_SUM = 1e-250  # a smaller sum of squares has lost digits to underflow
# Largest rounding error of the stored numbers, relative to their spread, in a comparison.
MAX_ROUNDING_SHARE = 0.5


@cached("scalar")
def resolution(x: Representation) -> float:
    """Return the machine epsilon of the dtype of the input data; 0 for integers."""
    kind = getattr(x.source.dtype, "kind", None)  # much faster than ``isdtype``
    is_rounded = kind == "f" if kind else x.xp.isdtype(x.source.dtype, "real floating")
    return float(epsilon(x.source)) if is_rounded else 0.0


@cached("scalar")
def uncentered_norm(x: Representation) -> Array:
    """Return the Frobenius norm of the uncentred points."""
    return euclidean_norm(x.array)


def check_digits(x: Representation) -> None:
    """Raise ``UndefinedError`` where the differences between the samples are smaller than rounding
    errors.

    Constant columns, equal rows and saturated units have lost no digits. Points that represent the
    samples of a stream have the mean and the norms of the samples.
    """
    if x.signed or has_no_values(x.source):
        return
    # The share is infinite if some values are not finite.
    if MAX_ROUNDING_SHARE < rounding_share(x) < float("inf"):
        raise UndefinedError(below_rounding_message(x))


def to_double_precision(x: Representation) -> Representation:
    """Return the data in double precision; ``x`` unchanged if already double, from a stream, or in
    a library without double precision."""
    if x.dtype == "float64" or x.origin or not has_float64(x.source):
        return x
    return Representation(detach(x.source), x.name, dtype="float64")


def below_rounding_message(x: Representation) -> str:
    """Return the error message for samples of ``x`` that differ by less than rounding errors, with
    the remedy."""
    is_stored = resolution(x) >= float(np.finfo(x.dtype).eps)
    dtype = input_precision(x) if is_stored else x.dtype
    remedy = f"before the data are stored in {dtype}" if is_stored else "or take dtype='float64'"
    return (
        f"the samples of {representation_title(x)} differ by less than the rounding of {dtype}: "
        f"centre first (subtract the mean of each feature, {remedy})"
    )


def input_precision(x: Representation) -> str:
    """Return the name of the dtype of the input data, such as "float16"."""
    return str(x.origin.dtype if x.origin else x.source.dtype).rpartition(".")[2]


@cached("scalar")
def rounding_share(x: Representation) -> float:
    """Return the rounding error of the data, in storage and computation, relative to the Frobenius
    norm of the centred points; constant columns and saturated units count as exact.

    The function makes one pass over the data and copies a few rows at a time.
    """
    eps = max(resolution(x), EPSILONS[x.dtype])
    if eps * (bound := _norm_ratio_bound(x)) <= MAX_ROUNDING_SHARE:
        return float(eps * bound)
    lengths, total, spread = _column_square_sums(x, 1.0)
    if not (MIN_SAFE_SQUARE_SUM < total < np.inf and np.isfinite(spread)):
        largest = float(max(abs(end) for end in _least_and_largest(x))) or 1.0
        lengths, total, spread = _column_square_sums(x, largest)
    if spread == 0 or (share := eps * (total / spread) ** 0.5) <= MAX_ROUNDING_SHARE:
        return 0.0 if spread == 0 else float(share)
    exact = _saturated_columns(x, 4 * eps)
    return float(
        eps
        * (scalar(x.xp.sum(x.xp.where(exact, x.xp.zeros_like(lengths), lengths))) / spread) ** 0.5
    )


def _norm_ratio_bound(x: Representation) -> float:
    """Return an upper bound of |X| / |X - mean|, the norm of the data over the norm of the centred
    points, from the differences of a few rows; infinity where a few rows do not suffice."""
    source, count = x.source, min(8, x.shape[0] // 2, max(1, MAX_NUMBERS_PER_COPY // x.shape[1]))
    is_plain = isinstance(source, np.ndarray) and source.flags.forc
    if not is_plain or source.dtype not in (np.float32, np.float64) or not count:
        return float("inf")
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        gaps = source[:count].astype(float) - source[count : 2 * count]
        lower, upper = float(np.vdot(gaps, gaps)) / 2, sum_of_stored_squares(x)
    is_safe = math.isfinite(upper) and lower > MIN_SAFE_SPREADS[source.dtype]
    return (upper / lower) ** 0.5 if is_safe else float("inf")


def _column_square_sums(x: Representation, unit: float) -> tuple[Array, float, float]:
    """Return the sums of squares of the columns, (d,), 0 for constant columns; the total of these
    sums; and the sum of squares of all centred numbers. Numbers are divided by ``unit`` first. The
    array stays on the device of the data."""
    xp, first = x.xp, None
    totals: list[Array] = []
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for block in _double_precision_blocks(x):
            block = block / unit
            first = block[:1, :] if first is None else first
            parts = [xp.sum(block * block, axis=0)]
            block = block - first
            parts += [xp.sum(block, axis=0), xp.sum(block * block, axis=0)]
            totals = [a + b for a, b in zip(totals, parts)] if totals else parts
        lengths, sums, squares = totals
        gaps = squares - sums**2 / x.shape[0]
        spread = scalar(xp.sum(xp.where(gaps > 0, gaps, xp.zeros_like(gaps))))
        lengths = xp.where(squares > 0, lengths, xp.zeros_like(lengths))
        return lengths, scalar(xp.sum(lengths)), spread


def _double_precision_blocks(x: Representation) -> Iterator[Array]:
    """Yield the values in blocks of rows, on the device of the data, in double precision if
    available."""
    height, source = max(1, MAX_NUMBERS_PER_COPY // x.shape[1]), detach(x.source)
    dtype = x.xp.float64 if has_float64(source) else x.xp.float32
    for start in range(0, x.shape[0], height):
        yield x.xp.astype(source[start : min(start + height, x.shape[0]), :], dtype)


def _least_and_largest(x: Representation) -> tuple[float, float]:
    """Return the least and the largest number in the data of ``x``."""
    parts = [
        (scalar(x.xp.min(block)), scalar(x.xp.max(block))) for block in _double_precision_blocks(x)
    ]
    return min(low for low, _ in parts), max(high for _, high in parts)


def _saturated_columns(x: Representation, slack: float) -> Array:
    """Return a mask (d,) of the columns whose numbers all differ from 1 or from -1 by at most
    ``slack``."""
    are_saturated = None
    for block in _double_precision_blocks(x):
        part = x.xp.all(x.xp.abs(x.xp.abs(block) - 1) <= slack, axis=0)
        are_saturated = part if are_saturated is None else are_saturated & part
    return are_saturated
