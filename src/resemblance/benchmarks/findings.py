"""What a suite of experiments found, as one value that can be saved and shown: tables, figures, claims and scores."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..store import write_atomically
from .claims import Claim

FORMAT = 1
Entry = str | float | None  # of a table; None where there is no value


class Table(NamedTuple):
    """Numbers with names. ``name`` is unique within its section; ``note`` says how to read it."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    note: str = ""


class Line(NamedTuple):
    """Points (x, y) that belong together, and their intervals (low, high) if known, one for each point."""

    name: str
    points: tuple[tuple[float, float], ...]
    intervals: tuple[tuple[float, float], ...] = ()


class Chart(NamedTuple):
    """Lines, or clouds of points, over common axes. ``threshold`` draws a horizontal line that ``note`` explains."""

    name: str
    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    note: str = ""
    joined: bool = True  # points of a line are joined
    log_x: bool = False
    threshold: float | None = None


class Bar(NamedTuple):
    """An estimate with its interval; ``low`` and ``high`` are None where there is none."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None


class Bars(NamedTuple):
    """Estimates below each other, such as of one quantity for every measure. ``threshold`` draws a vertical line."""

    name: str
    title: str
    x: str
    bars: tuple[Bar, ...]
    note: str = ""
    threshold: float | None = None


class Section(NamedTuple):
    """What one experiment found.

    ``about``: one paragraph for a reader who has not seen the paper. ``scores``: by cell (what was tested, on what),
    then by the specification of a measure, how well the measure does; larger is better, None where it has no value.
    ``reasons``: why something has no value, by what it is.
    """

    name: str
    title: str
    about: str
    tables: tuple[Table, ...] = ()
    figures: tuple[Chart | Bars, ...] = ()
    claims: tuple[Claim, ...] = ()
    scores: Mapping[str, Mapping[str, float | None]] = {}
    reasons: Mapping[str, str] = {}


@dataclass(frozen=True)
class Findings:
    """Everything that a run of a suite found; what tables, pages and joint rankings are made of.

    ``suite``: "stability", "sensitivity" or "joint". ``labels``: by specification, what papers call a measure.
    ``seconds``: the processor time of every section.
    """

    suite: str
    size: str
    sections: tuple[Section, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Section:
        found = {section.name: section for section in self.sections}
        return found[name]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of all sections."""
        return tuple(claim for section in self.sections for claim in section.claims)

    def scores(self) -> dict[tuple[str, str], Mapping[str, float | None]]:
        """Return the scores of every cell, by section and cell."""
        return {(s.name, cell): scores for s in self.sections for cell, scores in s.scores.items()}

    def save(self, path: str | Path) -> None:
        """Write everything as JSON, atomically. Raises ``ValueError`` for a number that is NaN or infinite."""
        sections = [{**s._asdict(), **_written(s)} for s in self.sections]
        found = {**vars(self), "format": FORMAT, "sections": sections}
        write_atomically(Path(path), json.dumps(found, allow_nan=False, ensure_ascii=False, default=dict))


def load_findings(path: str | Path) -> Findings:
    """Read findings that were saved. Raises ``ValueError`` for anything else."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        if found.pop("format") != FORMAT:
            raise ValueError("it has another format")
        return Findings(**{**found, "sections": tuple(_section(entry) for entry in found["sections"])})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        remedy = "remove it and run the suite again: what was computed is kept"
        raise ValueError(f"{path} is not a result that can be read ({error}); {remedy}") from error


def known(value: float | None) -> float | None:
    """Return a number as a Python float, or None where it is NaN or infinite."""
    return None if value is None or not math.isfinite(value) else float(value)


def _written(section: Section) -> dict[str, Any]:
    figures = [{"kind": type(f).__name__, **f._asdict()} for f in section.figures]
    return {
        "tables": [t._asdict() for t in section.tables], "claims": [c._asdict() for c in section.claims],
        "figures": [_of_figure(f) for f in figures],
    }  # fmt: skip


def _of_figure(figure: dict[str, Any]) -> dict[str, Any]:
    parts = {name: [part._asdict() for part in figure[name]] for name in ("lines", "bars") if name in figure}
    return figure | parts


def _section(entry: dict[str, Any]) -> Section:
    tables = tuple(Table(**{**_tuples(t), "rows": tuple(map(tuple, t["rows"]))}) for t in entry["tables"])
    figures = tuple(map(_figure, entry["figures"]))
    claims = tuple(Claim(**c) for c in entry["claims"])
    return Section(**{**entry, "tables": tables, "figures": figures, "claims": claims})


def _figure(entry: dict[str, Any]) -> Chart | Bars:
    kind = entry.pop("kind")
    if kind == "Bars":
        return Bars(**{**entry, "bars": tuple(Bar(**bar) for bar in entry["bars"])})
    if kind != "Chart":
        raise ValueError(f"there is no figure of the kind {kind!r}")
    return Chart(**{**entry, "lines": tuple(map(_line, entry["lines"]))})


def _line(entry: dict[str, Any]) -> Line:
    return Line(entry["name"], *(tuple(tuple(pair) for pair in entry[k]) for k in ("points", "intervals")))


def _tuples(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}
