"""Sentences about layers of equal depth of two models, or of more."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ...arrangements import Curve
from .phrases import chance_words, ends, is_same, overlap_words, top_words, written
from .shown import Shown, named, places_of_curve

CLOSE = 1e-9  # differences this close are a tie
MOST_NAMED = 3  # layers in one sentence


def two_models(shown: Shown, curve: Curve) -> str:
    info, models = shown.leading, f"{named(curve.model)} and {named(curve.other)}"
    known = [k for k, value in enumerate(curve.values) if math.isfinite(value)]
    places = [places_of_curve(shown, curve)[k] for k in known]
    label = shown.label(info)
    most, least = ends(shown, [curve.values[k] for k in known])
    chance = chance_words(shown, places)
    if is_same([curve.values[k] for k in known]):
        score = written(float(shown.values(info)[places[0]]))
        top = top_words(info, [curve.values[k] for k in known])
        return f"Layers of equal depth of {models} all score {label} {score}{top}{chance}."
    first, last = (shown.score(info, *places[k]) for k in (most, least))
    overlap = overlap_words(shown, places[most], places[least])
    return (
        f"Layers of equal depth of {models} are most similar at {_layer(curve, known[most])} "
        f"({label} {first}) and least similar at {_layer(curve, known[least])} ({last})"
        f"{overlap}{chance}."
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
        closer = f"{named(other)} is {{}} to {named(one)} than an untrained copy of it is"
        if not low:
            yield f"At all {len(known)} depths {closer.format('closer')}."
            continue
        label, k = shown.label(shown.leading), low[0]
        where = ", ".join(_layer(curve, k) for k in low[:MOST_NAMED])
        where += f" and {len(low) - MOST_NAMED} more" if len(low) > MOST_NAMED else ""
        scores = f" ({label} {written(curve.values[k])}, the copy {written(copy.values[k])})"
        yield f"At {where} {closer.format('no closer')}{scores if len(low) == 1 else ''}."


def many_models(shown: Shown, curves: Sequence[Curve]) -> str:
    """Say at which depth the models are most and least similar: by the median over their pairs."""
    depths = shared_depths(curves)
    middle = [float(np.median([curve.values[k] for curve in curves])) for k in depths]
    some = len(depths) < len(curves[0].values)
    only = f" and the {len(depths)} depths at which all have values" if some else ""
    label, start = shown.label(shown.leading), f"Over {len(curves)} pairs of models{only}, layers"
    places = [places_of_curve(shown, curve)[k] for curve in curves for k in depths]
    chance = chance_words(shown, places)
    if is_same(middle):
        return (
            f"{start} of equal depth have a median {label} of {written(middle[0])} at each depth"
            f"{chance}."
        )
    most, least = ends(shown, middle)
    names = [_depth(curves, depths[k]) for k in (most, least)]
    return (
        f"{start} of equal depth are most similar at {names[0]} (median {label} "
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
    ties = f"; {shared} more share the first place with another layer" if shared else ""
    if len(curves) == 1:
        one, other = named(curves[0].model), named(curves[0].other)
        return (
            f"For {alone} of {len(verdicts)} layers of {one}, the most similar layer of {other} is "
            f"the one of equal depth{ties}."
        )
    return (
        f"In {alone} of {len(verdicts)} cases, the most similar layer of another model is the one "
        f"of equal depth{ties}."
    )


def _match(shown: Shown, curve: Curve) -> Iterator[str]:
    """Yield for each layer with a value whether its partner is the nearest of the other model."""
    differences = shown.comparison.difference(shown.leading.spec)
    places = places_of_curve(shown, curve)
    columns = [j for _, j in places]
    for i, j in places:
        if not np.isfinite(differences[i, j]):
            continue
        rest = [differences[i, k] for k in columns if k != j and np.isfinite(differences[i, k])]
        nearest, slack = min(rest, default=math.inf), CLOSE * max(1.0, abs(differences[i, j]))
        if differences[i, j] < nearest - slack:
            yield "alone"
        else:
            yield "shared" if differences[i, j] <= nearest + slack else "other"
