"""Splits of the features: do two halves of them carry the same geometry?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from ..claims import COSINE, SHAPE
from ..representation import Representation
from ..rng import generator
from ..statistic import statistic
from .rdm import Compare, Rdm, by_rdm, centred, mean_agreement, rows, subset

MANY = {"k": (1, 10_000), "max_samples": (4, np.inf)}


@statistic(
    label="Shesha-FS", family="splits", reference="raju2026geometric", larger_is_more_stable=True,
    range=(-1, 1), invariant_to={"isotropic_scaling"}, min_samples=4, min_features=4, limits=MANY,
    changes=lambda rdm: {"invariant_to": SHAPE - {"orthogonal"}} if rdm == "euclidean" else {},
)  # fmt: skip
def feature_split(
    x: Representation,
    *,
    k: int = 30,
    rdm: Rdm = "cosine",
    compare: Compare = "spearman",
    max_samples: int = 1600,
    seed: int = 0,
) -> float:
    r"""Feature-split stability: do two random halves of the features see the same dissimilarities?

    .. math:: \frac{1}{K} \sum_{s=1}^{K} \rho\bigl(\operatorname{RDM}(X_{:, A_s}),
        \operatorname{RDM}(X_{:, B_s})\bigr),
        \qquad A_s \cap B_s = \emptyset, \quad |A_s| = |B_s| = \lfloor d / 2 \rfloor

    The halves are drawn K = ``k`` times; an odd feature is left out, another one in each split.
    ``rdm`` says how samples are compared and ``compare`` how dissimilarities are. X is (n, d); of
    more than ``max_samples`` samples that many are drawn. The value is in [-1, 1], near 0 when
    features share nothing. A row without direction in a half has dissimilarity 1 to all others. O(K
    n^2 (d + log n)) time, some n x n matrices at a time.

    It speaks of the axes as much as of the geometry: a rotation of the features can bring it from 0
    to 1 (independent axes of very different variance), and a shift of all samples changes it under
    cosine. :func:`basis_split` does not depend on the axes. Another order of the features is
    another draw of the halves.

    Raises ``Undefined`` for fewer than 4 samples or features and when all dissimilarities of a half
    are equal.

    Reference: Raju 2026, Section 2 and 7.1 (K = 30, cosine, Spearman, at most 1600 samples). The
    paper claims invariance to rotations, which holds for isotropic data only. The author's scripts
    also use 10 or 50 splits, correlation distance, an extra column in one half, or distance 2 for
    rows without direction; the package shesha-geometry 0.3.0 refuses such rows. Given the same
    halves, values equal those of the package.
    """
    points = np.asfortranarray(rows(x)[subset(x.shape[0], max_samples, seed, "feature_split")])
    draws = (generator(seed, "feature_split", split).permutation(x.shape[1]) for split in range(k))
    return mean_agreement((halves(points, order) for order in draws), rdm, compare)


def halves(points: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of the first and of the second half of an order of the features.

    Columns are copied whole where they are contiguous in memory.
    """
    half = len(order) // 2
    return points.T[order[:half]].T, points.T[order[half : 2 * half]].T


@statistic(
    label="Basis split", family="splits", reference="raju2026geometric", larger_is_more_stable=True,
    range=(-1, 1), invariant_to=COSINE, min_samples=4, min_features=4, limits=MANY, changes=by_rdm,
)  # fmt: skip
def basis_split(
    x: Representation,
    *,
    k: int = 30,
    rdm: Literal["cosine", "euclidean"] = "cosine",
    compare: Compare = "spearman",
    max_samples: int = 1600,
    seed: int = 0,
) -> float:
    r"""Feature-split stability in random orthogonal bases: no rotation of the features changes it.

    .. math:: \frac{1}{K} \sum_{s=1}^{K} \rho\bigl(\operatorname{RDM}(X Q_s^A), \operatorname{RDM}(X
        Q_s^B)\bigr)

    where the columns of :math:`(Q_s^A \; Q_s^B)` are a random orthonormal basis, uniform over all
    of them, of which each half takes ⌊d / 2⌋ vectors. Parameters, shapes, range and errors are
    those of :func:`feature_split`. A high value says that the variance lies in few directions,
    wherever they point; features that share nothing and have equal variances stay near 0.

    The bases turn with the data: X = U S Vᵀ is expanded in F = polar(Uᵀ W), with W (n, d) random,
    instead of Vᵀ, so that X V F is the same, not only the same on average, for every rotation of X.
    W belongs to positions, so another order of the samples is another draw. O(K n d min(n, d)) time
    more than :func:`feature_split`.

    Reference: ours, a companion of Raju 2026, whose feature split is not invariant to rotations as
    claimed in Section 7.1.5 there: on axes of independent features with variances that fall like a
    power law it is 0, and 0.99 after a random rotation. Not defined for correlation distance, which
    singles out the axis of equal features.
    """
    points = rows(x)[subset(x.shape[0], max_samples, seed, "basis_split")]
    everything = np.arange(x.shape[1])
    return mean_agreement(
        (halves(turned, everything) for turned in _in_random_bases(points, k, rdm, seed)),
        rdm,
        compare,
    )


def _in_random_bases(points: np.ndarray, k: int, rdm: str, seed: int) -> Iterator[np.ndarray]:
    """Yield the points in random orthonormal bases that turn with the points (see
    :func:`basis_split`)."""
    points = centred(points) if rdm == "euclidean" else points
    u, s, _ = np.linalg.svd(points, full_matrices=False)
    rank = int(np.sum(s > max(points.shape) * np.finfo(float).eps * s[0]))
    u, s = u[:, :rank], s[:rank]
    for split in range(k):
        drawn = u.T @ generator(seed, "basis_split", split).standard_normal(points.shape)
        left, _, right = np.linalg.svd(drawn, full_matrices=False)
        yield (u * s) @ (left @ right)
