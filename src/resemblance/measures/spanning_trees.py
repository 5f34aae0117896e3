"""Spanning trees: compare the clusters that samples form, over all scales."""

from __future__ import annotations

import numpy as np

from ..measure import measure
from ..representation import Representation
from ..views.samples import normalized_distances
from ..views.spanning_tree import spanning_length, tree_length


@measure(
    label="RTD-lite",
    family="topology",
    larger_is_more_similar=False,
    range=(0, np.inf),
    symmetric=True,
    metric=True,
    reference="tulchinskii2025rtdlite",
    invariant_to={"orthogonal", "isotropic_scaling", "translation"},
    differentiable=False,
    limits={"sample": (3, np.inf), "trials": (1, np.inf)},
)
def rtd_lite(
    x: Representation, y: Representation, *, sample: int = 5000, trials: int = 1, seed: int = 0
) -> float:
    r"""RTD-lite: how long clusters differ between two representations, over all scales, from
    spanning trees.

    .. math:: \tfrac{1}{2} \left( T(w_X) + T(w_Y) \right) - T(\min(w_X, w_Y))

    where T is the length of the minimum spanning tree, and :math:`w` the Euclidean distances
    divided by their 0.9 quantile, as in :func:`rtd`. :math:`T(w_X) - T(\min(w_X, w_Y))` is the
    total length of the bars of clusters: at scale t it counts how many of those of X, joined where
    they are closer than t, merge when the pairs closer than t in Y are joined too. That is the
    kernel of H0 of the inclusion whose H1 of the cone is what RTD adds up, so RTD-lite is never
    larger than RTD.

    X is (n, d), Y is (n, e). O(n^2) time and memory. Mean over ``trials`` random subsets of
    ``sample`` samples, the same for every pair; with n <= ``sample`` all samples are used, once.
    The triangle inequality holds, because the number of merged clusters is a submodular function of
    the set of joined pairs. Raises ``Undefined`` when nine tenths of the distances of a
    representation are zero.

    Reference: Tulchinskii et al. 2025, who sum the bars; half the sum of both directions here.
    """
    size, rounds = min(sample, x.shape[0]), 1 if x.shape[0] <= sample else trials
    values = []
    for t in range(rounds):
        apart = [spanning_length(r, sample=size, seed=seed, trial=t) for r in (x, y)]
        joined = tree_length(
            *(normalized_distances(r, sample=size, seed=seed, trial=t) for r in (x, y))
        )
        values.append(np.maximum(0.0, sum(apart) / 2 - joined))
    return float(np.mean(values))
