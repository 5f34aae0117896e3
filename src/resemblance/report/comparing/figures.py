"""Figures for the page of a comparison: a heat map with a selector, and the same values by depth,
in a plane, and as a tree; then the maps of each family, and the agreement of measures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from resemblance.base.text import snap_to_bounds
from resemblance.comparison.arrangements import (
    DepthCurve,
    LinkageTree,
    PlaneEmbedding,
    best_matches,
    layer_name,
    layers_by_model,
    linkage_tree,
    plane_embedding,
)
from resemblance.comparison.comparison import (
    Comparison,
    MeasureInfo,
    most_similar,
    readable_reason,
    unique_specification,
)
from resemblance.inference.result import Evidence, scores_above_chance
from resemblance.sections.figures import (
    Chart,
    Choice,
    Dendrogram,
    Figure,
    HeatMap,
    Line,
    Merge,
    Option,
    Switch,
)
from resemblance.sections.sections import Section
from resemblance.sections.values import mean_without_missing

from ...base.formatting import format_number, format_percent, with_minus_signs
from ...sections.values import finite_or_none
from ..evidence_words import ALPHA, MeasureResult, describe_pair_result
from .stats import (
    EQUAL_DEPTH,
    MIN_PAIRS_FOR_CORRELATION,
    MeasureAgreement,
    PageContext,
    chance_levels,
    color_scale,
    curve_positions,
    depth_curves,
    describe_depth_matching,
    format_chance_range,
    is_all_pairs_of_one_list,
    measure_definition,
    shared_layer,
    trained_curves,
)

MEASURE_SELECTOR, QUANTITY_SELECTOR, PAIRS_SELECTOR = "measure", "show", "pairs"
VALUE_CHOICE, ABOVE_CHANCE_CHOICE = "value", "above chance"
BETWEEN_CHOICE, ALL_PAIRS_CHOICE = "between models", "all"
# Fewest representations for which a plane or a tree shows more than a number
MIN_ARRANGED_REPRESENTATIONS = 3
# Pairs of models in the figure of depths, in total and visible at first
MAX_DEPTH_LINES, VISIBLE_DEPTH_LINES = 10, 5
CHANCE_DIAGNOSTIC = "chance"
MAP_COLOR_NOTE = (
    "Dark blue is similar, whatever the direction of a measure. Rows are the first argument of the "
    "measure, columns the second. Point at a cell or tap it to read it, or use the arrow keys."
)
BEST_MATCH_TITLE = "Best match of each layer"
PLANE_TITLE = "Plane"
TREE_TITLE = "Tree"
NOT_SIGNIFICANT_NOTE = f"not significantly above chance (adjusted p > {ALPHA:g})"
MAX_MEASURES_UNGROUPED = 4  # with more measures, each family has a section of maps
MapEntries = tuple[tuple[float | None, ...], ...]
AGREEMENT_TITLE = "Do the measures agree?"
AGREEMENT_NOTE = (
    "Spearman correlation, over all pairs, between the differences that two measures find. Dark "
    "blue: they rank the pairs alike; brown: the other way round. Measures that agree are next to "
    "each other."
)
NO_CORRELATION_REASON = (
    f"fewer than {MIN_PAIRS_FOR_CORRELATION} pairs have values of both, or one of the two has the "
    "same value for all pairs"
)
UNKNOWN_CORRELATION_DISTANCE = 1.0  # distance of two measures with unknown correlation


def first_section(context: PageContext) -> Section:
    """Return the first section of a page: the maps of all measures with a selector, the leading
    measure first; then depth curves, plane and tree."""
    figures: tuple[Figure, ...] = (_selectable_maps(context), *_arrangement_figures(context))
    return Section("similarity", "Similarity", "", figures=figures)


# --------------------------------------------------------------------------------------------- maps


def _selectable_maps(context: PageContext) -> Choice:
    """Return the maps of all measures, selected by measure; with evidence, also the maps of scores
    above chance.

    For two models, each map has two views: the pairs between the models, which come first, and all
    pairs.
    """
    options, maps, groups = [], list[HeatMap](), []
    has_two = between_two_models(context) is not None
    for info in context.measures:
        for name, heat in _value_and_chance_maps(context, info):
            views = {BETWEEN_CHOICE: between_map(context, heat)} if has_two else {}
            for view, part in (views | {ALL_PAIRS_CHOICE: heat}).items():
                choices = (name,) * (context.evidence is not None) + (view,) * has_two
                options.append(Option((context.label(info), *choices), (len(maps),), heat.note))
                groups.append(family_name(info))
                maps.append(part)
    is_grouped = len(set(groups)) > 1
    selectors = (QUANTITY_SELECTOR,) * (context.evidence is not None) + (PAIRS_SELECTOR,) * has_two
    return Choice(
        "map",
        "Map" if has_two else "All pairs",
        (MEASURE_SELECTOR, *selectors),
        tuple(options),
        tuple(maps),
        MAP_COLOR_NOTE,
        is_linked=True,
        groups=tuple(groups) if is_grouped else (),
    )


def _value_and_chance_maps(
    context: PageContext, info: MeasureInfo
) -> Iterator[tuple[str, HeatMap]]:
    """Yield (choice, map): the values of a measure, then the scores above chance, if the evidence
    has the measure and the most similar value is finite."""
    value = value_map(context, info)
    yield VALUE_CHOICE, value
    is_known = info.spec in context.readings
    if context.evidence is not None and is_known and math.isfinite(most_similar(info)):
        chance_map = above_chance_map(context.evidence, info, context.stretch)
        yield (
            ABOVE_CHANCE_CHOICE,
            chance_map._replace(
                titles=value.titles, hatched=value.hatched, hatching=value.hatching
            ),
        )


def between_two_models(context: PageContext) -> tuple[list[int], list[int]] | None:
    """Return the positions of the layers of the first of two models, as rows, and of the second
    model, as columns; None unless all names are layers of two models. The columns include the
    re-initialised copy."""
    if not is_all_pairs_of_one_list(context.comparison):
        return None
    models = layers_by_model(context.comparison.rows)
    if "" in models or len(models.keys() - {context.reference}) != 2:
        return None
    first, *others = models.values()
    return list(first), [i for places in others for i in places]


def between_map(context: PageContext, heat: HeatMap) -> HeatMap:
    """Return the part of a map between two models; unchanged for any other comparison."""
    if (places := between_two_models(context)) is None:
        return heat
    rows, columns = places

    def part(entries: Sequence[Sequence[Any]]) -> tuple[tuple[Any, ...], ...]:
        return tuple(tuple(entries[i][j] for j in columns) for i in rows) if entries else ()

    hatched = {*heat.hatched}
    return heat._replace(
        rows=tuple(heat.rows[i] for i in rows),
        columns=tuple(heat.columns[j] for j in columns),
        values=part(heat.values),
        titles=part(heat.titles),
        chance=part(heat.chance),
        hatched=tuple(
            (k, n) for k, i in enumerate(rows) for n, j in enumerate(columns) if (i, j) in hatched
        ),
    )


# ------------------------------------------------------------------------------------- arrangements


def _arrangement_figures(context: PageContext) -> Iterator[Switch]:
    """Yield depth curves, best matches, plane and tree, if possible, with a figure per measure."""
    rows, columns = context.comparison.rows, context.comparison.columns
    curves = depth_curves(context, context.leading)
    depth = describe_depth_matching(context, curves)
    if curves:
        yield _figure_per_measure(context, "depths", f"Layers of {depth}", _depth_chart)
    if (not curves or depth != EQUAL_DEPTH) and _best_match_curves(context, context.leading):
        yield _figure_per_measure(context, "matches", BEST_MATCH_TITLE, _best_match_chart)
    if rows == columns and len(rows) >= MIN_ARRANGED_REPRESENTATIONS:
        yield _figure_per_measure(context, "plane", PLANE_TITLE, _plane_of_measure)
        yield _figure_per_measure(context, "tree", TREE_TITLE, _tree_of_measure)


MeasureFigureFunction = Callable[[PageContext, MeasureInfo], Chart | Dendrogram]


def _figure_per_measure(
    context: PageContext, name: str, title: str, draw: MeasureFigureFunction
) -> Switch:
    names = tuple(context.label(info) for info in context.measures)
    figures = tuple(draw(context, info) for info in context.measures)
    return Switch(name, title, MEASURE_SELECTOR, names, figures)


def _depth_chart(context: PageContext, info: MeasureInfo) -> Chart:
    """Return the values of layers of equal depth by depth for the first pairs of models, with the
    median if pairs are many, and with the chance level if known."""
    curves = depth_curves(context, info)
    names = [f"{curve.model} and {curve.other}" for curve in curves[:MAX_DEPTH_LINES]]
    lines = layer_lines(context, info, curves[:MAX_DEPTH_LINES], names)
    if len(curves) > VISIBLE_DEPTH_LINES:
        lines = [line._replace(is_shown=k < VISIBLE_DEPTH_LINES) for k, line in enumerate(lines)]
        lines.insert(0, _median_line(trained_curves(context, curves)))
    chance = mean_chance_line(context, info, curves)
    n_hidden = max(len(curves) - MAX_DEPTH_LINES, 0)
    facts = (
        f"{context.label(info)} by layer{'; dashed: chance' if chance else ''}.",
        _direction_note(info),
        f"{n_hidden} more pairs of models are in the map only." if n_hidden else "",
    )
    lines += [chance] if chance else []
    title = f"Layers of {describe_depth_matching(context, curves)}"
    note = " ".join(filter(None, facts))
    return Chart("depths", title, "layer", context.label(info), tuple(lines), note)


def _median_line(curves: Sequence[DepthCurve]) -> Line:
    """Return the line of medians over all ``curves`` at each depth, counted from 1, without missing
    values."""
    points = []
    for k in range(max(len(curve.values) for curve in curves)):
        values = [curve.values[k] for curve in curves if k < len(curve.values)]
        numbers = [value for value in values if math.isfinite(value)]
        points += [(k + 1.0, float(np.median(numbers)))] if numbers else []
    return Line(f"median of {len(curves)} pairs of models", tuple(points), is_shown=True)


def _direction_note(info: MeasureInfo) -> str:
    return "" if info.larger_is_more_similar else "Smaller is more similar."


def layer_lines(
    context: PageContext, info: MeasureInfo, curves: Sequence[DepthCurve], names: Sequence[str]
) -> list[Line]:
    """Return a line for each curve, with values, intervals if the evidence has intervals, and
    tooltips.

    ``names``: the name of the line of each curve. The x value of a layer is its number from 1 or,
    if models have unequal numbers of layers, its relative depth, from 0 to 1.
    """
    is_relative, chance = has_relative_depth(curves), context.chance(info)
    reading, lines = context.readings.get(info.spec), []
    for curve, name in zip(curves, names):
        places, words = curve_positions(context, curve), []
        for (i, j), value in zip(places, curve.values):
            pair = f"{context.comparison.rows[i]} and {context.comparison.columns[j]}"
            if reading:
                fact = with_minus_signs(describe_pair_result(reading.cells[i][j]))
            else:
                fact = _format_value_and_chance(value, float(chance[i, j]))
            words.append(f"{pair}: {fact}")
        points = tuple(zip(_layer_depths(len(places), is_relative), curve.values))
        cells = [reading.cells[i][j] for i, j in places] if reading else []
        spans = tuple((cell.low, cell.high) for cell in cells)
        lines.append(Line(name, points, spans, tuple(words)))
    return lines


def has_relative_depth(curves: Sequence[DepthCurve]) -> bool:
    """Return whether models have unequal numbers of layers, which only relative depth aligns."""
    return len({len(curve.layers) for curve in curves}) > 1


def _layer_depths(count: int, is_relative: bool) -> list[float]:
    """Return the positions of ``count`` layers along an axis: 1, 2, ..., or relative depths from 0
    to 1."""
    return [k / (count - 1) if is_relative else k + 1.0 for k in range(count)]


def _format_value_and_chance(value: float, chance: float) -> str:
    tail = "" if math.isnan(chance) else f", chance {format_number(chance, 2)}"
    return f"{format_number(value, 4)}{tail}"


def mean_chance_line(
    context: PageContext,
    info: MeasureInfo,
    curves: Sequence[DepthCurve],
    name: str = CHANCE_DIAGNOSTIC,
    *,
    is_relative: bool = False,
) -> Line | None:
    """Return the dashed line of the mean chance level at each depth over curves; None if no chance
    level is known.

    ``name``: the name of the line. ``is_relative``: whether the x values are relative depths, 0 to
    1, instead of depths from 1.
    """
    points, words, chance = list[tuple[float, float]](), list[str](), context.chance(info)
    places_of_curves = [curve_positions(context, curve) for curve in curves]
    for k, depth in enumerate(
        _layer_depths(max(map(len, places_of_curves), default=0), is_relative)
    ):
        values = [float(chance[places[k]]) for places in places_of_curves if k < len(places)]
        points.append((depth, mean_without_missing(values)))
        position = f"relative depth {depth:.2g}" if is_relative else f"depth {depth:g}"
        layer = shared_layer(curves, k) or position
        words.append(f"mean chance at {layer}: {format_number(points[-1][1], 2)}")
    if all(math.isnan(y) for _, y in points):
        return None
    return Line(name, tuple(points), (), tuple(words), is_dashed=True, is_shown=True)


def _best_match_curves(context: PageContext, info: MeasureInfo) -> tuple[DepthCurve, ...]:
    curves = best_matches(context.comparison, info.spec)
    return tuple(curve for curve in curves if curve.model and curve.other)


def _best_match_chart(context: PageContext, info: MeasureInfo) -> Chart:
    """Return the value of the best match of each layer, for models of unequal depth.

    With unequal numbers of layers the axis is the relative depth, from 0 to 1.
    """
    curves = _best_match_curves(context, info)[:MAX_DEPTH_LINES]
    names = [f"{curve.model} in {curve.other}" for curve in curves]
    lines = layer_lines(context, info, curves, names)
    note = (
        "For each layer of the first model: the value with the most similar layer of the second "
        "model."
    )
    note = " ".join(filter(None, (f"{context.label(info)}.", note, _direction_note(info))))
    axis = f"{'relative depth' if has_relative_depth(curves) else 'layer'} of the first model"
    return Chart("matches", BEST_MATCH_TITLE, axis, context.label(info), tuple(lines), note)


def _plane_of_measure(context: PageContext, info: MeasureInfo) -> Chart:
    try:
        plane = plane_embedding(context.comparison, info.spec)
    except ValueError as error:
        return Chart("plane", PLANE_TITLE, "", "", (), _error_as_sentence(error))
    return plane_chart(plane, len(context.comparison.rows) - len(plane.names))


def plane_chart(plane: PlaneEmbedding, n_omitted: int = 0) -> Chart:
    """Return the representations as points with distances close to the dissimilarities.

    A line joins the layers of each model. No line joins names without a model. The note counts
    ``n_omitted`` representations.
    """
    models = layers_by_model(plane.names)
    are_models = set(models) != {""}
    lines = []
    for model, places in models.items():
        points = [(float(plane.points[i, 0]), float(plane.points[i, 1])) for i in places]
        names = _point_names(plane.names, places, bool(model))
        if are_models and not model:
            points = [p for point in points for p in (point, (math.nan, math.nan))]
            names = tuple(n for name in names for n in (name, ""))
        is_shown = True if are_models and len(models) <= MAX_DEPTH_LINES else None
        name = model or ("other" if are_models else "all")
        lines.append(Line(name, tuple(points), titles=names, is_shown=is_shown))
    return Chart(
        "plane",
        PLANE_TITLE,
        "near is similar; directions mean nothing",
        "",
        tuple(lines),
        _plane_note(plane.share, n_omitted, are_models),
        joined=are_models,
        is_labeled=True,
        is_plane=True,
    )


def _point_names(names: Sequence[str], places: Sequence[int], are_layers: bool) -> tuple[str, ...]:
    """Return the titles of points: for layers "label: name", where the first label names the model;
    otherwise the names."""
    if not are_layers:
        return tuple(names[i] for i in places)
    labels = [names[places[0]], *(layer_name(names[i]) for i in places[1:])]
    return tuple(f"{label}: {names[i]}" for label, i in zip(labels, places))


def _plane_note(share: float, n_omitted: int, are_models: bool) -> str:
    facts = (
        "Classical multidimensional scaling; the plane shows "
        f"{format_percent(share)} of the differences.",
        "Lines join the layers of a model in order." if are_models else "",
        f"{n_omitted} without a value for some pairs are left out." if n_omitted else "",
    )
    return " ".join(filter(None, facts))


def _tree_of_measure(context: PageContext, info: MeasureInfo) -> Dendrogram:
    try:
        tree = linkage_tree(context.comparison, info.spec)
    except ValueError as error:
        return Dendrogram("tree", TREE_TITLE, "", (), (), (), _error_as_sentence(error))
    n_omitted = len(context.comparison.rows) - len(tree.names)
    return tree_figure(tree, difference_in_measure(info, context.label(info)), n_omitted)


def tree_figure(tree: LinkageTree, difference: str, n_omitted: int = 0) -> Dendrogram:
    """Return the average-linkage tree of the representations. ``difference`` names the
    dissimilarity at the axis, and the note counts ``n_omitted`` representations."""
    merges = tuple(Merge(int(a), int(b), max(float(h), 0.0)) for a, b, h, _ in tree.merges)
    note = "Average linkage: branches meet at the mean difference of their pairs."
    note += f" {n_omitted} without a value for some pairs are left out." if n_omitted else ""
    return Dendrogram("tree", TREE_TITLE, difference, tree.names, merges, tree.order, note)


def difference_in_measure(info: MeasureInfo, label: str) -> str:
    """Return the dissimilarity of two representations in terms of a measure, in words such as "1 −
    CKA"."""
    top = info.range[1]
    if not info.larger_is_more_similar:
        return label
    return f"{format_number(top)} − {label}" if np.isfinite(top) else f"−{label}, from its smallest"


def _error_as_sentence(error: ValueError) -> str:
    return f"{str(error)[0].upper()}{str(error)[1:]}."


# --------------------------------------------------------------------------------- maps of measures


def measure_heat_map(
    comparison: Comparison,
    info: MeasureInfo,
    evidence: Evidence | None = None,
    *,
    stretch: bool = False,
) -> HeatMap:
    """Return the matrix of a measure, with the colour scale and the reasons for missing values.

    ``stretch``: whether the colours end at the extreme values instead of the range of the measure.
    ``evidence``: replaces the chance levels in closed form.
    """
    values = snap_to_bounds(comparison.values[info.spec], info)
    ends, scale_note = color_scale(values, info.range, stretch=stretch)
    direction = "Larger" if info.larger_is_more_similar else "Smaller"
    chance = format_chance_range(comparison, info, evidence)
    facts = (f"{direction} is more similar", scale_note, chance and f"chance is {chance}")
    reading = "; ".join(filter(None, facts))
    specification = unique_specification(comparison, info)
    reasons = {
        (f.x, f.y): readable_reason(comparison, f.reason)
        for f in comparison.failures
        if f.measure == info.spec
    }
    return HeatMap(
        specification,
        info.label,
        comparison.rows,
        comparison.columns,
        map_entries(values),
        " ".join(filter(None, (measure_definition(info), f"{reading}."))),
        ends,
        is_diverging=ends[0] < 0 < ends[1],
        is_reversed=not info.larger_is_more_similar,
        titles=map_titles(comparison.rows, comparison.columns, reasons),
        subtitle=specification if info.spec != info.label else "",
        chance=map_entries(chance_levels(comparison, info, evidence)) if chance else (),
    )


def value_map(context: PageContext, info: MeasureInfo) -> HeatMap:
    """Return the map of a measure; with evidence, cells not significantly above chance are hatched,
    and tooltips show all results."""
    heat, result = hatched_value_map(context, info), context.readings.get(info.spec)
    return heat if result is None else heat._replace(titles=_cell_titles(result))


def hatched_value_map(context: PageContext, info: MeasureInfo) -> HeatMap:
    """Return the map of a measure; with evidence, cells not significantly above chance are
    hatched."""
    heat = measure_heat_map(context.comparison, info, context.evidence, stretch=context.stretch)
    result = context.readings.get(info.spec)
    return heat if result is None else _hatch_heat_map(heat, result)


def annotate_heat_map(heat: HeatMap, result: MeasureResult) -> HeatMap:
    """Return a new map with tooltips of all results, hatched where a tested pair is not
    significantly above chance."""
    return _hatch_heat_map(heat, result)._replace(titles=_cell_titles(result))


def _hatch_heat_map(heat: HeatMap, result: MeasureResult) -> HeatMap:
    hatched = tuple(
        (i, j)
        for i, row in enumerate(result.cells)
        for j, cell in enumerate(row)
        if cell.is_tested and not cell.is_beyond
    )
    return heat._replace(hatched=hatched, hatching=NOT_SIGNIFICANT_NOTE, chance=())


def _cell_titles(result: MeasureResult) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(with_minus_signs(describe_pair_result(cell)) for cell in row) for row in result.cells
    )


def map_titles(
    rows: Sequence[str], columns: Sequence[str], reasons: Mapping[tuple[str, str], str]
) -> tuple[tuple[str, ...], ...]:
    """Return tooltips, by row and column, with the reasons for missing values, "" without a reason;
    () if there are no reasons. ``reasons``: by (row name, column name)."""
    if not reasons:
        return ()
    return tuple(tuple(reasons.get((x, y), "") for y in columns) for x in rows)


def map_entries(values: np.ndarray) -> MapEntries:
    """Return the values of a map as tuples of rows, None for values that are not finite."""
    return tuple(tuple(map(finite_or_none, row)) for row in values.tolist())


def above_chance_map(evidence: Evidence, info: MeasureInfo, stretch: bool) -> HeatMap:
    """Return the map of scores above chance: 0 at chance, 1 for the most similar value. With
    ``stretch``, the colours end at the largest score."""
    scores = np.round(scores_above_chance(evidence, info), 3) + 0.0  # turn −0 into 0
    numbers = scores[np.isfinite(scores)]
    low = min(0.0, float(numbers.min(initial=0.0)))
    high = float(numbers.max(initial=low)) if stretch and numbers.size else 1.0
    return HeatMap(
        f"{unique_specification(evidence.comparison, info)} above chance",
        info.label,
        evidence.rows,
        evidence.columns,
        map_entries(scores),
        "0 is chance, 1 the most similar value.",
        span=(low, high if high > low else 1.0),
        is_diverging=low < 0,
    )


def family_sections(context: PageContext) -> Iterator[Section]:
    """Yield the maps of all measures as closed sections: a section for each family, or a single
    section for few measures or one family. Yield nothing for a single measure."""
    measures = context.comparison.measures
    if len(measures) < 2:
        return
    families: dict[str, list[MeasureInfo]] = {}
    for info in measures:
        families.setdefault(family_name(info), []).append(info)
    if len(measures) <= MAX_MEASURES_UNGROUPED or len(families) == 1:
        yield _family_section(context, "maps", f"All {len(measures)} maps", measures)
        return
    for name, members in families.items():
        title = f"Maps: {name} ({len(members)})"
        yield _family_section(context, f"maps-{name.replace(' ', '-')}", title, members)


def _family_section(
    context: PageContext, name: str, title: str, measures: Sequence[MeasureInfo]
) -> Section:
    maps = (value_map(context, info) for info in measures)
    description = "Each scale is the range of its measure, unless the map has another end."
    return Section(name, title, description, figures=tuple(maps), is_closed=True)


def family_name(info: MeasureInfo) -> str:
    """Return the family of a measure in words."""
    return info.family.replace("_", " ")


# ---------------------------------------------------------------------------- agreement of measures


def agreement_section(agreement: MeasureAgreement) -> Section:
    """Return the section on how far the measures agree: a sentence for two measures, otherwise a
    map."""
    labels, values = agreement
    if len(labels) == 2:
        value = float(values[0, 1])
        words = f"no correlation: {NO_CORRELATION_REASON}" if math.isnan(value) else f"{value:.2f}"
        sentence = (
            "Spearman correlation, over all pairs, between the differences that the two measures "
            f"find: {labels[0]} and {labels[1]}: {words.replace('-', '−')}."
        )
        return Section("agreement", AGREEMENT_TITLE, sentence)
    return Section(
        "agreement", AGREEMENT_TITLE, AGREEMENT_NOTE, figures=(_agreement_map(agreement),)
    )


def _agreement_map(agreement: MeasureAgreement) -> HeatMap:
    order = measure_order(agreement.values)
    labels = tuple(agreement.labels[i] for i in order)
    values = agreement.values[np.ix_(order, order)]
    ends = color_scale(values, (-1.0, 1.0)).limits
    reasons = {
        (labels[i], labels[j]): NO_CORRELATION_REASON for i, j in np.argwhere(np.isnan(values))
    }
    return HeatMap(
        "agreement",
        "Agreement",
        labels,
        labels,
        map_entries(values),
        span=ends,
        is_diverging=ends[0] < 0,
        titles=map_titles(labels, labels, reasons),
    )


def measure_order(values: np.ndarray) -> list[int]:
    """Return the positions of the measures in an order with similar measures next to each other:
    average linkage of 1 minus the correlation.

    ``values``: the correlations between measures, (m, m). NaN counts as the distance 1.
    """
    distances = np.where(np.isnan(values), UNKNOWN_CORRELATION_DISTANCE, 1 - values)
    distances = np.maximum((distances + distances.T) / 2, 0.0)
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(distances, checks=False), "average", optimal_ordering=True)
    return leaves_list(tree).tolist()
