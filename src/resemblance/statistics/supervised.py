"""Statistics of a representation and labels: is the separation of the classes reliable?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from ..base.exceptions import UndefinedError
from ..base.rng import generator
from ..contracts._statistic import statistic
from ..contracts.claims import COLUMN_INVARIANCES, COSINE_INVARIANCES, SHAPE_INVARIANCES
from ..data.representation import Representation
from ..intermediates.digits import resolution
from .rdm import (
    RANK_TIE_ROUNDING,
    RdmCorrelation,
    RdmKind,
    center_and_scale_rows,
    condensed_dissimilarities,
    double_precision_rows,
    mean_rdm_agreement,
    rdm_correlation,
    rdm_invariance_claims,
)


def class_members(
    labels: np.ndarray, caller: str, fewest: int = 2, classes: int = 2
) -> list[np.ndarray]:
    """Return the row numbers of every class, in the order of the class numbers. ``labels``: the
    class number of every sample, from 0.

    Raises ``ValueError``, naming ``caller``, for fewer than ``classes`` classes, or for a class
    with fewer than ``fewest`` samples.
    """
    groups = [np.flatnonzero(labels == c) for c in range(int(labels.max()) + 1)]
    if len(groups) < classes:
        raise ValueError(
            f"{caller} needs at least {classes} classes; the labels have {len(groups)}"
        )
    smallest = min(map(len, groups))
    if smallest < fewest:
        requirement = f"needs at least {fewest} samples of every class; one has {smallest}"
        raise ValueError(f"{caller} {requirement}: leave out or merge such classes")
    return groups


def class_mean_rows(points: np.ndarray, groups: list[np.ndarray]) -> np.ndarray:
    """Return the mean row of every class, shape (classes, d), of ``points`` (n, d). ``groups``: the
    row numbers of every class."""
    return np.stack([points[rows_].mean(axis=0) for rows_ in groups])


@statistic(
    label="Label-conditioned split", family="supervised", citation="raju2026geometric",
    larger_is_more_stable=True, range=(-1, 1), invariant_to=COSINE_INVARIANCES, min_samples=6,
    limits={"k": (1, 10_000)}, claims_for=rdm_invariance_claims,
)  # fmt: skip
def label_conditioned_split(
    x: Representation,
    labels: np.ndarray,
    *,
    k: int = 30,
    rdm: RdmKind = "cosine",
    compare: RdmCorrelation = "spearman",
    seed: int = 0,
) -> float:
    r"""Label-conditioned split stability: do halves of every class arrange the classes alike?

    .. math:: \frac{1}{K} \sum_{s=1}^{K} \rho\bigl(\operatorname{RDM}(M(A_s)),
        \operatorname{RDM}(M(B_s))\bigr)

    M(A) is the (C, d) matrix of class means over the samples in A; :math:`A_s` and :math:`B_s` are
    disjoint, and each contains half of every class, ⌊n_c / 2⌋ samples. X is (n, d), labels are
    (n,). The value is in [-1, 1]. Cosines are computed between class means that are not centred: a
    large common offset makes all cosines nearly equal.

    Raises ``ValueError`` for fewer than 3 classes (two classes have a single dissimilarity, and a
    correlation needs several) or a class of one sample, and ``UndefinedError`` when all class means
    are equally far apart.

    Reference: Raju 2026, Section 2; no code of the author computes this statistic. The author's
    scripts use its name for :func:`supervised_alignment`.
    """
    points = double_precision_rows(x)
    groups = class_members(labels, "label_conditioned_split", classes=3)
    parts = _half_class_means(points, groups, k, seed)
    return mean_rdm_agreement(parts, rdm, compare, resolution(x))


def _half_class_means(
    points: np.ndarray, groups: list[np.ndarray], k: int, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for split in range(k):
        draw = generator(seed, "label_conditioned_split", split)
        orders = [draw.permutation(group) for group in groups]
        first = [order[: len(order) // 2] for order in orders]
        second = [order[len(order) // 2 : 2 * (len(order) // 2)] for order in orders]
        yield class_mean_rows(points, first), class_mean_rows(points, second)


@statistic(
    label="Supervised alignment", family="supervised", citation="raju2026geometric", version=2,
    larger_is_more_stable=True, range=(-1, 1), invariant_to=COLUMN_INVARIANCES, min_samples=3,
    limits={"max_samples": (3, np.inf)},
    claims_for=lambda rdm: {} if rdm == "correlation" else {"invariant_to": SHAPE_INVARIANCES},
)  # fmt: skip
def supervised_alignment(
    x: Representation,
    labels: np.ndarray,
    *,
    rdm: RdmKind = "correlation",
    compare: RdmCorrelation = "spearman",
    max_samples: int = 300,
    seed: int = 0,
) -> float:
    r"""Supervised alignment: are samples further apart across classes than within one?

    .. math:: \rho\bigl(\operatorname{RDM}(X - \bar{x}),\; [y_i \ne y_j]_{i < j}\bigr)

    The value is the rank correlation between the dissimilarities of the centred points and a vector
    with 1 for pairs of different classes and 0 for pairs of the same class. X is (n, d), labels are
    (n,). Of more than ``max_samples`` samples, a random subset of ``max_samples`` is used, with
    every class in proportion and at least one sample of every class. The value is in [-1, 1]; ties
    of the labels keep Spearman's correlation below 1.

    Raises ``ValueError`` for one class only or more classes than ``max_samples``, and
    ``UndefinedError`` when all dissimilarities are equal.

    Reference: Raju 2026, and shesha-geometry 0.3.0, which also centres before subsampling, but
    subsamples without regard to the classes. The author's transfer script leaves out the centring,
    uses cosines, and averages over random halves.
    """
    groups = class_members(labels, "supervised_alignment", fewest=1)
    points = double_precision_rows(x) - double_precision_rows(x).mean(axis=0)
    subset = _stratified_subset(groups, max_samples, seed)
    first, second = np.triu_indices(len(subset), 1)
    differs = labels[subset][first] != labels[subset][second]
    vector = condensed_dissimilarities(points[subset], rdm, resolution(x))
    return rdm_correlation(vector, differs.astype(float), compare)


def _stratified_subset(groups: list[np.ndarray], count: int, seed: int) -> np.ndarray:
    """Return the sorted row numbers of ``count`` random samples, or of all samples if there are
    fewer. ``groups``: the row numbers of every class.

    Every class has samples in proportion to its size, at least one. Proportions are rounded by
    largest remainders. Raises ``ValueError`` for more classes than ``count``.
    """
    sizes = np.array([len(group) for group in groups])
    if sizes.sum() <= count:
        return np.sort(np.concatenate(groups))
    if len(groups) > count:
        raise ValueError(
            f"supervised_alignment: max_samples={count} is less than one of each of {len(groups)} "
            "classes"
        )
    draw, share = generator(seed, "supervised_alignment", "samples"), sizes - 1
    share = share * ((count - len(groups)) / share.sum())
    quota = 1 + share.astype(int)
    largest = np.argsort(-(share - share.astype(int)), kind="stable")[: count - int(quota.sum())]
    quota[largest] += 1
    return np.sort(
        np.concatenate([draw.choice(group, q, replace=False) for group, q in zip(groups, quota)])
    )


@statistic(
    label="Variance ratio", family="supervised", citation="raju2026geometric",
    larger_is_more_stable=True, range=(0, 1), invariant_to=SHAPE_INVARIANCES, min_samples=4,
)  # fmt: skip
def variance_ratio(x: Representation, labels: np.ndarray) -> float:
    r"""Variance ratio: the share of the variance that lies between the classes.

    .. math:: \frac{\sum_c n_c \lVert \mu_c - \mu \rVert^2}{\sum_i \lVert x_i - \mu \rVert^2}

    X is (n, d), labels are (n,). The value is in [0, 1]: 1 when classes are points. For random
    labels the mean value is (C - 1) / (n - 1), not 0.

    Raises ``ValueError`` for one class only or a class of one sample, and ``UndefinedError`` for a
    constant representation.

    Reference: Raju 2026. The author's codes add 1e-12 or 1e-8 to the denominator.
    """
    points, groups = double_precision_rows(x), class_members(labels, "variance_ratio")
    between, total = _class_scatter(points, groups)
    return min(between / total, 1.0)


def _class_scatter(points: np.ndarray, groups: list[np.ndarray]) -> tuple[float, float]:
    """Return the sums of squares of the points around the mean between classes and in total, of
    points scaled to a largest entry of 1. ``groups``: the row numbers of every class.

    Raises :class:`UndefinedError` if all rows are equal.
    """
    points = center_and_scale_rows(points)
    total = float((points**2).sum())
    if total == 0:
        raise UndefinedError(
            "the representation is constant (all its rows are equal): nothing separates its classes"
        )
    sizes = np.array([len(group) for group in groups])
    return float(sizes @ (class_mean_rows(points, groups) ** 2).sum(axis=1)), total


@statistic(
    label="Class separation", family="supervised", citation="raju2026geometric",
    larger_is_more_stable=True, range=(0, np.inf), invariant_to=SHAPE_INVARIANCES, min_samples=4,
    limits={"k": (1, 10_000), "fraction": (0.01, 1)}, claims_for=rdm_invariance_claims,
)  # fmt: skip
def class_separation(
    x: Representation,
    labels: np.ndarray,
    *,
    k: int = 50,
    fraction: float = 0.5,
    rdm: Literal["euclidean", "cosine"] = "euclidean",
    seed: int = 0,
) -> float:
    r"""Class separation: how much further apart are samples across classes than within one?

    .. math:: \frac{1}{K} \sum_{s=1}^{K}
        \frac{\operatorname{mean}\{D_{ij} : y_i \ne y_j,\; i, j \in S_s\}}
        {\operatorname{mean}\{D_{ij} : y_i = y_j,\; i < j \in S_s\}}

    over K = ``k`` random subsets :math:`S_s`. A subset contains the share ``fraction`` of the
    samples of every class, drawn without replacement, and at least two samples per class. X is (n,
    d), labels are (n,). The value is positive: 1 when classes overlap completely.

    Raises ``ValueError`` for one class only or a class of one sample, and ``UndefinedError`` when
    all samples within every class are equal.

    Reference: Raju 2026, and shesha-geometry 0.3.0, where subsets ignore the classes. The author's
    transfer script mixes cosine distances within classes with Euclidean distances between classes,
    and so gives numbers that cannot be compared.
    """
    points, groups = double_precision_rows(x), class_members(labels, "class_separation")
    draws = (_fraction_of_each_class(groups, fraction, seed, split) for split in range(k))
    return float(
        np.mean([_distance_class_separation(points[part], labels[part], rdm) for part in draws])
    )


def _fraction_of_each_class(
    groups: list[np.ndarray], fraction: float, seed: int, split: int
) -> np.ndarray:
    draw = generator(seed, "class_separation", split)
    sizes = [max(2, round(len(group) * fraction)) for group in groups]
    return np.concatenate([draw.choice(g, size, replace=False) for g, size in zip(groups, sizes)])


def _distance_class_separation(points: np.ndarray, labels: np.ndarray, rdm: str) -> float:
    first, second = np.triu_indices(len(points), 1)
    distances, is_same = condensed_dissimilarities(points, rdm), labels[first] == labels[second]
    within = float(distances[is_same].mean())
    if within <= 4 * np.finfo(float).eps * float(distances.max()):
        raise UndefinedError(
            "class_separation: all samples of a class are equal; their distance is 0"
        )
    return float(distances[~is_same].mean()) / within


@statistic(
    label="LDA stability", family="supervised", citation="raju2026geometric",
    larger_is_more_stable=True, range=(0, 1), invariant_to=SHAPE_INVARIANCES, min_samples=4,
    limits={"k": (1, 10_000), "fraction": (0.01, 1), "ridge": (1e-12, 1e6)},
)  # fmt: skip
def lda_stability(
    x: Representation,
    labels: np.ndarray,
    *,
    k: int = 50,
    fraction: float = 0.5,
    ridge: float = 1e-6,
    seed: int = 0,
) -> float:
    r"""LDA stability: does the direction that separates two classes stay when samples are redrawn?

    .. math:: \frac{1}{K} \sum_{s=1}^{K} \lvert \cos(w, w_s) \rvert, \qquad
        w = (S_W + \lambda I)^{-1} (\mu_1 - \mu_0)

    :math:`S_W` is the pooled covariance within the classes, and λ is ``ridge`` times the mean
    variance within the classes; :math:`w_s` is computed from ⌊⌊n · ``fraction``⌋ / 2⌋ samples of
    each class, drawn with replacement. X is (n, d), labels are (n,). The value is in [0, 1]. O(K
    d^3) time.

    Raises ``ValueError`` unless there are two classes of at least two samples, and
    ``UndefinedError`` when the class means coincide or nothing varies within the classes.

    Reference: Raju 2026, and shesha-geometry 0.3.0, where λ is 1e-6 in the units of the data, so
    that the value depends on the scale of the data. The author's scripts use another solver and
    draw without replacement.
    """
    points, groups = double_precision_rows(x), class_members(labels, "lda_stability")
    if len(groups) > 2:
        raise ValueError(
            f"lda_stability needs two classes; the labels have {len(groups)}: choose two classes"
        )
    points = center_and_scale_rows(points)
    reference = _fisher_direction(points, groups, ridge)
    size = max(2, int(len(points) * fraction) // 2)
    draws = (generator(seed, "lda_stability", split) for split in range(k))
    directions = [
        _fisher_direction(points, [draw.choice(g, size) for g in groups], ridge) for draw in draws
    ]
    return float(np.mean([min(abs(reference @ direction), 1.0) for direction in directions]))


def _fisher_direction(points: np.ndarray, groups: list[np.ndarray], ridge: float) -> np.ndarray:
    """Return the unit vector of Fisher's discriminant from the first to the second class, (d,), of
    ``points`` (n, d). ``groups``: the row numbers of the two classes. ``ridge``: in units of the
    mean variance. Raises ``UndefinedError`` if the classes coincide, or nothing varies within the
    classes."""
    zero, one = class_mean_rows(points, groups)
    within = np.concatenate([points[group] - mean for group, mean in zip(groups, (zero, one))])
    covariance = within.T @ within / len(within)
    variance, distance = np.trace(covariance) / len(covariance), np.linalg.norm(one - zero)
    if np.trace(covariance) <= RANK_TIE_ROUNDING**2 or distance <= RANK_TIE_ROUNDING:
        raise UndefinedError(
            "lda_stability: the classes coincide, or nothing varies within them: no direction "
            "separates"
        )
    direction = np.linalg.solve(covariance + ridge * variance * np.eye(len(covariance)), one - zero)
    return direction / np.linalg.norm(direction)
