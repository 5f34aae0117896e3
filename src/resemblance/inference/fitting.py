"""Fit models that are weighted sums of dissimilarities, to other subjects and other stimuli."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base.exceptions import UndefinedError
from ..contracts._measure import Measure
from ..data.representation import Representation
from ..intermediates.distances import (
    MIN_SHARED_PAIRS,
    sample_whitening,
    sub_covariance,
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
MAX_DESCRIBED_PARTS = 4  # parts of a model that a summary names


class FittedPart(NamedTuple):
    """A part of a fitted model, as fitted for one subject in one fold.

    The fit uses the other subjects and, with several folds, the stimuli of the other folds. The sum
    of the dissimilarities of the parts, as given, with the ``weight`` of each part is the fitted
    model up to a factor; the weights of a fit sum to 1. ``share`` is the weight of the same part
    scaled to length 1 in the metric of the comparison; the shares of a fit sum to 1. All weights
    are 0 if no weighted sum of the parts has a cosine above 0.
    """

    model: str
    part: str
    subject: str
    fold: int
    weight: float
    share: float


def describe_fitted_parts(parts: Sequence[FittedPart]) -> list[str]:
    """Return a line of text for each fitted model: the parts with their mean shares over subjects
    and folds, the largest first."""
    lines = []
    for model, by_part in shares_by_part(parts).items():
        means = {name: float(np.mean(values)) for name, values in by_part.items() if any(values)}
        names = sorted(means, key=lambda name: -means[name])
        first, rest = names[:MAX_DESCRIBED_PARTS], names[MAX_DESCRIBED_PARTS:]
        words = [f"{means[name]:.2f} {name}" for name in first]
        words += [f"{sum(means[name] for name in rest):.2f} of {len(rest)} more"] if rest else []
        lines.append(f"mean shares of the parts of {model}: {', '.join(words) or 'all 0'}")
    return lines


def shares_by_part(parts: Sequence[FittedPart]) -> dict[str, dict[str, list[float]]]:
    """Return the shares of every part, over subjects and folds, by model and part."""
    shares: dict[str, dict[str, list[float]]] = {}
    for part in parts:
        shares.setdefault(part.model, {}).setdefault(part.part, []).append(part.share)
    return shares


@dataclass(frozen=True, eq=False)
class RsaModelFit:
    """Dissimilarities of subjects and models, with the methods that fit and score the models.

    Subjects may have missing pairs (NaN) if the comparison allows missing pairs.
    """

    names: tuple[str, ...]  # subjects, then the parts of the models
    matrices: np.ndarray  # (subjects + parts, n, n), scaled to a maximum of 1
    units: np.ndarray  # (subjects + parts,): the factors that scale the dissimilarities to 1
    sizes: tuple[int, ...]  # the number of parts of each model
    compare: str
    covariance: np.ndarray  # (n,) or (n, n): of the errors of stimuli, for whitened comparisons
    fit: FitMethod
    folds: list[np.ndarray]

    def scores(self, left_out: np.ndarray) -> np.ndarray:
        """Return scores without the stimuli ``left_out``, row indices, (subjects, models + 2),
        averaged over the folds.

        The last two columns are the lower ceiling of each subject and the upper noise ceiling.
        """
        tables = [self._on_fold(fold, left_out) for fold in self.folds]
        return np.asarray(np.mean(tables, axis=0))

    def fitted_parts(self, models: Mapping[str, Sequence[str]]) -> tuple[FittedPart, ...]:
        """Return the weights and shares of the parts of the fitted models, for each subject and
        fold, fitted on the stimuli of the other folds, or on all stimuli with one fold.

        ``models``: the names of the parts of each model, in the order of ``sizes``; one-part models
        are left out.
        """
        records = []
        for number, fold in enumerate(self.folds):
            train = self._train_and_test(fold, np.arange(0))[0]
            start, weights = self.count, self._weights(train)
            for (model, parts), table in zip(models.items(), weights):
                stop = start + len(parts)
                lengths = self._part_lengths(slice(start, stop), train)
                for subject, row in zip(self.names, table if len(parts) > 1 else ()):
                    columns = (row * self.units[start:stop], row * lengths)
                    columns = tuple(column / (column.sum() or 1.0) for column in columns)
                    records += [
                        FittedPart(model, part, subject, number, float(weight), float(share))
                        for part, weight, share in zip(parts, *columns)
                    ]
                start = stop
        return tuple(records)

    @property
    def count(self) -> int:
        """The number of subjects."""
        return len(self.names) - sum(self.sizes)

    @cached_property
    def has_gaps(self) -> bool:
        """Whether a subject has missing pairs."""
        return bool(np.isnan(self.matrices).any())

    def _train_and_test(
        self, fold: np.ndarray, left_out: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the stimuli to fit on, and the stimuli to score on: all stimuli outside ``fold``,
        and ``fold``, as row indices. With one fold both are all stimuli. Neither has the stimuli
        ``left_out``."""
        all_stimuli = np.arange(len(self.covariance))
        train = np.setdiff1d(all_stimuli, fold) if len(self.folds) > 1 else all_stimuli
        return np.setdiff1d(train, left_out), np.setdiff1d(fold, left_out)

    def _weights(self, train: np.ndarray) -> list[np.ndarray]:
        """Return, for each model, the weights of its parts for each subject, (subjects, parts).

        The function fits on the stimuli ``train``, row indices. The weight of a model of one part
        is 1.
        """
        if all(size == 1 for size in self.sizes):
            return [np.ones((self.count, 1)) for _ in self.sizes]
        if self.has_gaps:
            return self._weights_from_pairs(train)
        vectors, weights, start = self._prepared(train), list[np.ndarray](), self.count
        subjects = normalize_nonzero_rows(vectors[: self.count])
        for size in self.sizes:
            parts = vectors[start : start + size]
            targets = subjects.sum(axis=0) - subjects
            weights.append(
                nonnegative_cosine_weights(parts, targets, self.fit)
                if size > 1
                else np.ones((self.count, 1))
            )
            start += size
        return weights

    def _weights_from_pairs(self, train: np.ndarray) -> list[np.ndarray]:
        """Return, for each model, the weights of its parts for each subject, (subjects, parts),
        fitted to the mean of the other subjects over the available pairs of the stimuli ``train``,
        row indices."""
        vectors, start = self._pairs(train), self.count
        weights = [np.ones((self.count, size)) for size in self.sizes]
        for table, size in zip(weights, self.sizes):
            for subject in range(self.count if size > 1 else 0):
                target = self._mean_of_others(vectors, subject)
                mask = ~np.isnan(target)
                self._check_pairs(mask, subject)
                basis = self._ready(vectors[start : start + size][:, mask])
                table[subject] = nonnegative_cosine_weights(
                    basis, self._ready(target[None, mask]), self.fit
                )
            start += size
        return weights

    def _part_lengths(self, parts: slice, train: np.ndarray) -> np.ndarray:
        """Return the lengths, on the stimuli ``train``, of the dissimilarities of the matrices
        ``parts`` in the metric of the comparison, (parts,)."""
        vectors = (
            self._ready(self._pairs(train)[parts])
            if self.has_gaps
            else self._prepared(train)[parts]
        )
        return np.asarray(np.linalg.norm(vectors, axis=1))

    def _on_fold(self, fold: np.ndarray, left_out: np.ndarray) -> np.ndarray:
        train, test = self._train_and_test(fold, left_out)
        if self.has_gaps:
            return self._on_pairs(train, test)
        vectors, count = self._prepared(test), self.count
        subjects = normalize_nonzero_rows(vectors[:count])
        columns, start = [], count
        for size, weights in zip(self.sizes, self._weights(train)):
            if size == 1:
                self._check(vectors, start)
            sums = weights @ vectors[start : start + size]
            columns.append((subjects * normalize_nonzero_rows(sums)).sum(axis=1))
            start += size
        for subject in range(count):
            self._check(vectors, subject)
        lower, upper = cosine_noise_ceiling(subjects @ subjects.T)
        return np.column_stack([*columns, lower, np.full(count, upper)])

    def _on_pairs(self, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        """Return the table of :meth:`scores` on the stimuli ``test`` of models fitted on
        ``train``, if subjects have missing pairs.

        A subject is scored on its available pairs. Raises ``UndefinedError`` if too few pairs are
        left.
        """
        vectors, count = self._pairs(test), self.count
        table, start = np.zeros((count, len(self.sizes) + 2)), count
        for column, (size, weights) in enumerate(zip(self.sizes, self._weights(train))):
            for subject in range(count):
                mask = ~np.isnan(vectors[subject])
                self._check_pairs(mask, subject)
                sides = (
                    self._ready(vectors[subject][None, mask]),
                    self._ready(vectors[start : start + size][:, mask]),
                )
                self._check(sides[0], 0, subject)
                if size == 1:
                    self._check(sides[1], 0, start)
                sums = weights[[subject]] @ sides[1]
                table[subject, column] = (
                    normalize_nonzero_rows(sides[0]) * normalize_nonzero_rows(sums)
                ).sum()
            start += size
        bounds = noise_ceiling_from_vectors(vectors[:count], self.compare)
        if bounds is None:
            raise UndefinedError(
                "score_models: a subject shares fewer than three pairs of stimuli with others in "
                "a fold; take fewer folds, or leave the subject out"
            )
        table[:, -2], table[:, -1] = bounds
        return table

    def _pairs(self, rows: np.ndarray) -> np.ndarray:
        """Return the dissimilarities of the pairs of the stimuli ``rows``, (subjects + parts,
        pairs), row by row above the diagonal."""
        return np.asarray(self.matrices[:, rows[:, None], rows][:, *np.triu_indices(len(rows), 1)])

    def _mean_of_others(self, vectors: np.ndarray, subject: int) -> np.ndarray:
        """Return the mean over the other subjects of their dissimilarities divided by the root
        mean square, (pairs,). ``vectors``: (subjects + parts, pairs). ``subject``: a row number.

        The mean for a pair is over the subjects with that pair; NaN if no other subject has the
        pair.
        """
        total, counts = np.zeros(vectors.shape[1]), np.zeros(vectors.shape[1])
        for other in range(self.count):
            mask = ~np.isnan(vectors[other])
            if other != subject and mask.any():
                part = self._ready(vectors[other][None, mask])[0]
                total[mask] += part / (np.sqrt(np.mean(part**2)) or 1.0)
                counts += mask
        return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)

    def _ready(self, vectors: np.ndarray) -> np.ndarray:
        """Return vectors (rows, pairs) whose cosines are the comparison: centred for "pearson",
        otherwise unchanged. Constant vectors become zeros if centred."""
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
        """Return a vector per matrix, on the stimuli ``rows``, with cosines equal to the
        comparison: (subjects + parts, entries).

        Rows are zeros for constant dissimilarities.
        """
        matrices = [*self.matrices[:, rows[:, None], rows], 1 - np.eye(len(rows))]
        if self.compare.startswith("whitened"):
            whitening = sample_whitening(len(rows), sub_covariance(self.covariance, rows))
            vectors = np.array(
                [whiten_dissimilarities(matrix, whitening).ravel() for matrix in matrices]
            )
        else:
            vectors = np.array([matrix[np.triu_indices(len(rows), 1)] for matrix in matrices])
        vectors, constant = vectors[:-1], vectors[-1]
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if self.compare.endswith("pearson"):  # remove the projection on constant dissimilarities
            vectors = vectors - np.outer(vectors @ constant / (constant @ constant), constant)
        return _zero_rounding_rows(vectors, lengths)


def _zero_rounding_rows(vectors: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return ``vectors`` with zeros in rows whose norm is only rounding error of ``lengths``,
    (rows, 1)."""
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
    """Return the fit of models. ``parts``: the parts of all models, one model after another;
    ``sizes``: the number of parts of each model; ``folds``: the stimuli of each fold. Raises
    ``ValueError`` unless the measure is RSA with a cosine."""
    options = {**measure.defaults, **dict(measure.parameters)}
    if measure.name != "rsa" or options["compare"] not in FIT_COMPARISONS:
        raise ValueError(
            "score_models: weights and folds are for rsa with "
            f"compare={', '.join(FIT_COMPARISONS)}; got {measure}"
        )
    representations = [*subjects, *parts]
    matrices = np.array([rdm(x, options["rdm"]) for x in representations])
    largest = np.nanmax(np.abs(matrices), axis=(1, 2), keepdims=True)
    largest = np.where(largest > 0, largest, 1.0)
    n = representations[0].n_samples
    covariance = np.ones(n) if options["covariance"] is None else np.array(options["covariance"])
    sample_whitening(n, covariance)  # raises for a covariance that does not fit
    names = tuple(x.name for x in representations)
    matrices, units = matrices / largest, 1 / largest[:, 0, 0]
    compare = options["compare"]
    return RsaModelFit(names, matrices, units, tuple(sizes), compare, covariance, fit, folds)


def stimulus_folds(
    folds: Any, n: int, groups: np.ndarray | None, left_out: Sequence[np.ndarray], seed: int
) -> list[np.ndarray]:
    """Return the stimuli of each fold, as row indices.

    ``folds``: a label per stimulus, (n,), or a number of random folds; None for the default number.
    ``groups``: (n,), block numbers, to keep together in a fold; None for single stimuli.
    ``left_out``: row indices of the stimuli to leave out, a part at a time. Raises ``ValueError``
    if a fold has fewer than three stimuli, also without any of these parts.
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
    """Return nonnegative weights w, (targets, parts), for which w @ parts has the largest cosine
    with each target.

    ``parts``: (parts, entries). ``targets``: (targets, entries). ``fit``: all parts, one part, or
    two neighbouring parts may have weights. The weights are zeros if no weighted sum of parts has a
    cosine above 0. The nearest point of the cone of weighted sums has the largest cosine, so
    nonnegative least squares finds the weights, without starting values.
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
    """Return new rows: ``vectors`` (rows, entries) divided by the lengths of the rows; rows of
    zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))


def cosine_noise_ceiling(square: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the lower noise ceilings, (subjects,), and the upper noise ceiling.

    ``square``: the cosines between subjects, (subjects, subjects). The lower ceiling is the cosine
    of each subject with the sum of the other subjects; the upper ceiling is the highest possible
    mean cosine.
    """
    with_others = square.sum(axis=1) - np.diagonal(square)
    lengths = square.sum() - 2 * with_others - np.diagonal(square)
    lower = with_others / np.sqrt(np.maximum(lengths, np.finfo(float).tiny))
    return np.asarray(lower), float(np.sqrt(max(square.sum(), 0.0))) / len(square)
