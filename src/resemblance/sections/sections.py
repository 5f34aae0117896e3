"""The sections of a result: tables, figures, claims and scores of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from .claims import Claim
from .figures import Figure

TableEntry: TypeAlias = str | float | None  # entry of a table; None for a missing value

FAILURES_TABLE = "failures"  # the table of failed comparisons, by measure and reason
FAILED_MEASURE_COLUMN, FAILURE_REASON_COLUMN = "measure", "most frequent reason"


class Sign(NamedTuple):
    """An annotation of a table cell: a short text after the entry, for example "*" or "†", and a
    note as tooltip. ``row``, ``column``: the position of the cell, from 0."""

    row: int
    column: int
    text: str = ""
    note: str = ""


class Table(NamedTuple):
    """A table of numbers with names. ``name`` is unique within the section; ``note`` explains how
    to read the table.

    A row has an entry for every column. ``groups``: a heading above each column; equal neighbours
    share a heading. ``shades``: a shade per cell, from −1 for orange to 1 for blue. ``framed``: row
    and column of the framed cells, for example the best of each column. ``marked``: the highlighted
    rows, for example measures tied with the leader. ``signs``: annotations of cells. ``hints``: the
    tooltip of each column heading. ``selectors``: names of the selectors with which a reader
    chooses columns; ``choices``: for each column an entry per selector, "" if a selector does not
    apply to the column. ``is_closed``: folded until a reader opens it. ``figures``: significant
    digits of the numbers; by default the numbers of a column have the same decimals. ``links``:
    row, column, and the address behind the entry. ``is_data``: too long for a page, so only files
    have it. ``is_leading``: a terminal shows the table, too; ``brief``: the columns on a terminal,
    in their order; by default all.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[TableEntry, ...], ...]
    note: str = ""
    groups: tuple[str, ...] = ()
    marked: tuple[int, ...] = ()
    is_data: bool = False
    shades: tuple[tuple[float | None, ...], ...] = ()
    framed: tuple[tuple[int, int], ...] = ()
    signs: tuple[Sign, ...] = ()
    hints: tuple[str, ...] = ()
    selectors: tuple[str, ...] = ()
    choices: tuple[tuple[str, ...], ...] = ()
    is_closed: bool = False
    figures: int | None = None
    is_leading: bool = False
    brief: tuple[str, ...] = ()
    links: tuple[tuple[int, int, str], ...] = ()

    @classmethod
    def of(
        cls,
        records: Iterable[Mapping[Any, TableEntry]],
        name: str,
        title: str,
        note: str = "",
        *,
        columns: Iterable[Any] = (),
        hints: Mapping[Any, str] = {},
        shade: Callable[[TableEntry], float | None] | None = None,
        links: Mapping[Any, Iterable[str]] = {},
        **options: Any,
    ) -> Table:
        """Return a table of records: the keys are the columns, in order of first appearance. A key
        may be two words: the heading above the column, and the name of the column.

        ``columns``: keys to put first, or to add without any record. ``hints``: by key. ``shade``:
        a function of every entry except the first of a row. ``links``: by key, an address for each
        row, "" for none. ``options``: the other fields of the table.
        """
        rows = list(records)
        keys = list(dict.fromkeys((*columns, *(key for row in rows for key in row))))
        heads = [key if isinstance(key, tuple) else ("", key) for key in keys]
        entries = tuple(tuple(row.get(key) for key in keys) for row in rows)
        if shade is not None:
            options["shades"] = tuple((None, *map(shade, row[1:])) for row in entries)
        places = ((i, keys.index(key), a) for key, of in links.items() for i, a in enumerate(of))
        options["links"] = tuple(place for place in places if place[2])
        if hints:
            options["hints"] = tuple(hints.get(key, "") for key in keys)
        if any(group for group, _ in heads):
            options["groups"] = tuple(group for group, _ in heads)
        return cls(name, title, tuple(head for _, head in heads), entries, note, **options)

    def without_empty_columns(self, *names: str) -> Table:
        """Return a copy of the table without columns in ``names`` that have no entry in any row.
        Signs and shades are not moved."""
        is_empty = [
            name in names and all(row[i] is None for row in self.rows)
            for i, name in enumerate(self.columns)
        ]
        kept = [i for i, empty in enumerate(is_empty) if not empty]
        columns = tuple(self.columns[i] for i in kept)
        rows = tuple(tuple(row[i] for i in kept) for row in self.rows)
        brief = tuple(name for name in self.brief if name in columns)
        return self._replace(columns=columns, rows=rows, brief=brief)


class RankRule(NamedTuple):
    """How to rank measures in a task, if the scores alone do not determine the ranks.

    ``parts``: the scores in parts of the task, for example in single models; measures are ranked in
    each part, then ranks are averaged. ``incomplete``: measures with a score although some of their
    comparisons failed. ``failures``: "last" ranks incomplete measures, and measures without a
    score, behind all other measures; "unranked" ranks incomplete measures by score, and omits
    measures without a score. ``is_shared``: all measures get the mean of all ranks. ``test``: the
    test of the task; by default the section. ``models``: the models of the task. ``is_ranked``:
    whether to rank measures by these scores, or only to show the scores. ``without``: by
    measure and seed, the score without the models of the seed. ``reasons``: by measure, why
    comparisons or the score are missing.
    """

    parts: tuple[Mapping[str, float | None], ...] = ()
    incomplete: tuple[str, ...] = ()
    failures: str = "last"
    is_shared: bool = False
    test: str = ""
    models: str = ""
    is_ranked: bool = True
    without: Mapping[str, Mapping[str, float | None]] = {}
    reasons: Mapping[str, str] = {}


class Section(NamedTuple):
    """The result of an experiment.

    ``about``: a paragraph for readers who have not seen the paper. ``scores``: by task (the test
    and its data), then by measure specification; larger is better, None is a missing value.
    ``reasons``: the reasons for missing values, by name. ``terms``: definitions of words, for
    example how to read each test. ``rules``: how to rank measures in a task; by default measures
    rank by score, measures without a score last. ``is_closed``: folded until a reader opens it.
    """

    name: str
    title: str
    about: str
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    claims: tuple[Claim, ...] = ()
    scores: Mapping[str, Mapping[str, float | None]] = {}
    reasons: Mapping[str, str] = {}
    terms: Mapping[str, str] = {}
    rules: Mapping[str, RankRule] = {}
    is_closed: bool = False

    def key(self, cell: str) -> tuple[str, str]:
        """Return the key (test, task) of a task of the section among all sections: the test of its
        rule, by default the section, and the name ``cell``."""
        return (cell in self.rules and self.rules[cell].test) or self.name, cell
