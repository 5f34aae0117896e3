"""The shift and the factor of scale that remain after a map about the origin."""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from .findings import FLOOR, LEVEL, Finding, margin, not_assessed
from .maps import (
    FOLDS,
    MAPS,
    Fit,
    apply,
    by_chance,
    components,
    directions,
    folds,
    identity,
    radius,
)


class Factors(NamedTuple):
    """Factors of scale between mapped and current samples: of sizes, and of least squares."""

    ratio: float
    slope: float
    inverse: float  # 1 over the slope of the mapped samples on the current ones

    @property
    def sure(self) -> float:
        """Return the factor nearest to 1 that some share of noise in each version allows.

        These are Frisch's bounds.
        """
        return _nearest(self.slope, self.inverse)

    @property
    def likely(self) -> float:
        """Return the factor nearest to 1.

        Noise makes the ratio of sizes too large, lost samples make the slope too small.
        """
        return _nearest(self.ratio, self.slope)


def _nearest(a: float, b: float) -> float:
    if min(a, b) <= 0 or (a - 1) * (b - 1) <= 0:
        return 1.0
    return min(a, b, key=lambda factor: abs(np.log(factor)))


def factors(
    x: np.ndarray, y: np.ndarray, matrix: np.ndarray | None, slope: float | None = None
) -> Factors:
    """Return the factors of scale of y against the mapped x.

    ``slope``: one from samples that it was not fitted to.
    """
    a, b = apply(x - x.mean(axis=0), matrix), y - y.mean(axis=0)
    ratio = float(np.sqrt((b**2).sum() / ((a**2).sum() or 1.0)))
    slope = float((a * b).sum() / ((a**2).sum() or 1.0)) if slope is None else slope
    return Factors(ratio, slope, ratio**2 / slope if slope > 0 else 0.0)


def shift(
    means: tuple[np.ndarray, np.ndarray],
    matrix: np.ndarray | None,
    factor: float,
    basis: np.ndarray | None,
) -> np.ndarray:
    """The shift that is left after a map about the origin.

    Where the samples span only some directions, the ``basis``, the mean of x may point where the
    map is not known: then it is the smallest shift that any rotation with the same effect on the
    samples leaves.
    """
    u, v = means
    if matrix is None or basis is None:
        return v - factor * apply(u, matrix)
    inside, image = basis.T @ u, basis.T @ matrix
    left = v - factor * (inside @ image)
    outside = left - (left @ image.T) @ image
    unknown, length = factor * (u - basis @ inside), float(np.linalg.norm(outside))
    return left - (outside * (np.linalg.norm(unknown) / length) if length else unknown)


def scale_of(x: np.ndarray, y: np.ndarray, fit: Fit, seed: int) -> tuple[Finding, float]:
    """Return the factor of scale, named when it exceeds what noise in either version and other
    samples would give."""
    if fit.name == "linear":
        return not_assessed("scale", "part of the linear map"), fit.size
    factors_left = factors(x, y, _matrix(x, y, fit), fit.size)
    parts = [
        np.log(factors(x[t], y[t], m).sure) for (t, _), m in zip(folds(len(x), seed), _each(fit))
    ]
    spread = margin(parts)
    named = abs(np.log(factors_left.sure)) > max(FLOOR["scale"], spread)
    factor = factors_left.likely
    low, high = factor * float(np.exp(-spread)), factor * float(np.exp(spread))
    words = f"by a factor of {factor:.3g}"
    finding = Finding("scale", bool(named), factor, low, high, words)
    return finding, factor if named else 1.0


def translation_of(
    x: np.ndarray, base: np.ndarray, y: np.ndarray, fit: Fit, factor: float, seed: int
) -> Finding:
    """Return the shift in radii of the current version, named when other samples would give one.

    ``base`` is the part of x that the chosen map was fitted to, all of it unless dimensions were
    lost.
    """
    if fit.name == "linear":
        return not_assessed(
            "translation", "a linear map may shift the samples too, by any choice of its origin"
        )
    matrix = _matrix(base, y, fit)
    basis = None if matrix is None or components(base) == x.shape[1] else directions(base)

    def moved(rows: np.ndarray, turn: np.ndarray | None, size: float) -> np.ndarray:
        means = x[rows].mean(axis=0), y[rows].mean(axis=0)
        return shift(means, turn, size, basis)

    far = float(np.linalg.norm(moved(np.arange(len(x)), matrix, factor))) / radius(y)
    parts = []
    for (train, _), turn in zip(folds(len(x), seed), _each(fit)):
        size = factors(base[train], y[train], turn).likely if factor != 1.0 else 1.0
        parts.append(moved(train, turn, size))
    noise = (margin(parts) + (_misplaced(x, base, y, fit) if fit.is_in_sample else 0.0)) / radius(y)
    words = (
        f"by {'' if basis is None else 'at least '}{round(far, 6):.2g} of the radius of the "
        "current samples"
    )
    named = far > max(FLOOR["translation"], noise)
    return Finding("translation", named, far, max(0.0, far - noise), far + noise, words)


def _each(fit: Fit) -> tuple[np.ndarray | None, ...]:
    """The map without each fold; one that was fitted to all samples is taken as it is."""
    return fit.matrices * FOLDS if fit.is_in_sample else fit.matrices


def _misplaced(x: np.ndarray, base: np.ndarray, y: np.ndarray, fit: Fit) -> float:
    """How far off a rotation that was fitted to all samples may put their mean: its leverage times
    what is left."""
    a, b = base - base.mean(axis=0), y - y.mean(axis=0)
    basis = directions(base)
    left = float(((fit.target - fit.size * fit.predicted) ** 2).sum(axis=1).mean())
    noise = left / by_chance(b - a, basis)
    place = basis.T @ x.mean(axis=0)
    leverage = float((place**2 / ((a @ basis) ** 2).sum(axis=0)).sum())
    return float(NormalDist().inv_cdf((1 + LEVEL) / 2) * np.sqrt(leverage * noise))


def _matrix(x: np.ndarray, y: np.ndarray, fit: Fit) -> np.ndarray | None:
    """The chosen map of all samples; shifts of classes change nothing about the origin."""
    return MAPS.get(fit.name, identity)(x - x.mean(axis=0), y - y.mean(axis=0))
