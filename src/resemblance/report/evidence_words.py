"""Evidence in words: the result of every pair, the test design, the intervals, the conclusion and
the caveats."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from html import escape
from typing import NamedTuple

import numpy as np

from ..base.formatting import (
    count_with_noun,
    format_count,
    format_fixed,
    format_level,
    format_two_decimals,
)
from ..base.rendering import thumbnail
from ..base.text import DISPLAY_ROUNDING, diagnostic_notes, html_table, snap_to_bounds
from ..catalogue import get_measure
from ..comparison.arrangements import is_between_models
from ..comparison.comparison import (
    MeasureInfo,
    readable_reason,
    unique_measure_title,
    unique_specification,
)
from ..contracts.claims import CHANCE_KEY
from ..inference.nulls import (
    EXACT_MOMENTS,
    PAIRING_INDEPENDENT,
    PAIRING_INDEPENDENT_REASON,
    format_labeled_pvalue,
    format_pvalue,
)
from ..inference.result import Evidence, scores_above_chance

ALPHA = 0.05  # largest adjusted p-value of a pair significantly above chance
MAX_PAIRS_IN_NOTEBOOK = 6  # pairs that a notebook lists one by one
MAX_REASONS_IN_NOTEBOOK = 3  # reasons for missing numbers in a notebook
MAX_MEASURES_WITH_OWN_LINE = 8  # with more measures, only the headline appears
MISSING_VALUE = "–"
INTERVAL_REASON_START = re.compile(r"^no interval( by \w+)?: ")
NAMED_DEFAULTS = ("k", "metric")  # parameters to name even if a call leaves them out
EVIDENCE_COLUMNS = ("measure", "value", "{level} interval", "chance", "above chance", "p", "how")
BETWEEN_MODELS_SUFFIX = " between models"
# Numbers from 10 on have no fixed number of decimals; smaller numbers have at most 6 decimals
MIN_LARGE_NUMBER, MAX_DECIMALS = 10, 6


class PairResult(NamedTuple):
    """The value, interval and test of a measure for a pair of representations (``x``, ``y``); a
    missing number is NaN.

    ``above``: the score above chance. ``how``: the null method, "" without a test. ``reason``: the
    reason for a missing value, or "". ``is_self``: whether the pair is a representation with
    itself.
    """

    x: str
    y: str
    value: float
    low: float
    high: float
    chance: float
    above: float
    pvalue: float
    pvalue_familywise: float
    how: str
    reason: str = ""
    is_self: bool = False

    @property
    def is_beyond(self) -> bool:
        """Whether the pair is significantly above chance, adjusted for all pairs of the map."""
        return self.pvalue_familywise <= ALPHA

    @property
    def is_tested(self) -> bool:
        """Whether the pair has a p-value."""
        return not math.isnan(self.pvalue)


class MeasureResult(NamedTuple):
    """The results of a measure: ``cells`` for all cells of the matrix, ``pairs`` for the pairs of
    different representations, once each for a symmetric measure.

    ``name``: the label, or the specification if another measure in the evidence has the same label.
    ``where``: the kind of pairs in words: " between models", or "" for all pairs.
    """

    info: MeasureInfo
    name: str
    cells: tuple[tuple[PairResult, ...], ...]
    pairs: tuple[PairResult, ...]
    where: str = ""

    @property
    def tested(self) -> list[PairResult]:
        """The pairs with a p-value; none if the measure ignores the pairing of samples."""
        return [pair for pair in self.pairs if pair.is_tested and pair.how != PAIRING_INDEPENDENT]

    @property
    def beyond(self) -> int:
        """The number of pairs significantly above chance."""
        return sum(pair.is_beyond for pair in self.pairs)


def measure_results(evidence: Evidence) -> tuple[MeasureResult, ...]:
    """Return the results of all measures."""
    return tuple(result_of_measure(evidence, info) for info in evidence.measures)


def result_of_measure(evidence: Evidence, info: MeasureInfo) -> MeasureResult:
    """Return the results of a single measure, with the cells of the whole matrix."""
    spec, is_square = info.spec, evidence.is_square
    failures = (f for f in evidence.comparison.failures if f.measure == spec)
    reasons = {(f.x, f.y): readable_reason(evidence.comparison, f.reason) for f in failures}
    scores = (evidence[spec], evidence.low(spec), evidence.high(spec), evidence.chance(spec))
    tables = [snap_to_bounds(table, info) for table in scores]
    tables += [
        scores_above_chance(evidence, info),
        evidence.pvalue(spec),
        evidence.pvalue(spec, adjust="familywise"),
    ]
    columns = np.stack(tables, axis=-1).tolist()
    cells = tuple(
        tuple(
            PairResult._make((x, y, *numbers, how, reasons.get((x, y), ""), is_square and i == j))
            for j, (y, numbers, how) in enumerate(zip(evidence.columns, row, ways))
        )
        for i, (x, row, ways) in enumerate(zip(evidence.rows, columns, evidence.nulls[spec].how))
    )
    is_half = is_square and info.symmetric
    pairs = tuple(c for i, row in enumerate(cells) for c in row[i + 1 if is_half else 0 :])
    other_pairs = tuple(pair for pair in pairs if not pair.is_self)
    return MeasureResult(info, unique_measure_title(evidence.comparison, info), cells, other_pairs)


def results_between_models(
    evidence: Evidence, results: Sequence[MeasureResult]
) -> tuple[MeasureResult, ...]:
    """Return ``results`` with only the pairs of layers from different models, without a
    re-initialised copy; with all pairs if the names are not layers of several models."""
    reference = str(evidence.comparison.provenance.get("reinitialized", ""))
    is_between = is_between_models(evidence.rows, evidence.columns, reference)
    if not is_between.any():
        return tuple(results)
    rows, columns = (
        {name: i for i, name in enumerate(names)} for names in (evidence.rows, evidence.columns)
    )
    between_results = []
    for result in results:
        pairs = tuple(p for p in result.pairs if is_between[rows[p.x], columns[p.y]])
        between_results.append(result._replace(pairs=pairs, where=BETWEEN_MODELS_SUFFIX))
    return tuple(between_results)


# ------------------------------------------------------------------------------------------ numbers


def format_evidence_scores(reading: PairResult) -> tuple[str, str, str, str]:
    """Return four texts about a pair, with the same decimals: value, interval, chance and score
    above chance; a missing interval is "".

    The interval sets the number of decimals: at least two, and enough to make half the width
    nonzero.
    """
    half_width = (reading.high - reading.low) / 2
    numbers = (reading.value, reading.low, reading.high, reading.chance, reading.above)
    if not 0 < half_width < math.inf or max(map(abs, numbers[:3])) >= MIN_LARGE_NUMBER:
        value, low, high, chance, above = map(format_two_decimals, numbers)
    else:
        places = min(max(2, math.ceil(-math.log10(half_width))), MAX_DECIMALS)
        value, low, high, chance, above = (_format_rounded(number, places) for number in numbers)
    return value, "" if math.isnan(half_width) else f"{low} to {high}", chance, above


def _format_rounded(number: float, places: int) -> str:
    """Return a number as text with ``places`` decimals, also if infinite, NaN or 0: then in the
    words for two decimals."""
    if not math.isfinite(number) or abs(number) < DISPLAY_ROUNDING:
        return format_two_decimals(number)
    return format_fixed(number, places)


def describe_score(reading: PairResult) -> str:
    """Return a value with the interval and the chance level as text: "0.71 (0.66 to 0.75), chance
    0.23"."""
    value, interval, chance, _ = format_evidence_scores(reading)
    interval_text = f" ({interval})" if interval else ""
    return f"{value}{interval_text}" + ("" if math.isnan(reading.chance) else f", chance {chance}")


def describe_pair_result(reading: PairResult) -> str:
    """Return the tooltip of a pair: all known results, or the reason for a missing value."""
    if math.isnan(reading.value):
        return f"no value: {reading.reason}" if reading.reason else "no value"
    if reading.is_self:
        return (
            f"{format_two_decimals(reading.value)}; a representation is not tested against itself"
        )
    parts = [describe_score(reading)]
    if not math.isnan(reading.above):
        parts.append(f"above chance {format_evidence_scores(reading)[-1]}")
    if reading.is_tested and reading.how != PAIRING_INDEPENDENT:
        parts.append(format_labeled_pvalue(reading.pvalue, reading.how))
    if math.isnan(reading.chance):
        parts.append("chance unknown")
    return ", ".join([*parts, *([reading.how] if reading.how else [])])


# ------------------------------------------------------------------------------------------- design


def design_facts(evidence: Evidence) -> dict[str, str]:
    """Return the design as texts by name: the number of samples, the null method, the smallest
    p-value, the adjustment for several pairs, the source of the intervals, and the parameters of
    neighbour measures."""
    is_map = len(_unordered_name_pairs(evidence)) > 1  # a single pair needs no adjustment
    adjusted = (
        {"adjusted p": _merge_notes_of_measures(evidence, Evidence.adjust_method)} if is_map else {}
    )
    parameters = _describe_parameters(evidence)
    return {
        "samples": format_count(evidence.n_samples),
        "chance": _merge_notes_of_measures(evidence, Evidence.null_method),
        "smallest possible p": describe_min_pvalues(evidence),
        **adjusted,
        f"{format_level(evidence.confidence_level)} intervals": _merge_notes_of_measures(
            evidence, _describe_interval_source
        ),
        **({"parameters": parameters} if parameters else {}),
    }


def _describe_parameters(evidence: Evidence) -> str:
    """Return the measures of the catalogue that have a number of neighbours or a metric, with these
    parameters: "MutualKNN (k=10, cosine)"; "" for no such measure."""
    titles = []
    for info in evidence.measures:
        with suppress(ValueError):  # a measure outside the catalogue
            defaults = get_measure(info.spec).defaults
            values = {name: defaults[name] for name in NAMED_DEFAULTS if name in defaults}
            if values:
                titles.append(info._replace(parameters=values | dict(info.parameters)).title)
    return ", ".join(titles)


def _unordered_name_pairs(evidence: Evidence) -> set[frozenset[str]]:
    return {frozenset((x, y)) for x in evidence.rows for y in evidence.columns if x != y}


def design_line(evidence: Evidence) -> str:
    """Return the design as a single line."""
    facts = design_facts(evidence)
    samples = facts.pop("samples")
    parts = [f"{samples} samples", *(f"{name}: {fact}" for name, fact in facts.items())]
    if evidence.design.shifts:
        parts.append("values are of all samples, the rest of windows that are not shifted")
    return "; ".join(parts)


def describe_min_pvalues(evidence: Evidence) -> str:
    """Return the smallest p-values that the permutations and the exact moments can give."""
    ways = {how for m in evidence.measures for row in evidence.nulls[m.spec].how for how in row}
    orders = format_pvalue(evidence.min_pvalue)
    if EXACT_MOMENTS not in ways:
        return orders
    other_ways = ways - {EXACT_MOMENTS, PAIRING_INDEPENDENT, ""}
    return f"{orders} with permutations, < 1e-4 with exact moments" if other_ways else "< 1e-4"


def describe_null_hypothesis(evidence: Evidence) -> str:
    """Return an explanation of chance in words: the null hypothesis behind the permutations of the
    samples."""
    design = evidence.design
    if design.shifts:
        return (
            f"Chance is the mean of the values of windows of {design.n - 2 * design.shifts} "
            f"samples that are shifted against each other by up to {design.shifts} steps in time, "
            "so that slow changes within a series count as chance; the amount above chance is "
            "computed on the windows that are not shifted (Harris 2020)."
        )
    groups, blocks = (
        "" if labels is None else count_with_noun(len(np.unique(labels)), word)
        for labels, word in ((design.groups, "group"), (design.whole_blocks, "block"))
    )
    groups = groups and f" within {groups}"
    if blocks:
        procedure = f"{blocks} of samples of one representation are permuted{groups}"
    else:
        procedure = f"the samples of one representation are permuted{groups}"
    group_note = "; differences between groups count as chance" if groups else ""
    return f"Chance is the mean of the values when {procedure}{group_note}."


def describe_caveats(evidence: Evidence) -> tuple[str, ...]:
    """Return the reasons why values, chance or intervals mean little: first of the evidence, then
    "measure: reason"."""
    notes = diagnostic_notes(evidence.comparison, exclude=CHANCE_KEY)
    return (*evidence.caveats, *(f"{spec}: {note}" for spec, note in notes.items()))


def _describe_interval_source(evidence: Evidence, info: MeasureInfo) -> str:
    """Name the method behind the intervals of a measure, for example "jackknife over samples", or
    the reason why no pair has an interval."""
    kind, values, failures = evidence.parts[info.spec]
    if np.isnan(values).all():
        reasons = Counter(failure.reason for failure in failures).most_common(1)
        return ": ".join(["none", *(INTERVAL_REASON_START.sub("", why) for why, _ in reasons)])
    if kind == "left_out":
        return "jackknife over samples"
    unit = "samples" if evidence.design.whole_blocks is None else "blocks"
    if kind == "halves":
        return f"{values.shape[-1]} random halves of the {unit}"
    groups = "runs in time" if evidence.design.shifts else f"groups of {unit}"
    return f"jackknife over {values.shape[-1]} {groups}"


def _merge_notes_of_measures(
    evidence: Evidence, text_of: Callable[[Evidence, MeasureInfo], str]
) -> str:
    """Return the notes ``text_of(evidence, measure)`` of all measures as one text; every note
    appears once, with measure names if notes differ. Return "–" without notes."""
    names: dict[str, list[str]] = {}
    for info in evidence.measures:
        if text := text_of(evidence, info):
            names.setdefault(text, []).append(unique_measure_title(evidence.comparison, info))
    if len(names) <= 1:
        return "".join(names) or MISSING_VALUE
    return "; ".join(f"{text} ({', '.join(labels)})" for text, labels in names.items())


# ------------------------------------------------------------------------------------------ results


def describe_significance(evidence: Evidence, results: Sequence[MeasureResult]) -> tuple[str, ...]:
    """Return the conclusion in lines: the number of pairs significantly above chance and the
    furthest pair; then a line per measure, for two to eight measures.

    ``results``: the results of all measures, from :func:`measure_results`. For layers of several
    models, only pairs between models count.
    """
    tested_results = [r for r in results_between_models(evidence, results) if r.tested]
    if not tested_results:
        return ("No pair could be tested.",)
    names = {frozenset((pair.x, pair.y)) for r in tested_results for pair in r.tested}
    if len(names) == 1 and len(tested_results) > 1:
        headline = _describe_only_pair(evidence, tested_results)
    elif len(tested_results) == 1:
        return (_describe_only_measure(evidence, tested_results[0]),)
    else:
        headline = _describe_several_measures(evidence, tested_results)
    if len(tested_results) <= MAX_MEASURES_WITH_OWN_LINE:
        lines = [_describe_one_of_measures(evidence, r) for r in tested_results]
    else:
        lines = []
    return (headline, *lines)


def furthest_above_chance(evidence: Evidence, result: MeasureResult) -> PairResult:
    """Return the result of the pair of ``result`` that is furthest above chance, in standard
    deviations of the null distribution."""
    pairs = [(pair.x, pair.y) for pair in result.pairs]
    best = evidence.best(result.info.spec, pairs=pairs)
    return result.pairs[pairs.index((best.x, best.y))]


def _describe_only_measure(evidence: Evidence, result: MeasureResult) -> str:
    """Return the conclusion for a single tested measure."""
    pairs, label = result.tested, result.name
    best = furthest_above_chance(evidence, result)
    if len(pairs) == 1:
        verb = "are not significantly above chance"
        if best.is_beyond:
            verb = "are significantly above chance"
        pair = _only_tested_pair_words(best, [result])
        return f"{pair} {verb} with {label}: {_score_with_adjusted_p(best, pairs)}."
    furthest = f"furthest are {best.x} and {best.y}: {_score_with_adjusted_p(best, pairs)}"
    share = _count_of_pairs_phrase(result.beyond, len(pairs), result.where)
    return f"{share} significantly above chance with {label}; {furthest}."


def _describe_one_of_measures(evidence: Evidence, result: MeasureResult) -> str:
    """Return the conclusion for one of several measures."""
    pairs, label, best = result.tested, result.name, furthest_above_chance(evidence, result)
    if len(pairs) == 1:
        return f"{label}: {_score_with_adjusted_p(best, pairs)}"
    share = f"{result.beyond} of {len(pairs)}"
    return (
        f"{label}: {share}, furthest {best.x} and {best.y}: {_score_with_adjusted_p(best, pairs)}"
    )


def _score_with_adjusted_p(best: PairResult, pairs: Sequence[PairResult]) -> str:
    """Return the score of the pair ``best`` with the p-value as text; the p-value is adjusted if
    ``pairs``, the tested pairs, has several pairs."""
    if len(pairs) == 1:
        return f"{describe_score(best)}, {format_labeled_pvalue(best.pvalue, best.how)}"
    adjusted = format_labeled_pvalue(best.pvalue_familywise, best.how)
    return f"{describe_score(best)}, adjusted {adjusted}"


def _count_of_pairs_phrase(n_beyond: int, n_pairs: int, scope: str) -> str:
    if not n_beyond:
        return f"None of {n_pairs} pairs{scope} is"
    if n_beyond == n_pairs:
        return f"All {n_pairs} pairs{scope} are"
    return f"{n_beyond} of {n_pairs} pairs{scope} {'is' if n_beyond == 1 else 'are'}"


def _describe_only_pair(evidence: Evidence, results: Sequence[MeasureResult]) -> str:
    """Return the number of measures for which the only pair is significantly above chance."""
    pair, n_beyond = (
        _only_tested_pair_words(results[0].tested[0], results),
        sum(r.beyond > 0 for r in results),
    )
    all_measures = "both" if len(results) == 2 else f"all {len(results)}"
    count = all_measures if n_beyond == len(results) else f"{n_beyond or 'none'} of {len(results)}"
    condition = "" if len(results) == len(evidence.measures) else " that could be tested"
    return f"{pair} are significantly above chance with {count} measures{condition}."


def _only_tested_pair_words(pair: PairResult, results: Sequence[MeasureResult]) -> str:
    """Return the names of the only tested pair, with a clause if ``results`` have other pairs."""
    names = {frozenset((other.x, other.y)) for r in results for other in r.pairs}
    clause = ", the only pair that could be tested," if len(names) > 1 else ""
    return f"{pair.x} and {pair.y}{clause}"


def _describe_several_measures(evidence: Evidence, results: Sequence[MeasureResult]) -> str:
    """Return the number of pairs significantly above chance for at least one measure, and for all
    measures."""
    verdicts: dict[frozenset[str] | tuple[str, str], list[bool]] = {}
    for result in results:
        for pair in result.tested:
            key = frozenset((pair.x, pair.y)) if evidence.is_square else (pair.x, pair.y)
            verdicts.setdefault(key, []).append(pair.is_beyond)
    n_by_any, n_by_all = (sum(map(test, verdicts.values())) for test in (any, all))
    best, measures = furthest_above_chance(evidence, results[0]), f"{len(results)} measures"
    if n_by_any == n_by_all:
        all_measures = "both measures" if len(results) == 2 else f"all {measures}"
        ways = all_measures if n_by_all else f"any of {measures}"
    else:
        ways = f"at least one of {measures}, {n_by_all or 'none'} with all"
    return (
        f"{_count_of_pairs_phrase(n_by_any, len(verdicts), results[0].where)} significantly "
        f"above chance with {ways}; furthest with {results[0].name} are {best.x} and {best.y}."
    )


# ----------------------------------------------------------------------------- terminal, notebook


def text_of(evidence: Evidence) -> str:
    """Return the evidence as a text: a heading, a table of the measures, and notes."""
    rows = _evidence_table_rows(
        evidence, results_between_models(evidence, measure_results(evidence))
    )
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["   ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    notes = (*describe_caveats(evidence), *_missing_value_reasons(evidence))
    return "\n  ".join([_evidence_heading(evidence), *lines, *notes])


def _missing_value_reasons(evidence: Evidence) -> list[str]:
    """Return the three most frequent reasons for missing numbers, as "measure: reason", and the
    number of further reasons, without reasons that ``how`` already states."""
    reasons = Counter(
        (f.measure, f.reason)
        for f in evidence.failures
        if PAIRING_INDEPENDENT_REASON not in f.reason
    )
    lines = [
        readable_reason(evidence.comparison, f"{spec}: {reason}")
        + (f" ({number} pairs)" if number > 1 else "")
        for (spec, reason), number in reasons.most_common(MAX_REASONS_IN_NOTEBOOK)
    ]
    if (n_more := len(reasons) - len(lines)) > 0:
        lines.append(f"{count_with_noun(n_more, 'further reason')}: see evidence.failures")
    return lines


def html_of(evidence: Evidence) -> str:
    """Return the evidence as HTML for a notebook: the conclusion, the table of the measures, heat
    maps if pairs are several, and notes."""
    results = measure_results(evidence)
    headline, *_ = describe_significance(evidence, results)
    names, *lines = _evidence_table_rows(evidence, results_between_models(evidence, results))
    facts = html_table(_evidence_heading(evidence), names, lines)
    maps = thumbnail(evidence) if any(len(result.pairs) > 1 for result in results) else ""
    notes = [*describe_caveats(evidence), design_line(evidence)]
    return "".join([_html_paragraph(headline), facts, maps, *map(_html_paragraph, notes)])


def _html_paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _evidence_heading(evidence: Evidence) -> str:
    size = f"{len(evidence.rows)} x {len(evidence.columns)} representations"
    subject = size
    if len(_unordered_name_pairs(evidence)) == 1:
        subject = " and ".join((evidence.rows[0], evidence.columns[-1]))
    return f"Evidence for {subject}, {evidence.n_samples} samples"


def _evidence_table_rows(
    evidence: Evidence, results: Sequence[MeasureResult]
) -> list[tuple[str, ...]]:
    """Return the rows of a table as texts, the column names first: a row per measure and pair, or
    with many pairs a row per measure. ``results``: of the measures in the table."""
    max_pairs = max(len(result.pairs) for result in results)
    names = [
        name.format(level=format_level(evidence.confidence_level)) for name in EVIDENCE_COLUMNS
    ]
    names[-2] = "p" if max_pairs == 1 else "adjusted p"
    if max_pairs > MAX_PAIRS_IN_NOTEBOOK:
        return [tuple(names), *(_measure_summary_row(evidence, result) for result in results)]
    rows = [tuple(names)] if max_pairs == 1 else [(names[0], "x", "y", *names[1:])]
    for info, pair in ((result.info, pair) for result in results for pair in result.pairs):
        p, places = (
            (pair.pvalue, ()) if max_pairs == 1 else (pair.pvalue_familywise, (pair.x, pair.y))
        )
        rows.append(
            (
                unique_specification(evidence.comparison, info),
                *places,
                *format_evidence_scores(pair),
                format_pvalue(p, pair.how),
                pair.how,
            )
        )
    return rows


def _measure_summary_row(evidence: Evidence, result: MeasureResult) -> tuple[str, ...]:
    """Return the row of a measure with several pairs, seven texts: specification, range of values,
    widest interval, ranges of chance and score above chance, number of significant pairs, null
    method."""
    pairs, spec = result.pairs, result.info.spec
    how = evidence.null_method(spec)
    names = "value", "chance", "above"
    value, chance, above = (
        _format_value_span([getattr(pair, name) for pair in pairs]) for name in names
    )
    n_tested = len(result.tested)
    share = f"{result.beyond} of {n_tested}{result.where} ≤ {ALPHA:g}" if n_tested else "not tested"
    widest = max((pair.high - pair.low for pair in pairs if pair.high > pair.low), default=0.0)
    interval = f"± {format_two_decimals(widest / 2)} or less" if widest else ""
    name = unique_specification(evidence.comparison, result.info)
    return name, value, interval, chance, above, share, how


def _format_value_span(values: Sequence[float]) -> str:
    """Return the smallest and the largest value as text, "0.21 to 0.34"; one number if both agree,
    "–" without values. Two decimals if the larger magnitude is 0.01 to 10."""
    numbers = [value for value in values if not math.isnan(value)]
    if not numbers:
        return MISSING_VALUE
    smallest, largest = min(numbers), max(numbers)
    is_plain = 0.01 <= max(-smallest, largest) < 10
    ends = (format_fixed(x) if is_plain else format_two_decimals(x) for x in (smallest, largest))
    return " to ".join(dict.fromkeys(ends))
