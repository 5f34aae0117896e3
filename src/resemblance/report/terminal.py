"""Terminal output of a comparison, an evidence or a result: the leading tables of the page, or the
matrices of few representations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..base.formatting import count_with_noun, format_number, with_minus_signs
from ..base.text import diagnostic_notes, snap_to_bounds
from ..comparison.comparison import Comparison, MeasureInfo, unique_specification
from ..contracts.claims import CHANCE_KEY
from ..inference.result import Evidence
from ..sections.claims import (
    CONTRADICTED,
    NO_DATA,
    NOT_REPRODUCED,
    PARTLY_REPRODUCED,
    REPRODUCED,
    Claim,
)
from ..sections.headlines import describe_run_size
from ..sections.result import Result, opening_sentences
from ..sections.sections import Table
from .cells import TableCell, table_grid
from .comparing.stats import (
    format_chance_range,
    is_all_pairs_of_one_list,
    only_pair_position,
    page_context,
)
from .comparing.tables import (
    depths_table,
    measures_table,
    overview_table,
    pair_table,
    pairs_table,
    similarity_direction,
    values_table,
)
from .evidence_words import describe_caveats, describe_significance, design_line, measure_results
from .tables import COLUMN_GAP, DEFAULT_TERMINAL_WIDTH, TABLE_INDENT, TextTable, display_width

# Representations in a legible matrix, and lines of all tables
MAX_MATRIX_SIDE, MAX_TABLE_LINES = 8, 200
VERDICT_TONES = {
    REPRODUCED: "good",
    PARTLY_REPRODUCED: "warning",
    CONTRADICTED: "warning",
    NOT_REPRODUCED: "bad",
}
EVERY_VALUE_HINT = "Every value: --format csv or json, --html FILE"


def plain_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Iterable[int] = (),
    header_row: bool = True,
    as_blocks: bool = False,
    tones: Iterable[tuple[int, int, str]] = (),
    note: str = "",
) -> TextTable:
    """Return a text table from a header and rows of texts.

    ``right``: the positions of right-aligned columns. ``header_row``: whether the header is shown,
    with a line below. ``as_blocks``: whether every row becomes a block of lines on a terminal that
    is too narrow. ``tones``: triples (row, column, tone) of coloured cells. ``note``: the text
    below the table.
    """
    cells = tuple(tuple(row) for row in rows)
    return TextTable(
        tuple(header), cells, frozenset(right), header_row, as_blocks, tuple(tones), note
    )


def text_table(
    table: Table, columns: Sequence[int] = (), tones: Iterable[tuple[int, int, str]] = ()
) -> TextTable:
    """Return a table of a page as text, with the columns for a terminal; or with the columns at the
    positions ``columns``, without group names.

    ``tones``: cells to colour on a terminal, (row, column of the text, "good", "warning" or "bad").
    """
    grid = table_grid(table)
    group_names = [heading.text for heading in grid.headings for _ in range(heading.width)]
    group_names = [""] * len(table.columns) if columns or not group_names else group_names
    names = [f"{group} {name}".strip() for group, name in zip(group_names, table.columns)]
    columns = columns or _brief_columns(table) or range(len(names))
    rows = [[_format_table_cell(row.cells[i], i) for i in columns] for row in grid.rows]
    right = [position for position, i in enumerate(columns) if grid.is_number[i]]
    header = [_column_name_with_choice(table, i, names[i]) for i in columns]
    return plain_table(header, rows, right=right, tones=tones)


def table_as_text(table: Table) -> TextTable:
    """Return a table of a page as text, with all columns."""
    return text_table(table._replace(brief=()))


def _brief_columns(table: Table) -> list[int]:
    """Return the positions of the columns for a terminal: the columns in ``brief`` that have an
    entry."""
    entries = list(zip(*table.rows))
    columns = map(table.columns.index, table.brief)
    return [i for i in columns if set(entries[i]) != {None}]


def _format_table_cell(cell: TableCell, column: int) -> str:
    """Return the text of a cell with the sign: "0.5**", and "Mine (added)" for a name in column
    0."""
    return f"{cell.text} ({cell.sign})" if cell.sign and not column else cell.text + cell.sign


def _column_name_with_choice(table: Table, column: int, name: str) -> str:
    """Return ``name`` for the column at position ``column``; with the choices of the selectors if
    columns share the name."""
    if not table.choices or table.columns.count(table.columns[column]) == 1:
        return name
    return " ".join(filter(None, (name, *table.choices[column])))


# ------------------------------------------------------------------------ comparisons and evidence


def comparison_tables(comparison: Comparison, *, is_whole: bool = False) -> list[Any]:
    """Return the parts to print for a comparison, texts and tables, depending on the number of
    representations.

    Two representations have a line per measure, a few have small matrices, more have a summary.
    Models with several layers begin with the layers of equal depth. ``is_whole``: a line per pair
    in place of the summary.
    """
    pair, sides = only_pair_position(comparison), (len(comparison.rows), len(comparison.columns))
    # The tables show chance
    notes = diagnostic_notes(comparison, exclude=CHANCE_KEY)
    diagnostics = [f"{spec}: {note}" for spec, note in notes.items()]
    caveats = [f"Note: {caveat}." for caveat in comparison.caveats]
    if pair is not None:
        return [*caveats, text_table(pair_table(comparison, pair)), *diagnostics]
    depths = [*caveats, *_equal_depth_tables(comparison)]
    lines = len(comparison.measures) * (len(comparison.rows) + 4)
    if max(sides) <= MAX_MATRIX_SIDE and lines <= MAX_TABLE_LINES:
        tables = [
            part
            for info in comparison.measures
            for part in (_matrix_title(comparison, info), matrix_table(comparison, info))
        ]
        return [*depths, *tables, *diagnostics]
    if is_whole:
        return [*depths, text_table(pairs_table(comparison)), *diagnostics]
    return [*depths, text_table(measures_table(comparison)), *diagnostics, EVERY_VALUE_HINT]


def _equal_depth_tables(comparison: Comparison) -> list[Any]:
    """Return the title and the table of layers of equal depth; [] without models or with too many
    layers."""
    evidence = comparison.evidence
    leading = None if evidence is None else evidence.measures[0].spec
    table = depths_table(page_context(comparison, measure=leading, evidence=evidence))
    if table is None or len(table.rows) > MAX_TABLE_LINES:
        return []
    return [table.title, text_table(table)]


def matrix_table(comparison: Comparison, info: MeasureInfo) -> Any:
    """Return the matrix of a measure as a table of texts, with a row and a column per
    representation.

    If the names of a square matrix are too long for a terminal, rows have a number before the name,
    and columns have the number alone.
    """
    rows, columns = list(comparison.rows), list(comparison.columns)
    matrix = snap_to_bounds(comparison.values[info.spec], info)
    cells = value_texts(matrix)
    if is_all_pairs_of_one_list(comparison) and _matrix_width(rows, cells) > DEFAULT_TERMINAL_WIDTH:
        columns = [str(j) for j in range(1, len(columns) + 1)]
        rows = [f"{number} {name}" for number, name in zip(columns, rows)]
    lines = [(name, *line) for name, line in zip(rows, cells)]
    return plain_table(["", *columns], lines, right=range(1, len(columns) + 1))


def value_texts(matrix: np.ndarray) -> list[list[str]]:
    """Return the values of a matrix as texts with four significant digits, row by row."""
    return [[format_number(float(value), 4) for value in values] for values in matrix]


def _matrix_width(names: Sequence[str], cells: Sequence[Sequence[str]]) -> int:
    """Return the width in characters of a square matrix with a name above every column. ``names``:
    of the rows and columns. ``cells``: texts, row by row."""
    columns = [max(map(display_width, column)) for column in zip(names, *cells)]
    return (
        TABLE_INDENT + max(map(display_width, names)) + sum(COLUMN_GAP + width for width in columns)
    )


def _matrix_title(comparison: Comparison, info: MeasureInfo) -> str:
    chance = format_chance_range(comparison, info)
    reading = (
        f"{similarity_direction(info)} is more similar{f'; chance {chance}' if chance else ''}"
    )
    return f"{info.label}  {unique_specification(comparison, info)}  ({reading})"


def evidence_tables(evidence: Evidence, *, is_whole: bool = False) -> list[Any]:
    """Return the parts to print, texts and tables: a line per measure and pair, or with too many
    pairs a line per measure; then the conclusion, the caveats, and the design. ``is_whole``: a line
    per measure and pair, however many pairs."""
    results = measure_results(evidence)
    pairs = [pair for result in results for pair in result.pairs]
    headline, *_ = describe_significance(evidence, results)
    lines = [
        with_minus_signs(x) for x in (headline, *describe_caveats(evidence), design_line(evidence))
    ]
    if len(pairs) > MAX_TABLE_LINES and not is_whole:
        return [text_table(overview_table(evidence, results)), *lines, EVERY_VALUE_HINT]
    table = values_table(evidence, results)
    column = table.columns.index("how") - 1  # column of the decisive p-value
    outcomes = [(i, pair.is_beyond) for i, pair in enumerate(pairs) if pair.is_tested]
    tones = [(i, column, "good" if is_beyond else "warning") for i, is_beyond in outcomes]
    return [text_table(table, tones=tones), *lines]


# ---------------------------------------------------------------------------------------- results


def result_tables(result: Result, *, is_whole: bool = False) -> list[Any]:
    """Return the parts to print, in order: headlines, claims, leading tables, mean ranks, and the
    answers to the questions of a benchmark.

    A part without content is left out. In a trial, claims have no table. ``is_whole``: also print
    tables with grouped columns, after the leading tables, a part per group.
    """
    parts: list[Any] = headline_lines(result)
    if any(claim.verdict != NO_DATA for claim in result.claims) and not result.is_trial:
        parts.append(claim_table(result))
    parts += [*claims_without_data_line(result.claims), *leading_tables(result)]
    if is_whole:
        parts += grouped_tables(result)
    if result.ranks() and not any(section.name == "ranking" for section in result.sections):
        parts += ["", mean_rank_table(result)]
    tables = result["answers"].tables if "answers" in result else ()
    for table in (table for table in tables if table.name == "questions"):
        parts += ["", table.title, "", *row_blocks(table), table.note]
    return parts


def row_blocks(table: Table) -> Iterator[Any]:
    """Yield a block for every row of a table of sentences: the first cell as the heading, a table
    with the name and the text of every other cell, and a blank line. Cells with "–" are left
    out."""
    for heading, *entries in table.rows:
        named = zip(table.columns[1:], map(str, entries))
        yield f"{str(heading)[:1].upper()}{str(heading)[1:]}"
        yield plain_table(("", ""), [row for row in named if row[1] != "–"], header_row=False)
        yield ""


def headline_lines(result: Result) -> list[str]:
    """Return the lines before the numbers: the run with its facts, caveats, idle measures, the
    opening sentences, and a blank line."""
    sized = f"{result.suite}, {describe_run_size(result.suite, result.size)}"
    run_facts = [sized] if result.size and result.suite != "joint" else []
    counts = [
        f"{count} {name}" for name, count in result.counts.items() if name not in result.facts
    ]
    facts = [f"{name} {fact}" for name, fact in result.facts.items()]
    line = "; ".join([*run_facts, *facts, *counts])
    idle = [result.idle()] if result.idle() else []
    return [line, *result.caveats, *idle, *opening_sentences(result).splitlines(), ""]


def leading_tables(result: Result) -> Iterator[Any]:
    """Yield the leading tables of all sections, after a blank line and the title; numbers look as
    on a page."""
    for section in result.sections:
        for table in section.tables:
            if table.is_leading:
                yield from ("", table.title) if table.title else ("",)
                yield text_table(table)


def grouped_tables(result: Result) -> Iterator[Any]:
    """Yield the tables with grouped columns that are not leading: a table per group after the name
    of the group; then the legend of the section."""
    for section in result.sections:
        tables = [t for t in section.tables if any(t.groups) and not t.is_leading]
        for table in tables:
            for group in dict.fromkeys(filter(None, table.groups)):
                columns = [i for i, name in enumerate(table.groups) if i == 0 or name == group]
                yield f"\n{group}"
                yield text_table(table, columns)
        if tables:
            yield from (f"{name}: {words}" for name, words in section.terms.items())


def claim_table(result: Result) -> TextTable:
    """Return a row per judged claim, with the paper's number, the number of this run, and the
    verdict."""
    claims = [c for c in result.claims if c.verdict != NO_DATA]
    rows = [(c.number, c.verdict, c.claim, c.theirs, c.ours) for c in claims]
    header = ("claim", "verdict", "what is claimed", "the paper", "this run")
    tones = [
        (i, 1, VERDICT_TONES[c.verdict]) for i, c in enumerate(claims) if c.verdict in VERDICT_TONES
    ]
    return plain_table(header, rows, as_blocks=True, tones=tones)


def claims_without_data_line(claims: Iterable[Claim]) -> list[str]:
    """Return the line with the claims without data and the most frequent reason; an empty list if
    all claims have data."""
    claims = tuple(claims)
    numbers = [claim.number for claim in claims if claim.verdict == NO_DATA]
    if not numbers:
        return []
    count = count_with_noun(len(numbers), "claim")
    notes = Counter(c.note for c in claims if c.verdict == NO_DATA and c.note)
    reason = f" ({notes.most_common(1)[0][0]})" if notes else ""
    return [f"No data on {count}: {', '.join(dict.fromkeys(numbers))}{reason}."]


def mean_rank_table(result: Result) -> TextTable:
    """Return the mean rank of every measure over the tasks with scores, best first; in a trial, the
    rows are sorted by name."""
    rows = [(result.labels.get(r.measure, r.measure), f"{r.mean:.1f}") for r in result.mean_ranks()]
    rows = sorted(rows) if result.is_trial else rows
    return plain_table(("measure", "mean rank"), rows, right=(1,))
