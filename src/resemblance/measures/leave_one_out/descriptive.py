"""Leave-one-out forms of measures that compare one number per representation."""

from __future__ import annotations

import numpy as np

from ...base.arrays import as_float64
from ...data.representation import Representation
from ...intermediates.points import mean, unit_rows
from .inner_products import check_min_samples, check_remainder


def leave_one_out_concentricity(x: Representation, y: Representation) -> np.ndarray:
    """Return the leave-one-out concentricity difference, shape (n,); exact.

    Raises ``UndefinedError`` if the mean of the other samples nearly vanishes.
    """
    check_min_samples("concentricity_difference", x, 2)
    values = []
    for r in (x, y):
        means, rows = leave_one_out_mean_rows(r), as_float64(unit_rows(r))
        lengths = np.linalg.norm(means, axis=1)
        largest = np.abs(as_float64(r.array)).max()
        check_remainder(
            "concentricity_difference", lengths / (largest if largest > 0 else 1), 1e-12
        )
        products = np.einsum("ij,ij->i", rows.sum(axis=0) - rows, means)
        values.append(products / lengths / (len(rows) - 1))
    return np.abs(values[0] - values[1])


def leave_one_out_magnitude_diff(x: Representation, y: Representation) -> np.ndarray:
    """Return the leave-one-out magnitude difference, shape (n,); exact."""
    check_min_samples("magnitude_difference", x, 2)
    lengths = [np.linalg.norm(leave_one_out_mean_rows(r), axis=1) for r in (x, y)]
    return np.abs(lengths[0] - lengths[1])


def leave_one_out_mean_rows(x: Representation) -> np.ndarray:
    """Return the mean row without each sample, shape (n, d)."""
    center, rows = as_float64(mean(x)), as_float64(x.array)
    return center + (center - rows) / (len(rows) - 1)
