"""The report of a comparison of two versions: the verdict, and everything it rests on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from ..base.formatting import format_number
from ..base.rendering import plot_result, thumbnail
from .facts import Fact
from .findings import MIN_WRITTEN_VALUE, Finding
from .moved import Moved, MovedClass, RowPermutation
from .table import Drift
from .unpaired import MovedFeature
from .verdict import Judgement, purpose_sentences


@dataclass(frozen=True, repr=False)
class DriftReport:
    """What :func:`drift` returns. ``drifted`` is the verdict; all else says why, and in what way.

    ``geometry`` judges what no rotation, translation or factor of scale changes, ``coordinates``
    where the samples are, ``index`` the neighbours that new queries lose among old vectors.
    ``settings["purpose"]`` says which of them count.
    """

    drifted: bool
    verdict: str
    row_facts: tuple[Fact, ...]  # what the rows show before any map: equal, zero or packed rows
    geometry: Judgement
    coordinates: Judgement
    index: Judgement
    drifts: tuple[Drift, ...]
    findings: tuple[Finding, ...]
    reordered: (
        RowPermutation | None
    )  # whether the current version has (nearly) the same rows, moved
    map: str  # the map from reference to current that was chosen, "" for other samples
    unexplained: float | None  # share of the variance of the current version that it leaves
    ladder: tuple[tuple[str, float], ...]  # the same share for maps of growing freedom
    moved: tuple[Moved, ...]  # the samples farthest from where the map puts them
    moved_before: tuple[Moved, ...]  # the samples farthest from where they were
    classes: tuple[MovedClass, ...]  # with labels: every class, and the class nearest to it
    features: tuple[MovedFeature, ...]  # of other samples: columns with another distribution
    picture: dict[str, list[tuple[float, float]]]  # samples in the plane of largest variance
    settings: dict[str, Any]
    provenance: dict[str, Any]  # versions of libraries; file, shape and fingerprint of the data
    cautions: tuple[str, ...] = ()  # what is doubtful about the data, such as copies of samples

    @property
    def named(self) -> tuple[str, ...]:
        """The kinds of change that happened."""
        return tuple(f.kind for f in self.findings if f.named)

    @property
    def lines(self) -> tuple[str, ...]:
        """The verdicts on the geometry, the coordinates, and new queries against old vectors, a
        sentence each."""
        return purpose_sentences(
            self.settings["purpose"], (self.geometry, self.coordinates, self.index)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, words, lists and dictionaries: what JSON can hold."""
        return {**asdict(self), "named": list(self.named)}

    def to_json(self) -> str:
        """Return everything as JSON."""
        options: dict[str, Any] = {"ensure_ascii": False, "indent": 1, "default": str}
        return json.dumps(self.to_dict(), allow_nan=False, **options) + "\n"

    def __repr__(self) -> str:
        lines = (f"  {line}" for line in (*self.cautions, *self.lines))
        return "\n".join([f"DriftReport: {self.verdict}", *lines])

    def _repr_html_(self) -> str:
        values = [format_number(d.value, rounding=MIN_WRITTEN_VALUE) for d in self.drifts]
        rows = "".join(
            f"<tr><td>{escape(d.label)}</td><td>{value}</td></tr>"
            for d, value in zip(self.drifts, values)
        )
        named = (f"{f.kind}: {f.said}" for f in self.findings if f.named)
        kinds = "".join(f"<li>{escape(words)}</li>" for words in named)
        all_sides = "".join(f"<p>{escape(line)}</p>" for line in (*self.cautions, *self.lines))
        return (
            f"<p><b>{escape(self.verdict)}</b></p>{all_sides}<ul>{kinds}</ul>{thumbnail(self)}"
            f"<table>{rows}</table>"
        )

    def plot(self, **options: Any) -> Any:
        """Draw the drifts by :func:`resemblance.plot.drift`; return the axes (extra ``plot``)."""
        return plot_result(self, **options)
