"""Statistics of one representation, one file per topic: reliability, labels, perturbations, trials,
spectrum, transfer, dimension, neural collapse and projections."""

from .collapse import nc1, nc2_angles, nc2_norms, nc3, nc4
from .dimension import mle_dimension, twonn_dimension
from .perturbation import (
    input_noise_stability,
    perturbation_coherence,
    perturbation_magnitude,
    perturbation_reproducibility,
    perturbation_spread,
)
from .projection import continuity, trustworthiness
from .replicates import anchor_profile, replicate
from .spectrum import anisotropy, effective_rank, participation_ratio, rankme, spectral_decay
from .splits import anchor, basis_split, feature_split, sample_split
from .supervised import (
    class_separation,
    label_conditioned_split,
    lda_stability,
    supervised_alignment,
    variance_ratio,
)
from .transfer import fisher_discriminant, gbc, h_score, leep, logme, nce, silhouette
from .trials import centroid_drift, temporal_drift, trial_split

__all__ = [
    # In the order of the catalogue:
    "feature_split", "basis_split", "sample_split", "anchor", "replicate", "anchor_profile",
    "label_conditioned_split", "supervised_alignment", "variance_ratio", "class_separation",
    "lda_stability", "fisher_discriminant", "silhouette", "perturbation_coherence",
    "perturbation_magnitude", "perturbation_spread", "perturbation_reproducibility",
    "input_noise_stability", "trial_split", "temporal_drift", "centroid_drift", "anisotropy",
    "participation_ratio", "effective_rank", "rankme", "spectral_decay", "twonn_dimension",
    "mle_dimension", "nc1", "nc2_norms", "nc2_angles", "nc3", "nc4", "trustworthiness",
    "continuity", "logme", "leep", "h_score", "nce", "gbc",
]  # fmt: skip
