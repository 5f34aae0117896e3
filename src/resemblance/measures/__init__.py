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
from .cca import mean_cca, pwcca, svcca
from .neighbours import jaccard, rank_similarity, second_order_cosine
from .outputs import accuracy_difference, disagreement, jensen_shannon
from .similarity_matrix import cka, distance_correlation, eigenspace_overlap, gulp, rsa, rsm_norm_difference
from .statistics import concentricity_difference, magnitude_difference, uniformity_difference
from .topology import imd, rtd

__all__ = [
    "accuracy_difference",
    "aligned_cosine",
    "angular_shape",
    "cka",
    "concentricity_difference",
    "disagreement",
    "distance_correlation",
    "eigenspace_overlap",
    "gulp",
    "hard_correlation_match",
    "imd",
    "jaccard",
    "jensen_shannon",
    "linear_regression",
    "magnitude_difference",
    "mean_cca",
    "permutation_procrustes",
    "procrustes",
    "procrustes_size_shape",
    "pwcca",
    "rank_similarity",
    "rsa",
    "rsm_norm_difference",
    "rtd",
    "second_order_cosine",
    "soft_correlation_match",
    "svcca",
    "uniformity_difference",
]
