"""Regression: how well a representation predicts the other representation, or any target."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np

from ..base.arrays import (
    Array,
    clip_above_one,
    clip_below_zero,
    epsilon,
    frobenius_inner,
    namespace,
    safe_sqrt,
)
from ..contracts._measure import measure
from ..contracts.claims import SAMPLE_ROTATION, SHAPE_INVARIANCES, Product
from ..contracts.folds import Fit, Maps
from ..contracts.streamed import whitening_error
from ..data.representation import Representation
from ..intermediates.matrices import linear_gram, projection, ridge_smoother
from ..intermediates.pair_matrix import expected_inner
from ..intermediates.pairs import basis_overlap, explained_squared_norm, principal_overlap
from ..intermediates.points import preshape
from ..intermediates.spectra import decomposition, numerical_rank
from .fits import explained_share, regression_maps, require_variation
from .inner_products import (
    has_few_columns,
    squared_distance,
    unnormalized_product,
    warn_fixed_by_n,
    warn_full_rank,
    warn_near_ceiling,
)
from .leave_one_out.regression import leave_one_out_gulp, leave_one_out_regression


@measure(
    label="LinReg",
    family="alignment",
    citation="kornblith2019similarity",
    version=3,
    larger_is_more_similar=True,
    range=(0, 1),
    symmetric=False,
    invariant_to=SHAPE_INVARIANCES | SAMPLE_ROTATION,
    diagnostics=whitening_error,
    leave_one_out=leave_one_out_regression,
    fit=Fit(regression_maps, (-np.inf, 1)),
)
def linear_regression(
    x: Representation, y: Representation, *, predict: Literal["second", "first"] = "second"
) -> Array:
    r"""Linear regression: the fraction of the variance of Y that a linear map of X explains (R
    squared, in sample).

    .. math:: R^2 = \frac{\lVert U_X^\top Y \rVert_F^2}{\lVert Y \rVert_F^2}
        \qquad (X, Y \text{ centered, } U_X \text{ an orthonormal basis of the columns of } X)

    X is (n, d), Y is (n, e). ``predict="second"`` predicts Y from X; ``"first"`` predicts X from Y.
    The value is in sample, so the value is 1 whenever the predictor has n - 1 independent columns.
    An invertible linear map of the predictor does not change the value; the measure claims only the
    invariances that hold for both arguments. Raises ``UndefinedError`` for a constant
    representation.

    Use it when you ask how much of the variance of Y a linear map of X explains on the same
    samples.

    Beware. The measure is directional and in sample: the value grows with the number of features of
    the predictor. Use linear predictivity for left-out samples.

    Reference: Kornblith et al. 2019, Section 4. Eq. 5 of the paper and the ReSi code predict the
    first argument from the second; here X predicts Y by default, as in the other measures. The ReSi
    code inverts a covariance: with dead units the code fails or exceeds 1, where the basis used
    here gives the exact value.
    """
    if predict == "first":
        x, y = y, x
    return clip_above_one(explained_squared_norm(x, y))  # |Y| = 1 in unit size


@linear_regression.claim("uninformative")
def uninformative_predictor(x: Representation, y: Representation, predict: str) -> str:
    """Fixed when the predictor has n - 1 independent columns (n <= d + 1); near an extreme for 0.8
    (n - 1) of them.

    In these cases the value of the pair is fixed, or near the value of equal data, whatever the
    data. The function then returns a warning as text, otherwise "".
    """
    predictor = x if predict == "second" else y
    if has_few_columns(predictor):
        return ""
    return warn_full_rank(x.n_samples, x.n_samples - 1, numerical_rank(predictor))


@linear_regression.claim("claims_for")
def _regression_claims(predict: str) -> dict[str, Any]:
    """Return the compared matrices of ``linear_regression``, which depend on the direction of the
    prediction, "second" or "first"; "first" has no fit."""
    if predict == "second":
        return {"compares": Product(projection, linear_gram, value=unnormalized_product)}
    compared = Product(linear_gram, projection, value=unnormalized_product)
    return {"compares": compared, "fit": None}


@measure(
    label="LinPred",
    family="alignment",
    citation="schrimpf2018brainscore",
    version=3,
    larger_is_more_similar=True,
    range=(0, 1),
    symmetric=False,
    invariant_to=SHAPE_INVARIANCES,
    identity=False,
    differentiable=False,
)
def linear_predictivity(x: Representation, y: Representation) -> Array:
    r"""Linear predictivity: the variance of left-out samples of Y that ridge regression on X
    explains.

    .. math:: \max_{\lambda} 1 - \frac{\sum_i \lVert y_i - f_i(x_i) \rVert^2}{\sum_i \lVert y_i -
        m_i \rVert^2}

    where :math:`f_i` is the regression (with an intercept) of Y on X over all samples but i, and
    :math:`m_i` the mean of Y over the same samples. The penalty :math:`\lambda` is the best of
    1e-6, 1e-5, ..., 1 times the total variance of X, and infinity, which predicts the mean. The
    value is therefore in [0, 1], and near 0 for independent representations;
    :func:`linear_regression` is in sample and rises to 1 with the number of columns.

    X is (n, d), Y is (n, e). Every sample is left out once, in closed form, so there are no folds
    to choose, there is no seed, and the order of the samples has no effect. Raises
    ``UndefinedError`` for a constant representation.

    Use it when you ask how well X predicts Y on left-out samples, as in studies of brains.

    Beware. The measure is directional: X predicts Y. The value depends on the noise in Y; compare
    the value with a noise ceiling.

    Reference: Schrimpf et al. 2018, and the earlier practice of encoding models. Codes differ in
    folds (shuffled or not), penalties, intercept, and in R² against correlation, and therefore in
    the values.
    """
    parts, targets, n = decomposition(x), preshape(y), x.shape[0]
    mean_error = (n / (n - 1)) ** 2  # error of predicting the mean, for targets in unit size
    errors = [
        _leave_one_out_error(parts.basis, parts.singular, targets, ridge) / mean_error
        for ridge in RIDGE_PENALTIES
    ]
    explained = x.xp.max(1 - x.xp.stack(errors))
    return clip_above_one(clip_below_zero(explained))


@linear_predictivity.claim("fit")
@partial(Fit, range=(-np.inf, 1))
def ridge_maps(x: np.ndarray, y: np.ndarray) -> Maps:
    """Return the ridge regression of centred y (n, e) on centred x (n, d), with the penalty that
    predicts left-out training samples best; the score is the explained share of the variance of y.
    """
    require_variation(x, y)
    basis, singular, axes = np.linalg.svd(x, full_matrices=False)
    size, n = np.linalg.norm(singular), len(x)
    errors = [_leave_one_out_error(basis, singular / size, y, r) for r in RIDGE_PENALTIES]
    ridge = RIDGE_PENALTIES[int(np.argmin(errors))] * size**2
    maps = axes.T * (singular / (singular**2 + ridge)), y.T @ basis
    if min(errors) >= (n / (n - 1)) ** 2 * np.vdot(y, y):  # the mean predicts better
        maps = 0 * maps[0], maps[1]
    return Maps(*maps, partial(explained_share, maps=maps), "y")


@measure(
    label="GULP", family="similarity_matrix", citation="boixadsera2022gulp", version=3,
    larger_is_more_similar=False, range=(0, np.inf), invariant_to={"affine"} | SAMPLE_ROTATION,
    limits={"ridge": (0, np.inf)}, rows_of_maps="positions", diagnostics=whitening_error,
    leave_one_out=leave_one_out_gulp,
)  # fmt: skip
def gulp(
    x: Representation, y: Representation, *, ridge: float = 0.0, squared: bool = False
) -> Array:
    r"""GULP: the distance between what ridge regressions on two representations predict, on average
    over targets.

    .. math:: d^2 = \operatorname{tr} \left[ ( \Sigma_X^{-\lambda} \Sigma_X )^2 \right]
        + \operatorname{tr} \left[ ( \Sigma_Y^{-\lambda} \Sigma_Y )^2 \right]
        - 2 \operatorname{tr} \left( \Sigma_X^{-\lambda} \Sigma_{XY} \Sigma_Y^{-\lambda} \Sigma_{YX}
          \right)

    where :math:`\Sigma^{-\lambda} = (\Sigma + \lambda I)^{-1}`, X and Y centred and scaled to mean
    squared row norm 1, and :math:`\lambda` = ``ridge``. At 0 the inverse is a pseudo-inverse:
    d² = rank X + rank Y - 2 times the sum of the squared canonical correlations.

    X is (n, d), Y is (n, e). ``ridge=0`` is invariant to invertible linear maps, a positive ridge
    only to rotation, scaling and translation. ``squared=True`` leaves out the root, like the ReSi
    code, and is not a metric. Raises ``UndefinedError`` for a constant representation.

    Use it when you ask how far the predictions of ridge regressions on two representations can
    differ, whatever the target.

    Beware. Without a ridge all directions have equal weight, and the value depends on the number of
    features; with a ridge the value depends on the scale of the data.

    Reference: Boix-Adserà et al. 2022. The ReSi code inverts covariances without a tolerance, so
    with dead units the ReSi value counts rounding noise; this function uses a rank tolerance.
    Distances below 1e-7 times the root of the ranks are not resolved and are 0.
    """
    a, b = _smoother_eigenvalues(x, ridge), _smoother_eigenvalues(y, ridge)
    overlap = safe_sqrt(a)[:, None] * _overlap_of_bases(x, y, ridge) * safe_sqrt(b)[None, :]
    squared_distance = _difference_above_rounding(
        frobenius_inner(a, a) + frobenius_inner(b, b), 2 * frobenius_inner(overlap, overlap)
    )
    return squared_distance if squared else safe_sqrt(squared_distance)


@gulp.claim("uninformative")
def uninformative_smoothers(x: Representation, y: Representation, ridge: float) -> str:
    """Fixed when one side has n - 1 independent columns and ``ridge`` is 0; near an extreme for few
    samples with any ridge.

    In these cases the value of the pair is fixed, or near the value of equal data, whatever the
    data. The function then returns a warning as text, otherwise "".
    """
    n = x.n_samples
    if has_few_columns(x, y):
        return ""
    if not ridge and max(numerical_rank(x), numerical_rank(y)) == n - 1:
        return warn_fixed_by_n(n)
    P, Q = ridge_smoother(x, ridge), ridge_smoother(y, ridge)
    return warn_near_ceiling(n, 2 * expected_inner(P, Q) / (P.square + Q.square))


@gulp.claim("claims_for")
def _gulp_claims(ridge: float, squared: bool) -> dict[str, Any]:
    """Return the claims of ``gulp`` that depend on the ridge and on the square root."""
    squares = Product(ridge_smoother, value=squared_distance, root=not squared)
    claims: dict[str, Any] = {"metric": not squared, "compares": squares}
    if ridge:
        return claims | {"invariant_to": SHAPE_INVARIANCES | SAMPLE_ROTATION, "leave_one_out": None}
    return claims


# Ridge penalties in units of the total variance.
RIDGE_PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


def _leave_one_out_error(basis: Array, singular: Array, targets: Array, ridge: float) -> Array:
    """Return the sum, over samples and features, of the squared errors of ridge predictions of
    left-out samples.

    ``basis`` (n, r) and ``singular`` (r,): left singular vectors and singular values of the centred
    predictors. ``targets``: (n, e), centred. ``ridge``: the penalty, in the units of ``singular``
    squared. Computed from the residuals and the leverages of the fit, with an intercept.
    """
    xp, n = namespace(basis), basis.shape[0]
    shrunk = basis * (singular**2 / (singular**2 + ridge))[None, :]
    leverage = xp.sum(shrunk * basis, axis=1) + 1 / n
    residual = (targets - shrunk @ (xp.matrix_transpose(basis) @ targets)) / (1 - leverage)[:, None]
    return frobenius_inner(residual, residual)


def _smoother_eigenvalues(x: Representation, ridge: float) -> Array:
    """Return the eigenvalues s² / (s² + ridge) of the smoother of ridge regression, (rank,), in [0,
    1]; all 1 for ridge 0. s: the singular values of x in unit size (centred, Frobenius norm 1)."""
    variance = decomposition(x).singular ** 2
    return variance / (variance + ridge)


def _overlap_of_bases(x: Representation, y: Representation, ridge: float) -> Array:
    """Return the inner products (rank_x, rank_y) of bases of x and y in which the smoothers are
    diagonal: principal components, or any orthonormal bases if ``ridge`` is 0."""
    return principal_overlap(x, y) if ridge else basis_overlap(x, y)


def _difference_above_rounding(total: Array, shared: Array) -> Array:
    """Return ``total`` - ``shared``, or 0 if the difference is at most 64 machine epsilons of
    ``total``."""
    xp, difference = namespace(total), total - shared
    return xp.where(difference <= 64 * epsilon(total) * total, xp.zeros_like(total), difference)
