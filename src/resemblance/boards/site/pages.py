"""The pages of the site: of a measure, of a suite, of all versions, and how it works."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...display import printable
from ...report.numbers import counted, duration, number
from ...results.figures import Bar, Bars
from ...results.headlines import listed
from ...results.result import Result
from ...results.sections import Entry, Section, Table
from ...results.standing import AXIS, PLACES, place_words, tie_diagram
from ...results.values import known, mean
from ...significance import Place
from ...suites import SUITES
from ..ranking import board_of, current
from ..repository import AuthorsCard
from ..score_files import ScoreFile
from ..standing import claims_of, place_sentence, view_words
from ..views import REFERENCE, View, seconds_of, tests_of
from .content import SHORT, Content, raw_address

NEAR = 3  # neighbours in the ranking, on either side
Record = dict[str, Entry]


def median(values: Iterable[float | None]) -> float | None:
    """Return the median of the values that are known; None where none is."""
    numbers = [value for value in map(known, values) if value is not None]
    return statistics.median(numbers) if numbers else None


# ---------------------------------------------------------------------------------------- a measure


def measure_page(content: Content, spec: str) -> Result:
    """Return the page of a measure: its place, scores, claims, costs, versions and sources."""
    card, place = content.board.cards[spec], content.places.get(spec)
    authors = content.authors.get(card.name, AuthorsCard())
    by = f"by {', '.join(authors.authors)}" if authors.authors else ""
    who = ", ".join(filter(None, (authors.title, by)))
    summary = printable(card.summary.replace("``", ""))
    return Result(
        "board",
        "",
        tuple(_measure_sections(content, spec, authors)),
        facts={
            "name": printable(spec),
            "version": str(card.version),
            "family": card.family.replace("_", " "),
        },
        title=content.labels[spec],
        about=" ".join(filter(None, (summary, who and f"{who[0].upper()}{who[1:]}."))),
        lead=_place_words(content, spec, place),
    )


def _place_words(content: Content, spec: str, place: Place | None) -> str:
    if place is None:
        why = "its scores are missing in a suite"
        if spec in content.board.ranks.labels:
            why = "there are too few cells for an order"
        return f"It has no place on the joint ranking: {why}."
    tied = len(content.board.ranks.places.tied_with(spec))
    sentence = (
        f"It cannot be told from {counted(tied, 'other')}."
        if tied
        else "It can be told from every other measure."
    )
    return f"{place_sentence(place, len(content.places))} {sentence}"


def _measure_sections(content: Content, spec: str, authors: AuthorsCard) -> Iterator[Section]:
    files = {suite: of[spec] for suite, of in content.board.files.items() if spec in of}
    if spec in content.places:
        near = tuple(_near_tables(content, spec))
        yield Section("neighbours", "Near it in the ranking", "", near)
    tests, reasons = _tests(content, spec), dict(_reasons(files))
    cells = list(_cells(content, spec))
    yield Section(
        "scores",
        "Scores",
        "" if reasons else "It has a score in every cell of these suites.",
        (
            Table.of(
                tests,
                "tests",
                "Scores by test",
                "Mean rank among all measures with scores in the suite; the mean of the scores, "
                "and the median over the other measures of theirs. Scores of different tests "
                "cannot be compared.",
                links={"suite": [f"../suite/{test['suite']}.html" for test in tests]},
            ),
            Table.of(cells, "cells", "Scores in all cells", is_closed=True),
        ),
        tuple(_rank_figure(tests)),
        reasons=reasons,
    )
    yield Section("claims", "What it claims", "", terms=claims_of(content.board.cards[spec]))
    words = "CPU time of all comparisons on the packs, on the machine that is named below."
    yield Section("cost", "Cost", words, terms=_costs(content, spec, files))
    note = (
        "A changed measure is a new version with a row of its own. The place of an earlier version "
        "is the one that it would have now."
    )
    versions = Table.of(version_records(content, spec), "all", "Versions", note)
    yield Section("versions", "Versions", "", (versions,))
    yield Section("sources", "Where it is from", "", (_sources(content, spec, authors, files),))


def _near_tables(content: Content, spec: str) -> Iterator[Table]:
    """Yield the nearest measures in the ranking, and all that it cannot be told from."""
    places, order = content.board.ranks.places, list(content.places)
    at, tied = order.index(spec), places.tied_with(spec)
    near = [*order[max(at - NEAR, 0) : at], *order[at + 1 : at + 1 + NEAR]]
    note = (
        "Difference of mean ranks with an interval that holds for all pairs at once (95 %); below "
        "0: the other is ahead. Shaded: the two cannot be told apart."
    )
    behind = content.places[spec].mean
    for name, title, chosen in (
        ("nearest", "Nearest measures", near),
        ("tied", "Measures that it cannot be told from", [m for m in order if m in tied]),
    ):
        rows: list[Record] = [
            {
                "measure": content.labels[other],
                "place": place_words(content.places[other]),
                "behind it by": round(content.places[other].mean - behind, 2),
                "95 %": "{:.1f} to {:.1f}".format(*places.differences[other, spec]),
                "cell by cell": "compare",
            }
            for other in chosen
        ]
        pairs = [f"a={content.slugs[spec]}&b={content.slugs[other]}" for other in chosen]
        if rows:
            yield Table.of(
                rows,
                name,
                title,
                note,
                links={
                    "measure": [f"../{content.address(other)}" for other in chosen],
                    "cell by cell": [f"../compare.html#{pair}" for pair in pairs],
                },
                marked=tuple(i for i, other in enumerate(chosen) if other in tied),
                is_closed=name == "tied",
            )


def _tests(content: Content, spec: str) -> list[Record]:
    """Return the scores of a measure in every test of the suites in which it has scores."""
    rows = []
    for suite in (s for s in content.board.results if spec in content.board.files[s]):
        for test in tests_of(content.board, suite):
            cells = content.board.results[suite].scores().items()
            scores = [of for key, of in cells if key[0] == test]
            ranks = [of.get(spec) for key, of in content.ranks[suite].items() if key[0] == test]
            others = [m for m in content.board.files[suite] if m != spec]
            row: Record = {
                "test": test,
                "suite": suite,
                "cells": len(scores),
                "mean rank": known(mean(ranks)),
                "of": len(others) + 1,
                "mean score": known(mean(of.get(spec) for of in scores)),
                "median of the others": median(mean(of.get(m) for of in scores) for m in others),
            }
            rows.append(row)
    return rows


def _rank_figure(tests: Sequence[Record]) -> Iterator[Bars]:
    """Yield the mean rank in every test."""
    ranked = [(t, rank) for t in tests if isinstance(rank := t["mean rank"], float)]
    if ranked:
        most = max(int(t["of"] or 0) for t, _ in ranked)
        note = "The line is the mean rank of a measure that guesses."
        dots = tuple(Bar(f"{t['test']} ({t['suite']})", rank) for t, rank in ranked)
        yield _rank_bars("Mean rank by test", dots, note, most)


def _rank_bars(title: str, dots: tuple[Bar, ...], note: str, most: int) -> Bars:
    span = (1.0, float(most))
    return Bars("ranks", title, AXIS, dots, note, (most + 1) / 2, span, is_dotted=True)


def _cells(content: Content, spec: str) -> Iterator[Record]:
    """Yield the score and rank of a measure in every cell, and the median score of the others."""
    for suite in (s for s in content.board.results if spec in content.board.files[s]):
        for (test, cell), scores in content.board.results[suite].scores().items():
            yield {
                "cell": printable(cell),
                "test": test,
                "suite": suite,
                "score": known(scores.get(spec)),
                "rank": content.ranks[suite].get((test, cell), {}).get(spec),
                "median of the others": median(v for m, v in scores.items() if m != spec),
            }


def _reasons(files: Mapping[str, ScoreFile]) -> Iterator[tuple[str, str]]:
    """Yield why cells have no score, or an incomplete one, and which these are."""
    cells: dict[tuple[str, str], list[str]] = defaultdict(list)
    for suite, scores in files.items():
        for cell in scores.cells:
            if cell.value is None or cell.is_incomplete:
                why = cell.reason if cell.value is None else "some comparisons failed"
                cells[suite, why].append(f"{cell.test}: {cell.cell}")
    for (suite, reason), names in cells.items():
        many = f" and {len(names) - 3} more" if len(names) > 3 else ""
        yield printable(f"{suite}, {reason}"), printable(f"{'; '.join(names[:3])}{many}")


def _costs(content: Content, spec: str, files: Mapping[str, ScoreFile]) -> dict[str, str]:
    total, times = seconds_of(content.board, spec), ""
    if spec != REFERENCE and {spec, REFERENCE} <= content.board.ranks.labels.keys():
        times = f", {number(total / seconds_of(content.board, REFERENCE), 2)} times that of CKA"
    by_suite = {SUITES[suite]: duration(scores.seconds) for suite, scores in files.items()}
    return {"all packs": f"{duration(total)}{times}", **by_suite}


def _sources(
    content: Content, spec: str, authors: AuthorsCard, files: Mapping[str, ScoreFile]
) -> Table:
    """Return who made a measure, and how its scores were computed."""
    paper = authors.paper if authors.paper.startswith(("https://", "http://")) else ""
    badge = content.badge_address(spec)
    rows = [
        ("paper of the authors", authors.paper, paper),
        ("licence", authors.licence, ""),
        ("tuned on", ", ".join(authors.tuned_on) or "nothing declared", ""),
    ]
    for s in files.values():
        where = ", ".join(f"{key} {value}" for key, value in s.environment.items())
        rows.append((s.pack, f"code {s.code[:SHORT]}; {where}", raw_address(s)))
    rows.append(("badge", badge, badge))
    shown = [(name, words, address) for name, words, address in rows if words]
    return Table.of(
        [{"source": name, "what": printable(words)} for name, words, _ in shown],
        "sources",
        "Its authors, and how its scores were computed",
        links={"source": [a if "://" in a or not a else f"../{a}" for _, _, a in shown]},
    )


# ----------------------------------------------------------------------------------------- versions


def version_records(content: Content, spec: str) -> Iterator[Record]:
    """Yield all versions of a measure, newest first.

    The place of an earlier version is the one it would have now, in place of the newest.
    """
    mine = [s for s in current(content.files) if s.measure.spec == spec]
    versions = sorted({s.measure.version for s in mine}, reverse=True)
    for version in versions:
        of = {s.suite: s for s in mine if s.measure.version == version}
        place, count = content.places.get(spec), len(content.places)
        if version != versions[0]:
            files_of_all = (
                s for in_suite in content.board.files.values() for s in in_suite.values()
            )
            others = (s for s in files_of_all if s.measure.spec != spec)
            places = board_of([*others, *of.values()]).ranks.places
            rows = places.rows if places.is_settling else ()
            place, count = next((row for row in rows if row.measure == spec), None), len(rows)
        files = of.values()
        yield {
            "version": f"{version}" + ("" if version == versions[0] else " (replaced)"),
            "place": f"{place_words(place)} of {count}" if place else "–",
            "mean rank": place.mean if place else None,
            "code": ", ".join(sorted({s.code[:SHORT] for s in files})),
            "library": ", ".join(sorted({s.environment.get("resemblance", "") for s in files})),
            "date": max(s.environment.get("date", "") for s in files) or "not recorded",
            "packs": ", ".join(s.pack for s in files),
        }


def history_page(content: Content) -> Result:
    """Return the page of all versions of all measures."""
    versions = [
        (spec, record) for spec in content.order for record in version_records(content, spec)
    ]
    table = Table.of(
        ({"measure": content.labels[spec], **record} for spec, record in versions),
        "all",
        "All versions",
        "Every version whose scores are known. The code is the start of its SHA-256.",
        links={"measure": [content.address(spec) for spec, _ in versions]},
    )
    return Result(
        "board",
        "",
        (Section("versions", "Versions", "", (table,)),),
        title="Versions",
        about="A measure that changes gets a new version, and a row of its own; earlier rows stay. "
        "So does a pack.",
    )


# ------------------------------------------------------------------------------------------ a suite


def suite_page(content: Content, suite: str, view: View) -> Result:
    """Return the page of a suite: the ranking within it, by test, and its cells."""
    first = next(iter(content.board.files[suite].values()))
    cells = list(_suite_cells(content, suite))
    title = (
        f"{counted(len(cells), 'cell')} of {counted(len(tests_of(content.board, suite)), 'test')}"
    )
    note = ""
    if content.board.unranked[suite]:
        note = (
            "Reliability: how far what a cell expects repeats on other inputs; too low to rank by."
        )
    return Result(
        "board",
        "",
        (
            Section(
                "ranking",
                "Ranking",
                "",
                (_suite_ranking(content, suite, view),),
                tuple(_suite_figures(content, view)),
            ),
            Section(
                "cells",
                "Cells",
                "A cell is one test by one quality on one set of models. Larger scores are better.",
                (Table.of(cells, "cells", title, note),),
            ),
        ),
        facts={"pack": first.pack, "manifest": first.manifest[:SHORT]},
        title=SUITES[suite],
        lead=view_words(view, content.labels),
    )


def _suite_figures(content: Content, view: View) -> Iterator[Any]:
    """Yield the mean ranks with their intervals, and what cannot be told apart, of an order."""
    rows, ties = view.places.rows, tie_diagram(view.places, content.labels)
    if view.is_settled and ties is not None:
        note = (
            "Mean ranks with 95 % intervals. The line is the mean rank of a measure that guesses."
        )
        dots = tuple(Bar(content.labels[p.measure], p.mean, p.low, p.high) for p in rows)
        yield _rank_bars("Mean rank over the cells of the suite", dots, note, len(rows))
        yield ties


def _suite_ranking(content: Content, suite: str, view: View) -> Table:
    """Return the mean ranks by test: in order of places, or by name where there is no order."""
    ranks = content.ranks[suite]
    tests = Counter(test for test, _ in ranks)
    placed = {p.measure: p for p in view.places.rows} if view.is_settled else {}
    rest = sorted(set(content.board.files[suite]) - set(placed), key=lambda s: content.labels[s])
    order, rows = [*placed, *rest], []
    for spec in order:
        place = placed.get(spec)
        row: Record = {
            "measure": content.labels[spec],
            "place": place and place_words(place),
            "mean rank": place and place.mean,
            "95 %": place and f"{place.low:.1f} to {place.high:.1f}",
        }
        for test, count in tests.items():
            of_test = (of.get(spec) for key, of in ranks.items() if key[0] == test)
            row[f"{test} ({count})"] = known(mean(of_test))
        rows.append(row)
    order_words = "By name: there is no order."
    if placed:
        order_words = f"Shaded: tied with the leader. {PLACES}"
    return Table.of(
        rows,
        "places",
        "Ranking in this suite",
        f"{order_words} The last columns are mean ranks by test, with the number of cells in "
        "brackets.",
        links={"measure": [f"../{content.address(spec)}" for spec in order]},
        marked=tuple(i for i, m in enumerate(order) if m in placed and placed[m].is_tied),
    )


def _suite_cells(content: Content, suite: str) -> Iterator[Record]:
    unranked = content.board.unranked[suite]
    for (test, cell), scores in content.board.results[suite].scores().items():
        values = {spec: v for spec, value in scores.items() if (v := known(value)) is not None}
        best = max(values.values(), default=None)
        leaders = [content.labels[spec] for spec, value in values.items() if value == best]
        row: Record = {
            "cell": printable(cell),
            "test": test,
            "measures with a score": len(values),
            "best score": best,
            "by": listed(leaders) if leaders else "–",
            "median score": median(values.values()),
        }
        yield row | ({"reliability": unranked.get((test, cell))} if unranked else {})
