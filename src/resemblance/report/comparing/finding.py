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
- With an untrained copy of the first model, which the other sentences leave out: at which layers,
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

from resemblance.comparison.arrangements import Curve, models_of, single_layers, tree
from resemblance.comparison.comparison import MeasureInfo, most_similar

from ..evidence_words import ALPHA, brief
from ..numbers import counted, listed, minus
from .stats import (
    FEW_PAIRS,
    Shown,
    between,
    curves_of,
    depth_words,
    is_square,
    layers_of,
    mean_chance,
    named,
    off_diagonal,
    places_of_curve,
    spearman,
    trained_curves,
)

LOW = 0.5  # correlation of the orders of pairs: below it, measures disagree
MOST_NAMED = 3  # measures, models or layers in one sentence
FEW_NAMES = 6  # members of a group that a sentence lists
CLOSE = 1e-9  # differences this close are a tie
Places = list[tuple[int, int]]


def finding(shown: Shown) -> str:
    """Return the finding, a line for each thing, the most important first."""
    return "\n".join(filter(None, _lines(shown)))


def _lines(shown: Shown) -> Iterator[str]:
    pairs, info = _pairs(shown), shown.leading
    label, values = shown.label(info), shown.values(info)
    known = [place for place in pairs if np.isfinite(values[place])]
    if not pairs:
        yield "There is no pair of different representations."
    elif not known:
        yield f"{label} has no value for any pair of different representations."
    else:
        yield from _similarity(shown, known)
        yield _beyond(shown, pairs)
        yield _disagreement(shown, len(pairs))
    yield _missing(len(pairs) - len(known), len(pairs), label)
    yield _caveats(shown)


def _pairs(shown: Shown) -> Places:
    """Return the pairs of different representations, each once if the measure is symmetric."""
    pairs = off_diagonal(shown.comparison)
    if is_square(shown.comparison) and shown.leading.symmetric:
        pairs = np.triu(pairs)
    return [(int(i), int(j)) for i, j in np.argwhere(pairs)]


def _similarity(shown: Shown, known: Places) -> Iterator[str]:
    """Yield what the leading measure shows: by depth, or by pairs."""
    all_curves = [curve for curve in curves_of(shown, shown.leading) if _size(curve) > 1]
    curves = trained_curves(shown, all_curves)
    lengths = {len(curve.values) for curve in curves}
    if len(curves) == 1:
        yield two_models(shown, curves[0])
        yield match_words(shown, curves)
        yield _left_out(shown, curves)
    elif len(lengths) == 1 and len(shared_depths(curves)) > 1:
        yield many_models(shown, curves)
        yield nearest_models(shown, curves)
        yield match_words(shown, curves)
        yield _left_out(shown, curves)
    else:
        yield extremes_words(shown, known)
        yield group_words(shown)
    single = single_layers(shown.comparison, shown.leading.spec)
    yield from reference_words(shown, all_curves or single)


def _size(curve: Curve) -> int:
    return sum(math.isfinite(value) for value in curve.values)


def _left_out(shown: Shown, curves: Sequence[Curve]) -> str:
    """Name the models that no curve has."""
    sides = shown.comparison.rows, shown.comparison.columns
    models = dict.fromkeys(filter(None, (m for side in sides for m in models_of(side))))
    drawn = {shown.reference, *(m for curve in curves for m in (curve.model, curve.other))}
    rest = [m for m in models if m not in drawn]
    if not rest:
        return ""
    names = listed(list(map(named, rest)), MOST_NAMED)
    return f"Left out, for too few layers or values: {names}."


def _beyond(shown: Shown, places: Places) -> str:
    """Say how many pairs are beyond chance, all pairs taken together; of models, between them."""
    known = shown.readings.get(shown.leading.spec)
    if known is None:
        return ""
    outside = between(shown, places)
    if outside:
        known = known._replace(pairs=tuple(known.cells[i][j] for i, j in outside))
    pairs = len(known.tested)
    if not pairs:
        return ""
    verb = "is" if 1 in (known.beyond, pairs) else "are"
    where = " between models" if outside else ""
    return (
        f"{known.beyond} of {counted(pairs, 'pair')}{where} {verb} beyond chance by "
        f"{shown.label(shown.leading)} (adjusted p at most {ALPHA:g})."
    )


def _disagreement(shown: Shown, pairs: int) -> str:
    """Name the measures of other families that order the pairs otherwise."""
    others = [m for m in shown.measures if m.family != shown.leading.family]
    if pairs < FEW_PAIRS or not others:
        return ""
    inside = off_diagonal(shown.comparison)
    lead = shown.comparison.difference(shown.leading.spec)[inside]
    known = [(spearman(lead, shown.comparison.difference(m.spec)[inside]), m) for m in others]
    known = sorted((pair for pair in known if not math.isnan(pair[0])), key=lambda pair: pair[0])
    low, label = [pair for pair in known if pair[0] < LOW], shown.label(shown.leading)
    if not low:
        return ""
    each = listed([f"{shown.label(m)} {written(r)}" for r, m in low], MOST_NAMED)
    verb = "orders" if len(low) == 1 else "order"
    return (
        f"{len(low)} of {counted(len(known), 'measure')} of other families {verb} the pairs "
        f"otherwise (Spearman correlation with {label} below {LOW:g}): {each}."
    )


def _missing(missing: int, pairs: int, label: str) -> str:
    if not missing or missing == pairs:
        return ""
    verb = "has" if missing == 1 else "have"
    return f"{missing} of {counted(pairs, 'pair')} {verb} no value by {label}: see Failures."


def _caveats(shown: Shown) -> str:
    """Count the values of the leading measure that mean little, by the first reason."""
    words = [str(c.value) for c in shown.comparison.caveats if c.measure == shown.leading.spec]
    if not words:
        return ""
    return minus(f"{counted(len(words), 'value')} of {shown.label(shown.leading)}: {words[0]}.")


# ---------------------------------------------------------------------------- layers of equal depth


def two_models(shown: Shown, curve: Curve) -> str:
    info, models = shown.leading, f"{named(curve.model)} and {named(curve.other)}"
    known = [k for k, value in enumerate(curve.values) if math.isfinite(value)]
    places = [places_of_curve(shown, curve)[k] for k in known]
    label, depth = shown.label(info), depth_words(shown, [curve])
    most, least = ends(shown, [curve.values[k] for k in known])
    chance = chance_words(shown, places)
    if is_same([curve.values[k] for k in known]):
        score = written(float(shown.values(info)[places[0]]))
        top = top_words(info, [curve.values[k] for k in known])
        return f"Layers of {depth} of {models} all score {label} {score}{top}{chance}."
    first, last = (shown.score(info, *places[k]) for k in (most, least))
    overlap = overlap_words(shown, places[most], places[least])
    return (
        f"Layers of {depth} of {models} are most similar at {_layer(curve, known[most])} "
        f"({label} {first}) and least similar at {_layer(curve, known[least])} ({last})"
        f"{overlap}."
    )


def _layer(curve: Curve, k: int) -> str:
    one, other = named(curve.layers[k]), named(curve.partners[k])
    return one if one == other else f"{one} with {other}"


def reference_words(shown: Shown, curves: Sequence[Curve]) -> Iterator[str]:
    """Yield for each other model where it is no closer to the first than an untrained copy is."""
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
        closer = f"{named(other)} is {{}} to {named(one)} than an untrained copy of it is"
        k = (low or known)[0]
        scores = f" ({shown.label(shown.leading)} {written(curve.values[k])}, the copy "
        scores += f"{written(copy.values[k])})"
        if len(curve.layers) == 1:
            yield f"{closer.format('no closer' if low else 'closer')}{scores}."
        elif not low:
            yield f"At all {len(known)} depths {closer.format('closer')}."
        else:
            where = listed([_layer(curve, k) for k in low], MOST_NAMED)
            yield f"At {where} {closer.format('no closer')}{scores if len(low) == 1 else ''}."


def many_models(shown: Shown, curves: Sequence[Curve]) -> str:
    """Say at which depth the models are most and least similar: by the median over their pairs."""
    depths = shared_depths(curves)
    middle = [float(np.median([curve.values[k] for curve in curves])) for k in depths]
    some = len(depths) < len(curves[0].values)
    only = f" and the {len(depths)} depths at which all have values" if some else ""
    label, depth = shown.label(shown.leading), depth_words(shown, curves)
    start = f"Over {len(curves)} pairs of models{only}, layers of {depth}"
    places = [places_of_curve(shown, curve)[k] for curve in curves for k in depths]
    chance = chance_words(shown, places)
    if is_same(middle):
        return f"{start} have a median {label} of {written(middle[0])} at each depth{chance}."
    most, least = ends(shown, middle)
    names = [_depth(curves, depths[k]) for k in (most, least)]
    return (
        f"{start} are most similar at {names[0]} (median {label} "
        f"{written(middle[most])}) and least similar at {names[1]} "
        f"({written(middle[least])}){chance}."
    )


def shared_depths(curves: Sequence[Curve]) -> list[int]:
    """Return the depths with a value for all pairs of models: others cannot be set side by side."""
    table = np.array([curve.values for curve in curves])
    return [int(k) for k in np.flatnonzero(np.isfinite(table).all(axis=0))]


def _depth(curves: Sequence[Curve], k: int) -> str:
    """Return the name of a depth: that of its layer, if it is the same in all models."""
    names = {name for curve in curves for name in (curve.layers[k], curve.partners[k])}
    return named(names.pop()) if len(names) == 1 else f"depth {k + 1} of {len(curves[0].values)}"


def nearest_models(shown: Shown, curves: Sequence[Curve]) -> str:
    """Name the models with the largest and the smallest mean over the depths that all have."""
    depths = shared_depths(curves)
    means = [math.fsum(curve.values[k] for k in depths) / len(depths) for curve in curves]
    if is_same(means):
        return ""
    most, least = (curves[k] for k in ends(shown, means))
    first, last = (written(means[k]) for k in ends(shown, means))
    return (
        f"On average over depth, {named(most.model)} and {named(most.other)} are the most similar "
        f"models ({shown.label(shown.leading)} {first}), {named(least.model)} and "
        f"{named(least.other)} the least similar ({last})."
    )


def match_words(shown: Shown, curves: Sequence[Curve]) -> str:
    """Say for how many layers the most similar layer of the other model has the same depth."""
    verdicts = [verdict for curve in curves for verdict in _match(shown, curve)]
    if not verdicts:
        return ""
    alone, shared = verdicts.count("alone"), verdicts.count("shared")
    depth = depth_words(shown, curves)
    ties = f"; {shared} more share the first place with another layer" if shared else ""
    if len(curves) == 1:
        one, other = named(curves[0].model), named(curves[0].other)
        return (
            f"For {alone} of {len(verdicts)} layers of {one}, the most similar layer of {other} is "
            f"the one of {depth}{ties}."
        )
    return (
        f"In {alone} of {len(verdicts)} cases, the most similar layer of another model is the one "
        f"of {depth}{ties}."
    )


def _match(shown: Shown, curve: Curve) -> Iterator[str]:
    """Yield for each layer with a value whether its partner is the nearest of the other model."""
    differences = shown.comparison.difference(shown.leading.spec)
    places = places_of_curve(shown, curve)
    columns = layers_of(shown, curve.other)
    for i, j in places:
        if not np.isfinite(differences[i, j]):
            continue
        rest = [differences[i, k] for k in columns if k != j and np.isfinite(differences[i, k])]
        nearest, slack = min(rest, default=math.inf), CLOSE * max(1.0, abs(differences[i, j]))
        if differences[i, j] < nearest - slack:
            yield "alone"
        else:
            yield "shared" if differences[i, j] <= nearest + slack else "other"


# --------------------------------------------------------------------------------- pairs and groups


def extremes_words(shown: Shown, known: Places) -> str:
    """Name the most and the least similar pair, or say that all are the same.

    Of layers of several models, neighbours within one are always similar: they are left out.
    """
    info, values, outside = shown.leading, shown.values(shown.leading), between(shown, known)
    start, known = ("Between models, most" if outside else "Most"), outside or known
    numbers, label = [float(values[place]) for place in known], shown.label(info)
    chance = chance_words(shown, known)
    if len({frozenset(place) for place in known}) == 1 and is_square(shown.comparison):
        scores = " and, the other way round, ".join(shown.score(info, *place) for place in known)
        return f"{_both(shown, known[0])}: {label} {scores}."
    if len(known) == 1:
        return f"{_both(shown, known[0])}: {label} {shown.score(info, *known[0])}."
    if is_same(numbers):
        pairs = f"{len(known)} pairs{' of layers of different models' if outside else ''}"
        return f"All {pairs} score {label} {written(numbers[0])}{top_words(info, numbers)}{chance}."
    most, least = (known[k] for k in ends(shown, numbers))
    return (
        f"{start} similar are {_both(shown, most)} ({label} {shown.score(info, *most)}), least "
        f"similar {_both(shown, least)} ({shown.score(info, *least)})"
        f"{overlap_words(shown, most, least)}."
    )


def _both(shown: Shown, place: tuple[int, int]) -> str:
    x, y = shown.comparison.rows[place[0]], shown.comparison.columns[place[1]]
    return f"{named(x)} and {named(y)}"


def group_words(shown: Shown) -> str:
    """Name two groups, if every pair within them is more similar than every pair between them."""
    if not is_square(shown.comparison) or len(shown.comparison.rows) < 4:
        return ""
    differences = shown.comparison.difference(shown.leading.spec)
    if not np.isfinite(differences).all():
        return ""
    first = _first_group(shown)
    inside = np.equal.outer(first, first)
    others = ~np.eye(len(first), dtype=bool)
    is_clear = differences[inside & others].max(initial=-np.inf) < differences[~inside].min()
    if min(first.sum(), (~first).sum()) < 2 or not is_clear:
        return ""
    one, other = (_members(shown, members) for members in (first, ~first))
    return (
        f"There are two groups, {one} and {other}: every pair within a group is more similar than "
        "every pair between them."
    )


def _first_group(shown: Shown) -> np.ndarray:
    """Return which representations are in the group of the first: the tree without its root."""
    joined = tree(shown.comparison, shown.leading.spec)
    count = len(joined.names)
    members = [{i} for i in range(count)]
    for left, right in joined.merges[:, :2].astype(int):
        members.append(members[left] | members[right])
    one, other = (members[int(k)] for k in joined.merges[-1, :2])
    side = one if 0 in one else other
    return np.isin(np.arange(count), list(side))


def _members(shown: Shown, members: np.ndarray) -> str:
    names = [named(name) for name, is_in in zip(shown.comparison.rows, members) if is_in]
    return ", ".join(names) if len(names) <= FEW_NAMES else f"{names[0]} and {len(names) - 1} more"


# ------------------------------------------------------------------------------------------ phrases


def ends(shown: Shown, values: Sequence[float]) -> tuple[int, int]:
    """Return where the most and the least similar of some values are."""
    order = np.argsort(values, kind="stable")
    first, last = int(order[-1]), int(order[0])
    return (first, last) if shown.leading.larger_is_more_similar else (last, first)


def is_same(values: Sequence[float]) -> bool:
    """Whether all values are the same in the digits that a sentence has."""
    return len({brief(float(value)) for value in (min(values), max(values))}) == 1


def top_words(info: MeasureInfo, values: Sequence[float]) -> str:
    top = most_similar(info)
    is_top = math.isfinite(top) and np.allclose(values, top, rtol=1e-6, atol=1e-6)
    return ", the most similar value there can be" if is_top else ""


def overlap_words(shown: Shown, one: tuple[int, int], other: tuple[int, int]) -> str:
    """Say that two intervals overlap, so that the order of the two values is not certain."""
    if shown.evidence is None:
        return ""
    low, high = shown.evidence.low(shown.leading.spec), shown.evidence.high(shown.leading.spec)
    overlaps = low[one] <= high[other] and low[other] <= high[one]
    return "; these intervals overlap" if overlaps else ""


def chance_words(shown: Shown, places: Places) -> str:
    """Say what the same pairs score by chance, if that is known for all of them."""
    chance = mean_chance(shown, shown.leading, places)
    if math.isnan(chance):
        return ""
    many = "these pairs score" if len(places) > 1 else "this pair scores"
    return f"; with the samples in random order {many} {written(chance)} on average"


def written(value: float) -> str:
    return minus(brief(value))
