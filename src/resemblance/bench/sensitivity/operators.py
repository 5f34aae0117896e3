"""Operators of Ding et al. 2021: normalisation, deletion of principal components, depth against
random starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.arrays import Array
from resemblance.base.exceptions import UndefinedError
from resemblance.contracts._measure import Measure
from resemblance.data.representation import (
    Representation,
    as_representation,
    check_all_finite,
    representation_title,
)
from resemblance.engine._compare import compare
from resemblance.intermediates.points import unit
from resemblance.intermediates.spectra import principal_coordinates
from resemblance.significance import known_mean

# The paper deletes these numbers out of 768 components.
PAPER_WIDTH = 768
PAPER_DELETIONS = (0, 100, 200, 300, 400, 500, 600, 650, 700, 725, 750, 758, 763, 767)


def normalize(X: Any) -> Array:
    r"""Return a representation with centred features and unit Frobenius norm, ready to compare.

    .. math:: (X - \mathbf 1 \bar x^\top) / \lVert X - \mathbf 1 \bar x^\top \rVert_F

    X is (n, d), an array of any library. The result has the shape, the library and the device of X.
    An array on the CPU gives float64; an array on a GPU gives float32, or float64 if X has float64.
    Measures that are invariant to translation and isotropic scaling do not need the normalisation.
    With the normalisation, all other measures compare shapes only.

    Raises ``ValueError`` for NaN and infinity, ``UndefinedError`` when all rows are equal.

    Reference: Ding et al. 2021, Section 2. The paper says that the mean of each sample is
    subtracted; the authors' code subtracts the mean of each neuron, and so does this function.
    """
    x = as_representation(X)
    check_all_finite(x)
    return unit(x)


def delete_principal_components(X: Any, k: int) -> Array:
    r"""Return the principal coordinates of a representation without the k components of least
    variance.

    .. math:: (X - \mathbf 1 \bar x^\top) V_{1:d-k}

    with the right singular vectors in order of decreasing singular values (the paper's
    :math:`U_{-k}^\top A`, with samples in columns). X is (n, d), and the result (n, d - k): the
    dimension decreases. With k = 0 the result is a rotation. The data span at most n - 1
    components; components beyond have no variance and are deleted first. The sign of every
    coordinate makes its largest entry positive.

    Raises ``ValueError`` unless 0 <= k < d, and for NaN and infinity; ``UndefinedError`` when all
    rows are equal.

    Reference: Ding et al. 2021, footnote 8. The authors' code then multiplies by d / (d - k), which
    the normalisation undoes.
    """
    x = as_representation(X)
    check_all_finite(x)
    d = x.shape[1]
    _check_deletable(k, d, "delete_principal_components")
    coordinates = principal_coordinates(x)[:, : d - k]
    n_missing = d - k - coordinates.shape[1]
    if n_missing <= 0:
        return coordinates
    zeros = x.xp.zeros((x.shape[0], n_missing), dtype=coordinates.dtype)
    return x.xp.concat([coordinates, zeros], axis=1)


def _check_deletable(k: Any, d: int, function: str) -> int:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k < d:
        raise ValueError(f"{function}: k must be a whole number from 0 to {d - 1}; got {k!r}")
    return int(k)


def numbers_to_delete(d: int) -> tuple[int, ...]:
    """Return how many of d components to delete: the paper's numbers out of 768, scaled to d and
    rounded down, without repetition."""
    return tuple(
        dict.fromkeys(
            d - 1 if k == PAPER_WIDTH - 1 else k * d // PAPER_WIDTH for k in PAPER_DELETIONS
        )
    )


class Deletion(NamedTuple):
    """The response of a measure to deleted principal components.

    ``share``: deleted components as a share of all dimensions. ``distance``: between a
    representation and the same representation after deletion, averaged over seeds. ``threshold``:
    the mean distance between seeds. ``detected``: the smallest share at which the distance exceeds
    the threshold; None if the distance never exceeds the threshold. Smaller deletions cannot be
    distinguished from another random start. ``unknown``: the reason why ``detected`` is unknown
    (missing distances or threshold); empty if known.
    """

    measure: str
    share: tuple[float, ...]
    distance: tuple[float, ...]
    threshold: float
    detected: float | None
    unknown: str = ""


def deletions(
    seeds: Sequence[Any],
    *,
    k: Iterable[int] | None = None,
    measures: Iterable[str | Measure] | None = None,
    **options: Any,
) -> dict[str, Deletion]:
    """Return, by measure, how many principal components can be deleted before the measure detects
    the deletion (Figure 2 of the paper).

    Parameters
    ----------
    seeds : representations (n, d) of the same samples, by models that differ only in their random
        start; at least two.
    k : numbers of components to delete. Default: the paper's 14 fractions.
    measures, options : as for :func:`resemblance.compare`.

    The undeleted representation is the first argument of a measure, as in the authors' code; the
    first argument determines the weights of PWCCA. Means leave out pairs without a value.
    """
    reps = [as_representation(x) for x in seeds]
    if len(reps) < 2 or len({r.shape for r in reps}) > 1:
        raise ValueError(
            f"deletions: two or more seeds of one shape are needed; got {[r.shape for r in reps]}"
        )
    d = reps[0].shape[1]
    if k is not None and (isinstance(k, str) or not isinstance(k, Iterable)):
        raise ValueError(
            f"deletions: k must be numbers of components in a list, such as [0, 4]; got {k!r}"
        )
    numbers = list(k) if k is not None else list(numbers_to_delete(d))
    ks = tuple(sorted({0, *(_check_deletable(number, d, "deletions") for number in numbers)}))
    rows = {f"seed {s}": normalize(r) for s, r in enumerate(reps)}
    columns = {
        f"seed {s} without {k}": delete_and_normalize(r, k) for s, r in enumerate(reps) for k in ks
    }
    comparison = compare(rows, columns, measures=measures, **{"progress": False, **options})
    shape = (len(reps), len(reps), len(ks))
    shares = tuple(k / d for k in ks)
    return {
        m.spec: deletion_curve(m.spec, shares, comparison.dissimilarity(m.spec).reshape(shape))
        for m in comparison.measures
    }


def delete_and_normalize(x: Representation, k: int) -> Array:
    """Return a representation (n, d) without k principal components, normalised: (n, d - k). Raises
    ``UndefinedError`` if the rest is constant."""
    try:
        return normalize(delete_principal_components(x, k))
    except UndefinedError as error:
        raise UndefinedError(
            f"{representation_title(x)}: nothing is left without {k} principal components ({error})"
        ) from error


def deletion_curve(measure: str, shares: Sequence[float], differences: np.ndarray) -> Deletion:
    """Return the response of a measure to deletions, from differences (seed, other seed, share):
    between a whole representation and a representation without components.

    ``measure``: the specification. ``shares``: of deleted components; the first share is 0.
    """
    n = len(differences)
    deletion_distances = differences[np.arange(n), np.arange(n)]  # (seed, share)
    seed_distances = differences[:, :, 0][~np.eye(n, dtype=bool)]
    curve, threshold = known_mean(deletion_distances), float(known_mean(seed_distances))
    candidates = [share for share, distance in zip(shares, curve) if distance > threshold]
    reason = "no distance between seeds" if not np.isfinite(threshold) else ""
    if not reason and not np.isfinite(curve).all():
        reason = f"no distance at {int((~np.isfinite(curve)).sum())} of {len(curve)} shares deleted"
    smallest_share = None if reason else min(candidates, default=None)
    return Deletion(
        measure, tuple(shares), tuple(curve.tolist()), threshold, smallest_share, reason
    )


class Depth(NamedTuple):
    """Distances between the layers of a seed, and distances to the layers of another seed (Figure
    1).

    ``within``: distances between the layers of a seed, (layers, layers). ``across``: distances from
    the layers of a seed to the layers of another seed. Both arrays are means over (ordered pairs
    of) seeds. ``exceeding``: by layer, the share of the other layers of the same model that are
    farther away than the same layer of another seed. The share is near 0 if a random start matters
    more than any depth, and near 1 for a specific measure. Missing distances do not count; NaN
    without any distance.
    """

    measure: str
    within: np.ndarray
    across: np.ndarray
    exceeding: tuple[float, ...]


def depth(
    models: Sequence[Mapping[str, Any]],
    *,
    measures: Iterable[str | Measure] | None = None,
    **options: Any,
) -> dict[str, Depth]:
    """Return, by measure, the distances between layers within models and across seeds.

    ``models``: a mapping from layer to representation (n, d) for every seed, with the same layers;
    at least two seeds and two layers. ``measures``, ``options``: as for
    :func:`resemblance.compare`. Raises ``ValueError`` for other models.
    """
    if not all(isinstance(model, Mapping) for model in models):
        got = [type(model).__name__ for model in models]
        raise ValueError(
            f"depth: models must map layers to representations, such as {{'block1': X}}; got {got}"
        )
    layers = [tuple(model) for model in models]
    if len(models) < 2 or len(set(layers)) > 1 or len(layers[0]) < 2:
        raise ValueError(
            f"depth: two or more models with the same two or more layers are needed; got {layers}"
        )
    samples = {as_representation(x).shape[0] for model in models for x in model.values()}
    if len(samples) > 1:
        raise ValueError(
            f"depth: all layers must have the same samples; numbers of rows are {sorted(samples)}"
        )
    reps = {
        f"seed {s}, {name}": normalize(x)
        for s, model in enumerate(models)
        for name, x in model.items()
    }
    comparison = compare(reps, measures=measures, **{"progress": False, **options})
    shape = (len(models), len(layers[0])) * 2
    return {
        m.spec: depth_from_differences(m.spec, comparison.dissimilarity(m.spec).reshape(shape))
        for m in comparison.measures
    }


def depth_from_differences(measure: str, differences: np.ndarray) -> Depth:
    """Return the distances within and across seeds, from differences (seed, layer, other seed,
    layer). ``measure``: the specification."""
    n = len(differences)
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    own_distances = known_mean(np.array([differences[a, :, a, :] for a in range(n)]))
    other_distances = known_mean(np.array([differences[a, :, b, :] for a, b in pairs]))
    layers = range(len(own_distances))
    shares = [
        [_share_farther(differences[a, l, a], differences[a, l, b, l], l) for l in layers]
        for a, b in pairs
    ]
    return Depth(
        measure, own_distances, other_distances, tuple(known_mean(np.array(shares)).tolist())
    )


def _share_farther(row: np.ndarray, other_seed: float, layer: int) -> float:
    """Return the share of the other layers of a model that are farther from a layer than the same
    layer of another seed; NaN without a known distance.

    ``row``: distances from the layer to all layers of the model, (layers,). ``other_seed``: the
    distance from the layer to the same layer of another seed. ``layer``: the position of the layer.
    """
    distances = np.delete(row, layer)
    distances = distances[~np.isnan(distances)]
    if np.isnan(other_seed) or not len(distances):
        return np.nan
    return float((distances > other_seed).mean())
