"""Run the example of a suite of one's own, and write its table for the page (ten seconds).

python docs/make_own_suite.py
"""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS), str(DOCS / "examples")]

import suite_of_quantisation as example  # noqa: E402
from pieces import markdown  # noqa: E402

CELLS = ("8 bits", "4 bits", "3 bits", "2 bits")


def table() -> str:
    """Return the scores, a line for each measure, and the reliability of what was lost."""
    scores = {(s.measure, s.test, s.cell[0]): s for s in example.run()}
    kept = [("bits", "order"), *((test, c) for test in ("identity", "accuracy") for c in CELLS)]
    head = ("measure", "bits", *(f"{test}, {cell}" for test, cell in kept[1:]))
    rows = [
        (f"`{m}`", *(_two_digits(scores[m, test, cell].value) for test, cell in kept))
        for m in example.MEASURES
    ]
    first = example.MEASURES[0]
    repeats = [scores[first, test, cell].reliability for test, cell in kept]
    rows.append(("*reliability*", *("" if r is None else _two_digits(r) for r in repeats)))
    return markdown(head, rows)


def _two_digits(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


if __name__ == "__main__":
    (DOCS / "_generated" / "own-suite.md").write_text(table() + "\n", "utf-8")
