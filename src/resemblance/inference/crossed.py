"""Variance of means in a crossed design with random subjects and random stimuli."""

from __future__ import annotations

import numpy as np


def crossed_covariances(values: np.ndarray, jackknife: np.ndarray) -> np.ndarray:
    """Return the covariances (m, m) of the means over subjects, stacked to (3, m, m): from
    subjects, from stimuli, and from both.

    ``values``: (subjects, m), the scores of m models on all stimuli; ``jackknife``: the scores
    without each stimulus, (stimuli, subjects, m). The variance over subjects uses ``values``,
    because the variance of pseudo-values is a quarter too large.
    """
    n, count, m = jackknife.shape
    pseudo = n * values - (n - 1) * jackknife
    stimulus_means = pseudo.mean(axis=1)
    residuals = pseudo - pseudo.mean(axis=0) - stimulus_means[:, None] + pseudo.mean(axis=(0, 1))
    interaction = (
        np.einsum("psi,psj->ij", residuals, residuals) / ((n - 1) * (count - 1)) / (n * count)
    )
    parts = [np.cov(values.T) / count, np.cov(stimulus_means.T) / n, interaction]
    return np.array([np.reshape(part, (m, m)) for part in parts])


def standard_errors(contrasts: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    subjects, stimuli, interaction = np.einsum("ci,fij,cj->fc", contrasts, covariances, contrasts)
    variances = np.maximum.reduce([subjects + stimuli - interaction, subjects, stimuli])
    # Rounding can make the variance of equal models negative.
    return np.asarray(np.sqrt(np.maximum(variances, 0)))
