"""What rounding leaves of the differences between samples.

A number of size r is stored with an error of about r eps, where eps belongs to the precision in
which the number was stored, or is computed in. Where samples differ by less than that, every
comparison of their differences is a comparison of rounding errors.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..base.arrays import Array, detach, epsilon, euclidean_norm, has_float64, has_no_values, scalar
from ..base.exceptions import UndefinedError
from ..data.representation import Representation, cached, representation_title

DOUBLE_EPSILON = float(np.finfo(float).eps)
MAX_NUMBERS_PER_COPY = 2**18  # numbers that are copied at a time
MIN_SAFE_SQUARE_SUM = 1e-250  # sum of squares that has not lost digits to underflow
# error of the stored numbers, relative to their spread: with more, nothing is compared
MAX_ROUNDING_SHARE = 0.5


@cached("scalar")
def resolution(x: Representation) -> float:
    """Relative distance between neighbouring numbers in the precision that the data came in; 0 for
    integers."""
    is_rounded = x.xp.isdtype(x.source.dtype, "real floating")
    return float(epsilon(x.source)) if is_rounded else 0.0


@cached("scalar")
def uncentered_norm(x: Representation) -> Array:
    """Frobenius norm of the points as they are."""
    return euclidean_norm(x.array)


def check_digits(x: Representation) -> None:
    """Raise ``UndefinedError`` where the differences between the samples lie below rounding.

    Constant columns, rows that are equal and units that are saturated have lost nothing. Points
    that stand for the samples of a stream have the same mean and the same norms as these.
    """
    if x.signed or has_no_values(x.source):
        return
    if (
        MAX_ROUNDING_SHARE < rounding_share(x) < float("inf")
    ):  # infinite for values that are not finite
        raise UndefinedError(below_rounding_message(x))


def to_double_precision(x: Representation) -> Representation:
    """The same data computed in double precision, where there is any."""
    if x.dtype == "float64" or x.origin or not has_float64(x.source):
        return x
    return Representation(detach(x.source), x.name, dtype="float64")


def below_rounding_message(x: Representation) -> str:
    """The sentence that says that differences lie below rounding, and what to do."""
    is_stored = resolution(x) >= float(np.finfo(x.dtype).eps)
    dtype = input_precision(x) if is_stored else x.dtype
    remedy = f"before the data are stored in {dtype}" if is_stored else "or take dtype='float64'"
    return (
        f"the samples of {representation_title(x)} differ by less than the rounding of {dtype}: "
        f"centre first (subtract the mean of each feature, {remedy})"
    )


def input_precision(x: Representation) -> str:
    """The precision that the numbers came in."""
    return str(x.origin.dtype if x.origin else x.source.dtype).rpartition(".")[2]


@cached("scalar")
def rounding_share(x: Representation) -> float:
    """Error of the numbers as they are stored and computed, relative to the Frobenius norm of the
    centred points; constant columns and saturated units count as exact.

    One pass over the data, of which a few rows at a time are copied.
    """
    eps = max(resolution(x), float(np.finfo(x.dtype).eps))
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
    """A number that the norm of the data over that of the centred points does not exceed, from the
    differences of a few rows; infinity where it takes more to say."""
    source, count = x.source, min(8, x.shape[0] // 2, max(1, MAX_NUMBERS_PER_COPY // x.shape[1]))
    is_plain = isinstance(source, np.ndarray) and source.flags.forc
    if not is_plain or source.dtype not in (np.float32, np.float64) or not count:
        return float("inf")
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        gaps = source[:count].astype(float) - source[count : 2 * count]
        entries = source.ravel(order="K")
        lower, upper = float(np.vdot(gaps, gaps)) / 2, float(np.vdot(entries, entries))
    is_safe = np.isfinite(upper) and lower > float(np.finfo(source.dtype).tiny) / DOUBLE_EPSILON
    return (upper / lower) ** 0.5 if is_safe else float("inf")


def _column_square_sums(x: Representation, unit: float) -> tuple[Array, float, float]:
    """Sums of squares of the columns that vary, 0 for the others, their total, and that of all
    centred numbers, of numbers divided by ``unit``; the arrays stay where the data are."""
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
    """Yield the values in blocks of rows, where they are, in double precision if there is any."""
    height, source = max(1, MAX_NUMBERS_PER_COPY // x.shape[1]), detach(x.source)
    dtype = x.xp.float64 if has_float64(source) else x.xp.float32
    for start in range(0, x.shape[0], height):
        yield x.xp.astype(source[start : min(start + height, x.shape[0]), :], dtype)


def _least_and_largest(x: Representation) -> tuple[float, float]:
    """The least and the largest number."""
    parts = [
        (scalar(x.xp.min(block)), scalar(x.xp.max(block))) for block in _double_precision_blocks(x)
    ]
    return min(low for low, _ in parts), max(high for _, high in parts)


def _saturated_columns(x: Representation, slack: float) -> Array:
    """Say of each column whether all its numbers are 1 or -1 but for rounding."""
    are_saturated = None
    for block in _double_precision_blocks(x):
        part = x.xp.all(x.xp.abs(x.xp.abs(block) - 1) <= slack, axis=0)
        are_saturated = part if are_saturated is None else are_saturated & part
    return are_saturated
