"""Variance of means over subjects and stimuli, which are both drawn."""

from __future__ import annotations

import numpy as np


def crossed_covariances(values: np.ndarray, without: np.ndarray) -> np.ndarray:
    """Return the covariances of the means over subjects that come from subjects, from stimuli, and
    from both, (3, m, m).

    ``values``: (subjects, m); ``without``: (stimuli, subjects, m), each left out. The spread of
    subjects is that of their values: that of their pseudo-values is a quarter too large.
    """
    n, count, m = without.shape
    pseudo = n * values - (n - 1) * without
    of_stimuli = pseudo.mean(axis=1)
    rest = pseudo - pseudo.mean(axis=0) - of_stimuli[:, None] + pseudo.mean(axis=(0, 1))
    both = np.einsum("psi,psj->ij", rest, rest) / ((n - 1) * (count - 1)) / (n * count)
    parts = [np.cov(values.T) / count, np.cov(of_stimuli.T) / n, both]
    return np.array([np.reshape(part, (m, m)) for part in parts])


def standard_errors(contrasts: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    one, other, both = np.einsum("ci,fij,cj->fc", contrasts, covariances, contrasts)
    variances = np.maximum.reduce([one + other - both, one, other])
    return np.asarray(np.sqrt(np.maximum(variances, 0)))  # of equal models below 0 by rounding
