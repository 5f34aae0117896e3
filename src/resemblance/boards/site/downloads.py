"""Files for programs: all scores and the ranking as CSV, JSON and Parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from ...extras import need
from ...report.output import csv_text
from ...results.values import known
from ..frames import records_of
from ..views import ALL, View, domain_of
from .content import Content

COLUMNS = (
    "suite", "pack", "test", "cell", "domain", "spec", "version", "score", "rank", "incomplete",
    "reason",
)  # fmt: skip


def score_records(content: Content) -> Iterator[dict[str, Any]]:
    """Yield a record for every score: the newest version of every measure in every cell."""
    for suite, files in content.board.files.items():
        for spec, scores in sorted(files.items()):
            for cell in scores.cells:
                rank = content.ranks[suite].get((cell.test, cell.cell), {}).get(spec)
                where = (suite, scores.pack, cell.test, cell.cell, domain_of(cell.cell))
                measured = (spec, scores.measure.version, known(cell.value), rank)
                yield dict(zip(COLUMNS, (*where, *measured, cell.is_incomplete, cell.reason)))


def ranking_records(content: Content, views: Sequence[View]) -> list[dict[str, Any]]:
    """Return the records of the joint ranking."""
    whole = next(v for v in views if v.cells.key == v.measures.key == ALL)
    return records_of(content.board, whole)


def downloads(content: Content, ranking: Sequence[Mapping[str, Any]]) -> dict[str, str | bytes]:
    """Return the files for programs by their names; Parquet only where it can be written."""
    scores = list(score_records(content))
    packs = {s.pack: s.manifest for s in sorted(content.files, key=lambda s: s.pack)}
    document = {
        "series": content.series,
        "state": content.state,
        "packs": packs,
        "ranking": list(ranking),
        "scores": scores,
    }
    files: dict[str, str | bytes] = {
        "scores.csv": csv_text(COLUMNS, scores),
        "ranking.csv": csv_text(list(ranking[0]) if ranking else (), ranking),
        "scores.json": json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n",
    }
    return files | ({"scores.parquet": _parquet(scores)} if has_parquet() else {})


def has_parquet() -> bool:
    """Return whether the packages that write Parquet are installed."""
    return all(find_spec(package) for package in ("pandas", "pyarrow"))


def _parquet(records: Sequence[Mapping[str, Any]]) -> bytes:
    frame = need("pandas").DataFrame(list(records), columns=list(COLUMNS))
    target = io.BytesIO()
    frame.astype({"score": float, "rank": float}).to_parquet(target, index=False)
    return target.getvalue()
