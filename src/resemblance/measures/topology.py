"""Topology: compare the graphs, trees and simplicial complexes of the samples."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..contracts._measure import measure
from ..contracts.claims import SHAPE_INVARIANCES
from ..data.representation import Representation
from ..intermediates.cross_barcode import bar_length_totals
from ..intermediates.heat import TEMPERATURES, heat_trace, stochastic_heat_traces
from ..intermediates.samples import (
    normalized_distances,
    sorted_edges,
    spanning_length,
    subset_draws,
    tree_length,
)


@measure(
    label="IMD",
    family="topology",
    citation="tsitsulin2020shape",
    version=2,
    larger_is_more_similar=False,
    range=(0, 1e6 * float(np.exp(-4))),
    metric=True,
    invariant_to=SHAPE_INVARIANCES,
    differentiable=False,
    claims_for=lambda k, estimator: {
        "min_samples": k + 1,
        "needs_pairing": estimator == "stochastic",
    },
    limits={"k": (1, np.inf), "steps": (1, np.inf), "probes": (1, np.inf), "repeats": (1, np.inf)},
)
def imd(
    x: Representation,
    y: Representation,
    *,
    k: int = 5,
    estimator: Literal["exact", "stochastic"] = "exact",
    steps: int = 10,
    probes: int = 8000,
    repeats: int = 5,
    seed: int = 0,
) -> float:
    r"""Intrinsic multi-scale distance: how differently heat diffuses on the two neighbour graphs.

    .. math:: 10^6 \max_{t} e^{-2(t + 1/t)} \, \tfrac{1}{n} \left| \operatorname{tr} e^{-t L_X}
        - \operatorname{tr} e^{-t L_Y} \right|

    over 256 temperatures t, logarithmic in [0.1, 10], where L is the normalised Laplacian of the
    undirected graph of the ``k`` nearest neighbours (Euclidean, the sample itself excluded by
    index). The factor 10^6 is the authors'. Samples that tie for the last places share the places
    (see :func:`mutual_knn`): an edge has the larger weight of the two directions.

    X is (n, d), Y is (n, e), n > k. ``estimator="exact"`` computes the traces to rounding with
    Chebyshev polynomials in O(n^2 k) time and O(n) memory, without a seed. ``"stochastic"`` is the
    authors' stochastic Lanczos quadrature (``steps``, ``probes`` Gaussian vectors, mean of
    ``repeats`` scores), seeded, with the same vectors for X and Y. The maximum over t of a
    stochastic estimate is biased upwards; 5 repeats of 8000 vectors still scatter by about a tenth.

    Raises ``UndefinedError`` for a constant representation, and when k >= n.

    Use it when you compare the shapes of two point clouds without corresponding samples.

    Beware. The measure ignores the correspondence of samples: shuffling the rows of X or Y changes
    nothing. The scale has no natural unit.

    Reference: Tsitsulin et al. 2020.
    """
    if estimator == "exact":
        return float(
            1e6 * np.max(HEAT_TRACE_WEIGHTS * np.abs(heat_trace(x, k=k) - heat_trace(y, k=k)))
        )
    settings = {"k": k, "steps": steps, "probes": probes, "repeats": repeats, "seed": seed}
    difference = np.abs(
        stochastic_heat_traces(x, **settings) - stochastic_heat_traces(y, **settings)
    )
    return float(1e6 * np.mean(np.max(HEAT_TRACE_WEIGHTS * difference, axis=1)))


@measure(
    label="RTD",
    family="topology",
    citation="barannikov2022representation",
    version=2,
    larger_is_more_similar=False,
    range=(0, np.inf),
    invariant_to=SHAPE_INVARIANCES,
    differentiable=False,
    min_samples=3,
    requires="topology",
    limits={"subsample": (3, np.inf), "repeats": (1, np.inf)},
    claims_for=lambda direction: {"symmetric": direction == "both"},
)
def rtd(
    x: Representation,
    y: Representation,
    *,
    subsample: int = 500,
    repeats: int = 10,
    direction: Literal["both", "first", "second"] = "both",
    seed: int = 0,
) -> float:
    r"""Representation topology divergence: how long loops differ between two representations, over
    all scales.

    .. math:: \tfrac{1}{2} \left( \operatorname{RTD}_1(X, Y) + \operatorname{RTD}_1(Y, X) \right),
        \qquad
        \operatorname{RTD}_1(X, Y) = \sum_{[b, e) \in \text{cross-barcode}_1(X, Y)} (e - b)

    The cross-barcode is the first persistent homology of the mapping cone of the inclusion of the
    Vietoris-Rips complex of the distances :math:`w_X` into the Vietoris-Rips complex of
    :math:`\min(w_X, w_Y)`, after division of each distance matrix by the 0.9 quantile of the matrix
    (over all entries, the zero diagonal included).

    X is (n, d), Y is (n, e). The value is the mean over ``repeats`` random subsets of ``subsample``
    samples, the same for every pair (the subsets depend on ``seed`` and n only). With n <=
    ``subsample`` the measure uses all samples, once. Subsets are drawn by position, so with n >
    ``subsample`` another order of the samples gives other subsets. ``direction="first"`` is RTD(X,
    Y) alone, which is not symmetric. Exact in float64. Needs the extra ``topology``.

    Use it when you ask whether clusters and loops appear at the same scales for the same samples.

    Beware. The measure is slow and uses subsets of samples. Added noise in many columns raises the
    values far above the values of unrelated data.

    Reference: Barannikov et al. 2022, Algorithm 1. The authors' code needs CUDA (the ReSi code
    gives NaN without CUDA), works in float32 on a complex of twice the size, and sets distances
    below 1e-6 of the mean to 0; this function leaves all distances unchanged.
    """
    totals = [
        bar_length_totals(draw.subsample, *(sorted_edges(r, draw) for r in (x, y)))
        for draw in subset_draws(x.shape[0], subsample, repeats, seed)
    ]
    xy, yx = np.mean(totals, axis=0)
    return float({"both": (xy + yx) / 2, "first": xy, "second": yx}[direction])


@measure(
    label="RTD-lite", family="topology", citation="tulchinskii2025rtdlite", version=2,
    larger_is_more_similar=False, range=(0, np.inf), metric=True, invariant_to=SHAPE_INVARIANCES,
    differentiable=False, limits={"subsample": (3, np.inf), "repeats": (1, np.inf)},
)  # fmt: skip
def rtd_lite(
    x: Representation, y: Representation, *, subsample: int = 5000, repeats: int = 1, seed: int = 0
) -> float:
    r"""RTD-lite: how long clusters differ between two representations, over all scales, from
    spanning trees.

    .. math:: \tfrac{1}{2} \left( T(w_X) + T(w_Y) \right) - T(\min(w_X, w_Y))

    where T is the length of the minimum spanning tree, and :math:`w` the Euclidean distances
    divided by the 0.9 quantile of the distances, as in :func:`rtd`. :math:`T(w_X) - T(\min(w_X,
    w_Y))` is the total length of the bars of clusters. For a scale t, the clusters of X are the
    samples joined by distances below t in X; the bars count how many of the clusters merge when the
    pairs closer than t in Y are joined too. The bars come from the kernel of the inclusion in H0.
    RTD sums the bars of H1 of the cone of the same inclusion, so RTD-lite is never larger than RTD.

    X is (n, d), Y is (n, e). O(n^2) time and memory. The value is the mean over ``repeats`` random
    subsets of ``subsample`` samples, the same for every pair; with n <= ``subsample`` the measure
    uses all samples, once. The triangle inequality holds, because the number of merged clusters is
    a submodular function of the set of joined pairs. Raises ``UndefinedError`` when nine tenths of
    the distances of a representation are zero.

    Use it when you want a fast relative of RTD that compares clusters only.

    Beware. The measure does not detect loops. The scale depends on n.

    Reference: Tulchinskii et al. 2025, who sum the bars; this function returns half the sum of the
    two directions.
    """
    values = []
    for draw in subset_draws(x.shape[0], subsample, repeats, seed):
        t_x, t_y = (spanning_length(r, draw) for r in (x, y))
        t_min = tree_length(*(normalized_distances(r, draw) for r in (x, y)))
        values.append(max(0.0, (t_x + t_y) / 2 - t_min))
    return float(np.mean(values))


HEAT_TRACE_WEIGHTS = np.exp(-2 * (TEMPERATURES + 1 / TEMPERATURES))
