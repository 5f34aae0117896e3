"""What people see: objects in a notebook, names that do not exist, texts that are not safe."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any

PLOT = ".plot"  # the part that draws
WORDS = ".report.evidence_words"
ALIASES = {  # names elsewhere in the field, and the name here
    "rotation": "orthogonal", "reflection": "orthogonal", "scale": "isotropic_scaling",
    "scaling": "isotropic_scaling",
    "linear": "invertible_linear", "shift": "translation", "offset": "translation",
    "cca": "mean_cca", "debiased_cka": "cka[estimator=debiased]",
    "debiased": "cka[estimator=debiased]",
    "unbiased": "cka[estimator=debiased]", "unbiased_cka": "cka[estimator=debiased]",
    "mantel": "rsa",
    "rbf_cka": "cka[kernel=rbf]", "kernel_cka": "cka[kernel=rbf]",
}  # fmt: skip
CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
ESCAPED = {code: repr(chr(code))[1:-1] for code in CONTROLS}


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
    return str(import_module(f"{PLOT}.notebook", __package__).picture(thing))


def worded(thing: object) -> str:
    """Return a few lines of text about an evidence."""
    return str(import_module(WORDS, __package__).text_of(thing))


def shown(thing: object) -> str:
    """Return a table and maps of an evidence as HTML."""
    return str(import_module(WORDS, __package__).html_of(thing))


def drawn(thing: object, *arguments: Any, **options: Any) -> Any:
    """Return axes of matplotlib with a figure of a result: see :func:`resemblance.plot.draw`."""
    return import_module(PLOT, __package__).draw(thing, *arguments, **options)


# ---------------------------------------------------------------------------------------- in words


def did_you_mean(name: str, names: Iterable[str], show: Iterable[str] | None = None) -> str:
    """Return the end of an error message: the closest name, or all names (or those to ``show``)."""
    names = list(names)
    if ALIASES.get(name.lower(), "").partition("[")[0] in names:
        return f"; did you mean {ALIASES[name.lower()]!r}?"
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(names if show is None else show)}" if names else "; it has none"


def printable(text: str, *, keep: str = "") -> str:
    """Return a text with control characters, which could steer a terminal, as escapes."""
    return text.translate({code: esc for code, esc in ESCAPED.items() if chr(code) not in keep})


def encodable(name: str) -> str:
    """Return a name with U+FFFD for control characters and for bytes that are not UTF-8."""
    text = os.fsencode(name).decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
