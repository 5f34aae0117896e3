"""Write the scores of the ReSi benchmark: as tables for a person, as JSON, CSV or Parquet for a
program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..extras import need
from ..suites.resi.evaluation import ResiResult
from ..suites.resi.grading import Score
from .output import csv_text, deliver, deliver_tables, write_parquet

OWN = tuple(name for name in Score._fields if name != "parts")  # of a score
COLUMNS = (*OWN, "rank", "trial")


def emit_scores(result: ResiResult, kind: str, output: Path | None) -> None:
    """Write the scores in one of the formats of the command line, to a file or to standard
    output."""
    if kind == "parquet":
        frame = need("pandas").DataFrame(score_records(result), columns=COLUMNS)
        write_parquet(frame.astype({"rank": float}), output, index=False)
    elif kind == "table":
        deliver_tables(_tables(result), output)
    else:
        deliver({"json": _as_json, "csv": _as_csv}[kind](result), output)


def score_records(result: ResiResult) -> list[dict[str, Any]]:
    """Return one record per score with the measure's rank in its cell; a missing value is None and
    has a reason.

    A trial has no ranks.
    """
    ranks, records = {} if result.is_trial else result.ranks(), []
    for s in result.scores:
        record: dict[str, Any] = {name: getattr(s, name) for name in OWN}
        record["value"] = None if np.isnan(s.value) else s.value
        records.append(
            {**record, "rank": ranks.get(s.cell, {}).get(s.measure), "trial": result.is_trial}
        )
    return records


def _tables(result: ResiResult) -> list[Any]:
    from .resi_terminal import group_table, headline_lines, ranking_table, score_tables

    return [
        *headline_lines(result),
        ranking_table(result),
        *score_tables(result),
        "",
        group_table(result),
    ]


def _as_json(result: ResiResult) -> str:
    document = {
        "suite": result.suite,
        "trial": result.is_trial,
        "protocol": result.protocol,
        "failures": result.failures,
        "scores": score_records(result),
    }
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _as_csv(result: ResiResult) -> str:
    return csv_text(COLUMNS, score_records(result))
