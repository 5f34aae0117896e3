"""Which samples and which classes changed most."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import euclidean_norm, row_blocks
from ..base.formatting import list_names
from ..intermediates.distances import squared_distance_blocks
from .diagnosis import Diagnosis
from .findings import FINDING_CONFIDENCE, MIN_NAMED_CHANGE, Finding, unassessed_finding
from .maps import NESTED_MAP_FITTERS, AffineMap, rms_radius

MAX_NAMED_CLASSES = 3  # classes that moved are named, at most
ROBUST_FIT_ROUNDS = 5  # in which the classes that moved lose their weight
MIN_DISTANCE_RATIO = 5  # times the usual distance, which errors of the map make


@dataclass(frozen=True)
class Moved:
    """A sample and how far it moved, in radii of the current version: as it is, and beyond what the
    map explains."""

    index: int
    id: Hashable | None
    distance: float
    unexplained: float
    label: Hashable | None = None


@dataclass(frozen=True)
class RowPermutation:
    """Rows in another order: the share of samples in another's place, and whether all rows are
    equal ``exactly`` or nearly."""

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


def rank_moved_samples(
    x: np.ndarray, y: np.ndarray, diagnosis: Diagnosis, rows: np.ndarray, ids: Any, labels: Any
) -> list[Moved]:
    """How far every sample moved."""
    left = diagnosis.fit.target - diagnosis.scale * diagnosis.fit.predicted
    far, unexplained = (np.linalg.norm(part, axis=1) / rms_radius(y) for part in (y - x, left))
    return [
        Moved(i, None if ids is None else ids[i], p, q, None if labels is None else labels[i])
        for i, p, q in zip(rows.tolist(), far.tolist(), unexplained.tolist())
    ]


class ClassMeans(NamedTuple):
    """Means of the classes that have samples: before, after, and where the map puts them.

    ``scatter`` is the mean squared distance of the samples of a class from the mean of what the map
    leaves of it, infinite for one sample.
    """

    labels: list[Hashable]
    counts: np.ndarray
    before: np.ndarray
    after: np.ndarray
    mapped: np.ndarray
    scatter: np.ndarray


ClassBlock = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def version_class_means(parts: Iterable[ClassBlock], names: Mapping[int, Hashable]) -> ClassMeans:
    """Return the means of classes numbered from 0, from one pass over parts of the samples.

    A part is the numbers of the classes, and the samples before, after, and as mapped.
    """
    from scipy.sparse import csr_array

    sums: Sequence[np.ndarray] = ()
    for groups, x, y, mapped in parts:
        places = groups, np.arange(len(groups))
        each = csr_array((np.ones(len(groups)), places), shape=(len(names), len(groups)))
        squares = ((y - mapped) ** 2).sum(axis=1)
        more = [each.sum(axis=1), each @ x, each @ y, each @ mapped, each @ squares]
        sums = [total + part for total, part in zip(sums, more)] if sums else more
    present = np.flatnonzero(sums[0]).tolist()
    counts, before, after, mapped, squares = (total[present] for total in sums)
    before, after, mapped = (total / counts[:, None] for total in (before, after, mapped))
    spread = squares - counts * ((after - mapped) ** 2).sum(axis=1)
    scatter = np.where(counts > 1, np.maximum(spread, 0) / np.maximum(counts - 1, 1), np.inf)
    return ClassMeans([names[c] for c in present], counts, before, after, mapped, scatter)


def find_moved_classes(
    means: ClassMeans, radii: tuple[float, float]
) -> tuple[Finding, tuple[MovedClass, ...]]:
    """Return whether classes moved otherwise than the rest, and how far every class moved.

    A class moved when its mean is farther from where the map puts it than its own scatter makes it,
    at 99 % for all classes together, and than ``MIN_DISTANCE_RATIO`` times the distance that is
    usual: of 378 simulated pairs of versions in which none moved, one named a class. First are
    the classes that came closest to another one or went farthest from it.
    """
    if len(means.labels) < 2:
        return unassessed_finding("moved_classes", "it needs two classes"), ()
    shift, rest = means.after - means.before, means.after - means.mapped
    far = ((euclidean_norm(part, axis=1) / radii[1]).tolist() for part in (shift, rest))
    sides = zip((means.before, means.after), radii)
    nearest = (column for side in sides for column in _nearest_class_means(means.labels, *side))
    columns = means.labels, map(int, means.counts), *far, *nearest
    moved = [MovedClass(*row) for row in zip(*columns)]
    in_order = tuple(sorted(moved, key=lambda m: -abs(m.distance_after - m.distance_before)))
    return _moved_classes_finding(means, rest / radii[1], radii[1], moved), in_order


def _moved_classes_finding(
    means: ClassMeans, rest: np.ndarray, radius: float, moved: Sequence[MovedClass]
) -> Finding:
    from scipy.special import stdtrit

    if len(moved) < 3 or means.counts.max() < 2:
        why = "it needs three classes, and one with two samples or more"
        return unassessed_finding("moved_classes", why)
    distance = euclidean_norm(rest, axis=1)
    error, freedom = np.sqrt(means.scatter / means.counts) / radius, np.maximum(means.counts - 1, 1)
    order = np.argsort(distance)
    weight = np.cumsum(means.counts[order])
    usual = distance[order[np.searchsorted(weight, weight[-1] / 2)]]
    by_chance = stdtrit(freedom, 1 - (1 - FINDING_CONFIDENCE) / 2 / len(moved)) * error
    limit = np.maximum(
        by_chance, max(MIN_NAMED_CHANGE["moved_classes"], MIN_DISTANCE_RATIO * usual)
    )
    far = sorted(np.flatnonzero(distance > limit).tolist(), key=lambda i: -distance[i])
    most: int = far[0] if far else int(np.argmax(np.where(np.isfinite(error), distance, -1)))
    slack = stdtrit(freedom[most], (1 + FINDING_CONFIDENCE) / 2) * error[most]
    bounds = max(0.0, float(distance[most] - slack)), float(distance[most] + slack)
    texts = [
        f"{moved[i].label} ({distance[i]:.3g} radii, now nearest to {moved[i].nearest_after})"
        for i in far
    ]
    listed = list_names(texts, MAX_NAMED_CLASSES)
    farthest = f"{moved[most].label} ({distance[most]:.2g} radii)"
    nothing = f"none beyond chance; the farthest is {farthest}"
    return Finding("moved_classes", bool(far), float(distance[most]), *bounds, listed or nothing)


def class_mean_shifts(
    x: np.ndarray, y: np.ndarray, classes: tuple[np.ndarray, np.ndarray], names: Sequence[Hashable]
) -> tuple[MovedClass, ...]:
    """How far the means of classes are apart in rows of other samples, those first that are
    farthest; of classes in both, two at least."""
    present = np.intersect1d(*classes).tolist()
    if len(present) < 2:
        return ()
    before, after = (
        np.stack([v[groups == c].mean(axis=0) for c in present])
        for v, groups in zip((x, y), classes)
    )
    radii, labels = (rms_radius(x), rms_radius(y)), [names[c] for c in present]
    far = (euclidean_norm(after - before, axis=1) / radii[1]).tolist()
    sides = zip((before, after), radii)
    nearest = (column for side in sides for column in _nearest_class_means(labels, *side))
    counts = [int((classes[1] == c).sum()) for c in present]
    moved = [MovedClass(*row) for row in zip(labels, counts, far, far, *nearest)]
    return tuple(sorted(moved, key=lambda m: -m.moved))


def majority_class_map(
    x: np.ndarray, y: np.ndarray, classes: np.ndarray, name: str, factor: float
) -> AffineMap:
    """Return the map of a kind that brings most classes to where they are.

    Every sample weighs as one over the distance at which the map leaves its class, so that classes
    that moved do not bend it.
    """
    groups = np.unique(classes, return_inverse=True)[1]
    weights = np.ones(len(x))
    for _ in range(ROBUST_FIT_ROUNDS):
        u, v = (np.average(data, axis=0, weights=weights) for data in (x, y))
        root = np.sqrt(weights)[:, None]
        affine = AffineMap(u, NESTED_MAP_FITTERS[name](root * (x - u), root * (y - v)), factor, v)
        rest, each = y - affine(x), np.eye(groups.max() + 1)[:, groups]
        distance = euclidean_norm(each @ rest, axis=1) / each.sum(axis=1)
        usual = max(float(np.median(distance)), 1e-9 * float(distance.max())) or 1.0
        weights = usual / np.maximum(distance, usual)[groups]
    return affine


def _nearest_class_means(
    labels: Sequence[Hashable], means: np.ndarray, unit: float
) -> tuple[list[Hashable], list[float]]:
    """The class whose mean is nearest to that of each, and its distance."""
    points = means - means.mean(axis=0)
    nearest = np.empty(len(points), dtype=np.int64)
    for (start, stop), block in zip(row_blocks(len(points)), squared_distance_blocks(points)):
        block[np.arange(stop - start), np.arange(start, stop)] = np.inf
        nearest[start:stop] = block.argmin(axis=1)
    distances = euclidean_norm(means - means[nearest], axis=1) / unit
    return [labels[i] for i in nearest.tolist()], distances.tolist()
