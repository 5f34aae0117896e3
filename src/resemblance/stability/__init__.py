"""Statistics of one representation, a file for each thing they are about: how reliable its geometry
is, what is reported with it, and how sure that is."""

from ..catalogue import get_statistic, list_statistics
from .magnitude import MagnitudeBin, discordance, magnitude_matched
from .perturbation import (
    input_noise_stability,
    perturbation_coherence,
    perturbation_magnitude,
    perturbation_reproducibility,
    perturbation_spread,
)
from .replicates import anchor_profile, replicate
from .resampling import Interval, Null, interval, permutation_null
from .screen import Perturbation, Perturbations, perturbations
from .spectrum import anisotropy, effective_rank, participation_ratio
from .splits import anchor, basis_split, feature_split, sample_split
from .supervised import (
    class_separation,
    label_conditioned_split,
    lda_stability,
    supervised_alignment,
    variance_ratio,
)
from .transfer import fisher_discriminant, gbc, h_score, leep, logme, nce, silhouette
from .transformations import Transformed, transformation_study, transformations
from .trials import centroid_drift, temporal_drift, trial_split
from .windows import Window, over_windows

__all__ = [
    "Interval", "MagnitudeBin", "Null", "Perturbation", "Perturbations", "Transformed", "Window",
    "discordance", "get_statistic", "interval", "list_statistics", "magnitude_matched",
    "over_windows", "permutation_null", "perturbations", "transformation_study", "transformations",
    # The statistics, in the order in which they are listed:
    "feature_split", "basis_split", "sample_split", "anchor", "replicate", "anchor_profile",
    "label_conditioned_split", "supervised_alignment", "variance_ratio", "class_separation",
    "lda_stability", "fisher_discriminant", "silhouette", "perturbation_coherence",
    "perturbation_magnitude", "perturbation_spread", "perturbation_reproducibility",
    "input_noise_stability", "trial_split", "temporal_drift", "centroid_drift", "anisotropy",
    "participation_ratio", "effective_rank", "logme", "leep", "h_score", "nce", "gbc",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
