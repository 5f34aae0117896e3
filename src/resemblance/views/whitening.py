"""Views between the points and their whitened version."""

from __future__ import annotations

from ..arrays import Array, detach, epsilon, namespace, norm, root, scalar, singular_values, svd
from ..representation import Representation, view
from .points import preshape
from .spectra import orthonormal_basis, principal_directions


@view
def partly_whitened(x: Representation, alpha: float) -> Array:
    """Centred points whose singular values s became alpha s + (1 - alpha), in unit size, shape (n,
    at most n).

    s is in units of its root mean square over the rank. The columns are in no particular frame: a
    rotation is left out.
    """
    if alpha == 1:
        return preshape(x)
    if alpha == 0:
        basis = orthonormal_basis(x)
        return basis / basis.shape[1] ** 0.5
    parts = principal_directions(x)
    singular = parts.singular * parts.singular.shape[0] ** 0.5
    points = parts.basis * (alpha * singular + (1 - alpha))[None, :]
    return points / norm(points)


def rotated_chord(a: Array, b: Array) -> Array:
    """Distance between two matrices of unit size after the best rotation, the narrower one padded
    with zero columns."""
    xp = namespace(a)
    if a.shape[1] > b.shape[1]:
        a, b = b, a
    cross = xp.matrix_transpose(a) @ b
    squared = 2 - 2 * xp.sum(singular_values(cross))
    if scalar(squared) > epsilon(squared) ** 0.4:
        return root(squared)
    u, _, vt = svd(detach(cross))  # near zero the formula above cancels
    residual = norm(a @ (u @ vt) - b)
    return xp.where(
        residual <= 64 * epsilon(residual), xp.zeros_like(residual), residual
    )  # rounding has no direction
