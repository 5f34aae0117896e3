"""Noise ceilings from dissimilarities: what subjects score with the pooled dissimilarities, or
ranks, of others; of subjects that lack pairs, on the pairs that they have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..contracts._measure import Measure
from ..data.representation import Representation
from ..intermediates.distances import FEWEST_PAIRS, ranks_within
from ..measures._dissimilarities import rdm
from ..measures.similarity_analysis import kendall

OF_RANKS = ("spearman", "kendall", "kendall_a", "rho_a")
OF_PAIRS = (*OF_RANKS, "pearson", "cosine")


def compared_ranks(measure: Measure) -> str:
    """Return how a measure compares the ranks of dissimilarities; empty for any other."""
    compare = compared_pairs(measure)
    return compare if compare in OF_RANKS else ""


def compared_pairs(measure: Measure) -> str:
    """Return how a measure compares dissimilarities pair by pair, of which some may be missing;
    empty for any other."""
    options = {**measure.defaults, **dict(measure.parameters)}
    is_of_pairs = measure.name == "rsa" and options["compare"] in OF_PAIRS
    return str(options["compare"]) if is_of_pairs else ""


def ceilings_of_pairs(
    measure: Measure, subjects: Sequence[Representation], groups: np.ndarray | None
) -> list[tuple[np.ndarray, float]] | None:
    """Return what each subject scores with the mean of the others, (subjects,), and the mean score
    with that of all: of all stimuli, then without each, or without each group.

    What is averaged of each subject is what the comparison has of it: ranks, or the dissimilarities
    in units of their root mean square. The mean of a pair is over the subjects that have the pair,
    and a score is of the pairs of the subject that others have too. Pooled ranks are ranked again
    where the comparison ranks. None where a subject shares fewer than three pairs with others.
    """
    options, n = {**measure.defaults, **dict(measure.parameters)}, subjects[0].n_samples
    matrices = np.array([rdm(x, options["rdm"]) for x in subjects])
    units = np.arange(n) if groups is None else groups
    sets = [np.arange(n), *(np.flatnonzero(units != unit) for unit in np.unique(units))]
    above = (np.triu_indices(len(rows), 1) for rows in sets)
    vectors = (matrices[:, rows[:, None], rows][:, *at] for rows, at in zip(sets, above))
    bounds = [ceiling_of_pairs(part, options["compare"]) for part in vectors]
    known = [bound for bound in bounds if bound is not None]
    return known if len(known) == len(bounds) else None


def ceiling_of_pairs(vectors: np.ndarray, compare: str) -> tuple[np.ndarray, float] | None:
    """Return the ceilings of :func:`ceilings_of_pairs` of the dissimilarities of subjects,
    (subjects, pairs), NaN where a subject lacks a pair; None where a subject shares too few."""
    has = ~np.isnan(vectors)
    parts = np.zeros(vectors.shape)
    for part, vector, mine in zip(parts, vectors, has):
        if np.count_nonzero(mine) < FEWEST_PAIRS:
            return None
        part[mine] = _made_ready(vector[mine], compare, len(vector))
    total, counts = parts.sum(axis=0), has.sum(axis=0)
    pooled = total / np.maximum(counts, 1)
    lower, upper = [], []
    for part, mine in zip(parts, has):
        shared = mine & (counts > 1)
        if np.count_nonzero(shared) < FEWEST_PAIRS:
            return None
        others = (total - part)[shared] / (counts[shared] - 1)
        lower.append(_score(part[shared], others, compare))
        upper.append(_score(part[mine], pooled[mine], compare))
    return np.array(lower), float(np.mean(upper))


def _made_ready(vector: np.ndarray, compare: str, count: int) -> np.ndarray:
    """Return what is averaged over subjects; ranks of fewer than ``count`` pairs reach as far as
    those of all."""
    if compare in OF_RANKS:
        return _ranks(vector) * ((count + 1) / (len(vector) + 1))
    vector = vector - vector.mean() if compare == "pearson" else vector
    length = np.sqrt(np.mean(vector**2))
    return np.asarray(vector / (length if length > 0 else 1.0))


def _ranks(vector: np.ndarray) -> np.ndarray:
    return np.asarray(ranks_within(vector, float(vector.min()), float(vector.max())))


def _score(a: np.ndarray, b: np.ndarray, compare: str) -> float:
    """Return the comparison of two vectors of pairs; 0 with one that orders nothing."""
    if compare in OF_RANKS:
        a, b = _ranks(a), _ranks(b)
    if compare != "cosine" and (np.ptp(a) == 0 or np.ptp(b) == 0):
        return 0.0
    if compare.startswith("kendall"):
        return kendall(a, b, compare)
    if compare != "cosine":
        a, b = a - a.mean(), b - b.mean()
    if compare == "rho_a":
        return float(12 * (a @ b) / (len(a) ** 3 - len(a)))
    length = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / length) if length > 0 else 0.0
