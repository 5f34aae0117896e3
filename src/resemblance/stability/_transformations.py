"""Transformations of a representation, and the effect on its stability and similarity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base.arrays import as_float64
from ..base.rng import generator
from ..contracts.claims import as_argument
from ..intermediates.points import unit_rows_of_array
from ..measures import cka
from ..statistics.splits import basis_split, feature_split

COMPONENT_COUNTS = (5, 10, 15, 25, 35, 50, 75, 100, 150, 200, 256, 300)
PROJECTION_WIDTHS = (16, 32, 64, 128, 256)
TOP_VARIANCE_COUNTS = (50, 100, 200, 400, 800)
RANDOM_FEATURE_COUNTS = (50, 100, 200)
NOISE_LEVELS = (0.05, 0.1, 0.25, 0.5, 1.0)
MIN_TRANSFORMED_FEATURES = 5
# Feature splits per random basis: a basis needs decompositions, and carries more information.
FEATURE_SPLITS_PER_BASIS = 6
TransformationRegime = Literal["compression", "preserving"]


class Transformed(NamedTuple):
    """The effect of one transformation.

    ``stability``: feature split. ``basis``: basis split. ``similarity``: mean linear CKA with the
    references, which are the original, the first 100 principal components and the z-scores.
    ``without_self``: the mean without the similarity of a reference to itself, which is 1.
    ``regime``: "compression" keeps fewer features or directions.
    """

    name: str
    regime: TransformationRegime
    features: int
    stability: float
    basis: float
    similarity: float
    without_self: float


def transformations(X: Any, *, seed: int = 320) -> dict[str, np.ndarray]:
    """Return transformations of a representation (n, d), by name, each (n, k) in float64.

    ``pca_k``: principal components; ``randproj_k``: Gaussian random projections; ``topvar_k``,
    ``randfeat_k``: the k features of largest variance, or random features; ``noise_p``: Gaussian
    noise of p percent of the standard deviation of all values; ``original``, ``zscore``,
    ``l2norm``. The values of k follow the paper. If k exceeds the number of directions (min(n - 1,
    d) for ``pca_k``) or features, the paper repeats the largest possible transformation under
    several names; here the transformation occurs once, with its own number. A constant feature has
    z-score 0, and a zero row stays zero.

    Raises ``ValueError`` for fewer than 10 samples or 5 features, and for NaN or infinite values.

    Reference: Raju 2026, Table 14. Projections, features and noise come from this package's random
    generator.
    """
    points = _transformable_points(X)
    n, d = points.shape
    centered = points - points.mean(axis=0)
    u, s, _ = np.linalg.svd(centered, full_matrices=False)
    versions = {
        f"pca_{k:03d}": u[:, :k] * s[:k] for k in _feasible_counts(COMPONENT_COUNTS, min(n - 1, d))
    }
    for k in _feasible_counts(PROJECTION_WIDTHS, d):
        directions = generator(seed, "projection", k).standard_normal((d, k)) / np.sqrt(k)
        versions[f"randproj_{k:03d}"] = points @ directions
    by_variance = np.argsort(points.var(axis=0), kind="stable")
    versions |= {
        f"topvar_{k:03d}": points[:, np.sort(by_variance[-k:])]
        for k in TOP_VARIANCE_COUNTS
        if k < d
    }
    for k in RANDOM_FEATURE_COUNTS:
        if k < d:
            columns = generator(seed, "features", k).choice(d, k, replace=False)
            versions[f"randfeat_{k:03d}"] = points[:, columns]
    for amount in NOISE_LEVELS:
        noise = generator(seed, "noise", round(100 * amount)).standard_normal(points.shape)
        versions[f"noise_{round(100 * amount):03d}"] = points + amount * points.std() * noise
    deviations = centered.std(axis=0)
    zscore = centered / np.where(deviations > 0, deviations, 1)
    return versions | {
        "original": points.copy(),
        "zscore": zscore,
        "l2norm": unit_rows_of_array(points),
    }


def regime(name: str) -> TransformationRegime:
    """Return "compression" for the name of a transformation with fewer features or directions, such
    as "pca_005", otherwise "preserving"."""
    prefixes = ("pca", "randproj", "topvar", "randfeat")
    return "compression" if name.startswith(prefixes) else "preserving"


def transformation_study(
    X: Any, *, seed: int = 320, k: int = 30, max_samples: int = 1600
) -> tuple[Transformed, ...]:
    """Return the stability and similarity of the transformations of a representation (n, d).

    The study uses ``k`` splits of the features and ``k`` / 6 random bases, on at most
    ``max_samples`` samples. Raises ``UndefinedError`` if a statistic of a transformation has no
    value.

    Reference: Raju 2026, Tables 14 and 15. There the similarity of a reference includes its
    comparison with itself.
    """
    versions = transformations(X, seed=seed)
    references = {name: versions[name] for name in _reference_versions(versions)}
    return tuple(
        _study_transformation(name, points, references, (seed, k, max_samples))
        for name, points in versions.items()
    )


def _study_transformation(
    name: str,
    points: np.ndarray,
    references: Mapping[str, np.ndarray],
    settings: tuple[int, int, int],
) -> Transformed:
    seed, k, max_samples = settings
    similarities = {other: float(cka(points, reference)) for other, reference in references.items()}
    cross_similarities = [value for other, value in similarities.items() if other != name]
    stability = feature_split(points, k=k, max_samples=max_samples, seed=seed)
    basis = basis_split(
        points, k=max(k // FEATURE_SPLITS_PER_BASIS, 1), max_samples=max_samples, seed=seed
    )
    means = (float(np.mean(values)) for values in (list(similarities.values()), cross_similarities))
    return Transformed(name, regime(name), points.shape[1], stability, basis, *means)


def _reference_versions(names: Mapping[str, np.ndarray]) -> list[str]:
    """Return the names of the references among the transformations ``names``, arrays by name: the
    original, the largest number of principal components up to 100 (left out if every number is
    larger), and the z-scores."""
    components = [name for name in names if name.startswith("pca") and int(name[4:]) <= 100]
    return ["original", *components[-1:], "zscore"]


def _feasible_counts(counts: tuple[int, ...], limit: int) -> list[int]:
    return sorted({min(k, limit) for k in counts if min(k, limit) >= MIN_TRANSFORMED_FEATURES})


def _transformable_points(X: Any) -> np.ndarray:
    points = as_float64(as_argument(X, "X").array)
    if points.shape[0] < 10 or points.shape[1] < MIN_TRANSFORMED_FEATURES:
        raise ValueError(
            f"transformations: X must have at least 10 samples and {MIN_TRANSFORMED_FEATURES} "
            f"features; got {points.shape}"
        )
    if not np.isfinite(points).all():
        rows = np.flatnonzero(~np.isfinite(points).all(axis=1))
        raise ValueError(
            f"transformations: X {points.shape} has NaN or infinite values in {len(rows)} samples, "
            f"the first {rows[0]}; leave them out"
        )
    return points
