"""What the ReSi code computes where it differs from the definitions: kept apart, and only reached by name."""

from __future__ import annotations

import numpy as np

from ..arrays import to_numpy
from ..representation import Representation, Undefined, view
from .points import size
from .spectra import decomposition


@view
def resi_svcca_components(x: Representation, explained_variance: float) -> int:
    """Number of components by ReSi's rule: the explained *fraction* is compared with a share of the *total variance*.

    When no fraction is large enough (total variance above 1) the search returns its first position, so one is kept.
    """
    total = float(size(x)) ** 2
    variance = to_numpy(decomposition(x).singular) ** 2
    passed = np.cumsum(variance) / variance.sum() >= explained_variance * total
    return int(np.argmax(passed)) + 1


@view
def inverse_root_covariance(x: Representation) -> np.ndarray:
    """Symmetric root of the pseudo-inverse of the covariance, scaled as in the google/svcca code, shape (d, d)."""
    covariance = np.cov(to_numpy(x.array), rowvar=False).reshape(x.shape[1], x.shape[1])
    values, vectors = np.linalg.eigh(np.linalg.pinv(covariance / np.abs(covariance).max()))
    if values.min() < 0:
        raise Undefined(f"pwcca[directions=resi]: the covariance of {x.name or 'X'} is singular (dead units?)")
    return np.asarray(vectors @ np.diag(np.sqrt(values)) @ vectors.T)


def resi_pwcca(x: Representation, y: Representation) -> float:
    """PWCCA as in the ReSi code (see :func:`resemblance.pwcca`)."""
    a, b = to_numpy(x.array), to_numpy(y.array)
    n, d = a.shape
    if n <= d or d > b.shape[1]:
        raise Undefined(f"pwcca[directions=resi] needs d < n and d <= e; got X {a.shape} and Y {b.shape}")
    whiten_a, whiten_b = inverse_root_covariance(x), inverse_root_covariance(y)
    scale = np.sqrt(np.abs(np.cov(a, rowvar=False)).max() * np.abs(np.cov(b, rowvar=False)).max())
    cross = (a - a.mean(axis=0)).T @ (b - b.mean(axis=0)) / (n - 1) / scale
    left, rho, _ = np.linalg.svd(whiten_a @ cross @ whiten_b)
    directions = (a - a.mean(axis=0)) @ left[:, : rho.size] + a.mean(axis=0)[: rho.size]
    weights = np.abs(np.linalg.qr(directions)[0].T @ a).sum(axis=1)
    return float(weights @ rho / weights.sum())
