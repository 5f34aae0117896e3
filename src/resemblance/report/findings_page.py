"""One self-contained HTML page of what a suite found: it loads nothing from elsewhere, sorts its
tables, and prints."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..catalogue import get_measure
from ..results.claims import NO_DATA, REPRODUCED, Claim
from ..results.figures import Bar, Bars, Chart
from ..results.headlines import RESAMPLING, size_words
from ..results.result import Result
from ..results.sections import Entry, Section, Table
from ..store import write_atomically
from .findings_figures import Key, bars, chart
from .numbers import decimals, digits, minus, number
from .strip import strip
from .template import SIGNS, template

NUMBER = r"[-−]?\d[\d.]*"
NUMBERS = re.compile(
    rf"({NUMBER})\s?%?(?: (?:to|±) {NUMBER}\s?%?)?"
)  # a number or an interval, with or without %
FEW, FIRST = 10, 8  # lines that are all shown at first; how many of more are


class Cell(NamedTuple):
    """A cell of a table: what is written, and the number by which it is sorted ("" for none, None
    for a text)."""

    text: str
    value: str | None


class Shown(NamedTuple):
    """What the page shows of a section; ``place`` names it in links, ``keys`` say how its lines are
    drawn."""

    section: Section
    place: str
    keys: tuple[tuple[str, Key], ...]
    figures: tuple[tuple[Chart | Bars, str], ...]
    tables: tuple[tuple[Table, tuple[bool, ...], tuple[tuple[Cell, ...], ...]], ...]
    signs: tuple[Claim, ...]


def write_findings_page(
    findings: Result, path: str | Path, *, title: str | None = None, introduction: str = ""
) -> None:
    """Write what a suite found to one HTML file.

    The page has the verdicts, then for every section what it is about, the claims with the paper's
    and our numbers, the figures, the tables, and why something has no value; at the end the mean
    ranks of the measures, times, and how it was made. Any line can be shown or hidden, any table
    sorted. It needs no network; two calls with equal findings write the same bytes, and a reader
    sees the old or the new file, never a part.

    Parameters
    ----------
    findings : from the ``run`` of a suite, or ``load_result``.
    path : the file to write; its folder must exist.
    title : the heading; by default the name of the suite.
    introduction : a paragraph before everything else.

    Needs the extra ``report``.
    """
    heading = title or f"The {findings.suite} suite"
    content = _content(findings) | {"introduction": introduction}
    write_atomically(Path(path), template("findings").render(title=heading, **content))


def _content(findings: Result) -> dict[str, Any]:
    count = Counter(claim.verdict for claim in findings.claims)
    standing, sections = _standing(findings), shown(findings.sections)
    return {
        "findings": findings,
        "strip": strip_of(findings),
        "headline": headline_of(findings),
        "command": command_of(findings),
        "tested": len(findings.claims) - count[NO_DATA],
        "verdicts": [(v, count[v]) for v in SIGNS if count[v]],
        "verdict": verdict(findings),
        "sections": sections,
        "standing": standing and (standing, bars(standing)),
        "numbers": sorted({key.number for s in sections for _, key in s.keys}),
        "seconds": [(name, _time(seconds)) for name, seconds in findings.seconds.items()],
        "total": _time(sum(findings.seconds.values())),
        "meanings": _meanings(findings),
    }


def strip_of(findings: Result) -> Any:
    """Return what stands under the title: suite, size, data sets, models, seeds; that a trial is
    one; remarks."""
    facts = {"suite": findings.suite, "size": size_words(findings.suite, findings.size)}
    if findings.suite == "joint":
        facts = {}
    return strip(
        facts | dict(findings.facts), is_trial=findings.is_trial, remarks=remarks_of(findings)
    )


def remarks_of(findings: Result) -> tuple[str, ...]:
    """Return what a reader must know before the numbers."""
    return tuple(filter(None, (*findings.remarks, findings.idle())))


def headline_of(findings: Result) -> str:
    """Return which measure leads; nothing for a trial, which has a banner instead."""
    return "" if findings.is_trial else findings.headline()


def command_of(findings: Result) -> str:
    """Return the command that makes such a page."""
    return (
        "resemblance joint STUDY ..."
        if findings.suite == "joint"
        else f"resemblance {findings.suite} run"
    )


def _meanings(findings: Result) -> dict[str, str]:
    """Return the sentence that defines a measure, by its label; of those in the catalogue."""
    found = {}
    for spec, label in findings.labels.items():
        try:
            found[label] = get_measure(spec).summary.replace("``", "")
        except ValueError:
            continue
    return found


def verdict(findings: Result) -> str:
    """Say in one line how many claims hold, and which do not."""
    total = len(findings.claims)
    if not total:
        return "This run puts no claim to the test."
    numbers = {v: [claim.number for claim in findings.claims if claim.verdict == v] for v in SIGNS}
    told = {v: f"{len(found)} {v}" for v, found in numbers.items() if found}
    told |= {v: f"{said} ({', '.join(numbers[v])})" for v, said in told.items() if v != REPRODUCED}
    return f"{total} claim{'' if total == 1 else 's'}: {'; '.join(told.values())}."


def shown(sections: Iterable[Section]) -> tuple[Shown, ...]:
    """Return what is shown of every section; a name has the same colour in all, as far as colours
    go."""
    numbers: dict[str, int] = {}
    found = []
    for position, section in enumerate(sections):
        keys = line_keys(section, numbers)
        figures = tuple(
            (f, bars(f) if isinstance(f, Bars) else chart(f, keys))
            for f in section.figures
            if isinstance(f, (Bars, Chart))
        )
        tables = tuple(_shown(t) for t in section.tables)
        found.append(
            Shown(
                section,
                f"section-{position + 1}",
                tuple(keys.items()),
                figures,
                tables,
                section.claims,
            )
        )
    return tuple(found)


def line_keys(section: Section, numbers: dict[str, int]) -> dict[str, Key]:
    """Return how the lines of a section are drawn, and note the numbers of names that are new."""
    names = list(
        dict.fromkeys(
            line.name for f in section.figures if isinstance(f, Chart) for line in f.lines
        )
    )
    taken: dict[str, int] = {}
    for name in names:
        if name in numbers and numbers[name] not in taken.values():
            taken[name] = numbers[name]
    for name in names:
        if name not in taken:
            taken[name] = next(
                i for i in range(len(names) + len(taken) + 1) if i not in taken.values()
            )
            numbers.setdefault(name, taken[name])
    first = len(names) if len(names) <= FEW else FIRST
    return {name: Key(taken[name], i < first) for i, name in enumerate(names)}


# ------------------------------------------------------------------------------------------- tables


def _shown(table: Table) -> tuple[Table, tuple[bool, ...], tuple[tuple[Cell, ...], ...]]:
    """Return a table with which of its columns are numbers, and its cells by row."""
    columns = _columns(table)
    return (
        table,
        tuple(any(cell.value is not None for cell in c) for c in columns),
        tuple(zip(*columns)),
    )


def _columns(table: Table) -> list[list[Cell]]:
    columns = [[row[i] for row in table.rows] for i in range(len(table.columns))]
    return [
        _numbers(c) if is_number else (_counts(c) if i else None) or [_words(e) for e in c]
        for i, (c, is_number) in enumerate(zip(columns, _is_number(table)))
    ]


def _is_number(table: Table) -> tuple[bool, ...]:
    """Return which columns have numbers, and nothing but numbers and gaps."""
    found = []
    for i in range(len(table.columns)):
        entries = [row[i] for row in table.rows if row[i] is not None]
        found.append(bool(entries) and not any(isinstance(entry, str) for entry in entries))
    return tuple(found)


def _words(entry: Entry) -> Cell:
    return Cell(minus(entry) if isinstance(entry, str) else number(entry), None)


def _counts(column: Sequence[Entry]) -> list[Cell] | None:
    """Return a column of texts that are numbers, such as "97%" and "1.2 to 3.4", by the first; None
    for any other."""
    texts = ["" if entry is None else str(entry) for entry in column]
    found = [NUMBERS.fullmatch(text) for text in texts]
    if not any(found) or any(text and not match for text, match in zip(texts, found)):
        return None
    return [
        Cell(minus(t) if m else "–", m[1].replace("−", "-") if m else "")
        for t, m in zip(texts, found)
    ]


def _numbers(column: Sequence[Entry]) -> list[Cell]:
    values = [
        None if entry is None or not math.isfinite(float(entry)) else float(entry)
        for entry in column
    ]
    known = [abs(v) for v in values if v is not None]
    places = decimals(known)
    return [Cell("–", "") if v is None else Cell(digits(v, places), f"{v!r}") for v in values]


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


# ----------------------------------------------------------------------------------------- standing


def _standing(findings: Result) -> Bars | None:
    found = findings.places()
    if not found.rows:
        return None
    is_sure = found.is_settling and not findings.is_trial
    labels = findings.labels
    rows = [
        Bar(
            labels.get(p.measure, p.measure),
            p.mean,
            *((p.low, p.high) if is_sure else (None, None)),
        )
        for p in found.rows
    ]
    if findings.is_trial:
        rows.sort(key=lambda row: row.name)
    cells = f"{found.cells} cell{'' if found.cells == 1 else 's'}"
    note = (
        f"Rank among all measures, 1 for the best, averaged over {cells} of this run; a measure "
        "without a value in a cell stands behind all that have one."
    )
    told = f"{note} {RESAMPLING}" if is_sure else note
    return Bars(
        "standing",
        "Mean ranks",
        "mean rank, 1 is the best",
        tuple(rows),
        told,
        span=(1.0, float(len(rows))),
    )
