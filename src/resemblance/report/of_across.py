"""Scores of models on several subjects: a table for a person, records for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..inference.across import Across
from ..inference.nulls import p_text
from .numbers import number
from .output import Output
from .terminal import plain_table


def output_of(scores: Across, provenance: Mapping[str, str] | None = None) -> Output:
    """Return what is written of the scores of models."""
    rows = scores.records()
    return Output(_tables(scores, rows), _document(scores, rows, provenance), rows)


def _tables(scores: Across, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return what a terminal shows: the models, the most similar first, the ceiling, and what is
    missing."""
    rows = [rows[i] for i in scores.order]
    tests = {"above_0": "p above 0", "below_ceiling": "p below the ceiling"}
    tests = {name: words for name, words in tests.items() if rows[0][name] is not None}
    columns = ["model", "mean", f"{scores.level:.0%} interval", *tests.values()]
    cells = []
    for row in rows:
        span = f"{number(row['low'], 3)} to {number(row['high'], 3)}"
        tested = [p_text(row[name]) for name in tests]
        cells.append([row["model"], number(row["mean"], 3), span, *tested])
    lines = [f"{scores.measure}, mean over {len(scores.subjects)} subjects"]
    if scores.ceiling:
        low, error, high = (number(value, 3) for value in scores.ceiling)
        lines.append(f"Noise ceiling: {low} (standard error {error}) to {high}")
    lines += [f"Left out: {name}: {reason}" for name, reason in scores.failures.items()]
    return [plain_table(columns, cells, right=(1, 3, 4)), *lines]


def _document(
    scores: Across, rows: Sequence[Mapping[str, Any]], provenance: Mapping[str, str] | None
) -> dict[str, Any]:
    pairs = [
        {"a": a, "b": b, **scores.difference(a, b)._asdict()}
        for i, a in enumerate(scores.models)
        for b in scores.models[i + 1 :]
    ]
    return {
        "measure": scores.measure,
        "subjects": scores.subjects,
        "level": scores.level,
        "models": rows,
        "values": scores.values.tolist(),
        "differences": pairs,
        "ceiling": dict(zip(("low", "error", "high"), scores.ceiling)) if scores.ceiling else None,
        "freedom": scores.freedom,
        "folds": None if scores.folds is None else scores.folds.tolist(),
        "failures": scores.failures,
        "provenance": provenance,
    }
