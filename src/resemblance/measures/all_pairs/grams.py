"""Kernel alignment of many pairs together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import scalar
from ...claims import Scores
from ...representation import Representation
from ...views.grams import Estimator, GramKernel, Pairs, estimated, hsic_norm
from ...views.passes import centred_kernel
from ...views.rectangles import products
from .grid import grid_of


def kernel_alignments(
    xs: Sequence[Representation],
    ys: Sequence[Representation],
    kernel: str,
    estimator: Estimator,
    bandwidth: float,
    pairs: Pairs,
) -> Scores:
    """CKA with a kernel of distances for many pairs, in four passes: two for the median, one for
    the means of rows, and one for the products; the first three once per representation.

    O(n^2 d) time for each representation and O(n^2) for each pair, O(n d) memory. Raises
    ``Undefined`` as the measure does.
    """
    grid, gram = grid_of(xs, ys), GramKernel(kernel, bandwidth, pairs)
    norms = [scalar(hsic_norm(r, gram, estimator)) for r in grid.representations]
    matrices = [centred_kernel(r, gram) for r in grid.representations]
    sums = products(matrices, grid.pairs, grid.samples)
    sides = [(grid.representations[i], grid.representations[j]) for i, j in grid.pairs]
    estimates = [scalar(estimated(float(s), p, gram, estimator)) for s, p in zip(sums, sides)]
    a, b = grid.ends(norms)
    return grid.scores(np.minimum(np.array(estimates) / (a * b), 1))
