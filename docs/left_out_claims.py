"""Why measures of the catalogue have no values without each sample in closed form."""

from __future__ import annotations

_MATCHING = "the best matching of columns may change with any sample"
_LEADING = "how many components count, and which, changes with the samples"
_KERNEL = "the width of every row of the kernel changes with its neighbours"
_ORDER = "the places in lists of neighbours change with every neighbour that is left out"
_SORTED = "what is sorted changes with every sample"

# By measure, or by measure and parameters where only these have none.
WITHOUT_LEFT_OUT = {
    "cka[estimator=features]": "the features that are left out of the self terms change with them",
    "aligned_cosine": "the best rotation changes with every sample, and the rows that it turns",
    "cknna": "centred kernels of neighbours change with every neighbour that is left out",
    "cycle_knn": "a return may lead over any neighbour, and each of them may be replaced",
    "edit_distance_knn": _ORDER,
    "eigenspectrum_similarity": "all singular values change with every sample",
    "gulp[ridge=0.1]": "a ridge couples all directions of the covariance; 0 has the closed form",
    "hard_correlation_match": _MATCHING,
    "imd": "the heat kernel of a graph of neighbours changes with every sample",
    "information_imbalance": "all ranks above a sample fall when it is left out",
    "jaccard[index=hnsw]": "an approximate search for one neighbour more may find others",
    "kcka": _KERNEL,
    "lcs_knn": _ORDER,
    "linear_predictivity": "it is itself a mean over samples left out, of the best penalty",
    "mean_cca": "the sum of correlations is no quadratic form; their squares have a closed form",
    "mka": _KERNEL,
    "mmd": "the kernel has the width of the pooled distances",
    "mutual_knn[index=hnsw]": "an approximate search for one neighbour more may find others",
    "permutation_procrustes": _MATCHING,
    "pwcca": "the canonical directions, and so their weights, change with every sample",
    "pwcka": _LEADING,
    "rank_similarity": _ORDER,
    "riemannian": "the logarithm of generalised eigenvalues has no closed form",
    "rsa[compare=kendall]": "pairs of pairs of samples would have to be counted",
    "rsa[compare=kendall_a]": "pairs of pairs of samples would have to be counted",
    "rsa[compare=rho_a]": "ties that a sample makes change what it is divided by",
    "rsm_norm_difference[norm=spectral]": "the largest eigenvalue changes with every sample",
    "rtd": "the topology of the others has to be computed anew",
    "rtd_lite": "the topology of the others has to be computed anew",
    "second_order_cosine": "profiles change with every neighbour that is left out",
    "shape": "partial whitening changes all singular values with every sample",
    "sliced_wasserstein": _SORTED,
    "soft_correlation_match": _MATCHING,
    "soft_matching": _MATCHING,
    "subspace_overlap": _LEADING,
    "svcca": _LEADING,
    "uniformity_difference": "a logarithm of sums that may lose all digits by subtraction",
}
