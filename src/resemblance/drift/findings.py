"""What kind of change happened between two versions of a representation: maps of growing freedom, and what they miss.

Samples are rows of NumPy arrays of one width; both versions are centred before maps are fitted. Maps are judged on
samples they were not fitted to, so a richer map that only fits noise explains less, not more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..representation import Representation
from ..rng import generator
from ..views.distributions import effective_rank
from ..views.neighbours import neighbours
from .maps import MAPS, Fit, Map, folds, held_out, ladder, regress, rotate, rotate_not

SPLITS, DRAWS, LEVEL = 20, 1000, 0.99
FLOOR = {  # changes smaller than this are not named, however certain they are
    "translation": 0.01, "scale": 0.01, "rotation": 1e-3, "linear": 1e-3, "collapse": 0.05, "neighbours": 0.05,
    "classes": 0.02,
}  # fmt: skip
KINDS = tuple(FLOOR)


@dataclass(frozen=True)
class Finding:
    """One kind of change: whether it is named, how much of it there is, its interval, and a sentence about it.

    ``amount`` is ``None`` when the kind was not looked for: the sentence says why.
    """

    kind: str
    named: bool
    amount: float | None
    low: float | None
    high: float | None
    said: str


class Found(NamedTuple):
    """All findings, the map that was chosen, and the shares of variance that nested maps leave unexplained."""

    findings: tuple[Finding, ...]
    fit: Fit
    scale: float
    ladder: tuple[tuple[str, float], ...]


def find(x: np.ndarray, y: np.ndarray, labels: Sequence[Any] | None, k: int, seed: int) -> Found:
    """Say what happened between x and y, both (n, d) and not constant; ``k`` neighbours are looked at."""
    fits = {name: held_out(name, fit, x, y, seed) for name, fit in MAPS.items()}
    left, kept = ladder(x, y, fits), x
    collapse, projector = _collapse(x, y, fits["linear"], seed)
    classwise = None if labels is None else held_out("classes", rotate_not, x, y, seed, labels)
    if classwise is not None and all(_better(fit, classwise, seed) for fit in fits.values()):
        rotation, linear = (
            _unnamed(_gain(kind, fits["identity"], fits[kind], seed)) for kind in ("rotation", "linear")
        )
        collapse, chosen = _unnamed(collapse), classwise
    else:
        if projector is not None:  # what is left of the reference is compared with the current version
            kept = x.mean(axis=0) + (x - x.mean(axis=0)) @ projector
            fits = {name: held_out(name, fit, kept, y, seed) for name, fit in MAPS.items()}
        rotation, linear, chosen = _nested(kept, y, fits, seed)
    shift, scale, factor = _shift_and_scale(kept, y, chosen, seed)
    if chosen.name == "classes":
        shift = _unnamed(shift)
    elif collapse.named and linear.named:
        shift = _unnamed(shift, "with lost dimensions a linear map and a shift cannot be told apart")
    mapped = factor * chosen.predicted + (y - chosen.target)
    lost = _neighbour_loss(mapped, y, k, seed), _class_loss(x, y, labels, seed)
    return Found((shift, scale, rotation, linear, collapse, *lost), chosen, factor, left)


def _nested(x: np.ndarray, y: np.ndarray, fits: dict[str, Fit], seed: int) -> tuple[Finding, Finding, Fit]:
    """The rotation, the linear map, and the simplest map that explains as much as any."""
    rotation = _gain("rotation", fits["identity"], fits["rotation"], seed)
    base = fits["rotation" if rotation.named else "identity"]
    linear = _gain("linear", base, fits["linear"], seed)
    return _angle(x, y, rotation, linear.named), linear, fits["linear"] if linear.named else base


def interval(values: np.ndarray, seed: int, *labels: str) -> tuple[float, float]:
    """Bootstrap interval of the mean of one number per sample."""
    chosen = generator(seed, "interval", *labels).integers(len(values), size=(DRAWS, len(values)))
    low, high = np.quantile(values[chosen].mean(axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _better(simple: Fit, rich: Fit, seed: int) -> bool:
    gain = simple.residual - rich.residual
    return bool(gain.mean() > FLOOR["linear"] and interval(gain, seed, rich.name)[0] > 0)


def _gain(kind: str, simple: Fit, rich: Fit, seed: int) -> Finding:
    """How much more of the variance a richer map explains than a simpler one."""
    gain = simple.residual - rich.residual
    low, high = interval(gain, seed, kind)
    amount = float(gain.mean())
    said = f"it explains {max(amount, 0.0):.1%} of the variance that the {simple.name} does not"
    return Finding(kind, amount > FLOOR[kind] and low > 0, amount, low, high, said)


def _unnamed(finding: Finding, said: str = "each class shifts by itself, which explains more") -> Finding:
    return Finding(finding.kind, False, finding.amount, finding.low, finding.high, said)


def _angle(x: np.ndarray, y: np.ndarray, rotation: Finding, is_linear: bool) -> Finding:
    """The rotation as an angle: that of the mean cosine between the samples and themselves after it."""
    if not rotation.named or is_linear:
        said = "part of the linear map" if is_linear else "no rotation brings the samples closer"
        return Finding("rotation", False, rotation.amount, rotation.low, rotation.high, said)
    a = x - x.mean(axis=0)
    angle = np.degrees(np.arccos(np.clip((a * (a @ rotate(a, y - y.mean(axis=0)))).sum() / (a**2).sum(), -1, 1)))
    said = f"by {angle:.0f} degrees on average; {rotation.said}"
    return Finding("rotation", True, rotation.amount, rotation.low, rotation.high, said)


def _halves(n: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    random = generator(seed, "halves", n)
    for _ in range(SPLITS):
        order = random.permutation(n)
        yield order[: n // 2], order[n // 2 :]


def _placed(x: np.ndarray, y: np.ndarray, fit: Map, size: float | None) -> tuple[np.ndarray, float]:
    """The shift that is left after a map about the origin, and its factor of scale; ``size``: held-out factor."""
    a, b = x - x.mean(axis=0), y - y.mean(axis=0)
    matrix = fit(a, b)
    mapped = a @ matrix
    ratio = float(np.sqrt((b**2).sum() / ((mapped**2).sum() or 1.0)))
    slope = float((mapped * b).sum() / ((mapped**2).sum() or 1.0)) if size is None else size
    factor = 1.0 if fit is regress else _between(ratio, slope)
    return y.mean(axis=0) - factor * (x.mean(axis=0) @ matrix), factor


def _between(ratio: float, slope: float) -> float:
    """The factor nearest to 1: noise makes the ratio of sizes too large, lost samples make the slope too small."""
    if slope <= 0 or (ratio - 1) * (slope - 1) <= 0:
        return 1.0
    return min(ratio, slope, key=lambda factor: abs(np.log(factor)))


def _shift_and_scale(x: np.ndarray, y: np.ndarray, chosen: Fit, seed: int) -> tuple[Finding, Finding, float]:
    """Translation, in units of the radius of the current version, and scale: named when beyond split-half noise."""
    fit = MAPS.get(chosen.name, rotate_not)
    radius = float(np.sqrt(y.var(axis=0).sum()))
    shift, factor = _placed(x, y, fit, None if fit is regress else chosen.size)
    pairs = [[_placed(x[half], y[half], fit, None) for half in both] for both in _halves(len(x), seed)]
    noise = max(float(np.linalg.norm(a[0] - b[0])) for a, b in pairs) / 2 / radius
    spread = max(abs(float(np.log(a[1] / b[1]))) for a, b in pairs) / 2
    far = float(np.linalg.norm(shift)) / radius
    moved = Finding("translation", far > max(FLOOR["translation"], 1.5 * noise), far, max(0.0, far - noise),
                    far + noise, f"by {round(far, 6):.2g} of the radius of the current samples")  # fmt: skip
    if fit is regress:
        return moved, Finding("scale", False, None, None, None, "part of the linear map"), chosen.size
    named = abs(np.log(factor)) > max(FLOOR["scale"], 1.5 * spread)
    scaled = Finding("scale", bool(named), factor, factor * float(np.exp(-spread)), factor * float(np.exp(spread)),
                     f"by a factor of {factor:.3g}")  # fmt: skip
    return moved, scaled, factor


def _collapse(x: np.ndarray, y: np.ndarray, linear: Fit, seed: int) -> tuple[Finding, np.ndarray | None]:
    """Lost dimensions, and the projector of the reference on what is kept.

    They are lost when the effective rank falls, the reference can be predicted from the current version clearly worse
    than the other way round, and some direction keeps less than a tenth of the gain of another. An invertible map may
    lower the effective rank too, but nothing is lost.
    """
    before, after = (float(effective_rank(Representation(data))) for data in (x, y))
    ratios = np.log([_rank_ratio(x[half], y[half]) for both in _halves(len(x), seed) for half in both])
    noise = float(np.abs(ratios - ratios.mean()).max())
    lost = held_out("linear", regress, y, x, seed).residual - linear.residual
    fall = 1 - after / before
    low, high = (1 - after / before * float(np.exp(e)) for e in (noise, -noise))
    left, gains, _ = np.linalg.svd(regress(x - x.mean(axis=0), y - y.mean(axis=0)))
    kept = left[:, : int((gains > 0.1 * gains[0]).sum())]
    fewer = kept.shape[1] < np.linalg.matrix_rank(x - x.mean(axis=0))
    named = fewer and low > FLOOR["collapse"] and lost.mean() > 0.01 and interval(lost, seed, "collapse")[0] > 0
    said = f"effective rank from {before:.3g} to {after:.3g}"
    if named:
        said += f"; {lost.mean():.0%} of the variance of the reference cannot be recovered"
    finding = Finding("collapse", bool(named), fall, low, high, said)
    return finding, kept @ kept.T if named else None


def _rank_ratio(x: np.ndarray, y: np.ndarray) -> float:
    return float(effective_rank(Representation(y))) / float(effective_rank(Representation(x)))


def shared_neighbours(x: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """Share of the k nearest neighbours that every sample has in both, 0 where chance would do as well."""
    a, b = (neighbours(Representation(data), k=k, metric="euclidean") for data in (x, y))
    shared = (a[:, :, None] == b[:, None, :]).any(axis=2).mean(axis=1)
    chance = k / (len(x) - 1)
    return np.asarray((shared - chance) / (1 - chance))


def _neighbour_loss(mapped: np.ndarray, y: np.ndarray, k: int, seed: int) -> Finding:
    lost = 1 - shared_neighbours(mapped, y, k)
    low, high = interval(lost, seed, "neighbours")
    said = f"{lost.mean():.0%} of the {k} nearest neighbours are lost, corrected for chance, beyond what the map does"
    return Finding("neighbours", low > FLOOR["neighbours"], float(lost.mean()), low, high, said)


def _class_loss(x: np.ndarray, y: np.ndarray, labels: Sequence[Any] | None, seed: int) -> Finding:
    """Loss of accuracy of a linear discriminant, which no invertible linear map changes."""
    if labels is None:
        return Finding("classes", False, None, None, None, "without labels it cannot be looked for")
    classes = np.unique(np.asarray(labels), return_inverse=True)[1]
    right = [discriminated(data, classes, seed) for data in (x, y)]
    lost = right[0] - right[1]
    low, high = interval(lost, seed, "classes")
    said = f"accuracy of a linear discriminant from {right[0].mean():.1%} to {right[1].mean():.1%}"
    named = lost.mean() > FLOOR["classes"] and low > 0
    return Finding("classes", bool(named), float(lost.mean()), low, high, said)


def discriminated(x: np.ndarray, classes: np.ndarray, seed: int) -> np.ndarray:
    """Say, as 1 or 0, which samples a linear discriminant fitted to others puts into their class."""
    right = np.zeros(len(x))
    for train, test in folds(len(x), seed):
        known = np.unique(classes[train])
        means = np.array([x[train][classes[train] == c].mean(axis=0) for c in known])
        within = x[train] - means[np.searchsorted(known, classes[train])]
        covariance = within.T @ within / len(train)
        ridge = 1e-9 * (np.trace(covariance) or 1.0) / len(covariance)
        weights = np.linalg.solve(covariance + ridge * np.eye(len(covariance)), means.T)
        scores = x[test] @ weights - (means * weights.T).sum(axis=1) / 2
        right[test] = known[scores.argmax(axis=1)] == classes[test]
    return right
