"""The remaining shift and factor of scale after a map about the origin."""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from .findings import (
    FINDING_CONFIDENCE,
    MIN_NAMED_CHANGE,
    Finding,
    leave_out_half_width,
    unassessed_finding,
)
from .maps import (
    MAP_FOLDS,
    NESTED_MAP_FITTERS,
    MapFit,
    apply_matrix,
    chance_explained_share,
    count_components,
    cross_validation_folds,
    fit_identity,
    nonnegligible_directions,
    rms_radius,
)


class ScaleFactors(NamedTuple):
    """Factors of scale between mapped and current samples: a ratio of sizes, and two regression
    slopes."""

    ratio: float
    slope: float
    inverse: float  # 1 / slope of the mapped samples on the current samples

    @property
    def sure(self) -> float:
        """Return the factor of scale (1 for no change) nearest to 1 that noise in the two versions
        can explain, within Frisch's bounds, ``slope`` and ``inverse``. Return 1 if 1 lies between
        the bounds, or a bound is not positive."""
        return _factor_closer_to_one(self.slope, self.inverse)

    @property
    def likely(self) -> float:
        """Return ``ratio`` or ``slope``, whichever is nearer to 1.

        Return 1 if 1 lies between the two, or one of the two is not positive. Noise makes ``ratio``
        too large. Lost samples make ``slope`` too small.
        """
        return _factor_closer_to_one(self.ratio, self.slope)


def _factor_closer_to_one(a: float, b: float) -> float:
    if min(a, b) <= 0 or (a - 1) * (b - 1) <= 0:
        return 1.0
    return min(a, b, key=lambda factor: abs(np.log(factor)))


def compute_scale_factors(
    x: np.ndarray, y: np.ndarray, matrix: np.ndarray | None, slope: float | None = None
) -> ScaleFactors:
    """Return the factors of scale of y, the current version, against the mapped x, the reference;
    (n, d) each. The inverse slope is 0 unless the slope is positive.

    ``matrix``: the map (d, d), None for the identity. ``slope``: a slope from held-out samples, if
    known.
    """
    a, b = apply_matrix(x - x.mean(axis=0), matrix), y - y.mean(axis=0)
    ratio = float(np.sqrt((b**2).sum() / ((a**2).sum() or 1.0)))
    slope = float((a * b).sum() / ((a**2).sum() or 1.0)) if slope is None else slope
    return ScaleFactors(ratio, slope, ratio**2 / slope if slope > 0 else 0.0)


def remaining_shift(
    means: tuple[np.ndarray, np.ndarray],
    matrix: np.ndarray | None,
    factor: float,
    basis: np.ndarray | None,
) -> np.ndarray:
    """Return the shift, (d,), that remains after a map about the origin.

    ``means``: of the versions before and after. ``matrix``: the map, None for the identity.
    ``basis``: orthonormal directions of the samples, (d, r), None for all directions. If the
    samples span only some directions, the mean of x may have a component outside the span, where
    the map is unknown. The function then returns the smallest shift of all rotations with the same
    effect on the samples.
    """
    u, v = means
    if matrix is None or basis is None:
        return v - factor * apply_matrix(u, matrix)
    coordinates, image = basis.T @ u, basis.T @ matrix
    shift = v - factor * (coordinates @ image)
    orthogonal_shift = shift - (shift @ image.T) @ image
    unknown_shift = factor * (u - basis @ coordinates)
    length = float(np.linalg.norm(orthogonal_shift))
    return shift - (
        orthogonal_shift * (np.linalg.norm(unknown_shift) / length) if length else unknown_shift
    )


def scale_finding(x: np.ndarray, y: np.ndarray, fit: MapFit, seed: int) -> tuple[Finding, float]:
    """Return the finding about the scale of y, the current version, against x, the reference mapped
    by ``fit``; and the factor of the map.

    The change is named if it exceeds the effect of noise in either version and of resampling;
    otherwise the factor is 1. For a linear map the finding is not assessed.
    """
    if fit.name == "linear":
        return unassessed_finding("scale", "part of the linear map"), fit.size
    factors_left = compute_scale_factors(x, y, _matrix_about_origin(x, y, fit), fit.size)
    log_factors = [
        np.log(compute_scale_factors(x[t], y[t], m).sure)
        for (t, _), m in zip(cross_validation_folds(len(x), seed), _fold_matrices(fit))
    ]
    spread = leave_out_half_width(log_factors)
    is_named = abs(np.log(factors_left.sure)) > max(MIN_NAMED_CHANGE["scale"], spread)
    factor = factors_left.likely
    low, high = factor * float(np.exp(-spread)), factor * float(np.exp(spread))
    sentence = f"by a factor of {factor:.3g}"
    finding = Finding("scale", bool(is_named), factor, low, high, sentence)
    return finding, factor if is_named else 1.0


def translation_finding(
    x: np.ndarray, base: np.ndarray, y: np.ndarray, fit: MapFit, factor: float, seed: int
) -> Finding:
    """Return the finding about the shift of the mean from x, the reference, to y, the current
    version, in units of the radius of y. The shift is named if it exceeds the effect of resampling;
    not assessed for a linear map.

    ``base`` is the part of x that the chosen map was fitted to: all of x unless dimensions were
    lost. ``factor``: the factor of scale of the map, 1 if no change of scale is named.
    """
    if fit.name == "linear":
        return unassessed_finding(
            "translation", "a linear map already contains a shift, because its origin is arbitrary"
        )
    matrix = _matrix_about_origin(base, y, fit)
    basis = None
    if matrix is not None and count_components(base) != x.shape[1]:
        basis = nonnegligible_directions(base)

    def moved(rows: np.ndarray, rotation: np.ndarray | None, size: float) -> np.ndarray:
        means = x[rows].mean(axis=0), y[rows].mean(axis=0)
        return remaining_shift(means, rotation, size, basis)

    distance = float(np.linalg.norm(moved(np.arange(len(x)), matrix, factor))) / rms_radius(y)
    shifts = []
    for (train, _), rotation in zip(cross_validation_folds(len(x), seed), _fold_matrices(fit)):
        size = (
            compute_scale_factors(base[train], y[train], rotation).likely if factor != 1.0 else 1.0
        )
        shifts.append(moved(train, rotation, size))
    noise = (
        leave_out_half_width(shifts)
        + (_mean_position_error(x, base, y, fit) if fit.is_in_sample else 0.0)
    ) / rms_radius(y)
    sentence = (
        f"by {'' if basis is None else 'at least '}{round(distance, 6):.2g} of the radius of the "
        "current samples"
    )
    is_named = distance > max(MIN_NAMED_CHANGE["translation"], noise)
    return Finding(
        "translation", is_named, distance, max(0.0, distance - noise), distance + noise, sentence
    )


def _fold_matrices(fit: MapFit) -> tuple[np.ndarray | None, ...]:
    """Return the matrices of the map, one fitted without each fold; None for the identity. A map
    fitted to all samples repeats its matrix."""
    return fit.matrices * MAP_FOLDS if fit.is_in_sample else fit.matrices


def _mean_position_error(x: np.ndarray, base: np.ndarray, y: np.ndarray, fit: MapFit) -> float:
    """Return the error of the mean's position, in units of y, after a rotation fitted to all
    samples: half the width of the interval, from the leverage of the mean and the residual. x, the
    reference, and y, the current version, are (n, d). ``base``: the part of x that the map was
    fitted to."""
    a, b = base - base.mean(axis=0), y - y.mean(axis=0)
    basis = nonnegligible_directions(base)
    residual = float(((fit.target - fit.size * fit.predicted) ** 2).sum(axis=1).mean())
    noise = residual / chance_explained_share(b - a, basis)
    coordinates = basis.T @ x.mean(axis=0)
    leverage = float((coordinates**2 / ((a @ basis) ** 2).sum(axis=0)).sum())
    return float(NormalDist().inv_cdf((1 + FINDING_CONFIDENCE) / 2) * np.sqrt(leverage * noise))


def _matrix_about_origin(x: np.ndarray, y: np.ndarray, fit: MapFit) -> np.ndarray | None:
    """Return the matrix (d, d) of the chosen map from x to y, fitted to all samples; None for the
    identity and for shifts of classes."""
    return NESTED_MAP_FITTERS.get(fit.name, fit_identity)(x - x.mean(axis=0), y - y.mean(axis=0))
