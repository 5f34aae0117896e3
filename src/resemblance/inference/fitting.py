"""Fit models that are weighted sums of dissimilarities, to other subjects and other stimuli."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..base.exceptions import UndefinedError
from ..contracts._measure import Measure
from ..data.representation import Representation
from ..intermediates.distances import (
    MIN_SHARED_PAIRS,
    sample_weights_in_mean,
    whiten_dissimilarities,
)
from ..measures._dissimilarities import rdm
from ..significance.labels import label_codes
from ..significance.resampling import check_positive_integers, sample_groups
from .ceilings import noise_ceiling_from_vectors

FitMethod = Literal["weights", "one", "neighbors"]
FIT_COMPARISONS = ("cosine", "pearson", "whitened_cosine", "whitened_pearson")
MIN_FOLD_STIMULI = 3  # stimuli of a fold: two have one dissimilarity, whose cosine is 1
MIN_RELATIVE_LENGTH = 1e-12  # relative to the length before subtraction
FOLDS_BY_STIMULI = ((12, 2), (24, 3), (40, 4))  # (limit, folds): fewer stimuli than the limit
MAX_DEFAULT_FOLDS = 5


@dataclass(frozen=True, eq=False)
class RsaModelFit:
    """Dissimilarities of subjects and models, with the methods that fit and score the models.

    Subjects may have missing pairs (NaN) if the comparison allows missing pairs.
    """

    names: tuple[str, ...]  # subjects, then the parts of the models
    matrices: np.ndarray  # (subjects + parts, n, n), scaled to a maximum of 1
    sizes: tuple[int, ...]  # the number of parts of each model
    compare: str
    weights: np.ndarray  # (n,): of the stimuli, for whitened comparisons
    fit: FitMethod
    folds: list[np.ndarray]

    def scores(self, left_out: np.ndarray) -> np.ndarray:
        """Return scores without the stimuli ``left_out``, (subjects, models + 2), averaged over the
        folds.

        The last two columns are the lower and the upper noise ceiling.
        """
        tables = [self._on_fold(fold, left_out) for fold in self.folds]
        return np.asarray(np.mean(tables, axis=0))

    def _on_fold(self, fold: np.ndarray, left_out: np.ndarray) -> np.ndarray:
        all_stimuli = np.arange(len(self.weights))
        train = np.setdiff1d(all_stimuli, fold) if len(self.folds) > 1 else all_stimuli
        train, test = (np.setdiff1d(rows, left_out) for rows in (train, fold))
        if np.isnan(self.matrices).any():
            return self._on_pairs(train, test)
        train_vectors, test_vectors = self._prepared(train), self._prepared(test)
        count = len(self.names) - sum(self.sizes)
        subjects, train_subjects = (
            normalize_nonzero_rows(test_vectors[:count]),
            normalize_nonzero_rows(train_vectors[:count]),
        )
        columns, start = [], count
        for size in self.sizes:
            parts = slice(start, start + size)
            weights = np.ones((1, 1))
            if size > 1:
                weights = nonnegative_cosine_weights(
                    train_vectors[parts], train_subjects.sum(axis=0) - train_subjects, self.fit
                )
            else:
                self._check(test_vectors, start)
            columns.append(
                (subjects * normalize_nonzero_rows(weights @ test_vectors[parts])).sum(axis=1)
            )
            start += size
        for subject in range(count):
            self._check(test_vectors, subject)
        lower, upper = cosine_noise_ceiling(subjects @ subjects.T)
        return np.column_stack([*columns, lower, np.full(count, upper)])

    def _on_pairs(self, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        """Return the scores on the stimuli ``test`` if subjects have missing pairs.

        Models are fitted on the stimuli ``train`` to the mean of the other subjects over their
        available pairs. A subject is scored on its available pairs.
        """
        train_vectors, test_vectors = self._pairs(train), self._pairs(test)
        count = len(self.names) - sum(self.sizes)
        table, start = np.zeros((count, len(self.sizes) + 2)), count
        for column, size in enumerate(self.sizes):
            parts = slice(start, start + size)
            for subject in range(count):
                test_mask = ~np.isnan(test_vectors[subject])
                weights = np.ones((1, 1))
                if size > 1:
                    target = self._mean_of_others(train_vectors, subject)
                    train_mask = ~np.isnan(target)
                    self._check_pairs(train_mask, subject)
                    basis = self._ready(train_vectors[parts][:, train_mask])
                    weights = nonnegative_cosine_weights(
                        basis, self._ready(target[None, train_mask]), self.fit
                    )
                self._check_pairs(test_mask, subject)
                sides = (
                    self._ready(test_vectors[subject][None, test_mask]),
                    self._ready(test_vectors[parts][:, test_mask]),
                )
                self._check(sides[0], 0, subject)
                if size == 1:
                    self._check(sides[1], 0, start)
                table[subject, column] = (
                    normalize_nonzero_rows(sides[0]) * normalize_nonzero_rows(weights @ sides[1])
                ).sum()
            start += size
        bounds = noise_ceiling_from_vectors(test_vectors[:count], self.compare)
        if bounds is None:
            raise UndefinedError(
                "score_models: a subject shares fewer than three pairs of stimuli with others in "
                "a fold; take fewer folds, or leave the subject out"
            )
        table[:, -2], table[:, -1] = bounds
        return table

    def _pairs(self, rows: np.ndarray) -> np.ndarray:
        """Return the dissimilarities of the pairs of some stimuli, one row per matrix."""
        return np.asarray(self.matrices[:, rows[:, None], rows][:, *np.triu_indices(len(rows), 1)])

    def _mean_of_others(self, vectors: np.ndarray, subject: int) -> np.ndarray:
        """Return the mean dissimilarities of the other subjects, in units of their root mean
        square.

        The mean for a pair is over the subjects with that pair; NaN if no other subject has the
        pair.
        """
        count = len(self.names) - sum(self.sizes)
        total, counts = np.zeros(vectors.shape[1]), np.zeros(vectors.shape[1])
        for other in range(count):
            mask = ~np.isnan(vectors[other])
            if other != subject and mask.any():
                part = self._ready(vectors[other][None, mask])[0]
                total[mask] += part / (np.sqrt(np.mean(part**2)) or 1.0)
                counts += mask
        return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)

    def _ready(self, vectors: np.ndarray) -> np.ndarray:
        """Return vectors with cosines equal to the comparison; constant vectors become zeros."""
        if self.compare != "pearson":
            return vectors
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return _zero_rounding_rows(vectors - vectors.mean(axis=1, keepdims=True), lengths)

    def _check_pairs(self, mask: np.ndarray, subject: int) -> None:
        if np.count_nonzero(mask) < MIN_SHARED_PAIRS:
            raise UndefinedError(
                f"score_models: {self.names[subject]!r} has fewer than three pairs of stimuli, or "
                "others have, in a fold; take fewer folds, or leave the subject out"
            )

    def _check(self, vectors: np.ndarray, place: int, index: int | None = None) -> None:
        if not vectors[place].any():
            raise UndefinedError(
                "score_models: all dissimilarities of "
                f"{self.names[place if index is None else index]!r} are equal in a fold; take "
                "fewer folds, or labels of folds that each have stimuli of several kinds"
            )

    def _prepared(self, rows: np.ndarray) -> np.ndarray:
        """Return vectors of some stimuli, one per matrix, with cosines equal to the comparison.

        Rows are zeros for constant dissimilarities.
        """
        matrices = [*self.matrices[:, rows[:, None], rows], 1 - np.eye(len(rows))]
        if self.compare.startswith("whitened"):
            weights = self.weights[rows] / self.weights[rows].sum()
            vectors = np.array(
                [whiten_dissimilarities(matrix, weights).ravel() for matrix in matrices]
            )
        else:
            vectors = np.array([matrix[np.triu_indices(len(rows), 1)] for matrix in matrices])
        vectors, constant = vectors[:-1], vectors[-1]
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if self.compare.endswith("pearson"):  # remove the projection on constant dissimilarities
            vectors = vectors - np.outer(vectors @ constant / (constant @ constant), constant)
        return _zero_rounding_rows(vectors, lengths)


def _zero_rounding_rows(vectors: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the rows; rows with a norm that is only rounding error of ``lengths`` become zeros."""
    is_left = np.linalg.norm(vectors, axis=1, keepdims=True) > MIN_RELATIVE_LENGTH * lengths
    return np.where(is_left, vectors, 0.0)


def build_rsa_model_fit(
    measure: Measure,
    subjects: Sequence[Representation],
    parts: Sequence[Representation],
    sizes: Sequence[int],
    fit: FitMethod,
    folds: list[np.ndarray],
) -> RsaModelFit:
    """Return the fit of models; raise ``ValueError`` unless the measure is RSA with a cosine."""
    options = {**measure.defaults, **dict(measure.parameters)}
    if measure.name != "rsa" or options["compare"] not in FIT_COMPARISONS:
        raise ValueError(
            "score_models: weights and folds are for rsa with "
            f"compare={', '.join(FIT_COMPARISONS)}; got {measure}"
        )
    representations = [*subjects, *parts]
    matrices = np.array([rdm(x, options["rdm"]) for x in representations])
    largest = np.nanmax(np.abs(matrices), axis=(1, 2), keepdims=True)
    matrices = matrices / np.where(largest > 0, largest, 1.0)
    weights = sample_weights_in_mean(representations[0], options["variances"])
    names = tuple(x.name for x in representations)
    return RsaModelFit(names, matrices, tuple(sizes), options["compare"], weights, fit, folds)


def stimulus_folds(
    folds: Any, n: int, groups: np.ndarray | None, left_out: Sequence[np.ndarray], seed: int
) -> list[np.ndarray]:
    """Return the stimuli of each fold: from labels, or random folds of stimuli or blocks.

    Raises ``ValueError`` if a fold has fewer than three stimuli, also after leaving out any part of
    ``left_out``.
    """
    if folds is None:
        folds = next(
            (count for limit, count in FOLDS_BY_STIMULI if len(left_out) < limit), MAX_DEFAULT_FOLDS
        )
    if np.ndim(folds):
        numbers = label_codes("score_models", folds, n, "folds")
        parts = [np.flatnonzero(numbers == fold) for fold in range(numbers.max() + 1)]
    else:
        check_positive_integers("score_models", folds=folds)
        parts = [np.arange(n)]
        if folds > 1:
            parts = sample_groups(n, count=folds, blocks=groups, seed=seed)
    fewest = min(len(np.setdiff1d(fold, part)) for fold in parts for part in left_out)
    if fewest < MIN_FOLD_STIMULI:
        raise ValueError(
            f"score_models: a fold has {fewest} stimuli without those that are left out at a "
            "time; it "
            f"needs {MIN_FOLD_STIMULI}: take fewer folds; folds=1 fits to other subjects only"
        )
    return parts


def nonnegative_cosine_weights(
    parts: np.ndarray, targets: np.ndarray, fit: FitMethod
) -> np.ndarray:
    """Return nonnegative weights, (targets, parts), that maximise the cosine with each target.

    The weights are zeros if no weighted sum of parts has a cosine above 0. The nearest point of the
    cone of weighted sums has the largest cosine, so nonnegative least squares finds the weights,
    without starting values.
    """
    from scipy.optimize import nnls

    count = len(parts)
    lengths = np.linalg.norm(parts, axis=1)
    lengths = np.where(lengths > 0, lengths, 1.0)
    basis, triangle = np.linalg.qr((parts / lengths[:, None]).T)
    supports = {
        "weights": [list(range(count))],
        "one": [[i] for i in range(count)],
        "neighbors": [[i, i + 1] for i in range(count - 1)],
    }[fit]
    weights = np.zeros((len(targets), count))
    for row, target in zip(weights, targets @ basis):
        fits = [nnls(triangle[:, support], target) for support in supports]
        best = min(range(len(fits)), key=lambda i: fits[i][1])
        row[supports[best]] = fits[best][0]
    return weights / lengths


def normalize_nonzero_rows(vectors: np.ndarray) -> np.ndarray:
    """Return rows of length 1; rows of zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))


def cosine_noise_ceiling(square: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the lower noise ceilings, (subjects,), and the upper noise ceiling.

    ``square``: the cosines between subjects. The lower ceiling is the cosine of each subject with
    the sum of the other subjects; the upper ceiling is the highest possible mean cosine.
    """
    with_others = square.sum(axis=1) - np.diagonal(square)
    lengths = square.sum() - 2 * with_others - np.diagonal(square)
    lower = with_others / np.sqrt(np.maximum(lengths, np.finfo(float).tiny))
    return np.asarray(lower), float(np.sqrt(max(square.sum(), 0.0))) / len(square)
