"""Make the table of what other packages have, from ``peers.toml``: names there, names here, and
what is missing here."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from pieces import markdown

import resemblance as rs

PEERS = Path(__file__).with_name("peers.toml")


class Area(NamedTuple):
    """A kind of things that a package has: (name there, name here), and the missing names."""

    package: str
    link: str
    area: str
    here: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    on_purpose: tuple[str, ...]


def areas() -> Iterator[Area]:
    """Yield every area of every package."""
    for package, entries in tomllib.loads(PEERS.read_text("utf-8")).items():
        link = f"[{package}]({entries['url']}) {entries['read']}"
        for area, names in entries.items():
            if isinstance(names, dict):
                here = tuple((theirs, ours) for theirs, ours in names.get("here", ()))
                parts = (tuple(names.get(key, ())) for key in ("missing", "on_purpose"))
                yield Area(package, link, area, here, *parts)


def table() -> str:
    """Return the table; the cell of missing things says "nothing" where all is here."""
    rows, last = [], ""
    for area in areas():
        missing = ", ".join(area.missing)
        if area.on_purpose:
            missing += f"{'; ' if missing else ''}on purpose: {', '.join(area.on_purpose)}"
        names = ", ".join(f"{_code(theirs)}: `{ours}`" for theirs, ours in area.here)
        rows.append((area.link * (area.package != last), area.area, names, missing or "nothing"))
        last = area.package
    return markdown(("package", "for", "there: here", "missing here"), rows)


def _code(name: str) -> str:
    return name if name.startswith("the ") else f"`{name}`"


def exists(ours: str) -> bool:
    """Say whether a name of this package exists: a measure, an attribute of ``resemblance``, or
    ``name(parameter=)``."""
    match = re.fullmatch(r"([^(]+)(?:\((\w+)=\))?", ours)
    assert match, ours
    try:
        value: Any = attrgetter(match[1])(rs)
    except AttributeError:
        try:
            value = rs.get_measure(match[1])
        except ValueError:
            return False
    return match[2] is None or match[2] in inspect.signature(value).parameters
