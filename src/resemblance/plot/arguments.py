"""What is to be drawn: the comparison, its evidence, and the measure, checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..comparison.comparison import Comparison, MeasureInfo, chance_matrix
from ..contracts._measure import Measure
from ..inference.result import Evidence


def comparison_and_evidence(
    function: str, data: Any, evidence: Evidence | None = None
) -> tuple[Comparison, Evidence | None]:
    """Return a comparison with its evidence, either of which may be what is drawn.

    Raises ``ValueError`` for anything else, and for evidence on other representations.
    """
    if isinstance(data, Evidence):
        return data.comparison, data
    if not isinstance(data, Comparison):
        raise ValueError(
            f"plot.{function} draws a Comparison or an Evidence; got {type(data).__name__}"
        )
    if evidence is None:
        return data, None
    if not isinstance(evidence, Evidence):
        kind = type(evidence).__name__
        raise ValueError(f"plot.{function}: evidence must be an Evidence; got {kind}")
    if (evidence.rows, evidence.columns) != (data.rows, data.columns):
        raise ValueError(
            f"plot.{function}: the evidence is on {len(evidence.rows)} x {len(evidence.columns)} "
            f"representations and the comparison on {len(data.rows)} x {len(data.columns)}, or "
            "they have other names; draw the evidence alone"
        )
    return data, evidence


def measure_to_plot(
    function: str, comparison: Comparison, measure: str | Measure | None
) -> MeasureInfo:
    """Return the measure to draw; the only one of a comparison need not be named."""
    if measure is not None:
        return comparison.info(measure)
    specs = [m.spec for m in comparison.measures]
    if len(specs) != 1:
        raise ValueError(f"plot.{function} draws one measure; name one of {', '.join(specs)}")
    return comparison.measures[0]


def chance_of_pairs(
    comparison: Comparison, evidence: Evidence | None, info: MeasureInfo
) -> np.ndarray:
    """Return the chance of each pair, NaN where it is not known."""
    return chance_matrix(comparison, info.spec) if evidence is None else evidence.chance(info.spec)


def measure_axis_label(info: MeasureInfo) -> str:
    """Return the label of a measure with what is more similar."""
    return f"{info.title} ({'larger' if info.larger_is_more_similar else 'smaller'} = more similar)"


def reordered_comparison(comparison: Comparison, info: MeasureInfo, order: list[int]) -> Comparison:
    """Return a square comparison by one measure with its representations in another order."""
    names = tuple(comparison.rows[i] for i in order)
    matrices = {info.spec: comparison.matrices[info.spec]}
    return replace(comparison, rows=names, columns=names, measures=(info,), matrices=matrices)
