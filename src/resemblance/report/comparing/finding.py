"""The finding of a comparison in words: what its numbers carry, and nothing else.

The rules, for the measure that leads:

- Two models with equally many layers: the depth at which layers of equal depth are most similar,
  and least; with their intervals, and that these overlap if they do. Where all values are the same
  in the digits shown, that.
- More models: the same for the medians over all pairs of models, and the models with the largest
  and the smallest mean, both over the depths with a value for all pairs of models.
- For how many layers the most similar layer of the other model is the one of equal depth; layers
  that share the first place are counted apart.
- Models that these sentences leave out, for unlike numbers of layers, are named.
- Without such models: the most and the least similar pair, of layers of different models if there
  are any; and two groups, if every pair within them is more similar than every pair between them.
- With an untrained copy of the first model, which the other sentences leave out: where a model is
  no closer to the first than the copy is.
- Chance is the mean over the pairs in the sentence, and only where it is known for all of them.
- Measures of other families whose order of the pairs has a Spearman correlation below 0.5 with
  that of the leading measure are named; with fewer than six pairs, none is.
- Values that are missing, and reasons why values mean little, are counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ...arrangements import Curve, models_of
from ..data import FEW_PAIRS, is_square, off_diagonal, spearman
from ..evidence_words import ALPHA
from ..numbers import counted, minus
from .depths import (
    many_models,
    match_words,
    nearest_models,
    reference_words,
    shared_depths,
    two_models,
)
from .pairs import extremes_words, group_words
from .phrases import Places, written
from .shown import Shown, between, curves_of, named, trained_curves

LOW = 0.5  # correlation of the orders of pairs: below it, measures disagree
MOST_NAMED = 3  # measures that disagree, in one sentence


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
    yield from reference_words(shown, all_curves)


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
    more = f" and {len(rest) - MOST_NAMED} more" if len(rest) > MOST_NAMED else ""
    names = ", ".join(map(named, rest[:MOST_NAMED]))
    return f"Left out, for another number of layers or too few values: {names}{more}."


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
    each = ", ".join(f"{shown.label(m)} {written(r)}" for r, m in low[:MOST_NAMED])
    more = f" and {len(low) - MOST_NAMED} more" if len(low) > MOST_NAMED else ""
    verb = "orders" if len(low) == 1 else "order"
    return (
        f"{len(low)} of {counted(len(known), 'measure')} of other families {verb} the pairs "
        f"otherwise (Spearman correlation with {label} below {LOW:g}): {each}{more}."
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
