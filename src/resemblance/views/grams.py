"""Views of centred Gram matrices: what kernel alignment compares."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import (
    Array,
    carries_gradient,
    device,
    epsilon,
    inner,
    like,
    namespace,
    norm,
    root,
    scalar,
    stacked,
    to_numpy,
)
from ..representation import Representation, Undefined, title, view
from .distances import double_centered, rdm, row_blocks, squared_distance_block
from .points import preshape, row_directions
from .spectra import energy

Pairs = Literal["distinct", "all"]


@view
def median_distance(x: Representation, pairs: Pairs = "distinct") -> Array:
    """Median Euclidean distance between samples of the pre-shape, a 0-d array; of all pairs also
    with themselves."""
    distances = to_numpy(rdm(x, "euclidean"))
    if pairs == "all":  # every pair twice, and n zeros
        distances = np.concatenate([distances, distances, np.zeros(x.shape[0])])
    if carries_gradient(x.source):
        return _differentiable_median(preshape(x), distances)
    return like(np.median(distances, overwrite_input=distances.flags.writeable), x.array)


def _differentiable_median(points: Array, distances: np.ndarray) -> Array:
    """The median again, from the one or two pairs of samples that have it, so that gradients
    pass."""
    xp, median = namespace(points), np.median(distances)
    ends = [distances[distances <= median].max(), distances[distances >= median].min()]
    found = np.array([np.flatnonzero(distances == end)[0] for end in ends])
    n = points.shape[
        0
    ]  # pairs may be listed twice, and followed by those of samples with themselves
    i, j = (
        like(np.concatenate([a, a, np.arange(n)])[found], points) for a in np.triu_indices(n, 1)
    )
    return xp.mean(norm(xp.take(points, i, axis=0) - xp.take(points, j, axis=0), axis=1))


@view
def distance_gram(
    x: Representation, kernel: str, bandwidth: float, pairs: Pairs = "distinct"
) -> Array:
    """Centred Gram matrix of a kernel of the distance d, sigma = bandwidth * median distance, shape
    (n, n).

    ``kernel``: "rbf" is exp(-d^2 / (2 sigma^2)), "laplace" is exp(-d / sigma).
    """
    sigma = bandwidth * median_distance(x, pairs)
    if scalar(sigma) == 0:
        raise Undefined(
            f"the median distance between samples of {title(x)} is zero, so the kernel has no width"
        )
    points, n = preshape(x), x.shape[0]
    squares = (squared_distance_block(points, start, stop) for start, stop in row_blocks(n))
    exponents = (
        root(block) / -sigma if kernel == "laplace" else block / (-2 * sigma**2)
        for block in squares
    )
    gram = x.xp.empty((n, n), dtype=points.dtype, device=device(points))
    return double_centered(stacked(map(x.xp.exp, exponents), gram))


@view
def centered_directions(x: Representation) -> Array:
    """Rows at unit length minus their mean, never wider than n: their inner products are the
    centred cosines."""
    rows = row_directions(x)
    centered = rows - x.xp.mean(rows, axis=0, keepdims=True)
    if scalar(norm(centered)) <= 16 * epsilon(rows) * rows.shape[0] ** 0.5:
        raise Undefined(
            f"all samples of {title(x)} have the same direction: their cosines do not differ"
        )
    return centered


@view
def gram_diagonal(
    x: Representation, kernel: str, bandwidth: float, pairs: Pairs = "distinct"
) -> Array:
    """Diagonal of the centred Gram matrix, shape (n,)."""
    if kernel in ("linear", "cosine"):
        points = preshape(x) if kernel == "linear" else centered_directions(x)
        return x.xp.sum(points**2, axis=1)
    return x.xp.linalg.diagonal(distance_gram(x, kernel=kernel, bandwidth=bandwidth, pairs=pairs))


@view
def gram_energy(
    x: Representation, kernel: str, bandwidth: float, pairs: Pairs = "distinct"
) -> Array:
    """Squared Frobenius norm of the centred Gram matrix."""
    if kernel == "linear":
        return energy(x) ** 2
    if kernel == "cosine":
        points = centered_directions(x)
        gram = x.xp.matrix_transpose(points) @ points
    else:
        gram = distance_gram(x, kernel=kernel, bandwidth=bandwidth, pairs=pairs)
    return inner(gram, gram)
