"""Write what a suite found: as tables for a person, as JSON, CSV or Parquet for a program."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..extras import need
from ..results.claims import NO_DATA, Claim
from ..results.headlines import size_words
from ..results.result import Result
from ..results.sections import Entry, Table
from ..significance import Place
from .output import csv_text, deliver, deliver_tables, write_parquet
from .terminal import plain_table

COLUMNS = (
    "section", "kind", "name", "measure", "value", "rank", "claim", "theirs", "ours", "verdict",
    "note", "trial",
)  # fmt: skip


def emit_findings(findings: Result, kind: str, output: Path | None) -> None:
    """Write findings in one of the formats of the command line, to a file or to standard output.

    JSON has everything. CSV and Parquet have the rows of the data tables, where there are any, else
    a line per claim and per score, of the ``kind`` "claim" or "score".
    """
    columns, records = data_records(findings) or (COLUMNS, finding_records(findings))
    if kind == "parquet":
        frame = need("pandas").DataFrame(records, columns=columns)
        write_parquet(frame.astype({"value": float, "rank": float}), output, index=False)
    elif kind == "table":
        deliver_tables([*finding_tables(findings), *grouped_tables(findings)], output)
    elif kind == "csv":
        deliver(csv_text(columns, records), output)
    else:
        deliver(_as_json(findings), output)


def data_records(result: Result) -> tuple[tuple[str, ...], list[dict[str, Any]]] | None:
    """Return the columns and rows of all data tables, which have the same columns; None where there
    is no such table."""
    tables = [table for section in result.sections for table in section.tables if table.is_data]
    if not tables:
        return None
    columns = (*tables[0].columns, "trial")
    rows = [(*row, result.is_trial) for table in tables for row in table.rows]
    return columns, [dict(zip(columns, row, strict=True)) for row in rows]


def grouped_tables(result: Result) -> Iterator[Any]:
    """Yield the tables whose columns stand in groups, group by group, and why cells of them have no
    value."""
    for section in result.sections:
        grouped = [table for table in section.tables if table.groups]
        for table in grouped:
            for group in dict.fromkeys(filter(None, table.groups)):
                yield f"\n{group}"
                yield _part_of(table, [i for i, name in enumerate(table.groups) if name == group])
        if grouped:
            yield from (f"{name}: {reason}" for name, reason in section.reasons.items())


def _part_of(table: Table, columns: Sequence[int]) -> Any:
    """Return the first column of a table and some others, with the signs of their cells."""
    signs = {(sign.row, sign.column): sign.text for sign in table.signs}
    choices = table.choices or ((),) * len(table.columns)
    header = [" ".join(filter(None, (table.columns[i], *choices[i][:1]))) for i in columns]
    rows = [
        (str(row[0]), *(f"{_brief(row[i])}{signs.get((r, i), '')}" for i in columns))
        for r, row in enumerate(table.rows)
    ]
    return plain_table((table.columns[0], *header), rows, right=range(1, len(header) + 1))


def _brief(entry: Entry) -> str:
    return "-" if entry is None else f"{entry:.2f}" if isinstance(entry, float) else str(entry)


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
    return [*headline_lines(findings), *claims, *standing, *places]


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
                rank = ranks.get(section.key(cell), {}).get(measure)
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
    document = {**findings.document(), "trial": findings.is_trial}
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False, default=dict) + "\n"
