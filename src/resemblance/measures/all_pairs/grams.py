"""Kernel alignment of many pairs together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import inner, like, namespace, scalar
from ...claims import Scores
from ...representation import Representation
from ...views.grams import Estimator, GramKernel, Pairs, root_of_hsic, without_diagonals
from ...views.passes import centred_kernel, kernel_diagonal, kernel_margins
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
    norms = [_norm(r, gram, estimator) for r in grid.representations]
    matrices = [centred_kernel(r, gram) for r in grid.representations]
    sums = products(matrices, grid.pairs, grid.samples)
    sides = [[grid.representations[i] for i in pair] for pair in grid.pairs]
    estimates = [_estimated(s, x, y, gram, estimator) for s, (x, y) in zip(sums, sides)]
    a, b = grid.ends(norms)
    return grid.scores(np.minimum(np.array(estimates) / (a * b), 1))


def _norm(x: Representation, kernel: GramKernel, estimator: Estimator) -> float:
    """Root of the HSIC of a representation with itself."""
    energy = kernel_margins(x, kernel).energy
    squared = _estimated(energy, x, x, kernel, estimator)
    return scalar(root_of_hsic(x, squared, energy, estimator))


def _estimated(
    product: float, x: Representation, y: Representation, kernel: GramKernel, estimator: Estimator
) -> float:
    """HSIC from the inner product of two centred kernel matrices."""
    if estimator == "biased":
        return product
    k, l = (kernel_diagonal(r, kernel) for r in (x, y))
    traces = namespace(k).sum(k) * namespace(l).sum(l)
    return scalar(without_diagonals(like(product, k), inner(k, l), traces, x.shape[0], estimator))
