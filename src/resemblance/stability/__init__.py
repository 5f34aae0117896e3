"""Statistics of one representation: how reliable its geometry is, and the companions they are
reported with."""

from .catalogue import get_statistic, list_statistics
from .evidence import logme
from .magnitude import MagnitudeBin, discordance, magnitude_matched
from .noise import input_noise_stability
from .perturbation import (
    perturbation_coherence,
    perturbation_magnitude,
    perturbation_reproducibility,
    perturbation_spread,
)
from .replicates import anchor_profile, replicate
from .resampling import Interval, Null, interval, permutation_null
from .screen import Perturbation, Perturbations, perturbations
from .spectrum import anisotropy, effective_rank, participation_ratio
from .splits import basis_split, feature_split
from .supervised import (
    class_separation,
    label_conditioned_split,
    lda_stability,
    supervised_alignment,
    variance_ratio,
)
from .transfer import fisher_discriminant, gbc, h_score, leep, nce, silhouette
from .transformations import Transformed, transformation_study, transformations
from .trials import centroid_drift, temporal_drift, trial_split
from .unmatched import anchor, sample_split
from .windows import Window, over_windows

__all__ = [
    "Interval",
    "MagnitudeBin",
    "Null",
    "Perturbation",
    "Perturbations",
    "Transformed",
    "Window",
    "anchor",
    "anchor_profile",
    "anisotropy",
    "basis_split",
    "centroid_drift",
    "class_separation",
    "discordance",
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
    "magnitude_matched",
    "nce",
    "over_windows",
    "participation_ratio",
    "permutation_null",
    "perturbation_coherence",
    "perturbation_magnitude",
    "perturbation_reproducibility",
    "perturbation_spread",
    "perturbations",
    "replicate",
    "sample_split",
    "silhouette",
    "supervised_alignment",
    "temporal_drift",
    "transformation_study",
    "transformations",
    "trial_split",
    "variance_ratio",
]
