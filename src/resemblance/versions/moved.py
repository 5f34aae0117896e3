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
    residuals = diagnosis.fit.target - diagnosis.scale * diagnosis.fit.predicted
    distances, residual_distances = (
        np.linalg.norm(vectors, axis=1) / rms_radius(y) for vectors in (y - x, residuals)
    )
    return [
        Moved(i, None if ids is None else ids[i], p, q, None if labels is None else labels[i])
        for i, p, q in zip(rows.tolist(), distances.tolist(), residual_distances.tolist())
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


def version_class_means(blocks: Iterable[ClassBlock], names: Mapping[int, Hashable]) -> ClassMeans:
    """Return the means of classes numbered from 0, from one pass over parts of the samples.

    A part is the numbers of the classes, and the samples before, after, and as mapped.
    """
    from scipy.sparse import csr_array

    sums: Sequence[np.ndarray] = ()
    for groups, x, y, mapped in blocks:
        coordinates = groups, np.arange(len(groups))
        indicators = csr_array((np.ones(len(groups)), coordinates), shape=(len(names), len(groups)))
        squares = ((y - mapped) ** 2).sum(axis=1)
        block_sums = [
            indicators.sum(axis=1),
            indicators @ x,
            indicators @ y,
            indicators @ mapped,
            indicators @ squares,
        ]
        sums = (
            [total + block_sum for total, block_sum in zip(sums, block_sums)]
            if sums
            else block_sums
        )
    codes = np.flatnonzero(sums[0]).tolist()
    counts, before, after, mapped, squares = (total[codes] for total in sums)
    before, after, mapped = (total / counts[:, None] for total in (before, after, mapped))
    spread = squares - counts * ((after - mapped) ** 2).sum(axis=1)
    scatter = np.where(counts > 1, np.maximum(spread, 0) / np.maximum(counts - 1, 1), np.inf)
    return ClassMeans([names[c] for c in codes], counts, before, after, mapped, scatter)


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
    shift, residuals = means.after - means.before, means.after - means.mapped
    distances = (
        (euclidean_norm(vectors, axis=1) / radii[1]).tolist() for vectors in (shift, residuals)
    )
    sides = zip((means.before, means.after), radii)
    neighbors = (column for side in sides for column in _nearest_class_means(means.labels, *side))
    columns = means.labels, map(int, means.counts), *distances, *neighbors
    moved_classes = [MovedClass(*row) for row in zip(*columns)]
    ordered_classes = tuple(
        sorted(moved_classes, key=lambda m: -abs(m.distance_after - m.distance_before))
    )
    return _moved_classes_finding(
        means, residuals / radii[1], radii[1], moved_classes
    ), ordered_classes


def _moved_classes_finding(
    means: ClassMeans, residuals: np.ndarray, radius: float, moved_classes: Sequence[MovedClass]
) -> Finding:
    from scipy.special import stdtrit

    if len(moved_classes) < 3 or means.counts.max() < 2:
        reason = "it needs three classes, and one with two samples or more"
        return unassessed_finding("moved_classes", reason)
    distance = euclidean_norm(residuals, axis=1)
    error, freedom = np.sqrt(means.scatter / means.counts) / radius, np.maximum(means.counts - 1, 1)
    order = np.argsort(distance)
    weight = np.cumsum(means.counts[order])
    typical_distance = distance[order[np.searchsorted(weight, weight[-1] / 2)]]
    chance_limits = stdtrit(freedom, 1 - (1 - FINDING_CONFIDENCE) / 2 / len(moved_classes)) * error
    limit = np.maximum(
        chance_limits, max(MIN_NAMED_CHANGE["moved_classes"], MIN_DISTANCE_RATIO * typical_distance)
    )
    far_classes = sorted(np.flatnonzero(distance > limit).tolist(), key=lambda i: -distance[i])
    index: int = (
        far_classes[0]
        if far_classes
        else int(np.argmax(np.where(np.isfinite(error), distance, -1)))
    )
    slack = stdtrit(freedom[index], (1 + FINDING_CONFIDENCE) / 2) * error[index]
    bounds = max(0.0, float(distance[index] - slack)), float(distance[index] + slack)
    texts = [
        f"{moved_classes[i].label} ({distance[i]:.3g} radii, now nearest to "
        f"{moved_classes[i].nearest_after})"
        for i in far_classes
    ]
    class_list = list_names(texts, MAX_NAMED_CLASSES)
    farthest_phrase = f"{moved_classes[index].label} ({distance[index]:.2g} radii)"
    fallback = f"none beyond chance; the farthest is {farthest_phrase}"
    return Finding(
        "moved_classes", bool(far_classes), float(distance[index]), *bounds, class_list or fallback
    )


def class_mean_shifts(
    x: np.ndarray, y: np.ndarray, classes: tuple[np.ndarray, np.ndarray], names: Sequence[Hashable]
) -> tuple[MovedClass, ...]:
    """How far the means of classes are apart in rows of other samples, those first that are
    farthest; of classes in both, two at least."""
    codes = np.intersect1d(*classes).tolist()
    if len(codes) < 2:
        return ()
    before, after = (
        np.stack([v[groups == c].mean(axis=0) for c in codes]) for v, groups in zip((x, y), classes)
    )
    radii, labels = (rms_radius(x), rms_radius(y)), [names[c] for c in codes]
    distances = (euclidean_norm(after - before, axis=1) / radii[1]).tolist()
    sides = zip((before, after), radii)
    neighbors = (column for side in sides for column in _nearest_class_means(labels, *side))
    counts = [int((classes[1] == c).sum()) for c in codes]
    moved_classes = [
        MovedClass(*row) for row in zip(labels, counts, distances, distances, *neighbors)
    ]
    return tuple(sorted(moved_classes, key=lambda m: -m.moved))


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
        residuals, indicators = y - affine(x), np.eye(groups.max() + 1)[:, groups]
        distance = euclidean_norm(indicators @ residuals, axis=1) / indicators.sum(axis=1)
        typical_distance = max(float(np.median(distance)), 1e-9 * float(distance.max())) or 1.0
        weights = typical_distance / np.maximum(distance, typical_distance)[groups]
    return affine


def _nearest_class_means(
    labels: Sequence[Hashable], means: np.ndarray, unit: float
) -> tuple[list[Hashable], list[float]]:
    """The class whose mean is nearest to that of each, and its distance."""
    points = means - means.mean(axis=0)
    neighbors = np.empty(len(points), dtype=np.int64)
    for (start, stop), block in zip(row_blocks(len(points)), squared_distance_blocks(points)):
        block[np.arange(stop - start), np.arange(start, stop)] = np.inf
        neighbors[start:stop] = block.argmin(axis=1)
    distances = euclidean_norm(means - means[neighbors], axis=1) / unit
    return [labels[i] for i in neighbors.tolist()], distances.tolist()
