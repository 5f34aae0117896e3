"""Linear CKA of many pairs of small representations, without the cost of a call for each pair."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...claims import Scores
from ...engine.scores import CHANCE
from ...representation import Representation
from ...views.matrices import LINEAR, expected_cosine, kernel_gram
from ...views.points import preshape
from ..chance import is_low

STACKED = 2**22  # numbers in the products that are in memory at a time
Stacks = Mapping[int, tuple[list[int], np.ndarray]]


def linear_alignments(
    xs: Sequence[Representation], ys: Sequence[Representation], **_: Any
) -> Scores:
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
        for members, points in stacks.values():
            start = sum(j < i for j in members) if is_square else 0
            _fill(products[i], preshape(x).T, members[start:], points[start:])
        for j in (j for j, y in enumerate(ys) if y is x):
            points_of_x = preshape(x)
            product = np.ravel(points_of_x.T @ points_of_x)  # half as much to compute
            products[i, j], chance[i, j] = product @ product, math.nan
    if is_square:
        products = np.triu(products) + np.triu(products, 1).T
    values = products / np.outer(norms[0], norms[1])
    has_caveats = not all(is_low(r, r) for r in (*xs, *ys))
    return Scores(np.where(values > 1, 1.0, values), {CHANCE: chance}, None if has_caveats else {})


def _stacks(representations: Sequence[Representation]) -> Stacks:
    """Return the points of all representations of each width, and their positions."""
    members: dict[int, list[int]] = {}
    for j, r in enumerate(representations):
        members.setdefault(preshape(r).shape[1], []).append(j)
    return {
        width: (of, np.stack([preshape(representations[j]) for j in of]))
        for width, of in members.items()
    }


def _fill(row: np.ndarray, x: np.ndarray, members: Sequence[int], points: np.ndarray) -> None:
    """Write the squared norms of the products of one representation with others into a row."""
    step = max(1, STACKED // (x.shape[0] * points.shape[2]))
    for start in range(0, len(members), step):
        products = np.matmul(x, points[start : start + step])
        flat = products.reshape(len(products), -1)
        row[members[start : start + step]] = np.vecdot(flat, flat)
