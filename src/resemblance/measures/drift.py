"""Drift: what is watched between two versions of a model, besides the measures of the other
families.

The drift of a representational dissimilarity matrix (RDM drift) is no measure of its own: it is 1
minus ``rsa[rdm=cosine]``, as :func:`resemblance.drift` reports it.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array, at_most_one, inner
from ..measure import measure
from ..representation import Representation, Undefined
from ..views.distributions import pooled_distances, sorted_projections, spectra
from ..views.pairs import principal_overlap
from ..views.spectra import components_for, decomposition, with_tied
from .chance import of_components, of_leading_grams

RIGID = {"orthogonal", "translation", "isotropic_scaling"}


@measure(
    label="MMD",
    family="statistic",
    larger_is_more_similar=False,
    range=(0, 2**0.5),
    symmetric=True,
    reference="gretton2012kernel",
    differentiable=False,
    limits={"bandwidth": (1e-3, 1e3)},
)
def mmd(x: Representation, y: Representation, *, bandwidth: float = 1.0) -> float:
    r"""Maximum mean discrepancy: how far the clouds of samples are apart as distributions, seen by
    a Gaussian kernel.

    .. math:: \sqrt{\max(0, M)}, \qquad M = \frac{1}{n(n-1)} \sum_{i \neq j} \left( k(x_i, x_j) +
    k(y_i, y_j) \right)
        - \frac{2}{n^2} \sum_{i,j} k(x_i, y_j)

    with k(a, b) = exp(-‖a - b‖²/(2 σ²)), σ = ``bandwidth`` times the median distance between all 2n
    samples. M is the unbiased estimate of the squared discrepancy; it can be negative, and is then
    reported as 0.

    X is (n, d), Y is (n, e); the narrower one is padded with zero columns. Which sample of Y
    belongs to which of X does not matter. Nothing is centred: rotating or moving one side is a
    change. Not a metric, because σ follows the pair and small discrepancies are cut off. O(n^2 d)
    time, one matrix of 2n x 2n. Raises ``Undefined`` when more than half of the samples coincide.

    Reference: Gretton et al. 2012, Eq. 3. The code of Raju 2026 has exp(-‖a - b‖²/median²), which
    is ``bandwidth=0.5**0.5``.
    """
    n, distances = x.shape[0], pooled_distances(x, y)
    sigma = bandwidth * float(np.median(distances[np.triu_indices(2 * n, 1)]))
    if sigma == 0:
        raise Undefined(
            "mmd: the median distance between samples is zero, so the kernel has no width"
        )
    kernel = np.exp((distances / sigma) ** 2 / -2)
    within = kernel[:n, :n].sum() + kernel[n:, n:].sum() - 2 * n  # without each sample to itself
    return float(np.sqrt(np.maximum(0.0, within / (n * (n - 1)) - 2 * kernel[:n, n:].mean())))


@measure(
    label="SlicedW",
    family="statistic",
    larger_is_more_similar=False,
    range=(0, np.inf),
    symmetric=True,
    reference="bonneel2015sliced",
    limits={"projections": (1, 100_000)},
)
def sliced_wasserstein(
    x: Representation, y: Representation, *, projections: int = 100, seed: int = 0
) -> Array:
    r"""Sliced Wasserstein distance: how far samples have to be carried, on average over random
    directions.

    .. math:: \frac{1}{P n} \sum_{p=1}^{P} \sum_{i=1}^{n}
        \left| (X \theta_p)_{(i)} - (Y \theta_p)_{(i)} \right|

    where :math:`\theta_p` are ``projections`` random unit vectors drawn from ``seed``, and (i) is
    the i-th smallest value. In one dimension it is the Wasserstein distance.

    X is (n, d), Y is (n, e); the narrower one is padded with zero columns. Which sample of Y
    belongs to which of X does not matter. In the units of the activations, and smaller in more
    dimensions: a shift by v moves the projections by about ‖v‖ (2/(πd))^½. A metric between
    representations of one width only, because the directions follow the wider one. O(P n (d + log
    n)) time. Defined for all finite data.

    Reference: Bonneel et al. 2015 with exponent 1, as in the code of Raju 2026, which draws with
    NumPy's ``default_rng``.
    """
    width = max(x.shape[1], y.shape[1])
    a, b = (sorted_projections(r, width=width, projections=projections, seed=seed) for r in (x, y))
    return x.xp.mean(x.xp.abs(a - b))


@measure(
    label="SubspaceOv",
    family="cca",
    version=2,
    larger_is_more_similar=True,
    range=(0, 1),
    symmetric=True,
    reference="raju2026geometric",
    invariant_to=RIGID,
    limits={"k": (1, np.inf)},
    uninformative=of_components,
)
def subspace_overlap(x: Representation, y: Representation, *, k: int = 5) -> Array:
    r"""Subspace overlap: how much the k leading principal components of the samples span the same
    space.

    .. math:: \frac{1}{\max(k_X, k_Y)} \left\lVert U_{X,1:k_X}^\top U_{Y,1:k_Y} \right\rVert_F^2,
    \qquad
        k_X \ge \min(k, \operatorname{rank} X)

    with :math:`U` the left singular vectors of the centred representation, in sample space. X is
    (n, d), Y is (n, e), of any widths. :math:`k_X` is ``k``, or more where the k-th singular value
    and those after it are equal but for rounding: all tied with the last are taken, since their
    order is arbitrary. For independent representations it is about k/n. From k >= rank on, the
    whole column spaces are compared, and no invertible linear map changes anything. Raises
    ``Undefined`` for a constant representation.

    Reference: Raju 2026, Section 10. Its code takes as many components of both sides as the
    narrower one has; here all k of the wider side count, so that lost dimensions lower the value.
    """
    leading = principal_overlap(x, y)[: with_tied(x, count=k), : with_tied(y, count=k)]
    return at_most_one(inner(leading, leading) / max(leading.shape))


@measure(
    label="EigenSim",
    family="statistic",
    version=2,
    larger_is_more_similar=True,
    range=(0, 1),
    symmetric=True,
    reference="raju2026geometric",
    invariant_to=RIGID,
)
def eigenspectrum_similarity(x: Representation, y: Representation) -> Array:
    r"""Eigenspectrum similarity: the cosine of the lists of singular values, largest first.

    .. math:: \frac{\sum_i s_i t_i}{\sqrt{\sum_i s_i^2 \sum_i t_i^2}}, \qquad
        s, t = \text{singular values of the centred } X, Y

    X is (n, d), Y is (n, e); the shorter list is filled up with zeros. It says whether variance is
    spread over as many directions, not whether over the same ones, and is never far from 1: 0.7 is
    a large difference. Raises ``Undefined`` for a constant representation.

    Reference: Raju 2026, Section 10. Of the singular values, not of their squares, the eigenvalues,
    as its code has it.
    """
    s, t = spectra(x, y)
    return at_most_one(inner(s, t))


@measure(
    label="PWCKA",
    family="similarity_matrix",
    version=2,
    larger_is_more_similar=True,
    range=(0, 1),
    symmetric=True,
    reference="raju2026geometric",
    invariant_to=RIGID,
    limits={"explained_variance": (0, 1)},
    uninformative=of_leading_grams,
)
def pwcka(x: Representation, y: Representation, *, explained_variance: float = 0.99) -> Array:
    r"""Principal-component CKA: linear CKA of the leading principal components.

    .. math:: \frac{\lVert S_X U_X^\top U_Y S_Y \rVert_F^2}{\lVert S_X^2 \rVert_F \, \lVert S_Y^2
    \rVert_F}

    where :math:`U_X S_X` are the scores of the k leading components of X, likewise for Y, and k is
    the smallest number of components that hold at least ``explained_variance`` of the variance of
    X, or of Y if these are fewer; on each side, components tied with the k-th are taken, too. X is
    (n, d), Y is (n, e). With all components it is ``cka``. Raises ``Undefined`` for a constant
    representation.

    Reference: Raju 2026, who calls it PWCKA. Despite the name, and the citation of PWCCA, nothing
    in its code is projection weighted: components weigh by their variance, as in CKA, and the rest
    is cut off.
    """
    k = min(components_for(r, explained_variance=explained_variance) for r in (x, y))
    k, l = with_tied(x, count=k), with_tied(y, count=k)
    s, t = decomposition(x).singular[:k], decomposition(y).singular[:l]
    scores = s[:, None] * principal_overlap(x, y)[:k, :l] * t[None, :]
    return at_most_one(inner(scores, scores) / (inner(s**2, s**2) * inner(t**2, t**2)) ** 0.5)
