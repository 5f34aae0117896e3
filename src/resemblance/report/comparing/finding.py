"""The finding of a comparison in words: what its numbers carry, and nothing else.

The rules, for the measure that leads:

- Two models with several layers: the depth at which layers of equal depth, or of the nearest
  share of the depth where they have unlike numbers of layers, are most similar, and least; with
  their intervals, and that these overlap if they do. Where all values are the same in the digits
  shown, that.
- More models: the same for the medians over all pairs of models, and the models with the largest
  and the smallest mean, both over the depths with a value for all pairs of models.
- For how many layers the most similar layer of the other model is the one of equal depth; layers
  that share the first place are counted apart.
- Models that these sentences leave out, for a single layer, are named.
- Without such models: the most and the least similar pair, of layers of different models if there
  are any; and two groups, if every pair within them is more similar than every pair between them.
- With a re-initialized copy of the first model, which the other sentences leave out: at which
layers,
  or whether by its only layer, a model is no closer to the first than the copy is.
- Chance is that of each pair that the sentence names; where it names none, the mean over its pairs,
  if it is known for all of them.
- Measures of other families whose order of the pairs has a Spearman correlation below 0.5 with
  that of the leading measure are named; with fewer than six pairs, none is.
- Values that are missing, and reasons why values mean little, are counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from resemblance.comparison.arrangements import (
    DepthCurve,
    layers_by_model,
    linkage_tree,
    single_layers,
)
from resemblance.comparison.comparison import MeasureInfo, most_similar

from ...base.formatting import count_with_noun, format_two_decimals, list_names, with_minus_signs
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
    trained_curves,
)

# correlation of the orders of pairs: below it, measures disagree
MAX_DISAGREEMENT_CORRELATION = 0.5
MAX_NAMES_IN_SENTENCE = 3  # measures, models or layers in one sentence
MAX_LISTED_GROUP_MEMBERS = 6  # members of a group that a sentence lists
TIE_TOLERANCE = 1e-9  # differences this close are a tie
IndexPairs = list[tuple[int, int]]


def summary_sentences(shown: PageContext) -> str:
    """Return the finding, a line for each thing, the most important first."""
    return "\n".join(filter(None, _summary_lines(shown)))


def _summary_lines(shown: PageContext) -> Iterator[str]:
    pairs, info = _distinct_pairs(shown), shown.leading
    label, values = shown.label(info), shown.values(info)
    known = [place for place in pairs if np.isfinite(values[place])]
    if not pairs:
        yield "There is no pair of different representations."
    elif not known:
        yield f"{label} has no value for any pair of different representations."
    else:
        yield from _similarity_sentences(shown, known)
        yield _significant_pairs_sentence(shown, pairs)
        yield _disagreeing_measures_sentence(shown, len(pairs))
    yield _missing_values_sentence(len(pairs) - len(known), len(pairs), label)
    yield _uninformative_values_sentence(shown)


def _distinct_pairs(shown: PageContext) -> IndexPairs:
    """Return the pairs of different representations, each once if the measure is symmetric."""
    pairs = off_diagonal(shown.comparison)
    if is_all_pairs_of_one_list(shown.comparison) and shown.leading.symmetric:
        pairs = np.triu(pairs)
    return [(int(i), int(j)) for i, j in np.argwhere(pairs)]


def _similarity_sentences(shown: PageContext, known: IndexPairs) -> Iterator[str]:
    """Yield what the leading measure shows: by depth, or by pairs."""
    all_curves = [
        curve for curve in depth_curves(shown, shown.leading) if _n_finite_values(curve) > 1
    ]
    curves = trained_curves(shown, all_curves)
    lengths = {len(curve.values) for curve in curves}
    if len(curves) == 1:
        yield two_models_sentences(shown, curves[0])
        yield matching_depth_sentence(shown, curves)
        yield _models_without_curve(shown, curves)
    elif len(lengths) == 1 and len(shared_depths(curves)) > 1:
        yield many_models_sentence(shown, curves)
        yield nearest_models_sentence(shown, curves)
        yield matching_depth_sentence(shown, curves)
        yield _models_without_curve(shown, curves)
    else:
        yield extreme_pairs_sentence(shown, known)
        yield two_groups_sentence(shown)
    single = single_layers(shown.comparison, shown.leading.spec)
    yield from untrained_reference_sentences(shown, all_curves or single)


def _n_finite_values(curve: DepthCurve) -> int:
    return sum(math.isfinite(value) for value in curve.values)


def _models_without_curve(shown: PageContext, curves: Sequence[DepthCurve]) -> str:
    """Name the models that no curve has."""
    sides = shown.comparison.rows, shown.comparison.columns
    models = dict.fromkeys(filter(None, (m for side in sides for m in layers_by_model(side))))
    drawn = {shown.reference, *(m for curve in curves for m in (curve.model, curve.other))}
    rest = [m for m in models if m not in drawn]
    if not rest:
        return ""
    names = list_names(map(name_in_sentence, rest), MAX_NAMES_IN_SENTENCE)
    return f"Left out, for too few layers or values: {names}."


def _significant_pairs_sentence(shown: PageContext, places: IndexPairs) -> str:
    """Say how many pairs are beyond chance, all pairs taken together; of models, between them."""
    known = shown.readings.get(shown.leading.spec)
    if known is None:
        return ""
    outside = cross_model_pairs(shown, places)
    if outside:
        known = known._replace(pairs=tuple(known.cells[i][j] for i, j in outside))
    pairs = len(known.tested)
    if not pairs:
        return ""
    verb = "is" if 1 in (known.beyond, pairs) else "are"
    where = " between models" if outside else ""
    return (
        f"{known.beyond} of {count_with_noun(pairs, 'pair')}{where} {verb} beyond chance by "
        f"{shown.label(shown.leading)} (adjusted p at most {ALPHA:g})."
    )


def _disagreeing_measures_sentence(shown: PageContext, pairs: int) -> str:
    """Name the measures of other families that order the pairs otherwise."""
    others = [m for m in shown.measures if m.family != shown.leading.family]
    if pairs < MIN_PAIRS_FOR_CORRELATION or not others:
        return ""
    inside = off_diagonal(shown.comparison)
    lead = shown.comparison.dissimilarity(shown.leading.spec)[inside]
    known = [
        (finite_spearman(lead, shown.comparison.dissimilarity(m.spec)[inside]), m) for m in others
    ]
    known = sorted((pair for pair in known if not math.isnan(pair[0])), key=lambda pair: pair[0])
    low, label = (
        [pair for pair in known if pair[0] < MAX_DISAGREEMENT_CORRELATION],
        shown.label(shown.leading),
    )
    if not low:
        return ""
    each = list_names(
        [f"{shown.label(m)} {format_two_decimals(r)}" for r, m in low], MAX_NAMES_IN_SENTENCE
    )
    verb = "orders" if len(low) == 1 else "order"
    return (
        f"{len(low)} of {count_with_noun(len(known), 'measure')} of other families {verb} the "
        "pairs "
        f"otherwise (Spearman correlation with {label} below {MAX_DISAGREEMENT_CORRELATION:g}): "
        f"{each}."
    )


def _missing_values_sentence(missing: int, pairs: int, label: str) -> str:
    if not missing or missing == pairs:
        return ""
    verb = "has" if missing == 1 else "have"
    return (
        f"{missing} of {count_with_noun(pairs, 'pair')} {verb} no value by {label}: see Failures."
    )


def _uninformative_values_sentence(shown: PageContext) -> str:
    """Count the values of the leading measure that mean little, by the first reason."""
    words = [str(c.value) for c in shown.comparison.pair_caveats if c.measure == shown.leading.spec]
    if not words:
        return ""
    return with_minus_signs(
        f"{count_with_noun(len(words), 'value')} of {shown.label(shown.leading)}: {words[0]}."
    )


# ---------------------------------------------------------------------------- layers of equal depth


def two_models_sentences(shown: PageContext, curve: DepthCurve) -> str:
    info, models = (
        shown.leading,
        f"{name_in_sentence(curve.model)} and {name_in_sentence(curve.other)}",
    )
    known = [k for k, value in enumerate(curve.values) if math.isfinite(value)]
    places = [curve_positions(shown, curve)[k] for k in known]
    label, depth = shown.label(info), describe_depth_matching(shown, [curve])
    most, least = extreme_positions(shown, [curve.values[k] for k in known])
    chance = chance_clause(shown, places)
    if are_values_equal([curve.values[k] for k in known]):
        score = format_two_decimals(float(shown.values(info)[places[0]]))
        top = format_top_score(info, [curve.values[k] for k in known])
        return f"Layers of {depth} of {models} all score {label} {score}{top}{chance}."
    first, last = (shown.score(info, *places[k]) for k in (most, least))
    overlap = interval_overlap_clause(shown, places[most], places[least])
    return (
        f"Layers of {depth} of {models} are most similar at {_layer_pair_name(curve, known[most])} "
        f"({label} {first}) and least similar at {_layer_pair_name(curve, known[least])} ({last})"
        f"{overlap}."
    )


def _layer_pair_name(curve: DepthCurve, k: int) -> str:
    one, other = name_in_sentence(curve.layers[k]), name_in_sentence(curve.partners[k])
    return one if one == other else f"{one} with {other}"


def untrained_reference_sentences(
    shown: PageContext, curves: Sequence[DepthCurve]
) -> Iterator[str]:
    """Yield for each other model where it is no closer to the first than a re-initialized copy
    is."""
    by_models = {(curve.model, curve.other): curve for curve in curves}
    first = next((one for one, other in by_models if other == shown.reference), "")
    copy = by_models.get((first, shown.reference))
    for (one, other), curve in by_models.items():
        if copy is None or one != first or other == shown.reference:
            continue
        known = shared_depths([curve, copy])
        sign = 1 if shown.leading.larger_is_more_similar else -1
        low = [k for k in known if sign * curve.values[k] <= sign * copy.values[k]]
        if not known:
            continue
        closer = (
            f"{name_in_sentence(other)} is {{}} to {name_in_sentence(one)} than a "
            "re-initialized copy of it is"
        )
        k = (low or known)[0]
        scores = f" ({shown.label(shown.leading)} {format_two_decimals(curve.values[k])}, the copy "
        scores += f"{format_two_decimals(copy.values[k])})"
        if len(curve.layers) == 1:
            yield f"{closer.format('no closer' if low else 'closer')}{scores}."
        elif not low:
            yield f"At all {len(known)} depths {closer.format('closer')}."
        else:
            where = list_names([_layer_pair_name(curve, k) for k in low], MAX_NAMES_IN_SENTENCE)
            yield f"At {where} {closer.format('no closer')}{scores if len(low) == 1 else ''}."


def many_models_sentence(shown: PageContext, curves: Sequence[DepthCurve]) -> str:
    """Say at which depth the models are most and least similar: by the median over their pairs."""
    depths = shared_depths(curves)
    middle = [float(np.median([curve.values[k] for curve in curves])) for k in depths]
    some = len(depths) < len(curves[0].values)
    only = f" and the {len(depths)} depths at which all have values" if some else ""
    label, depth = shown.label(shown.leading), describe_depth_matching(shown, curves)
    start = f"Over {len(curves)} pairs of models{only}, layers of {depth}"
    places = [curve_positions(shown, curve)[k] for curve in curves for k in depths]
    chance = chance_clause(shown, places)
    if are_values_equal(middle):
        score = format_two_decimals(middle[0])
        return f"{start} have a median {label} of {score} at each depth{chance}."
    most, least = extreme_positions(shown, middle)
    names = [_depth_name(curves, depths[k]) for k in (most, least)]
    return (
        f"{start} are most similar at {names[0]} (median {label} "
        f"{format_two_decimals(middle[most])}) and least similar at {names[1]} "
        f"({format_two_decimals(middle[least])}){chance}."
    )


def shared_depths(curves: Sequence[DepthCurve]) -> list[int]:
    """Return the depths with a value for all pairs of models: others cannot be set side by side."""
    table = np.array([curve.values for curve in curves])
    return [int(k) for k in np.flatnonzero(np.isfinite(table).all(axis=0))]


def _depth_name(curves: Sequence[DepthCurve], k: int) -> str:
    """Return the name of a depth: that of its layer, if it is the same in all models."""
    names = {name for curve in curves for name in (curve.layers[k], curve.partners[k])}
    return (
        name_in_sentence(names.pop())
        if len(names) == 1
        else f"depth {k + 1} of {len(curves[0].values)}"
    )


def nearest_models_sentence(shown: PageContext, curves: Sequence[DepthCurve]) -> str:
    """Name the models with the largest and the smallest mean over the depths that all have."""
    depths = shared_depths(curves)
    means = [math.fsum(curve.values[k] for k in depths) / len(depths) for curve in curves]
    if are_values_equal(means):
        return ""
    most, least = (curves[k] for k in extreme_positions(shown, means))
    first, last = (format_two_decimals(means[k]) for k in extreme_positions(shown, means))
    return (
        f"On average over depth, {name_in_sentence(most.model)} and "
        f"{name_in_sentence(most.other)} are the most similar "
        f"models ({shown.label(shown.leading)} {first}), {name_in_sentence(least.model)} and "
        f"{name_in_sentence(least.other)} the least similar ({last})."
    )


def matching_depth_sentence(shown: PageContext, curves: Sequence[DepthCurve]) -> str:
    """Say for how many layers the most similar layer of the other model has the same depth."""
    verdicts = [verdict for curve in curves for verdict in _match_outcomes(shown, curve)]
    if not verdicts:
        return ""
    alone, shared = verdicts.count("alone"), verdicts.count("shared")
    depth = describe_depth_matching(shown, curves)
    ties = f"; {shared} more share the first place with another layer" if shared else ""
    if len(curves) == 1:
        one, other = name_in_sentence(curves[0].model), name_in_sentence(curves[0].other)
        return (
            f"For {alone} of {len(verdicts)} layers of {one}, the most similar layer of {other} is "
            f"the one of {depth}{ties}."
        )
    return (
        f"In {alone} of {len(verdicts)} cases, the most similar layer of another model is the one "
        f"of {depth}{ties}."
    )


def _match_outcomes(shown: PageContext, curve: DepthCurve) -> Iterator[str]:
    """Yield for each layer with a value whether its partner is the nearest of the other model."""
    differences = shown.comparison.dissimilarity(shown.leading.spec)
    places = curve_positions(shown, curve)
    columns = layer_columns(shown, curve.other)
    for i, j in places:
        if not np.isfinite(differences[i, j]):
            continue
        rest = [differences[i, k] for k in columns if k != j and np.isfinite(differences[i, k])]
        nearest, slack = (
            min(rest, default=math.inf),
            TIE_TOLERANCE * max(1.0, abs(differences[i, j])),
        )
        if differences[i, j] < nearest - slack:
            yield "alone"
        else:
            yield "shared" if differences[i, j] <= nearest + slack else "other"


# --------------------------------------------------------------------------------- pairs and groups


def extreme_pairs_sentence(shown: PageContext, known: IndexPairs) -> str:
    """Name the most and the least similar pair, or say that all are the same.

    Of layers of several models, neighbours within one are always similar: they are left out.
    """
    info, values, outside = (
        shown.leading,
        shown.values(shown.leading),
        cross_model_pairs(shown, known),
    )
    start, known = ("Between models, most" if outside else "Most"), outside or known
    numbers, label = [float(values[place]) for place in known], shown.label(info)
    chance = chance_clause(shown, known)
    if len({frozenset(place) for place in known}) == 1 and is_all_pairs_of_one_list(
        shown.comparison
    ):
        scores = " and, the other way round, ".join(shown.score(info, *place) for place in known)
        return f"{_format_pair_names(shown, known[0])}: {label} {scores}."
    if len(known) == 1:
        return f"{_format_pair_names(shown, known[0])}: {label} {shown.score(info, *known[0])}."
    if are_values_equal(numbers):
        pairs = f"{len(known)} pairs{' of layers of different models' if outside else ''}"
        return (
            f"All {pairs} score {label} "
            f"{format_two_decimals(numbers[0])}{format_top_score(info, numbers)}{chance}."
        )
    most, least = (known[k] for k in extreme_positions(shown, numbers))
    return (
        f"{start} similar are {_format_pair_names(shown, most)} ({label} "
        f"{shown.score(info, *most)}), least "
        f"similar {_format_pair_names(shown, least)} ({shown.score(info, *least)})"
        f"{interval_overlap_clause(shown, most, least)}."
    )


def _format_pair_names(shown: PageContext, place: tuple[int, int]) -> str:
    x, y = shown.comparison.rows[place[0]], shown.comparison.columns[place[1]]
    return f"{name_in_sentence(x)} and {name_in_sentence(y)}"


def two_groups_sentence(shown: PageContext) -> str:
    """Name two groups, if every pair within them is more similar than every pair between them."""
    if not is_all_pairs_of_one_list(shown.comparison) or len(shown.comparison.rows) < 4:
        return ""
    differences = shown.comparison.dissimilarity(shown.leading.spec)
    if not np.isfinite(differences).all():
        return ""
    first = _first_tree_group(shown)
    inside = np.equal.outer(first, first)
    others = ~np.eye(len(first), dtype=bool)
    is_clear = differences[inside & others].max(initial=-np.inf) < differences[~inside].min()
    if min(first.sum(), (~first).sum()) < 2 or not is_clear:
        return ""
    one, other = (_format_group_members(shown, members) for members in (first, ~first))
    return (
        f"There are two groups, {one} and {other}: every pair within a group is more similar than "
        "every pair between them."
    )


def _first_tree_group(shown: PageContext) -> np.ndarray:
    """Return which representations are in the group of the first: the tree without its root."""
    joined = linkage_tree(shown.comparison, shown.leading.spec)
    count = len(joined.names)
    members = [{i} for i in range(count)]
    for left, right in joined.merges[:, :2].astype(int):
        members.append(members[left] | members[right])
    one, other = (members[int(k)] for k in joined.merges[-1, :2])
    side = one if 0 in one else other
    return np.isin(np.arange(count), list(side))


def _format_group_members(shown: PageContext, members: np.ndarray) -> str:
    names = (name_in_sentence(name) for name, is_in in zip(shown.comparison.rows, members) if is_in)
    return list_names(names, MAX_LISTED_GROUP_MEMBERS)


# ------------------------------------------------------------------------------------------ phrases


def extreme_positions(shown: PageContext, values: Sequence[float]) -> tuple[int, int]:
    """Return where the most and the least similar of some values are."""
    order = np.argsort(values, kind="stable")
    first, last = int(order[-1]), int(order[0])
    return (first, last) if shown.leading.larger_is_more_similar else (last, first)


def are_values_equal(values: Sequence[float]) -> bool:
    """Whether all values are the same in the digits that a sentence has."""
    return len({format_two_decimals(float(value)) for value in (min(values), max(values))}) == 1


def format_top_score(info: MeasureInfo, values: Sequence[float]) -> str:
    top = most_similar(info)
    is_top = math.isfinite(top) and np.allclose(values, top, rtol=1e-6, atol=1e-6)
    return ", the most similar value there can be" if is_top else ""


def interval_overlap_clause(
    shown: PageContext, one: tuple[int, int], other: tuple[int, int]
) -> str:
    """Say that two intervals overlap, so that the order of the two values is not certain."""
    if shown.evidence is None:
        return ""
    low, high = shown.evidence.low(shown.leading.spec), shown.evidence.high(shown.leading.spec)
    overlaps = low[one] <= high[other] and low[other] <= high[one]
    return "; these intervals overlap" if overlaps else ""


def chance_clause(shown: PageContext, places: IndexPairs) -> str:
    """Say what the same pairs score by chance, if that is known for all of them."""
    chance = mean_chance(shown, shown.leading, places)
    if math.isnan(chance):
        return ""
    many = "these pairs score" if len(places) > 1 else "this pair scores"
    return f"; with the samples in random order {many} {format_two_decimals(chance)} on average"
