"""The samples and the classes with the largest change."""

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

MAX_NAMED_CLASSES = 3  # largest number of moved classes in a sentence
ROBUST_FIT_ROUNDS = 5  # reweighting rounds, which reduce the weight of moved classes
MIN_DISTANCE_RATIO = 5  # times the typical distance, which errors of the map cause


@dataclass(frozen=True)
class Moved:
    """A sample with the displacement and the displacement beyond the map, in radii of the current
    version."""

    index: int
    id: Hashable | None
    distance: float
    unexplained: float
    label: Hashable | None = None


@dataclass(frozen=True)
class RowPermutation:
    """Rows in another order: the share of samples in the position of another sample, and whether
    the rows of the two versions are equal ``exactly`` or nearly."""

    share: float
    exactly: bool


@dataclass(frozen=True)
class MovedClass:
    """A class: the displacement of the mean, and the class with the nearest mean, before and after.

    ``moved`` and ``unexplained`` (beyond the map) are in radii of the current version. The
    distances to the nearest class are in radii of their own version.
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
    """Return the displacement of every sample, in the order of the samples, not sorted by size.

    ``x``, ``y``: before and after, (n, d). ``rows``: the positions of the samples in the data,
    (n,); ``ids`` and ``labels``: by such a position, or None.
    """
    residuals = diagnosis.fit.target - diagnosis.scale * diagnosis.fit.predicted
    distances, residual_distances = (
        np.linalg.norm(vectors, axis=1) / rms_radius(y) for vectors in (y - x, residuals)
    )
    return [
        Moved(i, None if ids is None else ids[i], p, q, None if labels is None else labels[i])
        for i, p, q in zip(rows.tolist(), distances.tolist(), residual_distances.tolist())
    ]


class ClassMeans(NamedTuple):
    """Means of the classes with samples: before, after, and mapped, each (classes, d).

    ``counts``: samples per class. ``scatter`` is the mean squared distance between the residuals of
    the map in a class and the mean residual of the class, infinite for one sample.
    """

    labels: list[Hashable]
    counts: np.ndarray
    before: np.ndarray
    after: np.ndarray
    mapped: np.ndarray
    scatter: np.ndarray


ClassBlock = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def version_class_means(blocks: Iterable[ClassBlock], names: Mapping[int, Hashable]) -> ClassMeans:
    """Return the means of classes numbered from 0, from a single pass over blocks of samples.

    A block contains four arrays: the class numbers (n,), and the samples before, after, and as
    mapped, (n, d) each. ``names``: the label of each class number.
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
        if sums:
            sums = [total + block_sum for total, block_sum in zip(sums, block_sums)]
        else:
            sums = block_sums
    codes = np.flatnonzero(sums[0]).tolist()
    counts, before, after, mapped, squares = (total[codes] for total in sums)
    before, after, mapped = (total / counts[:, None] for total in (before, after, mapped))
    spread = squares - counts * ((after - mapped) ** 2).sum(axis=1)
    scatter = np.where(counts > 1, np.maximum(spread, 0) / np.maximum(counts - 1, 1), np.inf)
    return ClassMeans([names[c] for c in codes], counts, before, after, mapped, scatter)


def find_moved_classes(
    means: ClassMeans, radii: tuple[float, float]
) -> tuple[Finding, tuple[MovedClass, ...]]:
    """Return the finding about classes that moved differently from the rest, and the shift of every
    class. With fewer than two classes, the finding is not assessed and the shifts are ().

    ``radii``: of the versions before and after. A class moved if the distance between the mean and
    the mapped mean exceeds two limits: the distance explained by the scatter of the class, at 99 %
    for all classes together, and ``MIN_DISTANCE_RATIO`` times the typical distance. Among 378
    simulated pairs of versions without moved classes, a single pair named a class. The classes
    whose distance to the nearest class changed most come first.
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
    fallback = f"none significant; the farthest is {farthest_phrase}"
    return Finding(
        "moved_classes", bool(far_classes), float(distance[index]), *bounds, class_list or fallback
    )


def class_mean_shifts(
    x: np.ndarray, y: np.ndarray, classes: tuple[np.ndarray, np.ndarray], names: Sequence[Hashable]
) -> tuple[MovedClass, ...]:
    """Return the shift of the mean of each class between two batches of different samples, the
    largest first.

    ``classes``: the class numbers of the rows of x and of y. ``names``: the label of each class
    number. Only classes with rows in the two batches count; the value is () for fewer than two
    classes. ``samples`` counts rows of the current batch, and ``unexplained`` repeats ``moved``.
    """
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
    """Return the map from x to y, (n, d) each, that fits most classes, by iterative reweighting.
    ``classes``: of the samples, (n,). ``name``: the kind of the map, such as "rotation".
    ``factor``: the factor of scale of the map.

    The weight of a sample is inverse to the distance between the mean and the mapped mean of the
    class, so moved classes do not distort the map.
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
    """Return, for every class, the label of the class with the nearest mean, and the distance of
    the two means divided by ``unit``. ``means``: (classes, d)."""
    points = means - means.mean(axis=0)
    neighbors = np.empty(len(points), dtype=np.int64)
    for (start, stop), block in zip(row_blocks(len(points)), squared_distance_blocks(points)):
        block[np.arange(stop - start), np.arange(start, stop)] = np.inf
        neighbors[start:stop] = block.argmin(axis=1)
    distances = euclidean_norm(means - means[neighbors], axis=1) / unit
    return [labels[i] for i in neighbors.tolist()], distances.tolist()
