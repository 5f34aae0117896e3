"""The statistics of the library, and how to find one."""

from __future__ import annotations

from ..catalogue import parse_parameters, wanted_invariances
from ..statistic import STATISTIC_FAMILIES, Statistic
from ..suggestions import did_you_mean
from .evidence import logme
from .noise import input_noise_stability
from .perturbation import (
    perturbation_coherence,
    perturbation_magnitude,
    perturbation_reproducibility,
    perturbation_spread,
)
from .replicates import anchor_profile, replicate
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
from .trials import centroid_drift, temporal_drift, trial_split
from .unmatched import anchor, sample_split

STATISTICS: tuple[Statistic, ...] = (
    feature_split, basis_split, sample_split, anchor,
    replicate, anchor_profile,
    label_conditioned_split, supervised_alignment, variance_ratio, class_separation, lda_stability,
    fisher_discriminant, silhouette,
    perturbation_coherence, perturbation_magnitude, perturbation_spread,
    perturbation_reproducibility,
    input_noise_stability,
    trial_split, temporal_drift, centroid_drift,
    anisotropy, participation_ratio, effective_rank,
    logme, leep, h_score, nce, gbc,
)  # fmt: skip


def list_statistics(
    *, family: str | None = None, invariant_to: str | set[str] | None = None
) -> list[Statistic]:
    """Return the statistics of one representation, by family, that are of this family and have
    these invariances.

    Raises ``ValueError`` for a family or an invariance that does not exist.
    """
    family = None if family is None else family.lower()
    wanted = wanted_invariances(family, STATISTIC_FAMILIES, invariant_to)
    return [s for s in STATISTICS if family in (None, s.family) and wanted <= s.invariant_to]


def get_statistic(spec: str | Statistic) -> Statistic:
    """Return a statistic by name, label, or specification
    (``"feature_split[k=10,rdm=euclidean]"``).

    Raises ``ValueError`` with the closest name when there is none.
    """
    if isinstance(spec, Statistic):
        return spec
    name, bracket, parameters = spec.strip().partition("[")
    known = {s.label.lower(): s for s in STATISTICS} | {s.name: s for s in STATISTICS}
    if name.strip().lower() not in known or (bracket and not parameters.endswith("]")):
        raise ValueError(
            "no statistic "
            f"{spec!r}{did_you_mean(name.lower(), known, show=[s.name for s in STATISTICS])}"
        )
    found = known[name.strip().lower()]
    return found.where(**parse_parameters(parameters[:-1])) if parameters[:-1] else found
