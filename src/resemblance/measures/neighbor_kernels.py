"""Neighbour kernels: alignment of kernels restricted to the nearest neighbours of every sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ..base.exceptions import UndefinedError
from ..contracts._measure import measure
from ..contracts.claims import Product
from ..data.representation import Representation
from ..intermediates.neighbor_kernels import (
    Kernel,
    SparseProduct,
    affinity,
    centered_trace,
    double_centered_product,
    kernel_graph,
    neighbor_graph,
    row_centered_product,
)
from ..intermediates.neighbor_matrices import (
    chance_scaled_umap_kernel,
    neighbor_kernel,
    transposed_truncated_kernel,
    truncated_kernel,
    umap_kernel,
)
from ..intermediates.neighbors import NeighborSearch, Search
from ..intermediates.pair_matrix import SparseMatrix, expected_cosine
from ..intermediates.similarities import NeighborMetric
from .inner_products import (
    chance_corrected_cosine,
    constant_zero,
    rescale_from_chance,
    unnormalized_product,
)
from .neighbors import neighbor_search_claims


@measure(
    label="MKA", family="similarity_matrix", citation="islam2025manifold", version=3,
    larger_is_more_similar=True, range=(-1, 1), differentiable=False, limits={"k": (1, np.inf)},
    compares=Product(umap_kernel, symmetric=False),
)  # fmt: skip
def mka(
    x: Representation,
    y: Representation,
    *,
    k: int = 100,
    metric: NeighborMetric = "euclidean",
    symmetrize: bool = False,
    diagonal: bool = True,
    corrected: bool = False,
    search: Search = "exact",
) -> float:
    r"""Manifold-approximated kernel alignment: the cosine between two row-centred kernels of
    nearest neighbours.

    .. math:: \frac{\langle KH, LH \rangle_F}{\lVert KH \rVert_F \lVert LH \rVert_F}, \qquad
        K_{ii} = 1, \quad K_{ij} = \exp \left( -\frac{d_{ij} - \rho_i}{\sigma_i} \right)
        \text{ for } j \in N_k(i), \text{ else } 0

    with :math:`H = I - \tfrac{1}{n} 1 1^\top`, :math:`\rho_i` the distance to the nearest neighbour
    and :math:`\sigma_i` such that every row sums to D = 1 + log2 k, to the last digit and at any
    scale. Then the value is (⟨K, L⟩ - D²) / √((⟨K, K⟩ - D²)(⟨L, L⟩ - D²)) (Theorem 4.1), in (0, 1)
    for D < √n. No :math:`\sigma_i` exists where at least log2 k neighbours are at the smallest
    distance (duplicates, categories; always for k = 1). Then the nearest neighbours have weight 1,
    all other neighbours 0, and the row is centred by the mean of the row.

    X is (n, d), Y is (n, e), n > k. Neighbours do not include the sample itself. Samples that tie
    for the last places share the weights of the last places equally, so ties do not change the sums
    of the rows. ``metric``: ``"euclidean"`` or ``"cosine"`` (1 - cos). ``diagonal=False`` leaves
    out :math:`K_{ii}`. ``symmetrize=True`` is Appendix D: K + Kᵀ - K∘Kᵀ, centred on both sides.
    O(n^2 d) time once per representation, O(n k) per pair and in memory. Raises ``UndefinedError``
    when k >= n, for a constant representation, and when K is constant along the rows.

    The neighbour search is exact by default. ``search="hnsw"`` (extra ``neighbors``) searches
    neighbours in a navigable graph (Malkov and Yashunin 2020, with faiss), which is faster for many
    samples with distinct distances. :func:`compare` then records the share of the exact neighbours
    that the search found, ``neighbor_recall``, for the representation with the lower share. The
    function :func:`neighbor_recall` returns the share for one representation. The order of the
    samples and rounding decide which neighbours the search misses, so the claims hold only up to
    missed neighbours. Raises ``UndefinedError`` when the search finds fewer than k neighbours.

    The shared diagonal alone gives independent representations a value of about 1/3 (0.33 for
    Gaussians with n = 200, k = 15). ``corrected=True`` returns :math:`(m - m_0) / (1 - m_0)`, where
    :math:`m_0` is the mean over *all* permutations of the samples of Y,
    :math:`\operatorname{tr}(KH) \operatorname{tr}(LH) / (n - 1)` over the same norms: 0 on average
    for independent representations, 1 for equal representations.

    Use it when you compare the neighbourhoods of manifolds, with a kernel that adapts to the
    density.

    Beware. Unrelated data are far from 0 unless ``corrected=True`` is set. State k; the paper uses
    100.

    Reference: Islam et al. 2025, Eqs. 2-3. The authors' code has k = 15, single precision,
    :math:`\sigma` of at most 1000, and applies Theorem 4.1 whether or not the rows have the assumed
    sum. The experiments of the paper use k = 100.
    """
    K, L = (umap_kernel(r, k, metric, symmetrize, diagonal, search) for r in (x, y))
    value = _kernel_cosine(K, L, double_centered_product if symmetrize else row_centered_product)
    return rescale_from_chance(value, expected_cosine(K, L)) if corrected else value


def _kernel_cosine(K: SparseMatrix, L: SparseMatrix, product: SparseProduct) -> float:
    """Return the cosine of the centred kernels of ``K`` and ``L``, clipped to [-1, 1].

    ``product``: the inner product of two sparse kernels after centring. ``K.square`` and
    ``L.square`` must hold this product of a kernel with itself.
    """
    value = product(K.sparse, L.sparse) / math.sqrt(K.square * L.square)
    return float(np.clip(value, -1, 1))


@mka.claim("claims_for")
def _mka_claims(k: int, metric: NeighborMetric, corrected: bool, search: Search) -> dict[str, Any]:
    """Return the claims of ``mka`` that depend on the search of neighbours and on the correction
    for chance."""
    claims = neighbor_search_claims(k, metric, search)
    if corrected:
        in_chance = Product(
            chance_scaled_umap_kernel, symmetric=False, value=chance_corrected_cosine
        )
        claims |= {"range": (-np.inf, 1), "compares": in_chance, "chance": constant_zero}
    return claims


@measure(
    label="kCKA", family="similarity_matrix", citation="islam2025manifold", version=3,
    larger_is_more_similar=True, range=(-1, 1), differentiable=False, limits={"k": (1, np.inf)},
    compares=Product(truncated_kernel, symmetric=False),
)  # fmt: skip
def kcka(
    x: Representation,
    y: Representation,
    *,
    k: int = 100,
    variant: Literal["paper", "code"] = "paper",
    search: Search = "exact",
) -> float:
    r"""kCKA: the cosine between two row-centred exponential kernels, cut off after the k nearest
    neighbours.

    .. math:: \frac{\langle KH, LH \rangle_F}{\lVert KH \rVert_F \lVert LH \rVert_F}, \qquad
        K_{ij} = \exp \left( -\frac{d_{ij}}{2 \sigma} \right) \text{ for } j \in N_k(i), \text{ else
        } 0

    with :math:`\sigma` the median of the n k Euclidean distances to neighbours: one width for all
    samples, where ``mka`` has a width per sample. ``variant="code"`` reproduces the authors' code:
    squared distances and the median of squared distances, :math:`K_{ii} = 1`, and tr(KHLH) for the
    inner products. That trace counts only pairs that are neighbours in both directions, and the
    value may exceed 1.

    X is (n, d), Y is (n, e), n > k. Neighbours do not include the sample itself, ties and
    ``search`` as in :func:`mka`. O(n^2 d) time once per representation, O(n k) per pair and in
    memory. Raises ``UndefinedError`` when k >= n, for a constant representation, when more than
    half of the distances are zero, and when a self-similarity is not positive.

    Use it when you want kernel alignment of local neighbourhoods with an exponential kernel.

    Beware. k and the width of the kernel decide how local the measure is. The authors' code
    computes a variant: see the page on implementations that disagree.

    Reference: Islam et al. 2025, Eqs. 18-19.
    """
    K, L = (truncated_kernel(r, k, search, variant) for r in (x, y))
    if variant == "code":
        return centered_trace(K.sparse, L.sparse)
    return _kernel_cosine(K, L, row_centered_product)


@kcka.claim("claims_for")
def _kcka_claims(k: int, variant: str, search: Search) -> dict[str, Any]:
    """Return the claims of ``kcka`` that depend on the search of neighbours and on the variant of
    the kernel."""
    claims = neighbor_search_claims(k, "euclidean", search)
    if variant == "code":
        claims |= {"range": (-np.inf, np.inf), "identity": False}
        claims["compares"] = Product(
            truncated_kernel,
            transposed_truncated_kernel,
            symmetric=False,
            value=unnormalized_product,
        )
    return claims


@measure(
    label="CKNNA", family="neighbors", citation="huh2024platonic", version=3,
    larger_is_more_similar=True, range=(-np.inf, np.inf), symmetric=False, identity=False,
    differentiable=False, limits={"k": (1, np.inf)},
)  # fmt: skip
def cknna(
    x: Representation,
    y: Representation,
    *,
    k: int = 10,
    kernel: Kernel = "cosine",
    estimator: Literal["debiased", "biased"] = "debiased",
    search: Search = "exact",
) -> float:
    r"""Centered kernel nearest-neighbour alignment: CKA that looks at mutual nearest neighbours
    only.

    .. math:: \frac{s(K, L)}{\sqrt{s(K, K)\, s(L, L)}}, \qquad
        s(K, L) = \operatorname{HSIC}(\alpha K, \alpha L), \quad
        \alpha_{ij} = 1 \text{ if } j \in N_X(i) \cap N_Y(i) \text{, else } 0

    multiplied entry by entry; with ties :math:`\alpha_{ij}` is the geometric mean of the weights of
    j on both sides (see :func:`mutual_knn`). K and L are inner products of the rows, at unit length
    (``kernel="cosine"``) or not (``"linear"``). The neighbours are the samples of largest inner
    product; s(K, K) uses only the neighbours in K.

    ``estimator="debiased"`` is the unbiased HSIC of Song et al. 2012 of the masked kernels, as in
    the authors' code. The masked kernels are not symmetric, so the value is slightly asymmetric,
    and the value has no bounds. ``"biased"`` is the formula of the paper: subtract the mean of the
    row from every kernel value, and sum the products over mutual neighbours; symmetric, in [-1, 1].

    X is (n, d), Y is (n, e), n > k. With k = n - 1 and the linear kernel the value is debiased
    linear CKA. ``search`` as in :func:`mka`. O(n^2 d) time, O(n k) memory. Raises
    ``UndefinedError`` for a constant representation and when a self-similarity is not positive.

    The chance level is not 0 but grows with k/n. For independent Gaussian data (n = 300 and 1000, d
    = 20 and 200) chance is 0.8 to 0.9 k/n with k = 10 and 0.9 to 1.0 k/n with k = 30 and 100. With
    the linear kernel chance is lower, down to 0.5 k/n (n = 1000, d = 20, k = 10). With
    ``estimator="biased"`` chance is k/n, and lower where k is a good part of n (0.8 k/n for k =
    n/3).

    Use it when you compare with the platonic-representation studies: kernel alignment restricted to
    common neighbours.

    Beware. Common offsets count. A small k gives a noisy value, and a k near n turns the measure
    into CKA.

    Reference: Huh et al. 2024. The authors' code adds 1e-6 to the denominator, which lowers the
    value by up to 6e-4 for 100 samples of unit length; this function adds nothing.
    """
    nearest_rows, centered = NeighborSearch(k, affinity(kernel), search), estimator == "biased"
    a, b = (neighbor_graph(r, nearest_rows) for r in (x, y))
    p, q = (kernel_graph(r, nearest_rows, kernel=kernel, centered=centered) for r in (x, y))
    s = _masked_product if centered else _masked_hsic
    value = (
        s(_masked_kernel(p, a, b), _masked_kernel(q, b, a))
        / _root_of_self_product(s, p, k)
        / _root_of_self_product(s, q, k)
    )
    return float(np.clip(value, -1, 1)) if centered else value


@cknna.claim("claims_for")
def _cknna_claims(k: int, kernel: Kernel, estimator: str, search: Search) -> dict[str, Any]:
    """Return the claims of CKNNA that depend on the parameters."""
    claims = neighbor_search_claims(k, affinity(kernel), search) | {"min_samples": max(k + 1, 4)}
    if estimator == "biased":
        claims |= {"range": (-1, 1), "symmetric": True, "identity": True}
        claims["compares"] = Product(neighbor_kernel, symmetric=False)
    return claims


def _root_of_self_product(product: Callable[[Any, Any], float], kernel: Any, k: int) -> float:
    """Return the root of ``product(kernel, kernel)``, for a sparse masked kernel; raise
    ``UndefinedError`` if the product is not positive. ``k``: the number of neighbours, for the
    error."""
    squared = product(kernel, kernel)
    if squared <= 1e-12 * kernel.multiply(kernel).sum():  # the remainder is rounding error
        raise UndefinedError(
            f"cknna: the self-similarity of the {k} nearest neighbours is not positive; take a "
            "larger k"
        )
    return float(squared**0.5)


def _masked_kernel(kernel: Any, weights: Any, other_weights: Any) -> Any:
    """Return the sparse ``kernel`` with weights sqrt(v w) in place of v, zero where either side
    has no neighbour.

    ``weights``: v, the weights that ``kernel`` already contains, at the same entries.
    ``other_weights``: w, the weights of the neighbours in the other representation. All are (n, n).
    """
    if min(weights.data.min(), other_weights.data.min()) == 1:
        return kernel.multiply(other_weights)
    scaled = type(kernel)(
        (kernel.data / np.sqrt(weights.data), kernel.indices, kernel.indptr), shape=kernel.shape
    )
    return scaled.multiply(other_weights.sqrt())


def _masked_product(k: Any, l: Any) -> float:
    """Return the inner product of two sparse (n, n) matrices ``k`` and ``l``: the sum of k_ij
    l_ij."""
    return float(k.multiply(l).sum())


def _masked_hsic(k: Any, l: Any) -> float:
    """Return the unbiased HSIC of two sparse (n, n) matrices ``k`` and ``l`` without diagonal,
    times n (n - 3) (Song et al. 2012, Eq. 5)."""
    n = k.shape[0]
    paths = float(np.asarray(k.sum(axis=0)) @ np.asarray(l.sum(axis=1)))
    return float(
        k.multiply(l.T).sum() + k.sum() * l.sum() / ((n - 1) * (n - 2)) - 2 * paths / (n - 2)
    )
