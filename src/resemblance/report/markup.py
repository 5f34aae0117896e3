"""Tables for papers and notes: Markdown, and LaTeX with booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from ..base.text import escape_control_characters
from .tables import TextTable

LATEX_ESCAPES: Mapping[str, str] = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$",
    "<": r"\textless{}", ">": r"\textgreater{}", "≤": r"$\leq$", "≥": r"$\geq$",
    "·": r"$\cdot$", "→": r"$\rightarrow$", "✓": r"\checkmark{}", "±": r"$\pm$", "–": "--",
}  # fmt: skip
P_VALUE_BOUND = re.compile(r"< 1e-0*(\d+)")  # a p-value given as a bound
MARKDOWN_ESCAPES: Mapping[str, str] = {character: f"\\{character}" for character in "\\|*_`<>[]#$~"}


def tables_to_markdown(parts: Sequence[Any]) -> str:
    """Return texts as Markdown paragraphs and tables as Markdown tables. ``parts``: texts and
    :class:`TextTable` objects, in order."""
    return _join_blocks(
        "\n".join(_markdown_table(part))
        if isinstance(part, TextTable)
        else _escape_markdown(str(part))
        for part in parts
    )


def tables_to_latex(parts: Sequence[Any]) -> str:
    """Return a LaTeX file for a paper: tables as ``tabular`` with booktabs rules, texts as
    comments. ``parts``: texts and :class:`TextTable` objects, in order."""
    needs = r"% The tables need \usepackage{booktabs}."
    blocks = (
        "\n".join(_latex_table(part) if isinstance(part, TextTable) else _latex_comment(str(part)))
        for part in parts
        if part != ""
    )
    return _join_blocks(chain([needs], blocks))


def _join_blocks(blocks: Iterable[str]) -> str:
    return "\n\n".join(block.strip("\n") for block in blocks if block.strip()) + "\n"


def _markdown_table(table: TextTable) -> Iterator[str]:
    width = len(table.header)
    yield _markdown_row([_escape_markdown(cell) for cell in table.header])
    yield _markdown_row(["--:" if column in table.right else "---" for column in range(width)])
    yield from (_markdown_row([_escape_markdown(cell) for cell in row]) for row in table.rows)
    if table.note:
        yield f"\n{_escape_markdown(table.note)}"


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _latex_table(table: TextTable) -> Iterator[str]:
    columns = "".join("r" if i in table.right else "l" for i in range(len(table.header)))
    yield rf"\begin{{tabular}}{{{columns}}}"
    yield r"\toprule"
    if table.has_header:
        yield _latex_row(table.header)
        yield r"\midrule"
    yield from map(_latex_row, table.rows)
    if table.note:
        yield r"\midrule"
        yield rf"\multicolumn{{{len(columns)}}}{{l}}{{{_escape_latex(table.note)}}} \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _latex_comment(text: str) -> Iterator[str]:
    return (
        f"% {line}" for line in escape_control_characters(text, keep="\n").strip("\n").split("\n")
    )


def _latex_row(cells: Sequence[str]) -> str:
    return f"{' & '.join(map(_escape_latex, cells))} \\\\"


def _escape_markdown(text: str) -> str:
    return _escape_characters(text, MARKDOWN_ESCAPES)


def _escape_latex(text: str) -> str:
    bound = P_VALUE_BOUND.fullmatch(text)
    return rf"$<10^{{-{bound[1]}}}$" if bound else _escape_characters(text, LATEX_ESCAPES)


def _escape_characters(text: str, characters: Mapping[str, str]) -> str:
    line = escape_control_characters(text).replace("\n", " ")
    return line.translate({ord(character): words for character, words in characters.items()})
