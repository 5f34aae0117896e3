"""Check the inputs of :func:`resemblance.drift`, and bring the two versions to a common unit and
width."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..base.exceptions import UndefinedError
from ..base.text import check_choice
from ..contracts._statistic import class_indices as checked_labels
from ..contracts.streamed import require_features
from ..data.joining import align_columns
from ..data.representation import Representation, as_representation, check_same_samples
from ..intermediates.digits import check_digits
from .verdict import SIDES_BY_PURPOSE

# Versions with a larger ratio of sizes are in different units, and their squares overflow.
MAX_UNIT_RATIO = 1e50
MIN_PARAMETER_VALUES = {"n_resamples": 10, "k": 1, "max_samples": 20, "seed": 0}


def validate_threshold(threshold: Any) -> float | None:
    """Return the threshold as a number, or None for "calibrated"; raise ``ValueError`` unless the
    number is between 0 and 1."""
    if isinstance(threshold, str) and threshold == "calibrated":
        return None
    is_number = isinstance(threshold, Real) and not isinstance(threshold, bool)
    if is_number and 0 < float(threshold) < 1:
        return float(threshold)
    remedy = ""
    if is_number and 1 <= float(threshold) < math.inf:
        remedy = ": drift measures are shares of at most 1, so a larger threshold never finds drift"
        if float(threshold) < 100:
            remedy += f"; {float(threshold):g} % is {float(threshold) / 100:g}"
    raise ValueError(
        f'drift: threshold must be "calibrated" or a number between 0 and 1; got '
        f"{threshold!r}{remedy}"
    )


def check_parameters(*, tolerance: Any, purpose: Any, **counts: Any) -> None:
    """Raise ``ValueError`` for parameters of ``drift`` outside their ranges. ``counts``:
    ``n_resamples``, ``k``, ``max_samples`` and ``seed``, by name."""
    check_share("drift: tolerance", tolerance)
    check_choice("drift: purpose", purpose, SIDES_BY_PURPOSE)
    for name, value in counts.items():
        check_min_count(f"drift: {name}", value, MIN_PARAMETER_VALUES[name])


def check_flag(role: str, value: Any) -> bool:
    """Return a flag as ``bool``; raise ``ValueError`` if ``value`` is neither True nor False.
    ``role``: the parameter in messages."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{role} must be True or False; got {value!r}")
    return bool(value)


def check_share(role: str, value: Any) -> None:
    """Raise ``ValueError`` unless the value is a number between 0 and 1, without 0 and 1. ``role``:
    the parameter in messages."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < 1:
        raise ValueError(f"{role} must be a number between 0 and 1; got {value!r}")


def check_min_count(role: str, value: Any, minimum: int) -> None:
    """Raise ``ValueError`` unless the value is a whole number of at least ``minimum``. ``role``:
    the parameter in messages."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < minimum:
        raise ValueError(f"{role} must be at least {minimum} and a whole number; got {value!r}")


def validate_versions(
    reference: Any, current: Any, labels: Any
) -> tuple[Representation, Representation, np.ndarray | None]:
    """Return the two versions as representations of equal width, and the classes as integers from
    0, (n,); None without labels. Raise ``ValueError`` if the versions cannot be compared, and
    ``UndefinedError`` for fewer than 20 samples.

    ``reference``, ``current``: arrays of the same n samples. ``labels``: a class per sample, or
    None.
    """
    x, y = as_representation(reference, "reference"), as_representation(current, "current")
    require_features("drift", x, y)
    (n, _), (m, _) = x.shape, y.shape
    if n != m:
        raise ValueError(
            f"drift: the reference has {n} samples and the current version {m}; pass the same "
            "inputs, or compare batches of different samples: paired=False, or --unpaired"
        )
    check_same_samples("drift", x, y)
    x, y = align_columns("drift", (x, y), is_one_model=True)
    if n < 20:
        raise UndefinedError(f"drift needs at least 20 samples; got {n}")
    check_digits(x)
    groups = None if labels is None else checked_labels("drift", x, labels)
    if groups is not None and not groups.any():
        raise ValueError(
            "drift: labels name one class only; leave them out, or give at least two classes"
        )
    return x, y, groups


def columns_by_model(
    old: Sequence[Representation], new: Sequence[Representation]
) -> tuple[tuple[Representation, ...], tuple[Representation, ...]]:
    """Return the vectors of an old and of a new model with matching columns: all vectors of the old
    model, then of the new model.

    ``old``, ``new``: the documents first, then other vectors of the model. All vectors of a model
    get the same order of columns: the order of the old model, if old and new names are equal.
    Raises ``ValueError`` if names differ within a model, or if only some names of the two models
    are equal.
    """
    document_pair = align_columns("upgrade_index", (old[0], new[0]))
    return tuple(
        align_columns("upgrade_index", (documents, *representations[1:]), is_one_model=True)
        for documents, representations in zip(document_pair, (old, new))
    )  # type: ignore[return-value]


def common_unit(x: np.ndarray, y: np.ndarray) -> float:
    """Return the largest absolute value of the two versions x, the reference, and y, a unit for
    both; 1 if all values are 0.

    Raises :class:`UndefinedError` for a constant reference, and ``ValueError`` for sizes that
    differ by more than ``MAX_UNIT_RATIO``.
    """
    unit = max(float(np.abs(x).max()), float(np.abs(y).max())) or 1.0
    before, after = (float(np.abs(data / unit - data[:1] / unit).max()) for data in (x, y))
    if not np.ptp(x / unit, axis=0).any() and not np.ptp(x, axis=0).any():
        raise UndefinedError(
            "drift: the reference is constant (all its rows are equal): there is nothing to lose"
        )
    if (
        after * MAX_UNIT_RATIO < before and np.ptp(y, axis=0).any()
    ) or before * MAX_UNIT_RATIO < after:
        raise ValueError(
            "drift: the scales of both versions differ by a factor above 1e50: pass both in the "
            "same unit"
        )
    return unit


def to_common_space(
    x: np.ndarray, y: np.ndarray, unit: float
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return the two versions divided by ``unit`` in the same dimensions, and whether dimensions
    were dropped.

    ``x``, ``y``: (n, d) and (n, e); zeros pad the narrower version. Versions with more than 2n
    dimensions are rotated into the 2n dimensions that the versions span.
    """
    width = max(x.shape[1], y.shape[1])
    a, b = (np.pad(data / unit, ((0, 0), (0, width - data.shape[1]))) for data in (x, y))
    if width <= 2 * len(x):
        return a, b, False
    basis = np.linalg.qr(np.concatenate([a, b]).T)[0]
    return a @ basis, b @ basis, True
