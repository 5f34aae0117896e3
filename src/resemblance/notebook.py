"""How a notebook shows an object: a heading and a table of facts."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape


def card(heading: str, facts: Mapping[str, object]) -> str:
    """Return a small HTML table of facts by name, without those that are empty."""
    style = "style='text-align:left'"
    rows = ""
    for name, fact in facts.items():
        if str(fact):
            rows += f"<tr><th {style}>{escape(name)}</th><td {style}>{escape(str(fact))}</td></tr>"
    return f"<table><caption>{escape(heading)}</caption>{rows}</table>"
