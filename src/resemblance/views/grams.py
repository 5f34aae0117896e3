"""Views of centred Gram matrices: what kernel alignment compares."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, inner, to_numpy
from ..representation import Representation, Undefined, view
from .distances import row_blocks, squared_distance_block
from .points import preshape
from .spectra import energy


@view
def median_distance(x: Representation) -> float:
    """Median Euclidean distance between two different samples of the pre-shape."""
    points, values = preshape(x), []
    for start, stop in row_blocks(points.shape[0]):
        block = to_numpy(squared_distance_block(points, start, stop))
        values.extend(block[i, start + i + 1 :] for i in range(stop - start))
    return float(np.median(np.concatenate(values))) ** 0.5


@view
def rbf_gram(x: Representation, bandwidth: float) -> Array:
    """Centred Gram matrix of exp(-d^2 / (2 sigma^2)), sigma = bandwidth * median distance, shape (n, n)."""
    sigma = bandwidth * median_distance(x)
    if sigma == 0:
        raise Undefined("the median distance between samples is zero, so an RBF kernel has no width")
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
