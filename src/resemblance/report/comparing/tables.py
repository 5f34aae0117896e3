"""Tables for the page of a comparison: measures, failures, representations, models and data; with
evidence, also the number of pairs significantly above chance per measure, and every value with its
interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from resemblance.base.text import snap_to_bounds
from resemblance.comparison.comparison import (
    Comparison,
    MeasureInfo,
    readable_reason,
    unique_measure_title,
    unique_specification,
)
from resemblance.inference.nulls import format_pvalue
from resemblance.inference.result import Evidence
from resemblance.sections.sections import Section, Sign, Table, TableEntry

from ...base.formatting import (
    ROUNDING_NOISE,
    count_with_noun,
    decimals_for_column,
    format_count,
    format_decimals,
    format_level,
    format_range,
    format_with_prefix,
    list_names,
    round_to_figures,
)
from ...sections.values import finite_or_none
from ..evidence_words import (
    ALPHA,
    MeasureResult,
    PairResult,
    furthest_above_chance,
    results_between_models,
)
from .stats import (
    PageContext,
    curve_positions,
    depth_curves,
    describe_depth_matching,
    extreme_pairs,
    failure_groups,
    format_chance_range,
    is_all_pairs_of_one_list,
    off_diagonal,
    scores_of_distinct_pairs,
)

MEASURES_TABLE_COLUMNS = (
    "measure", "label", "family", "more similar is", "range", "smallest", "median", "largest",
    "chance", "most similar", "least similar", "seconds", "failed",
)  # fmt: skip
TERMINAL_COLUMNS = ("label", "measure", *MEASURES_TABLE_COLUMNS[5:11], "failed")  # on a terminal
CHANCE_NOTE = (
    "Chance is the mean of the value over all permutations of the samples of one side, "
    "for measures with a closed form."
)
PAIR_SUMMARY_NOTE = (
    "Smallest, median and largest are over pairs of different representations, and of layers of "
    "several models over the pairs between models. Seconds are summed "
    "over all pairs; the time of shared intermediates counts for the first measure."
)
MAX_OPEN_INPUT_ROWS = 24  # a longer list is closed at first
EVIDENCE_NOTE = (
    "Above chance is (value − chance) / (most similar value − chance): 0 at chance, 1 for the most "
    "similar there can be. p is the probability, under the null hypothesis, of a value at least as "
    "similar."
)
ADJUSTED_P_NOTE = (
    "Adjusted p-values hold for all pairs of a map at once, not for all measures. A "
    f"pair is significantly above chance if the adjusted p is at most {ALPHA:g}."
)
# Tables of more than 24 rows are closed at first; tables of more than 2000 rows are only in files
MAX_OPEN_TABLE_ROWS, MAX_PAGE_TABLE_ROWS = 24, 2000
MAX_DEPTH_ROWS = 120  # rows of a table by depth without evidence
PAIR_COLUMNS = ("x", "y")
EVIDENCE_SCORE_COLUMNS = ("value", "{level} interval", "chance", "above chance", "p")
MODEL_SOURCE_KEYS = ("source", "checkpoint", "model", "class", "architecture")
PARAMETER_COUNT_KEYS = ("parameters", "n_parameters")
POOLING_KEYS = ("pool", "pooling")
DATA_NAME_KEYS = ("name", "source", "dataset", "path")
SAMPLE_COUNT_KEYS = ("n", "n_samples", "samples")
SAMPLE_UNIT_KEYS = ("unit", "kind")
MAX_MODELS_IN_SUBTITLE = 4  # models named under the title
MAX_ENTRIES_IN_CELL = 12  # entries of a list in a table cell


def measures_table(comparison: Comparison, evidence: Evidence | None = None) -> Table:
    """Return a row for each measure: its properties, and a summary of its values over the pairs.

    ``evidence``: replaces the chance levels in closed form."""
    rows: list[tuple[TableEntry, ...]] = []
    signs = []
    for info in comparison.measures:
        values = scores_of_distinct_pairs(comparison, info)
        finite_values = values[~np.isnan(values)]
        numbers = (
            float(f(finite_values)) if finite_values.size else None
            for f in (np.min, np.median, np.max)
        )
        ends = extreme_pairs(comparison, info.spec) or (("–",), ("–",))
        failed = values.size - finite_values.size
        if failed:
            signs.append(
                Sign(len(rows), MEASURES_TABLE_COLUMNS.index("failed"), f"of {values.size}")
            )
        chance = format_chance_range(comparison, info, evidence) or None
        seconds = round_to_figures(comparison.seconds[info.spec], 3)
        facts = (*_measure_facts(comparison, info), *numbers, chance, *map(" · ".join, ends))
        rows.append((*facts, seconds, failed or None))
    return Table(
        "all",
        "",
        MEASURES_TABLE_COLUMNS,
        tuple(rows),
        signs=tuple(signs),
        figures=4,
        brief=TERMINAL_COLUMNS,
    ).without_empty_columns("failed")


def pair_table(comparison: Comparison, place: tuple[int, int]) -> Table:
    """Return a row for each measure with its value for the only pair at ``place``, in two
    directions if a measure is asymmetric."""
    i, j = place
    x, y = comparison.rows[i], comparison.columns[j]
    is_two_way = is_all_pairs_of_one_list(comparison) and not all(
        m.symmetric for m in comparison.measures
    )
    places = [(i, j), (j, i)] if is_two_way else [(i, j)]
    values = [f"{x}, {y}", f"{y}, {x}"][: len(places)]
    columns = (*MEASURES_TABLE_COLUMNS[:5], *values, "chance", "seconds", "why not")
    reasons = {
        f.measure: readable_reason(comparison, f.reason) for f in comparison.failures if f.x != f.y
    }
    rows = []
    for info in comparison.measures:
        matrix = snap_to_bounds(comparison.values[info.spec], info)
        scores = [
            None if math.isnan(matrix[position]) else float(matrix[position]) for position in places
        ]
        chance = format_chance_range(comparison, info) or None
        seconds = round_to_figures(comparison.seconds[info.spec], 3)
        rows.append(
            (*_measure_facts(comparison, info), *scores, chance, seconds, reasons.get(info.spec))
        )
    brief_columns = ("label", "measure", *values, "chance", "range", "more similar is", "why not")
    whole = Table("all", f"{x} and {y}", columns, tuple(rows), figures=4, brief=brief_columns)
    return whole.without_empty_columns("chance", "why not")


def similarity_direction(info: MeasureInfo) -> str:
    """Return "larger" or "smaller", whichever means more similar."""
    return "larger" if info.larger_is_more_similar else "smaller"


def _measure_facts(comparison: Comparison, info: MeasureInfo) -> tuple[TableEntry, ...]:
    spec, family = unique_specification(comparison, info), info.family.replace("_", " ")
    return (spec, info.label, family, similarity_direction(info), format_range(*info.range, 4))


def failures_table(comparison: Comparison) -> Table:
    """Return a row for each reason for missing values, with the measures and the number of
    values."""
    rows = tuple(
        (group.reason, ", ".join(group.measures), group.values, " and ".join(group.example))
        for group in failure_groups(comparison)
    )
    return Table("reasons", "", ("reason", "measures", "values", "first pair"), rows)


def representations_table(comparison: Comparison) -> Table:
    """Return a row for each representation."""
    sides = ("rows",) if is_all_pairs_of_one_list(comparison) else ("rows", "columns")
    rows: list[tuple[TableEntry, ...]] = [
        (name, side, e["n_features"], e["dtype"], e["computed_in"], e["fingerprint"])
        for side in sides
        for name, e in comparison.provenance[side].items()
    ]
    columns: tuple[str, ...] = ("name", "side", "features", "dtype", "computed in", "fingerprint")
    if len(sides) == 1:  # the column "side" would always be "rows"
        columns, rows = (columns[0], *columns[2:]), [(row[0], *row[2:]) for row in rows]
    title = count_with_noun(len(rows), "representation")
    return Table("all", title, columns, tuple(rows), is_closed=len(rows) > MAX_OPEN_INPUT_ROWS)


# ----------------------------------------------------------------------------------------- evidence


def evidence_sections(context: PageContext) -> Iterator[Section]:
    """Yield the sections of an evidence: one table for a single pair, otherwise the overview and
    all values; nothing without evidence."""
    evidence = context.evidence
    results = [context.readings[m.spec] for m in context.measures if m.spec in context.readings]
    if evidence is None:
        return
    if has_single_pair(results):
        yield Section("pair", "The pair", EVIDENCE_NOTE, (values_table(evidence, results),))
        return
    yield Section(
        "beyond",
        "Significantly above chance",
        f"{EVIDENCE_NOTE} {ADJUSTED_P_NOTE}",
        (overview_table(evidence, results),),
    )
    yield _all_values_section(evidence, results)


def depths_sections(context: PageContext) -> Iterator[Section]:
    """Yield the table by depth, if models have several layers.

    Without evidence, leave out a table of more than ``MAX_DEPTH_ROWS`` rows.
    """
    table = depths_table(context)
    if table and (context.evidence or len(table.rows) <= MAX_DEPTH_ROWS):
        yield Section("depths", "By depth", "", (table,))


def has_single_pair(results: Sequence[MeasureResult]) -> bool:
    """Return whether all pairs in ``results`` are of the same two representations; True without
    pairs."""
    return len({frozenset((pair.x, pair.y)) for result in results for pair in result.pairs}) <= 1


def depths_table(context: PageContext) -> Table | None:
    """Return a row per pair of layers of equal depth of two models: the value of each measure, and
    the evidence for the leading measure. Return None if no models have several layers."""
    curves = depth_curves(context, context.leading)
    places = [place for curve in curves for place in curve_positions(context, curve)]
    if not places:
        return None
    evidence, result = context.evidence, context.readings.get(context.leading.spec)
    other_measures = [
        info for info in context.measures if result is None or info != context.leading
    ]
    labels = [context.label(info) for info in other_measures]
    values = [_finite_values_at(context, info, places) for info in other_measures]
    pairs = [(context.comparison.rows[i], context.comparison.columns[j]) for i, j in places]
    columns: tuple[str, ...] = PAIR_COLUMNS
    rows: list[tuple[TableEntry, ...]] = [(*pair,) for pair in pairs]
    brief_columns: tuple[str, ...] = PAIR_COLUMNS
    title = f"Layers of {describe_depth_matching(context, curves)}"
    if evidence is not None and result is not None:
        level = format_level(evidence.confidence_level)
        columns = (
            *PAIR_COLUMNS,
            *(name.format(level=level) for name in EVIDENCE_SCORE_COLUMNS),
            "adjusted p",
            "how",
        )
        brief_columns = (*PAIR_COLUMNS, "value", f"{level} interval", "chance", "adjusted p")
        cells = [result.cells[i][j] for i, j in places]
        decimals = decimals_for_measure(result._replace(pairs=tuple(cells)))
        rows = [_value_row("", cell, decimals, is_one_way=False)[1:] for cell in cells]
        title = f"{title} by {context.label(context.leading)}"
    table = tuple((*row, *entries) for row, *entries in zip(rows, *values))
    return Table(
        "depths",
        title,
        (*columns, *labels),
        table,
        is_closed=len(table) > MAX_OPEN_TABLE_ROWS,
        brief=(*brief_columns, *labels),
    )


def _finite_values_at(
    context: PageContext, info: MeasureInfo, places: Sequence[tuple[int, int]]
) -> list[TableEntry]:
    values = context.values(info)
    return [finite_or_none(float(values[place])) for place in places]


def pairs_table(comparison: Comparison) -> Table:
    """Return a table with a row per pair of different representations: the two names, and the value
    of every measure; None for a missing value. If all measures are symmetric, a pair has a single
    row."""
    is_half = is_all_pairs_of_one_list(comparison) and all(
        info.symmetric for info in comparison.measures
    )
    is_shown = np.triu(off_diagonal(comparison)) if is_half else off_diagonal(comparison)
    places = [(int(i), int(j)) for i, j in np.argwhere(is_shown)]
    values = [
        [finite_or_none(x) for x in snap_to_bounds(comparison.values[m.spec], m)[is_shown].tolist()]
        for m in comparison.measures
    ]
    names = [(comparison.rows[i], comparison.columns[j]) for i, j in places]
    labels = [unique_measure_title(comparison, info) for info in comparison.measures]
    rows = tuple((*pair, *entries) for pair, *entries in zip(names, *values))
    return Table("pairs", "", (*PAIR_COLUMNS, *labels), rows, figures=4)


def overview_table(evidence: Evidence, results: Sequence[MeasureResult]) -> Table:
    """Return a row per measure: the number of pairs significantly above chance, and the pair
    furthest above chance. For layers of several models, only pairs between models count."""
    results = results_between_models(evidence, results)
    level = format_level(evidence.confidence_level)
    names = (
        "measure",
        "label",
        "significantly above chance",
        "median above chance",
        "furthest above chance",
    )
    columns = (*names, "value", f"{level} interval", "chance", "adjusted p")
    return Table(
        "measures", "", columns, tuple(_overview_row(evidence, result) for result in results)
    )


def _overview_row(evidence: Evidence, result: MeasureResult) -> tuple[TableEntry, ...]:
    tested_pairs = result.tested
    start = unique_specification(evidence.comparison, result.info), result.info.label
    if not tested_pairs:
        return (*start, "not tested", *[None] * 6)
    best = furthest_above_chance(evidence, result)
    scores_above = [pair.above for pair in tested_pairs if not math.isnan(pair.above)]
    return (
        *start,
        f"{result.beyond} of {len(tested_pairs)}{result.where}",
        float(np.median(scores_above)) if scores_above else None,
        f"{best.x} and {best.y}",
        *(
            finite_or_none(best.value),
            _format_pair_interval(best, decimals_for_measure(result)),
            finite_or_none(best.chance),
        ),
        format_pvalue(best.pvalue_familywise, best.how),
    )


def _all_values_section(evidence: Evidence, results: Sequence[MeasureResult]) -> Section:
    """Return the table of all pairs, or a note about files if the table is too long for a page."""
    count = sum(len(result.pairs) for result in results)
    if count <= MAX_PAGE_TABLE_ROWS:
        return Section("values", "All values", "", (values_table(evidence, results),))
    words = (
        f"{count_with_noun(count, 'value')} are too many for a page; a file has them as CSV "
        "or JSON."
    )
    return Section("values", "All values", words)


def values_table(evidence: Evidence, results: Sequence[MeasureResult]) -> Table:
    """Return a table with a row per measure and pair: value, chance and score above chance as
    numbers, interval and p-values as texts, None for a missing entry. ``results``: of the
    measures."""
    is_one_way = has_single_pair(results) and all(len(result.pairs) == 1 for result in results)
    scores = [
        name.format(level=format_level(evidence.confidence_level))
        for name in EVIDENCE_SCORE_COLUMNS
    ]
    adjusted_columns = () if is_one_way else ("adjusted p",)
    columns = ("measure", *PAIR_COLUMNS, *scores, *adjusted_columns, "how")
    rows = tuple(
        _value_row(result.name, pair, places, is_one_way)
        for result, places in zip(results, map(decimals_for_measure, results))
        for pair in result.pairs
    )
    pair = results[0].pairs[0] if is_one_way else None
    title = f"{pair.x} and {pair.y}" if pair else "Every pair by every measure"
    return Table("all", title, columns, rows, is_closed=len(rows) > MAX_OPEN_TABLE_ROWS)


def _value_row(
    spec: str, pair: PairResult, places: int | None, is_one_way: bool
) -> tuple[TableEntry, ...]:
    value, chance, above = map(finite_or_none, (pair.value, pair.chance, pair.above))
    p = format_pvalue(pair.pvalue, pair.how) if pair.is_tested else None
    adjusted = format_pvalue(pair.pvalue_familywise, pair.how) if pair.is_tested else None
    # An integer 0 is exact, so it has no decimals
    chance = 0 if chance is not None and abs(chance) < ROUNDING_NOISE else chance
    scores = (value, _format_pair_interval(pair, places), chance, above, p)
    how = pair.how or pair.reason or None
    return (spec, pair.x, pair.y, *scores, *(() if is_one_way else (adjusted,)), how)


def decimals_for_measure(result: MeasureResult) -> int | None:
    """Return the number of decimals for all scores of a measure; None if no single number of
    decimals fits."""
    return decimals_for_column(
        [abs(x) for pair in result.pairs for x in (pair.value, pair.low, pair.high, pair.chance)]
    )


def _format_pair_interval(pair: PairResult, places: int | None) -> str | None:
    ends = (format_decimals(end, places) for end in (pair.low, pair.high))
    return None if math.isnan(pair.low) else " to ".join(ends)


# ---------------------------------------------------------------------------------- models and data


def models_facts(provenance: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts under the title, as texts by name: each model with its size, the data, the
    pooling. ``provenance``: of a comparison.

    Unknown facts are omitted. Of many models, only the number is given.
    """
    models, data = model_and_data_facts(provenance)
    facts = dict[str, str]()
    if len(models) <= MAX_MODELS_IN_SUBTITLE:
        copy, first_model = provenance.get("reinitialized"), next(iter(models), "")
        descriptions = {name: _describe_model_facts(entries) for name, entries in models.items()}
        if copy in descriptions:
            descriptions |= {str(copy): f"{first_model} with re-initialised weights"}
        facts |= {name: text for name, text in descriptions.items() if text}
    elif models:
        facts["models"] = format_count(len(models))
    if words := _describe_data_facts(data):
        facts["data"] = words
    pools = dict.fromkeys(
        str(format_fact(pool))
        for entries in models.values()
        if (pool := first_fact_named(entries, POOLING_KEYS))
    )
    pools = pools or dict.fromkeys(filter(None, [str(first_fact_named(data, POOLING_KEYS) or "")]))
    return facts | ({"pooling": ", ".join(pools)} if pools else {})


def model_and_data_facts(
    provenance: Mapping[str, Any],
) -> tuple[dict[str, Mapping[str, Any]], Mapping[str, Any]]:
    """Return two mappings: the facts of each model by name, and the facts of the data; {} where
    ``provenance`` has no such entry or another format."""
    models, data = provenance.get("models"), provenance.get("data")
    entries = models if isinstance(models, Mapping) else {}
    facts_by_model = {
        str(name): facts for name, facts in entries.items() if isinstance(facts, Mapping)
    }
    return facts_by_model, data if isinstance(data, Mapping) else {}


def first_fact_named(facts: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the first fact present under any of the names; None if no fact is present."""
    return next((facts[name] for name in names if facts.get(name) not in (None, "")), None)


def _describe_model_facts(facts: Mapping[str, Any]) -> str:
    source = first_fact_named(facts, MODEL_SOURCE_KEYS)
    size = first_fact_named(facts, PARAMETER_COUNT_KEYS)
    words = f"{format_with_prefix(size)} parameters" if isinstance(size, int | float) else ""
    if source is None:
        return words
    if source == facts.get("class"):
        source = str(source).rpartition(".")[2]
    return f"{source} ({words})" if words else str(source)


def _describe_data_facts(data: Mapping[str, Any]) -> str:
    name = first_fact_named(data, DATA_NAME_KEYS)
    samples = first_fact_named(data, SAMPLE_COUNT_KEYS)
    unit = str(first_fact_named(data, SAMPLE_UNIT_KEYS) or "sample").removesuffix("s")
    count = count_with_noun(samples, unit) if isinstance(samples, int) else ""
    return ", ".join(filter(None, (str(name or ""), count)))


def models_section(provenance: Mapping[str, Any]) -> Iterator[Section]:
    """Yield the section with the known facts of models and data, as tables; nothing without
    facts."""
    models, data = model_and_data_facts(provenance)
    tables = []
    if models:
        names = list(dict.fromkeys(str(name) for entries in models.values() for name in entries))
        rows = tuple(
            (model, *(format_fact(entries.get(name)) for name in names))
            for model, entries in models.items()
        )
        columns = ("model", *(name.replace("_", " ") for name in names))
        tables.append(Table("models", count_with_noun(len(models), "model"), columns, rows))
    if data:
        facts = tuple((name.replace("_", " "), format_fact(fact)) for name, fact in data.items())
        tables.append(Table("data", "Data", ("fact", "value"), facts))
    if tables:
        yield Section("models", "Models and data", "", tuple(tables))


def format_fact(fact: Any) -> TableEntry:
    """Return a fact for a cell: numbers as float, "yes" or "no" for booleans, entries of lists and
    mappings with commas, of long lists the first entries and the number of entries; None and texts
    unchanged."""
    if fact is None or isinstance(fact, str):
        return fact
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    if isinstance(fact, int | float):
        return float(fact)
    if isinstance(fact, Mapping):
        return ", ".join(f"{name} {format_fact(part)}" for name, part in fact.items())
    if isinstance(fact, Sequence):
        return list_names([str(format_fact(part)) for part in fact], MAX_ENTRIES_IN_CELL)
    return str(fact)
