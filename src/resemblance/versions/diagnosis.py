"""What kind of change happened between two versions: maps of growing freedom and their residuals.

Samples are rows of NumPy arrays of one width; both versions are centred before maps are fitted.
Maps are judged on samples they were not fitted to, so a richer map that only fits noise explains
less, not more. Where the reference has as many directions as samples (``is_wide``) there is no such
sample: a rotation is then judged on the samples it was fitted to, corrected for what it fits by
chance, and a linear map is not assessed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .findings import FLOOR, Finding, interval, not_assessed, percent
from .losses import classes_of, collapse_of
from .maps import (
    MAPS,
    Affine,
    Fit,
    by_chance,
    directions,
    fitted,
    held_out,
    identity,
    is_wide,
    ladder,
    regress,
    rotate,
)
from .shifts import scale_of, translation_of

NEARLY_ALL = 0.98  # of the change, which a rotation of a wide reference must explain
UNDONE = 0.5  # of what a linear map does, which the map back must undo
APART = "separate shifts of the classes explain the change better"
SIMPLER = {"identity": "a shift and a factor of scale explain", "rotation": "a rotation explains"}
# Of the variance; beyond it, a wide reference may have gone through a linear map.
UNEXPLAINED = 0.05


class Diagnosis(NamedTuple):
    """All findings but that of neighbours, the chosen map, and what nested maps leave unexplained.

    ``mapped``: where the map puts the samples, each as fitted to others; ``whole``: the map for
    other rows, if that is known; ``beyond``: the words for what it does.
    """

    findings: tuple[Finding, ...]
    fit: Fit
    scale: float
    ladder: tuple[tuple[str, float], ...]
    mapped: np.ndarray
    whole: Affine | None
    beyond: str


def diagnose(x: np.ndarray, y: np.ndarray, classes: np.ndarray | None, seed: int) -> Diagnosis:
    """Say what happened between x and y, both (n, d) and not constant."""
    fits = _fits(x, y, seed)
    left, base = ladder(x, y, fits), x
    classwise = None if classes is None else held_out("classes", identity, x, y, seed, classes)
    if classwise is not None and all(_better(fit, classwise, seed) for fit in fits.values()):
        collapse, rotation, linear = (
            not_assessed(kind, APART) for kind in ("collapse", "rotation", "linear")
        )
        fit = classwise
    else:
        collapse, parts = collapse_of(x, y, fits.get("linear"), seed)
        if parts:  # what is left of the reference is compared with the current version
            base, fits = _closest([x.mean(axis=0) + part for part in parts], y, seed)
        rotation, linear, fit = _nested(base, y, fits, seed)
    scale, factor = scale_of(base, y, fit, seed)
    shift = translation_of(x, base, y, fit, factor, seed)
    if fit.name == "classes":
        shift = not_assessed("translation", APART)
    elif "linear" not in fits and fit.residual.mean() > UNEXPLAINED:
        shift = not_assessed(
            "translation", "a change that is not explained may have moved the mean"
        )
    factor = fit.size if fit.name == "linear" else factor
    mapped = factor * fit.predicted + (y - fit.target)
    only = fit.name != "classes" and not linear.assessed
    beyond = "a rotation and a factor of scale do" if only else "the map does"
    whole = _whole(x, y, fit, factor) if base is x else None
    kinds = shift, scale, rotation, linear, collapse, classes_of(x, y, classes, seed)
    return Diagnosis(kinds, fit, factor, left, mapped, whole, beyond)


def _whole(x: np.ndarray, y: np.ndarray, fit: Fit, factor: float) -> Affine | None:
    """The chosen map, fitted to all samples; of shifts of classes there is none for others."""
    if fit.name == "classes":
        return None
    u, v = x.mean(axis=0), y.mean(axis=0)
    return Affine(u, MAPS[fit.name](x - u, y - v), factor, v)


def _fits(x: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Fit]:
    """The maps that these samples can judge."""
    if not is_wide(x):
        return {name: held_out(name, fit, x, y, seed) for name, fit in MAPS.items()}
    return {
        "identity": held_out("identity", identity, x, y, seed),
        "rotation": fitted("rotation", rotate, x, y),
    }


def _closest(
    parts: list[np.ndarray], y: np.ndarray, seed: int
) -> tuple[np.ndarray, dict[str, Fit]]:
    """The part of the reference that a rigid map brings clearly closest to y, and its maps."""
    candidates = [(part, _fits(part, y, seed)) for part in parts]
    left = [
        min(float(fits[name].residual.mean()) for name in ("identity", "rotation"))
        for _, fits in candidates
    ]
    return candidates[0] if left[0] < left[-1] + FLOOR["collapse"] else candidates[-1]


def _nested(
    x: np.ndarray, y: np.ndarray, fits: dict[str, Fit], seed: int
) -> tuple[Finding, Finding, Fit]:
    """The rotation, the linear map, and the simplest map that explains as much as any."""
    if "linear" not in fits:
        rotation = _wide_rotation(x, y, fits, seed)
        base = fits["rotation" if rotation.named else "identity"]
        why = (
            f"{len(x)} samples cannot tell a linear map in as many directions from any other change"
        )
        return _angle(x, y, rotation), not_assessed("linear", why), base
    rotation = _gain("rotation", fits["identity"], fits["rotation"], seed)
    base = fits["rotation" if rotation.named else "identity"]
    linear = _beyond_noise(x, y, base, fits["linear"], seed)
    if linear.named:
        return not_assessed("rotation", "part of the linear map"), linear, fits["linear"]
    return _angle(x, y, rotation), linear, base


def _better(simple: Fit, rich: Fit, seed: int) -> bool:
    gain = simple.residual - rich.residual
    return bool(gain.mean() > FLOOR["linear"] and interval(gain, seed, rich.name)[0] > 0)


def _gain(kind: str, simple: Fit, rich: Fit, seed: int) -> Finding:
    """How much more of the variance a richer map explains than a simpler one."""
    gain = simple.residual - rich.residual
    low, high = interval(gain, seed, kind)
    amount = float(gain.mean())
    words = (
        f"it explains {percent(max(amount, 0.0))} of the variance beyond what "
        f"{SIMPLER[simple.name]}"
    )
    return Finding(kind, amount > FLOOR[kind] and low > 0, amount, low, high, words)


def _wide_rotation(x: np.ndarray, y: np.ndarray, fits: dict[str, Fit], seed: int) -> Finding:
    """The rotation of a reference with as many directions as samples, named when it explains nearly
    all of the change.

    It fits a change at random too, but for the share of it that changes angles and lengths within
    the space of the samples, which is half of what lies there.
    """
    unturned, rotation = fits["identity"], fits["rotation"]
    gain = _gain("rotation", unturned, rotation, seed)
    if unturned.residual.mean() <= FLOOR["rotation"]:
        return gain
    change = unturned.target - unturned.size * unturned.predicted
    left = rotation.residual.mean() / by_chance(change, directions(x))
    if gain.named and left <= (1 - NEARLY_ALL) * unturned.residual.mean():
        return gain
    why = (
        f"{len(x)} samples in as many directions: a rotation that does not explain all of the "
        "change explains nothing"
    )
    return not_assessed("rotation", why)


def _beyond_noise(x: np.ndarray, y: np.ndarray, base: Fit, linear: Fit, seed: int) -> Finding:
    """The linear map, unless noise in the reference would look like it.

    Least squares shrink the directions in which the reference is noisy. A map that stretches a
    direction is undone by the map fitted from the current version back, so their effects are
    opposite; what noise shrinks, both shrink.
    """
    gain = _gain("linear", base, linear, seed)
    if not gain.named:
        return gain
    a, b = x - x.mean(axis=0), y - y.mean(axis=0)
    turned = a if base.name == "identity" else a @ rotate(a, b)
    turned = turned * float(np.sqrt((b**2).sum() / (turned**2).sum()))
    back = held_out("linear", regress, y, turned, seed)
    same = held_out("identity", identity, y, turned, seed)
    forth = linear.size * linear.predicted - base.size * base.predicted
    undone = back.size * back.predicted - same.size * same.predicted
    opposite = -(forth * undone).sum(axis=1) / (b**2).sum(axis=1).mean()
    least = max(FLOOR["linear"], UNDONE * float((forth**2).sum() / (b**2).sum()))
    if opposite.mean() > least and interval(opposite, seed, "linear and back")[0] > 0:
        return gain
    words = f"{gain.said}, as noise in the reference would cause: it cannot be undone"
    return replace(gain, named=False, said=words)


def _angle(x: np.ndarray, y: np.ndarray, rotation: Finding) -> Finding:
    """The angle of a rotation: that of the mean cosine between samples before and after it."""
    if rotation.amount is None:
        return rotation
    if not rotation.named:
        return replace(rotation, said="no rotation brings the samples closer")
    a = x - x.mean(axis=0)
    cosine = (a * (a @ rotate(a, y - y.mean(axis=0)))).sum() / (a**2).sum()
    angle = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    return replace(rotation, said=f"by {angle:.0f} degrees on average; {rotation.said}")
