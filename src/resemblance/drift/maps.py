"""Maps of growing freedom from one version of a representation to another, judged on other samples than fitted to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..rng import generator

FOLDS = 5
Map = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Fit(NamedTuple):
    """A map from reference to current: its name, centred predictions for samples it was not fitted to, residuals."""

    name: str
    predicted: np.ndarray  # (n, d)
    target: np.ndarray  # (n, d), the current version minus the mean of the samples fitted to
    size: float  # factor that brings the predictions closest to the targets
    residual: np.ndarray  # (n,), squared, 1 on average for a map that explains nothing


def rotate_not(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The map that changes nothing."""
    return np.eye(x.shape[1])


def rotate(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The orthogonal map, reflections included, that brings x closest to y (Procrustes)."""
    u, _, vt = np.linalg.svd(x.T @ y)
    return np.asarray(u @ vt)


def regress(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The linear map that brings x closest to y, of least size if many do."""
    return np.asarray(np.linalg.lstsq(x, y, rcond=1e-10)[0])


MAPS: dict[str, Map] = {"identity": rotate_not, "rotation": rotate, "linear": regress}


def folds(n: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the samples to fit to and those to judge on, each sample being judged on once."""
    parts = np.array_split(generator(seed, "folds", n).permutation(n), min(FOLDS, n))
    for part in parts:
        yield np.setdiff1d(np.arange(n), part), part


def held_out(name: str, fit: Map, x: np.ndarray, y: np.ndarray, seed: int, labels: Sequence[Any] | None = None) -> Fit:
    """Fit a map to some samples and apply it to the others; with ``labels`` each class may also shift by itself."""
    predicted, target = np.zeros_like(y), np.zeros_like(y)
    groups = None if labels is None else np.unique(np.asarray(labels), return_inverse=True)[1]
    for train, test in folds(len(x), seed):
        u, v = x[train].mean(axis=0), y[train].mean(axis=0)
        matrix = fit(x[train] - u, y[train] - v)
        predicted[test], target[test] = (x[test] - u) @ matrix, y[test] - v
        if groups is not None:
            left = y[train] - v - (x[train] - u) @ matrix
            for group in np.intersect1d(groups[train], groups[test]):
                predicted[test[groups[test] == group]] += left[groups[train] == group].mean(axis=0)
    size = float((predicted * target).sum() / ((predicted**2).sum() or 1.0))
    residual = ((target - size * predicted) ** 2).sum(axis=1) / (target**2).sum(axis=1).mean()
    return Fit(name, predicted, target, size, residual)


def ladder(x: np.ndarray, y: np.ndarray, fits: dict[str, Fit]) -> tuple[tuple[str, float], ...]:
    """Share of the variance of the current version that nested maps leave unexplained."""
    spread = y - y.mean(axis=0)
    total = (spread**2).sum()
    moved = ((spread - (x - x.mean(axis=0))) ** 2).sum() / total
    left = {name: float(fit.residual.mean()) for name, fit in fits.items()}
    return (("nothing", float(((y - x) ** 2).sum() / total)), ("translation", float(moved)),
            ("scale", left["identity"]), ("rotation", left["rotation"]), ("linear map", left["linear"]))  # fmt: skip
