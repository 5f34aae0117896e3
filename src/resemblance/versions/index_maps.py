"""Maps between the vectors of two models, fitted to moments of the same documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from ..data.representation import Undefined
from .maps import Affine
from .retrieval import HEIGHT
from .stored import Stored, to_unit

RIDGES = np.logspace(-8, 1, 40)  # times the mean variance of a direction
MOST_FREEDOM = 0.9  # of the documents: a ridge that fits more numbers is not tried
Side = Literal["queries", "documents"]


class IndexMap(NamedTuple):
    """A map between the vectors of two models: ``after + factor * (rows - before) @ matrix``.

    ``side`` says of which rows: of "queries" by the new model, to the space of the old index; or of
    "documents" by the old model, to the space of the new one. One is not the inverse of the other.
    ``normalise`` says whether rows have length 1 before they are mapped, as they have where the
    metric is the cosine; calling the map does so.
    """

    before: np.ndarray
    matrix: np.ndarray
    factor: float
    after: np.ndarray
    side: Side
    normalise: bool

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return mapped rows, of the width of the other model.

        Raises ``ValueError`` for rows of another width.
        """
        rows = np.asarray(rows, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.before):
            model = "new" if self.side == "queries" else "old"
            raise ValueError(
                f"map: this map is for {self.side} by the {model} model, of shape (n, "
                f"{len(self.before)}); got {rows.shape}"
            )
        rows = to_unit(rows) if self.normalise else rows
        return self.after + self.factor * ((rows - self.before) @ self.matrix)


def index_map(
    fit: Affine, side: Side, units: tuple[float, float], normalise: bool = False
) -> IndexMap:
    """Return a fitted map for vectors in their own units; ``units``: those of rows and results."""
    before, after = (1.0, 1.0) if normalise else units
    matrix = np.eye(len(fit.before)) if fit.matrix is None else fit.matrix
    factor = fit.factor * (after / before)
    return IndexMap(fit.before * before, matrix, factor, fit.after * after, side, normalise)


class Moments(NamedTuple):
    """Means of the vectors x and y of documents, covariance of x, and of x with y."""

    n: int
    x: np.ndarray  # (e,)
    y: np.ndarray  # (d,)
    spread: np.ndarray  # (e, e)
    cross: np.ndarray  # (e, d)
    variance: float  # of y, in all directions together


def moments(x: Stored, y: Stored, rows: np.ndarray, models: tuple[str, str]) -> Moments:
    """Return the moments of some documents, which are read in blocks.

    Raises :class:`Undefined` if all of them are one point by one of the models.
    """
    starts = range(0, len(rows), HEIGHT)
    origins = [vectors.take(rows[:HEIGHT]).mean(axis=0) for vectors in (x, y)]
    means = [np.zeros_like(origin) for origin in origins]
    spread, cross, variance = 0.0, 0.0, 0.0
    for part in (rows[start : start + HEIGHT] for start in starts):
        u, v = (vectors.take(part) - origin for vectors, origin in zip((x, y), origins))
        spread, cross, variance = spread + u.T @ u, cross + u.T @ v, variance + (v**2).sum()
        means = [mean + z.sum(axis=0) / len(rows) for mean, z in zip(means, (u, v))]
    (u, v), n = means, len(rows)
    moments = Moments(
        n,
        origins[0] + u,
        origins[1] + v,
        spread / n - np.outer(u, u),
        cross / n - np.outer(u, v),
        float(variance / n - v @ v),
    )
    for name, size, mean in zip(
        models, (np.trace(moments.spread), moments.variance), (moments.x, moments.y)
    ):
        if size <= 1e-24 * (mean @ mean) or size <= 0:
            raise Undefined(f"upgrade: all documents are the same point by the {name} model")
    return moments


def orthogonal(m: Moments) -> Affine:
    """The rotation, reflections included, that brings x closest to y, with
    a shift and the ratio of their sizes: the polar factor of the cross-covariance."""
    u, _, vt = np.linalg.svd(m.cross, full_matrices=False)
    return Affine(m.x, u @ vt, float(np.sqrt(m.variance / np.trace(m.spread))), m.y)


def affine(m: Moments) -> Affine:
    """The ridge regression of y on x, with the penalty of the smallest
    generalised cross-validation (Golub, Heath and Wahba 1979), in closed form."""
    sizes, directions = np.linalg.eigh(m.spread)
    sizes = np.maximum(sizes, 0.0)
    weights = directions.T @ m.cross
    power = (weights**2).sum(axis=1)

    def error(ridge: float) -> float:
        """The generalised cross-validation error, infinite for too much freedom."""
        freedom = (sizes / (sizes + ridge)).sum() + 1
        explained = (power * (2 / (sizes + ridge) - sizes / (sizes + ridge) ** 2)).sum()
        left = (m.variance - explained) / (1 - freedom / m.n) ** 2
        return float(left) if freedom < MOST_FREEDOM * m.n else np.inf

    ridge = min(sizes.mean() * RIDGES, key=error)
    return Affine(m.x, directions @ (weights / (sizes + ridge)[:, None]), 1.0, m.y)


FITS: Mapping[str, Callable[[Moments], Affine]] = {"orthogonal": orthogonal, "affine": affine}


def freedom(name: str, d: int, e: int) -> int:
    """How many free numbers an option has that maps vectors, shift and size apart."""
    least = min(d, e)
    sizes = {"orthogonal": least * (least - 1) // 2, "affine": d * e}
    return sizes.get(name.removeprefix("documents_"), 0)


def fitted(
    names: tuple[str, ...], x: Stored, y: Stored, rows: np.ndarray, models: tuple[str, str]
) -> dict[str, Affine]:
    """Return maps from x to y by name, fitted to some documents."""
    if not names:
        return {}
    both = moments(x, y, rows, models)
    return {name: FITS[name](both) for name in names}


def too_few(names: tuple[str, ...], widths: tuple[int, int], documents: int) -> dict[str, str]:
    """Return why maps of queries and of documents cannot be fitted to half of the documents."""
    fewest = 2 * max(widths)
    if "affine" not in names or documents >= fewest:
        return {}
    reason = (
        f"it needs {fewest:,} documents by both models that are no queries; there are {documents:,}"
    )
    return {"affine": reason, "documents_affine": reason}
