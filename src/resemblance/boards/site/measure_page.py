"""The page of a measure: its place, scores, claims, costs, versions and sources."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...citations import SOFTWARE, entries, entry, short, url_of
from ...display import printable
from ...report.numbers import duration, number
from ...results.figures import Bar, Bars
from ...results.sections import Entry, Table
from ...results.standing import AXIS, place_words
from ...suites import SUITES
from ..score_files import ScoreFile
from ..views import seconds_of
from ..words import claims_of, place_sentence
from .authors import AuthorsCard
from .badges import badge
from .comparing import neighbours
from .content import Content, raw_address
from .measure_scores import ScoresInTest, cell_rows, scores_in_tests
from .tables import LinkedTable, SiteFigure, drawn, linked
from .versions import VersionOf, versions_table

NEAR = 3  # neighbours in the ranking, on either side


class CitedWork(NamedTuple):
    """The work that introduced a measure: its name, address and BibTeX; "" where not known."""

    name: str
    address: str
    bibtex: str


def measure_page(content: Content, spec: str, versions: Sequence[VersionOf]) -> dict[str, Any]:
    """Return what the page of a measure shows."""
    card, place = content.board.cards[spec], content.places.get(spec)
    files = {suite: of[spec] for suite, of in content.board.files.items() if spec in of}
    tests = scores_in_tests(content, spec)
    count = len(content.places)
    authors = content.authors.get(card.name, AuthorsCard())
    paper = _paper(card.reference)
    return {
        "title": content.labels[spec],
        "spec": printable(spec),
        "measure": spec,
        "card": card,
        "summary": printable(card.summary.replace("``", "")),
        "claims": claims_of(card),
        "place": place,
        "sentence": place_sentence(place, count) if place else "",
        "places": {s: place_words(p) for s, p in content.places.items()},
        "badge": badge(place, count),
        "badge_address": f"badge/{content.slugs[spec]}.svg",
        "tied": content.board.ranks.places.tied_with(spec) if place else (),
        "neighbours": neighbours(content, spec, NEAR) if place else (),
        "tests": _tests_table(tests),
        "figure": _figure(content, spec, tests),
        "cells": _cells_table(content, spec),
        "reasons": list(_reasons(files)),
        "costs": _costs(content, spec, files),
        "versions": versions_table(versions),
        "sources": [(f"{s.pack}", raw_address(s), s) for s in files.values()],
        "authors": authors,
        "paper": paper,
        "bibtex": "\n\n".join(filter(None, [entry(SOFTWARE), paper.bibtex, authors.bib])),
        "citing": "Cite the software, and the paper of the measure.",
    }


def _paper(key: str) -> CitedWork:
    if key not in entries():
        return CitedWork(printable(key), "", "")
    return CitedWork(short(key), url_of(key) or "", entry(key))


def _tests_table(tests: tuple[ScoresInTest, ...]) -> LinkedTable:
    columns = (
        "test", "suite", "cells", "mean rank", "of", "mean score", "median of the others",
    )  # fmt: skip
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (t.test, t.suite, t.cells, t.rank, t.measures, t.score, t.others) for t in tests
    )
    note = (
        "Mean rank among all measures with scores in the suite; the mean of the scores, and the "
        "median over the other measures of theirs. Scores of different tests cannot be compared."
    )
    addresses = {(i, 1): f"suite/{t.suite}.html" for i, t in enumerate(tests)}
    return linked(Table("tests", "Scores by test", columns, rows, note), addresses)


def _figure(content: Content, spec: str, tests: tuple[ScoresInTest, ...]) -> SiteFigure | None:
    """Draw the mean rank in every test."""
    ranked = [t for t in tests if t.rank is not None]
    if not ranked:
        return None
    most = max(t.measures for t in ranked)
    dots = tuple(Bar(f"{t.test} ({t.suite})", t.rank or 0.0) for t in ranked)
    return drawn(
        Bars(
            "ranks",
            "Mean rank by test",
            AXIS,
            dots,
            "The line is the mean rank of a measure that guesses.",
            (most + 1) / 2,
            (1.0, float(most)),
            is_dotted=True,
        )
    )


def _cells_table(content: Content, spec: str) -> LinkedTable:
    columns = ("cell", "test", "suite", "score", "rank", "median of the others")
    rows: tuple[tuple[Entry, ...], ...] = tuple(cell_rows(content, spec))
    return linked(Table("cells", f"Scores in all cells ({len(rows)})", columns, rows), {})


def _reasons(files: Mapping[str, ScoreFile]) -> Iterator[tuple[str, str]]:
    """Yield why cells have no score, and which these are."""
    cells: dict[tuple[str, str], list[str]] = defaultdict(list)
    for suite, scores in files.items():
        for cell in scores.cells:
            if cell.value is None:
                cells[suite, cell.reason].append(f"{cell.test}: {cell.cell}")
            elif cell.is_incomplete:
                cells[suite, "some comparisons failed"].append(f"{cell.test}: {cell.cell}")
    for (suite, reason), names in cells.items():
        many = f" and {len(names) - 3} more" if len(names) > 3 else ""
        yield printable(f"{suite}, {reason}"), printable(f"{'; '.join(names[:3])}{many}")


def _costs(content: Content, spec: str, files: Mapping[str, ScoreFile]) -> dict[str, str]:
    total = seconds_of(content.board, spec)
    reference = content.reference if spec in content.board.ranks.labels else None
    times = [f"{number(total / reference, 2)} times that of CKA"] if reference else []
    whole = ", ".join([duration(total), *times])
    return {"all packs": whole, **{SUITES[s]: duration(f.seconds) for s, f in files.items()}}
