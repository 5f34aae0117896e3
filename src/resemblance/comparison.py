"""The result of comparing representations: one matrix per measure, with what is needed to trust
it."""

from __future__ import annotations

import html
import platform
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy

from .arrays import library
from .catalogue import get_measure, parse_parameters
from .declared import SLACK, outside
from .extras import need
from .measure import Measure
from .representation import Representation, fingerprint, title
from .store import Cell, Store, reading, remarks_of
from .suggestions import did_you_mean

ROUNDING = 1e-12  # of a scale: smaller numbers are 0 but for rounding errors
ORDINARY = 10.0  # the width of a range whose values are of the order of 1


class MeasureInfo(NamedTuple):
    """What a result needs to know of a measure: not how it is computed."""

    spec: str
    label: str
    family: str
    larger_is_more_similar: bool
    range: tuple[float, float]
    symmetric: bool
    version: int
    parameters: Mapping[str, Any]


class Failure(NamedTuple):
    """A pair for which a measure has no value, and why."""

    measure: str
    x: str
    y: str
    reason: str


class Remark(NamedTuple):
    """What a measure records of a pair with its value: the recall of approximate neighbours, or why
    it means little."""

    measure: str
    x: str
    y: str
    name: str
    value: float | str


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """One matrix per measure over named representations: ``comparison["cka"]`` is (rows, columns).

    A cell without a value is NaN and its reason is in ``failures``. ``seconds`` is the time per
    measure; the cost of a shared view is charged to the first measure that uses it.
    ``provenance`` says what it was computed from and with: fingerprints of the data, versions,
    precision. ``cells`` are the results as they were computed, to be saved. ``remarks`` are what
    measures recorded of a pair with the value: numbers, and why it means little if it does.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    measures: tuple[MeasureInfo, ...]
    values: Mapping[str, np.ndarray]
    seconds: Mapping[str, float]
    failures: tuple[Failure, ...]
    provenance: Mapping[str, Any]
    cells: tuple[Cell, ...] = ()
    remarks: tuple[Remark, ...] = ()

    def info(self, measure: str | Measure) -> MeasureInfo:
        """Return the description of a measure of this comparison.

        A :class:`Measure` is found by its specification only; a string also with the parameters in
        another order, and by the name or the label, when just one measure has it, whatever its
        parameters.
        """
        wanted = str(measure)
        found = [m for m in self.measures if m.spec == wanted]
        if not found and isinstance(measure, str):
            found = [
                m
                for m in self.measures
                if wanted.lower() in (m.label.lower(), m.spec.split("[")[0])
            ]
            found = found or [m for m in self.measures if _parsed(wanted) == _parsed(m.spec)]
        if len(found) != 1:
            known = [m.spec for m in self.measures]
            problem = f"{len(found)} measures called" if found else "no measure"
            raise KeyError(f"{problem} {wanted!r} in this comparison{did_you_mean(wanted, known)}")
        return found[0]

    def __getitem__(self, measure: str | Measure) -> np.ndarray:
        return self.values[self.info(measure).spec]

    def difference(self, measure: str | Measure) -> np.ndarray:
        """Return the matrix with larger always meaning more different: largest possible similarity
        minus similarity.

        The only place where a direction is turned round. A similarity without an upper bound is
        negated.
        """
        info, values = self.info(measure), self[measure]
        if not info.larger_is_more_similar:
            return values
        return (info.range[1] if np.isfinite(info.range[1]) else 0.0) - values

    def records(self) -> list[dict[str, Any]]:
        """Return one record per measure and pair: measure, label, x, y, value (None if it failed),
        reason.

        If there are remarks, every record has their names, too (None where there is none of that
        name).
        """
        reasons = {(f.measure, f.x, f.y): f.reason for f in self.failures}
        remarks = {remark[:4]: remark.value for remark in self.remarks}
        names = sorted({remark.name for remark in self.remarks})
        return [
            {
                "measure": m.spec,
                "label": m.label,
                "x": x,
                "y": y,
                "value": None
                if np.isnan(self.values[m.spec][i, j])
                else float(self.values[m.spec][i, j]),
                "reason": reasons.get((m.spec, x, y)),
                **{name: remarks.get((m.spec, x, y, name)) for name in names},
            }
            for m in self.measures
            for i, x in enumerate(self.rows)
            for j, y in enumerate(self.columns)
        ]

    def to_pandas(self) -> Any:
        """Return the records as a ``pandas.DataFrame`` (extra ``frames``)."""
        return need("pandas").DataFrame(self.records())

    def to_xarray(self) -> Any:
        """Return an ``xarray.Dataset`` with one (x, y) variable per measure (extra ``frames``)."""
        notes = {spec: {"remarks": note} for spec, note in remark_notes(self).items()}
        data = {
            m.spec: (("x", "y"), self.values[m.spec], m._asdict() | notes.get(m.spec, {}))
            for m in self.measures
        }
        return need("xarray").Dataset(data, coords={"x": list(self.rows), "y": list(self.columns)})

    def save(self, path: str | Path) -> None:
        """Write everything to one file that :func:`load` reads, and that ``compare(...,
        save=path)`` continues."""
        with Store(path) as store:
            store.put(self.cells)
            store.describe(describe(self.rows, self.columns, self.measures, self.provenance))

    def __repr__(self) -> str:
        count = f"{len(self.measures)} measure{'' if len(self.measures) == 1 else 's'}"
        head = f"Comparison of {len(self.rows)} x {len(self.columns)} representations by {count}"
        width = max((len(m.spec) for m in self.measures), default=0)
        lines = [
            f"  {row[0]:<{width}}  {row[2]:>10} .. {row[3]:<10}  {row[4]}".rstrip()
            for row in self._summary()
        ]
        return "\n".join([head, *lines])

    def _repr_html_(self) -> str:
        names = ("measure", "label", "smallest", "largest", "notes", "seconds")
        header = "".join(f"<th>{name}</th>" for name in names)
        rows = (
            "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) for row in self._summary()
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        size = f"{len(self.rows)} x {len(self.columns)} representations"
        return f"<table><caption>Comparison of {size}</caption><tr>{header}</tr>{body}</table>"

    def _summary(self) -> Iterable[tuple[str, str, str, str, str, str]]:
        notes = remark_notes(self)
        for m in self.measures:
            values = without_rounding(self.values[m.spec][~np.isnan(self.values[m.spec])], m)
            low, high = (
                (f"{values.min():.4g}", f"{values.max():.4g}") if values.size else ("-", "-")
            )
            missing = self.values[m.spec].size - values.size
            failed = f"{missing} of {self.values[m.spec].size} failed" if missing else ""
            note = ", ".join(text for text in (failed, notes.get(m.spec)) if text)
            yield m.spec, m.label, low, high, note, f"{self.seconds[m.spec]:.2f}"


def _parsed(spec: str) -> tuple[str, dict[str, Any]] | str:
    """The name and the parameters of a specification, or its text where it cannot be read."""
    name, bracket, parameters = spec.strip().partition("[")
    try:
        return (
            (name.strip().lower(), parse_parameters(parameters[:-1]))
            if bracket and parameters[-1:] == "]"
            else spec
        )
    except ValueError:
        return spec


def without_rounding(values: np.ndarray, info: MeasureInfo) -> np.ndarray:
    """Return values to be read by people: what is 0 but for rounding errors is 0.

    That is less than 1e-12 of the width of the measure's range or, where that has no end, of the
    largest value here.
    """
    width = info.range[1] - info.range[0]
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    scale = width if width < ORDINARY else largest
    shown: np.ndarray = np.where(np.abs(values) < ROUNDING * scale, 0.0, values)
    return shown


def remark_notes(comparison: Comparison) -> dict[str, str]:
    """Return what measures recorded with their values, one text per measure: "neighbour recall 0.97
    to 1"."""
    found: dict[str, dict[str, list[float | str]]] = {}
    for remark in comparison.remarks:
        found.setdefault(remark.measure, {}).setdefault(remark.name, []).append(remark.value)
    return {
        spec: "; ".join(_note(name, values) for name, values in by_name.items())
        for spec, by_name in found.items()
    }


def _note(name: str, values: list[float | str]) -> str:
    """The span of numbers, or the different texts with how many values they are said of."""
    texts = Counter(value for value in values if isinstance(value, str))
    if texts:
        return "; ".join(
            f"{text} ({times} value{'s' * (times > 1)})" for text, times in texts.items()
        )
    numbers = [float(value) for value in values]
    ends = dict.fromkeys(f"{end:.4g}" for end in (min(numbers), max(numbers)))
    return f"{name.replace('_', ' ')} {' to '.join(ends)}"


def load(path: str | Path) -> Comparison:
    """Read a comparison that was saved; one that was interrupted says in ``failures`` which pairs
    are missing.

    Raises ``ValueError`` for a file that is not there or not a comparison.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"no comparison at {path}")
    with Store(path, read_only=True) as store, reading(path):
        description, cells = store.description(), store.cells()
        infos = tuple(_info_from(entry) for entry in description["measures"])
        check_ranges(cells, infos, path)
        return assemble(
            description["rows"], description["columns"], infos, cells, description["provenance"]
        )


def check_ranges(cells: Iterable[Cell], infos: Iterable[MeasureInfo], path: Path) -> None:
    """Raise ``ValueError`` for values in a file that a measure cannot have; a known measure says
    so, not the file."""
    ranges = {(m.spec, m.version): _declared_range(m) for m in infos}
    for cell in cells:
        ends = ranges.get(cell[:2])
        if ends and cell.value is not None and outside(cell.value, ends, max(SLACK.values())):
            raise ValueError(f"{path} is damaged: {cell.measure} cannot be {cell.value:g}")


def _declared_range(info: MeasureInfo) -> tuple[float, float]:
    try:
        found = get_measure(info.spec)
    except ValueError:  # a user's own
        return info.range
    return found.range if (found.label, found.version) == (info.label, info.version) else info.range


def assemble(
    rows: Iterable[str],
    columns: Iterable[str],
    infos: tuple[MeasureInfo, ...],
    cells: Iterable[Cell],
    provenance: Mapping[str, Any],
    missing: Mapping[str, str] | None = None,
) -> Comparison:
    """Put cells, found by the fingerprints of both sides, into one matrix per measure.

    ``missing``: why measures of which there is no cell were not computed.
    """
    rows, columns = tuple(rows), tuple(columns)
    of_row, of_column = _fingerprints(provenance, "rows"), _fingerprints(provenance, "columns")
    found = {(c.measure, c.version, c.x, c.y): c for c in cells}
    values = {m.spec: np.full((len(rows), len(columns)), np.nan) for m in infos}
    seconds = dict.fromkeys(values, 0.0)
    failures, remarks, kept = [], list[Remark](), dict[Cell, None]()
    for m in infos:
        used = dict[Cell, None]()
        for i, x in enumerate(rows):
            for j, y in enumerate(columns):
                a, b = of_row[x], of_column[y]
                cell = found.get((m.spec, m.version, a, b))
                if cell is None and m.symmetric:
                    cell = found.get((m.spec, m.version, b, a))
                if cell is None:
                    failures.append(
                        Failure(m.spec, x, y, (missing or {}).get(m.spec, "not computed"))
                    )
                    continue
                used[cell] = None
                remarks += [Remark(m.spec, x, y, *named) for named in remarks_of(cell).items()]
                if cell.value is None:
                    failures.append(Failure(m.spec, x, y, _reason(cell, (a, x), (b, y))))
                else:
                    values[m.spec][i, j] = cell.value
        seconds[m.spec] = sum(cell.seconds for cell in used)
        values[m.spec].flags.writeable = False
        kept |= used
    return Comparison(
        rows,
        columns,
        infos,
        values,
        seconds,
        tuple(failures),
        provenance,
        tuple(kept),
        tuple(remarks),
    )


def _reason(cell: Cell, *sides: tuple[str, str]) -> str:
    """The reason of a failed cell, with the names that the data have here in place of their
    fingerprints."""
    reason = cell.reason or ""
    for fingerprint_of_side, name in sides:
        reason = reason.replace(f"{{{fingerprint_of_side}}}", title(name))
    return reason


def describe(
    rows: Iterable[str],
    columns: Iterable[str],
    infos: Iterable[MeasureInfo],
    provenance: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the JSON-able description of a comparison (infinite ranges become null)."""
    measures = [
        m._asdict() | {"range": [r if np.isfinite(r) else None for r in m.range]} for m in infos
    ]
    return {
        "rows": list(rows),
        "columns": list(columns),
        "measures": measures,
        "provenance": dict(provenance),
    }


def _info_from(entry: dict[str, Any]) -> MeasureInfo:
    low, high = entry["range"]
    bounds = (-np.inf if low is None else low, np.inf if high is None else high)
    return MeasureInfo(**(entry | {"range": bounds}))


def info_of(measure: Measure) -> MeasureInfo:
    """Return what a result keeps of a measure."""
    return MeasureInfo(
        measure.spec,
        measure.label,
        measure.family,
        measure.larger_is_more_similar,
        measure.range,
        measure.symmetric,
        measure.version,
        dict(measure.parameters),
    )


def provenance_of(
    rows: Sequence[Representation], columns: Sequence[Representation]
) -> dict[str, Any]:
    """Return what a comparison was computed from and with."""
    modules = {library(r.source) for r in [*rows, *columns]}
    return {
        **environment(modules),
        "n_samples": rows[0].shape[0],
        "rows": {r.name: _identity(r) for r in rows},
        "columns": {r.name: _identity(r) for r in columns},
    }


def environment(modules: Iterable[str] = ()) -> dict[str, Any]:
    """Return what anything is computed with: versions of this library, of Python, and of NumPy,
    SciPy and others."""
    from . import __version__

    libraries = {"numpy": np.__version__, "scipy": scipy.__version__}
    for name in set(modules) - set(libraries):
        libraries[name] = str(getattr(sys.modules[name], "__version__", "unknown"))
    return {
        "resemblance": __version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "libraries": libraries,
    }


def _identity(x: Representation) -> dict[str, Any]:
    return {
        "fingerprint": fingerprint(x),
        "n_features": x.shape[1],
        "dtype": str(x.source.dtype).removeprefix("torch."),
        "computed_in": x.precision,
    }


def _fingerprints(provenance: Mapping[str, Any], side: str) -> dict[str, str]:
    return {name: identity["fingerprint"] for name, identity in provenance[side].items()}
