"""How evenly a representation fills the directions that its samples have: from 0 for one direction
to 1 for all alike.

Numbers of this kind tell what unrelated representations score. For centred symmetric matrices A and
B of n samples, the mean of the inner product of A and B over all n! orders of the samples of B is
tr A tr B / (n - 1), because a centred matrix sums to zero. Divided by the norms it is the product
of the two flatnesses tr A / (√(n - 1) ‖A‖).
"""

from __future__ import annotations

import math

from ..arrays import Array, namespace, norm, root, scalar
from ..representation import Representation, view
from .distances import distance_deviation, mean_distance, rdm_vector
from .grams import GramKernel, gram_energy, gram_trace
from .passes import dissimilarity_spread, distance_margins
from .points import preshape, row_directions
from .rectangles import is_large
from .spectra import (
    decomposition,
    direction_lost,
    has_accurate_inverse,
    orthonormal_basis,
    partly_whitened,
)


@view
def gram_flatness(x: Representation, kernel: GramKernel) -> float:
    """Flatness of the centred Gram matrix; squared, its effective number of dimensions over n -
    1."""
    trace = scalar(gram_trace(x, kernel))
    energy = scalar(gram_energy(x, kernel))
    return trace / math.sqrt((x.n_samples - 1) * energy)


@view
def distance_flatness(x: Representation) -> float:
    """Flatness of the double-centred distances, whose trace is 1 - n times the mean distance."""
    if is_large(x):
        n, (_, mean, energy) = x.shape[0], distance_margins(x)
        return n * mean / math.sqrt((n - 1) * energy)
    return math.sqrt(x.shape[0] - 1) * scalar(mean_distance(x)) / scalar(distance_deviation(x))


@view
def leading_flatness(x: Representation, k: int) -> float:
    """Flatness of the Gram matrix of the k leading principal components."""
    variance = decomposition(x).singular[:k] ** 2
    return scalar(x.xp.sum(variance) / norm(variance)) / math.sqrt(x.n_samples - 1)


@view
def root_flatness(x: Representation, alpha: float = 1.0) -> float:
    """Flatness of the root of the Gram matrix of the centred points, partly whitened unless
    ``alpha`` is 1.

    Its trace is the sum of the singular values. The sum of the singular values of A B is at least
    tr A B, so the product of two such numbers is at most the mean of the best cosine after a
    rotation, over all orders of samples.
    """
    points = preshape(x) if alpha == 1 else partly_whitened(x, alpha=alpha)
    return _trace_of_root(points) / math.sqrt(x.n_samples - 1)


@view
def direction_flatness(x: Representation) -> float:
    """Flatness of the directions of the rows, not centred, among all n directions."""
    return _trace_of_root(row_directions(x)) / x.n_samples


@view
def dissimilarity_flatness(x: Representation, kind: str) -> float:
    """Cosine of the dissimilarities between samples with dissimilarities that are all equal."""
    if is_large(x):
        spread = dissimilarity_spread(x, kind=kind)
        n = x.shape[0]
        return spread.mean / math.sqrt(spread.squares / (n * (n - 1)) + spread.mean**2)
    vector = rdm_vector(x, kind=kind, compare="cosine")
    return scalar(x.xp.sum(vector)) / math.sqrt(vector.shape[0])


@view
def basis_sum(x: Representation) -> float:
    """Sum of the entries of the projection on the columns, not centred: n for a constant one."""
    if has_accurate_inverse(x, full=True):
        return x.n_samples * scalar(norm(direction_lost(x)[0])) ** 2
    basis = orthonormal_basis(x, centered=False)
    sums = x.xp.sum(basis, axis=0)
    # Points that stand for the samples of a stream are fewer, and each counts for several
    each = x.n_samples / int(basis.shape[0])
    return scalar(x.xp.sum(sums**2)) * each


def _trace_of_root(points: Array) -> float:
    """Sum of the singular values, from the eigenvalues of the smaller matrix of products."""
    xp, (n, d) = namespace(points), points.shape
    products = (
        xp.matrix_transpose(points) @ points if d < n else points @ xp.matrix_transpose(points)
    )
    return scalar(xp.sum(root(xp.linalg.eigvalsh(products))))
