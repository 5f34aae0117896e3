"""Mean shape of several networks up to rotations."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..base.arrays import to_numpy
from ..base.exceptions import UndefinedError
from ..data.representation import (
    Representation,
    as_representation,
    check_same_samples,
    representation_title,
)
from ..intermediates.digits import check_digits
from ..intermediates.points import centered
from ..significance.resampling import check_positive_integers

MAX_MEAN_SHAPE_TURNS = 2000
# A turn that gains less than this share of the sum of squared sizes is the last turn.
MEAN_SHAPE_TOLERANCE = 1e-13
# Singular values below this share of the largest singular value are rounding errors.
MIN_SINGULAR_SHARE = 1e-12


def mean_shape(
    representations: Mapping[str, Any] | Iterable[Any],
    *,
    width: int | None = None,
    name: str = "mean",
) -> Representation:
    r"""Return the mean shape, the representation with the smallest sum of squared distances.

    .. math:: \operatorname*{argmin}_Z \sum_k \min_{Q_k^\top Q_k = I} \lVert X_k Q_k - Z \rVert_F^2

    for centred :math:`X_k`. The distance is ``procrustes_size_shape``; for the mean under
    ``procrustes``, divide every representation by its norm. Every representation is (n, d_k);
    narrower representations get zero columns. The mean is (n, w), centred, with columns along the
    principal axes, the widest axis first. ``width`` w is by default the rank of the mean, at most
    min(n, sum of d_k). A mean only as wide as the networks can be farther from all networks: three
    directions of the plane 120 degrees apart have the variance 5/9 around the best mean of one
    column and 1/2 around the best mean of two columns.

    A turn rotates the networks onto the mean and averages the rotated networks. The turns end when
    a turn gains less than 1e-13 of the sum of squares. The first mean is the principal axes of all
    features side by side, which have the mean Gram matrix. The result may be a local minimum. The
    function warns if 2000 turns are not enough.

    Raises ``ValueError`` for fewer than two representations, for different samples, and for a width
    that is not 1 to n.

    Reference: Gower 1975. netrep's ``frechet_mean`` has the same aim; its method "streaming" stops
    by its step, not at the minimum.
    """
    arrays = _centered_representations(representations)
    if len(arrays) < 2:
        raise ValueError(f"mean_shape: a mean needs two representations; got {len(arrays)}")
    n, columns = len(arrays[0]), sum(x.shape[1] for x in arrays)
    if width is not None:
        check_positive_integers("mean_shape", width=width)
    if width is not None and not 1 <= width <= n:
        raise ValueError(f"mean_shape: width of {n} samples is 1 to {n}; got {width}")
    largest = max(np.abs(x).max(initial=0.0) for x in arrays) or 1.0
    arrays = [x / largest for x in arrays]
    mean = _rotate_to_principal_axes(np.concatenate(arrays, axis=1) / len(arrays) ** 0.5)
    mean = _fit_width(mean, min(n, columns) if width is None else width)
    squares = sum(float((x**2).sum()) for x in arrays)
    value = np.inf
    for _ in range(MAX_MEAN_SHAPE_TURNS):
        mean = sum(x @ _best_turn(x, mean) for x in arrays) / len(arrays)
        previous, value = value, squares - len(arrays) * float((mean**2).sum())
        if previous - value <= MEAN_SHAPE_TOLERANCE * squares:
            break
    else:
        warnings.warn(
            f"mean_shape: not at its minimum after {MAX_MEAN_SHAPE_TURNS} turns", stacklevel=2
        )
    mean = _rotate_to_principal_axes(mean)
    mean = largest * (mean if width is None else _fit_width(mean, width))
    return Representation(mean, name, ids=_shared_sample_ids(representations))


def _shared_sample_ids(representations: Any) -> Any:
    """Return the sample ids of the first representation that has ids; None if no representation has
    ids. ``representations``: a mapping or an iterable of representations or arrays."""
    values = representations.values() if isinstance(representations, Mapping) else representations
    ids = [r.ids for r in values if isinstance(r, Representation) and r.ids is not None]
    return ids[0] if ids else None


def _centered_representations(representations: Any) -> list[np.ndarray]:
    """Return the centred points, (n, d_k) in float64, of a mapping or an iterable of
    representations of the same samples.

    Raises ``ValueError`` for other samples and for representations without features, and
    ``UndefinedError`` for values that are not finite.
    """
    entries = representations.items() if isinstance(representations, Mapping) else None
    pairs = entries or ((f"X{i}", x) for i, x in enumerate(representations))
    inputs = [as_representation(x, name) for name, x in pairs]
    for r in inputs:
        if r.origin or r.signed:
            raise ValueError(
                f"mean_shape: {representation_title(r)} has no features; these are needed"
            )
        if r.shape[0] != inputs[0].shape[0]:
            raise ValueError(
                f"mean_shape: {representation_title(inputs[0])} {inputs[0].shape} and "
                f"{representation_title(r)} {r.shape} must "
                "be representations of the same samples (rows)"
            )
        check_same_samples("mean_shape", inputs[0], r)
    arrays = [to_numpy(centered(r)).astype(float, copy=False) for r in inputs]
    for r, points in zip(inputs, arrays):
        if not np.isfinite(points).all():
            raise UndefinedError(
                f"mean_shape: {representation_title(r)} has NaN or infinite values; leave its rows "
                "out"
            )
        check_digits(r)
    return arrays


def _best_turn(x: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the Q (d, w) with orthonormal rows or columns for which the inner product of x Q and
    ``target`` is largest, for x (n, d) and ``target`` (n, w)."""
    left, _, right = np.linalg.svd(x.T @ target, full_matrices=False)
    turn: np.ndarray = left @ right
    return turn


def _rotate_to_principal_axes(points: np.ndarray) -> np.ndarray:
    """Return centred points (n, d) in coordinates along their principal axes, (n, rank), the
    widest axis first.

    In every column of the result the entry with the largest magnitude is positive.
    """
    left, values, _ = np.linalg.svd(points, full_matrices=False)
    rank = int((values > MIN_SINGULAR_SHARE * values.max(initial=0.0)).sum())
    axes: np.ndarray = left[:, :rank] * values[:rank]
    farthest = axes[np.abs(axes).argmax(axis=0), np.arange(rank)] if rank else np.ones(0)
    axes *= np.where(farthest < 0, -1.0, 1.0)
    return axes


def _fit_width(points: np.ndarray, width: int) -> np.ndarray:
    """Return the first ``width`` columns of ``points``, or all columns followed by columns of
    zeros: (n, width)."""
    return np.pad(points[:, :width], ((0, 0), (0, max(0, width - points.shape[1]))))
