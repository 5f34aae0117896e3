"""The page of a suite: the ranking within it, by test, and its cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...citations import PAPERS_OF, SOFTWARE, entries, entry, short, url_of
from ...display import printable
from ...report.numbers import counted
from ...results.figures import Bar, Bars
from ...results.headlines import listed
from ...results.sections import Entry, Table
from ...results.standing import AXIS, PLACES, place_words, tie_diagram
from ...results.values import known, mean
from ...significance import Place
from ...suites import SUITES
from ...suites.joint import CellRanks
from ..views import ALL, View, tests_of
from ..words import view_words
from .content import Content
from .measure_scores import median
from .tables import LinkedTable, SiteFigure, drawn, linked


def suite_page(content: Content, suite: str, views: Sequence[View]) -> dict[str, Any]:
    """Return what the page of a suite shows."""
    view = next(v for v in views if (v.cells.key, v.measures.key) == (suite, ALL))
    first = next(iter(content.board.files[suite].values()))
    papers = [key for key in PAPERS_OF.get(suite, ()) if key in entries()]
    return {
        "title": SUITES[suite],
        "suite": suite,
        "pack": first.pack,
        "manifest": first.manifest,
        "papers": [(short(key), url_of(key) or "") for key in papers],
        "words": view_words(view, content.labels),
        "figures": list(_figures(content, view)),
        "ranking": _ranking(content, suite, view),
        "cells": _cells(content, suite),
        "bibtex": "\n\n".join(map(entry, [SOFTWARE, *papers])),
        "citing": "Cite the software, and the paper of the suite.",
    }


def _figures(content: Content, view: View) -> Iterator[SiteFigure]:
    """Yield the mean ranks with their intervals, and what cannot be told apart, of an order."""
    rows = view.places.rows
    ties = tie_diagram(view.places, content.labels)
    if not view.is_settled or ties is None:
        return
    yield drawn(
        Bars(
            "ranks",
            "Mean rank over the cells of the suite",
            AXIS,
            tuple(Bar(content.labels[p.measure], p.mean, p.low, p.high) for p in rows),
            "Mean ranks with 95 % intervals. The line is the mean rank of a measure that guesses.",
            (len(rows) + 1) / 2,
            (1.0, float(len(rows))),
            is_dotted=True,
        )
    )
    yield drawn(ties)


def _ranking(content: Content, suite: str, view: View) -> LinkedTable:
    """Return the mean ranks by test: in order of places, or by name where there is no order."""
    by_test = _by_test(content.ranks[suite])
    placed = {p.measure: p for p in view.places.rows} if view.is_settled else {}
    rest = sorted(set(content.board.files[suite]) - set(placed), key=lambda s: content.labels[s])
    order = [*placed, *rest]
    rows = tuple(
        (
            content.labels[spec],
            *_standing(placed.get(spec)),
            *(known(mean(of.get(spec) for of in cells)) for cells in by_test.values()),
        )
        for spec in order
    )
    tests = (f"{test} ({len(cells)})" for test, cells in by_test.items())
    columns = ("measure", "place", "mean rank", "95 %", *tests)
    note = (
        f"{f'Shaded: tied with the leader. {PLACES}' if placed else 'By name: there is no order.'} "
        "The last columns are mean ranks by test, with the number of cells in brackets."
    )
    marked = tuple(i for i, spec in enumerate(order) if spec in placed and placed[spec].is_tied)
    addresses = {(i, 0): content.address(spec) for i, spec in enumerate(order)}
    table = Table("places", "Ranking in this suite", columns, rows, note, marked=marked)
    return linked(table, addresses)


def _standing(place: Place | None) -> tuple[Entry, ...]:
    if place is None:
        return None, None, None
    return place_words(place), place.mean, f"{place.low:.1f} to {place.high:.1f}"


def _by_test(ranks: CellRanks) -> dict[str, list[Mapping[str, float]]]:
    tests: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    for (test, _), of_cell in ranks.items():
        tests[test].append(of_cell)
    return tests


def _cells(content: Content, suite: str) -> LinkedTable:
    columns = ("cell", "test", "measures with a score", "best score", "by", "median score")
    rows = tuple(_cell_rows(content, suite))
    tests = len(tests_of(content.board, suite))
    title = f"{counted(len(rows), 'cell')} of {counted(tests, 'test')}"
    return linked(Table("cells", title, columns, rows), {})


def _cell_rows(content: Content, suite: str) -> Iterator[tuple[Entry, ...]]:
    for (test, cell), scores in content.board.results[suite].scores().items():
        values = {spec: v for spec, value in scores.items() if (v := known(value)) is not None}
        best = max(values.values(), default=None)
        leaders = [content.labels[spec] for spec, value in values.items() if value == best]
        who = listed(leaders) if leaders else "–"
        yield printable(cell), test, len(values), best, who, median(list(values.values()))
