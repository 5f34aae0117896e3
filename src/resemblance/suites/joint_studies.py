"""The studies that a joint ranking is made of: results, and until these are results, those of
ReSi."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

from ..results.claims import Claim
from ..results.headlines import is_trial
from ..results.result import Result, load_result
from . import SUITES
from .resi.claims import claims
from .resi.evaluation import ResiResult, load_resi

CellRanks: TypeAlias = Mapping[tuple[str, str], Mapping[str, float]]  # by test, and cell of it


class ResiStudy(NamedTuple):
    """A result of ReSi, as a joint ranking sees other results."""

    result: ResiResult
    suite: str = "resi"

    @property
    def size(self) -> str:
        """The size; empty for models of a user's own."""
        return self.result.suite

    @property
    def is_trial(self) -> bool:
        """Whether the size is only for trying out."""
        return is_trial("resi", self.size)

    @property
    def labels(self) -> dict[str, str]:
        """By specification, the measures."""
        return {m.spec: m.label for m in self.result.measures}

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of the paper."""
        return claims(self.result)

    @property
    def facts(self) -> dict[str, str]:
        """What the study is of."""
        domains = ", ".join(dict.fromkeys(s.domain for s in self.result.scores))
        return {"domains": domains, "protocol": self.result.protocol}

    def ranks(self, among: Iterable[str]) -> CellRanks:
        """Return the ranks of measures among each other."""
        ranks = self.result.among(among).ranks()
        return {(cell[0], "/".join(cell[1:])): of_cell for cell, of_cell in ranks.items()}


Study: TypeAlias = Result | ResiStudy


def read_result(folder: str | Path) -> Study:
    """Return the result of the study in a folder; ``ValueError`` for a folder without one, or with
    that of no suite."""
    file = Path(folder) / "result.json"
    if not file.exists():
        raise ValueError(
            f"{folder} has no results yet: run a suite there, such as: resemblance resi run "
            f"{folder}"
        )
    try:
        result = load_result(file)
    except ValueError as error:
        try:
            return ResiStudy(load_resi(file))
        except ValueError:
            raise error from None
    if result.suite not in SUITES:
        raise ValueError(f"{file} is of {result.suite!r}; known: {', '.join(SUITES)}")
    return result
