"""Distances between samples: their correlations and their differences, for many pairs together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import inner, scalar
from ...claims import Scores
from ...representation import Representation
from ...views.passes import centred_distance_entries, distance_margins
from ...views.points import preshape, size
from ...views.rectangles import Entries, ExactSum, distances_of, products, rectangles
from .grid import PairGrid, grid_of
from .spectral import largest_eigenvalues

CLOSE = 1e-6  # of the squares, below which their difference is computed from that of the entries


def distance_correlations(
    xs: Sequence[Representation], ys: Sequence[Representation], squared: bool
) -> Scores:
    r"""Distance correlations of many pairs, in two passes: one for the means of rows and the norms,
    which is left out for representations that have been compared before, and one for the products.

    O(n^2 d) time for each representation and O(n^2) for each pair, O(n d) memory. Raises
    ``Undefined`` when one representation is constant.
    """
    grid = grid_of(xs, ys)
    energies = [distance_margins(r).energy for r in grid.representations]
    matrices = [centred_distance_entries(r) for r in grid.representations]
    a, b = grid.ends(energies)
    values = products(matrices, grid.pairs, grid.samples) / (np.sqrt(a) * np.sqrt(b))
    values = np.clip(values, 0, 1)
    return grid.scores(values if squared else np.sqrt(values))


def rsm_norm_differences(
    xs: Sequence[Representation], ys: Sequence[Representation], norm: str
) -> Scores:
    """Norms of the differences of the distances of many pairs.

    Frobenius norms take one pass, and another one for nearly equal distances. Spectral norms take
    one for each step of the Lanczos process, ten to twenty. O(n^2 d) time for each representation
    and O(n^2) for each pair, O(n d) memory.
    """
    grid = grid_of(xs, ys)
    a, b = grid.ends([scalar(size(r)) for r in grid.representations])
    scale = np.maximum(a, b)
    divisor = np.where(scale > 0, scale, 1)
    find = largest_eigenvalues if norm == "spectral" else _frobenius
    return grid.scores(scale * find(_distances(grid), grid, a / divisor, b / divisor))


def _distances(grid: PairGrid) -> list[Entries]:
    """Return the distances in unit size, which are none for a constant representation."""
    return [
        distances_of(preshape(r) if scalar(size(r)) > 0 else 0 * r.array)
        for r in grid.representations
    ]


def _frobenius(matrices: list[Entries], grid: PairGrid, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Frobenius norms of a P - b Q for all pairs."""
    itself = [(i, i) for i in range(len(matrices))]
    sums = products(matrices, [*itself, *grid.pairs], grid.samples)
    norms, product = np.sqrt(sums[: len(itself)]), sums[len(itself) :] * a * b
    p, q = (c * end for c, end in zip((a, b), grid.ends(norms)))
    squares = (p - q) ** 2 + 2 * (p * q - product)
    for k in np.flatnonzero(squares <= CLOSE * p * q):
        squares[k] = _squared_difference(matrices, grid, int(k), float(a[k]), float(b[k]))
    return np.sqrt(squares)


def _squared_difference(
    matrices: list[Entries], grid: PairGrid, k: int, a: float, b: float
) -> float:
    """Sum of the squares of a P - b Q for one pair; the formula for all cancels."""
    i, j = grid.pairs[k]
    if i == j:
        return 0.0
    total = ExactSum()
    for at in rectangles(grid.samples):
        difference = a * matrices[i](at) - b * matrices[j](at)
        total.add(at.weight * scalar(inner(difference, difference)))
    return float(total.value)
