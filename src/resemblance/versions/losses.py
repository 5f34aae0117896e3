"""What no map gives back: lost dimensions, neighbours, classes."""

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

# with fewer samples per direction than this, a linear discriminant is shrunk
MIN_SAMPLES_PER_DIRECTION = 3


RemainingParts = tuple[np.ndarray, ...]


def collapse_finding(
    x: np.ndarray, y: np.ndarray, linear: MapFit | None, seed: int
) -> tuple[Finding, RemainingParts]:
    """Return the lost dimensions, and the reference without them, about its mean, by where the rest
    arrives or comes from.

    They are lost when the effective rank falls, the reference can be predicted from the current
    version clearly worse than the other way round, and some direction keeps less than a tenth of
    the gain of another. An invertible map may lower the effective rank too, but nothing is lost.
    Without a linear map to judge (``None``: too few samples), they are lost when fewer components
    than before hold all but a millionth of the variance of each.
    """
    before, after = _effective_dimension(x), _effective_dimension(y)
    parts = [
        np.log(_effective_dimension(y[train]) / _effective_dimension(x[train]))
        for train, _ in cross_validation_folds(len(x), seed)
    ]
    noise = leave_out_half_width(parts)
    low, high = (1 - after / before * float(np.exp(e)) for e in (noise, -noise))
    remains: RemainingParts = ()
    words = f"effective rank from {before:.3g} to {after:.3g}"
    if low > MIN_NAMED_CHANGE["collapse"]:
        remains, more = (
            _part_kept_by_components(x, y)
            if linear is None
            else _parts_kept_by_linear_map(x, y, linear, seed)
        )
        words += more
    return Finding("collapse", bool(remains), 1 - after / before, low, high, words), remains


def _effective_dimension(x: np.ndarray) -> float:
    share = principal_variance_shares(x)
    return float(np.exp(-(share * np.log(share)).sum()))


def _parts_kept_by_linear_map(
    x: np.ndarray, y: np.ndarray, linear: MapFit, seed: int
) -> tuple[RemainingParts, str]:
    a = x - x.mean(axis=0)
    lost = cross_validate_map("linear", fit_linear_map, y, x, seed).residual - linear.residual
    left, gains, right = np.linalg.svd(fit_linear_map(a, y - y.mean(axis=0)), full_matrices=False)
    count = int((gains > 0.1 * gains[0]).sum())
    if (
        count >= count_components(x)
        or lost.mean() <= 0.01
        or bootstrap_mean_interval(lost, seed, "collapse")[0] <= 0
    ):
        return (), ""
    parts = tuple(a @ basis @ basis.T for basis in (right[:count].T, left[:, :count]))
    return (
        parts,
        f"; {format_percent(lost.mean())} of the variance of the reference cannot be recovered",
    )


def _part_kept_by_components(x: np.ndarray, y: np.ndarray) -> tuple[RemainingParts, str]:
    before, after = count_components(x), count_components(y)
    if after >= 0.9 * before:
        return (), ""
    u = np.linalg.svd(y - y.mean(axis=0), full_matrices=False)[0][:, :after]
    return (u @ (u.T @ (x - x.mean(axis=0))),), f"; {after} of {before} components are left"


def neighbor_loss_finding(lost: NeighborLosses, k: int, beyond: str, seed: int) -> Finding:
    """Return the neighbours that are lost when everything is embedded again, named if they are lost
    beyond the chosen map too."""
    least = min(lost.reembedded, lost.mapped, key=np.mean)
    low, high = bootstrap_mean_interval(lost.reembedded, seed, "neighbours")
    named = bootstrap_mean_interval(least, seed, "neighbours")[0] > MIN_NAMED_CHANGE["neighbours"]
    old = (
        ""
        if lost.old_index is None
        else f", {format_percent(lost.old_index.mean())} by new queries on old vectors"
    )
    among = "" if lost.among == lost.mapped_among else f" among {lost.mapped_among:,} samples"
    words = (
        f"of the {k} nearest (Euclidean; {len(lost.reembedded):,} queries among {lost.among:,} "
        f"samples) {format_percent(lost.reembedded.mean())} are lost when everything is embedded "
        f"again{old}, and {format_percent(lost.mapped.mean())}{among} beyond what {beyond}"
    )
    shares = [lost.reembedded] if lost.old_index is None else [lost.reembedded, lost.old_index]
    most = bootstrap_mean_interval(max(shares, key=np.mean), seed, "neighbours")[0]
    explained = not named and most > MIN_NAMED_CHANGE["neighbours"]
    amount = float(lost.reembedded.mean())
    return Finding("neighbours", bool(named), amount, low, high, words, explained=explained)


def class_loss_finding(
    x: np.ndarray, y: np.ndarray, classes: np.ndarray | None, seed: int
) -> Finding:
    """Return the loss of accuracy of a linear discriminant, which no invertible linear map changes
    unless the discriminant is shrunk."""
    if classes is None:
        return unassessed_finding("classes", "it needs labels")
    shrunk = len(x) < MIN_SAMPLES_PER_DIRECTION * max(count_components(x), count_components(y))
    before, after = (classify_by_discriminant(data, classes, shrunk, seed) for data in (x, y))
    lost = before - after
    low, high = bootstrap_mean_interval(lost, seed, "classes")
    accuracies = f"from {format_percent(before.mean())} to {format_percent(after.mean())}"
    words = f"accuracy of a linear discriminant {accuracies}"
    named = lost.mean() > MIN_NAMED_CHANGE["classes"] and low > 0
    return Finding("classes", bool(named), float(lost.mean()), low, high, words)


def classify_by_discriminant(
    x: np.ndarray, classes: np.ndarray, shrunk: bool, seed: int
) -> np.ndarray:
    """Return, as 1 or 0, which samples a discriminant fitted to others classifies correctly."""
    right = np.zeros(len(x))
    for train, test in cross_validation_folds(len(x), seed):
        known = np.unique(classes[train])
        means = np.array([x[train][classes[train] == c].mean(axis=0) for c in known])
        within = x[train] - means[np.searchsorted(known, classes[train])]
        weights = np.linalg.solve(_shrunk_covariance(within, shrunk), means.T)
        scores = x[test] @ weights - (means * weights.T).sum(axis=1) / 2
        right[test] = known[scores.argmax(axis=1)] == classes[test]
    return right


def _shrunk_covariance(within: np.ndarray, shrunk: bool) -> np.ndarray:
    """Return the covariance within classes, made invertible; if ``shrunk``, towards a sphere by the
    amount that pays (Ledoit & Wolf)."""
    n, d = within.shape
    covariance, weight = within.T @ within / n, 1e-9
    if shrunk:
        from sklearn.covariance import ledoit_wolf_shrinkage

        weight = max(weight, ledoit_wolf_shrinkage(within, assume_centered=True))
    variance = float(np.trace(covariance)) / d or 1.0
    return (1 - weight) * covariance + weight * variance * np.eye(d)
