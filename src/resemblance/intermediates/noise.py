"""The noise of responses: estimate the noise covariance, and check a noise matrix given by the
user."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, Literal

import numpy as np

from ..base.arrays import as_float64, detach, to_numpy
from ..base.exceptions import UndefinedError
from ..base.text import check_choice
from ..data.gaps import (
    MEAN_OVER_FINITE_TRIALS,
    count_trials_with_gaps,
    describe_gaps,
    describe_trial_gaps,
)
from ..data.inputs import check_label_order
from ..data.representation import (
    Representation,
    as_representation,
    check_all_finite,
    representation_title,
)
from ..significance.labels import label_codes
from .digits import check_digits

# Degrees of freedom of the residuals needed to distinguish a precision from a covariance.
MIN_RESIDUAL_FREEDOM = 10
MAX_COVARIANCE_ASYMMETRY = 1e-8  # largest asymmetry of a covariance, relative to its largest entry

Shrinkage = Literal["diagonal", "identity", "only"]


def noise_covariance(
    X: Any, conditions: Any = None, *, shrink: Shrinkage | None = "diagonal", dof: int | None = None
) -> np.ndarray:
    r"""Return the noise covariance of responses, (d, d): the covariance of trials around the mean
    of their condition.

    .. math:: S = \tfrac{1}{\mathrm{dof}} \sum_k e_k e_k^\top, \qquad \hat S = (1 - \lambda) S +
        \lambda T

    ``X`` is (trials, d); without ``conditions`` residuals are from the mean of all trials. ``dof``
    is by default trials minus conditions; set ``dof`` for residuals of a model with more
    parameters. ``shrink``: ``"diagonal"`` shrinks correlations and leaves variances (target T the
    diagonal of S; Schäfer and Strimmer 2005), ``"identity"`` shrinks to the mean variance (Ledoit
    and Wolf 2004); both estimate the weight λ from the data. ``"only"`` is the diagonal alone, and
    ``None`` is S.

    Trials with NaN are left out, with a warning: a covariance over the available numbers of every
    pair of features need not have an inverse.

    Raises ``ValueError`` for labels of another length, for ``dof`` below 1 (as many conditions as
    trials) and for another ``shrink``; ``UndefinedError`` for infinite values, for NaN in all
    trials, and where the trials differ by less than rounding.

    Reference: Ledoit and Wolf 2004; Schäfer and Strimmer 2005.
    """
    x = as_trial_representation("noise_covariance", X)
    points = trial_features("noise_covariance", x, "these trials are left out")
    n, d = points.shape
    numbers = np.zeros(n, int)
    if conditions is not None:
        numbers = label_codes("noise_covariance", conditions, n, "conditions")
        check_label_order(
            "noise_covariance", representation_title(x), x.order, conditions=conditions
        )
    if (is_whole := ~np.isnan(points).any(axis=1)).sum() < n:
        if not is_whole.any():
            raise UndefinedError(
                f"{representation_title(x)} {describe_trial_gaps(np.isnan(points))}"
            )
        points = points[is_whole]
        numbers = np.unique(numbers[is_whole], return_inverse=True)[1]
        n = len(points)
    dof = n - int(numbers.max()) - 1 if dof is None else dof
    if not isinstance(dof, Real) or dof < 1:
        raise ValueError(
            f"noise_covariance: {n} trials leave {dof!r} degrees of freedom; noise needs "
            "conditions that are repeated"
        )
    check_choice("noise_covariance: shrink", shrink, ("diagonal", "identity", "only", None))
    residuals = points - mean_rows_by_number(points, numbers)[numbers]
    products = residuals.T @ residuals
    variances = np.diagonal(products)
    if shrink is None or d == 1:
        return np.asarray(products / dof)
    if shrink == "only":
        return np.diag(variances) / dof
    # Sums over trials of the squared products of two residuals.
    squares = (residuals**2).T @ (residuals**2)
    if shrink == "identity":
        target = variances.mean() / n * np.eye(d)
        distance = float(((products / n - target) ** 2).sum())
        error = float((squares / n - (products / n) ** 2).sum()) / n
        weight = min(error / distance, 1.0) if distance else 1.0
        return np.asarray((weight * target * n + (1 - weight) * products) / dof)
    weight = _diagonal_shrinkage_weight(products, squares, n)
    return np.asarray(np.where(np.eye(d, dtype=bool), products, (1 - weight) * products) / dof)


def _diagonal_shrinkage_weight(products: np.ndarray, squares: np.ndarray, n: int) -> float:
    """Return the shrinkage weight Σ Var(r) / Σ r² over the correlations r of different features,
    between 0 and 1; 1 if all correlations are 0.

    ``products``, ``squares``: (d, d), the sums over n residuals of the products of two features,
    and of the squares of the products.
    """
    scale = np.sqrt(np.diagonal(products))
    scale = np.where(scale > 0, scale, 1.0)
    correlation = products / np.outer(scale, scale)
    variance = n / (n - 1) * (squares / np.outer(scale, scale) ** 2 - correlation**2 / n)
    off_diagonal = ~np.eye(len(scale), dtype=bool)
    total = float((correlation[off_diagonal] ** 2).sum())
    return float(np.clip(variance[off_diagonal].sum() / total, 0, 1)) if total else 1.0


# ----------------------------------------------------------------------------------- as an argument


def check_noise(noise: Any, points: np.ndarray, numbers: np.ndarray) -> None:
    """Raise ``ValueError`` for ``noise`` with a separate matrix per run, (runs, d, d), and for a
    matrix (d, d) that looks like a precision (an inverse covariance). Other values pass.

    ``points``: the trials, (trials, d), NaN where missing. ``numbers``: the condition of every
    trial. Noise looks like a precision if two conditions hold. As a precision, the matrix predicts
    the mean square of the residuals of the trials within a factor of 4. And as a precision it
    explains the shape of the residuals better, by 0.1 in log-likelihood per number, than as a
    covariance of free size. Fewer than 10 degrees of freedom decide nothing.
    """
    d = points.shape[1]
    if np.ndim(noise) == 3:
        raise ValueError(
            f"dissimilarities: noise of {d} features is ({d}, {d}); got {np.shape(noise)}; of one "
            "covariance for each run pass their mean, np.mean(noise, axis=0)"
        )
    dof = int((~np.isnan(points).any(axis=1)).sum()) - len(np.unique(numbers))
    if isinstance(noise, str) or np.shape(noise) != (d, d) or dof < MIN_RESIDUAL_FREEDOM:
        return
    matrix = as_float64(to_numpy(noise))
    sign, logarithm = np.linalg.slogdet(matrix)
    if sign <= 0 or not np.isfinite(logarithm):
        return
    residuals = (points - mean_rows_by_number(points, numbers)[numbers])[
        ~np.isnan(points).any(axis=1)
    ]
    products = residuals.T @ residuals / dof
    covered = np.trace(np.linalg.solve(matrix, products)) / d
    whitened = np.vdot(matrix, products) / d
    if not (covered > 0 and 0.25 < whitened < 4):
        return
    gain = np.log(covered) - np.log(whitened) + 2 * logarithm / d
    if gain > 0.2:
        raise ValueError(
            "dissimilarities: noise looks like a precision, the inverse of a covariance (times the "
            f"covariance of the residuals it has a mean diagonal of {whitened:.2g}); pass the "
            "covariance, np.linalg.inv(noise)"
        )


def noise_cholesky_factor(noise: np.ndarray, d: int) -> np.ndarray:
    """Return the lower Cholesky factor (d, d) of the covariance ``noise``. Raise ``ValueError``
    for another shape than (d, d), for features without variance, and for a matrix that is no
    invertible covariance."""
    if noise.shape != (d, d):
        raise ValueError(
            f"dissimilarities: noise of {d} features is ({d}, {d}); got {noise.shape}; "
            "rs.noise_covariance(X, conditions) makes it"
        )
    if not noise.diagonal().all():
        unit = int(np.argmin(np.abs(noise.diagonal())))
        raise ValueError(
            f"dissimilarities: noise of feature {unit} is 0: leave out features that never vary"
        )
    try:
        if not np.allclose(
            noise, noise.T, rtol=0, atol=MAX_COVARIANCE_ASYMMETRY * np.abs(noise).max()
        ):
            raise np.linalg.LinAlgError
        return np.linalg.cholesky(noise)
    except np.linalg.LinAlgError:
        raise ValueError(
            "dissimilarities: noise is no covariance that can be inverted; shrink it, as "
            "rs.noise_covariance does"
        ) from None


# ------------------------------------------------------------------------------------------ trials


def as_trial_representation(caller: str, X: Any, name: str = "") -> Representation:
    """Return the array or representation ``X`` as a representation of trials (trials, features).
    Raise ``ValueError`` for a 3-d array; the error begins with ``caller``."""
    if np.ndim(X) == 3:
        raise ValueError(
            f"{caller}: X must be (trials, features); got {np.shape(X)}; average over time, "
            'rs.from_trials(X, axes="trials units time", pool="mean"), or choose a bin, X[:, :, 0];'
            " for (runs, conditions, features) write X.reshape(-1, X.shape[2]), with "
            "conditions=np.tile(labels, len(X)) and runs=np.repeat(range(len(X)), X.shape[1])"
        )
    return as_representation(X, name)


def trial_features(
    caller: str, x: Representation, consequence: str = MEAN_OVER_FINITE_TRIALS
) -> np.ndarray:
    """Return the features of trials, (trials, d) in double precision, NaN where a trial has no
    number; warn of NaN, with ``consequence``, words that say what happens to such trials.

    Raises ``ValueError`` for given dissimilarities, and ``UndefinedError`` for infinite values, and
    where the trials differ by less than rounding.
    """
    if x.signed or x.origin:
        raise ValueError(f"{representation_title(x)} must hold features of trials")
    gaps = np.isnan(to_numpy(detach(x.source)).astype(float))
    if not gaps.any():
        check_all_finite(x)
        check_digits(x)
        return as_float64(to_numpy(x.array))
    points = as_float64(to_numpy(x.array))
    if np.isinf(points).any():
        raise UndefinedError(f"{representation_title(x)} {describe_gaps(~np.isfinite(points))}")
    warnings.warn(
        count_trials_with_gaps(caller, representation_title(x), gaps, consequence), stacklevel=3
    )
    return points


def mean_rows_by_number(points: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the mean of the rows of ``points`` with each number, (conditions, d), ignoring NaN;
    NaN where all values are NaN. ``numbers``: the condition of every row, from 0."""
    total = np.zeros((int(numbers.max()) + 1, points.shape[1]))
    gaps = np.isnan(points)
    if not gaps.any():
        np.add.at(total, numbers, points)
        return np.asarray(total / np.bincount(numbers)[:, None])
    counts = np.zeros(total.shape)
    np.add.at(total, numbers, np.where(gaps, 0.0, points))
    np.add.at(counts, numbers, ~gaps)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)
