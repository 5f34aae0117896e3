"""Scores of a model beside other models: regression weights, partial correlations, and unique
variance, from cosines."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from ..base.exceptions import UndefinedError
from ..base.formatting import list_names
from ..base.text import check_choice
from ..contracts._measure import Measure
from ..contracts.claims import matrix_cosine

ModelScore = Literal[
    "similarity", "partial", "semipartial", "regression", "nonnegative_regression",
    "unique_variance",
]  # fmt: skip
SCORE_RANGES = {
    "partial": (-1.0, 1.0), "semipartial": (-1.0, 1.0), "regression": (-np.inf, np.inf),
    "nonnegative_regression": (0.0, np.inf), "unique_variance": (0.0, 1.0),
}  # fmt: skip
SCORE_TITLES = {
    "partial": "partial correlation", "semipartial": "semi-partial correlation",
    "regression": "regression weight", "nonnegative_regression": "non-negative regression weight",
    "unique_variance": "unique variance",
}  # fmt: skip
# Scores with a mean above 0 for an unrelated model
NONNEGATIVE_SCORES = ("nonnegative_regression", "unique_variance")
ALL_MODELS = "all models"  # the row with the variance that all models explain together
MIN_INDEPENDENCE = 1e-10  # smallest eigenvalue of the cosines between models
MIN_UNEXPLAINED = 1e-14  # a smaller share of the variance is rounding


def check_model_score(
    score: str, measure: Measure, models: tuple[str, ...], *, has_folds: bool
) -> None:
    """Raise ``ValueError`` unless ``score`` is "similarity", or a score that the measure and the
    models, at least two names without folds, allow."""
    check_choice("score_models: score", score, get_args(ModelScore))
    if score == "similarity":
        return
    product = measure.product
    if product is None or product.value is not matrix_cosine or product.root:
        raise ValueError(
            f"score_models: score={score!r} needs a measure that is a cosine, such as rsa with "
            f"compare=pearson, spearman, whitened_pearson or whitened_cosine; got {measure}"
        )
    if has_folds:
        raise ValueError(
            f"score_models: score={score!r} has no folds and no fitted models; pass each part as a "
            "model"
        )
    if len(models) < 2:
        raise ValueError(
            f"score_models: score={score!r} takes two models or more; got {list_names(models, 3)}"
        )
    if ALL_MODELS in models and score == "unique_variance":
        raise ValueError(
            f"score_models: {ALL_MODELS!r} is the name of the row for all models together; rename "
            "the model"
        )


def check_independent_models(squares: np.ndarray, models: tuple[str, ...]) -> None:
    """Raise ``UndefinedError`` if the dissimilarities of a model are a weighted sum of those of the
    other models.

    ``squares``: cosines between the models, (..., m, m), for example without each stimulus.
    """
    values, vectors = np.linalg.eigh(squares)
    if values[..., 0].min() > MIN_INDEPENDENCE:
        return
    worst = np.unravel_index(values[..., 0].argmin(), values.shape[:-1])
    weights = np.abs(vectors[worst][:, 0])
    names = [models[i] for i in np.flatnonzero(weights > 1e-3 * weights.max())]
    raise UndefinedError(
        f"score_models: the dissimilarities of {list_names(names, 5)} are linearly dependent, so "
        "there is no score of one beside the others; leave a model out"
    )


def joint_scores(cosines: np.ndarray, squares: np.ndarray, score: str) -> np.ndarray:
    r"""Return scores of each model beside the other models, (..., m).

    ``cosines``: (..., m), of a subject with m models; ``squares``: (..., m, m), between the models.
    With y the dissimilarities of the subject and D those of the models, all of length 1, G the
    ``squares`` and c the ``cosines``, the weights b = G⁻¹ c minimise \|y - D b\|², and b'c is the
    explained variance. With P = G⁻¹, the semi-partial correlation of model k is
    :math:`s_k = b_k / \sqrt{P_{kk}}`, its square is the unique variance, and the partial
    correlation is :math:`s_k / \sqrt{1 - b^\top c + s_k^2}`. For ``"unique_variance"`` the last
    column is the variance that all models explain together.
    """
    if score == "nonnegative_regression":
        return _nonnegative_weights(cosines, squares)
    inverse = np.linalg.inv(squares)
    weights = (inverse @ cosines[..., None])[..., 0]
    if score == "regression":
        return np.asarray(weights)
    explained = np.clip((weights * cosines).sum(axis=-1, keepdims=True), 0, 1)
    semipartial = weights / np.sqrt(np.diagonal(inverse, axis1=-2, axis2=-1))
    if score == "unique_variance":
        return np.concatenate([semipartial**2, explained], axis=-1)
    if score == "partial":
        left = 1 - explained + semipartial**2  # what the other models do not explain
        left = np.where(left > MIN_UNEXPLAINED, left, np.inf)
        return np.asarray(np.clip(semipartial / np.sqrt(left), -1, 1))
    return np.asarray(semipartial)


def _nonnegative_weights(cosines: np.ndarray, squares: np.ndarray) -> np.ndarray:
    r"""Return the weights w >= 0 that minimise \|y - D w\|², in the shape of ``cosines``.

    ``cosines``: D'y, (..., m), of a subject with m models; ``squares``: D'D, (..., m, m), between
    the models. The dissimilarities y and the columns of D have length 1.
    """
    from scipy.optimize import nnls

    triangles = np.linalg.cholesky(squares)
    targets = np.linalg.solve(triangles, cosines[..., None])[..., 0]
    triangles = np.broadcast_to(triangles, (*cosines.shape, cosines.shape[-1]))
    weights = np.zeros(cosines.shape)
    for place in np.ndindex(cosines.shape[:-1]):
        weights[place] = nnls(triangles[place].T, targets[place])[0]
    return weights
