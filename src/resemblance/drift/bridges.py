"""Maps of new queries to the vectors of an old model, fitted to moments of the same documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..representation import Undefined
from .maps import Affine
from .retrieval import HEIGHT, Rows

RIDGES = np.logspace(-8, 1, 40)  # times the mean variance of a direction
MOST_FREEDOM = 0.9  # of the documents: a ridge that fits more numbers is not tried


class Moments(NamedTuple):
    """Means, covariance of the new vectors, and their covariance with the old ones."""

    n: int
    new: np.ndarray  # (e,)
    old: np.ndarray  # (d,)
    spread: np.ndarray  # (e, e)
    cross: np.ndarray  # (e, d)
    variance: float  # of the old vectors, in all directions together


def moments(new: Rows, old: Rows, rows: np.ndarray) -> Moments:
    """Return the moments of some documents, which are read in blocks.

    Raises :class:`Undefined` if all of them are one point.
    """
    starts = range(0, len(rows), HEIGHT)
    origins = [vectors.take(rows[:HEIGHT]).mean(axis=0) for vectors in (new, old)]
    means = [np.zeros_like(origin) for origin in origins]
    spread, cross, variance = 0.0, 0.0, 0.0
    for part in (rows[start : start + HEIGHT] for start in starts):
        x, y = (v.take(part) - origin for v, origin in zip((new, old), origins))
        spread, cross, variance = spread + x.T @ x, cross + x.T @ y, variance + (y**2).sum()
        means = [mean + z.sum(axis=0) / len(rows) for mean, z in zip(means, (x, y))]
    (u, v), n = means, len(rows)
    moments = Moments(
        n,
        origins[0] + u,
        origins[1] + v,
        spread / n - np.outer(u, u),
        cross / n - np.outer(u, v),
        float(variance / n - v @ v),
    )
    for name, size, mean in (
        ("new", np.trace(moments.spread), moments.new),
        ("old", moments.variance, moments.old),
    ):
        if size <= 1e-24 * (mean @ mean) or size <= 0:
            raise Undefined(f"upgrade: all documents are the same point by the {name} model")
    return moments


def orthogonal(m: Moments) -> Affine:
    """The rotation, reflections included, that brings the new vectors closest to the old ones, with
    a shift and the ratio of their sizes: the polar factor of the cross-covariance."""
    u, _, vt = np.linalg.svd(m.cross, full_matrices=False)
    return Affine(m.new, u @ vt, float(np.sqrt(m.variance / np.trace(m.spread))), m.old)


def affine(m: Moments) -> Affine:
    """The ridge regression of the old vectors on the new ones, with the penalty of the smallest
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
    return Affine(m.new, directions @ (weights / (sizes + ridge)[:, None]), 1.0, m.old)


BRIDGES: Mapping[str, Callable[[Moments], Affine]] = {"orthogonal": orthogonal, "affine": affine}


def freedom(name: str, d: int, e: int) -> int:
    """How many free numbers a way to ask the old index has, shift and size apart."""
    least = min(d, e)
    return {"keep": 0, "orthogonal": least * (least - 1) // 2, "affine": d * e}[name]


def fitted(
    names: tuple[str, ...], new: Rows, old: Rows, rows: np.ndarray
) -> tuple[dict[str, Affine], dict[str, str]]:
    """Return the maps by name, and why the others are not assessed."""
    fewest = 2 * max(new.width, old.width)
    reasons = {}
    if "affine" in names and len(rows) < fewest:
        reasons["affine"] = (
            f"it needs {fewest:,} documents by both models that are no queries; there are "
            f"{len(rows):,}"
        )
    wanted = [name for name in names if name not in reasons]
    if not wanted:
        return {}, reasons
    both = moments(new, old, rows)
    return {name: BRIDGES[name](both) for name in wanted}, reasons
