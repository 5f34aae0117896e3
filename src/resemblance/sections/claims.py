"""What a paper claims, what a run gives for it, and the verdict."""

from __future__ import annotations

from typing import NamedTuple

REPRODUCED, PARTLY_REPRODUCED, NOT_REPRODUCED, NO_DATA = (
    "reproduced",
    "in part",
    "not reproduced",
    "no data",
)
CONTRADICTED = "contradicted by the authors' own numbers"
VERDICTS = (REPRODUCED, PARTLY_REPRODUCED, NOT_REPRODUCED, CONTRADICTED, NO_DATA)


class Claim(NamedTuple):
    """One claim: what the paper says, what its authors' code gives when run, what this run gives,
    and the verdict.

    ``verdict``: "reproduced", "in part", "not reproduced", "contradicted by the authors' own
    numbers" when these, like ours, say the opposite of its words, or "no data" when measures are
    missing in this run. ``note``: why it differs.
    """

    number: str
    claim: str
    theirs: str
    ours: str
    verdict: str
    note: str = ""
