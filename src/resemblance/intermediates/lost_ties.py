"""Ties made by rounding: samples tie as neighbours only because their distances have no digits
left."""

from __future__ import annotations

import numpy as np

from ..base.arrays import Array, detach, epsilon, namespace, to_numpy
from ..base.exceptions import UndefinedError
from ..data.representation import Representation, representation_title
from .chords import EQUAL_ROW_EPSILONS, TIE_EPSILONS
from .digits import resolution
from .exact_differences import power_of_two_below_norm
from .similarities import Similarity, take_rows
from .ties import Nearest

MAX_UNDECIDED_SHARE = 0.5  # share of the samples
# Relative rounding error at which a squared distance has no digits left.
LOST_DISTANCE_ROUNDING = 0.05


def require_separated_neighbors(
    x: Representation, similarity: Similarity, neighbors: Nearest
) -> None:
    """Raise ``UndefinedError`` where rounding decides on the neighbours of more than half of the
    samples.

    Rounding decides on the neighbours of a sample if two unequal neighbours tie, and the distances
    from the sample to these two neighbours have lost their digits.
    """
    n, rows = len(neighbors.listed), neighbors.ties.rows
    if len(rows) <= MAX_UNDECIDED_SHARE * n:
        return
    first, second = _tied_neighbors_by_row(neighbors)
    points = similarity.points
    if similarity.gram is not None:  # scale the points to the unit of the Gram matrix
        points = detach(x.array) / power_of_two_below_norm(x)
    eps = epsilon(points)
    to_first, to_second, tie_distance = (
        _exact_squared_distances_to(points, *pair)
        for pair in ((rows, first), (rows, second), (first, second))
    )
    lost_below = TIE_EPSILONS * eps / LOST_DISTANCE_ROUNDING * similarity.terms[rows]
    equal_below = (EQUAL_ROW_EPSILONS * max(resolution(x), eps)) ** 2
    is_lost = np.maximum(to_first, to_second) < lost_below
    is_lost &= np.minimum(np.minimum(to_first, to_second), tie_distance) > equal_below
    if np.count_nonzero(is_lost) > MAX_UNDECIDED_SHARE * n:
        raise UndefinedError(
            f"rounding decides which samples of {representation_title(x)} are nearest: the samples "
            "form groups that are too far apart to resolve the distances within a group; compare "
            "one group at a time, and centre the samples first"
        )


def _tied_neighbors_by_row(neighbors: Nearest) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays of sample indices, (m,), m the number of rows with a tie: two neighbours
    at equal distance from the row's sample."""
    indices, ties = neighbors.listed[neighbors.ties.rows], neighbors.ties
    places = np.arange(indices.shape[1])
    is_tied = ties.begins < places
    place = np.where(is_tied.any(axis=1), is_tied.argmax(axis=1), places[-1])
    rows = np.arange(len(indices))
    first = indices[rows, np.minimum(ties.begins[rows, place], place)]
    second = ties.members[ties.starts[:-1]]
    second = np.where(second == first, ties.members[ties.starts[1:] - 1], second)
    return first, np.where(is_tied.any(axis=1), indices[rows, place], second)


def _exact_squared_distances_to(points: Array, rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
    difference = take_rows(points, rows) - take_rows(points, targets)
    return np.asarray(to_numpy(namespace(points).vecdot(difference, difference)), dtype=np.float64)
