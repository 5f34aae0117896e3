"""Surrogate points for the samples of a stream, so that measures run without changes.

Some values follow from the means and the centred inner products of columns. An orthogonal map of
the samples leaves such values unchanged if the map keeps the means. So D + 1 points with the same
means and products can replace n samples.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import unwrap
from typing import Any

import numpy as np

from ..contracts.streamed import as_surrogate
from ..data.representation import Representation, StreamSummary, fingerprint
from ..intermediates.digits import DOUBLE_EPSILON, resolution, rounding_share
from ..intermediates.grams import gram_diagonal, gram_trace
from ..intermediates.points import centered, directed, mean, mean_direction, unit_rows
from .rows import LayerFacts
from .state import StreamState
from .sums import LayerMoments

SURROGATE_INTERMEDIATES = (
    mean, centered, resolution, rounding_share, fingerprint, unit_rows, mean_direction, directed,
)  # fmt: skip
KERNEL_INTERMEDIATES = (gram_diagonal, gram_trace)
SURROGATE_NAMES = {
    unwrap(intermediate): intermediate.__name__
    for intermediate in (*SURROGATE_INTERMEDIATES, *KERNEL_INTERMEDIATES)
}


@dataclass(frozen=True)
class SurrogateIntermediates:
    """The intermediates of a layer for which the surrogate points would give a wrong value, by
    name.

    Intermediates of Gram matrices have a key of name and kernel.
    """

    intermediates: Mapping[str | tuple[str, str], Any]

    def __call__(self, key: Any, compute: Callable[[Representation], Any]) -> Any:
        """Return the intermediate with the cache key ``key`` = (function, parameters); None if the
        surrogate points give the right value. ``compute`` is not used."""
        function, parameters = key
        name = SURROGATE_NAMES.get(function, "")
        kernel = dict(parameters).get("kernel")
        return self.intermediates.get((name, kernel.name) if kernel and name else name)


def surrogate_layers(
    state: StreamState, layers: Mapping[str, int], facts: Sequence[LayerFacts], are_all: bool
) -> dict[str, Representation]:
    """Return surrogate points, as representations by name, for the given layers (position by name).

    Surrogate points have the sums of products of the samples. ``state``: without buffered rows,
    from :meth:`StreamState.closed`. ``facts``: one entry per layer, in the order of ``layers``.
    ``are_all``: whether the stream keeps all pairs of layers; then representations from separate
    calls can be compared.
    """
    n, digest, positions = state.n, state.digest(), list(layers.values())
    moments = [sums.moments(positions, n) for sums in state.parts]
    points, row_kinds = moments[0], frozenset(("squares", "directions")[: len(moments)])
    all_intermediates = _gram_diagonals_and_traces(moments)
    for i, (name, intermediates) in enumerate(zip(layers, all_intermediates)):
        intermediates["fingerprint"] = hashlib.sha256(f"{digest} {name}".encode()).hexdigest()[:32]
        intermediates |= {"resolution": facts[i].resolution, "mean": points.means[i]}
        intermediates["centered"] = _centered_surrogate_rows(points.factors[i])
        intermediates["rounding_share"] = _streamed_rounding_share(
            points, i, n, facts[i].resolution
        )
    for directions in moments[1:]:
        vectors = _vectors_from_products(state.counts[np.ix_(positions, positions)])
        for i, intermediates in enumerate(all_intermediates):
            intermediates |= {
                "unit_rows": _surrogate_rows(directions, i, n),
                "directed": vectors[i],
            }
            intermediates["mean_direction"] = directions.means[i]
    stream, power = digest if are_all else f"{digest} {' '.join(layers)}", state.parts[0].power
    representations = {}
    for i, (name, intermediates) in enumerate(zip(layers, all_intermediates)):
        origin = StreamSummary(
            stream, n, facts[i].dtype, row_kinds, power, SurrogateIntermediates(intermediates)
        )
        representations[name] = as_surrogate(_surrogate_rows(points, i, n), name, origin)
    return representations


def _gram_diagonals_and_traces(
    moments: Sequence[LayerMoments],
) -> list[dict[str | tuple[str, str], Any]]:
    """Return a mapping for each layer: the diagonal and the trace of the centred Gram matrices, by
    ("gram_diagonal" or "gram_trace", kernel). A diagonal is a vector with the right inner products
    between layers. ``moments``: of the points, then of the directions if there are any.

    The linear Gram matrix is computed from points in unit size.
    """
    layers: list[dict[str | tuple[str, str], Any]] = [{} for _ in moments[0].factors]
    for kernel, layer_moments in zip(("linear", "cosine"), moments):
        traces = np.array([np.sum(factor**2) for factor in layer_moments.factors])
        sizes = np.where(traces > 0, traces, 1.0) if kernel == "linear" else np.ones(len(layers))
        diagonals = _vectors_from_products(layer_moments.squares / np.outer(sizes, sizes))
        for intermediates, diagonal, trace in zip(layers, diagonals, traces / sizes):
            intermediates |= {("gram_diagonal", kernel): diagonal, ("gram_trace", kernel): trace}
    return layers


def _streamed_rounding_share(moments: LayerMoments, layer: int, n: int, precision: float) -> float:
    """Return the rounding error of n samples of the layer at position ``layer``, relative to the
    norm of the centred points.

    Constant columns, and columns with mean 1 or -1, count as exact. :func:`rounding_share` may
    return more: an upper bound. ``precision``: the coarsest machine epsilon of the stored data.
    """
    means, squares = moments.means[layer], np.sum(moments.factors[layer] ** 2, axis=0)
    eps, spread = max(precision, DOUBLE_EPSILON), float(squares.sum())
    is_exact = (squares == 0) | (np.abs(np.abs(means) - 1) <= 4 * eps)
    total = float(np.sum(np.where(is_exact, 0.0, squares + n * means**2)))
    return eps * math.sqrt(total / spread) if spread else 0.0


def _surrogate_rows(moments: LayerMoments, layer: int, n: int) -> np.ndarray:
    """Return fewer than n rows with the sums of products of n samples of a layer, (rows, d).

    The means are larger than the means of the samples, to compensate for the number of rows.
    """
    rows = _centered_surrogate_rows(moments.factors[layer])
    return rows + moments.means[layer] * math.sqrt(n / len(rows))


def _centered_surrogate_rows(factor: np.ndarray) -> np.ndarray:
    """Return centred rows (D + 1, d) with the same inner products of columns as ``factor``, (D,
    d).

    The rows are H F for a matrix H with orthonormal columns orthogonal to the vector of ones.
    """
    rows, total = len(factor) + 1, factor.sum(axis=0)
    first_row = -total / math.sqrt(rows)
    return np.vstack([first_row, factor - total / (rows + math.sqrt(rows))])


def _vectors_from_products(products: np.ndarray) -> np.ndarray:
    """Return vectors, the rows of an (m, m) matrix, with the inner products ``products``, (m, m);
    negative eigenvalues count as 0."""
    values, vectors = np.linalg.eigh((products + products.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))
