"""Leave-one-out linear regression and GULP."""

from __future__ import annotations

import numpy as np

from ...base.arrays import as_float64
from ...data.representation import Representation
from ...intermediates.points import preshape
from ...intermediates.spectra import orthonormal_basis
from .cca import (
    leave_one_out_projection,
    leave_one_out_shared_spaces,
    leave_one_out_squared_products,
)
from .inner_products import check_min_samples, leave_one_out_squared_sizes


def leave_one_out_regression(x: Representation, y: Representation, predict: str) -> np.ndarray:
    """Return the leave-one-out R² of linear regression, shape (n,), in [0, 1]; exact.

    ``predict``: "second" predicts y from x, "first" x from y. Raises ``UndefinedError`` if a
    representation is constant without some sample, or if the rank of the predictor nearly falls by
    one.
    """
    check_min_samples("linear_regression", x, 2)
    if predict == "first":
        x, y = y, x
    basis, targets = as_float64(orthonormal_basis(x)), as_float64(preshape(y))
    gains = leave_one_out_projection(x).gains
    explained = leave_one_out_squared_products(
        basis, targets, gains, np.zeros(len(gains)), centered=True
    )
    return np.minimum(explained / leave_one_out_squared_sizes(y), 1)


def leave_one_out_gulp(
    x: Representation, y: Representation, ridge: float, squared: bool
) -> np.ndarray:
    """Return the leave-one-out GULP for ``ridge`` 0, shape (n,); exact.

    The value of ``ridge`` is not used. ``squared``: whether to leave out the root. Raises
    ``UndefinedError`` if a representation is constant without some sample, or if a rank nearly
    falls by one.
    """
    check_min_samples("gulp", x, 2)
    shared, ranks = leave_one_out_shared_spaces(x, y)
    total = ranks[0] + ranks[1]
    distance = np.where(total - 2 * shared <= 1e-12 * total, 0, total - 2 * shared)
    return distance if squared else np.sqrt(distance)
