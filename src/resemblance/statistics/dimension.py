"""Intrinsic dimension: how many coordinates describe the samples near each other?"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..base.arrays import row_blocks
from ..base.exceptions import UndefinedError
from ..contracts._statistic import statistic
from ..contracts.claims import SHAPE_INVARIANCES
from ..data.representation import Representation, representation_title
from ..intermediates.neighbors import neighbors
from .rdm import RANK_TIE_ROUNDING, center_and_scale_rows, double_precision_rows


@statistic(
    label="TwoNN dimension", family="dimension", citation="facco2017estimating",
    larger_is_more_stable=None, range=(0, np.inf), invariant_to=SHAPE_INVARIANCES, min_samples=10,
    limits={"discard": (0, 0.9)},
)  # fmt: skip
def twonn_dimension(x: Representation, *, discard: float = 0.1) -> float:
    r"""TwoNN: intrinsic dimension from the distances to the two nearest neighbours of each sample.

    .. math:: d = \frac{\sum_i \log\mu_i \, \bigl(-\log(1 - F_i)\bigr)}{\sum_i (\log\mu_i)^2},
        \qquad \mu_i = \frac{r_{i,2}}{r_{i,1}}, \quad F_i = \frac{i}{n}

    The sums run over the samples in increasing order of μ, without the largest share ``discard``.
    :math:`r_{i,1}` and :math:`r_{i,2}` are the Euclidean distances from sample i to the nearest and
    to the second nearest sample. The value is the slope of a line through the origin. X is (n, d).
    The value is positive. The estimate assumes a constant density between a sample and the second
    neighbour; noise and curvature change the value with the number of samples, so compare layers at
    the same number of samples.

    Raises ``UndefinedError`` for samples at distance 0 from another sample, and when the two
    neighbours of all samples are equally far.

    Reference: Facco et al. 2017, equation 4 and the steps below the equation. ``discard=0.1`` is
    the share in the paper.
    """
    nearest_two = neighbor_distances(x, 2, "twonn_dimension")
    ratios = np.sort(np.log(nearest_two[:, 1] / nearest_two[:, 0]))
    n = len(ratios)
    ratios = ratios[: min(int(n * (1 - discard)), n - 1)]
    survival = -np.log1p(-np.arange(1, len(ratios) + 1) / n)
    if (squares := float(ratios @ ratios)) <= RANK_TIE_ROUNDING**2 * n:
        raise UndefinedError(
            "twonn_dimension: the two nearest neighbours of every sample are equally far, as for a "
            "grid or for categories"
        )
    return float(ratios @ survival) / squares


@statistic(
    label="MLE dimension", family="dimension", citation="levina2004maximum",
    larger_is_more_stable=None, range=(0, np.inf), invariant_to=SHAPE_INVARIANCES,
    limits={"k": (2, np.inf)}, claims_for=lambda k: {"min_samples": k + 1},
)  # fmt: skip
def mle_dimension(
    x: Representation, *, k: int = 20, mean: Literal["arithmetic", "harmonic"] = "arithmetic"
) -> float:
    r"""Intrinsic dimension by maximum likelihood from the distances to k neighbours.

    .. math:: d = \frac{1}{n} \sum_i d_i, \qquad
        d_i = \Bigl(\frac{1}{k - 1} \sum_{j=1}^{k-1} \log\frac{r_{i,k}}{r_{i,j}}\Bigr)^{-1}

    :math:`r_{i,j}` is the Euclidean distance from sample i to the j-th nearest sample.
    ``mean="harmonic"`` returns :math:`\bigl(\frac{1}{n} \sum_i d_i^{-1}\bigr)^{-1}`, the maximum
    likelihood estimate of one dimension for all samples (MacKay and Ghahramani 2005), which is less
    biased. X is (n, d). The value is positive.

    Raises ``UndefinedError`` for samples at distance 0 from another sample; when the k neighbours
    of a sample (for the harmonic mean: of all samples) are equally far; and for k or fewer samples.

    Reference: Levina and Bickel 2004, equations 8 and 9, for one k; the paper averages over a range
    of k.
    """
    distances = neighbor_distances(x, k, "mle_dimension")
    inverses = np.log(distances[:, -1:] / distances[:, :-1]).mean(axis=1)
    if mean == "arithmetic" and inverses.min() > RANK_TIE_ROUNDING:
        return float((1 / inverses).mean())
    if mean == "harmonic" and inverses.mean() > RANK_TIE_ROUNDING:
        return float(1 / inverses.mean())
    samples = "a sample" if mean == "arithmetic" else "every sample"
    raise UndefinedError(f"mle_dimension: the {k} nearest neighbours of {samples} are equally far")


def neighbor_distances(x: Representation, k: int, caller: str) -> np.ndarray:
    """Return the Euclidean distances from every sample to the k nearest other samples, nearest
    first, divided by the largest magnitude of the centred points, shape (n, k).

    Raises :class:`UndefinedError`, naming ``caller``, if a sample equals another sample up to
    rounding.
    """
    indices = neighbors(x, k=k, metric="euclidean")
    points = center_and_scale_rows(double_precision_rows(x))
    distances = np.empty(indices.shape)
    for start, stop in row_blocks(len(points), max(1, 2**22 // (k * points.shape[1]))):
        differences = points[indices[start:stop]] - points[start:stop, None]
        distances[start:stop] = np.sqrt(np.square(differences).sum(axis=2))
    if copies := int(np.count_nonzero(distances[:, 0] <= RANK_TIE_ROUNDING)):
        raise UndefinedError(
            f"{caller}: {copies} of {len(points)} samples of {representation_title(x)} have a copy "
            "(distance 0); keep one of equal samples, for example with numpy.unique(X, axis=0)"
        )
    return np.sort(distances, axis=1)
