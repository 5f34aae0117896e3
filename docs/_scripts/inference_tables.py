"""What inference has for each measure of the catalogue, by its claims, and why some lack it."""

from __future__ import annotations

import resemblance as rs
from resemblance.inference.intervals import interval_kind
from resemblance.significance.orders import Design

ROTATION = "the best rotation depends on the pair: a sum of singular values, not of their squares"
MATCHING = "the best matching of features depends on the pair"
UNPAIRED = "it does not depend on which samples are paired, so every order has the same value"
LISTS = "it compares lists of neighbours sample by sample, not only what they share"
SPANNING = "it is made of spanning trees of the smaller of two distances"
OUTPUTS = "it compares the outputs for each sample by itself, so there is no matrix of pairs"
REPEATS = "it compares the noise of repeats, stimulus by stimulus, after the best rotation"
APPROXIMATE = "what an approximate search misses depends on the order of the samples"

# Measures and main variants, with the reason why no inner product of two (n, n) matrices, one of
# each representation, gives the value.
WITHOUT_PRODUCT = {
    "accuracy_difference": OUTPUTS,
    "aligned_cosine": ROTATION,
    "angular_shape": ROTATION,
    "bures": ROTATION,
    "cknna": "its unbiased estimator centres both kernels on what is a neighbour on both sides",
    "cknna[estimator=biased,search=hnsw]": APPROXIMATE,
    "concentricity_difference": UNPAIRED,
    "cycle_knn": "whether any of k steps leads back is no sum over the steps",
    "disagreement": OUTPUTS,
    "edit_distance_knn": LISTS,
    "eigenspectrum_similarity": UNPAIRED,
    "energy_stochastic_shape": REPEATS,
    "gaussian_stochastic_shape": REPEATS,
    "hard_correlation_match": MATCHING,
    "imd": UNPAIRED,
    "jaccard": "the union of two sets of neighbours divides by what they share",
    "jensen_shannon": OUTPUTS,
    "kcka[search=hnsw]": APPROXIMATE,
    "lcs_knn": LISTS,
    "linear_predictivity": "the best penalty depends on the pair",
    "magnitude_difference": UNPAIRED,
    "mean_cca": "it adds canonical correlations; mean_cca[aggregation=mean_squared] has the claim",
    "mka[search=hnsw]": APPROXIMATE,
    "mmd": UNPAIRED,
    "mutual_knn[search=hnsw]": APPROXIMATE,
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
    "shape_distance": ROTATION,
    "sliced_wasserstein": UNPAIRED,
    "soft_correlation_match": MATCHING,
    "soft_matching": MATCHING,
    "svcca": "it adds canonical correlations, not their squares",
    "uniformity_difference": UNPAIRED,
}


_MATCHING = "the best matching of columns may change with any sample"
_LEADING = "how many components count, and which, changes with the samples"
_KERNEL = "the width of every row of the kernel changes with its neighbours"
_ORDER = "the places in lists of neighbours change with every neighbour that is left out"
_ROTATION = "the best rotation changes with every repeat that is left out"
_SORTED = "what is sorted changes with every sample"

# By measure, or by measure and parameters where only these have none.
WITHOUT_LEFT_OUT = {
    "cka[estimator=features]": "the features that are left out of the self terms change with them",
    "aligned_cosine": "the best rotation changes with every sample, and the rows that it turns",
    "cknna": "centred kernels of neighbours change with every neighbour that is left out",
    "cycle_knn": "a return may lead over any neighbour, and each of them may be replaced",
    "edit_distance_knn": _ORDER,
    "eigenspectrum_similarity": "all singular values change with every sample",
    "energy_stochastic_shape": _ROTATION,
    "gaussian_stochastic_shape": _ROTATION,
    "gulp[ridge=0.1]": "a ridge couples all directions of the covariance; 0 has the closed form",
    "hard_correlation_match": _MATCHING,
    "imd": "the heat kernel of a graph of neighbours changes with every sample",
    "information_imbalance": "all ranks above a sample fall when it is left out",
    "jaccard[search=hnsw]": "an approximate search for one neighbour more may find others",
    "kcka": _KERNEL,
    "lcs_knn": _ORDER,
    "linear_predictivity": "it is itself a mean over samples left out, of the best penalty",
    "mean_cca": "the sum of correlations is no quadratic form; their squares have a closed form",
    "mka": _KERNEL,
    "mmd": "the kernel has the width of the pooled distances",
    "mutual_knn[search=hnsw]": "an approximate search for one neighbour more may find others",
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
    "shape_distance": "partial whitening changes all singular values with every sample",
    "sliced_wasserstein": _SORTED,
    "soft_correlation_match": _MATCHING,
    "soft_matching": _MATCHING,
    "subspace_overlap": _LEADING,
    "svcca": _LEADING,
    "uniformity_difference": "a logarithm of sums that may lose all digits by subtraction",
}


KINDS = {"left_out": "without each sample", "halves": "40 halves", "groups": "20 groups"}
SAMPLES, WIDEST = 100, 50  # of a study that needs groups for canonical correlations


def inference_rows(m: rs.Measure) -> dict[str, str]:
    """Return how the p-values, intervals and chance of a measure are made."""
    chance = "exact" if m.chance or m.product else "from orders"
    if WITHOUT_PRODUCT.get(m.name) == UNPAIRED:
        chance = "is the value"
    return {"p-values": pvalues(m), "intervals": intervals(m), "chance": chance}


def pvalues(m: rs.Measure) -> str:
    """Return how p-values come about; if by orders, why."""
    if m.product:
        return "exact moments"
    reason = WITHOUT_PRODUCT.get(m.name)
    return ("none" if reason == UNPAIRED else "orders") + (f": {reason}" if reason else "")


def intervals(m: rs.Measure) -> str:
    """Return how intervals come about; if by groups, why."""
    kind = interval_kind(m, Design(SAMPLES), WIDEST)
    reason = WITHOUT_LEFT_OUT.get(m.name)
    return f"{KINDS[kind]}: {reason}" if kind == "groups" and reason else KINDS[kind]
