"""Write what a suite found: as tables for a person, as JSON, CSV or Parquet for a program."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..extras import need
from ..results.claims import NO_DATA, Claim
from ..results.headlines import size_words
from ..results.result import Result
from ..results.sections import Entry
from ..significance import Place
from .numbers import number
from .output import csv_text, deliver, deliver_tables, write_parquet
from .terminal import plain_table

COLUMNS = (
    "section", "kind", "name", "measure", "value", "rank", "claim", "theirs", "ours", "verdict",
    "note", "trial",
)  # fmt: skip


def emit_findings(findings: Result, kind: str, output: Path | None) -> None:
    """Write findings in one of the formats of the command line, to a file or to standard output.

    JSON has everything. CSV has the shortest table of data and Parquet the longest, where there are
    such tables, those with the same columns being one; else both have a line per claim and per
    score, of the ``kind`` "claim" or "score". Every row says whether it is of a trial.
    """
    if kind == "table":
        deliver_tables(finding_tables(findings), output)
    elif kind == "json":
        deliver(_as_json(findings), output)
    elif kind == "csv":
        deliver(csv_text(*_records(findings, min)), output)
    else:
        columns, records = _records(findings, max)
        frame = need("pandas").DataFrame(records, columns=columns)
        if columns == COLUMNS:
            frame = frame.astype({"value": float, "rank": float})
        write_parquet(frame, output, index=False)


def _records(
    findings: Result, choose: Callable[..., tuple[str, ...]]
) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """Return the columns and records of the tables of data with the fewest rows (``min``) or the
    most (``max``), or of all claims and scores."""
    rows: dict[tuple[str, ...], list[tuple[Entry, ...]]] = {}
    for table in (t for s in findings.sections for t in s.tables if t.is_data):
        rows.setdefault(table.columns, []).extend(table.rows)
    if not rows:
        return COLUMNS, finding_records(findings)
    columns = choose(rows, key=lambda columns: len(rows[columns]))
    records = [{**dict(zip(columns, row)), "trial": findings.is_trial} for row in rows[columns]]
    return (*columns, "trial"), records


def claim_table(findings: Result) -> Any:
    """Return a line per claim that was judged, with the paper's number, ours, and the verdict."""
    rows = [
        (c.number, c.verdict, c.claim, c.theirs, c.ours)
        for c in findings.claims
        if c.verdict != NO_DATA
    ]
    return plain_table(
        ("claim", "verdict", "what is claimed", "the paper", "this run"), rows, as_blocks=True
    )


def without_data(claims: Iterable[Claim]) -> list[str]:
    """Return the line that names the claims on which this run has no data; none if there is no such
    claim."""
    numbers = [claim.number for claim in claims if claim.verdict == NO_DATA]
    if not numbers:
        return []
    count = "1 claim" if len(numbers) == 1 else f"{len(numbers)} claims"
    return [f"No data on {count}: {', '.join(dict.fromkeys(numbers))}."]


def standing_table(findings: Result) -> Any:
    """Return the mean rank of every measure over the cells that have scores, best first.

    Of a trial, and of too few cells to settle anything, there are no intervals; a trial has no
    order either.
    """
    found, labels = findings.places(), findings.labels
    is_sure = found.is_settling and not findings.is_trial
    header = ("measure", "mean rank", *(("95 %", "behind the leader, 95 %") if is_sure else ()))
    rows = [
        (labels.get(p.measure, p.measure), f"{p.mean:.1f}", *(_spans(p) if is_sure else ()))
        for p in found.rows
    ]
    return plain_table(
        header, sorted(rows) if findings.is_trial else rows, right=range(1, len(header))
    )


def _spans(place: Place) -> tuple[str, str]:
    behind = (
        "tied with the leader"
        if place.is_tied
        else f"{place.behind_low:.1f} to {place.behind_high:.1f}"
    )
    return f"{place.low:.1f} to {place.high:.1f}", behind


def place_table(findings: Result) -> Any:
    """Return the table of a joint ranking, rounded."""
    (table,) = findings["standing"].tables
    rows = [
        ["–" if e is None else f"{e:.1f}" if isinstance(e, float) else str(e) for e in row]
        for row in table.rows
    ]
    return plain_table(table.columns, rows, right=range(1, len(table.columns)))


def headline_lines(findings: Result) -> list[str]:
    """Return what must be read before the numbers: what was run, a trial, what was left out, and
    what leads."""
    told = "; ".join(f"{name} {value}" for name, value in findings.facts.items())
    where = (
        ""
        if findings.suite == "joint"
        else f"{findings.suite}, {size_words(findings.suite, findings.size)}; "
    )
    return [
        f"{where}{told}".rstrip("; "),
        *findings.remarks,
        *filter(None, (findings.idle(), findings.headline())),
        "",
    ]


def finding_tables(findings: Result) -> list[Any]:
    """Return what a terminal shows: what was run, the claims, how the measures stand; of each only
    what there is."""
    judged = any(claim.verdict != NO_DATA for claim in findings.claims) and not findings.is_trial
    claims = [*([claim_table(findings)] if judged else []), *without_data(findings.claims)]
    standing = (
        ["", standing_table(findings)] if findings.ranks() and findings.suite != "joint" else []
    )
    places = ["", place_table(findings)] if findings.suite == "joint" else []
    return [*headline_lines(findings), *claims, *_printed(findings), *standing, *places]


def _printed(findings: Result) -> list[Any]:
    """Return the tables that a terminal shows too."""
    tables = [table for s in findings.sections for table in s.tables if table.is_printed]
    parts: list[Any] = []
    for table in tables:
        rows = [
            [entry if isinstance(entry, str) else number(entry) for entry in row]
            for row in table.rows
        ]
        right = range(1, len(table.columns))
        parts += ["", table.title, plain_table(table.columns, rows, right=right)]
    return parts


def finding_records(findings: Result) -> list[dict[str, Any]]:
    """Return a record per claim and per score; what a record does not have is None. A trial has no
    ranks."""
    ranks, records = {} if findings.is_trial else findings.ranks(), []
    for section in findings.sections:
        for c in section.claims:
            own = {name: value for name, value in c._asdict().items() if name != "number"}
            records.append({"section": section.name, "kind": "claim", "name": c.number, **own})
        for cell, scores in section.scores.items():
            for measure, value in scores.items():
                rank = ranks.get((section.name, cell), {}).get(measure)
                facts: dict[str, Any] = {
                    "name": cell,
                    "measure": measure,
                    "value": value,
                    "rank": rank,
                }
                records.append({"section": section.name, "kind": "score", **facts})
    return [
        {name: record.get(name) for name in COLUMNS} | {"trial": findings.is_trial}
        for record in records
    ]


def _as_json(findings: Result) -> str:
    return (
        json.dumps(findings.document(), ensure_ascii=False, indent=1, allow_nan=False, default=dict)
        + "\n"
    )
