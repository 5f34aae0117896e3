"""Two representations of the same samples that should agree: repeated recordings, passes, seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts._statistic import statistic
from ..contracts.claims import COSINE_INVARIANCES
from ..data.representation import Representation
from ..intermediates.digits import resolution
from ..intermediates.points import normalize_rows
from ..intermediates.rectangles import cosine_to_dissimilarity
from .rdm import (
    RdmCorrelation,
    RdmKind,
    center_and_scale_rows,
    cosine_distances,
    cosine_matrix,
    double_precision_rows,
    rdm_agreement,
    rdm_correlation,
    rdm_invariance_claims,
    row_cosines_lose_digits,
)


@statistic(
    label="Replicate",
    family="replicates",
    citation="raju2026geometric",
    larger_is_more_stable=True,
    range=(-1, 1),
    invariant_to=COSINE_INVARIANCES,
    min_samples=3,
    claims_for=rdm_invariance_claims,
)
def replicate(
    x: Representation,
    replicate: Representation,
    *,
    rdm: RdmKind = "cosine",
    compare: RdmCorrelation = "spearman",
) -> float:
    r"""Replicate stability: the agreement of the dissimilarities in two recordings.

    .. math:: \rho\bigl(\operatorname{RDM}(X), \operatorname{RDM}(X')\bigr)

    X is (n, d) and the replicate (n, e); the rows must be the same samples in the same order. If X
    and the replicate have sample ids, the ids must be equal (:func:`resemblance.join_samples`
    selects and sorts the common samples). The value is in [-1, 1] and equals
    :func:`resemblance.rsa` with the same ``rdm`` and ``compare``.

    Raises ``ValueError`` for different samples and ``UndefinedError`` when all dissimilarities of X
    or of the replicate are equal.

    Reference: Raju, shesha-geometry 0.3.0, ``replicate_stability``, which replaces the sample
    split.
    """
    precisions = resolution(x), resolution(replicate)
    return rdm_agreement(
        double_precision_rows(x), double_precision_rows(replicate), rdm, compare, precisions
    )


@statistic(
    label="Anchor profile",
    family="replicates",
    citation="raju2026geometric",
    larger_is_more_stable=True,
    range=(-1, 1),
    invariant_to=COSINE_INVARIANCES,
    min_samples=5,
    claims_for=rdm_invariance_claims,
)
def anchor_profile(
    x: Representation,
    replicate: Representation,
    *,
    anchors: Any = None,
    rdm: RdmKind = "cosine",
    compare: RdmCorrelation = "spearman",
) -> float:
    r"""Anchor-profile stability: is the order of distances to an anchor the same in a replicate?

    .. math:: \frac{1}{|A|} \sum_{a \in A} \rho\bigl(D_{a, P}, D'_{a, P}\bigr)

    D and D' are the dissimilarities in X (n, d) and in the replicate (n, e). ``anchors`` are row
    numbers, and the probes P are all other rows. Without ``anchors`` every sample is an anchor, and
    all other samples are the probes of the anchor. The value is in [-1, 1].

    Raises ``ValueError`` for anchors that are not row numbers or leave fewer than 3 probes, and
    ``UndefinedError`` when an anchor has the same dissimilarity to all probes.

    Reference: Raju, shesha-geometry 0.3.0, ``anchor_profile_stability``, which replaces the anchor
    statistic of the paper. That package requires anchors to be named.
    """
    first, second = (
        _square_dissimilarities(double_precision_rows(r), rdm, resolution(r))
        for r in (x, replicate)
    )
    n = len(first)
    is_probe = np.ones((n, n), dtype=bool)
    anchor_rows = range(n) if anchors is None else _anchor_row_numbers(anchors, n)
    if anchors is not None:
        is_probe[:, list(anchor_rows)] = False
    np.fill_diagonal(is_probe, False)
    return float(
        np.mean(
            [
                rdm_correlation(first[a, is_probe[a]], second[a, is_probe[a]], compare)
                for a in anchor_rows
            ]
        )
    )


def _anchor_row_numbers(anchors: Any, n: int) -> tuple[int, ...]:
    numbers = anchors if isinstance(anchors, tuple) else ()
    if (
        not numbers
        or len(set(numbers)) < len(numbers)
        or not all(type(a) is int and 0 <= a < n for a in numbers)
    ):
        raise ValueError(
            f"anchor_profile: anchors must be different row numbers from 0 to {n - 1}; got "
            f"{anchors!r}"
        )
    if n - len(numbers) < 3:
        raise ValueError(
            f"anchor_profile: {len(numbers)} anchors leave {n - len(numbers)} probes; 3 are needed"
        )
    return numbers


def _square_dissimilarities(points: np.ndarray, kind: str, precision: float) -> np.ndarray:
    """Return the dissimilarities of ``kind`` between all rows of ``points``, shape (n, n).
    ``precision``: the relative rounding error of the stored numbers."""
    if kind == "euclidean":
        from scipy.spatial.distance import cdist

        return cdist(center_and_scale_rows(points), center_and_scale_rows(points))
    points = normalize_rows(points, kind, precision)
    if row_cosines_lose_digits(points):
        return cosine_distances(points, points)
    dissimilarities = cosine_to_dissimilarity(cosine_matrix(points))
    return np.triu(dissimilarities, 1) + np.triu(dissimilarities, 1).T
