"""Make a file of papers/data from the tables of a paper as they were read.

Run once: ``python scripts/published.py resi tables.json``, or ``ding`` or ``mka``. The same tables
always give the same bytes.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from pathlib import Path

import published_ding
import published_mka
import published_resi

DATA = Path(__file__).parents[1] / "papers" / "data"
WHERE = (
    "table", "title", "source", "test", "quality", "domain", "dataset", "architecture", "pooling",
    "label",
)  # fmt: skip
FACTS = ("value", "stars", "doubtful", "reason")
PAPERS = {
    "resi": (published_resi.lines, (*WHERE, *FACTS)),
    "ding": (published_ding.lines, (*WHERE, "measure", *FACTS)),
    "mka": (published_mka.lines, (*WHERE, "measure", *FACTS)),
}


def main(paper: str, source: str) -> None:
    lines, fields = PAPERS[paper]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(fields)
    writer.writerows(lines(json.loads(Path(source).read_text())))
    content = gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0)
    (DATA / f"{paper}_published.csv.gz").write_bytes(content)


if __name__ == "__main__":
    main(*sys.argv[1:])
