"""Ranks, and Spearman's rank correlation."""

from __future__ import annotations

import math
from importlib.util import find_spec

import numpy as np

from ..base.arrays import Array, assign, device, namespace, scatter

MIN_COMPILED_LENGTH = 500_000  # length from which compiled code is worth its loading time


def average_ranks(
    vector: Array, rounding: float = 0.0, compiled: int = MIN_COMPILED_LENGTH
) -> Array:
    """Return the ranks from 1 to n of the values of a vector of any array library, (n,). Tied
    values, with at most ``rounding`` between neighbours, share their mean rank.

    From ``compiled`` values on, NumPy arrays in double precision are ranked by compiled code if
    numba is installed, several times as fast, with the same result.
    """
    if _uses_compiled_ranks(vector, compiled):
        ranks = _radix_ranks(vector, rounding)
        if len(ranks):
            return ranks
    xp = namespace(vector)
    order = xp.argsort(vector, stable=False)  # ties share a rank whatever their order
    sorted_values = xp.take(vector, order)
    is_new = sorted_values[1:] - sorted_values[:-1] > rounding
    del sorted_values  # free memory: at most four vectors of this size exist at a time
    ranks = xp.arange(1, vector.shape[0] + 1, dtype=vector.dtype, device=device(vector))
    if not bool(xp.all(is_new)):
        ranks = _mean_ranks_of_ties(ranks, is_new)
    return scatter(ranks, order)


def _uses_compiled_ranks(vector: Array, compiled: int) -> bool:
    is_known = isinstance(vector, np.ndarray) and vector.dtype == np.float64
    if not is_known or not compiled <= vector.shape[0] < 2**32:
        return False
    return find_spec("numba") is not None


def _radix_ranks(vector: np.ndarray, rounding: float) -> np.ndarray:
    """Return the ranks of the values of ``vector``, (n,), from 1, by a radix sort; values with at
    most ``rounding`` between neighbours share their mean rank.

    Return no ranks, shape (0,), if the radix sort is not faster, for values that are all equal, and
    for values that are not finite.
    """
    low, high = float(vector.min()), float(vector.max())
    if not 0 < high - low < math.inf:
        return np.empty(0)
    from ._radix import radix_mean_ranks

    return radix_mean_ranks(vector, low, high, rounding)


def _mean_ranks_of_ties(ranks: Array, is_new: Array) -> Array:
    """Return ``ranks``, in ascending order of the values, with the ranks of tied values replaced
    by their mean. ``is_new``: whether the second, third, ... value begins a group."""
    xp = namespace(ranks)
    edge = xp.ones_like(is_new[:1])
    starts, ends = xp.concat([edge, is_new]), xp.concat([is_new, edge])
    tied_positions = xp.nonzero(~(starts & ends))[0]  # usually few positions
    starts, ends, values = (xp.take(part, tied_positions) for part in (starts, ends, ranks))
    means = (values[starts] + values[ends]) / 2
    return assign(
        ranks,
        tied_positions,
        xp.take(means, xp.cumulative_sum(xp.astype(starts, tied_positions.dtype)) - 1),
    )


def ranks_of_rows(values: np.ndarray) -> np.ndarray:
    """Return the ranks, from 1, within every row, along the last axis; equal values share their
    mean rank.

    Values may be infinite. If a row has a NaN, all ranks of the row are NaN.
    """
    order = np.argsort(values, axis=-1)
    sorted_values, ranks = np.take_along_axis(values, order, axis=-1), np.empty(np.shape(values))
    np.put_along_axis(ranks, order, np.arange(1.0, order.shape[-1] + 1), axis=-1)
    has_ties = ~(sorted_values[..., :-1] < sorted_values[..., 1:]).all(axis=-1)  # or a NaN
    if has_ties.any():
        from scipy.stats import rankdata  # the import takes as long as the rest of the library

        ranks[has_ties] = rankdata(values[has_ties], axis=-1)
    return ranks


def rank_correlation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return Spearman's correlation, in [-1, 1], of the ranks ``a`` (n,) with the ranks ``b``, (n,)
    or (m, n): a 0-d array, or (m,).

    The correlation is NaN for ranks that are all equal. Ranks and their spread have the same
    magnitude, so the function loses no digits without centring.
    """
    offset = len(a) * ((len(a) + 1) / 2) ** 2
    squares = b @ b if b.ndim == 1 else (b * b).sum(axis=-1)
    scale = np.sqrt((a @ a - offset) * (squares - offset))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.clip((b @ a - offset) / scale, -1, 1))
