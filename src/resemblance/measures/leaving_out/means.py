"""Means over samples without each sample: of predictions, and of directions."""

from __future__ import annotations

import numpy as np

from ...arrays import as_float64
from ...representation import Representation
from ...views.points import mean, unit_rows
from .digits import need_rest, need_samples


def magnitude_difference_without(x: Representation, y: Representation) -> np.ndarray:
    """Magnitude difference without each sample, exactly, shape (n,)."""
    need_samples("magnitude_difference", x, 2)
    lengths = [np.linalg.norm(means_without(r), axis=1) for r in (x, y)]
    return np.abs(lengths[0] - lengths[1])


def concentricity_difference_without(x: Representation, y: Representation) -> np.ndarray:
    """Concentricity difference without each sample, exactly, shape (n,); ``Undefined`` where the
    mean of the others nearly vanishes."""
    need_samples("concentricity_difference", x, 2)
    values = []
    for r in (x, y):
        means, rows = means_without(r), as_float64(unit_rows(r))
        lengths = np.linalg.norm(means, axis=1)
        largest = np.abs(as_float64(r.array)).max()
        need_rest("concentricity_difference", lengths / (largest if largest > 0 else 1), 1e-12)
        others = np.einsum("ij,ij->i", rows.sum(axis=0) - rows, means)
        values.append(others / lengths / (len(rows) - 1))
    return np.abs(values[0] - values[1])


def means_without(x: Representation) -> np.ndarray:
    """Return the mean rows without each sample, shape (n, d)."""
    centre, rows = as_float64(mean(x)), as_float64(x.array)
    return centre + (centre - rows) / (len(rows) - 1)
