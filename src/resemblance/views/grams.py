"""Views of centred Gram matrices: what kernel alignment compares."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, carries_gradient, inner, like, namespace, norm, scalar, to_numpy
from ..representation import Representation, Undefined, title, view
from .distances import rdm, row_blocks, squared_distance_block
from .points import preshape
from .spectra import energy


@view
def median_distance(x: Representation) -> Array:
    """Median Euclidean distance between two different samples of the pre-shape, a 0-d array."""
    distances = to_numpy(rdm(x, "euclidean"))
    if carries_gradient(x.source):
        return _differentiable_median(preshape(x), distances)
    return like(np.median(distances, overwrite_input=True), x.array)


def _differentiable_median(points: Array, distances: np.ndarray) -> Array:
    """The median again, from the one or two pairs of samples that have it, so that gradients pass."""
    xp, median = namespace(points), np.median(distances)
    ends = [distances[distances <= median].max(), distances[distances >= median].min()]
    found = np.array([np.flatnonzero(distances == end)[0] for end in ends])
    i, j = (like(indices[found], points) for indices in np.triu_indices(points.shape[0], 1))
    return xp.mean(norm(xp.take(points, i, axis=0) - xp.take(points, j, axis=0), axis=1))


@view
def rbf_gram(x: Representation, bandwidth: float) -> Array:
    """Centred Gram matrix of exp(-d^2 / (2 sigma^2)), sigma = bandwidth * median distance, shape (n, n)."""
    sigma = bandwidth * median_distance(x)
    if scalar(sigma) == 0:
        raise Undefined(f"the median distance between samples of {title(x)} is zero, so an RBF kernel has no width")
    points, n = preshape(x), x.shape[0]
    gram = x.xp.empty((n, n), dtype=points.dtype, device=points.device)
    for start, stop in row_blocks(n):
        gram[start:stop, :] = x.xp.exp(squared_distance_block(points, start, stop) / (-2 * sigma**2))
    means = x.xp.mean(gram, axis=0)
    for start, stop in row_blocks(n):
        gram[start:stop, :] = gram[start:stop, :] - means[start:stop, None] - (means - x.xp.mean(means))[None, :]
    return gram


@view
def gram_diagonal(x: Representation, kernel: str, bandwidth: float) -> Array:
    """Diagonal of the centred Gram matrix, shape (n,)."""
    if kernel == "linear":
        return x.xp.sum(preshape(x) ** 2, axis=1)
    return x.xp.linalg.diagonal(rbf_gram(x, bandwidth=bandwidth))


@view
def gram_energy(x: Representation, kernel: str, bandwidth: float) -> Array:
    """Squared Frobenius norm of the centred Gram matrix."""
    if kernel == "linear":
        return energy(x) ** 2
    gram = rbf_gram(x, bandwidth=bandwidth)
    return inner(gram, gram)
