"""Largest eigenvalues of differences of matrices that are computed again for each product."""

from __future__ import annotations

import numpy as np

from ...arrays import epsilon, to_numpy
from ...representation import Undefined
from ...rng import generator
from ...views.rectangles import Entries, rectangles
from .grid import PairGrid

STEPS = 500
VECTORS = 2**25  # numbers in the vectors that are in memory at a time
TOLERANCE = 1e-13  # of the error of the eigenvalue
RESIDUAL = 1e-6  # at most, in which the error of the eigenvalue is quadratic


class Lanczos:
    """The Lanczos process of one symmetric matrix A from a random start, without keeping vectors.

    Rounding makes it find the ends of the spectrum several times, but never wrongly (Paige 1976).
    An eigenvalue is exact enough when its error is at most ``rounding``.
    """

    def __init__(self, n: int, rounding: float):
        self._rounding = rounding
        start = generator(0, "largest eigenvalue", n).standard_normal(n)
        self.vector, self._before = start / np.linalg.norm(start), np.zeros(n)
        self._diagonal: list[float] = []
        self._beside: list[float] = []
        self.value, self.is_done = 0.0, False

    def take(self, image: np.ndarray) -> None:
        """Make a step with A v, for the present ``vector`` v."""
        alpha = float(self.vector @ image)
        image = image - alpha * self.vector
        if self._beside:
            image -= self._beside[-1] * self._before
        beta = float(np.linalg.norm(image))
        self._diagonal.append(alpha)
        matrix = np.diag(self._diagonal) + np.diag(self._beside, 1) + np.diag(self._beside, -1)
        values, vectors = np.linalg.eigh(matrix)
        largest = int(np.argmax(np.abs(values)))
        self.value = float(abs(values[largest]))
        others = np.abs(np.delete(values, largest) - values[largest])
        residual = beta * abs(vectors[-1, largest])
        self.is_done = residual <= self._rounding or _is_exact(residual, others, self.value)
        if not self.is_done:
            self._before, self.vector = self.vector, image / beta
            self._beside.append(beta)


def _is_exact(residual: float, gaps: np.ndarray, value: float) -> bool:
    """Say whether an eigenvalue is exact: its error is at most the residual, and the square of that
    over the distance to the next one."""
    error = residual * min(1.0, residual / max(gaps.min(initial=value), 1e-300))
    return bool(residual <= RESIDUAL * value and error <= TOLERANCE * value)


def largest_eigenvalues(
    matrices: list[Entries], grid: PairGrid, a: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """Largest absolute eigenvalues of a P - b Q for all pairs, each step of all in one pass."""
    values, different = (
        np.zeros(len(grid.pairs)),
        [k for k, (i, j) in enumerate(grid.pairs) if i != j],
    )
    step = max(1, VECTORS // (3 * grid.samples))
    for start in range(0, len(different), step):
        chosen = different[start : start + step]
        values[chosen] = _largest(matrices, grid, chosen, a, b)
    return values


def _largest(
    matrices: list[Entries], grid: PairGrid, chosen: list[int], a: np.ndarray, b: np.ndarray
) -> list[float]:
    """The largest absolute eigenvalues of some pairs.

    Distances in unit size have the norm sqrt(2 n), of which the rounding is all that is left of the
    difference of distances that are the same.
    """
    rounding = epsilon(grid.representations[0].array) * (2 * grid.samples) ** 0.5 * (a + b)
    processes = {k: Lanczos(grid.samples, float(rounding[k])) for k in chosen}
    for _ in range(STEPS):
        todo = {k: p for k, p in processes.items() if not p.is_done}
        if not todo:
            return [p.value for p in processes.values()]
        images = _images(matrices, grid, {k: p.vector for k, p in todo.items()}, a, b)
        for k, process in todo.items():
            process.take(images[k])
    raise Undefined(
        f"rsm_norm_difference: the largest eigenvalue was not found in {STEPS} steps; "
        "norm='frobenius' has a value"
    )


def _images(
    matrices: list[Entries],
    grid: PairGrid,
    vectors: dict[int, np.ndarray],
    a: np.ndarray,
    b: np.ndarray,
) -> dict[int, np.ndarray]:
    """Return (a P - b Q) v for the vectors of some pairs."""
    images = {k: np.zeros(len(v)) for k, v in vectors.items()}
    users: dict[int, list[int]] = {}
    for k in vectors:
        for i in grid.pairs[k]:
            users.setdefault(i, []).append(k)
    for at in rectangles(grid.samples):
        for i, pairs in users.items():
            block = to_numpy(matrices[i](at))
            for k in pairs:
                factor = a[k] if grid.pairs[k][0] == i else -b[k]
                images[k][at.rows] += factor * (block @ vectors[k][at.columns])
                if not at.is_square:
                    images[k][at.columns] += factor * (vectors[k][at.rows] @ block)
    return images
