"""Two published splits of the samples, withdrawn by their author.

They correlate entries of different pairs, and are here only so that published values can be
checked.
"""

from __future__ import annotations

import numpy as np

from ..claims import COSINE
from ..representation import Representation
from ..rng import generator
from ..statistic import statistic
from .rdm import (
    Compare,
    Rdm,
    by_rdm,
    correlation,
    mean_agreement,
    one_minus,
    ranks,
    rows,
    subset,
    unit,
)
from .splits import MANY


@statistic(
    label="Shesha-SS", family="splits", reference="raju2026geometric", larger_is_more_stable=None,
    range=(-1, 1), invariant_to=COSINE, min_samples=13,
    limits=MANY | {"fraction": (0.1, 1), "max_samples": (5, np.inf)}, changes=by_rdm,
    caution="correlates dissimilarities of different pairs of samples: 0 on average whatever the "
    "data; use replicate",
)  # fmt: skip
def sample_split(
    x: Representation,
    *,
    k: int = 30,
    fraction: float = 0.4,
    rdm: Rdm = "cosine",
    compare: Compare = "spearman",
    max_samples: int = 1500,
    seed: int = 0,
) -> float:
    r"""Sample-split stability as published, which is 0 on average for any data: do not use it.

    .. math:: \frac{1}{K} \sum_{s=1}^{K} \rho\bigl(\operatorname{RDM}(X_{I_s}),
        \operatorname{RDM}(X_{J_s})\bigr)

    :math:`I_s, J_s` are independent random subsets of ⌊n · ``fraction``⌋ samples, and entry (1, 2)
    of one matrix, about two samples, meets entry (1, 2) of the other, about two *other* samples.
    What it gives is noise around 0, for a perfectly redundant representation as for pure noise. It
    is here so that published values can be checked;
    :func:`resemblance.stability.replicate` and :func:`label_conditioned_split` compare what belongs
    together.

    X is (n, d), the value in [-1, 1]. Raises ``Undefined`` when all dissimilarities of a subset are
    equal.

    Reference: Raju 2026; withdrawn by its author in shesha-geometry 0.3.0. The paper's text wants
    disjoint subsets and pairs of samples in both of them, which do not exist; this is what its code
    does.
    """
    points = rows(x)[subset(x.shape[0], max_samples, seed, "sample_split")]
    size = max(int(len(points) * fraction), 5)

    def pair(split: int) -> tuple[np.ndarray, np.ndarray]:
        draw = generator(seed, "sample_split", split)
        first, second = (points[draw.choice(len(points), size, replace=False)] for _ in range(2))
        return first, second

    return mean_agreement(map(pair, range(k)), rdm, compare)


@statistic(
    label="Shesha-Anchor", family="splits", reference="raju2026geometric", version=2,
    larger_is_more_stable=None, range=(-1, 1), invariant_to=COSINE, min_samples=50,
    limits=MANY | {"anchors": (2, np.inf), "probes": (3, np.inf), "max_samples": (50, np.inf)},
    caution="correlates distances to different probes: 0 on average whatever the data; use "
    "anchor_profile",
)  # fmt: skip
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

    D holds cosine distances between anchors A and probes, R ranks each row, and :math:`P_s, Q_s`
    are disjoint draws of probes. Column 1 of one matrix is another probe than column 1 of the
    other, so their correlation is 0 on average. It is here so that published values can be checked;
    :func:`resemblance.stability.anchor_profile` compares distances to the same probes.

    With fewer than ``anchors`` + 2 ``probes`` samples both numbers shrink in proportion, to 0.9 of
    what there is, but to no fewer than 10 and 20 unless fewer are requested. X is (n, d) with n >=
    50, the value in [-1, 1].

    Reference: Raju 2026; withdrawn by its author in shesha-geometry 0.3.0. Without the ranks,
    Euclidean distances give 0.2 to 0.3 on pure noise: anchors far from the middle are far from all
    probes.
    """
    points = unit(rows(x)[subset(x.shape[0], max_samples, seed, "anchor")])
    n = len(points)
    if n < anchors + 2 * probes:
        shrink = 0.9 * n / (anchors + 2 * probes)
        anchors = max(min(10, anchors), int(anchors * shrink))
        probes = min(max(min(20, probes), int(probes * shrink)), (n - anchors) // 2)
    order = generator(seed, "anchor", "anchors").permutation(n)
    fixed, others = points[order[:anchors]], order[anchors:]
    return float(
        np.mean([_anchor_split(points, fixed, others, probes, seed, split) for split in range(k)])
    )


def _anchor_split(
    points: np.ndarray, fixed: np.ndarray, others: np.ndarray, probes: int, seed: int, split: int
) -> float:
    drawn = generator(seed, "anchor", split).permutation(others)
    sides = (one_minus(fixed @ points[drawn[start : start + probes]].T) for start in (0, probes))
    first, second = (np.concatenate([ranks(row) for row in side]) for side in sides)
    return correlation(first, second, "pearson")
