"""Write what a suite found: as tables for a person, as JSON, CSV or Parquet for a program."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from ..benchmarks.findings import Findings
from ..benchmarks.headlines import size_words
from ..extras import need
from ..significance import Place
from .output import deliver, show
from .terminal import plain_table

COLUMNS = (
    "section", "kind", "name", "measure", "value", "rank", "claim", "theirs", "ours", "verdict", "note",
)  # fmt: skip


def emit_findings(findings: Findings, kind: str, output: Path | None) -> None:
    """Write findings in one of the formats of the command line, to a file or to standard output.

    JSON has everything; CSV and Parquet have a line per claim and per score, of the ``kind`` "claim" or "score".
    """
    if kind == "parquet":
        frame = need("pandas").DataFrame(finding_records(findings), columns=COLUMNS)
        frame.astype({"value": float, "rank": float}).to_parquet(output, index=False)
        return
    text = {"table": _as_table, "json": _as_json, "csv": _as_csv}[kind](findings)
    deliver(text, output)


def claim_table(findings: Findings) -> Any:
    """Return a line per claim with the paper's number, ours, and the verdict."""
    rows = [(c.number, c.verdict, c.claim, c.theirs, c.ours) for c in findings.claims]
    return plain_table(("claim", "verdict", "what is claimed", "the paper", "this run"), rows, right=())


def standing_table(findings: Findings) -> Any:
    """Return the mean rank of every measure over the cells that have scores, best first.

    Of a trial, and of too few cells to settle anything, there are no intervals; a trial has no order either.
    """
    found, labels = findings.places(), findings.labels
    is_sure = found.is_settling and not findings.is_trial
    header = ("measure", "mean rank", *(("95 %", "behind the leader, 95 %") if is_sure else ()))
    rows = [(labels.get(p.measure, p.measure), f"{p.mean:.1f}", *(_spans(p) if is_sure else ())) for p in found.rows]
    return plain_table(header, sorted(rows) if findings.is_trial else rows, right=range(1, len(header)))


def _spans(place: Place) -> tuple[str, str]:
    behind = "tied with the leader" if place.is_tied else f"{place.behind_low:.1f} to {place.behind_high:.1f}"
    return f"{place.low:.1f} to {place.high:.1f}", behind


def place_table(findings: Findings) -> Any:
    """Return the table of a joint ranking, rounded."""
    (table,) = findings["standing"].tables
    rows = [[f"{e:.1f}" if isinstance(e, float) else "" if e is None else str(e) for e in row] for row in table.rows]
    return plain_table(table.columns, rows, right=range(1, len(table.columns)))


def headline_lines(findings: Findings) -> list[str]:
    """Return what must be read before the numbers: what was run, a trial, what was left out, and what leads."""
    told = "; ".join(f"{name} {value}" for name, value in findings.facts.items())
    where = "" if findings.suite == "joint" else f"{findings.suite}, {size_words(findings.suite, findings.size)}; "
    return [f"{where}{told}".rstrip("; "), *findings.remarks, *filter(None, (findings.idle(), findings.headline())), ""]


def finding_tables(findings: Findings) -> list[Any]:
    """Return what a terminal shows: what was run, the claims, how the measures stand; of each only what there is."""
    parts = [claim_table(findings)] if findings.claims and not findings.is_trial else []
    standing = ["", standing_table(findings)] if findings.ranks() and findings.suite != "joint" else []
    places = ["", place_table(findings)] if findings.suite == "joint" else []
    return [*headline_lines(findings), *parts, *standing, *places]


def finding_records(findings: Findings) -> list[dict[str, Any]]:
    """Return a record per claim and per score; what a record does not have is None."""
    ranks, records = findings.ranks(), []
    for section in findings.sections:
        for c in section.claims:
            own = {name: value for name, value in c._asdict().items() if name != "number"}
            records.append({"section": section.name, "kind": "claim", "name": c.number, **own})
        for cell, scores in section.scores.items():
            for measure, value in scores.items():
                rank = ranks.get((section.name, cell), {}).get(measure)
                facts: dict[str, Any] = {"name": cell, "measure": measure, "value": value, "rank": rank}
                records.append({"section": section.name, "kind": "score", **facts})
    return [{name: record.get(name) for name in COLUMNS} for record in records]


def _as_table(findings: Findings) -> str:
    target = io.StringIO()
    show(finding_tables(findings), target)
    return target.getvalue()


def _as_json(findings: Findings) -> str:
    return json.dumps(findings.document(), ensure_ascii=False, indent=1, allow_nan=False, default=dict) + "\n"


def _as_csv(findings: Findings) -> str:
    target = io.StringIO()
    writer = csv.DictWriter(target, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(finding_records(findings))
    return target.getvalue()
