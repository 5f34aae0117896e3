"""What a notebook shows of an object: a heading and its facts."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape


def card(heading: str, facts: Mapping[str, object]) -> str:
    """Return a small HTML table of what is known; facts that are empty are left out."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td "
        f"style='text-align:left'>{escape(str(fact))}</td></tr>"
        for name, fact in facts.items()
        if str(fact)
    )
    return f"<table><caption>{escape(heading)}</caption>{rows}</table>"
