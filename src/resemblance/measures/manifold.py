"""Kernels of manifolds: align what two representations say about the nearest neighbours of every
sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..declared import when
from ..measure import measure
from ..representation import Representation, Undefined
from ..views.manifold import (
    centered_trace,
    double_centered_product,
    expected_product,
    fuzzy_kernel,
    local_rbf_kernel,
    row_centered_product,
)
from ..views.neighbours import Index, Metric
from ..views.recall import recall_of_both
from .neighbours import APPROXIMATE

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SIMILARITIES = {"orthogonal", "isotropic_scaling", "translation"}
Product = Callable[["csr_array", "csr_array"], float]


@measure(
    label="MKA",
    family="similarity_matrix",
    version=2,
    larger_is_more_similar=True,
    range=(-1, 1),
    symmetric=True,
    reference="islam2025manifold",
    invariant_to=SIMILARITIES,
    differentiable=False,
    min_samples=lambda k, **_: k + 1,
    limits={"k": (1, np.inf)},
    changes=(
        when({"metric": "cosine"}, invariant_to={"orthogonal", "isotropic_scaling"}),
        when({"baseline": "permutation"}, range=(-np.inf, 1)),
        APPROXIMATE,
    ),
    remarks=recall_of_both,
)
def mka(
    x: Representation,
    y: Representation,
    *,
    k: int = 100,
    metric: Metric = "euclidean",
    symmetrize: bool = False,
    diagonal: bool = True,
    baseline: Literal["none", "permutation"] = "none",
    index: Index = "exact",
) -> float:
    r"""Manifold-approximated kernel alignment: the cosine between two row-centred kernels of
    nearest neighbours.

    .. math:: \frac{\langle KH, LH \rangle_F}{\lVert KH \rVert_F \lVert LH \rVert_F}, \qquad
        K_{ii} = 1, \quad K_{ij} = \exp \left( -\frac{d_{ij} - \rho_i}{\sigma_i} \right)
        \text{ for } j \in N_k(i), \text{ else } 0

    with :math:`H = I - \tfrac{1}{n} 1 1^\top`, :math:`\rho_i` the distance to the nearest neighbour
    and
    :math:`\sigma_i` such that every row sums to D = 1 + log2 k, to the last digit and at any scale.
    Then the value is (⟨K, L⟩ - D²) / √((⟨K, K⟩ - D²)(⟨L, L⟩ - D²)) (Theorem 4.1), in (0, 1) for D <
    √n. Where at least log2 k neighbours are at the smallest distance (duplicates, categories;
    always for k = 1) no :math:`\sigma_i` exists: these have weight 1, the others 0, and the row is
    centred by its own mean.

    X is (n, d), Y is (n, e), n > k. Neighbours do not include the sample itself. Samples that tie
    for the last places share the weights of these equally, so the sums of the rows stay what they
    are. ``metric``: ``"euclidean"`` or ``"cosine"`` (1 - cos). ``diagonal=False`` leaves out
    :math:`K_{ii}`. ``symmetrize=True`` is Appendix D: K + Kᵀ - K∘Kᵀ, centred on both sides. O(n^2
    d) time once per representation, O(n k) per pair and in memory. Raises ``Undefined`` when k >=
    n, for a constant representation, and when K is constant along its rows.

    Neighbours are exact. ``index="hnsw"`` (extra ``neighbours``) searches them in a navigable graph
    (Malkov and Yashunin 2020, by faiss), which is faster for many samples whose distances differ.
    :func:`compare` then records what share of the neighbours it found, ``neighbour_recall``, of the
    side where it is lower; the function
    :func:`neighbour_recall` gives it for one side. What is missed depends on the order of the
    samples and on rounding, so the claims hold up to that. Raises ``Undefined`` when fewer than k
    are found.

    The shared diagonal alone makes independent representations score about 1/3 (0.33 for Gaussians
    with n = 200, k = 15). ``baseline="permutation"`` returns :math:`(m - m_0) / (1 - m_0)`, where
    :math:`m_0` is the mean over *all* orders of the samples of Y, :math:`\operatorname{tr}(KH)
    \operatorname{tr}(LH) / (n - 1)` over the same norms: 0 on average for independent
    representations, 1 for equal ones.

    Reference: Islam et al. 2025, Eqs. 2-3. Their code has k = 15, single precision, :math:`\sigma`
    of at most 1000, and Theorem 4.1 whether or not the rows have the sum it assumes; k = 100 is
    that of the paper's experiments.
    """
    K, L = (
        fuzzy_kernel(r, k=k, metric=metric, symmetrize=symmetrize, diagonal=diagonal, index=index)
        for r in (x, y)
    )
    product = double_centered_product if symmetrize else row_centered_product
    scale = _scale(product, K, L, "mka")
    value = float(np.clip(product(K, L) / scale, -1, 1))
    if baseline == "none":
        return value
    chance = expected_product(K, L) / scale
    if 1 - chance < 1e-9:
        raise Undefined(
            "mka: any order of the samples has the same similarity, so there is none beyond chance"
        )
    return (value - chance) / (1 - chance)


@measure(
    label="kCKA",
    family="similarity_matrix",
    larger_is_more_similar=True,
    range=(-1, 1),
    symmetric=True,
    reference="islam2025manifold",
    invariant_to=SIMILARITIES,
    differentiable=False,
    version=2,
    min_samples=lambda k, **_: k + 1,
    limits={"k": (1, np.inf)},
    changes=(when({"variant": "code"}, range=(-np.inf, np.inf), identity=False), APPROXIMATE),
    remarks=recall_of_both,
)
def kcka(
    x: Representation,
    y: Representation,
    *,
    k: int = 100,
    variant: Literal["paper", "code"] = "paper",
    index: Index = "exact",
) -> float:
    r"""kCKA: the cosine between two row-centred exponential kernels, cut off after the k nearest
    neighbours.

    .. math:: \frac{\langle KH, LH \rangle_F}{\lVert KH \rVert_F \lVert LH \rVert_F}, \qquad
        K_{ij} = \exp \left( -\frac{d_{ij}}{2 \sigma} \right) \text{ for } j \in N_k(i), \text{ else
        } 0

    with :math:`\sigma` the median of the n k Euclidean distances to neighbours: one width for all
    samples, where ``mka`` has one for each. ``variant="code"`` is what the authors' code computes:
    squared distances and their median,
    :math:`K_{ii} = 1`, and tr(KHLH) for the inner products, which counts only what is a neighbour
    in both directions and may exceed 1.

    X is (n, d), Y is (n, e), n > k. Neighbours do not include the sample itself, ties and ``index``
    as in
    :func:`mka`. O(n^2 d) time once per representation, O(n k) per pair and in memory. Raises
    ``Undefined`` when k >= n, for a constant representation, when more than half of the distances
    are zero, and when a self-similarity is not positive.

    Reference: Islam et al. 2025, Eqs. 18-19.
    """
    code = variant == "code"
    K, L = (local_rbf_kernel(r, k=k, squared=code, diagonal=code, index=index) for r in (x, y))
    product = centered_trace if code else row_centered_product
    value = product(K, L) / _scale(product, K, L, "kcka")
    return value if code else float(np.clip(value, -1, 1))


def _scale(product: Product, K: csr_array, L: csr_array, name: str) -> float:
    """The root of the products of two kernels with themselves."""
    own = [product(kernel, kernel) for kernel in (K, L)]
    if (
        min(own[0] / float(K.data @ K.data), own[1] / float(L.data @ L.data)) < 1e-12
    ):  # nothing but rounding is left
        raise Undefined(
            f"{name}: the self-similarity of a kernel is not positive (too few samples for so "
            "large a k)"
        )
    return math.sqrt(own[0]) * math.sqrt(own[1])
