"""Linear CKA of many pairs of small representations, without the cost of a call for each pair."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...arrays import scalar
from ...claims import Scores
from ...engine.scores import CHANCE
from ...representation import Representation, has_many_values
from ...views.grams import is_by_pairs
from ...views.matrices import LINEAR, expected_cosine, kernel_gram
from ...views.pairs import gram_inner
from ...views.points import is_rotated, preshape
from ..chance import is_low

STACKED = 2**22  # numbers in the products that are in memory at a time


def linear_alignments(xs: Sequence[Representation], ys: Sequence[Representation]) -> Scores:
    """CKA with the linear kernel and the biased estimator, of NumPy arrays.

    NumPy multiplies stacks of matrices one by one, in the way in which it multiplies two, so the
    products are those of single pairs to the last bit.
    """
    grams = [[kernel_gram(r, LINEAR) for r in side] for side in (xs, ys)]
    norms = [np.array([math.sqrt(gram.square) for gram in side]) for side in grams]
    chance = np.array([[expected_cosine(a, b) for b in grams[1]] for a in grams[0]])
    products, is_square = np.empty((len(xs), len(ys))), ys is xs
    stacks = _stacks(ys)
    for i, x in enumerate(xs):
        for members, points in stacks:
            later = members[sum(j < i for j in members) if is_square else 0 :]
            if points is None or has_many_values(x) or is_by_pairs(x, ys[members[0]]):
                products[i, later] = [scalar(gram_inner(x, ys[j], LINEAR)) for j in later]
            else:
                _fill(products[i], preshape(x).T, later, points[len(members) - len(later) :])
        for j in (j for j, y in enumerate(ys) if y is x):
            products[i, j], chance[i, j] = scalar(gram_inner(x, x, LINEAR)), math.nan
    if is_square:
        products = np.triu(products) + np.triu(products, 1).T
    values = products / np.outer(norms[0], norms[1])
    has_caveats = not all(is_low(r, r) for r in (*xs, *ys))
    return Scores(np.where(values > 1, 1.0, values), {CHANCE: chance}, None if has_caveats else {})


def _stacks(representations: Sequence[Representation]) -> list[tuple[list[int], np.ndarray | None]]:
    """Return the positions of all representations of each width, and their points; none of those
    with more features than samples, or with many values."""
    members: dict[int, list[int]] = {}
    for j, r in enumerate(representations):
        members.setdefault(r.shape[1], []).append(j)
    return [
        (of, None if is_rotated(r) or has_many_values(r) else _points(representations, of))
        for of in members.values()
        for r in [representations[of[0]]]
    ]


def _points(representations: Sequence[Representation], places: Sequence[int]) -> np.ndarray:
    return np.stack([preshape(representations[j]) for j in places])


def _fill(row: np.ndarray, x: np.ndarray, members: Sequence[int], points: np.ndarray) -> None:
    """Write the squared norms of the products of one representation with others into a row."""
    step = max(1, STACKED // (x.shape[0] * points.shape[2]))
    for start in range(0, len(members), step):
        products = np.matmul(x, points[start : start + step])
        flat = products.reshape(len(products), -1)
        row[members[start : start + step]] = np.vecdot(flat, flat)
