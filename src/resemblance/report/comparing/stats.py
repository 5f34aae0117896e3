"""Statistics for the page of a comparison: values over pairs, extremes, agreement of measures,
failures; and the leading measure with its evidence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from resemblance.base.text import DISPLAY_ROUNDING, UNIT_SCALE_RANGE, snap_to_bounds
from resemblance.catalogue import get_measure
from resemblance.comparison.arrangements import (
    DepthCurve,
    equal_depth_curves,
    is_between_models,
    layers_by_model,
    nearest_depths,
)
from resemblance.comparison.comparison import (
    Comparison,
    MeasureInfo,
    chance_matrix,
    most_similar,
    readable_reason,
    unique_measure_title,
    unique_specification,
)
from resemblance.contracts._measure import Measure
from resemblance.inference.result import Evidence
from resemblance.significance import average_ranks, rank_correlation

from ...base.formatting import (
    format_level,
    format_number,
    format_range,
    format_two_decimals,
    layer_words,
    with_minus_signs,
)
from ..evidence_words import (
    MISSING_VALUE,
    MeasureResult,
    PairResult,
    format_evidence_scores,
    measure_results,
)
from ..svg import shorten_name

MIN_PAIRS_FOR_CORRELATION = 6  # with fewer pairs, a rank correlation is mostly chance
# The largest value is an outlier if it exceeds 4 times the 0.9 quantile
MOST_VALUES_QUANTILE, OUTLIER_RATIO = 0.9, 4.0


class ColorScale(NamedTuple):
    """The values at the ends of a colour scale, and a note, "" if the scale is the range of the
    measure."""

    limits: tuple[float, float]
    note: str = ""


class MeasureAgreement(NamedTuple):
    """The rank correlation of every two measures over the pairs; NaN if fewer than six pairs have
    values of both, or if a measure has equal values for all pairs."""

    labels: tuple[str, ...]
    values: np.ndarray


class FailureGroup(NamedTuple):
    """All failures with the same reason: the measures, the number of missing values, the first
    pair."""

    reason: str
    measures: tuple[str, ...]
    values: int
    example: tuple[str, str]


def scores_of_distinct_pairs(comparison: Comparison, info: MeasureInfo) -> np.ndarray:
    """Return the values of a measure for display as a vector, (pairs,), for all pairs of different
    representations; NaN for missing values. A symmetric measure has no transposed pairs.

    For layers of several models, return the pairs between models.
    """
    pairs = summarized_pairs(comparison)
    if info.symmetric and is_all_pairs_of_one_list(comparison):
        pairs = np.triu(pairs)
    return snap_to_bounds(comparison.values[info.spec][pairs], info)


def measure_agreement(comparison: Comparison) -> MeasureAgreement | None:
    """Return Spearman's correlation over the pairs for every two measures.

    Return ``None`` with fewer than two measures or too few pairs. A measure with equal values for
    all pairs has no correlation.
    """
    pairs = off_diagonal(comparison)
    if len(comparison.measures) < 2 or pairs.sum() < MIN_PAIRS_FOR_CORRELATION:
        return None
    labels = tuple(m.label for m in comparison.measures)
    if len(set(labels)) < len(labels):
        labels = tuple(unique_specification(comparison, m) for m in comparison.measures)
    differences = [comparison.dissimilarity(m.spec)[pairs] for m in comparison.measures]
    return MeasureAgreement(labels, _rank_correlations(differences))


def _rank_correlations(differences: Sequence[np.ndarray]) -> np.ndarray:
    """Return the rank correlations of every two vectors, (m, m); NaN for constant vectors.
    ``differences``: m vectors over the same pairs."""
    if not all(np.isfinite(d).all() and not _is_constant_within_rounding(d) for d in differences):
        return np.array([[finite_spearman(a, b) for b in differences] for a in differences])
    ranks = np.array([average_ranks(d) for d in differences])
    return np.array([rank_correlation(row, ranks) for row in ranks])


def _is_constant_within_rounding(values: np.ndarray) -> bool:
    """Return whether all values are equal up to rounding errors."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())


def finite_spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Return the rank correlation of two vectors a and b, (n,), in [-1, 1], over entries that are
    finite in both; NaN with fewer than six such entries, or for a constant vector."""
    is_finite = np.isfinite(a) & np.isfinite(b)
    a, b = a[is_finite], b[is_finite]
    if (
        len(a) < MIN_PAIRS_FOR_CORRELATION
        or _is_constant_within_rounding(a)
        or _is_constant_within_rounding(b)
    ):
        return np.nan
    return float(rank_correlation(average_ranks(a), average_ranks(b)))


def failure_groups(comparison: Comparison) -> tuple[FailureGroup, ...]:
    """Return the failures by reason, the most frequent reason first, in words for a reader."""
    groups = dict[str, FailureGroup]()
    for spec, x, y, reason in comparison.failures:
        group = groups.get(reason, FailureGroup(reason, (), 0, (x, y)))
        measures = group.measures if spec in group.measures else (*group.measures, spec)
        groups[reason] = group._replace(measures=measures, values=group.values + 1)
    names = {m.spec: unique_specification(comparison, m) for m in comparison.measures}
    return tuple(
        group._replace(
            reason=readable_reason(comparison, group.reason),
            measures=tuple(names.get(spec, spec) for spec in group.measures),
        )
        for group in sorted(groups.values(), key=lambda group: -group.values)
    )


def chance_levels(
    comparison: Comparison, info: MeasureInfo, evidence: Evidence | None = None
) -> np.ndarray:
    """Return the chance level of each pair, (rows, columns), from the evidence or, if the evidence
    lacks the measure, in closed form; NaN if unknown."""
    if evidence is None or info.spec not in {m.spec for m in evidence.measures}:
        return chance_matrix(comparison, info.spec)
    return evidence.chance(info.spec)


def format_chance_range(
    comparison: Comparison, info: MeasureInfo, evidence: Evidence | None = None
) -> str:
    """Return the range of chance levels over the pairs, for example "0.21 to 0.23"; "" if
    unknown."""
    chance = chance_levels(comparison, info, evidence)
    numbers = chance[~np.isnan(chance)]
    if not numbers.size:
        return ""
    return format_range(float(numbers.min()), float(numbers.max()), 2)


def is_all_pairs_of_one_list(comparison: Comparison) -> bool:
    """Return whether all pairs of a single list were compared, rather than two lists."""
    has_same_names = comparison.rows == comparison.columns
    return has_same_names and comparison.provenance["rows"] == comparison.provenance["columns"]


def only_pair_position(comparison: Comparison) -> tuple[int, int] | None:
    """Return the row and column of the only pair of different representations; None for several
    pairs."""
    places = np.argwhere(off_diagonal(comparison)).tolist()
    is_one = len(places) == (2 if is_all_pairs_of_one_list(comparison) else 1)
    return (places[0][0], places[0][1]) if is_one else None


def off_diagonal(comparison: Comparison) -> np.ndarray:
    """Return a mask (rows, columns) of the pairs of different representations: everything except
    the diagonal if a single list was compared, otherwise everything."""
    shape = len(comparison.rows), len(comparison.columns)
    if is_all_pairs_of_one_list(comparison):
        return ~np.eye(*shape, dtype=bool)
    return np.ones(shape, dtype=bool)


def summarized_pairs(comparison: Comparison) -> np.ndarray:
    """Return a mask (rows, columns) of the pairs in a summary: layers of different models, without
    the re-initialised copy; or all pairs of different representations, if the names are not layers
    of several models."""
    reference = str(comparison.provenance.get("reinitialized", ""))
    is_between = is_between_models(comparison.rows, comparison.columns, reference)
    return is_between if is_between.any() else off_diagonal(comparison)


def color_scale(
    values: np.ndarray, bounds: tuple[float, float], *, stretch: bool = False
) -> ColorScale:
    """Return the ends of a colour scale, and a note if an end is not the end of ``bounds``, the
    range of the measure.

    Of a range with values below and above 0, the lower end is the smallest value, at most 0,
    without a note. If an end of the range is infinite or far away (IMD reaches 18316), the extreme
    value or 0 replaces the end. If a few values are far larger than the rest, the scale ends before
    these outliers. ``stretch``: the ends are the extreme values.
    """
    finite = values[np.isfinite(values)]
    smallest, largest = (float(f(finite)) for f in (np.min, np.max)) if finite.size else (0.0, 1.0)
    if stretch and smallest < largest:
        return ColorScale((smallest, largest), "colours span the values only")
    has_low, has_high = (bool(np.isfinite(end)) and abs(end) < UNIT_SCALE_RANGE for end in bounds)
    has_low_end = has_low and not bounds[0] < 0 < bounds[1]
    low = bounds[0] if has_low_end else smallest if smallest < -DISPLAY_ROUNDING else 0.0
    high = bounds[1] if has_high else max(_largest_typical_value(finite), 0.0)
    note = "scale ends at the largest value" if has_low else "scale ends at the values"
    note = "" if has_low and has_high else note
    if high < largest:
        n_beyond = int((finite > high).sum())
        note = f"scale ends at {format_number(high)}, {n_beyond} of {finite.size} values lie beyond"
    return ColorScale((float(low), float(high) if high > low else float(low) + 1.0), note)


def _largest_typical_value(values: np.ndarray) -> float:
    """Return the largest value, or, if the largest exceeds four times the 0.9 quantile, this
    quantile; 1 without values."""
    if not values.size:
        return 1.0
    largest = float(values.max())
    typical = float(np.quantile(values, MOST_VALUES_QUANTILE, method="lower"))
    return largest if typical <= 0 or largest <= OUTLIER_RATIO * typical else typical


def measure_definition(info: MeasureInfo) -> str:
    """Return the sentence that defines a measure; "" for a measure missing from the catalogue, or
    with another label there."""
    try:
        measure = get_measure(info.spec)
    except ValueError:
        return ""
    return measure.summary.replace("``", "") if measure.label == info.label else ""


def extreme_pairs(comparison: Comparison, measure: str | Measure) -> tuple[tuple[str, str], ...]:
    """Return the names of the most and of the least similar pair of a measure, among the pairs in a
    summary; () if no pair has a value."""
    difference = np.where(summarized_pairs(comparison), comparison.dissimilarity(measure), np.nan)
    if np.isnan(difference).all():
        return ()
    ends = (np.nanargmin(difference), np.nanargmax(difference))
    places = (np.unravel_index(end, difference.shape) for end in ends)
    return tuple((comparison.rows[i], comparison.columns[j]) for i, j in places)


# By default, the first of these measures leads
LEADING_MEASURE_SPECS = ("cka[estimator=debiased]", "cka")
EQUAL_DEPTH = "equal depth"  # matching of layers if models have equal numbers of layers
MAX_SENTENCE_NAME_LENGTH = 60  # characters of a name in a sentence
NEAR_TOP_MARGIN = 1e-3  # distance to the most similar value below which digits mean nothing


class PageContext(NamedTuple):
    """A comparison, the measure that leads the page, and the evidence about chance and intervals.

    ``readings``: the results in the evidence by measure specification; empty without evidence.
    ``stretch``: colours span the values.
    """

    comparison: Comparison
    leading: MeasureInfo
    evidence: Evidence | None = None
    readings: Mapping[str, MeasureResult] = MappingProxyType({})
    stretch: bool = False

    @property
    def reference(self) -> str:
        """The name of the re-initialised copy of the first model, or ""."""
        return str(self.comparison.provenance.get("reinitialized", ""))

    @property
    def measures(self) -> tuple[MeasureInfo, ...]:
        """The measures, the leading measure first."""
        other_measures = tuple(m for m in self.comparison.measures if m.spec != self.leading.spec)
        return (self.leading, *other_measures)

    def label(self, info: MeasureInfo) -> str:
        """Return the name of a measure for sentences: the label, or the specification if another
        measure shares the label."""
        return unique_measure_title(self.comparison, info)

    def values(self, info: MeasureInfo) -> np.ndarray:
        """Return the values of a measure for display, (rows, columns); values within rounding
        errors of a bound are the bound."""
        return snap_to_bounds(self.comparison.values[info.spec], info)

    def chance(self, info: MeasureInfo) -> np.ndarray:
        """Return the chance level of each pair, (rows, columns), from the evidence or in closed
        form; NaN if unknown."""
        return chance_levels(self.comparison, info, self.evidence)

    def score(self, info: MeasureInfo, i: int, j: int) -> str:
        """Return the value of the pair in row ``i`` and column ``j`` as a text, with the interval
        if the evidence has an interval, and the chance level if known."""
        value, interval = format_two_decimals(float(self.values(info)[i, j])), ""
        chance = format_two_decimals(float(self.chance(info)[i, j]))
        if info.spec in self.readings and self.evidence is not None:
            reading = self.readings[info.spec].cells[i][j]
            value, interval, chance, _ = format_evidence_scores(reading)
            interval = (
                interval and f", {format_level(self.evidence.confidence_level)} interval {interval}"
            )
            if bound := _format_score_near_top(info, reading):
                value, interval, chance = bound, "", format_two_decimals(reading.chance)
        chance = "" if chance == MISSING_VALUE else f", chance {chance}"
        return with_minus_signs(f"{value}{interval}{chance}")


def _format_score_near_top(info: MeasureInfo, reading: PairResult) -> str:
    """Return "above 0.999" for a score with a whole interval within 0.001 of the most similar
    value, if the score is not exactly this value; otherwise "". The number depends on the measure:
    "below 0.001" for a distance."""
    top = most_similar(info)
    ends = [abs(top - value) for value in (reading.value, reading.low, reading.high)]
    # "not <" instead of ">=" also covers NaN and infinity
    if not max(ends) < NEAR_TOP_MARGIN or ends[0] <= DISPLAY_ROUNDING:
        return ""
    if info.larger_is_more_similar:
        return f"above {top - NEAR_TOP_MARGIN:g}"
    return f"below {top + NEAR_TOP_MARGIN:g}"


def page_context(
    comparison: Comparison,
    *,
    measure: str | Measure | None = None,
    evidence: Evidence | None = None,
    stretch: bool = False,
) -> PageContext:
    """Return the context for the page of a comparison. ``measure``: the leading measure; None for
    the usual choice.

    Raises ``KeyError`` for a measure missing from the comparison, and ``ValueError`` for evidence
    of other representations, or without the leading measure.
    """
    leading = comparison.info(measure) if measure is not None else _leading_measure(comparison)
    if evidence is not None:
        _check_evidence_matches(comparison, evidence, leading)
    readings = {} if evidence is None else {r.info.spec: r for r in measure_results(evidence)}
    return PageContext(comparison, leading, evidence, readings, stretch)


def _check_evidence_matches(
    comparison: Comparison, evidence: Evidence, leading: MeasureInfo
) -> None:
    sides = (comparison.rows, comparison.columns)
    if sides != (evidence.rows, evidence.columns):
        raise ValueError(
            f"write_page: the evidence is of {len(evidence.rows)} x {len(evidence.columns)} "
            f"representations, not of the {len(sides[0])} x {len(sides[1])} of the comparison; "
            "give both of the same representations in the same order"
        )
    if leading.spec not in {m.spec for m in evidence.measures}:
        raise ValueError(
            f"write_page: {leading.spec} leads the page but is missing in the evidence; compute "
            "evidence for this measure, or pass measure= with a measure of the evidence"
        )


def _leading_measure(comparison: Comparison) -> MeasureInfo:
    """Return the first measure of ``LEADING_MEASURE_SPECS``, or else of the comparison, with a
    value for some pair.

    If no measure has a value, return the first measure of the comparison.
    """
    pairs = off_diagonal(comparison)
    specs = {m.spec: m for m in comparison.measures}
    order = [*LEADING_MEASURE_SPECS, *specs]
    candidates = (s for s in order if s in specs and np.isfinite(comparison.values[s][pairs]).any())
    return specs[next(candidates, comparison.measures[0].spec)]


def depth_curves(context: PageContext, info: MeasureInfo) -> tuple[DepthCurve, ...]:
    """Return the scores of layers of equal depth, for every two named models; curves of unequal
    length are reduced to the depths of the shallowest model."""
    curves = equal_depth_curves(context.comparison, info.spec)
    return curves_at_common_depths([curve for curve in curves if curve.model and curve.other])


def trained_curves(context: PageContext, curves: Iterable[DepthCurve]) -> list[DepthCurve]:
    """Return the curves without the curves of the re-initialised copy."""
    return [curve for curve in curves if context.reference not in (curve.model, curve.other)]


def curves_at_common_depths(curves: Sequence[DepthCurve]) -> tuple[DepthCurve, ...]:
    """Return curves reduced to the number of depths of the shortest curve, at the nearest relative
    depths of every curve."""
    count, parts = min((len(curve.layers) for curve in curves), default=0), []
    for curve in curves:
        depths = nearest_depths(count, len(curve.layers))
        layers, partners = (
            tuple(names[k] for k in depths) for names in (curve.layers, curve.partners)
        )
        values = tuple(curve.values[k] for k in depths)
        parts.append(DepthCurve(curve.model, curve.other, layers, partners, values))
    return tuple(parts)


def describe_depth_matching(context: PageContext, curves: Iterable[DepthCurve]) -> str:
    """Return how layers are matched: "equal depth", or "nearest relative depth" for models with
    unequal numbers of layers."""
    counts = {
        len(layer_columns(context, m)) for curve in curves for m in (curve.model, curve.other)
    }
    return EQUAL_DEPTH if len(counts) < 2 else "nearest relative depth"


def layer_columns(context: PageContext, model: str) -> list[int]:
    """Return the positions of the columns of a model, or of its rows if no column belongs to the
    model."""
    columns = layers_by_model(context.comparison.columns)
    rows = layers_by_model(context.comparison.rows)
    return columns.get(model) or rows[model]


def cross_model_pairs(
    context: PageContext, places: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the pairs of ``places``, (row, column), that are layers of different models, without
    the re-initialised copy; [] unless all representations are layers of several models."""
    rows, columns = context.comparison.rows, context.comparison.columns
    is_between = is_between_models(rows, columns, context.reference)
    return [place for place in places if is_between[place]]


def curve_positions(context: PageContext, curve: DepthCurve) -> list[tuple[int, int]]:
    """Return pairs: the row and the column, in the comparison, of each value of a curve."""
    rows, columns = (
        {name.rpartition("/")[::2]: i for i, name in enumerate(names)}
        for names in (context.comparison.rows, context.comparison.columns)
    )
    return [
        (rows[curve.model, layer], columns[curve.other, partner])
        for layer, partner in zip(curve.layers, curve.partners)
    ]


def shared_layer(curves: Sequence[DepthCurve], k: int) -> str:
    """Return the layer at depth ``k``, from 0, for a sentence; "" if models name the layer
    differently."""
    curves = [curve for curve in curves if k < len(curve.layers)]
    names = {name for curve in curves for name in (curve.layers[k], curve.partners[k])}
    return layer_words([name_in_sentence(names.pop())]) if len(names) == 1 else ""


def name_in_sentence(name: str) -> str:
    """Return a name for a sentence: on a single line, with the middle of a long name cut."""
    return shorten_name(" ".join(name.split()), MAX_SENTENCE_NAME_LENGTH)


def mean_chance(context: PageContext, info: MeasureInfo, places: list[tuple[int, int]]) -> float:
    """Return the mean chance level of the pairs ``places``, (row, column); NaN for no pairs, and
    unless the chance level is known for all pairs."""
    chance = context.chance(info)
    return math.fsum(float(chance[i, j]) for i, j in places) / len(places) if places else math.nan
