"""The report of a comparison of two versions: the verdict and the measurements behind it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar

from ..base.formatting import format_number
from ..base.rendering import thumbnail
from ..base.results import BaseResult
from .facts import Fact
from .findings import MIN_WRITTEN_VALUE, Finding
from .moved import Moved, MovedClass, RowPermutation
from .table import DriftTest
from .unpaired import MovedFeature
from .verdict import Judgement, purpose_sentences


@dataclass(frozen=True, repr=False)
class DriftReport(BaseResult):
    """The result of :func:`drift`: ``drifted`` says whether there is drift; the other fields
    explain the drift.

    ``conclusion`` is the verdict in words. ``geometry`` judges changes that no rotation,
    translation or factor of scale undoes, ``coordinates`` the positions of the samples, ``index``
    the loss of neighbours when new queries search old vectors. ``settings["purpose"]`` decides
    which judgements count.
    """

    drifted: bool
    conclusion: str
    row_facts: tuple[Fact, ...]  # facts of the rows: equal, zero or packed rows
    geometry: Judgement
    coordinates: Judgement
    index: Judgement
    drifts: tuple[DriftTest, ...]
    findings: tuple[Finding, ...]
    reordered: (
        RowPermutation | None
    )  # whether the current version has (nearly) the same rows in another order
    map: str  # the chosen map from reference to current, "" for other samples
    unexplained: float | None  # share of the current variance that the map leaves
    unexplained_by_map: tuple[tuple[str, float], ...]  # the same share for nested maps
    moved: tuple[Moved, ...]  # the samples farthest from their mapped positions
    displaced: tuple[Moved, ...]  # the samples farthest from their old positions
    class_shifts: tuple[MovedClass, ...]  # with labels: every class and its nearest class
    features: tuple[MovedFeature, ...]  # unpaired batches: columns with another distribution
    projection: dict[str, list[tuple[float, float]]]  # samples in the plane of largest variance
    settings: dict[str, Any]
    provenance: dict[str, Any]  # versions of libraries; file, shape and fingerprint of the data
    caveats: tuple[str, ...] = ()  # doubts about the data, such as copies of samples

    _derived: ClassVar[tuple[str, ...]] = ("changes",)

    @property
    def changes(self) -> tuple[str, ...]:
        """The kinds of change that the findings name."""
        return tuple(f.kind for f in self.findings if f.named)

    @property
    def details(self) -> tuple[str, ...]:
        """The sentences about the geometry, the coordinates, and new queries against old vectors,
        in this order."""
        return purpose_sentences(
            self.settings["purpose"], (self.geometry, self.coordinates, self.index)
        )

    @property
    def failures(self) -> tuple[DriftTest, ...]:
        """The rows of the table without a value, with their reasons."""
        return tuple(d for d in self.drifts if d.value is None)

    def summary(self) -> str:
        """Return the conclusion, the caveats about the data, and the details, one per line."""
        return "\n".join((self.conclusion, *(f"  {x}" for x in (*self.caveats, *self.details))))

    def records(self) -> list[dict[str, Any]]:
        """Return one record per row of the table: measure, label, value, the ends of the interval
        (low, high), threshold, whether the value exceeds the threshold, p-value, aspect, and the
        reason for a missing value."""
        return [
            {
                "measure": d.name,
                "label": d.label,
                "value": d.value,
                "low": d.low,
                "high": d.high,
                "threshold": d.threshold,
                "exceeds_threshold": d.exceeds_threshold,
                "pvalue": d.pvalue,
                "aspect": d.aspect,
                "reason": d.reason or None,
            }
            for d in self.drifts
        ]

    def _repr_html_(self) -> str:
        values = [format_number(d.value, rounding=MIN_WRITTEN_VALUE) for d in self.drifts]
        rows = "".join(
            f"<tr><td>{escape(d.label)}</td><td>{value}</td></tr>"
            for d, value in zip(self.drifts, values)
        )
        sentences = (f"{f.kind}: {f.sentence}" for f in self.findings if f.named)
        kinds = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
        paragraphs = "".join(f"<p>{escape(line)}</p>" for line in (*self.caveats, *self.details))
        return (
            f"<p><b>{escape(self.conclusion)}</b></p>{paragraphs}<ul>{kinds}</ul>{thumbnail(self)}"
            f"<table>{rows}</table>"
        )
