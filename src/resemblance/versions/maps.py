"""Maps of growing freedom from one version to another, judged on samples outside the fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..significance.resampling import sample_groups

MAP_FOLDS = 5
# Components with less than this share of the variance, as rounding leaves them, are none.
MIN_COMPONENT_SHARE = 1e-6
MatrixFitter = Callable[[np.ndarray, np.ndarray], np.ndarray | None]


class MapFit(NamedTuple):
    """A map from reference to current by its name, with centred predictions and residuals, and the
    matrices without each fold."""

    name: str
    predicted: np.ndarray  # (n, d), for samples the map was not fitted to
    target: np.ndarray  # (n, d), the current version minus the mean of the samples fitted to
    size: float  # factor, not negative, that brings the predictions closest to the targets
    residual: np.ndarray  # (n,), squared, 1 on average for a map that explains nothing
    matrices: tuple[np.ndarray | None, ...] = ()  # (d, d); None for the map that changes nothing

    @property
    def is_in_sample(self) -> bool:
        """Whether it is judged on the samples it was fitted to."""
        return len(self.matrices) == 1


class AffineMap(NamedTuple):
    """A map for any rows: linear about the mean of the reference, to the mean of the current."""

    before: np.ndarray  # (d,)
    matrix: np.ndarray | None  # (d, d), None for the map that changes nothing
    factor: float
    after: np.ndarray  # (d,)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return self.after + self.factor * apply_matrix(rows - self.before, self.matrix)


def fit_identity(x: np.ndarray, y: np.ndarray) -> None:
    """The map that changes nothing."""


def fit_rotation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The orthogonal map, reflections included, that brings x closest to y (Procrustes).

    With fewer samples than features it is that of a space of n dimensions that holds x, and 0
    outside.
    """
    if len(x) >= x.shape[1]:
        u, _, vt = np.linalg.svd(x.T @ y)
        return u @ vt
    (p, a), (q, b) = np.linalg.qr(x.T), np.linalg.qr(y.T)
    u, _, vt = np.linalg.svd(a @ b.T)
    return p @ (u @ vt) @ q.T


def fit_linear_map(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The linear map that brings x closest to y, of least size if many do."""
    return np.linalg.lstsq(x, y, rcond=1e-10)[0]


NESTED_MAP_FITTERS: dict[str, MatrixFitter] = {
    "identity": fit_identity,
    "rotation": fit_rotation,
    "linear": fit_linear_map,
}


def apply_matrix(x: np.ndarray, matrix: np.ndarray | None) -> np.ndarray:
    """Map the rows of x."""
    return x if matrix is None else np.asarray(x @ matrix)


def cross_validation_folds(n: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the samples to fit to and those to judge on, each sample being judged on once."""
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
    """Fit a map to some samples and apply it to the others.

    With ``labels`` each class may also shift by itself.
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
    """Fit a map to all samples and judge it on the same; ``matrices`` then holds it alone."""
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
    """Orthonormal directions (d, r) of the components of x that are not negligible."""
    _, s, vt = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    return vt[s**2 > MIN_COMPONENT_SHARE * (s**2).sum()].T


def principal_variance_shares(x: np.ndarray) -> np.ndarray:
    """Shares of the variance of the principal components, largest first, without negligible
    ones."""
    a = x - x.mean(axis=0)
    sizes = np.linalg.eigvalsh(a.T @ a if len(a) > a.shape[1] else a @ a.T)[::-1]
    return sizes[sizes > MIN_COMPONENT_SHARE * sizes.sum()] / sizes.sum()


def rms_radius(x: np.ndarray) -> float:
    """Root mean square distance from the mean, 1 for a point."""
    return float(np.sqrt(x.var(axis=0).sum())) or 1.0


def count_components(x: np.ndarray) -> int:
    """How many components are not negligible."""
    return len(principal_variance_shares(x))


def chance_explained_share(change: np.ndarray, basis: np.ndarray) -> float:
    """Share of a change that no fitted rotation removes: half of what the samples span."""
    share = float(((change @ basis) ** 2).sum() / ((change**2).sum() or 1.0))
    return max(0.5 * share, 1 / len(change) ** 2)


def is_underdetermined(x: np.ndarray) -> bool:
    """Whether x has so many directions that a map fitted to four fifths of the samples says nothing
    about the others."""
    return count_components(x) >= len(x) - -(-len(x) // MAP_FOLDS) - 1


def unexplained_variance_ladder(
    x: np.ndarray, y: np.ndarray, fits: dict[str, MapFit]
) -> tuple[tuple[str, float], ...]:
    """Share of the variance of the current version that nested maps leave unexplained."""
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
