"""Statistics of one representation, their intervals and permutation tests, and screens of many
perturbations."""

from ..catalogue import get_statistic, list_statistics
from ..statistics import (
    anchor,
    anchor_profile,
    anisotropy,
    basis_split,
    centroid_drift,
    class_separation,
    effective_rank,
    feature_split,
    fisher_discriminant,
    gbc,
    h_score,
    input_noise_stability,
    label_conditioned_split,
    lda_stability,
    leep,
    logme,
    nce,
    participation_ratio,
    perturbation_coherence,
    perturbation_magnitude,
    perturbation_reproducibility,
    perturbation_spread,
    replicate,
    sample_split,
    silhouette,
    supervised_alignment,
    temporal_drift,
    trial_split,
    variance_ratio,
)
from ._transformations import Transformed, transformation_study, transformations
from .magnitude import MagnitudeBin, discordance, magnitude_matched
from .resampling import Interval, Null, interval, permutation_null
from .screen import Perturbation, Perturbations, perturbations
from .windows import Window, sliding_windows

__all__ = [
    "Interval",
    "MagnitudeBin",
    "Null",
    "Perturbation",
    "Perturbations",
    "Transformed",
    "Window",
    "discordance",
    "get_statistic",
    "interval",
    "list_statistics",
    "magnitude_matched",
    "sliding_windows",
    "permutation_null",
    "perturbations",
    "transformation_study",
    "transformations",
    # The statistics, in the order in which they are listed:
    "feature_split",
    "basis_split",
    "sample_split",
    "anchor",
    "replicate",
    "anchor_profile",
    "label_conditioned_split",
    "supervised_alignment",
    "variance_ratio",
    "class_separation",
    "lda_stability",
    "fisher_discriminant",
    "silhouette",
    "perturbation_coherence",
    "perturbation_magnitude",
    "perturbation_spread",
    "perturbation_reproducibility",
    "input_noise_stability",
    "trial_split",
    "temporal_drift",
    "centroid_drift",
    "anisotropy",
    "participation_ratio",
    "effective_rank",
    "logme",
    "leep",
    "h_score",
    "nce",
    "gbc",
]


def __dir__() -> list[str]:
    return __all__
