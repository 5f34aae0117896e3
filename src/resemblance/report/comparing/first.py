"""The first section of the page of a comparison: one map with a selector, and what it shows by
depth, as a plane, and as a tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ...arrangements import Curve, best_matches, plane, tree
from ...comparison import MeasureInfo, most_similar
from ...results.figures import (
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
from ...results.sections import Section
from ..evidence_words import words_of
from ..numbers import minus, number
from .maps import above_map, family_name, value_map
from .shown import Shown, curves_of, has_chance, places_of_curve, trained_curves

SELECTOR, SHOW = "measure", "show"
VALUE, ABOVE = "value", "above chance"
FEWEST = 3  # representations of which a plane or a tree shows more than a number
MOST_LINES, FEW_LINES = 10, 5  # pairs of models in the figure of depths, at all and at first
CHANCE = "chance"
READING = (
    "Dark blue is similar, whatever the direction of a measure. Rows are the first argument of the "
    "measure, columns the second. Point at a cell or tap it to read it, or use the arrow keys."
)
DEPTHS = "Layers of equal depth"
MATCHES = "Best match of each layer"
PLANE = "Plane"
TREE = "Tree"


def first_section(shown: Shown) -> Section:
    """Return the map of the leading measure, with all others to select, and its arrangements."""
    figures: tuple[Figure, ...] = (_maps(shown), *_arrangements(shown))
    return Section("similarity", "Similarity", "", figures=figures)


# --------------------------------------------------------------------------------------------- maps


def _maps(shown: Shown) -> Choice:
    """Return the maps of all measures; with evidence, those of what is above chance, too."""
    options, maps, groups = [], list[HeatMap](), []
    for info in shown.measures:
        for name, heat in _of_measure(shown, info):
            choices = (_name(shown, info), *((name,) if shown.evidence else ()))
            options.append(Option(choices, (len(maps),), heat.note))
            groups.append(family_name(info))
            maps.append(heat)
    several = len(set(groups)) > 1
    return Choice(
        "map",
        "All pairs",
        (SELECTOR, SHOW) if shown.evidence else (SELECTOR,),
        tuple(options),
        tuple(maps),
        READING,
        is_linked=True,
        groups=tuple(groups) if several else (),
    )


def _name(shown: Shown, info: MeasureInfo) -> str:
    return shown.label(info)


def _of_measure(shown: Shown, info: MeasureInfo) -> Iterator[tuple[str, HeatMap]]:
    """Yield the map of the values of a measure, then that of what is above chance."""
    value = value_map(shown, info)
    yield VALUE, value
    is_known = info.spec in shown.readings
    if shown.evidence is not None and is_known and math.isfinite(most_similar(info)):
        above = above_map(shown.evidence, info, shown.stretch)
        yield (
            ABOVE,
            above._replace(titles=value.titles, hatched=value.hatched, hatching=value.hatching),
        )


# ------------------------------------------------------------------------------------- arrangements


def _arrangements(shown: Shown) -> Iterator[Switch]:
    """Yield what can be drawn of the comparison besides its map, for each of its measures."""
    rows, columns = shown.comparison.rows, shown.comparison.columns
    if curves_of(shown, shown.leading):
        yield _switch(shown, "depths", DEPTHS, _depths)
    elif _matches(shown, shown.leading):
        yield _switch(shown, "matches", MATCHES, _best)
    if rows == columns and len(rows) >= FEWEST:
        yield _switch(shown, "plane", PLANE, _plane)
        yield _switch(shown, "tree", TREE, _tree)


Draw = Callable[[Shown, MeasureInfo], Chart | Dendrogram]


def _switch(shown: Shown, name: str, title: str, draw: Draw) -> Switch:
    names = tuple(_name(shown, info) for info in shown.measures)
    figures = tuple(draw(shown, info) for info in shown.measures)
    return Switch(name, title, SELECTOR, names, figures)


def _depths(shown: Shown, info: MeasureInfo) -> Chart:
    """Return the values of layers of equal depth by depth, with chance where it is known."""
    curves = curves_of(shown, info)
    lines = [_line(shown, info, curve) for curve in curves[:MOST_LINES]]
    if len(curves) > FEW_LINES:
        lines = [line._replace(is_shown=k < FEW_LINES) for k, line in enumerate(lines)]
        lines.insert(0, _middle_line(trained_curves(shown, curves)))
    chance = _chance_line(shown, info, curves)
    rest = max(len(curves) - MOST_LINES, 0)
    facts = (
        f"{shown.label(info)} by layer{'; dashed: chance' if chance else ''}.",
        _direction(info),
        f"{rest} more pairs of models are in the map only." if rest else "",
    )
    lines += [chance] if chance else []
    return Chart(
        "depths", DEPTHS, "layer", shown.label(info), tuple(lines), " ".join(filter(None, facts))
    )


def _middle_line(curves: Sequence[Curve]) -> Line:
    """Return the median over all pairs of models at each depth."""
    points = []
    for k in range(max(len(curve.values) for curve in curves)):
        values = [curve.values[k] for curve in curves if k < len(curve.values)]
        known = [value for value in values if math.isfinite(value)]
        points += [(k + 1.0, float(np.median(known)))] if known else []
    return Line(f"median of {len(curves)} pairs of models", tuple(points), is_shown=True)


def _direction(info: MeasureInfo) -> str:
    return "" if info.larger_is_more_similar else "Smaller is more similar."


def _line(shown: Shown, info: MeasureInfo, curve: Curve) -> Line:
    name = f"{curve.model} and {curve.other}"
    known = shown.readings.get(info.spec)
    points = tuple((k + 1.0, value) for k, value in enumerate(curve.values))
    places = places_of_curve(shown, curve)
    words = tuple(_words(shown, info, place) for place in places)
    spans = [(known.cells[i][j].low, known.cells[i][j].high) for i, j in places] if known else []
    return Line(name, points, tuple(spans), words)


def _words(shown: Shown, info: MeasureInfo, place: tuple[int, int]) -> str:
    """Return what the pointer reads at the value of a pair."""
    i, j = place
    pair = f"{shown.comparison.rows[i]} and {shown.comparison.columns[j]}"
    if info.spec in shown.readings:
        return f"{pair}: {minus(words_of(shown.readings[info.spec].cells[i][j]))}"
    chance = float(shown.chance(info)[i, j])
    tail = "" if math.isnan(chance) else f", chance {number(chance, 2)}"
    return f"{pair}: {number(float(shown.values(info)[i, j]), 4)}{tail}"


def _chance_line(shown: Shown, info: MeasureInfo, curves: Sequence[Curve]) -> Line | None:
    """Return the mean chance at each depth over all pairs of models; None if it is unknown."""
    chance = shown.chance(info)
    if not has_chance(chance):
        return None
    depths = max((len(curve.values) for curve in curves), default=0)
    points = []
    for k in range(depths):
        places = [places_of_curve(shown, c)[k] for c in curves if k < len(c.values)]
        known = [float(chance[place]) for place in places if math.isfinite(chance[place])]
        points += [(k + 1.0, math.fsum(known) / len(known))] if known else []
    words = tuple(f"mean chance at layer {x:g}: {number(y, 2)}" for x, y in points)
    return Line(CHANCE, tuple(points), (), words, is_dashed=True, is_shown=True) if points else None


def _matches(shown: Shown, info: MeasureInfo) -> tuple[Curve, ...]:
    curves = best_matches(shown.comparison, info.spec)
    return tuple(curve for curve in curves if curve.model and curve.other)


def _best(shown: Shown, info: MeasureInfo) -> Chart:
    """Return, for models of unequal depth, the value of the best match of each layer.

    With several numbers of layers the axis is the share of the depth, from 0 to 1.
    """
    lines, curves = [], _matches(shown, info)[:MOST_LINES]
    is_relative = len({len(curve.layers) for curve in curves}) > 1
    for curve in curves:
        titles = tuple(
            f"{curve.model}/{layer} and {curve.other}/{partner}: {number(value, 4)}"
            for layer, partner, value in zip(curve.layers, curve.partners, curve.values)
        )
        last = len(curve.values) - 1
        places = (k / last if is_relative else k + 1.0 for k in range(last + 1))
        points = tuple(zip(places, curve.values))
        lines.append(Line(f"{curve.model} in {curve.other}", points, titles=titles))
    note = "Of each layer of the first model, the value with the most similar layer of the second."
    note = " ".join(filter(None, (f"{shown.label(info)}.", note, _direction(info))))
    axis = f"{'relative depth' if is_relative else 'layer'} of the first model"
    return Chart("matches", MATCHES, axis, shown.label(info), tuple(lines), note)


def _plane(shown: Shown, info: MeasureInfo) -> Chart:
    """Return the representations as points whose distances are close to their differences."""
    try:
        known = plane(shown.comparison, info.spec)
    except ValueError as error:
        return Chart("plane", PLANE, "", "", (), _first_words(error))
    models: dict[str, list[int]] = {}
    for i, name in enumerate(known.names):
        models.setdefault(name.rpartition("/")[0], []).append(i)
    are_models = len(models) > 1 and "" not in models
    lines = []
    for model, places in (models if are_models else {"all": range(len(known.names))}).items():
        points = tuple((float(known.points[i, 0]), float(known.points[i, 1])) for i in places)
        names = _point_names(known.names, places, are_models)
        is_shown = True if are_models and len(models) <= MOST_LINES else None
        lines.append(Line(model, points, titles=names, is_shown=is_shown))
    left = len(shown.comparison.rows) - len(known.names)
    return Chart(
        "plane",
        PLANE,
        "near is similar; directions mean nothing",
        "",
        tuple(lines),
        _plane_note(known.share, left, are_models),
        joined=are_models,
        is_labelled=True,
        is_plane=True,
    )


def _point_names(names: Sequence[str], places: Sequence[int], are_models: bool) -> tuple[str, ...]:
    """Return what is written at points, up to a colon, and what the pointer reads."""
    if not are_models:
        return tuple(names[i] for i in places)
    return tuple(f"{names[i].rpartition('/')[2]}: {names[i]}" for i in places)


def _plane_note(share: float, left: int, are_models: bool) -> str:
    facts = (
        f"Classical multidimensional scaling; the plane shows {share:.0%} of the differences.",
        "Lines join the layers of a model in order." if are_models else "",
        f"{left} without a value for some pairs are left out." if left else "",
    )
    return " ".join(filter(None, facts))


def _tree(shown: Shown, info: MeasureInfo) -> Dendrogram:
    """Return the tree of the representations by average linkage."""
    try:
        known = tree(shown.comparison, info.spec)
    except ValueError as error:
        return Dendrogram("tree", TREE, "", (), (), (), _first_words(error))
    merges = tuple(Merge(int(a), int(b), max(float(h), 0.0)) for a, b, h, _ in known.merges)
    left = len(shown.comparison.rows) - len(known.names)
    note = "Average linkage: branches meet at the mean difference of their pairs."
    note += f" {left} without a value for some pairs are left out." if left else ""
    return Dendrogram("tree", TREE, _unit(info, shown), known.names, merges, known.order, note)


def _unit(info: MeasureInfo, shown: Shown) -> str:
    """Return what the height of a tree is: the difference, in terms of the measure."""
    label, top = shown.label(info), info.range[1]
    if not info.larger_is_more_similar:
        return label
    return f"{number(top)} − {label}" if np.isfinite(top) else f"−{label}, from its smallest"


def _first_words(error: ValueError) -> str:
    return f"{str(error)[0].upper()}{str(error)[1:]}."
