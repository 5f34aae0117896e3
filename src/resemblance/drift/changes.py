"""Which samples and which classes changed most."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .diagnosis import Diagnosis


@dataclass(frozen=True)
class Moved:
    """A sample and how far it moved, in radii of the current version.

    As it is, and beyond what the map explains.
    """

    index: int
    id: Hashable | None
    distance: float
    unexplained: float
    label: Hashable | None = None


@dataclass(frozen=True)
class Reordered:
    """Rows in another order: the share of samples in another's place.

    And whether all rows are equal.

    If not ``exactly``, they are nearly equal.
    """

    share: float
    exactly: bool


@dataclass(frozen=True)
class MovedClass:
    """A class: how far its mean moved, and the class whose mean is nearest, before and after.

    ``moved`` and ``unexplained`` (beyond the map) are in radii of the current version, distances in
    radii of their own.
    """

    label: Hashable
    samples: int
    moved: float
    unexplained: float
    nearest_before: Hashable
    distance_before: float
    nearest_after: Hashable
    distance_after: float


def moved_samples(
    x: np.ndarray, y: np.ndarray, diagnosis: Diagnosis, rows: np.ndarray, ids: Any, labels: Any
) -> list[Moved]:
    """How far every sample moved."""
    before, after = (
        np.linalg.norm(part, axis=1) / radius(y) for part in (y - x, _unexplained(diagnosis))
    )
    return [
        Moved(
            int(i),
            None if ids is None else ids[i],
            float(p),
            float(q),
            None if labels is None else labels[i],
        )
        for i, p, q in zip(rows, before, after)
    ]


def moved_classes(
    x: np.ndarray, y: np.ndarray, diagnosis: Diagnosis, classes: np.ndarray | None, names: Any
) -> tuple[MovedClass, ...]:
    """Return how far every class moved.

    First are those that came closest to another class or went farthest from it."""
    if classes is None or len(known := np.unique(classes)) < 2:
        return ()
    means = [
        np.array([data[classes == c].mean(axis=0) for c in known])
        for data in (x, y, _unexplained(diagnosis))
    ]
    shift, rest = (
        np.linalg.norm(part, axis=1) / radius(y) for part in (means[1] - means[0], means[2])
    )
    (who, far), (then, near) = _nearest(means[0], radius(x)), _nearest(means[1], radius(y))
    moved = [
        MovedClass(
            names[c],
            int((classes == c).sum()),
            float(shift[i]),
            float(rest[i]),
            names[known[who[i]]],
            float(far[i]),
            names[known[then[i]]],
            float(near[i]),
        )
        for i, c in enumerate(known)
    ]
    return tuple(sorted(moved, key=lambda m: -abs(m.distance_after - m.distance_before)))


def radius(x: np.ndarray) -> float:
    """Root mean square distance from the mean, 1 for a point."""
    return float(np.sqrt(x.var(axis=0).sum())) or 1.0


def _unexplained(diagnosis: Diagnosis) -> np.ndarray:
    return diagnosis.fit.target - diagnosis.scale * diagnosis.fit.predicted


def _nearest(means: np.ndarray, unit: float) -> tuple[np.ndarray, np.ndarray]:
    far = np.linalg.norm(means[:, None] - means, axis=2) / unit
    np.fill_diagonal(far, np.inf)
    return far.argmin(axis=1), far.min(axis=1)
