"""Losses that no map undoes: dimensions, neighbours, class structure."""

from __future__ import annotations

import numpy as np

from ..base.formatting import format_percent
from .findings import (
    MIN_NAMED_CHANGE,
    Finding,
    bootstrap_mean_interval,
    leave_out_half_width,
    unassessed_finding,
)
from .maps import (
    MapFit,
    count_components,
    cross_validate_map,
    cross_validation_folds,
    fit_linear_map,
    principal_variance_shares,
)
from .retrieval import NeighborLosses

# below this number of samples per direction, the linear discriminant is shrunk
MIN_SAMPLES_PER_DIRECTION = 3


RemainingParts = tuple[np.ndarray, ...]


def collapse_finding(
    x: np.ndarray, y: np.ndarray, linear: MapFit | None, seed: int
) -> tuple[Finding, RemainingParts]:
    """Return the loss of dimensions from the reference x to the current version y; and the
    reference without the lost dimensions.

    x is (n, d), y (n, e). ``linear``: the linear map of x to y, None for too few samples. With a
    map, the second value holds two projections of the reference, on the output and on the input
    directions of the map. Without a map, one projection. () if no dimension is lost.

    Dimensions are lost if three conditions hold: the effective rank falls; y predicts x clearly
    worse than x predicts y; some direction keeps less than a tenth of the gain of another
    direction. Without a map, a single condition replaces the last two: the number of components
    with more than a millionth of the variance falls by more than a tenth.
    """
    before, after = _effective_dimension(x), _effective_dimension(y)
    log_ratios = [
        np.log(_effective_dimension(y[train]) / _effective_dimension(x[train]))
        for train, _ in cross_validation_folds(len(x), seed)
    ]
    noise = leave_out_half_width(log_ratios)
    low, high = (1 - after / before * float(np.exp(e)) for e in (noise, -noise))
    remaining_parts: RemainingParts = ()
    sentence = f"effective rank from {before:.3g} to {after:.3g}"
    if low > MIN_NAMED_CHANGE["collapse"]:
        if linear is None:
            remaining_parts, note = _part_kept_by_components(x, y)
        else:
            remaining_parts, note = _parts_kept_by_linear_map(x, y, linear, seed)
        sentence += note
    return Finding(
        "collapse", bool(remaining_parts), 1 - after / before, low, high, sentence
    ), remaining_parts


def _effective_dimension(x: np.ndarray) -> float:
    share = principal_variance_shares(x)
    return float(np.exp(-(share * np.log(share)).sum()))


def _parts_kept_by_linear_map(
    x: np.ndarray, y: np.ndarray, linear: MapFit, seed: int
) -> tuple[RemainingParts, str]:
    a = x - x.mean(axis=0)
    losses = cross_validate_map("linear", fit_linear_map, y, x, seed).residual - linear.residual
    left, singular_values, right = np.linalg.svd(
        fit_linear_map(a, y - y.mean(axis=0)), full_matrices=False
    )
    count = int((singular_values > 0.1 * singular_values[0]).sum())
    if (
        count >= count_components(x)
        or losses.mean() <= 0.01
        or bootstrap_mean_interval(losses, seed, "collapse")[0] <= 0
    ):
        return (), ""
    parts = tuple(a @ basis @ basis.T for basis in (right[:count].T, left[:, :count]))
    return (
        parts,
        f"; {format_percent(losses.mean())} of the variance of the reference cannot be recovered",
    )


def _part_kept_by_components(x: np.ndarray, y: np.ndarray) -> tuple[RemainingParts, str]:
    before, after = count_components(x), count_components(y)
    if after >= 0.9 * before:
        return (), ""
    u = np.linalg.svd(y - y.mean(axis=0), full_matrices=False)[0][:, :after]
    return (u @ (u.T @ (x - x.mean(axis=0))),), f"; {after} of {before} components are left"


def neighbor_loss_finding(losses: NeighborLosses, k: int, map_phrase: str, seed: int) -> Finding:
    """Return the finding about neighbours lost after all vectors are re-embedded. The loss is named
    if the chosen map does not explain the loss, and ``explained`` if the map does.

    ``losses``: the share of lost neighbours of every query, in three cases. ``k``: neighbours per
    query. ``map_phrase``: the words for the map in a sentence, such as "the map does".
    """
    smaller_losses = min(losses.reembedded, losses.mapped, key=np.mean)
    low, high = bootstrap_mean_interval(losses.reembedded, seed, "neighbours")
    is_named = (
        bootstrap_mean_interval(smaller_losses, seed, "neighbours")[0]
        > MIN_NAMED_CHANGE["neighbours"]
    )
    old_index_note = (
        ""
        if losses.old_index is None
        else f", {format_percent(losses.old_index.mean())} by new queries on old vectors"
    )
    sample_note = (
        "" if losses.among == losses.mapped_among else f" among {losses.mapped_among:,} samples"
    )
    sentence = (
        f"of the {k} nearest (Euclidean; {len(losses.reembedded):,} queries among {losses.among:,} "
        f"samples) {format_percent(losses.reembedded.mean())} are lost when everything is "
        f"re-embedded{old_index_note}, and {format_percent(losses.mapped.mean())}{sample_note} "
        f"beyond what {map_phrase}"
    )
    shares = (
        [losses.reembedded] if losses.old_index is None else [losses.reembedded, losses.old_index]
    )
    bound = bootstrap_mean_interval(max(shares, key=np.mean), seed, "neighbours")[0]
    is_explained = not is_named and bound > MIN_NAMED_CHANGE["neighbours"]
    amount = float(losses.reembedded.mean())
    return Finding(
        "neighbours", bool(is_named), amount, low, high, sentence, explained=is_explained
    )


def class_loss_finding(
    x: np.ndarray, y: np.ndarray, classes: np.ndarray | None, seed: int
) -> Finding:
    """Return the finding about the loss of accuracy (a share) of a linear discriminant from x, the
    reference, to y, the current version; not assessed without ``classes`` (n,). No invertible
    linear map changes the accuracy unless the discriminant is shrunk."""
    if classes is None:
        return unassessed_finding("classes", "it needs labels")
    is_shrunk = len(x) < MIN_SAMPLES_PER_DIRECTION * max(count_components(x), count_components(y))
    before, after = (classify_by_discriminant(data, classes, is_shrunk, seed) for data in (x, y))
    losses = before - after
    low, high = bootstrap_mean_interval(losses, seed, "classes")
    accuracies = f"from {format_percent(before.mean())} to {format_percent(after.mean())}"
    sentence = f"accuracy of a linear discriminant {accuracies}"
    is_named = losses.mean() > MIN_NAMED_CHANGE["classes"] and low > 0
    return Finding("classes", bool(is_named), float(losses.mean()), low, high, sentence)


def classify_by_discriminant(
    x: np.ndarray, classes: np.ndarray, is_shrunk: bool, seed: int
) -> np.ndarray:
    """Return 1.0 for every sample that a linear discriminant fitted to other samples classifies
    correctly, else 0.0: (n,).

    ``classes``: the class numbers, (n,). ``is_shrunk``: whether the covariance is shrunk, for few
    samples.
    """
    is_correct = np.zeros(len(x))
    for train, test in cross_validation_folds(len(x), seed):
        labels = np.unique(classes[train])
        means = np.array([x[train][classes[train] == c].mean(axis=0) for c in labels])
        residuals = x[train] - means[np.searchsorted(labels, classes[train])]
        weights = np.linalg.solve(_shrunk_covariance(residuals, is_shrunk), means.T)
        scores = x[test] @ weights - (means * weights.T).sum(axis=1) / 2
        is_correct[test] = labels[scores.argmax(axis=1)] == classes[test]
    return is_correct


def _shrunk_covariance(residuals: np.ndarray, is_shrunk: bool) -> np.ndarray:
    """Return the covariance within classes, (d, d), made invertible. ``residuals``: samples minus
    class means, (n, d). ``is_shrunk``: shrink the covariance towards a sphere by the optimal amount
    (Ledoit & Wolf)."""
    n, d = residuals.shape
    covariance, weight = residuals.T @ residuals / n, 1e-9
    if is_shrunk:
        from sklearn.covariance import ledoit_wolf_shrinkage

        weight = max(weight, ledoit_wolf_shrinkage(residuals, assume_centered=True))
    variance = float(np.trace(covariance)) / d or 1.0
    return (1 - weight) * covariance + weight * variance * np.eye(d)
