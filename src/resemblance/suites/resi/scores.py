"""Scores as tables: the one that a reader sees, and all numbers of a test for a program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...results.sections import Section, Sign, Table
from ...results.values import known
from ...significance import stars
from ..case import Score
from ..families import ModelFamily
from .cases import TESTS, Absence
from .facts import family_of
from .ranking import Cell
from .standings import Standings, measure_signs
from .words import QUALITIES, letter, quality_word

UNMEASURED = "this measure was not evaluated here"
COLUMNS = (
    "test", "quality", "domain", "dataset", "architecture", "pooling", "measure", "label", "value",
    "p_value", "pairs", "failed", "reason", "reliability", "rank",
)  # fmt: skip
# selectors of columns: the tests whose quality they choose
CHOOSERS: Mapping[str, tuple[str, ...]] = {
    "output": ("output",),
    "tests of groups": ("labels", "shortcut", "augmentation"),
    "layers": ("layers",),
}


class ScoreCell(NamedTuple):
    """A cell of the table of scores: a value, or None with a reason.

    A value with a reason rests on fewer pairs than it should.
    """

    value: float | None
    reason: str = ""
    stars: str = ""


def scores_section(standings: Standings) -> Section:
    """Return every score: a row per measure, a column per test, models and quality.

    Rows are in the order of the ranking.
    """
    facts, columns = standings.facts, score_columns(standings)
    families = [ModelFamily(*column[2:]) for column in columns]
    cells = list(_cells(standings, columns))
    reasons: dict[str, str] = {}
    for column in cells:
        for cell in column:
            if cell.value is None:
                reasons.setdefault(cell.reason, letter(len(reasons)))
    is_partial = any(c.value is not None and c.reason for column in cells for c in column)
    complete_only = facts.failures == "last"
    framed = [] if facts.is_trial else _best(cells, complete_only=complete_only)
    selectors, choices = _selectors(standings, columns)
    reliabilities = facts.reliabilities()
    rows = tuple(
        (standings.names[spec], *(column[i].value for column in cells))
        for i, spec in enumerate(standings.order)
    )
    table = Table(
        "scores",
        "Scores by test",
        ("measure", *(family.short for family in families)),
        rows,
        "† some comparisons failed, so the score rests on fewer pairs" if is_partial else "",
        groups=("", *(TESTS[test] for test, *_ in columns)),
        shades=tuple(
            (None, *(v if v is None else float(np.clip(v, -1, 1)) for v in row[1:])) for row in rows
        ),
        framed=tuple((row, column + 1) for row, column in framed),
        signs=(*measure_signs(standings, standings.order), *_signs(cells, reasons)),
        hints=("", *(_hint(column, reliabilities.get(column)) for column in columns)),
        selectors=selectors,
        choices=choices,
    )
    best = "" if facts.is_trial else "; the best of each column is framed"
    about = (
        "Larger is better. The shade follows the value, blue above zero and orange below"
        f"{best}. * p ≤ 0.05, ** p ≤ 0.01 for the correlations with accuracy and outputs, by "
        f"permuting {facts.permute}, not corrected for the many tests of this table."
    )
    absences = {mark: f"no score: {reason}" for reason, mark in reasons.items()}
    return Section("scores", "Scores by test", about, (table,), terms=absences)


def score_columns(standings: Standings) -> tuple[Cell, ...]:
    """Return the columns of the table: by test, then domain and models, each in all qualities."""
    facts = standings.facts
    rows: Sequence[Score | Absence] = [*facts.scores, *facts.absent]
    present = {(row.test, family_of(row)) for row in rows}
    families = sorted(facts.families(), key=lambda f: standings.domains.index(f.domain))
    return tuple(
        (test, quality, *family)
        for test in TESTS
        for family in families
        if (test, family) in present
        for quality in QUALITIES[test]
    )


def _cells(standings: Standings, columns: Iterable[Cell]) -> Iterator[list[ScoreCell]]:
    """Yield columns of scores, in the order of the measures."""
    facts = standings.facts
    scores = {(s.cell, s.measure): s for s in facts.scores}
    absent: dict[Cell, str] = {(a.test, *family_of(a)): a.reason for a in facts.absent}
    failed: dict[Cell, str] = {(f.test, *family_of(f), f.measure): f.reason for f in facts.failed}
    for test, quality, *family in columns:
        absence = absent.get((test, *family), UNMEASURED)
        yield [
            _cell(
                scores.get(((test, quality, *family), spec)),
                absence,
                failed.get((test, *family, spec), ""),
            )
            for spec in standings.order
        ]


def _cell(score: Score | None, absence: str, failure: str) -> ScoreCell:
    if score is None:
        return ScoreCell(None, absence)
    if np.isfinite(score.value):
        reason = (score.reason or "") if score.failed else ""
        return ScoreCell(score.value, reason, stars(score.p_value))
    return ScoreCell(None, failure if score.failed and failure else score.reason or "no value")


def _best(cells: Sequence[Sequence[ScoreCell]], *, complete_only: bool) -> list[tuple[int, int]]:
    """Return row and column of the largest values.

    A value that rests on fewer pairs is among them only where it is ranked as if complete.
    """
    framed = []
    for position, column in enumerate(cells):
        values = [None if complete_only and c.reason else c.value for c in column]
        top = max((v for v in values if v is not None), default=np.inf)
        # averages of equal numbers differ by rounding
        best = [i for i, v in enumerate(values) if v is not None and v >= top - 1e-9]
        framed += [(row, position) for row in best]
    return framed


def _signs(cells: Sequence[Sequence[ScoreCell]], letters: Mapping[str, str]) -> Iterable[Sign]:
    """Yield the stars of significance, and the marks of what is missing with their reasons."""
    for position, column in enumerate(cells):
        for row, cell in enumerate(column):
            partial = "†" if cell.reason else ""
            mark = letters[cell.reason] if cell.value is None else cell.stars + partial
            if mark:
                yield Sign(row, position + 1, mark, cell.reason)


def _hint(column: Cell, reliability: float | None) -> str:
    test, quality, *family = column
    text = f"{TESTS[test]}, {quality_word(test, quality)}: {ModelFamily(*family)}"
    repeats = "" if reliability is None else f"; on other inputs it repeats by {reliability:.2f}"
    return text + repeats


def _selectors(
    standings: Standings, columns: Sequence[Cell]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the selectors by which a reader chooses columns, and what every column is in each."""
    by_selector: dict[str, list[str]] = {}
    for name, tests in CHOOSERS.items():
        by_selector[name] = [
            quality_word(test, quality) if test in tests else "" for test, quality, *_ in columns
        ]
    for domain in standings.domains:
        families = [ModelFamily(*column[2:]) for column in columns]
        by_selector[domain] = [
            str(family).removeprefix(f"{domain} · ") if family.domain == domain else ""
            for family in families
        ]
    useful = {name: words for name, words in by_selector.items() if len(set(words) - {""}) > 1}
    if not useful:
        return (), ()
    return tuple(useful), tuple(zip(*(("", *choices) for choices in useful.values())))


def data_tables(standings: Standings) -> dict[str, Table]:
    """Return, by test, all numbers of its scores, with p-values and the pairs that they rest on."""
    rows: dict[str, list[tuple[str | float | None, ...]]] = defaultdict(list)
    ranks = {} if standings.facts.is_trial else standings.ranks
    for s in standings.facts.scores:
        numbers = (known(s.value), s.p_value, s.pairs, s.failed)
        rank = ranks.get(s.cell, {}).get(s.measure)
        rows[s.test].append((*s.cell, s.measure, s.label, *numbers, s.reason, s.reliability, rank))
    return {
        test: Table(f"{test} scores", "Scores", COLUMNS, tuple(of_test), is_data=True)
        for test, of_test in rows.items()
    }
