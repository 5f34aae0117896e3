"""The width of a kernel without each sample: a median of distances without those of the sample."""

from __future__ import annotations

import numpy as np

from ...arrays import as_float64, scalar
from ...representation import Representation, title, view
from ...views.distances import rdm
from ...views.grams import Pairs, median_distance
from .digits import need_rest, row_sums


@view
def relative_width_without(x: Representation, pairs: Pairs) -> np.ndarray:
    """Return by how much the median distance between samples changes without each of them, in units
    of it, shape (n,)."""
    n, vector = x.shape[0], as_float64(rdm(x, "euclidean"))
    count = (n - 1) * (n - 2) // 2
    middle = np.array([(count - 1) // 2, count // 2])
    if pairs == "all":  # n - 1 zeros come first, then every distance twice
        middle = (np.array([((n - 1) ** 2 - 1) // 2, (n - 1) ** 2 // 2]) - (n - 1)) // 2
    ratio = _at_places(vector, n, middle).mean(axis=1) / scalar(median_distance(x, pairs))
    need_rest(f"the median distance of {title(x)}", ratio)
    return ratio - 1


def _at_places(vector: np.ndarray, n: int, places: np.ndarray) -> np.ndarray:
    """Return what is at these places, from 0, of the sorted pairs without those of each sample,
    shape (n, places).

    n - 1 pairs are missing, so all is in a window of n - 1 more pairs than between the places.
    """
    first, last = int(places.min()), int(places.max()) + n - 1
    order = np.argpartition(vector, (first, last))
    window = order[first : last + 1]
    window = window[np.argsort(vector[window])]
    below = np.zeros(len(vector))
    below[order[:first]] = 1
    missing = row_sums(below, n).astype(int)
    starts = np.cumsum([0, *range(n - 1, 0, -1)])  # of the pairs i < j of each i
    rows = np.searchsorted(starts, window, side="right") - 1
    columns = window - starts[rows] + rows + 1
    values = np.empty((n, len(places)))
    for i in range(n):
        others = window[(rows != i) & (columns != i)]
        values[i] = vector[others[places - first + missing[i]]]
    return values
