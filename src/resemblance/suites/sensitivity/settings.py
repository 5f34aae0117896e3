"""How large the sensitivity benchmark is, and which measures take part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

# Those of the paper as its authors' code has them, and the 24 of ReSi by their definitions.
PROCRUSTES, CKA, PWCCA = "procrustes", "cka", "pwcca[directions=all]"
MEAN_CCA, MEAN_SQUARED_CCA = (
    "mean_cca[divisor=width]",
    "mean_cca[aggregation=mean_squared,divisor=width]",
)
PAPER: Mapping[str, str] = {  # by the name in the paper
    "Procrustes": PROCRUSTES, "CKA": CKA, "PWCCA": PWCCA, "mean_CCA": MEAN_CCA,
    "mean_sq_CCA": MEAN_SQUARED_CCA,
}  # fmt: skip
MEASURES: tuple[str, ...] = ("default", *PAPER.values(), "cka[estimator=debiased]", "mka")
SLOW = frozenset({"rtd"})  # compared only up to a number of samples that depends on the size


class Size(NamedTuple):
    """How much is computed.

    ``samples``: inputs that representations are compared on (probes see all). ``layers``: how many,
    from the last, have components deleted. ``splits``: of the samples for each probe. ``draws``:
    bootstrap samples. ``permutations``: of the permutation tests. ``slow``: the most samples for a
    measure that is slow.
    """

    samples: int
    layers: int
    splits: int
    draws: int = 2000
    permutations: int = 1999
    slow: int = 150


SIZES: Mapping[str, Size] = {
    "small": Size(120, 1, 1, 200, 199, 100),
    "default": Size(200, 2, 3),
    "paper": Size(1000, 5, 3, 2000, 9999, 500),
}
