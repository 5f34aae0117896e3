"""What the parts of the page of a comparison share: its measures, one that leads, and evidence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ...arrangements import Curve, by_depth, models_of, nearest_depths
from ...comparison import Comparison, MeasureInfo, chance_of, label_of
from ...display import without_rounding
from ...inference.result import Evidence
from ...measure import Measure
from ..data import off_diagonal
from ..evidence_words import MISSING, Readings, brief, level_words, readings, scores
from ..numbers import minus
from ..svg import shortened

LEADING = ("cka[estimator=debiased]", "cka")  # without a choice, the first of them leads
EQUAL = "equal depth"  # of layers of models with as many layers
LONGEST = 60  # characters of a name in a sentence


class Shown(NamedTuple):
    """A comparison, the measure that leads its page, and what is known of chance and intervals.

    ``readings``: what the evidence has of each measure, by specification; none without evidence.
    """

    comparison: Comparison
    leading: MeasureInfo
    evidence: Evidence | None = None
    readings: Mapping[str, Readings] = MappingProxyType({})
    stretch: bool = False

    @property
    def reference(self) -> str:
        """The name of the model that is an untrained copy of the first, or ""."""
        return str(self.comparison.provenance.get("reference", ""))

    @property
    def measures(self) -> tuple[MeasureInfo, ...]:
        """The measures, with the leading one first."""
        rest = tuple(m for m in self.comparison.measures if m.spec != self.leading.spec)
        return (self.leading, *rest)

    def label(self, info: MeasureInfo) -> str:
        """Return what sentences call a measure: its label, if no other measure here has it."""
        return label_of(self.comparison, info)

    def values(self, info: MeasureInfo) -> np.ndarray:
        """Return the values of a measure for people to read."""
        return without_rounding(self.comparison.values[info.spec], info)

    def chance(self, info: MeasureInfo) -> np.ndarray:
        """Return the chance of each pair: of the evidence, or in closed form; NaN if unknown."""
        if self.evidence is None or info.spec not in self.readings:
            return chance_of(self.comparison, info.spec)
        return self.evidence.chance(info.spec)

    def score(self, info: MeasureInfo, i: int, j: int) -> str:
        """Write the value of a pair, with its interval where the evidence has one, and its chance
        where it is known."""
        value, interval = brief(float(self.values(info)[i, j])), ""
        chance = brief(float(self.chance(info)[i, j]))
        if info.spec in self.readings and self.evidence is not None:
            value, interval, chance, _ = scores(self.readings[info.spec].cells[i][j])
            interval = interval and f", {level_words(self.evidence)} interval {interval}"
        chance = "" if chance == MISSING else f", chance {chance}"
        return minus(f"{value}{interval}{chance}")


def shown_of(
    comparison: Comparison,
    *,
    measure: str | Measure | None = None,
    evidence: Evidence | None = None,
    stretch: bool = False,
) -> Shown:
    """Return what a page shows of a comparison.

    Raises ``KeyError`` for a measure that the comparison does not have, and ``ValueError`` for
    evidence of other representations, or without the measure that leads.
    """
    leading = comparison.info(measure) if measure is not None else _leading(comparison)
    if evidence is not None:
        _check(comparison, evidence, leading)
    known = {} if evidence is None else {r.info.spec: r for r in readings(evidence)}
    return Shown(comparison, leading, evidence, known, stretch)


def _check(comparison: Comparison, evidence: Evidence, leading: MeasureInfo) -> None:
    sides = (comparison.rows, comparison.columns)
    if sides != (evidence.rows, evidence.columns):
        raise ValueError(
            f"write_page: the evidence is of {len(evidence.rows)} x {len(evidence.columns)} "
            f"representations, not of the {len(sides[0])} x {len(sides[1])} of the comparison; "
            "give both of the same representations in the same order"
        )
    if leading.spec not in {m.spec for m in evidence.measures}:
        raise ValueError(
            f"write_page: {leading.spec} leads the page, and the evidence has nothing of it; "
            "compute it for that measure, or pass measure= with one that the evidence has"
        )


def _leading(comparison: Comparison) -> MeasureInfo:
    """Return the first measure of ``LEADING`` that has a value for some pair, or the first here.

    Without any value in the whole comparison, simply the first.
    """
    pairs = off_diagonal(comparison)
    specs = {m.spec: m for m in comparison.measures}
    order = [*LEADING, *specs]
    valued = (s for s in order if s in specs and np.isfinite(comparison.values[s][pairs]).any())
    return specs[next(valued, comparison.measures[0].spec)]


def curves_of(shown: Shown, info: MeasureInfo) -> tuple[Curve, ...]:
    """Return the values of layers of equal depth, for every two models with names; at as many
    depths as the shallowest model has where the curves are unlike in length."""
    curves = by_depth(shown.comparison, info.spec)
    return shortest([curve for curve in curves if curve.model and curve.other])


def trained_curves(shown: Shown, curves: Iterable[Curve]) -> list[Curve]:
    """Return the curves of models that are no untrained copy."""
    return [curve for curve in curves if shown.reference not in (curve.model, curve.other)]


def shortest(curves: Sequence[Curve]) -> tuple[Curve, ...]:
    """Return curves at as many depths as the shortest of them has."""
    count, parts = min((len(curve.layers) for curve in curves), default=0), []
    for curve in curves:
        depths = nearest_depths(count, len(curve.layers))
        layers, partners = (tuple(of[k] for k in depths) for of in (curve.layers, curve.partners))
        values = tuple(curve.values[k] for k in depths)
        parts.append(Curve(curve.model, curve.other, layers, partners, values))
    return tuple(parts)


def depth_words(shown: Shown, curves: Iterable[Curve]) -> str:
    """Return what layers that are compared have: equal depth, or the nearest in shares of it."""
    counts = {len(layers_of(shown, m)) for curve in curves for m in (curve.model, curve.other)}
    return EQUAL if len(counts) < 2 else "nearest relative depth"


def layers_of(shown: Shown, model: str) -> list[int]:
    """Return the columns of a model, or its rows where it is not among the columns."""
    columns, rows = models_of(shown.comparison.columns), models_of(shown.comparison.rows)
    return columns.get(model) or rows[model]


def between(shown: Shown, places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pairs of layers of different models that are no untrained copy.

    None unless all representations are layers of several models.
    """
    rows, columns = shown.comparison.rows, shown.comparison.columns
    models = {name.rpartition("/")[0] for name in (*rows, *columns)}
    if len(models) < 2 or "" in models:
        return []
    pairs = [(rows[i].rpartition("/")[0], columns[j].rpartition("/")[0]) for i, j in places]
    return [p for p, (x, y) in zip(places, pairs) if x != y and shown.reference not in (x, y)]


def places_of_curve(shown: Shown, curve: Curve) -> list[tuple[int, int]]:
    """Return the row and the column of each value of a curve."""
    rows = {name: i for i, name in enumerate(shown.comparison.rows)}
    columns = {name: j for j, name in enumerate(shown.comparison.columns)}
    return [
        (rows[f"{curve.model}/{layer}"], columns[f"{curve.other}/{partner}"])
        for layer, partner in zip(curve.layers, curve.partners)
    ]


def named(name: str) -> str:
    """Return a name for a sentence: in one line, and without the middle of a long one."""
    return shortened(" ".join(name.split()), LONGEST)


def has_chance(values: np.ndarray) -> bool:
    """Whether chance is known for some pair."""
    return bool(np.isfinite(values).any())


def mean_chance(shown: Shown, info: MeasureInfo, places: list[tuple[int, int]]) -> float:
    """Return the mean chance of some pairs; NaN unless it is known for all of them."""
    chance = shown.chance(info)
    return math.fsum(float(chance[i, j]) for i, j in places) / len(places) if places else math.nan
