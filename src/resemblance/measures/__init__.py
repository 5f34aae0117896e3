"""The measures, one file per family; :mod:`.catalogue` finds every measure defined in them."""

from .alignment import (
    aligned_cosine,
    angular_shape,
    hard_correlation_match,
    linear_regression,
    permutation_procrustes,
    procrustes,
    procrustes_size_shape,
    soft_correlation_match,
)
from .alignment_of_neighbours import (
    cknna,
    cycle_knn,
    edit_distance_knn,
    information_imbalance,
    lcs_knn,
    mutual_knn,
)
from .cca import mean_cca, pwcca, svcca
from .drift import eigenspectrum_similarity, mmd, pwcka, sliced_wasserstein, subspace_overlap
from .manifold import kcka, mka
from .neighbours import jaccard, rank_similarity, second_order_cosine
from .outputs import accuracy_difference, disagreement, jensen_shannon
from .shapes import bures, ensd, linear_predictivity, nbs, riemannian, shape, soft_matching
from .similarity_matrix import (
    cka,
    distance_correlation,
    eigenspace_overlap,
    gulp,
    rsa,
    rsm_norm_difference,
)
from .spanning_trees import rtd_lite
from .statistics import concentricity_difference, magnitude_difference, uniformity_difference
from .topology import imd, rtd

__all__ = [
    "accuracy_difference",
    "aligned_cosine",
    "angular_shape",
    "bures",
    "cka",
    "cknna",
    "concentricity_difference",
    "cycle_knn",
    "disagreement",
    "distance_correlation",
    "edit_distance_knn",
    "eigenspace_overlap",
    "eigenspectrum_similarity",
    "ensd",
    "gulp",
    "hard_correlation_match",
    "imd",
    "information_imbalance",
    "jaccard",
    "jensen_shannon",
    "kcka",
    "lcs_knn",
    "linear_predictivity",
    "linear_regression",
    "magnitude_difference",
    "mean_cca",
    "mka",
    "mmd",
    "mutual_knn",
    "nbs",
    "permutation_procrustes",
    "procrustes",
    "procrustes_size_shape",
    "pwcca",
    "pwcka",
    "rank_similarity",
    "riemannian",
    "rsa",
    "rsm_norm_difference",
    "rtd",
    "rtd_lite",
    "second_order_cosine",
    "shape",
    "sliced_wasserstein",
    "soft_correlation_match",
    "soft_matching",
    "subspace_overlap",
    "svcca",
    "uniformity_difference",
]
