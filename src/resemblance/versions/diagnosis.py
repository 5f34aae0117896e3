"""The kind of change between two versions: nested maps of increasing freedom and their residuals.

Samples are rows of NumPy arrays of equal width; the versions are centred before maps are fitted.
Maps are judged on held-out samples, so a richer map explains less, not more, if it only fits noise.
If the reference has as many directions as samples (``is_underdetermined``), no held-out sample is
informative: a rotation is then judged on the samples of its fit, corrected for the share of
variance that a rotation fits by chance, and a linear map is not assessed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..base.formatting import format_percent
from .findings import MIN_NAMED_CHANGE, Finding, bootstrap_mean_interval, unassessed_finding
from .losses import class_loss_finding, collapse_finding
from .maps import (
    NESTED_MAP_FITTERS,
    AffineMap,
    MapFit,
    chance_explained_share,
    cross_validate_map,
    fit_identity,
    fit_linear_map,
    fit_map_in_sample,
    fit_rotation,
    is_underdetermined,
    nonnegligible_directions,
    unexplained_variance_ladder,
)
from .shifts import scale_finding, translation_finding

# share of the change that a rotation of a wide reference must explain
MIN_ROTATION_EXPLAINED = 0.98
MIN_UNDONE_SHARE = 0.5  # share of the effect of a linear map that the inverse map must undo
SEPARATE_SHIFTS_REASON = "separate shifts of the classes explain the change better"
SIMPLER_MAP_PHRASES = {
    "identity": "a shift and a factor of scale explain",
    "rotation": "a rotation explains",
}
# Share of the variance; above this share, a wide reference may have gone through a linear map.
MAX_UNEXPLAINED_SHARE = 0.05
NOISE_SHARES = (1e-4, 0.5)  # least and largest share of the variance that is called noise


class Diagnosis(NamedTuple):
    """All findings except the loss of neighbours, the chosen map, and the unexplained variance of
    the nested maps.

    ``scale``: the factor of the chosen map. ``mapped``: the mapped samples, (n, d), with every
    sample mapped by a fit to other samples. ``whole``: the map for rows outside the subsample, None
    if unknown. ``beyond``: the words for the map in a sentence, such as "the map does".
    """

    findings: tuple[Finding, ...]
    fit: MapFit
    scale: float
    unexplained_by_map: tuple[tuple[str, float], ...]
    mapped: np.ndarray
    whole: AffineMap | None
    beyond: str

    @property
    def unexplained_phrase(self) -> str:
        """A phrase with the share of the variance that the chosen map leaves to noise; "" for a
        share outside ``NOISE_SHARES``, and for a map judged on the samples of the fit."""
        share = float(self.fit.residual.mean())
        if self.fit.is_in_sample or not NOISE_SHARES[0] < share < NOISE_SHARES[1]:
            return ""
        is_linear_assessed = "linear map" in dict(self.unexplained_by_map)
        maps = "no linear map explains" if is_linear_assessed else "no shift or factor explains"
        return f"noise or another change that {maps} ({format_percent(share)} of the variance)"


def diagnose(x: np.ndarray, y: np.ndarray, classes: np.ndarray | None, seed: int) -> Diagnosis:
    """Return the diagnosis of the change from x, the reference, to y, the current version: (n, d)
    arrays of the same samples. Neither x nor y may be constant. ``classes``: the class numbers,
    (n,), or None."""
    fits = _assessable_map_fits(x, y, seed)
    ladder, base = unexplained_variance_ladder(x, y, fits), x
    classwise = None
    if classes is not None:
        classwise = cross_validate_map("classes", fit_identity, x, y, seed, classes)
    if classwise is not None and all(
        _is_richer_map_better(fit, classwise, seed) for fit in fits.values()
    ):
        collapse, rotation, linear = (
            unassessed_finding(kind, SEPARATE_SHIFTS_REASON)
            for kind in ("collapse", "rotation", "linear")
        )
        fit = classwise
    else:
        collapse, parts = collapse_finding(x, y, fits.get("linear"), seed)
        # compare the part of the reference that remains with the current version
        if parts:
            base, fits = _closest_reference_part([x.mean(axis=0) + part for part in parts], y, seed)
        rotation, linear, fit = _choose_nested_map(base, y, fits, seed)
    scale, factor = scale_finding(base, y, fit, seed)
    shift = translation_finding(x, base, y, fit, factor, seed)
    if fit.name == "classes":
        shift = unassessed_finding("translation", SEPARATE_SHIFTS_REASON)
    elif "linear" not in fits and fit.residual.mean() > MAX_UNEXPLAINED_SHARE:
        shift = unassessed_finding(
            "translation", "a change that is not explained may have moved the mean"
        )
    factor = fit.size if fit.name == "linear" else factor
    mapped = factor * fit.predicted + (y - fit.target)
    is_rigid = fit.name != "classes" and not linear.assessed
    map_phrase = "a rotation and a factor of scale do" if is_rigid else "the map does"
    affine_map = _fit_chosen_map(x, y, fit, factor) if base is x else None
    kinds = shift, scale, rotation, linear, collapse, class_loss_finding(x, y, classes, seed)
    return Diagnosis(kinds, fit, factor, ladder, mapped, affine_map, map_phrase)


def _fit_chosen_map(x: np.ndarray, y: np.ndarray, fit: MapFit, factor: float) -> AffineMap | None:
    """Return the map from x to y, (n, d) each, of the kind of ``fit``, fitted to all samples; None
    for shifts of classes, which do not apply to other rows. ``factor``: the factor of scale of the
    map."""
    if fit.name == "classes":
        return None
    u, v = x.mean(axis=0), y.mean(axis=0)
    return AffineMap(u, NESTED_MAP_FITTERS[fit.name](x - u, y - v), factor, v)


def _assessable_map_fits(x: np.ndarray, y: np.ndarray, seed: int) -> dict[str, MapFit]:
    """Return the fits of the nested maps from x to y, (n, d) each, by name ("identity", "rotation",
    "linear"), judged on held-out samples. If x has too many directions for its samples, the linear
    map is left out and the rotation is judged on all samples, which fitted the rotation."""
    if not is_underdetermined(x):
        return {
            name: cross_validate_map(name, fit, x, y, seed)
            for name, fit in NESTED_MAP_FITTERS.items()
        }
    return {
        "identity": cross_validate_map("identity", fit_identity, x, y, seed),
        "rotation": fit_map_in_sample("rotation", fit_rotation, x, y),
    }


def _closest_reference_part(
    parts: list[np.ndarray], y: np.ndarray, seed: int
) -> tuple[np.ndarray, dict[str, MapFit]]:
    """Return one of ``parts`` of the reference, (n, d), and the fits from the part to y, (n, d), by
    name of the map. The part is the first, unless the identity or a rotation from the last part
    leaves clearly less variance."""
    candidates = [(part, _assessable_map_fits(part, y, seed)) for part in parts]
    residuals = [
        min(float(fits[name].residual.mean()) for name in ("identity", "rotation"))
        for _, fits in candidates
    ]
    if residuals[0] < residuals[-1] + MIN_NAMED_CHANGE["collapse"]:
        return candidates[0]
    return candidates[-1]


def _choose_nested_map(
    x: np.ndarray, y: np.ndarray, fits: dict[str, MapFit], seed: int
) -> tuple[Finding, Finding, MapFit]:
    """Return the finding about the rotation, the finding about the linear map, and the fit of the
    simplest map that explains as much as any other map."""
    if "linear" not in fits:
        rotation = _wide_rotation(x, y, fits, seed)
        base = fits["rotation" if rotation.named else "identity"]
        reason = (
            f"{len(x)} samples cannot tell a linear map in as many directions from any other change"
        )
        return _rotation_angle(x, y, rotation), unassessed_finding("linear", reason), base
    rotation = _explained_gain("rotation", fits["identity"], fits["rotation"], seed)
    base = fits["rotation" if rotation.named else "identity"]
    linear = _linear_map_beyond_noise(x, y, base, fits["linear"], seed)
    if linear.named:
        return unassessed_finding("rotation", "part of the linear map"), linear, fits["linear"]
    return _rotation_angle(x, y, rotation), linear, base


def _is_richer_map_better(simple_fit: MapFit, rich_fit: MapFit, seed: int) -> bool:
    gain = simple_fit.residual - rich_fit.residual
    return bool(
        gain.mean() > MIN_NAMED_CHANGE["linear"]
        and bootstrap_mean_interval(gain, seed, rich_fit.name)[0] > 0
    )


def _explained_gain(kind: str, simple_fit: MapFit, rich_fit: MapFit, seed: int) -> Finding:
    """Return the finding of a ``kind``: the amount is the share of the variance that a richer map
    (``rich_fit``) explains beyond a simpler map (``simple_fit``), on average over samples."""
    gain = simple_fit.residual - rich_fit.residual
    low, high = bootstrap_mean_interval(gain, seed, kind)
    amount = float(gain.mean())
    sentence = (
        f"it explains {format_percent(max(amount, 0.0))} of the variance beyond what "
        f"{SIMPLER_MAP_PHRASES[simple_fit.name]}"
    )
    return Finding(kind, amount > MIN_NAMED_CHANGE[kind] and low > 0, amount, low, high, sentence)


def _wide_rotation(x: np.ndarray, y: np.ndarray, fits: dict[str, MapFit], seed: int) -> Finding:
    """Return the finding about the rotation of x, a reference with as many directions as samples,
    to y. ``fits``: the fits of "identity" and "rotation". The finding is assessed if the change is
    negligible, or if the rotation explains nearly all of the change.

    A rotation also fits a random change, except the share of the change that alters angles and
    lengths within the space of the samples. The excepted share is half of the change inside the
    space.
    """
    identity, rotation = fits["identity"], fits["rotation"]
    gain = _explained_gain("rotation", identity, rotation, seed)
    if identity.residual.mean() <= MIN_NAMED_CHANGE["rotation"]:
        return gain
    change = identity.target - identity.size * identity.predicted
    residual_share = rotation.residual.mean() / chance_explained_share(
        change, nonnegligible_directions(x)
    )
    if gain.named and residual_share <= (1 - MIN_ROTATION_EXPLAINED) * identity.residual.mean():
        return gain
    reason = (
        f"{len(x)} samples in as many directions: a rotation counts only if it explains all "
        "of the change"
    )
    return unassessed_finding("rotation", reason)


def _linear_map_beyond_noise(
    x: np.ndarray, y: np.ndarray, base: MapFit, linear: MapFit, seed: int
) -> Finding:
    """Return the finding about the linear map from x, the reference, to y, the current version; not
    named if noise in the reference would look the same. ``base``: the fit of the best simpler map.

    Least squares shrink the directions in which the reference is noisy. If a map stretches a
    direction, the map fitted from the current version back undoes the stretch: the two effects are
    opposite. If noise shrinks a direction, the map and the map back both shrink the direction.
    """
    gain = _explained_gain("linear", base, linear, seed)
    if not gain.named:
        return gain
    a, b = x - x.mean(axis=0), y - y.mean(axis=0)
    rotated = a if base.name == "identity" else a @ fit_rotation(a, b)
    rotated = rotated * float(np.sqrt((b**2).sum() / (rotated**2).sum()))
    inverse_fit = cross_validate_map("linear", fit_linear_map, y, rotated, seed)
    identity_fit = cross_validate_map("identity", fit_identity, y, rotated, seed)
    forward_change = linear.size * linear.predicted - base.size * base.predicted
    backward_change = (
        inverse_fit.size * inverse_fit.predicted - identity_fit.size * identity_fit.predicted
    )
    undone_shares = -(forward_change * backward_change).sum(axis=1) / (b**2).sum(axis=1).mean()
    min_share = max(
        MIN_NAMED_CHANGE["linear"],
        MIN_UNDONE_SHARE * float((forward_change**2).sum() / (b**2).sum()),
    )
    if (
        undone_shares.mean() > min_share
        and bootstrap_mean_interval(undone_shares, seed, "linear and back")[0] > 0
    ):
        return gain
    sentence = f"{gain.sentence}, as noise in the reference would cause: it cannot be undone"
    return replace(gain, named=False, sentence=sentence)


def _rotation_angle(x: np.ndarray, y: np.ndarray, rotation: Finding) -> Finding:
    """Return the finding ``rotation`` with the mean angle between samples before and after the
    rotation in its sentence. A finding without amount stays as it is; a finding that is not named
    gets no angle."""
    if rotation.amount is None:
        return rotation
    if not rotation.named:
        return replace(rotation, sentence="no rotation brings the samples closer")
    a = x - x.mean(axis=0)
    cosine = (a * (a @ fit_rotation(a, y - y.mean(axis=0)))).sum() / (a**2).sum()
    angle = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    return replace(rotation, sentence=f"by {angle:.0f} degrees on average; {rotation.sentence}")
