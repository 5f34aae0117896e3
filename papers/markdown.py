"""Tables and claims as Markdown, for the pages of a paper and for the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from resemblance.results.claims import Claim
from resemblance.results.sections import Entry, Table


def table_lines(table: Table) -> str:
    """Return a table as Markdown, numbers with two decimals."""
    return _lines(table.columns, table.rows)


def claim_lines(claims: Iterable[Claim]) -> str:
    """Return claims as a table in Markdown: the paper's numbers, ours, and the verdict."""
    columns = ("", "claim", "paper", "here", "verdict")
    return _lines(columns, [(c.number, c.claim, c.theirs, c.ours, c.verdict) for c in claims])


def _lines(columns: Sequence[str], rows: Iterable[Sequence[Entry]]) -> str:
    lines = [columns, ["---"] * len(columns), *([_entry(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _entry(value: Entry) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value.replace("|", "\\|")
    return f"{value:.2f}".replace("-", "−")
