"""What Ding et al. 2021 conclude, by section of the sensitivity suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from papers.judging import Evidence, judged
from resemblance.results.claims import Claim

from . import judges

_BY_SECTION: Mapping[str, tuple[tuple[str, str, str, Callable[[Any], Evidence]], ...]] = {
    "summary": (
        (
            "T1",
            "Procrustes is the best of the three on average over the four benchmarks (Spearman).",
            "language 0.580, 0.557, 0.544; vision 0.303, CKA 0.312 when corrected (printed 0.307)",
            judges.best_overall,
        ),
        (
            "T2",
            "None of the three is the best, or as good as the best, in every benchmark and domain "
            "(Spearman).",
            "CKA in benchmark 1, PWCCA in 2 and 3, Procrustes or CKA in 4",
            judges.no_dominance,
        ),
        (
            "T3",
            "Probes (both benchmarks 1 and 2) are followed better than accuracy out of "
            "distribution (both 3 and 4), and fine-tuning seeds (3) better than pretraining seeds "
            "(4) (Spearman, mean of the three measures).",
            "0.85, 0.83, 0.53, 0.15 (language, mean of the three)",
            judges.out_of_distribution_is_hard,
        ),
    ),
    "layers": (
        (
            "1a",
            "PWCCA fails the specificity test: of the other layers at most 5 % are farther than "
            "the same layer of another seed. CKA and Procrustes pass it: more than half are "
            "(share of farther layers, middle layer).",
            "PWCCA 0; CKA and Procrustes pass",
            judges.specificity,
        ),
        (
            "1b",
            "With probes over layers and seeds CKA is ahead of Procrustes by a little, at most "
            "0.05, and both are ahead of PWCCA (Spearman).",
            "QNLI 0.862, 0.876, 0.763; SST-2 0.890, 0.905, 0.829; vision CKA 0.507, 0.372 and "
            "Procrustes 0.485, 0.363",
            judges.order_in_layers,
        ),
    ),
    "deletion": (
        (
            "2a",
            "CKA does not detect a deletion before 90 % of the components are gone; Procrustes "
            "detects it sooner and PWCCA first.",
            "97 % for CKA (probe 0.80 to 0.63), 85 % for Procrustes (0.70), 55 % for PWCCA (0.75)",
            judges.insensitivity,
        ),
        (
            "2b",
            "CKA is the worst of the three where components are deleted (Spearman).",
            "Procrustes 0.860, CKA 0.751, PWCCA 0.870",
            judges.order_in_deletion,
        ),
    ),
    "finetuning": (
        (
            "3a",
            "All three measures follow accuracy out of distribution over fine-tuning seeds "
            "(Spearman; intervals above 0).",
            "Procrustes 0.551, CKA 0.462, PWCCA 0.568",
            judges.positive,
        ),
        (
            "3b",
            "In each of the late layers (the last 5 of 12, or that share), PWCCA is significantly "
            "ahead of Procrustes and Procrustes of CKA (Kendall, bootstrap intervals without 0, "
            "one pair of the reference with itself).",
            "in each of the five layers",
            judges.late_layers,
        ),
    ),
    "pretraining": (
        (
            "4a",
            "Over pretraining and fine-tuning seeds none of the three predicts accuracy under "
            "stress well (Spearman, absolute value below 0.3).",
            "antonymy 0.243, 0.227, 0.204; numerical 0.071, 0.122, 0.031; CIFAR-10-C 0.060, 0.057",
            judges.weak,
        ),
    ),
}
CLAIMS: Mapping[str, Callable[[Any], tuple[Claim, ...]]] = {
    section: partial(judged, claims) for section, claims in _BY_SECTION.items()
}
