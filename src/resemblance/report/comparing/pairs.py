"""Sentences about the most and the least similar pair, and about two groups."""

from __future__ import annotations

import numpy as np

from ...arrangements import tree
from ..data import is_square
from .phrases import Places, chance_words, ends, is_same, overlap_words, top_words, written
from .shown import Shown, between, named

FEW_NAMES = 6  # members of a group that a sentence lists


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
        return f"{_both(shown, known[0])}: {label} {scores}{chance}."
    if len(known) == 1:
        return f"{_both(shown, known[0])}: {label} {shown.score(info, *known[0])}{chance}."
    if is_same(numbers):
        pairs = f"{len(known)} pairs{' of layers of different models' if outside else ''}"
        return f"All {pairs} score {label} {written(numbers[0])}{top_words(info, numbers)}{chance}."
    most, least = (known[k] for k in ends(shown, numbers))
    return (
        f"{start} similar are {_both(shown, most)} ({label} {shown.score(info, *most)}), least "
        f"similar {_both(shown, least)} ({shown.score(info, *least)})"
        f"{overlap_words(shown, most, least)}{chance}."
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
