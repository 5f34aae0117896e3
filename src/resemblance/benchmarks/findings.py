"""What a suite of experiments found, as one value that can be saved and shown: tables, figures,
claims and scores."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..documents import check_types, read_document
from ..notebook import card
from ..significance import Places, places, rank_within
from ..store import write_atomically
from .claims import VERDICTS, Claim
from .headlines import TRIAL, headline, is_trial, listed, without_verdicts

FORMAT = 1
Entry = str | float | None  # of a table; None where there is no value

Rows = tuple[tuple[Entry, ...], ...]


class Table(NamedTuple):
    """Numbers with names. ``name`` is unique within its section; ``note`` says how to read it.

    A row has an entry for every column.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    note: str = ""


class Line(NamedTuple):
    """Points (x, y) that belong together, and their intervals (low, high) if known, one for each
    point."""

    name: str
    points: tuple[tuple[float, float], ...]
    intervals: tuple[tuple[float, float], ...] = ()


class Chart(NamedTuple):
    """Lines, or clouds of points, over common axes. ``threshold`` draws a horizontal line that
    ``note`` explains."""

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
    """Estimates below each other, such as of one quantity for every measure. ``threshold`` draws a
    vertical line.

    ``span``: the ends of the axis, such as the first and the last rank; by default as the values
    need.
    """

    name: str
    title: str
    x: str
    bars: tuple[Bar, ...]
    note: str = ""
    threshold: float | None = None
    span: tuple[float, float] | None = None


class Section(NamedTuple):
    """What one experiment found.

    ``about``: one paragraph for a reader who has not seen the paper. ``scores``: by cell (what was
    tested, on what), then by the specification of a measure, how well the measure does; larger is
    better, None where it has no value. ``reasons``: why something has no value, by what it is.
    """

    name: str
    title: str
    about: str
    tables: tuple[Table, ...] = ()
    figures: tuple[Chart | Bars, ...] = ()
    claims: tuple[Claim, ...] = ()
    scores: Mapping[str, Mapping[str, float | None]] = {}
    reasons: Mapping[str, str] = {}


@dataclass(frozen=True, repr=False)
class Findings:
    """Everything that a run of a suite found; what tables, pages and joint rankings are made of.

    ``suite``: "stability", "sensitivity" or "joint". ``labels``: by specification, what papers call
    a measure. ``seconds``: the processor time of every section. ``facts``: by name, what it is of:
    data sets, models, seeds. ``lead``: of a joint ranking, who leads and where suites disagree;
    others work that out. ``remarks``: what a reader must know before the numbers, such as studies
    that were left out.

    A run of a size that is only for trying out has no verdicts: its claims are "no data".

    Raises ``ValueError`` for sections, tables or figures of one name, a row of a table that does
    not fit its columns, intervals that do not fit their points, and a verdict that does not exist.
    """

    suite: str
    size: str
    sections: tuple[Section, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    lead: str = ""
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.is_trial:
            silent = tuple(s._replace(claims=without_verdicts(s.claims)) for s in self.sections)
            object.__setattr__(self, "sections", silent)
        _check_names("the findings", self.sections)
        for section in self.sections:
            _check(section)

    def __repr__(self) -> str:
        return f"<Findings: {', '.join(f'{name} {fact}' for name, fact in self._facts().items())}>"

    def _repr_html_(self) -> str:
        return card("Findings", self._facts())

    def _facts(self) -> dict[str, str]:
        verdicts = Counter(claim.verdict for claim in self.claims)
        told = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        return {
            "suite": self.suite,
            "size": self.size,
            "sections": str(len(self.sections)),
            "claims": f"{len(self.claims)} ({told})" if told else "0",
            "measures": str(
                len({measure for scores in self.scores().values() for measure in scores})
            ),
        }

    def __getitem__(self, name: str) -> Section:
        found = {section.name: section for section in self.sections}
        return found[name]

    @property
    def is_trial(self) -> bool:
        """Whether it is a run of a size that is only for trying out."""
        return is_trial(self.suite, self.size)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of all sections."""
        return tuple(claim for section in self.sections for claim in section.claims)

    def scores(self) -> dict[tuple[str, str], Mapping[str, float | None]]:
        """Return the scores of every cell, by section and cell."""
        return {(s.name, cell): scores for s in self.sections for cell, scores in s.scores.items()}

    def ranks(self) -> dict[tuple[str, str], dict[str, float]]:
        """Return the rank of every measure in every cell, 1 for the best; without a value it stands
        behind all others.

        Cells in which no measure has a value are left out, for nobody can be ranked there.
        """
        cells = {
            c: {m: math.nan if v is None else v for m, v in s.items()}
            for c, s in self.scores().items()
        }
        return {c: rank_within(s) for c, s in cells.items() if not all(map(math.isnan, s.values()))}

    def places(self) -> Places:
        """Return where every measure stands over the cells, best first, and which cannot be told
        from the leader."""
        return places({self.suite: self.ranks()})

    def headline(self) -> str:
        """Say which measure leads, and which cannot be told from it; of a trial, that it is one."""
        if self.is_trial:
            return TRIAL
        return self.lead or (headline(self.places(), self.labels) if self.ranks() else "")

    def idle(self) -> str:
        """Say which measures play no part in what was run, having no score in any cell; nothing
        when all do."""
        scored = {m for scores in self.scores().values() for m in scores}
        none = [label for spec, label in self.labels.items() if spec not in scored]
        if not none or self.suite == "joint":
            return ""
        if not scored:
            return (
                "What was run here scores no measure of similarity, so the measures play no part "
                "in it."
            )
        return (
            f"{listed(none)} {'plays' if len(none) == 1 else 'play'} no part in what was run here."
        )

    def document(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        sections = [{**s._asdict(), **_written(s)} for s in self.sections]
        return {**vars(self), "format": FORMAT, "sections": sections}

    def save(self, path: str | Path) -> None:
        """Write everything as JSON, atomically. Raises ``ValueError`` for a number that is NaN or
        infinite."""
        document = self.document()
        for section in document["sections"]:
            _as_json(section, f"section {section['name']!r}")
        write_atomically(Path(path), _as_json(document, "what was found"))


def load_findings(path: str | Path) -> Findings:
    """Read findings that were saved. Raises ``ValueError`` for anything else."""

    def made(found: dict[str, Any]) -> Findings:
        if found.pop("format") != FORMAT:
            raise ValueError("it has another format")
        found = {**found, "remarks": tuple(found.get("remarks", ()))}
        findings = Findings(
            **{**found, "sections": tuple(_section(entry) for entry in found["sections"])}
        )
        check_types(findings, Findings)
        return findings

    return read_document(
        Path(path), made, "a result", "remove it and run the suite again: what was computed is kept"
    )


def known(value: float | None) -> float | None:
    """Return a number as a Python float, or None where it is NaN or infinite."""
    return None if value is None or not math.isfinite(value) else float(value)


def mean(values: Iterable[float | None]) -> float:
    """Return the mean of the numbers that are there; NaN where there is none."""
    there = [v for v in values if v is not None and not math.isnan(v)]
    return math.fsum(there) / len(there) if there else math.nan


def distinct(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the label of every measure, where others have the same one with its parameters: "CKA
    [kernel=rbf]".

    Measures that cannot be told apart even so are called by their specifications.
    """
    shared = Counter(labels.values())
    told = {
        spec: label if shared[label] == 1 else _with_parameters(label, spec)
        for spec, label in labels.items()
    }
    every = Counter(told.values())
    return {spec: name if every[name] == 1 else spec for spec, name in told.items()}


def _with_parameters(label: str, spec: str) -> str:
    _, bracket, parameters = spec.partition("[")
    return f"{label} [{parameters}" if bracket else label


def _as_json(value: Any, what: str) -> str:
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False, default=dict)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{what} has something that cannot be saved: {error}") from error


def _check(section: Section) -> None:
    _check_names(f"section {section.name!r}", (*section.tables, *section.figures))
    for table in section.tables:
        for i, row in enumerate(table.rows):
            if len(row) != len(table.columns):
                wrong = f"row {i} has {len(row)} entries for {len(table.columns)} columns"
                raise ValueError(f"section {section.name!r}, table {table.name!r}: {wrong}")
    for line in (line for f in section.figures if isinstance(f, Chart) for line in f.lines):
        if line.intervals and len(line.intervals) != len(line.points):
            wrong = f"{len(line.intervals)} intervals for {len(line.points)} points"
            raise ValueError(f"section {section.name!r}, line {line.name!r}: {wrong}")
    for claim in section.claims:
        if claim.verdict not in VERDICTS:
            raise ValueError(
                f"section {section.name!r}, claim {claim.number}: no verdict {claim.verdict!r}"
            )


def _check_names(where: str, parts: Iterable[Any]) -> None:
    for name, count in Counter(part.name for part in parts).items():
        if count > 1:
            raise ValueError(f"{where}: {count} parts are called {name!r}")


def _written(section: Section) -> dict[str, Any]:
    figures = [{"kind": type(f).__name__, **f._asdict()} for f in section.figures]
    return {
        "tables": [t._asdict() for t in section.tables],
        "claims": [c._asdict() for c in section.claims],
        "figures": [_of_figure(f) for f in figures],
    }


def _of_figure(figure: dict[str, Any]) -> dict[str, Any]:
    parts = {
        name: [part._asdict() for part in figure[name]]
        for name in ("lines", "bars")
        if name in figure
    }
    return figure | parts


def _section(entry: dict[str, Any]) -> Section:
    tables = tuple(
        Table(**{**_tuples(t), "rows": tuple(map(tuple, t["rows"]))}) for t in entry["tables"]
    )
    figures = tuple(map(_figure, entry["figures"]))
    claims = tuple(Claim(**c) for c in entry["claims"])
    return Section(**{**entry, "tables": tables, "figures": figures, "claims": claims})


def _figure(entry: dict[str, Any]) -> Chart | Bars:
    kind = entry.pop("kind")
    if kind == "Bars":
        return Bars(**{**_tuples(entry), "bars": tuple(Bar(**bar) for bar in entry["bars"])})
    if kind != "Chart":
        raise ValueError(f"there is no figure of the kind {kind!r}")
    return Chart(**{**entry, "lines": tuple(map(_line, entry["lines"]))})


def _line(entry: dict[str, Any]) -> Line:
    return Line(
        entry["name"], *(tuple(tuple(pair) for pair in entry[k]) for k in ("points", "intervals"))
    )


def _tuples(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()
    }
