"""ReSi's own formulas, where the ReSi code differs from the definitions; used only for variants
requested by name."""

from __future__ import annotations

import numpy as np

from ..base.arrays import as_float64, scalar, to_numpy
from ..base.exceptions import UndefinedError
from ..data.representation import Representation, cached, representation_title
from .points import feature_products, mean, size, unit
from .spectra import basis_coordinates, decomposition, numerical_rank


@cached("scalar")
def resi_svcca_components(x: Representation, explained_variance: float) -> int:
    """Return the number of components by ReSi's rule: the smallest number with an explained
    *fraction* of the variance of at least ``explained_variance`` times the *total variance*, a sum
    of squares in the units of the data.

    If no fraction is large enough (total variance above 1), the search returns its first position,
    so a single component is kept.
    """
    length = scalar(size(x))
    # A product overflows to infinity and keeps one component; a power would raise an error.
    total = length * length
    variance = as_float64(decomposition(x).singular) ** 2
    is_enough = np.cumsum(variance) / variance.sum() >= explained_variance * total
    return int(np.argmax(is_enough)) + 1


@cached("scalar")
def largest_covariance(x: Representation) -> float:
    """Return the largest absolute entry of the covariance of the centred points of Frobenius norm
    1: the divisor of the covariance in the google/svcca code."""
    return float(np.abs(_unit_size_covariance(x)).max())


@cached("d d")
def inverse_root_covariance(x: Representation) -> np.ndarray:
    """Return the symmetric root of the pseudo-inverse of the covariance divided by
    :func:`largest_covariance`, shape (d, d). Raises ``UndefinedError`` for a singular covariance.
    """
    values, vectors = np.linalg.eigh(
        np.linalg.pinv(_unit_size_covariance(x) / largest_covariance(x))
    )
    # The ReSi code takes roots of rounding noise: the result is NaN or a number by chance.
    if numerical_rank(x) < x.shape[1] or values.min() < 0:
        raise UndefinedError(
            f"pwcca[directions=resi]: the covariance of {representation_title(x)} is singular "
            "(dead units?)"
        )
    return vectors @ np.diag(np.sqrt(values)) @ vectors.T


@cached("k d")
def uncentered_coordinates(x: Representation) -> np.ndarray:
    """Return the coordinates of the uncentred columns, in unit size, in an orthonormal basis of
    the centred columns and the constant, shape (r + 1, d); the constant is last."""
    return np.vstack(
        [to_numpy(basis_coordinates(x)), np.sqrt(x.n_samples) * to_numpy(mean(x) / size(x))]
    )


def resi_pwcca(x: Representation, y: Representation) -> float:
    """Return PWCCA by the formula of the ReSi code (see :func:`resemblance.pwcca`), with the
    weights of x. Raises ``UndefinedError`` unless d < n and d <= e.

    Coordinates with equal inner products replace the n-row matrices of the ReSi code. The SVD is of
    the same d x e matrix, so LAPACK chooses the same signs of the singular vectors; the signs
    matter because the code adds the mean.
    """
    n, d, e = x.n_samples, x.shape[1], y.shape[1]
    if n <= d or d > e:
        raise UndefinedError(
            f"pwcca[directions=resi] needs d < n and d <= e; got X {x.shape} and Y {y.shape}"
        )
    scale = (largest_covariance(x) * largest_covariance(y)) ** 0.5 * (n - 1)
    cross = to_numpy(feature_products(x, y)) / scale
    left, rho, _ = np.linalg.svd(inverse_root_covariance(x) @ cross @ inverse_root_covariance(y))
    columns = uncentered_coordinates(x)
    directions = columns[:-1] @ left[:, : rho.size]
    shifted = np.vstack([directions, columns[-1:, : rho.size]])
    weights = np.abs(np.linalg.qr(shifted)[0].T @ columns).sum(axis=1)
    return float(weights @ rho / weights.sum())


@cached("d d")
def _unit_size_covariance(x: Representation) -> np.ndarray:
    product = to_numpy(x.xp.matrix_transpose(unit(x)) @ unit(x))
    return product / (x.n_samples - 1)
