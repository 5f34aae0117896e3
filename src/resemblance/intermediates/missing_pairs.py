"""Missing pairs: the pairs of samples without a value in given dissimilarities."""

from __future__ import annotations

import numpy as np

from ..base.arrays import as_float64, to_numpy
from ..base.exceptions import UndefinedError
from ..data.representation import Representation, cached, representation_title

MISSING_PAIRS_REMEDY = (
    "rsa with compare= spearman, pearson, cosine, kendall, kendall_a or rho_a "
    "uses the pairs that both sides have; for other measures leave out the conditions with missing "
    "pairs"
)


def gap_columns(gaps: np.ndarray, scale: float) -> np.ndarray:
    """Return columns (n, k) that encode the gaps between pairs of rows and stay with the rows when
    rows are selected or reordered.

    ``gaps``: (n, n), symmetric, True for a pair without a value. Every column is ``scale`` in a
    row, -``scale`` in the rows with a gap to that row, else 0. Gap columns have sign 0 in
    dissimilarities.
    """
    remaining_gaps, columns = gaps.copy(), list[np.ndarray]()
    while remaining_gaps.any():
        row = int(remaining_gaps.sum(axis=0).argmax())
        column = np.where(remaining_gaps[row], -scale, 0.0)
        column[row] = scale
        columns.append(column)
        remaining_gaps[row], remaining_gaps[:, row] = False, False
    return np.stack(columns, axis=1) if columns else np.empty((len(gaps), 0))


@cached("pairs")
def missing_pairs(x: Representation) -> np.ndarray:
    """Return a mask (n (n - 1) / 2,) of the pairs of rows without a dissimilarity, row by row
    above the diagonal; shape (0,) if no pair is missing."""
    if x.signed is None or x.signed.signs.all():
        return np.zeros(0, dtype=bool)
    codes = as_float64(to_numpy(x.source))[:, x.signed.signs == 0]
    one_way = (codes > 0).astype(float) @ (codes < 0).astype(float).T > 0
    missing = (one_way | one_way.T)[np.triu_indices(len(codes), 1)]
    return missing if missing.any() else missing[:0]


def has_missing_pairs(x: Representation) -> bool:
    """Return whether some pair of rows has no dissimilarity."""
    return missing_pairs(x).size > 0


def require_no_missing_pairs(x: Representation) -> None:
    """Raise ``UndefinedError`` where some pair of rows has no dissimilarity."""
    missing = missing_pairs(x)
    if missing.size:
        raise UndefinedError(
            f"{representation_title(x)} lacks {int(missing.sum())} of {missing.size} "
            f"dissimilarities; {MISSING_PAIRS_REMEDY}"
        )
