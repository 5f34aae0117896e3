"""What was recommended: measures with their evidence, what argues against them, and why others are
not among them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..display import card, table
from ..engine.forecast import duration
from ..extras import need
from ..results.headlines import listed
from ..significance import Place, Places
from ..suites.joint import CellRanks
from .questions import Needs
from .sizes import AtSize

RULE = (
    "In the group come first: measures not saturated at n and d; a better place in the cells that "
    "ask this; where these are equal, a better place by all cells; then a lower cost."
)
MEASURED = Path(__file__).with_name("held_out.json")  # made by benchmarks/choosing.py
COLUMNS = (
    "measure",
    "place here",
    "by all cells",
    "cells",
    "chance",
    "seconds",
    "ignores",
    "against",
)


class Candidate(NamedTuple):
    """A measure that has all that is asked for.

    ``place``: among the candidates, in the cells that ask the question; None where these tell none
    apart. ``overall``: by all cells of the board. ``is_tied``: it cannot be told from
    the leader in the cells that ask. ``cells``: how many it was ranked in.
    ``ignores``: the changes that do not move its value. ``size``: what is known of it for n and d,
    None without these. ``against``: what argues against it, the gravest first.
    """

    measure: str
    label: str
    place: Place | None
    overall: Place | None
    is_tied: bool
    cells: int
    ignores: tuple[str, ...]
    size: AtSize | None
    against: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """Return everything by name, as a row of a table has it."""
        p, size = self.place, self.size or AtSize(None, None)
        standing = (None,) * 5 if p is None else (p.position, p.best, p.worst, p.mean, p.behind)
        names = ("position", "best", "worst", "mean_rank", "behind")
        return {
            "measure": self.measure,
            "label": self.label,
            "is_tied": self.is_tied,
            **dict(zip(names, standing)),
            "overall": self.overall and self.overall.position,
            "cells": self.cells,
            **size._asdict(),
            "ignores": ", ".join(self.ignores),
            "against": "; ".join(self.against),
        }


class Exclusion(NamedTuple):
    """A measure that is not recommended, and every reason why."""

    measure: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Recommendation:
    """Which measures fit a case: the result of :func:`resemblance.recommend`.

    ``candidates``: the measures that have all that is asked for; those of the tied ``group`` first.
    ``excluded``: all others of the catalogue. ``evidence``: on which cells the order rests, in
    words. ``remarks``: what was not as asked for. ``places``: the places of the candidates;
    ``ranks``: by suite and cell, the ranks that these are computed from; ``manifests``: by suite,
    the SHA-256 of the manifest of the pack. ``machine``: where the costs were measured.
    """

    needs: Needs
    candidates: tuple[Candidate, ...]
    excluded: tuple[Exclusion, ...]
    evidence: str
    remarks: tuple[str, ...]
    places: Places
    ranks: Mapping[str, CellRanks]
    manifests: Mapping[str, str]
    machine: str

    @property
    def group(self) -> tuple[Candidate, ...]:
        """The candidates that cannot be told from the leader, in the order of ``rule``."""
        return tuple(c for c in self.candidates if c.is_tied)

    @property
    def measures(self) -> tuple[str, ...]:
        """The specifications of the group."""
        return tuple(c.measure for c in self.group)

    @property
    def rule(self) -> str:
        """What decides the order inside the group; nothing where there is no order."""
        return RULE * (has_order(self.places) and len(self.group) > 1)

    @property
    def worth(self) -> str:
        """How often such an answer held in a domain that was left out, as it was measured once;
        nothing where there is no order."""
        if not has_order(self.places):
            return ""
        m = json.loads(MEASURED.read_text(encoding="utf-8"))
        return (
            f"Held out: such a group contained the best measure of another domain in {m['held']} "
            f"of {m['cases']} cases ({m['chance']} by chance); its first was place {m['leader']} "
            f"of {m['measures']} there on average, the first by all cells place {m['overall']}."
        )

    @property
    def line(self) -> str:
        """The answer in a sentence."""
        names = [c.measure for c in self.group]
        if not names:
            return "No measure has all that is asked for."
        if len(self.candidates) == 1:
            return f"{names[0]} alone has all that is asked for."
        if not has_order(self.places):
            cells, count = sum(map(len, self.ranks.values())), len(names)
            return (
                f"No recommendation: {cells} cells tell none of {count} measures apart. Report "
                "cka[estimator=debiased] with a measure of neighbours, such as jaccard."
            )
        if len(names) == 1:
            return f"{names[0]} is ahead of all others that have what is asked for."
        return f"{len(names)} measures cannot be told apart: {listed(names)}."

    def reasons(self) -> dict[str, list[str]]:
        """Return the measures that are excluded, by reason."""
        by_reason: dict[str, list[str]] = {}
        for exclusion in self.excluded:
            for reason in exclusion.reasons:
                by_reason.setdefault(reason, []).append(exclusion.measure)
        return by_reason

    def records(self) -> list[dict[str, Any]]:
        """Return a record for each candidate."""
        return [c.record() for c in self.candidates]

    def to_pandas(self) -> Any:
        """Return the records as a DataFrame."""
        return need("pandas").DataFrame(self.records())

    def document(self) -> dict[str, Any]:
        """Return everything as JSON can hold it, ranks by suite, test and cell included."""
        needs = self.needs._asdict() | {"invariant_to": sorted(self.needs.invariant_to)}
        ranks = {
            suite: [{"test": test, "cell": cell, "ranks": of} for (test, cell), of in cells.items()]
            for suite, cells in self.ranks.items()
        }
        return {
            "needs": needs,
            "command": self.needs.command,
            "answer": self.line,
            "group": list(self.measures),
            "rule": self.rule,
            "worth": self.worth,
            "evidence": self.evidence,
            "remarks": list(self.remarks),
            "candidates": self.records(),
            "excluded": [e._asdict() for e in self.excluded],
            "manifests": dict(self.manifests),
            "machine": self.machine,
            "ranks": ranks,
        }

    def facts(self) -> dict[str, str]:
        """Return what concerns all measures, by name, as texts."""
        return {
            "answer": self.line,
            "evidence": self.evidence,
            "order": self.rule,
            "worth": self.worth,
            "note": "; ".join(self.remarks),
            "costs": f"CPU seconds of a pair on one thread of {self.machine}" * bool(self.machine),
            "excluded": f"{len(self.excluded)} measures" * bool(self.excluded),
        }

    def rows(self) -> list[tuple[str, ...]]:
        """Return a row of texts for each measure of the group."""
        return [row_of(c) for c in self.group]

    def __repr__(self) -> str:
        fit, unfit = len(self.candidates), len(self.excluded)
        return f"<Recommendation: {self.line} Candidates: {fit}, excluded: {unfit}>"

    def _repr_html_(self) -> str:
        return card("Recommendation", self.facts()) + table("Measures", COLUMNS, self.rows())


def has_order(standing: Places) -> bool:
    """Return whether any two measures can be told apart."""
    return any(place.worst < len(standing.rows) for place in standing.rows)


def row_of(candidate: Candidate) -> tuple[str, ...]:
    """Return the texts of a candidate, one for each of ``COLUMNS``."""
    size = candidate.size or AtSize(None, None)
    return (
        candidate.measure,
        _place_words(candidate.place),
        _place_words(candidate.overall),
        str(candidate.cells),
        "–" if size.chance is None else _brief(size.chance),
        "–" if size.seconds is None else duration(size.seconds),
        ", ".join(name.replace("_", " ") for name in candidate.ignores) or "nothing",
        "; ".join(candidate.against) or "–",
    )


def _brief(chance: float) -> str:
    is_whole = 100 <= abs(chance) < 1e6
    return f"{chance:{'.0f' if is_whole else '.2g'}}".replace("-", "−")


def _place_words(place: Place | None) -> str:
    """Return a position with its 95 % interval: "3 (1–7)"."""
    return "–" if place is None else f"{place.position} ({place.best}–{place.worst})"
