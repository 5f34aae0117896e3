"""Leave-one-out effective number of shared dimensions."""

from __future__ import annotations

import numpy as np

from ...data.representation import Representation
from ...intermediates.matrices import LINEAR_KERNEL, kernel_gram
from .inner_products import leave_one_out_products, leave_one_out_squared_sizes
from .kernel_alignment import leave_one_out_self_hsic


def leave_one_out_ensd(x: Representation, y: Representation) -> np.ndarray:
    """Return the leave-one-out ENSD, shape (n,); exact.

    Raises ``UndefinedError`` if the self-similarity of a representation without some sample is not
    positive, or is too small a part of the self-similarity of all samples.
    """
    product = leave_one_out_products(kernel_gram(x, LINEAR_KERNEL), kernel_gram(y, LINEAR_KERNEL))
    for r in (x, y):
        product = (
            product
            * leave_one_out_squared_sizes(r)
            / leave_one_out_self_hsic(r, LINEAR_KERNEL, "biased")
        )
    return product
