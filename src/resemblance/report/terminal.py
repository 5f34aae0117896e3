"""Tables for a terminal: a comparison, and the catalogue with its claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..claims import INVARIANCES
from ..comparison import Comparison, MeasureInfo
from ..display import diagnostic_notes, without_rounding
from ..engine.scores import CHANCE
from ..measure import Measure
from .data import chance_words, extremes, is_square, summary
from .numbers import number, span
from .tables import GAP, INDENT, USUAL_WIDTH, TextTable, measured

MATRIX, LINES = 8, 200  # representations whose matrix can still be read, and lines of matrices
NUMERIC = {"smallest", "median", "largest", "chance", "failed"}
LETTERS = {name: name[0].upper() for name in INVARIANCES} | {
    "invertible_linear": "L",
    "isotropic_scaling": "S",
}


def comparison_tables(comparison: Comparison) -> list[Any]:
    """Return what to print for a comparison, by the number of its representations.

    A line per measure for two, small matrices for a few, else a summary.
    """
    if is_square(comparison) and len(comparison.rows) == 2:
        return [pair_table(comparison), *_diagnostics(comparison)]
    lines = len(comparison.measures) * (len(comparison.rows) + 4)
    if max(len(comparison.rows), len(comparison.columns)) <= MATRIX and lines <= LINES:
        tables = [
            part
            for info in comparison.measures
            for part in (_title(comparison, info), matrix_table(comparison, info))
        ]
        return [*tables, *_diagnostics(comparison)]
    return [
        summary_table(comparison),
        *_diagnostics(comparison),
        "Every value: --format csv or json, --html FILE",
    ]


def _diagnostics(comparison: Comparison) -> list[str]:
    notes = diagnostic_notes(comparison, without=CHANCE)  # which the tables show
    return [f"{spec}: {note}" for spec, note in notes.items()]


def pair_table(comparison: Comparison) -> Any:
    """Return one line per measure: its value for the two representations.

    In both orders if they differ.
    """
    x, y = comparison.rows
    reasons = {f.measure: f.reason for f in comparison.failures if f.x != f.y}
    asymmetric = any(not info.symmetric for info in comparison.measures)
    chances = _chances(comparison)
    rows = []
    for info in comparison.measures:
        values = without_rounding(comparison.values[info.spec], info)
        forward, backward = (_value(values[i, 1 - i]) for i in (0, 1))
        orders = [forward, "" if info.symmetric else backward] if asymmetric else [forward]
        why = [reasons.get(info.spec, "")] if reasons else []
        chance = [chances[info.spec]] if chances else []
        facts = (bounds(info.range), _direction(info), *why)
        rows.append((info.label, info.spec, *orders, *chance, *facts))
    pairs = (f"{x}, {y}", f"{y}, {x}") if asymmetric else (f"{x}, {y}",)
    header = (
        "label",
        "measure",
        *pairs,
        *(["chance"] if chances else []),
        "range",
        "more similar is",
        *(["why not"] if reasons else []),
    )
    return plain_table(header, rows, right=range(2, 3 + len(pairs) + bool(chances)))


def matrix_table(comparison: Comparison, info: MeasureInfo) -> Any:
    """Return the matrix of one measure.

    The columns of a square are numbered like the rows where its names are too long for a terminal.
    """
    rows, columns = list(comparison.rows), list(comparison.columns)
    shown = without_rounding(comparison.values[info.spec], info)
    cells = [list(map(_value, values)) for values in shown]
    if is_square(comparison) and _matrix_width(rows, cells) > USUAL_WIDTH:
        columns = [str(j) for j in range(1, len(columns) + 1)]
        rows = [f"{number} {name}" for number, name in zip(columns, rows)]
    lines = [(name, *line) for name, line in zip(rows, cells)]
    return plain_table(["", *columns], lines, right=range(1, len(columns) + 1))


def _matrix_width(names: Sequence[str], cells: Sequence[Sequence[str]]) -> int:
    """Return how wide the matrix of a square is with a name above each column."""
    columns = [max(map(measured, column)) for column in zip(names, *cells)]
    return INDENT + max(map(measured, names)) + sum(GAP + width for width in columns)


def summary_table(comparison: Comparison) -> Any:
    """Return one line per measure: its values, and the most and least similar pair."""
    measures = summary(comparison)
    failed = ["failed"] if any(m.failed for m in measures) else []
    chances = _chances(comparison)
    header = (
        "label",
        "measure",
        "smallest",
        "median",
        "largest",
        *(["chance"] if chances else []),
        "most similar",
        "least similar",
        *failed,
    )
    rows = []
    for m in measures:
        most, least = map(_pair, extremes(comparison, m.name))
        values = (number(v, 4) for v in (m.smallest, m.median, m.largest))
        chance = [chances[m.name]] if chances else []
        count = (str(m.failed or "") for _ in failed)
        rows.append((m.label, m.name, *values, *chance, most, least, *count))
    numeric = [i for i, name in enumerate(header) if name in NUMERIC]
    return plain_table(header, rows, right=numeric)


def measure_table(measures: Sequence[Measure]) -> Any:
    """Return the claims of measures, one line each."""
    header = (
        "measure",
        "label",
        "family",
        "similar",
        "range",
        "sym",
        "metric",
        "self",
        "invariant",
        "grad",
        "n",
    )
    rows = [
        (
            m.name,
            m.label,
            m.family,
            "larger" if m.larger_is_more_similar else "smaller",
            bounds(m.range),
            _tick(m.symmetric),
            _tick(m.metric),
            _tick(m.identity),
            invariance_letters(m),
            _tick(m.differentiable),
            f"≥{m.min_samples}",
        )
        for m in measures
    ]
    return plain_table(header, rows, right=(header.index("range"),))


def measure_legend() -> str:
    """Return what the columns of :func:`measure_table` mean."""
    words = ", ".join(f"{LETTERS[name]} {name.replace('_', ' ')}" for name in INVARIANCES)
    columns = (
        "sym: symmetric, self: X with itself is always most similar, grad: differentiable, n: "
        "samples needed"
    )
    return f"invariant: {words}\n{columns}"


def invariance_letters(measure: Measure) -> str:
    """Return one letter per invariance in a fixed place, and a dot for each not claimed."""
    return "".join(LETTERS[name] if name in measure.invariant_to else "·" for name in INVARIANCES)


def measure_record(measure: Measure) -> dict[str, Any]:
    """Return the claims of a measure as data for JSON; infinite ends of the range are null."""
    return {
        "name": measure.spec,
        "label": measure.label,
        "family": measure.family,
        "larger_is_more_similar": measure.larger_is_more_similar,
        "range": [float(end) if np.isfinite(end) else None for end in measure.range],
        "symmetric": measure.symmetric,
        "metric": measure.metric,
        "identity": measure.identity,
        "invariant_to": sorted(measure.invariant_to),
        "differentiable": measure.differentiable,
        "min_samples": measure.min_samples,
        "version": measure.version,
        "uninformative": measure.uninformative_when,
        "reference": measure.reference,
        "extra": measure.extra,
        "summary": measure.summary,
    }


def bounds(ends: tuple[float, float]) -> str:
    """Write a range."""
    return span(*ends, 4)


def plain_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Iterable[int] = (),
    header_row: bool = True,
    as_blocks: bool = False,
    tones: Iterable[tuple[int, int, str]] = (),
) -> TextTable:
    """Return a table with one line below its header.

    See :class:`resemblance.report.tables.TextTable`.
    """
    cells = tuple(tuple(row) for row in rows)
    return TextTable(tuple(header), cells, frozenset(right), header_row, as_blocks, tuple(tones))


def _title(comparison: Comparison, info: MeasureInfo) -> str:
    chance = chance_words(comparison, info)
    reading = f"{_direction(info)} is more similar{f'; chance {chance}' if chance else ''}"
    return f"{info.label}  {info.spec}  ({reading})"


def _chances(comparison: Comparison) -> dict[str, str]:
    """Return the chance of each measure, in words; nothing if none has one."""
    chances = {info.spec: chance_words(comparison, info) for info in comparison.measures}
    return chances if any(chances.values()) else {}


def _direction(info: MeasureInfo) -> str:
    return "larger" if info.larger_is_more_similar else "smaller"


def _value(value: float) -> str:
    return number(float(value), 4)


def _pair(pair: tuple[str, str] | None) -> str:
    return " · ".join(pair) if pair else "–"


def _tick(claim: bool) -> str:
    return "yes" if claim else "–"
