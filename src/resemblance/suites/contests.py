"""What every suite says of measures, in one form: ranks by cell, and the claims of its paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from ..results.claims import Claim
from ..results.headlines import is_trial
from ..results.result import load_result

Cell = tuple[str, ...]  # the first entry names the test
Ranks = Mapping[Cell, Mapping[str, float]]
SUITES: Mapping[str, str] = {
    "resi": "ReSi (Klabunde et al. 2025)",
    "sensitivity": "Sensitivity and specificity (Ding et al. 2021)",
    "manifolds": "Manifolds (Islam et al. 2025)",
    "stability": "Stability (Raju 2026)",
}


@dataclass(frozen=True)
class Contest:
    """What one suite says of measures.

    ``labels``: by specification, the measures that took part. ``ranks``: the rank of every measure
    in every cell, among those named; measures without a value stand last. ``about``: what the study
    is of, in a sentence. ``size``: of the study, such as "mini", empty for models of one's own.
    """

    suite: str
    labels: Mapping[str, str]
    ranks: Callable[[Set[str]], Ranks]
    claims: tuple[Claim, ...]
    about: str = ""
    size: str = ""

    @property
    def is_trial(self) -> bool:
        """Whether it is a run of a size that is only for trying out."""
        return is_trial(self.suite, self.size)

    @property
    def title(self) -> str:
        """What the suite is called."""
        return SUITES[self.suite]


def read_contest(folder: str | Path) -> Contest:
    """Return what the study in a folder says of measures. Raises ``ValueError`` for a folder
    without a result."""
    file = Path(folder) / "result.json"
    if not file.exists():
        raise ValueError(
            f"{folder} has no results yet: run a suite there, such as: resemblance resi run "
            f"{folder}"
        )
    found = load_result(file)
    if found.suite not in SUITES:
        raise ValueError(f"{file} is of {found.suite!r}; known: {', '.join(SUITES)}")

    def ranks(among: Set[str]) -> Ranks:
        return {(test, *cell.split("/")): own for (test, cell), own in found.ranks(among).items()}

    about = f"Size of the study: {found.size}."
    if "protocol" in found.facts:
        about = (
            f"Suite: {found.size}; domains: {found.facts['domains']}; protocol: "
            f"{found.facts['protocol']}."
        )
    return Contest(found.suite, found.labels, ranks, found.claims, about, found.size)
