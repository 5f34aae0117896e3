"""Checks on data with many equal distances and more features than samples, which reveal rounding
that orders equal distances."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..base.rng import generator
from .behavior import depends_on_sample_positions
from .trial import CheckContext, CheckResult, permute_context_samples

EXTRA_FEATURES = 20  # number of features above the number of samples


def ties_in_wide_data(trial: CheckContext) -> CheckResult:
    """Check that neither a permutation of the samples nor columns of zeros change the value of
    categories, bits and counts with more columns than samples.

    The check adds columns of zeros if the measure claims ``orthogonal``, unless the columns also
    change the value of generic data: the measure then counts columns. An approximate search, and
    random draws for each position, decide nothing.
    """
    adds_zeros = "orthogonal" in trial.entry.invariant_to and not _depends_on_column_count(trial)
    order = generator(1, "order of ties").permutation(trial.samples)
    if dict(trial.entry.parameters).get("search") == "hnsw":
        return "", None, "an approximate search depends on the order of the samples"
    for kind, x, y in pairs_with_equal_distances(trial.samples):
        a, b = trial.suited(x), trial.suited(y)
        value = trial.value_or_nan(a, b)
        if math.isnan(value):
            continue
        permuted_trial, inputs = permute_context_samples(trial, order, (a, b))
        reordered = permuted_trial.value_or_nan(*inputs)
        if not trial.same(reordered, value) and depends_on_sample_positions(trial):
            return (
                "",
                None,
                f"draws for each position: {kind}: {value:.6g}, reordered {reordered:.6g}",
            )
        if not trial.same(reordered, value):
            return "", False, f"{kind}: m(X, Y) = {value:.6g}, reordered {reordered:.6g}"
        padded_value = value
        if adds_zeros:
            padded_value = trial.value_or_nan(_append_zero_columns(a), _append_zero_columns(b))
        if not trial.same(padded_value, value):
            return (
                "",
                False,
                f"{kind}: m(X, Y) = {value:.6g}, with columns of zeros {padded_value:.6g}",
            )
    return "", True, ""


def pairs_with_equal_distances(n: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield (kind, X, Y), where X and Y have the shape (n, n + 20); Y has many equal distances, and
    X has rank 3. ``kind``: the kind of Y, in words."""
    rng, d = generator(0, "ties in wide data"), n + EXTRA_FEATURES
    low_rank = rng.standard_normal((n, 3)) @ rng.standard_normal((3, d))
    categories = np.eye(d)[rng.integers(0, n // 2, n)]
    fingerprints = np.eye(d)[rng.integers(0, d, n)] + np.eye(d)[rng.integers(0, d, n)]
    words = [np.bincount(rng.zipf(1.6, 5).clip(1, d) - 1, minlength=d) for _ in range(n)]
    levels = rng.integers(-1, 2, (n, 4)) @ rng.integers(-1, 2, (4, d))
    for kind, y in (
        ("categories", categories),
        ("fingerprints of two bits", (fingerprints > 0).astype(float)),
        ("bags of words", np.array(words, dtype=float)),
        ("steps of 0.1", 0.1 * levels),
        ("bits far away", rng.integers(0, 2, (n, 3))[:, rng.integers(0, 3, d)] + 1e6),
    ):
        yield kind, low_rank, y


def _depends_on_column_count(trial: CheckContext) -> bool:
    x, y = trial.inputs()
    return not trial.same(
        trial.value_or_nan(_append_zero_columns(x), _append_zero_columns(y)),
        trial.value_or_nan(x, y),
    )


def _append_zero_columns(x: np.ndarray) -> np.ndarray:
    return np.hstack([x, np.zeros_like(x)])
