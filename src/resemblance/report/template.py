"""What the pages of studies share: one style, one program that shows, hides and sorts, and signs
for verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..extras import need
from ..results.claims import CONTRADICTED, NO_DATA, NOT, PARTLY, REPRODUCED
from .numbers import minus

SIGNS: Mapping[str, str] = {REPRODUCED: "✓", PARTLY: "◐", NOT: "✗", CONTRADICTED: "≠", NO_DATA: "–"}
KINDS: Mapping[str, str] = {
    REPRODUCED: "yes",
    PARTLY: "part",
    NOT: "no",
    CONTRADICTED: "part",
    NO_DATA: "dim",
}


def template(name: str) -> Any:
    """Return the template of a page, which finds its style as ``css`` and its program as ``js``.

    Everything that is put into it is escaped, and what it lacks is an error.
    """
    jinja2 = need("jinja2")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    css = "".join(map(_read, ("study.css", "strip.css", f"{name}.css")))
    environment.globals |= {"css": css, "js": _read("study.js")}
    environment.globals |= {"written": written, "signs": SIGNS, "kinds": KINDS}
    environment.filters["minus"] = minus
    environment.filters["badge"] = lambda verdict: need("markupsafe").Markup(badge(verdict))
    return environment.from_string(_read(f"{name}.html.j2"))


def badge(verdict: str) -> str:
    """Return a verdict with its sign, as markup; a verdict that is none of ours is an error."""
    return (
        f'<span class="badge {KINDS[verdict]}"><b '
        f'aria-hidden="true">{SIGNS[verdict]}</b>{verdict}</span>'
    )


def written(value: Any) -> str:
    """Write a setting for a person: names with their values for a mapping, a list with commas."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {written(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(written, value))
    return str(value)


def _read(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
