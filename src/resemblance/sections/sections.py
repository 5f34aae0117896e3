"""The sections of a result: tables, figures, claims and scores of one experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from .claims import Claim
from .figures import Figure

TableEntry: TypeAlias = str | float | None  # of a table; None where there is no value
TableRows: TypeAlias = tuple[tuple[TableEntry, ...], ...]

FAILURES_TABLE = "failures"  # the table of failed comparisons, by measure and reason
FAILED_MEASURE_COLUMN, FAILURE_REASON_COLUMN = "measure", "most frequent reason"


class Sign(NamedTuple):
    """What one cell of a table says besides its entry: a short text after it, such as "*" or "†",
    and a note that the pointer reads."""

    row: int
    column: int
    text: str = ""
    note: str = ""


class Table(NamedTuple):
    """Numbers with names. ``name`` is unique within its section; ``note`` says how to read it.

    A row has an entry for every column. ``groups``: a heading above each column, equal neighbours
    share one. ``shades``: of every cell, from −1 for orange to 1 for blue. ``framed``: row and
    column of cells that are framed, such as the best of each column. ``marked``: the rows that are
    highlighted, such as those tied with the leader. ``signs``: what single cells say besides.
    ``hints``: what the pointer reads at the heading of each column. ``selectors``: names of
    selectors by which a reader chooses columns; ``choices``: for each column an entry for every
    selector, "" where a selector does not concern it. ``is_closed``: a reader opens it.
    ``figures``: significant digits of its numbers, which otherwise have the same decimals in a
    column. ``links``: row, column, and the address to which an entry leads. ``is_data``: too long
    for a page, so that only files have it. ``is_leading``: a terminal shows it, too; ``brief``: the
    columns that it shows there, in its order; by default all.
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
        """Return a table of records, whose keys are its columns in the order in which they come
        first; a key may be two words: the heading above a column, and its own.

        ``columns``: those that come first, or without any record. ``hints``: by key. ``shade``: of
        every entry but the first of a row. ``links``: by key, an address for each row, "" for none.
        ``options``: the other fields.
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


class RankRule(NamedTuple):
    """How measures are ranked in a cell, where the scores alone do not say it.

    ``parts``: the scores of the parts of the cell, such as single models; measures are ranked in
    each, and their ranks averaged. ``incomplete``: measures that have a score although some of
    their comparisons failed. ``failures``: "last" ranks these, and measures without a score, behind
    all others; "unranked" ranks these by their score, and measures without one not at all.
    ``is_shared``: all measures get the mean of all ranks. ``test``: what the cell is a cell of; by
    default its section. ``models``: the models that the cell is of; cells of the same models are
    resampled together. ``is_ranked``: whether measures are ranked by these scores; else they are
    shown only.
    """

    parts: tuple[Mapping[str, float | None], ...] = ()
    incomplete: tuple[str, ...] = ()
    failures: str = "last"
    is_shared: bool = False
    test: str = ""
    models: str = ""
    is_ranked: bool = True


class Section(NamedTuple):
    """The result of one experiment.

    ``about``: one paragraph for a reader who has not seen the paper. ``scores``: by cell (what was
    tested, on what), then by the specification of a measure, how well the measure does; larger is
    better, None where it has no value. ``reasons``: why something has no value, by its name.
    ``terms``: words and what they mean, such as how to read each test. ``rules``: how measures are
    ranked in a cell; by default by their scores, behind all others without one. ``is_closed``: a
    reader opens it.
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
        """Return the name of a cell among those of all sections: its test, and the cell."""
        return (cell in self.rules and self.rules[cell].test) or self.name, cell
