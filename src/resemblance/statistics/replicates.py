"""Two representations of the same samples that should agree: repeated recordings, passes, seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts._statistic import statistic
from ..contracts.claims import COSINE
from ..data.representation import Representation
from ..intermediates.digits import resolution
from ..intermediates.points import directions
from ..intermediates.rectangles import one_minus
from .rdm import (
    Compare,
    Rdm,
    agreement,
    are_narrow_rows,
    by_rdm,
    centred,
    correlation,
    cosine_distances,
    cosine_matrix,
    rows,
)


@statistic(
    label="Replicate", family="replicates", reference="raju2026geometric",
    larger_is_more_stable=True, range=(-1, 1), invariant_to=COSINE, min_samples=3, changes=by_rdm,
)  # fmt: skip
def replicate(
    x: Representation,
    replicate: Representation,
    *,
    rdm: Rdm = "cosine",
    compare: Compare = "spearman",
) -> float:
    r"""Replicate stability: the agreement of the dissimilarities in two recordings.

    .. math:: \rho\bigl(\operatorname{RDM}(X), \operatorname{RDM}(X')\bigr)

    X is (n, d) and the replicate (n, e), rows of both the same samples in the same order; sample
    ids, where both have them, must be the same (:func:`resemblance.join_samples` makes them so).
    The value is in [-1, 1]. It equals
    :func:`resemblance.rsa` with the same ``rdm`` and ``compare``.

    Raises ``ValueError`` for other samples and ``Undefined`` when all dissimilarities of one of
    them are equal.

    Reference: Raju, shesha-geometry 0.3.0, ``replicate_stability``, which puts it in the place of
    the sample split.
    """
    stored = resolution(x), resolution(replicate)
    return agreement(rows(x), rows(replicate), rdm, compare, stored)


@statistic(
    label="Anchor profile", family="replicates", reference="raju2026geometric",
    larger_is_more_stable=True, range=(-1, 1), invariant_to=COSINE, min_samples=5, changes=by_rdm,
)  # fmt: skip
def anchor_profile(
    x: Representation,
    replicate: Representation,
    *,
    anchors: Any = None,
    rdm: Rdm = "cosine",
    compare: Compare = "spearman",
) -> float:
    r"""Anchor-profile stability: is the order of distances to an anchor the same in a replicate?

    .. math:: \frac{1}{|A|} \sum_{a \in A} \rho\bigl(D_{a, P}, D'_{a, P}\bigr)

    D and D' are the dissimilarities in X (n, d) and in its replicate (n, e). ``anchors`` are row
    numbers, and the probes P all other rows; without them every sample is an anchor and all others
    are its probes. The value is in [-1, 1].

    Raises ``ValueError`` for anchors that are not row numbers or leave fewer than 3 probes, and
    ``Undefined`` when an anchor has the same dissimilarity to all probes.

    Reference: Raju, shesha-geometry 0.3.0, ``anchor_profile_stability``, which puts it in the place
    of the anchor statistic of the paper. There anchors must be named.
    """
    first, second = (_square(rows(r), rdm, resolution(r)) for r in (x, replicate))
    n = len(first)
    probed = np.ones((n, n), dtype=bool)
    anchor_rows = range(n) if anchors is None else _row_numbers(anchors, n)
    if anchors is not None:
        probed[:, list(anchor_rows)] = False
    np.fill_diagonal(probed, False)
    return float(
        np.mean(
            [correlation(first[a, probed[a]], second[a, probed[a]], compare) for a in anchor_rows]
        )
    )


def _row_numbers(anchors: Any, n: int) -> tuple[int, ...]:
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


def _square(points: np.ndarray, kind: str, stored: float) -> np.ndarray:
    """Dissimilarities between all rows, shape (n, n)."""
    if kind == "euclidean":
        from scipy.spatial.distance import cdist

        return cdist(centred(points), centred(points))
    points = directions(points, kind, stored)
    if are_narrow_rows(points):
        return cosine_distances(points, points)
    above = one_minus(cosine_matrix(points))
    return np.triu(above, 1) + np.triu(above, 1).T
