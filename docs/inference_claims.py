"""Why the measures without the claim ``product`` have none, for the page on inference."""

from __future__ import annotations

ROTATION = "the best rotation depends on the pair: a sum of singular values, not of their squares"
MATCHING = "the best matching of features depends on the pair"
UNPAIRED = "it does not depend on which samples are paired, so every order has the same value"
LISTS = "it compares lists of neighbours sample by sample, not only what they share"
SPANNING = "it is made of spanning trees of the smaller of two distances"
OUTPUTS = "it compares the outputs for each sample by itself, so there is no matrix of pairs"
APPROXIMATE = "what an approximate search misses depends on the order of the samples"

# Measures and main variants, with the reason why no inner product of two (n, n) matrices, one of
# each representation, gives the value.
WITHOUT_PRODUCT = {
    "accuracy_difference": OUTPUTS,
    "aligned_cosine": ROTATION,
    "angular_shape": ROTATION,
    "bures": ROTATION,
    "cknna": "its unbiased estimator centres both kernels on what is a neighbour on both sides",
    "cknna[estimator=centered,index=hnsw]": APPROXIMATE,
    "concentricity_difference": UNPAIRED,
    "cycle_knn": "whether any of k steps leads back is no sum over the steps",
    "disagreement": OUTPUTS,
    "edit_distance_knn": LISTS,
    "eigenspectrum_similarity": UNPAIRED,
    "hard_correlation_match": MATCHING,
    "imd": UNPAIRED,
    "jaccard": "the union of two sets of neighbours divides by what they share",
    "jensen_shannon": OUTPUTS,
    "kcka[index=hnsw]": APPROXIMATE,
    "lcs_knn": LISTS,
    "linear_predictivity": "the best penalty depends on the pair",
    "magnitude_difference": UNPAIRED,
    "mean_cca": "it adds canonical correlations; mean_cca[aggregation=mean_squared] has the claim",
    "mka[index=hnsw]": APPROXIMATE,
    "mmd": UNPAIRED,
    "mutual_knn[index=hnsw]": APPROXIMATE,
    "nbs": ROTATION,
    "permutation_procrustes": MATCHING,
    "procrustes": ROTATION,
    "procrustes_size_shape": ROTATION,
    "pwcca": "it adds canonical correlations, with weights that depend on the pair",
    "pwcka": "how many components count depends on the pair",
    "rank_similarity": LISTS,
    "riemannian": "it adds squared logarithms of generalised eigenvalues of the pair",
    "rsa[compare=kendall]": "it compares pairs of dissimilarities, so its matrices are n^2 x n^2",
    "rsm_norm_difference[norm=spectral]": "the largest eigenvalue of a difference is no sum",
    "rtd": SPANNING,
    "rtd_lite": SPANNING,
    "second_order_cosine": "the cosine of each sample is over the neighbours on either side",
    "shape": ROTATION,
    "sliced_wasserstein": UNPAIRED,
    "soft_correlation_match": MATCHING,
    "soft_matching": MATCHING,
    "svcca": "it adds canonical correlations, not their squares",
    "uniformity_difference": UNPAIRED,
}
