"""Claims of a paper, the results of a run, and the verdicts."""

from __future__ import annotations

from typing import NamedTuple

REPRODUCED = "reproduced"
PARTLY_REPRODUCED = "in part"
NOT_REPRODUCED = "not reproduced"
NO_DATA = "no data"
CONTRADICTED = "contradicted by the authors' own numbers"
VERDICTS = (REPRODUCED, PARTLY_REPRODUCED, NOT_REPRODUCED, CONTRADICTED, NO_DATA)


class Claim(NamedTuple):
    """A claim of a paper: its number, the statement (``claim``), the result of the authors' code
    when run (``theirs``), the result of this run (``ours``), and the verdict.

    ``verdict``: "reproduced", "in part", "not reproduced", "contradicted by the authors' own
    numbers" if the authors' numbers, like ours, say the opposite of the statement, or "no data" if
    measures are missing in this run. ``note``: the reason for a difference.
    """

    number: str
    claim: str
    theirs: str
    ours: str
    verdict: str
    note: str = ""
