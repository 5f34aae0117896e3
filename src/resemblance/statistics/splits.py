"""Splits of the features: do two halves of the features carry the same geometry? Also two published
splits of the samples, withdrawn by the author."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from ..base.rng import generator
from ..contracts._statistic import statistic
from ..contracts.claims import COSINE_INVARIANCES, SHAPE_INVARIANCES
from ..data.representation import Representation
from ..intermediates.digits import resolution
from ..intermediates.points import unit_rows_of_array
from .rdm import (
    RdmCorrelation,
    RdmKind,
    center_and_scale_rows,
    cosine_distances,
    double_precision_rows,
    mean_rdm_agreement,
    random_row_numbers,
    rdm_correlation,
    rdm_invariance_claims,
    tie_tolerant_ranks,
)

SPLIT_PARAMETER_RANGES = {"k": (1, 10_000), "max_samples": (4, np.inf)}


@statistic(
    label="Shesha-FS",
    family="splits",
    citation="raju2026geometric",
    larger_is_more_stable=True,
    range=(-1, 1),
    invariant_to={"isotropic_scaling"},
    min_samples=4,
    min_features=4,
    limits=SPLIT_PARAMETER_RANGES,
    claims_for=lambda rdm: (
        {"invariant_to": SHAPE_INVARIANCES - {"orthogonal"}} if rdm == "euclidean" else {}
    ),
)
def feature_split(
    x: Representation,
    *,
    k: int = 30,
    rdm: RdmKind = "cosine",
    compare: RdmCorrelation = "spearman",
    max_samples: int = 1600,
    seed: int = 0,
) -> float:
    r"""Feature-split stability: do two random halves of the features see the same dissimilarities?

    .. math:: \frac{1}{K} \sum_{s=1}^{K} \rho\bigl(\operatorname{RDM}(X_{:, A_s}),
        \operatorname{RDM}(X_{:, B_s})\bigr),
        \qquad A_s \cap B_s = \emptyset, \quad |A_s| = |B_s| = \lfloor d / 2 \rfloor

    The features are split into random halves K = ``k`` times; if d is odd, every split leaves out a
    random feature. ``rdm`` is the dissimilarity between samples, and ``compare`` the correlation
    between dissimilarities. X is (n, d); of more than ``max_samples`` samples, a random subset of
    ``max_samples`` is used. The value is in [-1, 1], near 0 when features share nothing. A row
    without direction in a half has dissimilarity 1 to all other rows. O(K n^2 (d + log n)) time and
    memory for several n x n matrices.

    The value depends on the axes as much as on the geometry: a rotation of the features can raise
    the value from 0 to 1 (independent axes of very different variance), and a shift of all samples
    changes the value under cosine. :func:`basis_split` does not depend on the axes. Permuting the
    features changes the random halves.

    Raises ``UndefinedError`` for fewer than 4 samples or features and when all dissimilarities of a
    half are equal.

    Reference: Raju 2026, Section 2 and 7.1 (K = 30, cosine, Spearman, at most 1600 samples). The
    paper claims invariance to rotations, which holds for isotropic data only. The author's scripts
    also use 10 or 50 splits, correlation distance, an extra column in one half, or distance 2 for
    rows without direction; the package shesha-geometry 0.3.0 refuses rows without direction. Given
    the same halves, values equal the values of the package.
    """
    points = np.asfortranarray(
        double_precision_rows(x)[random_row_numbers(x.shape[0], max_samples, seed, "feature_split")]
    )
    draws = (generator(seed, "feature_split", split).permutation(x.shape[1]) for split in range(k))
    parts = (feature_halves(points, order) for order in draws)
    return mean_rdm_agreement(parts, rdm, compare, resolution(x))


def feature_halves(points: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of ``points`` at the first half and at the second half of the positions
    in ``order``; an odd last position is left out."""
    half = len(order) // 2
    return points.T[order[:half]].T, points.T[order[half : 2 * half]].T


@statistic(
    label="Basis split",
    family="splits",
    citation="raju2026geometric",
    larger_is_more_stable=True,
    range=(-1, 1),
    invariant_to=COSINE_INVARIANCES,
    min_samples=4,
    min_features=4,
    limits=SPLIT_PARAMETER_RANGES,
    claims_for=rdm_invariance_claims,
)
def basis_split(
    x: Representation,
    *,
    k: int = 30,
    rdm: Literal["cosine", "euclidean"] = "cosine",
    compare: RdmCorrelation = "spearman",
    max_samples: int = 1600,
    seed: int = 0,
) -> float:
    r"""Feature-split stability in random orthogonal bases: no rotation of the features changes it.

    .. math:: \frac{1}{K} \sum_{s=1}^{K} \rho\bigl(\operatorname{RDM}(X Q_s^A), \operatorname{RDM}(X
        Q_s^B)\bigr)

    where the columns of :math:`(Q_s^A \; Q_s^B)` are a uniformly random orthonormal basis, and each
    half contains ⌊d / 2⌋ vectors of the basis. Parameters, shapes, range and errors are the same as
    for :func:`feature_split`. A high value means that the variance lies in few directions, wherever
    the directions point; features that share nothing and have equal variances stay near 0.

    The bases rotate with the data: X = U S Vᵀ is expanded in F = polar(Uᵀ W), with W (n, d) random,
    instead of Vᵀ. So X V F is the same for every rotation of X, not only the same on average. W
    depends on the positions of the samples, so permuting the samples changes the random bases.
    Takes O(K n d min(n, d)) time more than :func:`feature_split`.

    Reference: ours, a companion of Raju 2026, whose feature split is not invariant to rotations as
    claimed in Section 7.1.5 there: on axes of independent features with variances that fall like a
    power law, the feature split is 0, and 0.99 after a random rotation. Not defined for correlation
    distance, which singles out the axis of equal features.
    """
    points = double_precision_rows(x)[
        random_row_numbers(x.shape[0], max_samples, seed, "basis_split")
    ]
    columns = np.arange(x.shape[1])
    return mean_rdm_agreement(
        (
            feature_halves(rotated_points, columns)
            for rotated_points in _points_in_random_bases(points, k, rdm, seed)
        ),
        rdm,
        compare,
        resolution(x),
    )


def _points_in_random_bases(
    points: np.ndarray, k: int, rdm: str, seed: int
) -> Iterator[np.ndarray]:
    """Yield the points, (n, d), in k random orthonormal bases, drawn so that a rotation of the
    points rotates the bases too (see :func:`basis_split`). Euclidean points are centred first."""
    points = center_and_scale_rows(points) if rdm == "euclidean" else points
    u, s, _ = np.linalg.svd(points, full_matrices=False)
    rank = int(np.sum(s > max(points.shape) * np.finfo(float).eps * s[0]))
    u, s = u[:, :rank], s[:rank]
    for split in range(k):
        noise = u.T @ generator(seed, "basis_split", split).standard_normal(points.shape)
        left, _, right = np.linalg.svd(noise, full_matrices=False)
        yield (u * s) @ (left @ right)


# ------------------------------------------------------------------------ withdrawn by their author
# These statistics correlate entries of different pairs. They exist to check published values.


@statistic(
    label="Shesha-SS",
    family="splits",
    citation="raju2026geometric",
    larger_is_more_stable=None,
    range=(-1, 1),
    invariant_to=COSINE_INVARIANCES,
    min_samples=13,
    limits=SPLIT_PARAMETER_RANGES | {"fraction": (0.1, 1), "max_samples": (5, np.inf)},
    claims_for=rdm_invariance_claims,
    caveat="correlates dissimilarities of different pairs of samples, with mean 0 for all data; "
    "use replicate",
)
def sample_split(
    x: Representation,
    *,
    k: int = 30,
    fraction: float = 0.4,
    rdm: RdmKind = "cosine",
    compare: RdmCorrelation = "spearman",
    max_samples: int = 1500,
    seed: int = 0,
) -> float:
    r"""Sample-split stability as published, which is 0 on average for any data: do not use it.

    .. math:: \frac{1}{K} \sum_{s=1}^{K} \rho\bigl(\operatorname{RDM}(X_{I_s}),
        \operatorname{RDM}(X_{J_s})\bigr)

    :math:`I_s, J_s` are independent random subsets of ⌊n · ``fraction``⌋ samples. Entry (1, 2) of
    the first matrix belongs to two samples, and is correlated with entry (1, 2) of the second
    matrix, which belongs to two *other* samples. So the value is noise around 0, for a perfectly
    redundant representation as for pure noise. The statistic exists to check published values;
    :func:`resemblance.statistics.replicate` and :func:`label_conditioned_split` compare
    corresponding entries.

    X is (n, d), the value in [-1, 1]. Raises ``UndefinedError`` when all dissimilarities of a
    subset are equal.

    Reference: Raju 2026; withdrawn by its author in shesha-geometry 0.3.0. The paper's text asks
    for disjoint subsets and for pairs of samples that lie in the two subsets at once, and no such
    pairs exist; this function follows the paper's code.
    """
    points = double_precision_rows(x)[
        random_row_numbers(x.shape[0], max_samples, seed, "sample_split")
    ]
    size = max(int(len(points) * fraction), 5)

    def pair(split: int) -> tuple[np.ndarray, np.ndarray]:
        draw = generator(seed, "sample_split", split)
        first, second = (points[draw.choice(len(points), size, replace=False)] for _ in range(2))
        return first, second

    return mean_rdm_agreement(map(pair, range(k)), rdm, compare, resolution(x))


@statistic(
    label="Shesha-Anchor",
    family="splits",
    citation="raju2026geometric",
    version=2,
    larger_is_more_stable=None,
    range=(-1, 1),
    invariant_to=COSINE_INVARIANCES,
    min_samples=50,
    limits=SPLIT_PARAMETER_RANGES
    | {"anchors": (2, np.inf), "probes": (3, np.inf), "max_samples": (50, np.inf)},
    caveat="correlates distances to different probes, with mean 0 for all data; use anchor_profile",
)
def anchor(
    x: Representation,
    *,
    k: int = 30,
    anchors: int = 100,
    probes: int = 200,
    max_samples: int = 1500,
    seed: int = 0,
) -> float:
    r"""Anchor stability as published, which is 0 on average for any data: do not use it.

    .. math:: \frac{1}{K} \sum_{s=1}^{K} \rho\bigl(R(D(A, P_s)), R(D(A, Q_s))\bigr)

    D contains cosine distances between anchors A and probes, R ranks each row, and :math:`P_s, Q_s`
    are disjoint random sets of probes. Column 1 of the first matrix and column 1 of the second
    matrix are different probes, so the correlation is 0 on average. The statistic exists to check
    published values; :func:`resemblance.statistics.anchor_profile` compares distances to the same
    probes.

    With fewer than ``anchors`` + 2 ``probes`` samples, the numbers of anchors and probes shrink in
    proportion, so that 0.9 of the samples are used, but to no fewer than 10 and 20 unless fewer are
    requested. X is (n, d) with n >= 50, the value in [-1, 1].

    Reference: Raju 2026; withdrawn by its author in shesha-geometry 0.3.0. Without the ranks,
    Euclidean distances give 0.2 to 0.3 on pure noise: anchors far from the middle are far from all
    probes.
    """
    points = unit_rows_of_array(
        double_precision_rows(x)[random_row_numbers(x.shape[0], max_samples, seed, "anchor")]
    )
    n = len(points)
    if n < anchors + 2 * probes:
        shrink = 0.9 * n / (anchors + 2 * probes)
        anchors = max(min(10, anchors), int(anchors * shrink))
        probes = min(max(min(20, probes), int(probes * shrink)), (n - anchors) // 2)
    order = generator(seed, "anchor", "anchors").permutation(n)
    anchor_rows, other_rows = points[order[:anchors]], order[anchors:]
    return float(
        np.mean(
            [
                _anchor_split(points, anchor_rows, other_rows, probes, seed, split)
                for split in range(k)
            ]
        )
    )


def _anchor_split(
    points: np.ndarray,
    anchor_points: np.ndarray,
    other_rows: np.ndarray,
    probes: int,
    seed: int,
    split: int,
) -> float:
    order = generator(seed, "anchor", split).permutation(other_rows)
    sides = (
        cosine_distances(anchor_points, points[order[start : start + probes]])
        for start in (0, probes)
    )
    first, second = (np.concatenate([tie_tolerant_ranks(row) for row in side]) for side in sides)
    return rdm_correlation(first, second, "pearson")
