"""The measures; :mod:`.catalogue` finds those that ``__all__`` lists, which are all of them."""

from .alignment import aligned_cosine, angular_shape, procrustes, procrustes_size_shape, shape
from .cca import eigenspace_overlap, mean_cca, pwcca, subspace_overlap, svcca
from .covariances import bures, ensd, nbs, pwcka, riemannian
from .matching import (
    hard_correlation_match,
    permutation_procrustes,
    soft_correlation_match,
    soft_matching,
)
from .neighbour_alignment import cycle_knn, information_imbalance, mutual_knn
from .neighbour_kernels import cknna, kcka, mka
from .neighbour_lists import edit_distance_knn, lcs_knn
from .neighbours import jaccard, rank_similarity, second_order_cosine
from .outputs import accuracy_difference, disagreement, jensen_shannon
from .regression import gulp, linear_predictivity, linear_regression
from .similarity_matrix import cka, distance_correlation, rsa, rsm_norm_difference
from .statistics import (
    concentricity_difference,
    eigenspectrum_similarity,
    magnitude_difference,
    mmd,
    sliced_wasserstein,
    uniformity_difference,
)
from .topology import imd, rtd, rtd_lite

__all__ = [
    "accuracy_difference", "aligned_cosine", "angular_shape", "bures", "cka", "cknna",
    "concentricity_difference", "cycle_knn", "disagreement", "distance_correlation",
    "edit_distance_knn", "eigenspace_overlap", "eigenspectrum_similarity", "ensd", "gulp",
    "hard_correlation_match", "imd", "information_imbalance", "jaccard", "jensen_shannon", "kcka",
    "lcs_knn", "linear_predictivity", "linear_regression", "magnitude_difference", "mean_cca",
    "mka", "mmd", "mutual_knn", "nbs", "permutation_procrustes", "procrustes",
    "procrustes_size_shape", "pwcca", "pwcka", "rank_similarity", "riemannian", "rsa",
    "rsm_norm_difference", "rtd", "rtd_lite", "second_order_cosine", "shape", "sliced_wasserstein",
    "soft_correlation_match", "soft_matching", "subspace_overlap", "svcca", "uniformity_difference",
]  # fmt: skip
