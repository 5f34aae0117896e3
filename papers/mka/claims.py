"""The claims of the MKA paper on its synthetic experiments (Islam et al. 2025, Sections 5.1 to
5.3), by section of the manifold suite.

The paper shows figures without numbers: what is "theirs" was computed by its authors' code on the
same shapes; |τ| is Kendall's τ without its sign. A claim is reproduced when all parts of it hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from papers.judging import judged
from resemblance.results.claims import Claim
from resemblance.suites.manifolds import ManifoldFacts
from resemblance.suites.manifolds.grades import CLUSTERS

from . import judges

_BY_SECTION: Mapping[str, tuple[tuple[str, str, str, judges.Judge], ...]] = {
    "swiss roll": (
        (
            "M9",
            "Swiss roll: MKA, kCKA and CKA-RBF with δ = 0.2 are largest at r = 0.5, where CKA-RBF "
            "is least",
            "MKA (k 15) 0.770 at r 0, 1.000 from 0.4 to 0.6; kCKA 0.711 → 0.978; δ 0.2 0.749 → "
            "0.956; δ 1 0.960 → 0.471",
            judges.roll_peaks,
        ),
        (
            "M10",
            "Swiss roll at r = 0.5: MKA does not depend on k, kCKA does",
            "MKA ≥ 0.9999 for k = 5 to 800; kCKA 0.978 (k 15–100), 0.965 (200), 0.592 (800)",
            judges.roll_over_k,
        ),
        (
            "M11",
            "Swiss roll: SVCCA oscillates, unrelated to r",
            "0.043 (r 0), 0.761 (0.1), 0.352 (0.3), 0.525 (0.5)",
            judges.roll_of_svcca,
        ),
    ),
    "rings": (
        (
            "M1",
            "Rings: MKA finds the order for all k",
            "|τ| = 1.0 for k = 5 to 450",
            judges.always("rings", None),
        ),
        (
            "M2",
            "Rings: kCKA finds it for small k only and fails from about 200",
            "|τ| = 1.0 for k ≤ 100, 0.8 (150–250), 0.6 (300–400), 0.2 (450)",
            judges.small_k_only("rings", None, 200),
        ),
        (
            "M3",
            "Rings: CKA and SVCCA fail",
            "|τ|: CKA-RBF 0.2, CKA 0.2, SVCCA 0.2",
            judges.rings_of_cka,
        ),
        (
            "M4",
            "Rings: CKA-RBF with δ = 0.2 and IMD are good",
            "|τ|: δ 0.2 1.0, δ 0.45 0.8, IMD 0.8",
            judges.rings_of_rbf_and_imd,
        ),
        (
            "M5",
            "Rings: RTD is close",
            "|τ| = 0.8; 0, 5.390, 5.108, 7.345, 8.808",
            judges.rings_of_rtd,
        ),
    ),
    "clusters": (
        (
            "M6",
            "Clusters: MKA finds the order for all k",
            "|τ| = 1.0 for k = 5 to 250; of all from 2 to 12, 1.0 for k ≥ 50 and 0.96 for k ≤ 25",
            judges.always("clusters", CLUSTERS),
        ),
        (
            "M7",
            "Clusters: kCKA finds it for small k only and fails from about 100",
            "|τ| = 1.0 for k ≤ 50, 0.71 (100), 0.62 (150), 0.14 (200), 0.62 (250)",
            judges.small_k_only("clusters", CLUSTERS, 100),
        ),
        (
            "M8",
            "Clusters: RTD finds the order; CKA, SVCCA, CKA-RBF and IMD do not",
            "|τ|: RTD 1.0, CKA 0.24, SVCCA 0.14, CKA-RBF (δ 0.2) 0.24, IMD 0.24 to 0.43",
            judges.clusters_of_others,
        ),
    ),
    "perturbed": (
        (
            "M12 n",
            "Perturbed spots: MKA falls slowly with n",
            "d 1000: MKA 0.707 (n 250) → 0.649 (1000); kCKA 0.781 → 0.731; CKA 0.974 → 0.926",
            judges.perturbed_over_n,
        ),
        (
            "M12 d",
            "Perturbed spots: CKA rises with d",
            "n 1000: MKA 0.325 (d 2) → 0.646 (500); CKA 0.745 → 0.891; δ 0.2 0.280 → 1.000",
            judges.perturbed_over_d,
        ),
        (
            "M12 k",
            "Perturbed spots: MKA is flatter in k than kCKA",
            "d 100: MKA 0.588–0.633; kCKA 0.689–0.830",
            judges.perturbed_over_k,
        ),
    ),
    "lost": (
        (
            "M12 lost k",
            "Spots without correspondence: kCKA needs a large k to see it, MKA is flat in k",
            "d 100: MKA 0.390 to 0.299; kCKA 0.658 (k 5) to 0.013 (k 400)",
            judges.lost_over_k,
        ),
        (
            "M12 lost",
            "Spots without correspondence: MKA and kCKA are small",
            "n 1000, d 1000: MKA 0.314, kCKA 0.063, CKA 0.628",
            judges.lost,
        ),
    ),
    "moved": (
        (
            "M13 t",
            "One of two spots moves away: CKA falls, MKA and kCKA settle",
            "d 100: MKA 0.923 (t 1) → 0.912 (5, 10); kCKA 0.863 → 0.831; CKA 0.859 → 0.354",
            judges.moved,
        ),
        (
            "M13 d",
            "One of two spots moves away: MKA and kCKA settle higher as d grows",
            "t 10: MKA 1.000 (d 2) → 0.828 (1000); kCKA 0.992 → 0.703",
            judges.moved_over_d,
        ),
    ),
}
CLAIMS: Mapping[str, Callable[[ManifoldFacts], tuple[Claim, ...]]] = {
    section: partial(judged, claims) for section, claims in _BY_SECTION.items()
}
