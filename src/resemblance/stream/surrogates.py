"""Points that stand for the samples of a stream, so that measures run on them unchanged.

A value that follows from means and centred inner products of columns is unchanged by any orthogonal
map of the samples that leaves the means as they are. So D + 1 points that have these products may
take the place of n samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import unwrap
from typing import Any, NamedTuple

import numpy as np

from ..representation import Representation, StreamOrigin, fingerprint
from ..streamed import standing_for
from ..views.grams import gram_diagonal, gram_trace
from ..views.points import centered, directed, mean, mean_direction, unit_rows
from ..views.spectra import resolution
from .sums import LayerMoments

PLAIN = (mean, centered, resolution, fingerprint, unit_rows, mean_direction, directed)
OF_KERNELS = (gram_diagonal, gram_trace)


@dataclass(frozen=True)
class KnownViews:
    """The views of a layer that the points would give otherwise than the samples, by name; those of
    Gram matrices by name and kernel."""

    plain: Mapping[str, Any]
    of_kernels: Mapping[tuple[str, str], Any]

    def __call__(self, key: Any, compute: Callable[[Representation], Any]) -> Any:
        """Return a view by its key, or None where the points give it."""
        function, parameters = key
        name = next((v.__name__ for v in PLAIN if unwrap(v) is function), None)
        if name is not None:
            return self.plain.get(name)
        name = next((v.__name__ for v in OF_KERNELS if unwrap(v) is function), None)
        return self.of_kernels.get((name, dict(parameters)["kernel"].name)) if name else None


class Facts(NamedTuple):
    """What of a stream its moments do not say.

    By layer a hash, and the distance of neighbouring numbers in the precision of the data; by two
    layers how many rows have a direction in both.
    """

    stream: str
    n_samples: int
    power: int
    hashes: Sequence[str]
    resolutions: Sequence[float]
    counts: np.ndarray


def stand_ins(
    names: Sequence[str], parts: Sequence[LayerMoments], facts: Facts
) -> dict[str, Representation]:
    """Return the layers as representations of points that stand for the samples.

    ``parts`` are the moments of the points and, if they are known, of the directions.
    """
    accumulated = frozenset(("squares", "directions")[: len(parts)])
    points, plain, of_kernels = parts[0], _plain(parts, facts), _of_kernels(parts)
    layers = {}
    for i, name in enumerate(names):
        views = KnownViews(plain[i], of_kernels[i])
        origin = StreamOrigin(facts.stream, facts.n_samples, accumulated, facts.power, views)
        rows = _rows(points, i, facts.n_samples)
        layers[name] = standing_for(rows, name, origin)
    return layers


def _plain(parts: Sequence[LayerMoments], facts: Facts) -> list[dict[str, Any]]:
    """Return the views without parameters, by layer."""
    points, layers = parts[0], []
    for i, (digest, relative) in enumerate(zip(facts.hashes, facts.resolutions)):
        views: dict[str, Any] = {"mean": points.means[i], "centered": _spread(points.factors[i])}
        layers.append(views | {"fingerprint": digest, "resolution": relative})
    for directions in parts[1:]:
        both = _vectors_with(facts.counts)
        for i, views in enumerate(layers):
            views |= {"unit_rows": _rows(directions, i, facts.n_samples), "directed": both[i]}
            views["mean_direction"] = directions.means[i]
    return layers


def _of_kernels(parts: Sequence[LayerMoments]) -> list[dict[tuple[str, str], Any]]:
    """Return diagonal and trace of the centred Gram matrices, by layer; that of points in unit
    size."""
    layers: list[dict[tuple[str, str], Any]] = [{} for _ in parts[0].factors]
    for kernel, known in zip(("linear", "cosine"), parts):
        traces = np.array([np.sum(factor**2) for factor in known.factors])
        sizes = np.where(traces > 0, traces, 1.0) if kernel == "linear" else np.ones(len(layers))
        diagonals = _vectors_with(known.squares / np.outer(sizes, sizes))
        for views, diagonal, trace in zip(layers, diagonals, traces / sizes):
            views |= {("gram_diagonal", kernel): diagonal, ("gram_trace", kernel): trace}
    return layers


def _rows(known: LayerMoments, layer: int, n: int) -> np.ndarray:
    """Rows with the means and products of n samples, but fewer, so that each mean is larger."""
    around = _spread(known.factors[layer])
    return around + known.means[layer] * math.sqrt(n / len(around))


def _spread(factor: np.ndarray) -> np.ndarray:
    """Rows with the same inner products of columns, one more, whose mean is 0.

    They are H F for a matrix H whose columns are orthonormal, and orthogonal to the vector of ones.
    """
    rows, total = len(factor) + 1, factor.sum(axis=0)
    first = -total / math.sqrt(rows)
    return np.vstack([first, factor - total / (rows + math.sqrt(rows))])


def _vectors_with(products: np.ndarray) -> np.ndarray:
    """Vectors, one a row, that have these inner products."""
    values, vectors = np.linalg.eigh((products + products.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))
