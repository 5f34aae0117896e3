"""Write the grades of the manifold suite: as a table for a person, as JSON, CSV or Parquet for a
program."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from ..extras import need
from ..results.claims import NO_DATA
from ..results.headlines import TRIAL, size_words
from ..suites.manifolds.claims import claims
from ..suites.manifolds.grades import Grade, ManifoldResult, Point
from .output import csv_text, deliver, deliver_tables, write_parquet
from .result_tables import without_data
from .terminal import plain_table


def emit_manifolds(result: ManifoldResult, kind: str, output: Path | None) -> None:
    """Write the grades in one of the formats of the command line, to a file or to standard output.

    JSON also has the claims of the paper and every comparison; Parquet has the comparisons. Every
    row of CSV and Parquet says whether it is of a trial.
    """
    if kind == "parquet":
        frame = need("pandas").DataFrame(_records(result.points), columns=Point._fields)
        write_parquet(frame.assign(trial=result.is_trial), output, index=False)
    elif kind == "table":
        deliver_tables(manifold_tables(result), output)
    else:
        deliver({"json": _as_json, "csv": _as_csv}[kind](result), output)


def grade_table(result: ManifoldResult) -> Any:
    """Return a line of grades per measure, those that find the known orders first; of a trial, in
    no order."""
    header = ("measure", *(name.replace("_", " ") for name in Grade._fields[1:]))
    rows = [
        (g.measure, *("-" if math.isnan(v) else f"{v:.3g}" for v in g[1:])) for g in result.grades()
    ]
    return plain_table(header, rows, right=range(1, len(header)))


def claim_table(result: ManifoldResult) -> Any:
    """Return a line per claim of the paper that was judged, with the verdict."""
    rows = [(c.number, c.verdict, c.claim, c.ours) for c in claims(result) if c.verdict != NO_DATA]
    return plain_table(("claim", "verdict", "the paper says", "this run"), rows, as_blocks=True)


def manifold_tables(result: ManifoldResult) -> list[Any]:
    """Return what a terminal shows: what was run, the grades, and the claims unless it is a
    trial."""
    told = f"manifolds, {size_words('manifolds', result.size)}"
    if result.is_trial:
        return [told, TRIAL, "", grade_table(result)]
    return [told, "", grade_table(result), "", claim_table(result), *without_data(claims(result))]


def _records(rows: Any) -> list[dict[str, Any]]:
    """Return named tuples as objects, numbers that are not there as None."""
    return [{name: _none_for_nan(v) for name, v in row._asdict().items()} for row in rows]


def _none_for_nan(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _as_json(result: ManifoldResult) -> str:
    document = {
        "size": result.size,
        "trial": result.is_trial,
        "grades": _records(result.grades()),
        "claims": _records(claims(result)),
        "comparisons": _records(result.points),
        "provenance": result.provenance,
    }
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _as_csv(result: ManifoldResult) -> str:
    rows = [{**row, "trial": result.is_trial} for row in _records(result.grades())]
    return csv_text((*Grade._fields, "trial"), rows)
