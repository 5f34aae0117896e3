"""Nested maps of increasing freedom between two versions, judged on held-out samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..significance.resampling import sample_groups

MAP_FOLDS = 5
# Components below this share of the variance count as rounding errors.
MIN_COMPONENT_SHARE = 1e-6
MatrixFitter = Callable[[np.ndarray, np.ndarray], np.ndarray | None]


class MapFit(NamedTuple):
    """A fitted map from reference to current: name, held-out predictions, targets, a factor,
    squared residuals, and the matrices of the cross-validation folds."""

    name: str
    predicted: np.ndarray  # (n, d), held-out predictions
    # target: (n, d), the current version minus the mean of the training samples
    target: np.ndarray
    size: float  # nonnegative factor that brings the predictions closest to the targets
    residual: np.ndarray  # (n,), squared, 1 on average for a map that explains nothing
    matrices: tuple[np.ndarray | None, ...] = ()  # (d, d); None for the identity

    @property
    def is_in_sample(self) -> bool:
        """Whether the map is judged on the samples of the fit."""
        return len(self.matrices) == 1


class AffineMap(NamedTuple):
    """A map for any rows: linear about the mean of the reference, then shifted to the current
    mean."""

    before: np.ndarray  # (d,)
    matrix: np.ndarray | None  # (d, d), None for the identity
    factor: float
    after: np.ndarray  # (d,)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return self.after + self.factor * apply_matrix(rows - self.before, self.matrix)


def fit_identity(x: np.ndarray, y: np.ndarray) -> None:
    """Return None, the matrix of the identity."""


def fit_rotation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the orthogonal matrix (d, d), reflections included, with which x @ matrix is closest
    to y (Procrustes). x and y are (n, d) and must be centred.

    With fewer samples than features the map is orthogonal on an n-dimensional space around x, and 0
    outside.
    """
    if len(x) >= x.shape[1]:
        u, _, vt = np.linalg.svd(x.T @ y)
        return u @ vt
    (p, a), (q, b) = np.linalg.qr(x.T), np.linalg.qr(y.T)
    u, _, vt = np.linalg.svd(a @ b.T)
    return p @ (u @ vt) @ q.T


def fit_linear_map(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the matrix (d, d) with which x @ matrix is closest to y by least squares; the smallest
    if several matrices are. x and y are (n, d) and must be centred."""
    return np.linalg.lstsq(x, y, rcond=1e-10)[0]


NESTED_MAP_FITTERS: dict[str, MatrixFitter] = {
    "identity": fit_identity,
    "rotation": fit_rotation,
    "linear": fit_linear_map,
}


def apply_matrix(x: np.ndarray, matrix: np.ndarray | None) -> np.ndarray:
    """Return the rows of x times a matrix (d, d); None is the identity."""
    return x if matrix is None else np.asarray(x @ matrix)


def cross_validation_folds(n: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (positions of training samples, positions of test samples) of five folds; every sample
    is a test sample once."""
    for test in sample_groups(n, count=MAP_FOLDS, seed=seed):
        yield np.setdiff1d(np.arange(n), test), test


def cross_validate_map(
    name: str,
    fit: MatrixFitter,
    x: np.ndarray,
    y: np.ndarray,
    seed: int,
    labels: np.ndarray | None = None,
) -> MapFit:
    """Return the fit of a map from x to y, (n, d) each: each fold fits the map to the training
    samples and applies the map to the test samples.

    ``name``: of the map. ``fit``: the function from centred x and y to the matrix, None for the
    identity. ``labels``: (n,); with labels the samples of each class may also share a shift.
    """
    predicted, target, matrices = np.zeros_like(y), np.zeros_like(y), []
    groups = None if labels is None else np.unique(labels, return_inverse=True)[1]
    for train, test in cross_validation_folds(len(x), seed):
        u, v = x[train].mean(axis=0), y[train].mean(axis=0)
        matrices.append(fit(x[train] - u, y[train] - v))
        predicted[test], target[test] = apply_matrix(x[test] - u, matrices[-1]), y[test] - v
        if groups is not None:
            residuals = y[train] - v - apply_matrix(x[train] - u, matrices[-1])
            for group in np.intersect1d(groups[train], groups[test]):
                predicted[test[groups[test] == group]] += residuals[groups[train] == group].mean(
                    axis=0
                )
    return _evaluate_map(name, predicted, target, matrices)


def fit_map_in_sample(name: str, fit: MatrixFitter, x: np.ndarray, y: np.ndarray) -> MapFit:
    """Return the fit of a map from x to y, (n, d) each, to all samples, judged on the same samples;
    ``matrices`` then has a single matrix. ``fit``: the function from centred x and y to the
    matrix."""
    a, b = x - x.mean(axis=0), y - y.mean(axis=0)
    matrix = fit(a, b)
    return _evaluate_map(name, apply_matrix(a, matrix), b, [matrix])


def _evaluate_map(
    name: str, predicted: np.ndarray, target: np.ndarray, matrices: Sequence[np.ndarray | None]
) -> MapFit:
    slope = (predicted * target).sum() / ((predicted**2).sum() or 1.0)
    size = float(np.maximum(0.0, slope))  # max() would hide NaN
    residual = ((target - size * predicted) ** 2).sum(axis=1) / (target**2).sum(axis=1).mean()
    return MapFit(name, predicted, target, size, residual, tuple(matrices))


def nonnegligible_directions(x: np.ndarray) -> np.ndarray:
    """Return orthonormal directions (d, r) of the non-negligible principal components of x (n, d).

    A component is non-negligible if it has more than ``MIN_COMPONENT_SHARE`` of the variance.
    """
    _, s, vt = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    return vt[s**2 > MIN_COMPONENT_SHARE * (s**2).sum()].T


def principal_variance_shares(x: np.ndarray) -> np.ndarray:
    """Return the variance shares of the principal components of x (n, d), largest first, without
    negligible components.

    A component is negligible with a share of at most ``MIN_COMPONENT_SHARE``. The result
    is empty if all centred values are 0.
    """
    a = x - x.mean(axis=0)
    sizes = np.linalg.eigvalsh(a.T @ a if len(a) > a.shape[1] else a @ a.T)[::-1]
    return sizes[sizes > MIN_COMPONENT_SHARE * sizes.sum()] / sizes.sum()


def rms_radius(x: np.ndarray) -> float:
    """Return the root mean square distance of the rows of x from their mean; 1 for a point."""
    return float(np.sqrt(x.var(axis=0).sum())) or 1.0


def count_components(x: np.ndarray) -> int:
    """Return the number of non-negligible principal components of x (n, d).

    The function centres x. A component counts with more than ``MIN_COMPONENT_SHARE`` of the
    variance. 0 if all centred values are 0.
    """
    return len(principal_variance_shares(x))


def chance_explained_share(change: np.ndarray, basis: np.ndarray) -> float:
    """Return the share of a random change that no fitted rotation removes: half of the share in the
    span of the samples, at least 1/n².

    ``change``: the change of each sample, (n, d). ``basis``: orthonormal directions of the samples,
    (d, r).
    """
    share = float(((change @ basis) ** 2).sum() / ((change**2).sum() or 1.0))
    return max(0.5 * share, 1 / len(change) ** 2)


def is_underdetermined(x: np.ndarray) -> bool:
    """Return whether x (n, d) has too many directions for its samples: a map fitted to four fifths
    of the samples then says nothing about the remaining fifth."""
    return count_components(x) >= len(x) - -(-len(x) // MAP_FOLDS) - 1


def unexplained_variance_ladder(
    x: np.ndarray, y: np.ndarray, fits: dict[str, MapFit]
) -> tuple[tuple[str, float], ...]:
    """Return pairs of a map's name and the share of the variance of y that the map from x leaves,
    from no map to the richest map in ``fits``. x is the reference and y the current version, (n, d)
    each. ``fits``: by name of the map."""
    spread = y - y.mean(axis=0)
    total = (spread**2).sum()
    residual_share = ((spread - (x - x.mean(axis=0))) ** 2).sum() / total
    names = {"identity": "scale", "rotation": "rotation", "linear": "linear map"}
    ladder = [(names[name], float(fit.residual.mean())) for name, fit in fits.items()]
    return (
        ("nothing", float(((y - x) ** 2).sum() / total)),
        ("translation", float(residual_share)),
        *ladder,
    )
