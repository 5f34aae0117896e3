"""Two versions of a representation, what changed between them, and their drift."""

from __future__ import annotations

import numpy as np

import resemblance as rs
from resemblance.versions import DriftTest, Finding

PURPOSES = ("index", "head", "geometry")


def orthogonal(d: int, g: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(g.standard_normal((d, d)))[0]


def anisotropic(d: int, g: np.random.Generator) -> np.ndarray:
    return orthogonal(d, g) * np.linspace(0.4, 2.5, d) @ orthogonal(d, g)


def unit_rows(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def reference(d: int, g: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Four classes in a space with directions of different variance, away from the origin."""
    labels = np.arange(400 if d > 100 else 240) % 4
    samples = g.standard_normal((len(labels), d)) * np.linspace(1, 2, d) @ orthogonal(d, g)
    return samples + 3 * g.standard_normal((4, d))[labels] + 2 * g.standard_normal(d), labels


def clustered(seed: int, n: int = 600, d: int = 24) -> np.ndarray:
    g, centers = np.random.default_rng(seed), np.random.default_rng(9).standard_normal((12, d))
    return centers[g.integers(0, 12, n)] + 0.7 * g.standard_normal((n, d))


def with_rows(x: np.ndarray, rows: slice, values: object) -> np.ndarray:
    changed = x.copy()
    changed[rows] = values
    return changed


def collapsed(x: np.ndarray) -> np.ndarray:
    """A quarter of the dimensions is left: the leading ones."""
    centered = x - x.mean(axis=0)
    kept = np.linalg.svd(centered, full_matrices=False)[2][: max(1, x.shape[1] // 4)]
    return x.mean(axis=0) + centered @ kept.T @ kept


def merged(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Classes 1 and 3 moved onto 0 and 2."""
    means = np.array([x[labels == c].mean(axis=0) for c in range(4)])
    return x + (means[labels - labels % 2] - means[labels])


CHANGES = {
    "identical": (lambda x, y, g: x.copy(), ()),
    "translation": (lambda x, y, g: x + g.standard_normal(x.shape[1]), ("translation",)),
    "scale": (lambda x, y, g: 1.4 * x, ("scale",)),
    "rotation": (lambda x, y, g: x @ orthogonal(x.shape[1], g), ("rotation",)),
    "reflection": (lambda x, y, g: -x, ("rotation",)),
    "linear": (lambda x, y, g: x @ anisotropic(x.shape[1], g), ("linear",)),
    "collapse": (lambda x, y, g: collapsed(x), ("collapse",)),
    "shuffled": (lambda x, y, g: x[g.permutation(len(x))], ("neighbours",)),
    "merged": (lambda x, y, g: merged(x, y), ("classes",)),
    "all at once": (
        lambda x, y, g: 0.5 * x @ orthogonal(x.shape[1], g) + 4,
        ("translation", "scale", "rotation"),
    ),
    "rotation into more dimensions": (
        lambda x, y, g: np.c_[x, np.zeros((len(x), 3))] @ orthogonal(x.shape[1] + 3, g),
        ("rotation",),
    ),
    "linear into more dimensions": (
        lambda x, y, g: (
            x @ (np.eye(x.shape[1], x.shape[1] + 2) + 0.4 * g.standard_normal((1, x.shape[1] + 2)))
        ),
        ("linear",),
    ),
}


def quick(x: object, y: object, **options: object) -> rs.DriftReport:
    return rs.drift(x, y, **{"n_resamples": 10, "progress": False} | options)


def strict(x: object, y: object, **options: object) -> rs.DriftReport:
    return quick(x, y, threshold=0.05, **options)


def by_kind(report: rs.DriftReport) -> dict[str, Finding]:
    return {finding.kind: finding for finding in report.findings}


def by_name(report: rs.DriftReport) -> dict[str, DriftTest]:
    return {drift.name: drift for drift in report.drifts}
