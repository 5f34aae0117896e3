"""Tables for papers and notes: Markdown, and LaTeX with booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from ..base.text import printable
from .tables import TextTable

LATEX: Mapping[str, str] = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$",
    "<": r"\textless{}", ">": r"\textgreater{}", "≤": r"$\leq$", "≥": r"$\geq$",
    "·": r"$\cdot$", "→": r"$\rightarrow$", "✓": r"\checkmark{}", "±": r"$\pm$", "–": "--",
}  # fmt: skip
BOUND = re.compile(r"< 1e-0*(\d+)")  # of a p-value
MARKDOWN: Mapping[str, str] = {character: f"\\{character}" for character in "\\|*_`<>[]#$~"}


def as_markdown(parts: Sequence[Any]) -> str:
    """Return texts as paragraphs and tables as tables of Markdown."""
    return _joined(
        "\n".join(_markdown_table(part)) if isinstance(part, TextTable) else _marked(str(part))
        for part in parts
    )


def as_latex(parts: Sequence[Any]) -> str:
    """Return tables as ``tabular`` with the rules of booktabs, and texts as comments: a file that a
    paper can input."""
    needs = r"% The tables need \usepackage{booktabs}."
    blocks = (
        "\n".join(_latex_table(part) if isinstance(part, TextTable) else _comment(str(part)))
        for part in parts
    )
    return _joined(chain([needs], blocks))


def _joined(blocks: Iterable[str]) -> str:
    return "\n\n".join(block.strip("\n") for block in blocks if block.strip()) + "\n"


def _markdown_table(table: TextTable) -> Iterator[str]:
    width = len(table.header)
    yield _bar([_marked(cell) for cell in table.header])
    yield _bar(["--:" if column in table.right else "---" for column in range(width)])
    yield from (_bar([_marked(cell) for cell in row]) for row in table.rows)


def _bar(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _latex_table(table: TextTable) -> Iterator[str]:
    columns = "".join("r" if i in table.right else "l" for i in range(len(table.header)))
    yield rf"\begin{{tabular}}{{{columns}}}"
    yield r"\toprule"
    if table.has_header:
        yield _row(table.header)
        yield r"\midrule"
    yield from map(_row, table.rows)
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _comment(text: str) -> Iterator[str]:
    return (f"% {line}" for line in printable(text, keep="\n").strip("\n").split("\n"))


def _row(cells: Sequence[str]) -> str:
    return f"{' & '.join(map(_escaped, cells))} \\\\"


def _marked(text: str) -> str:
    return _translated(text, MARKDOWN)


def _escaped(text: str) -> str:
    bound = BOUND.fullmatch(text)
    return rf"$<10^{{-{bound[1]}}}$" if bound else _translated(text, LATEX)


def _translated(text: str, characters: Mapping[str, str]) -> str:
    line = printable(text).replace("\n", " ")
    return line.translate({ord(character): words for character, words in characters.items()})
