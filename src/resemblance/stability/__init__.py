"""Statistics of one representation: how reliable its geometry is, and the companions they are reported with."""

from .catalogue import get_statistic, list_statistics
from .evidence import logme
from .noise import input_noise_stability
from .perturbation import perturbation_coherence, perturbation_magnitude
from .replicates import anchor_profile, replicate
from .resampling import Interval, Null, interval, permutation_null
from .spectrum import anisotropy, effective_rank, participation_ratio
from .splits import basis_split, feature_split
from .supervised import class_separation, label_conditioned_split, lda_stability, supervised_alignment, variance_ratio
from .transfer import fisher_discriminant, gbc, h_score, leep, nce, silhouette
from .trials import centroid_drift, temporal_drift, trial_split
from .unmatched import anchor, sample_split

__all__ = [
    "Interval",
    "Null",
    "anchor",
    "anchor_profile",
    "anisotropy",
    "basis_split",
    "centroid_drift",
    "class_separation",
    "effective_rank",
    "feature_split",
    "fisher_discriminant",
    "gbc",
    "get_statistic",
    "h_score",
    "input_noise_stability",
    "interval",
    "label_conditioned_split",
    "lda_stability",
    "leep",
    "list_statistics",
    "logme",
    "nce",
    "participation_ratio",
    "permutation_null",
    "perturbation_coherence",
    "perturbation_magnitude",
    "replicate",
    "sample_split",
    "silhouette",
    "supervised_alignment",
    "temporal_drift",
    "trial_split",
    "variance_ratio",
]
