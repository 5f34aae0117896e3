"""The finding of a comparison in words: the conclusions that the numbers support, and nothing else.

The rules, for the leading measure:

- Two models with several layers: the depths at which layers of equal depth are most and least
  similar, with intervals, and a note if the intervals overlap. If the models have unequal numbers
  of layers, layers at the nearest relative depth are compared. If all values are equal in the
  displayed digits, the finding says so instead.
- More models: the same for the medians over all pairs of models, and the models with the largest
  and the smallest mean. Only depths with a value for all pairs of models count.
- The number of layers for which the most similar layer of the other model is the layer of equal
  depth; layers that tie for the first place are counted separately.
- Models that these sentences omit, because of a single layer, are named.
- Without models of several layers: the most and the least similar pair, among layers of different
  models if possible; and two groups, if every pair within a group is more similar than every pair
  between the groups.
- With a re-initialised copy of the first model, which the other sentences omit: the layers, or the
  only layer, at which a model is no closer to the first model than the copy is.
- Chance is the chance level of each pair in the sentence; without named pairs, it is the mean over
  all pairs of the sentence, if known for all of them.
- Measures of other families are named if their ranking of the pairs has a Spearman correlation
  below 0.5 with the ranking by the leading measure; with fewer than six pairs, no measure is named.
- Missing values and uninformative values are counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from resemblance.comparison.arrangements import (
    DepthCurve,
    layer_name,
    layers_by_model,
    linkage_tree,
    single_layers,
)
from resemblance.comparison.comparison import MeasureInfo, most_similar

from ...base.formatting import (
    count_with_noun,
    format_two_decimals,
    join_words,
    layer_words,
    list_names,
    with_minus_signs,
)
from ..evidence_words import ALPHA
from .stats import (
    MIN_PAIRS_FOR_CORRELATION,
    PageContext,
    cross_model_pairs,
    curve_positions,
    depth_curves,
    describe_depth_matching,
    finite_spearman,
    is_all_pairs_of_one_list,
    layer_columns,
    mean_chance,
    name_in_sentence,
    off_diagonal,
    shared_layer,
    trained_curves,
)

# Measures disagree if the rank correlation of the pairs is smaller
MAX_DISAGREEMENT_CORRELATION = 0.5
MAX_NAMES_IN_SENTENCE = 3  # measures, models or layers in one sentence
MAX_LISTED_GROUP_MEMBERS = 6  # members of a group in one sentence
TIE_TOLERANCE = 1e-9  # smaller differences are ties
IndexPairs = list[tuple[int, int]]


def summary_sentences(context: PageContext) -> str:
    """Return the finding, a line for each statement, the most important first."""
    return "\n".join(filter(None, _summary_lines(context)))


def _summary_lines(context: PageContext) -> Iterator[str]:
    pairs, info = _distinct_pairs(context), context.leading
    label, values = context.label(info), context.values(info)
    finite_pairs = [place for place in pairs if np.isfinite(values[place])]
    if not pairs:
        yield "There is no pair of different representations."
    elif not finite_pairs:
        yield f"{label} has no value for any pair of different representations."
    else:
        yield from _similarity_sentences(context, finite_pairs)
        yield _significant_pairs_sentence(context, pairs)
        yield _disagreeing_measures_sentence(context, len(pairs))
    yield _missing_values_sentence(len(pairs) - len(finite_pairs), len(pairs), label)
    yield _uninformative_values_sentence(context)


def _distinct_pairs(context: PageContext) -> IndexPairs:
    """Return (row, column) of the pairs of different representations, without transposed pairs if
    the leading measure is symmetric."""
    pairs = off_diagonal(context.comparison)
    if is_all_pairs_of_one_list(context.comparison) and context.leading.symmetric:
        pairs = np.triu(pairs)
    return [(int(i), int(j)) for i, j in np.argwhere(pairs)]


def _similarity_sentences(context: PageContext, pairs: IndexPairs) -> Iterator[str]:
    """Yield the sentences about the leading measure: by depth for models with several layers,
    otherwise by pairs; then on the re-initialised copy. A sentence may be ""."""
    all_curves = [
        curve for curve in depth_curves(context, context.leading) if _n_finite_values(curve) > 1
    ]
    curves = trained_curves(context, all_curves)
    lengths = {len(curve.values) for curve in curves}
    if len(curves) == 1:
        yield two_models_sentences(context, curves[0])
        yield matching_depth_sentence(context, curves)
        yield _models_without_curve(context, curves)
    elif len(lengths) == 1 and len(shared_depths(curves)) > 1:
        yield many_models_sentence(context, curves)
        yield nearest_models_sentence(context, curves)
        yield matching_depth_sentence(context, curves)
        yield _models_without_curve(context, curves)
    else:
        yield extreme_pairs_sentence(context, pairs)
        yield two_groups_sentence(context)
    single_curves = single_layers(context.comparison, context.leading.spec)
    yield from untrained_reference_sentences(context, all_curves or single_curves)


def _n_finite_values(curve: DepthCurve) -> int:
    return sum(math.isfinite(value) for value in curve.values)


def _models_without_curve(context: PageContext, curves: Sequence[DepthCurve]) -> str:
    """Return a sentence with the models that appear in none of the depth curves; "" if every model
    appears."""
    sides = context.comparison.rows, context.comparison.columns
    models = dict.fromkeys(filter(None, (m for side in sides for m in layers_by_model(side))))
    curve_models = {context.reference, *(m for curve in curves for m in (curve.model, curve.other))}
    omitted_models = [m for m in models if m not in curve_models]
    if not omitted_models:
        return ""
    names = list_names(map(name_in_sentence, omitted_models), MAX_NAMES_IN_SENTENCE)
    return f"Left out, for too few layers or values: {names}."


def _significant_pairs_sentence(context: PageContext, places: IndexPairs) -> str:
    """Return a sentence with the number of pairs significantly above chance, adjusted for all
    pairs; for models, only pairs between models. "" without evidence or tested pairs.

    ``places``: (row, column) of the pairs of different representations.
    """
    result = context.readings.get(context.leading.spec)
    if result is None:
        return ""
    cross_pairs = cross_model_pairs(context, places)
    if cross_pairs:
        result = result._replace(pairs=tuple(result.cells[i][j] for i, j in cross_pairs))
    pairs = len(result.tested)
    if not pairs:
        return ""
    verb = "is" if 1 in (result.beyond, pairs) else "are"
    scope = " between models" if cross_pairs else ""
    return (
        f"{result.beyond} of {count_with_noun(pairs, 'pair')}{scope} {verb} significantly above "
        f"chance with {context.label(context.leading)} (adjusted p at most {ALPHA:g})."
    )


def _disagreeing_measures_sentence(context: PageContext, pairs: int) -> str:
    """Return a sentence with the measures of other families that have a Spearman correlation below
    0.5 with the leading measure; "" for none, and with fewer than six pairs. ``pairs``: the number
    of pairs."""
    other_measures = [m for m in context.measures if m.family != context.leading.family]
    if pairs < MIN_PAIRS_FOR_CORRELATION or not other_measures:
        return ""
    mask = off_diagonal(context.comparison)
    leading_differences = context.comparison.dissimilarity(context.leading.spec)[mask]
    agreements = [
        (finite_spearman(leading_differences, context.comparison.dissimilarity(m.spec)[mask]), m)
        for m in other_measures
    ]
    agreements = sorted(
        (pair for pair in agreements if not math.isnan(pair[0])), key=lambda pair: pair[0]
    )
    low = [pair for pair in agreements if pair[0] < MAX_DISAGREEMENT_CORRELATION]
    label = context.label(context.leading)
    if not low:
        return ""
    measure_texts = list_names(
        [f"{context.label(m)} {format_two_decimals(r)}" for r, m in low], MAX_NAMES_IN_SENTENCE
    )
    verb = "orders" if len(low) == 1 else "order"
    return (
        f"{len(low)} of {count_with_noun(len(agreements), 'measure')} of other families {verb} the "
        f"pairs differently (Spearman correlation with {label} below "
        f"{MAX_DISAGREEMENT_CORRELATION:g}): {measure_texts}."
    )


def _missing_values_sentence(n_missing: int, pairs: int, label: str) -> str:
    if not n_missing or n_missing == pairs:
        return ""
    verb = "has" if n_missing == 1 else "have"
    return (
        f"{n_missing} of {count_with_noun(pairs, 'pair')} {verb} no value by {label}: see Failures."
    )


def _uninformative_values_sentence(context: PageContext) -> str:
    """Return a sentence with the number of uninformative values of the leading measure, and the
    first reason; "" for none."""
    words = [
        str(c.value) for c in context.comparison.pair_caveats if c.measure == context.leading.spec
    ]
    if not words:
        return ""
    return with_minus_signs(
        f"{count_with_noun(len(words), 'value')} of {context.label(context.leading)}: {words[0]}."
    )


# ------------------------------------------------------------------------------------ large numbers


def headline_numbers(context: PageContext) -> dict[str, str]:
    """Return the numbers that a page shows large, as texts by label: the most and the least similar
    score of the finding, the re-initialised copy, chance, and the pairs significantly above chance.
    {} if no pair has a value."""
    entries = _headline_scores(context)
    if not entries:
        return {}
    label, scores = context.label(context.leading), [score for _, score, _ in entries]
    ends = dict.fromkeys(extreme_positions(context, scores))
    if len(entries) > 1 and are_values_equal(scores):
        numbers = {f"{label}, the same everywhere": format_two_decimals(scores[0])}
    else:
        words = ("most similar", "least similar") if len(ends) > 1 else ("",)
        numbers = dict(_headline_score(context, *entries[k], w) for k, w in zip(ends, words))
    numbers |= _reinitialized_number(context, entries[next(iter(ends))])
    places = [place for k in ends for place in entries[k][2]]
    chance = mean_chance(context, context.leading, places)
    if math.isfinite(chance):
        numbers["chance"] = format_two_decimals(chance)
    result = context.readings.get(context.leading.spec)
    pairs = _distinct_pairs(context)
    if result:
        cells = [result.cells[i][j] for i, j in cross_model_pairs(context, pairs) or pairs]
    else:
        cells = []
    tested = [cell for cell in cells if cell.is_tested]
    if len(tested) > 1:
        count = sum(cell.is_beyond for cell in tested)
        numbers["pairs significantly above chance"] = f"{count} of {len(tested)}"
    return {name: with_minus_signs(number) for name, number in numbers.items()}


HeadlineScore = tuple[str, float, IndexPairs]


def _reinitialized_number(context: PageContext, entry: HeadlineScore) -> dict[str, str]:
    """Return {label: number} for the page: the score of the leading measure between the layer of an
    entry and the same layer of the re-initialised copy.

    ``entry``: name, score and pairs, from :func:`_headline_scores`; the layer is the row of the
    pair. {} if the page has no such copy, or no copy of the layer, or if the entry has several
    pairs.
    """
    name, _, places = entry
    x = context.comparison.rows[places[0][0]]
    copy = f"{context.reference}/{layer_name(x)}"
    if not context.reference or len(places) > 1 or copy not in context.comparison.columns:
        return {}
    j = context.comparison.columns.index(copy)
    number = format_two_decimals(float(context.values(context.leading)[places[0][0], j]))
    return {f"{context.label(context.leading)} {name} with the re-initialised copy": number}


def _headline_scores(context: PageContext) -> list[HeadlineScore]:
    """Return the entries of the finding with a value: a name, the score and the pairs.

    An entry is a pair of layers of equal depth of two models, the median at a depth over more
    models, or a pair.
    """
    values = context.values(context.leading)
    curves = trained_curves(context, depth_curves(context, context.leading))
    curves = [curve for curve in curves if _n_finite_values(curve) > 1]
    if len(curves) == 1:
        names = [f"at {_layer_pair_name(curves[0], k)}" for k in range(len(curves[0].values))]
        entries = [
            (name, float(values[place]), [place])
            for name, place in zip(names, curve_positions(context, curves[0]))
        ]
    elif len({len(curve.values) for curve in curves}) == 1 and len(shared_depths(curves)) > 1:
        entries = []
        for k in shared_depths(curves):
            places = [curve_positions(context, curve)[k] for curve in curves]
            median = float(np.median([values[place] for place in places]))
            entries.append((f"at {_depth_name(curves, k)}, median", median, places))
    else:
        pairs = _distinct_pairs(context)
        entries = [
            (f"of {_format_pair_names(context, place)}", float(values[place]), [place])
            for place in cross_model_pairs(context, pairs) or pairs
        ]
    return [entry for entry in entries if math.isfinite(entry[1])]


def _headline_score(
    context: PageContext, name: str, score: float, places: IndexPairs, words: str
) -> tuple[str, str]:
    """Return the label and the number of an entry, as texts; the label of a single pair has the
    interval.

    ``name``, ``score``, ``places``: an entry of :func:`_headline_scores`. ``words`` end the label.
    """
    number, interval = format_two_decimals(score), ""
    if len(places) == 1:
        number, *facts = context.score(context.leading, *places[0]).split(", ")
        interval = next((f" ({fact})" for fact in facts if "interval" in fact), "")
    label = f"{context.label(context.leading)} {name}{interval}"
    return (f"{label}: {words}" if words else label), number


# ---------------------------------------------------------------------------- layers of equal depth


def two_models_sentences(context: PageContext, curve: DepthCurve) -> str:
    """Return the sentence on the depths at which two models are most and least similar, with
    intervals; or on the common value, if all values are equal in the displayed digits."""
    info = context.leading
    models = f"{name_in_sentence(curve.model)} and {name_in_sentence(curve.other)}"
    depths = [k for k, value in enumerate(curve.values) if math.isfinite(value)]
    places = [curve_positions(context, curve)[k] for k in depths]
    label, depth = context.label(info), describe_depth_matching(context, [curve])
    closest, furthest = extreme_positions(context, [curve.values[k] for k in depths])
    chance = chance_clause(context, places)
    if are_values_equal([curve.values[k] for k in depths]):
        score = format_two_decimals(float(context.values(info)[places[0]]))
        top = format_top_score(info, [curve.values[k] for k in depths])
        return f"Layers of {depth} of {models} all score {label} {score}{top}{chance}."
    closest_score, furthest_score = (context.score(info, *places[k]) for k in (closest, furthest))
    overlap = interval_overlap_clause(context, places[closest], places[furthest])
    return (
        f"Layers of {depth} of {models} are most similar at "
        f"{_layer_pair_name(curve, depths[closest])} ({label} {closest_score}) and least similar "
        f"at {_layer_pair_name(curve, depths[furthest])} ({furthest_score}){overlap}."
    )


def _layer_pair_name(curve: DepthCurve, k: int) -> str:
    layer, partner = (
        layer_words([name_in_sentence(name)]) for name in (curve.layers[k], curve.partners[k])
    )
    return layer if layer == partner else f"{layer} with {partner}"


def _layer_pair_names(curve: DepthCurve, depths: Sequence[int]) -> str:
    """Return the pairs of layers at several depths for a sentence, a layer with an equally named
    partner once."""
    layers = [name_in_sentence(curve.layers[k]) for k in depths]
    if all(curve.layers[k] == curve.partners[k] for k in depths):
        return layer_words(layers, MAX_NAMES_IN_SENTENCE)
    return join_words((_layer_pair_name(curve, k) for k in depths), MAX_NAMES_IN_SENTENCE)


def untrained_reference_sentences(
    context: PageContext, curves: Sequence[DepthCurve]
) -> Iterator[str]:
    """Yield a sentence for each other model: the depths at which the model is no closer to the
    first model than a re-initialised copy of the first model is. Yield nothing without such a copy.

    ``curves``: the scores by depth of all pairs of models, pairs with the copy included.
    """
    by_models = {(curve.model, curve.other): curve for curve in curves}
    first_model = next((model for model, other in by_models if other == context.reference), "")
    copy = by_models.get((first_model, context.reference))
    for (model, other), curve in by_models.items():
        if copy is None or model != first_model or other == context.reference:
            continue
        depths = shared_depths([curve, copy])
        sign = 1 if context.leading.larger_is_more_similar else -1
        low = [k for k in depths if sign * curve.values[k] <= sign * copy.values[k]]
        if not depths:
            continue
        closer = (
            f"{name_in_sentence(other)} is {{}} to {name_in_sentence(model)} than a "
            "re-initialised copy of it is"
        )
        k = (low or depths)[0]
        scores = (
            f" ({context.label(context.leading)} {format_two_decimals(curve.values[k])}, the copy "
        )
        scores += f"{format_two_decimals(copy.values[k])})"
        if len(curve.layers) == 1:
            yield f"{closer.format('no closer' if low else 'closer')}{scores}."
        elif not low:
            yield f"At all {len(depths)} depths, {closer.format('closer')}."
        else:
            layers = _layer_pair_names(curve, low)
            yield f"At {layers}, {closer.format('no closer')}{scores if len(low) == 1 else ''}."


def many_models_sentence(context: PageContext, curves: Sequence[DepthCurve]) -> str:
    """Return a sentence with the depths at which models are most and least similar, by the median
    over pairs of models; or the statement that all medians are equal. ``curves``: a curve per pair
    of models, of equal lengths."""
    depths = shared_depths(curves)
    medians = [float(np.median([curve.values[k] for curve in curves])) for k in depths]
    is_partial = len(depths) < len(curves[0].values)
    scope = f" and the {len(depths)} depths at which all have values" if is_partial else ""
    label, depth = context.label(context.leading), describe_depth_matching(context, curves)
    start = f"Over {len(curves)} pairs of models{scope}, layers of {depth}"
    places = [curve_positions(context, curve)[k] for curve in curves for k in depths]
    chance = chance_clause(context, places)
    if are_values_equal(medians):
        score = format_two_decimals(medians[0])
        return f"{start} have a median {label} of {score} at each depth{chance}."
    closest, furthest = extreme_positions(context, medians)
    names = [_depth_name(curves, depths[k]) for k in (closest, furthest)]
    return (
        f"{start} are most similar at {names[0]} (median {label} "
        f"{format_two_decimals(medians[closest])}) and least similar at {names[1]} "
        f"({format_two_decimals(medians[furthest])}){chance}."
    )


def shared_depths(curves: Sequence[DepthCurve]) -> list[int]:
    """Return the depths, from 0, with a value for all pairs of models. ``curves``: of equal
    length."""
    table = np.array([curve.values for curve in curves])
    return [int(k) for k in np.flatnonzero(np.isfinite(table).all(axis=0))]


def _depth_name(curves: Sequence[DepthCurve], k: int) -> str:
    """Return the name of depth ``k``, counted from 0: the layer, if all models in ``curves`` use
    the same name; otherwise "depth 2 of 5", counted from 1."""
    return shared_layer(curves, k) or f"depth {k + 1} of {len(curves[0].values)}"


def nearest_models_sentence(context: PageContext, curves: Sequence[DepthCurve]) -> str:
    """Return a sentence with the pairs of models that have the most and the least similar mean over
    the shared depths; "" if the means are equal. ``curves``: a curve per pair of models."""
    depths = shared_depths(curves)
    means = [math.fsum(curve.values[k] for k in depths) / len(depths) for curve in curves]
    if are_values_equal(means):
        return ""
    closest, furthest = (curves[k] for k in extreme_positions(context, means))
    closest_score, furthest_score = (
        format_two_decimals(means[k]) for k in extreme_positions(context, means)
    )
    return (
        f"On average over depth, {name_in_sentence(closest.model)} and "
        f"{name_in_sentence(closest.other)} are the most similar "
        f"models ({context.label(context.leading)} {closest_score}), "
        f"{name_in_sentence(furthest.model)} and {name_in_sentence(furthest.other)} the least "
        f"similar ({furthest_score})."
    )


def matching_depth_sentence(context: PageContext, curves: Sequence[DepthCurve]) -> str:
    """Return a sentence with the number of layers for which the most similar layer of the other
    model has the same depth; "" if no layer has a value. ``curves``: a curve per pair of models."""
    verdicts = [verdict for curve in curves for verdict in _match_outcomes(context, curve)]
    if not verdicts:
        return ""
    n_alone, n_shared = verdicts.count("alone"), verdicts.count("shared")
    depth = describe_depth_matching(context, curves)
    ties = f"; {n_shared} more share the first place with another layer" if n_shared else ""
    if len(curves) == 1:
        model, other = name_in_sentence(curves[0].model), name_in_sentence(curves[0].other)
        verb = "is" if n_alone == 1 else "are"
        return (
            f"{n_alone} of {len(verdicts)} layers of {model} {verb} most similar to the layer of "
            f"{other} of {depth}{ties}."
        )
    return (
        f"In {n_alone} of {len(verdicts)} cases, a layer is most similar to the layer of the "
        f"other model of {depth}{ties}."
    )


def _match_outcomes(context: PageContext, curve: DepthCurve) -> Iterator[str]:
    """Yield for each layer with a value: "alone" if the partner layer is the most similar layer of
    the other model, "shared" for a tie, "other" otherwise."""
    differences = context.comparison.dissimilarity(context.leading.spec)
    places = curve_positions(context, curve)
    columns = layer_columns(context, curve.other)
    for i, j in places:
        if not np.isfinite(differences[i, j]):
            continue
        other_differences = [
            differences[i, k] for k in columns if k != j and np.isfinite(differences[i, k])
        ]
        nearest = min(other_differences, default=math.inf)
        slack = TIE_TOLERANCE * max(1.0, abs(differences[i, j]))
        if differences[i, j] < nearest - slack:
            yield "alone"
        else:
            yield "shared" if differences[i, j] <= nearest + slack else "other"


# --------------------------------------------------------------------------------- pairs and groups


def extreme_pairs_sentence(context: PageContext, places: IndexPairs) -> str:
    """Return a sentence with the most and the least similar pair, or the statement that all pairs
    score the same.

    ``places``: (row, column) of pairs with a value. For layers of several models, pairs within a
    model are omitted.
    """
    info = context.leading
    values = context.values(info)
    cross_pairs = cross_model_pairs(context, places)
    start, places = ("Between models, most" if cross_pairs else "Most"), cross_pairs or places
    numbers, label = [float(values[place]) for place in places], context.label(info)
    chance = chance_clause(context, places)
    if len({frozenset(place) for place in places}) == 1 and is_all_pairs_of_one_list(
        context.comparison
    ):
        scores = " and, the other way round, ".join(context.score(info, *place) for place in places)
        return f"{_format_pair_names(context, places[0])}: {label} {scores}."
    if len(places) == 1:
        return (
            f"{_format_pair_names(context, places[0])}: {label} {context.score(info, *places[0])}."
        )
    if are_values_equal(numbers):
        pairs = f"{len(places)} pairs{' of layers of different models' if cross_pairs else ''}"
        return (
            f"All {pairs} score {label} "
            f"{format_two_decimals(numbers[0])}{format_top_score(info, numbers)}{chance}."
        )
    closest, furthest = (places[k] for k in extreme_positions(context, numbers))
    return (
        f"{start} similar are {_format_pair_names(context, closest)} ({label} "
        f"{context.score(info, *closest)}), least "
        f"similar {_format_pair_names(context, furthest)} ({context.score(info, *furthest)})"
        f"{interval_overlap_clause(context, closest, furthest)}."
    )


def _format_pair_names(context: PageContext, place: tuple[int, int]) -> str:
    x, y = context.comparison.rows[place[0]], context.comparison.columns[place[1]]
    return f"{name_in_sentence(x)} and {name_in_sentence(y)}"


def two_groups_sentence(context: PageContext) -> str:
    """Return a sentence with two groups of two or more representations, if every pair within a
    group is more similar than every pair between the groups; otherwise ""."""
    if not is_all_pairs_of_one_list(context.comparison) or len(context.comparison.rows) < 4:
        return ""
    differences = context.comparison.dissimilarity(context.leading.spec)
    if not np.isfinite(differences).all():
        return ""
    is_in_first = _first_tree_group(context)
    is_within = np.equal.outer(is_in_first, is_in_first)
    is_off_diagonal = ~np.eye(len(is_in_first), dtype=bool)
    is_clear = (
        differences[is_within & is_off_diagonal].max(initial=-np.inf)
        < differences[~is_within].min()
    )
    if min(is_in_first.sum(), (~is_in_first).sum()) < 2 or not is_clear:
        return ""
    group, other_group = (
        _format_group_members(context, members) for members in (is_in_first, ~is_in_first)
    )
    return (
        f"There are two groups, {group} and {other_group}: every pair within a group is more "
        "similar than every pair between them."
    )


def _first_tree_group(context: PageContext) -> np.ndarray:
    """Return a mask (n,) of one of two groups: the tree, cut at the root. The group contains the
    first representation."""
    tree = linkage_tree(context.comparison, context.leading.spec)
    count = len(tree.names)
    members = [{i} for i in range(count)]
    for left, right in tree.merges[:, :2].astype(int):
        members.append(members[left] | members[right])
    branch, other_branch = (members[int(k)] for k in tree.merges[-1, :2])
    side = branch if 0 in branch else other_branch
    return np.isin(np.arange(count), list(side))


def _format_group_members(context: PageContext, members: np.ndarray) -> str:
    names = (
        name_in_sentence(name) for name, is_in in zip(context.comparison.rows, members) if is_in
    )
    return list_names(names, MAX_LISTED_GROUP_MEMBERS)


# ------------------------------------------------------------------------------------------ phrases


def extreme_positions(context: PageContext, values: Sequence[float]) -> tuple[int, int]:
    """Return the positions in ``values`` of the most and the least similar value of the leading
    measure."""
    order = np.argsort(values, kind="stable")
    largest, smallest = int(order[-1]), int(order[0])
    return (largest, smallest) if context.leading.larger_is_more_similar else (smallest, largest)


def are_values_equal(values: Sequence[float]) -> bool:
    """Return whether all values are equal in the digits of a sentence."""
    return len({format_two_decimals(float(value)) for value in (min(values), max(values))}) == 1


def format_top_score(info: MeasureInfo, values: Sequence[float]) -> str:
    """Return the clause that all ``values`` of a measure are the most similar value there can be;
    "" if a value differs, or if the measure has no such value."""
    top = most_similar(info)
    is_top = math.isfinite(top) and np.allclose(values, top, rtol=1e-6, atol=1e-6)
    return ", the most similar value there can be" if is_top else ""


def interval_overlap_clause(
    context: PageContext, place: tuple[int, int], other: tuple[int, int]
) -> str:
    """Return the clause that the intervals of two pairs, ``place`` and ``other``, positions (row,
    column), overlap, so that the order of the two values is uncertain; "" otherwise, and without
    evidence."""
    if context.evidence is None:
        return ""
    low = context.evidence.low(context.leading.spec)
    high = context.evidence.high(context.leading.spec)
    overlaps = low[place] <= high[other] and low[other] <= high[place]
    return "; these intervals overlap" if overlaps else ""


def chance_clause(context: PageContext, places: IndexPairs) -> str:
    """Return a clause with the mean chance level of the pairs ``places``, (row, column); "" unless
    the chance level is known for all pairs."""
    chance = mean_chance(context, context.leading, places)
    if math.isnan(chance):
        return ""
    subject = "these pairs score" if len(places) > 1 else "this pair scores"
    return f"; with permuted samples {subject} {format_two_decimals(chance)} on average"
