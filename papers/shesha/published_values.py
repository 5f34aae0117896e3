"""Numbers that the paper prints, or its author's scripts write, for synthetic data."""

from __future__ import annotations

import csv
import gzip
from typing import NamedTuple

from papers.published import DATA

FILE = "stability_published.csv.gz"


class Printed(NamedTuple):
    """One number. ``table``: of the paper, or the test of the script. ``at``: the row.
    ``quantity``: the column."""

    table: str
    at: str
    quantity: str
    value: float


def printed(table: str, quantity: str | None = None) -> list[Printed]:
    """Return the numbers of one table, in its order.

    Tables "11" (at 0, 1, 10, 30 and 50 of its 19 rows) and "12" are those of Raju 2026, to three
    decimals. "test1", "test3" and "test4" are what the author's script of Section 7.1 writes:
    scores by share of signal, by components removed (seed 520), and of 60 pairs in four quadrants.

    Raises ``ValueError`` for a table that is not there.
    """
    with gzip.open(DATA / FILE, "rt", encoding="utf-8", newline="") as file:
        rows = [
            Printed(r["table"], r["at"], r["quantity"], float(r["value"]))
            for r in csv.DictReader(file)
        ]
    if table not in {row.table for row in rows}:
        raise ValueError(
            f"no published table {table!r}; known: "
            f"{', '.join(dict.fromkeys(row.table for row in rows))}"
        )
    return [row for row in rows if row.table == table and quantity in (None, row.quantity)]
