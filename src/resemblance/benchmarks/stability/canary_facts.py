"""What the canary found: how far disturbed models moved by every measure, and what that says of their accuracy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...grounding import spearman
from ..experiments import Part
from .detection import auc, first_above, loss_p_value
from .models import family

RDM, PEARSON = "rsa[rdm=cosine]", "rsa[compare=pearson,rdm=cosine]"
CKA, PROCRUSTES, SQUARED = "cka[estimator=debiased]", "procrustes", "procrustes[squared=True]"
DRIFTS = (
    RDM, PEARSON, CKA, PROCRUSTES, SQUARED, "pwcka", "sliced_wasserstein", "mmd", "subspace_overlap",
    "eigenspectrum_similarity",
)  # fmt: skip
KINDS = ("noise", "rounding", "adapters")
SHARE = 0.05  # of the scale: the threshold of the paper
QUANTILE = 0.95  # of harmless differences: the calibrated threshold
SIGNIFICANT = 0.05
POINTS = (0.01, 0.02, 0.05)  # losses of accuracy that should be detected


class Point(NamedTuple):
    """One disturbed model: what was done, the accuracy it lost, whether significantly, and its differences."""

    kind: str
    draw: int
    name: str
    level: float
    loss: float
    harmed: bool
    differences: Mapping[str, float | None]


class Watched(NamedTuple):
    """One model and everything that was done to it."""

    name: str
    accuracy: float
    points: tuple[Point, ...]

    def of(self, kind: str, draw: int | None = None) -> list[Point]:
        """Return the points of a kind, in order."""
        return [p for p in self.points if p.kind == kind and draw in (None, p.draw)]


class Rates(NamedTuple):
    """Shares of disturbed models that raise the alarm: of those that lost no accuracy, and of those that did."""

    false_alarms: float
    caught: float


def watched(done: Sequence[tuple[Part, Any]]) -> tuple[Watched, ...]:
    """Return the models of all parts, in their order."""
    points: dict[str, list[Point]] = {}
    accuracies: dict[str, float] = {}
    for part, value in done:
        accuracies[part["model"]] = value["accuracy"]
        points.setdefault(part["model"], []).extend(_point(part, value["accuracy"], p) for p in value["points"])
    return tuple(Watched(name, accuracies[name], tuple(own)) for name, own in points.items())


def _point(part: Part, accuracy: float, p: Mapping[str, Any]) -> Point:
    level = p["level"][1] if isinstance(p["level"], list) else p["level"]
    harmed = loss_p_value(p["lost"], p["gained"]) < SIGNIFICANT
    return Point(
        part["kind"], part["draw"], p["name"], level, round(accuracy - p["accuracy"], 12), harmed, p["differences"]
    )


def differences(points: Iterable[Point], spec: str) -> np.ndarray:
    """Return the differences by one measure, NaN where there is none. Raises ``KeyError`` for a measure not run."""
    return np.array([np.nan if (v := p.differences[spec]) is None else v for p in points], float)


def scale(model: Watched, spec: str) -> float:
    """Return how far a model is from itself with shuffled weights: the unit of a measure. NaN where it is not far."""
    found = float(np.mean(differences(model.of("shuffled"), spec)))
    return found if found > 0 else float("nan")


def shares(model: Watched, points: Iterable[Point], spec: str) -> np.ndarray:
    """Return differences as shares of the scale."""
    return differences(points, spec) / scale(model, spec)


def tested(model: Watched) -> list[Point]:
    """Return the points that thresholds are tried on: not those that they are calibrated with, nor undisturbed ones."""
    return [p for p in (*model.of("noise", 1), *model.of("rounding"), *model.of("adapters")) if p.level > 0]


def fixed_threshold(model: Watched, spec: str) -> float:
    """Return the difference that is 5 % of the scale."""
    return SHARE * scale(model, spec)


def calibrated_threshold(model: Watched, spec: str) -> float:
    """Return what 95 % of the differences after harmless noise stay below, of another draw than is tested.

    NaN when no noise is harmless.
    """
    harmless = [p for p in model.of("noise", 0) if p.level > 0 and not p.harmed]
    known = differences(harmless, spec)
    known = known[~np.isnan(known)]
    return float(np.quantile(known, QUANTILE)) if len(known) else float("nan")


Threshold = Callable[[Watched, str], float]


def first_alarm(model: Watched, spec: str, threshold: Threshold) -> float:
    """Return the smallest α of noise that raises the alarm; infinity when none does."""
    points = model.of("noise", 1)
    return first_above([p.level for p in points], list(differences(points, spec)), threshold(model, spec))


def first_harm(model: Watched) -> float:
    """Return the smallest α of noise that loses accuracy significantly; infinity when none does."""
    return min((p.level for p in model.of("noise", 1) if p.harmed), default=float("inf"))


def rates(models: Iterable[Watched], spec: str, threshold: Threshold) -> Rates:
    """Return how often a threshold raises the alarm. NaN where there is nothing to be raised for."""
    calls: dict[bool, list[bool]] = {False: [], True: []}
    for model in models:
        limit, points = threshold(model, spec), tested(model)
        for p, value in zip(points, differences(points, spec)):
            if not (np.isnan(value) or np.isnan(limit)):
                calls[p.harmed].append(bool(value > limit))
    return Rates(*(float(np.mean(own)) if own else float("nan") for own in calls.values()))


def families(models: Iterable[Watched]) -> dict[str, list[Watched]]:
    """Return models by domain and architecture."""
    found: dict[str, list[Watched]] = {}
    for model in models:
        found.setdefault(family(model.name), []).append(model)
    return found


def tracking(models: Iterable[Watched], spec: str, kind: str, *, linear: bool = False) -> float:
    """Return the correlation of difference and loss of accuracy, the mean over models of Spearman's, or Pearson's."""
    found = []
    for model in models:
        points = model.of(kind)
        a, b = differences(points, spec), np.array([p.loss for p in points])
        found.append(_pearson(a, b) if linear else spearman(a, b).value)
    there = [v for v in found if not np.isnan(v)]
    return float(np.mean(there)) if there else float("nan")


def _pearson(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a[~np.isnan(a)], b[~np.isnan(a)]
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def detection(models: Iterable[Watched], spec: str, kind: str, loss: float) -> float:
    """Return the area under the ROC for telling which disturbed models lost more than so much accuracy."""
    values, losses = _pooled(models, spec, (kind,))
    return auc(values, losses > loss)


def _pooled(models: Iterable[Watched], spec: str, kinds: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Shares of the scale and losses of all disturbed models, without those that have no value."""
    values, losses = [], []
    for model in models:
        points = [p for p in model.points if p.kind in kinds and p.level > 0]
        values.append(shares(model, points, spec))
        losses.append(np.array([p.loss for p in points]))
    a, b = np.concatenate(values), np.concatenate(losses)
    return a[~np.isnan(a)], b[~np.isnan(a)]


def pooled(models: Iterable[Watched], spec: str) -> tuple[np.ndarray, np.ndarray]:
    """Return shares of the scale and losses of accuracy of all disturbed models."""
    return _pooled(models, spec, KINDS)
