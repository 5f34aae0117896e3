"""Ranks, and the rank correlation that everything here uses."""

from __future__ import annotations

import math
from importlib.util import find_spec

import numpy as np

from ..base.arrays import Array, assign, device, namespace, scatter

MIN_COMPILED_LENGTH = 500_000  # values from which on compiled code pays for being loaded


def average_ranks(
    vector: Array, rounding: float = 0.0, compiled: int = MIN_COMPILED_LENGTH
) -> Array:
    """Ranks from 1 to n of the values of a vector of any array library; equal values, with no more
    than ``rounding`` between neighbours, share their mean rank.

    From ``compiled`` values on, NumPy arrays in double precision are ranked by compiled code where
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
    del sorted_values  # as large as all distances: at most four such vectors are alive at a time
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
    """Ranks by a radix sort; none, of shape (0,), where that is no gain."""
    low, high = float(vector.min()), float(vector.max())
    if not 0 < high - low < math.inf:
        return np.empty(0)
    from ._radix import radix_mean_ranks

    return radix_mean_ranks(vector, low, high, rounding)


def _mean_ranks_of_ties(ranks: Array, is_new: Array) -> Array:
    """Replace the ranks of groups of ties by their mean; ``is_new`` says where, after the first, a
    group begins."""
    xp = namespace(ranks)
    edge = xp.ones_like(is_new[:1])
    starts, ends = xp.concat([edge, is_new]), xp.concat([is_new, edge])
    tied_positions = xp.nonzero(~(starts & ends))[0]  # usually few: only they are worked on
    starts, ends, values = (xp.take(part, tied_positions) for part in (starts, ends, ranks))
    means = (values[starts] + values[ends]) / 2
    return assign(
        ranks,
        tied_positions,
        xp.take(means, xp.cumulative_sum(xp.astype(starts, tied_positions.dtype)) - 1),
    )


def ranks_of_rows(values: np.ndarray) -> np.ndarray:
    """Ranks within every row, along the last axis; equal values share their mean rank.

    Values may be infinite. A row with a NaN has no ranks: all are NaN.
    """
    order = np.argsort(values, axis=-1)
    sorted_values, ranks = np.take_along_axis(values, order, axis=-1), np.empty(np.shape(values))
    np.put_along_axis(ranks, order, np.arange(1.0, order.shape[-1] + 1), axis=-1)
    has_ties = ~(sorted_values[..., :-1] < sorted_values[..., 1:]).all(axis=-1)  # or a NaN
    if has_ties.any():
        from scipy.stats import rankdata  # takes as long to import as the rest of the library

        ranks[has_ties] = rankdata(values[has_ties], axis=-1)
    return ranks


def rank_correlation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Spearman's correlation, in [-1, 1], of the ranks ``a`` (n,) with the ranks ``b``, (n,) or (m,
    n): a 0-d array, or (m,).

    NaN for ranks that are all equal. Ranks are as large as their spread, so no digit is lost when
    they are not centred first.
    """
    offset = len(a) * ((len(a) + 1) / 2) ** 2
    squares = b @ b if b.ndim == 1 else (b * b).sum(axis=-1)
    scale = np.sqrt((a @ a - offset) * (squares - offset))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.clip((b @ a - offset) / scale, -1, 1))
