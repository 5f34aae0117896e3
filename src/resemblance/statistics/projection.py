"""Quality of a projection: does a low-dimensional map keep the neighbours?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..base.exceptions import UndefinedError
from ..contracts._statistic import statistic
from ..contracts.claims import SHAPE_INVARIANCES
from ..data.representation import Representation
from ..intermediates.distances import squared_distance_blocks
from .rdm import RANK_TIE_ROUNDING, center_and_scale_rows, double_precision_rows


@statistic(
    label="Trustworthiness", family="projection", citation="venna2001neighborhood",
    larger_is_more_stable=True, range=(0, 1), invariant_to=SHAPE_INVARIANCES,
    limits={"k": (1, np.inf)}, claims_for=lambda k: {"min_samples": 2 * k + 1},
)  # fmt: skip
def trustworthiness(x: Representation, projection: Representation, *, k: int = 5) -> float:
    r"""Trustworthiness: are neighbours in the projection neighbours in the representation?

    .. math:: 1 - \frac{2}{n k (2n - 3k - 1)} \sum_i \sum_{j \in U_k(i)} (r(i, j) - k)

    :math:`U_k(i)` are the k nearest samples of i in the projection that are not among the k nearest
    in the representation, and r(i, j) is the rank of j by Euclidean distance from i in the
    representation. X is (n, d), and the projection is (n, e), such as a t-SNE or UMAP map of X. The
    value is in [0, 1]: 1 if the projection adds no neighbours. A random projection has about 0.5.
    O(n^2 log n) time.

    Equal distances share ranks and places: the value is the mean over all orders of tied samples.

    Raises ``UndefinedError`` for 2 k or fewer samples, and when all samples of a side coincide.

    Reference: Venna and Kaski 2001. scikit-learn breaks ties by position.
    """
    return 1 - _misplaced_neighbor_share(x, projection, k, "trustworthiness")


@statistic(
    label="Continuity", family="projection", citation="venna2001neighborhood",
    larger_is_more_stable=True, range=(0, 1), invariant_to=SHAPE_INVARIANCES,
    limits={"k": (1, np.inf)}, claims_for=lambda k: {"min_samples": 2 * k + 1},
)  # fmt: skip
def continuity(x: Representation, projection: Representation, *, k: int = 5) -> float:
    r"""Continuity: are neighbours in the representation still neighbours in the projection?

    .. math:: 1 - \frac{2}{n k (2n - 3k - 1)} \sum_i \sum_{j \in V_k(i)} (\hat{r}(i, j) - k)

    :math:`V_k(i)` are the k nearest samples of i in the representation that are not among the k
    nearest in the projection, and :math:`\hat{r}(i, j)` is the rank of j by Euclidean distance from
    i in the projection: :func:`trustworthiness` with the two sides exchanged. X is (n, d), and the
    projection is (n, e). The value is in [0, 1]: 1 if the projection tears no neighbours apart.
    O(n^2 log n) time.

    Equal distances share ranks and places: the value is the mean over all orders of tied samples.

    Raises ``UndefinedError`` for 2 k or fewer samples, and when all samples of a side coincide.

    Reference: Venna and Kaski 2001.
    """
    return 1 - _misplaced_neighbor_share(projection, x, k, "continuity")


def _misplaced_neighbor_share(
    reference: Representation, neighbors_of: Representation, k: int, caller: str
) -> float:
    """Return the penalty, from 0 for none to 1, for the ranks beyond k, by distance in
    ``reference``, of the k nearest samples in ``neighbors_of``. ``caller``: the statistic in
    errors."""
    n, penalty = reference.shape[0], 0.0
    sides = (_tied_rank_ranges(side, caller) for side in (reference, neighbors_of))
    for (first, last), (first_place, last_place) in zip(*sides):
        # The mean of max(0, rank - k) over the ranks that a group of tied samples shares.
        size = last - first + 1
        beyond = np.maximum(last - k, 0)
        start = np.maximum(first - k, 1)
        cost = np.where(beyond > 0, (start + beyond) * (beyond - start + 1) / 2, 0) / size
        # The share of the orders in which a sample is among the k nearest.
        chance = np.clip((k - first_place + 1) / (last_place - first_place + 1), 0, 1)
        penalty += float((cost * chance).sum())
    return penalty * 2 / (n * k * (2 * n - 3 * k - 1))


def _tied_rank_ranges(x: Representation, caller: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield, for blocks of samples (rows), the first and the last rank by distance, from 1, that
    every sample (column) can have, (rows, n) each; the sample itself has rank 0. Samples at equal
    distances share the ranks. Raises ``UndefinedError`` if all samples are equal."""
    points = center_and_scale_rows(double_precision_rows(x))
    if not points.any():
        raise UndefinedError(
            f"{caller}: all samples of one side are equal, so no sample is nearest"
        )
    start, rounding = 0, RANK_TIE_ROUNDING * float(np.square(points).sum(axis=1).max())
    for squares in squared_distance_blocks(points):
        rows = np.arange(len(squares))
        squares[rows, start + rows] = -1.0
        start += len(squares)
        order = np.argsort(squares, axis=1, kind="stable")
        values = np.take_along_axis(squares, order, axis=1)
        is_new = np.ones(values.shape, dtype=bool)
        is_new[:, 1:] = np.diff(values, axis=1) > rounding
        places = np.arange(values.shape[1])
        firsts = np.maximum.accumulate(np.where(is_new, places, 0), axis=1)
        ends = np.roll(is_new, -1, axis=1)
        ends[:, -1] = True
        lasts = np.where(ends, places, values.shape[1])
        lasts = np.minimum.accumulate(lasts[:, ::-1], axis=1)[:, ::-1]
        ranges = np.empty((2, *values.shape), dtype=np.int64)
        np.put_along_axis(ranges[0], order, firsts, axis=1)
        np.put_along_axis(ranges[1], order, lasts, axis=1)
        yield ranges[0], ranges[1]
