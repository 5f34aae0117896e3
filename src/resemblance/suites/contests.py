"""What every suite says of measures, in one form: ranks by cell, and the claims of its paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from ..documents import read_document
from ..results.claims import Claim
from ..results.headlines import OWN, is_trial
from ..results.result import load_result
from ..significance import rank_within
from .resi.claims import claims as resi_claims
from .resi.evaluation import ResiResult, load_resi

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
    entries = read_document(
        file, lambda found: set(found.keys()), "a result", "remove it and run the suite again"
    )
    if "protocol" in entries:
        return _of_resi(load_resi(file))
    found = load_result(file)
    if found.suite not in SUITES:
        raise ValueError(f"{file} is of {found.suite!r}; known: {', '.join(SUITES)}")
    scores = {
        (section, *cell.split("/")): values for (section, cell), values in found.scores().items()
    }
    about = f"Size of the study: {found.size}."
    return Contest(found.suite, found.labels, _ranks_of(scores), found.claims, about, found.size)


def _of_resi(result: ResiResult) -> Contest:
    def ranks(among: Set[str]) -> Ranks:
        return result.among(among).ranks()

    domains = ", ".join(dict.fromkeys(s.domain for s in result.scores))
    suite = result.suite or OWN
    about = f"Suite: {suite}; domains: {domains}; protocol: {result.protocol}."
    labels = {m.spec: m.label for m in result.measures}
    return Contest("resi", labels, ranks, resi_claims(result), about, result.suite)


def _ranks_of(scores: Mapping[Cell, Mapping[str, float | None]]) -> Callable[[Set[str]], Ranks]:
    def ranks(among: Set[str]) -> Ranks:
        found = {}
        for cell, values in scores.items():
            own = {m: math.nan if (v := values.get(m)) is None else v for m in sorted(among)}
            if not all(
                map(math.isnan, own.values())
            ):  # where nobody has a value, nobody can be ranked
                found[cell] = rank_within(own)
        return found

    return ranks
