"""Checked arguments of the plot functions: the comparison, its evidence, and the measure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..comparison.comparison import (
    Comparison,
    MeasureInfo,
    unique_measure_title,
    unique_specification,
)
from ..contracts._measure import Measure
from ..inference.result import Evidence
from ..report.comparing.stats import PageContext
from ..report.evidence_words import result_of_measure


def page_context_to_plot(
    function: str,
    data: Any,
    measure: str | Measure | None,
    evidence: Evidence | None = None,
    *,
    stretch: bool = False,
) -> PageContext:
    """Return the context of a measure from a comparison or an evidence ``data``.

    ``function``: the name of the plot function, for errors. ``measure``: the measure to draw; None
    if there is a single measure. ``evidence``: the evidence on the comparison, or None.
    ``stretch``: let the colours span the values. Raises ``ValueError`` for other data and for
    evidence on other representations.
    """
    if isinstance(data, Evidence):
        comparison, evidence = data.comparison, data
    else:
        comparison = _require_comparison(function, data, evidence)
    info = measure_to_plot(function, comparison, measure)
    readings = {} if evidence is None else {info.spec: result_of_measure(evidence, info)}
    return PageContext(comparison, info, evidence, readings, stretch)


def check_result_to_plot(function: str, result: Any, kind: type, remedy: str = "") -> None:
    """Raise ``ValueError`` unless a result is of the class ``kind`` that a plot function draws.
    ``function``: the name of the plot function, for the error. ``remedy``: the end of the error."""
    if not isinstance(result, kind):
        got = type(result).__name__
        raise ValueError(
            f"plot.{function} draws a result of class {kind.__name__}; got {got}{remedy}"
        )


def _require_comparison(function: str, data: Any, evidence: Any) -> Comparison:
    """Return the comparison ``data`` unchanged; raise ``ValueError`` for other data, and for an
    ``evidence`` (None for none) that is no evidence or has other representations. ``function``: the
    name of the plot function, for errors."""
    if not isinstance(data, Comparison):
        raise ValueError(
            f"plot.{function} draws a Comparison or an Evidence; got {type(data).__name__}"
        )
    if evidence is None:
        return data
    if not isinstance(evidence, Evidence):
        kind = type(evidence).__name__
        raise ValueError(f"plot.{function}: evidence must be an Evidence; got {kind}")
    if (evidence.rows, evidence.columns) != (data.rows, data.columns):
        raise ValueError(
            f"plot.{function}: the evidence is on {len(evidence.rows)} x {len(evidence.columns)} "
            f"representations and the comparison on {len(data.rows)} x {len(data.columns)}, or "
            "they have other names; draw the evidence alone"
        )
    return data


def measure_to_plot(
    function: str, comparison: Comparison, measure: str | Measure | None
) -> MeasureInfo:
    """Return the properties of the measure to draw. ``measure`` may be None if the comparison has a
    single measure; otherwise None raises ``ValueError``. ``function``: the name of the plot
    function, for the error."""
    if measure is not None:
        return comparison.info(measure)
    specs = [unique_specification(comparison, m) for m in comparison.measures]
    if len(specs) != 1:
        raise ValueError(f"plot.{function} draws one measure; name one of {', '.join(specs)}")
    return comparison.measures[0]


def measure_axis_label(comparison: Comparison, info: MeasureInfo) -> str:
    """Return the title of a measure of a comparison with the direction of similarity: "CKA (larger
    = more similar)"."""
    direction = "larger" if info.larger_is_more_similar else "smaller"
    return f"{unique_measure_title(comparison, info)} ({direction} = more similar)"


def reordered_comparison(comparison: Comparison, info: MeasureInfo, order: list[int]) -> Comparison:
    """Return a new square comparison with the measure ``info`` only, and the representations in
    another order. ``order``: for every new position, the index of the representation. The values
    are selected by name."""
    names = tuple(comparison.rows[i] for i in order)
    matrices = {info.spec: comparison.matrices[info.spec]}
    return replace(comparison, rows=names, columns=names, measures=(info,), matrices=matrices)
