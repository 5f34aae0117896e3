"""Noise ceilings from dissimilarities: a subject against the pooled dissimilarities of other
subjects.

Ranks or scaled dissimilarities are pooled. Subjects with missing pairs are compared on the
available pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..contracts._measure import Measure
from ..data.representation import Representation
from ..intermediates.distances import MIN_SHARED_PAIRS, average_ranks_in_range
from ..measures._dissimilarities import rdm
from ..measures.similarity_analysis import kendall_tau_from_ranks

RANK_COMPARISONS = ("spearman", "kendall", "kendall_a", "rho_a")
PAIRWISE_COMPARISONS = (*RANK_COMPARISONS, "pearson", "cosine")


def rank_comparison_name(measure: Measure) -> str:
    """Return the rank comparison of an RSA measure, such as "spearman"; "" for any other measure
    or comparison."""
    compare = pairwise_comparison_name(measure)
    return compare if compare in RANK_COMPARISONS else ""


def pairwise_comparison_name(measure: Measure) -> str:
    """Return the comparison of an RSA measure if the comparison allows missing pairs; "" for any
    other measure or comparison."""
    options = {**measure.defaults, **dict(measure.parameters)}
    is_of_pairs = measure.name == "rsa" and options["compare"] in PAIRWISE_COMPARISONS
    return str(options["compare"]) if is_of_pairs else ""


def pairwise_noise_ceilings(
    measure: Measure, subjects: Sequence[Representation], groups: np.ndarray | None
) -> list[tuple[np.ndarray, float]] | None:
    """Return noise ceilings on all stimuli, then without each stimulus, or without each group;
    ``groups``: (n,), a number per stimulus.

    An entry has the lower ceilings, the scores of subjects with the mean of the other subjects,
    (subjects,), and the upper ceiling, the mean score with the mean of all subjects. The function
    averages ranks for rank comparisons, and otherwise dissimilarities divided by their root mean
    square. The mean for a pair is over the subjects with that pair, and a score covers the pairs of
    the subject that other subjects have too. Rank comparisons rank the pooled ranks again. Return
    None if a subject shares fewer than three pairs with other subjects.
    """
    options, n = {**measure.defaults, **dict(measure.parameters)}, subjects[0].n_samples
    matrices = np.array([rdm(x, options["rdm"]) for x in subjects])
    units = np.arange(n) if groups is None else groups
    sets = [np.arange(n), *(np.flatnonzero(units != unit) for unit in np.unique(units))]
    triangles = (np.triu_indices(len(rows), 1) for rows in sets)
    vectors = (matrices[:, rows[:, None], rows][:, *index] for rows, index in zip(sets, triangles))
    bounds = [noise_ceiling_from_vectors(part, options["compare"]) for part in vectors]
    defined_bounds = [bound for bound in bounds if bound is not None]
    return defined_bounds if len(defined_bounds) == len(bounds) else None


def noise_ceiling_from_vectors(
    vectors: np.ndarray, compare: str
) -> tuple[np.ndarray, float] | None:
    """Return the lower ceilings, (subjects,), and the upper ceiling of
    :func:`pairwise_noise_ceilings` for vectors of pairs.

    ``vectors``: dissimilarities, (subjects, pairs), with NaN for missing pairs. ``compare``: the
    comparison of ``rsa``. Return None if a subject shares fewer than three pairs.
    """
    masks = ~np.isnan(vectors)
    parts = np.zeros(vectors.shape)
    for part, vector, mask in zip(parts, vectors, masks):
        if np.count_nonzero(mask) < MIN_SHARED_PAIRS:
            return None
        part[mask] = _prepare_for_averaging(vector[mask], compare, len(vector))
    total, counts = parts.sum(axis=0), masks.sum(axis=0)
    pooled = total / np.maximum(counts, 1)
    lower, upper = [], []
    for part, mask in zip(parts, masks):
        shared = mask & (counts > 1)
        if np.count_nonzero(shared) < MIN_SHARED_PAIRS:
            return None
        mean_of_others = (total - part)[shared] / (counts[shared] - 1)
        lower.append(_compare_dissimilarity_vectors(part[shared], mean_of_others, compare))
        upper.append(_compare_dissimilarity_vectors(part[mask], pooled[mask], compare))
    return np.array(lower), float(np.mean(upper))


def _prepare_for_averaging(vector: np.ndarray, compare: str, count: int) -> np.ndarray:
    """Return the ranks of ``vector`` for rank comparisons, otherwise the dissimilarities divided
    by their root mean square (centred first for "pearson"), to average over subjects.

    ``vector``: the dissimilarities of the present pairs. ``count``: the number of all pairs; ranks
    of fewer pairs are stretched to the range of the ranks of all pairs.
    """
    if compare in RANK_COMPARISONS:
        return _ranks_of_present_pairs(vector) * ((count + 1) / (len(vector) + 1))
    vector = vector - vector.mean() if compare == "pearson" else vector
    length = np.sqrt(np.mean(vector**2))
    return np.asarray(vector / (length if length > 0 else 1.0))


def _ranks_of_present_pairs(vector: np.ndarray) -> np.ndarray:
    return np.asarray(average_ranks_in_range(vector, float(vector.min()), float(vector.max())))


def _compare_dissimilarity_vectors(a: np.ndarray, b: np.ndarray, compare: str) -> float:
    """Return the comparison ``compare`` of two vectors of dissimilarities ``a`` and ``b``,
    (pairs,), a number in [-1, 1].

    The result is 0 for a constant vector, and for ``compare="cosine"`` for a zero vector.
    """
    if compare in RANK_COMPARISONS:
        a, b = _ranks_of_present_pairs(a), _ranks_of_present_pairs(b)
    if compare != "cosine" and (np.ptp(a) == 0 or np.ptp(b) == 0):
        return 0.0
    if compare.startswith("kendall"):
        return kendall_tau_from_ranks(a, b, compare)
    if compare != "cosine":
        a, b = a - a.mean(), b - b.mean()
    if compare == "rho_a":
        return float(12 * (a @ b) / (len(a) ** 3 - len(a)))
    length = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / length) if length > 0 else 0.0
