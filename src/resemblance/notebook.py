"""How a notebook shows an object: a heading, a table of facts, and a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any

PLOT = ".plot"  # the part that draws
WORDS = ".report.evidence_words"


def card(heading: str, facts: Mapping[str, object]) -> str:
    """Return a small HTML table of facts by name, without those that are empty."""
    style = "style='text-align:left'"
    rows = ""
    for name, fact in facts.items():
        if str(fact):
            rows += f"<tr><th {style}>{escape(name)}</th><td {style}>{escape(str(fact))}</td></tr>"
    return f"<table><caption>{escape(heading)}</caption>{rows}</table>"


def table(heading: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a small HTML table."""
    style = "style='text-align:left'"
    head = "".join(f"<th {style}>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td {style}>{escape(str(cell))}</td>' for cell in row)}</tr>"
        for row in rows
    )
    return f"<table><caption>{escape(heading)}</caption><tr>{head}</tr>{body}</table>"


# What draws results imports them, so results find it by its name, when they are to be drawn.


def picture(thing: object) -> str:
    """Return a small picture of a result as SVG in HTML, which needs no other package."""
    return str(import_module(f"{PLOT}.inline", __package__).picture(thing))


def worded(thing: object) -> str:
    """Return a few lines of text about an evidence."""
    return str(import_module(WORDS, __package__).text_of(thing))


def shown(thing: object) -> str:
    """Return a table and maps of an evidence as HTML."""
    return str(import_module(WORDS, __package__).html_of(thing))


def drawn(thing: object, *arguments: Any, **options: Any) -> Any:
    """Return axes of matplotlib with a figure of a result: see :func:`resemblance.plot.draw`."""
    return import_module(PLOT, __package__).draw(thing, *arguments, **options)
