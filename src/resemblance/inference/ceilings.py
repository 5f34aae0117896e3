"""Noise ceilings of comparisons of ranks: what subjects score with the pooled ranks of others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..dissimilarities import rdm
from ..measure import Measure
from ..measures.similarity_analysis import kendall
from ..representation import Representation
from ..views.distances import ranks_within

OF_RANKS = ("spearman", "kendall", "kendall_a", "rho_a")


def compared_ranks(measure: Measure) -> str:
    """Return how a measure compares the ranks of dissimilarities; empty for any other."""
    options = {**measure.defaults, **dict(measure.parameters)}
    is_of_ranks = measure.name == "rsa" and options["compare"] in OF_RANKS
    return str(options["compare"]) if is_of_ranks else ""


def ceilings_of_ranks(
    measure: Measure, subjects: Sequence[Representation], groups: np.ndarray | None
) -> list[tuple[np.ndarray, float]]:
    """Return what each subject scores with the mean ranks of the others, (subjects,), and the mean
    score with those of all: of all stimuli, then without each, or without each group.

    The pooled ranks are ranked again where the comparison ranks.
    """
    options, n = {**measure.defaults, **dict(measure.parameters)}, subjects[0].n_samples
    matrices = np.array([rdm(x, options["rdm"]) for x in subjects])
    units = np.arange(n) if groups is None else groups
    sets = [np.arange(n), *(np.flatnonzero(units != unit) for unit in np.unique(units))]
    return [_ceiling(matrices[:, rows[:, None], rows], options["compare"]) for rows in sets]


def _ceiling(matrices: np.ndarray, compare: str) -> tuple[np.ndarray, float]:
    above = np.triu_indices(matrices.shape[1], 1)
    ranks = np.array([_ranks(matrix[above]) for matrix in matrices])
    total, count = ranks.sum(axis=0), len(ranks)
    pooled = _ranks(total)
    lower = [_score(row, _ranks((total - row) / (count - 1)), compare) for row in ranks]
    return np.array(lower), float(np.mean([_score(row, pooled, compare) for row in ranks]))


def _ranks(vector: np.ndarray) -> np.ndarray:
    return np.asarray(ranks_within(vector, float(vector.min()), float(vector.max())))


def _score(a: np.ndarray, b: np.ndarray, compare: str) -> float:
    """Return the comparison of two vectors of ranks; 0 with one that orders nothing."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    if compare.startswith("kendall"):
        return kendall(a, b, compare)
    a, b, count = a - a.mean(), b - b.mean(), len(a)
    if compare == "rho_a":
        return float(12 * (a @ b) / (count**3 - count))
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))
