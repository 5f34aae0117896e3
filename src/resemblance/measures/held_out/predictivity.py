"""Predictivity of Brain-Score: the median correlation between features and their predictions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...base.arrays import Array
from ...contracts._measure import Measure, measure
from ...contracts.folds import Fit, Maps, float64_points
from ...data.representation import Representation
from ..fits import median_correlation, penalized_maps, pls_weights

IN_SAMPLE = "in sample: the map is fitted to the samples that it predicts; give held_out=10"


def _in_sample(x: Representation, y: Representation, **parameters: Any) -> str:
    """Near 1 for a flexible map of the fitted samples; held-out samples have no such limit.

    The function returns the same warning, as text, for all data and parameters. The value of the
    measure is near 1.
    """
    return IN_SAMPLE


def _pls_fit(x: np.ndarray, y: np.ndarray, components: int) -> Maps:
    maps = pls_weights(x, y, components)
    return Maps(*maps, partial(median_correlation, maps=maps), "y")


def _ridge_fit(x: np.ndarray, y: np.ndarray, penalty: float) -> Maps:
    maps = penalized_maps(x, y, penalty)
    return Maps(*maps, partial(median_correlation, maps=maps), "y")


@measure(
    label="PLS", family="alignment", citation="schrimpf2018brainscore",
    larger_is_more_similar=True, range=(-1, 1), symmetric=False, identity=False,
    invariant_to={"permutation", "isotropic_scaling", "translation"}, differentiable=False,
    limits={"components": (1, np.inf)}, fit=Fit(_pls_fit, (-1, 1)), uninformative=_in_sample,
)  # fmt: skip
def pls(x: Representation, y: Representation, *, components: int = 25) -> Array:
    r"""PLS predictivity: the median over the features of Y of the correlation with the prediction
    by partial least squares.

    .. math:: \operatorname{median}_j \; r\big(Y_j, (X B)_j\big), \qquad
        B = W (P^\top W)^{-1} Q^\top

    where column k of W (d, K) is the leading left singular vector of :math:`X_k^\top Y`, with
    scores :math:`t_k = X_k w_k`, loadings :math:`p_k = X_k^\top t_k / t_k^\top t_k` and
    :math:`q_k = Y^\top t_k / t_k^\top t_k`. :math:`X_1` is the centred X, and
    :math:`X_{k+1} = X_k - t_k p_k^\top`. K = ``components``.

    X is (n, d), Y is (n, e), and the result is a number from -1 to 1. A feature of Y that is
    constant over the scored samples has no correlation, and the median leaves the feature out. A
    constant prediction counts as 0. The map has fewer components when the residual of X no longer
    covaries with Y. Raises ``UndefinedError`` for more components than features of X or than fitted
    samples minus 1, for a constant representation, and for a Y that is constant over the scored
    samples.

    Use it with ``held_out=``, when you compare a model with recordings as Brain-Score does:
    ``rs.compare(models, areas, measures="pls", held_out=10)``.

    Beware. The value without ``held_out`` is in sample, and near 1 for many components.

    Reference: Wold 1975 (NIPALS), Schrimpf et al. 2018 (25 components, features in their own
    units, the median over units of a fold, the mean over folds). ``PLSRegression(scale=False)`` of
    scikit-learn iterates to a tolerance of 1e-6; here a decomposition gives each weight to machine
    precision. Brain-Score does not count a unit with a constant prediction, and divides by a noise
    ceiling.
    """
    return _fitted_score(pls.with_parameters(components=components), x, y)


@measure(
    label="Ridge", family="alignment", citation="schrimpf2018brainscore",
    larger_is_more_similar=True, range=(-1, 1), symmetric=False, identity=False,
    invariant_to={"permutation", "translation"}, differentiable=False,
    limits={"penalty": (0, np.inf)}, fit=Fit(_ridge_fit, (-1, 1), divides=False),
    uninformative=_in_sample,
)  # fmt: skip
def ridge(x: Representation, y: Representation, *, penalty: float = 1.0) -> Array:
    r"""Ridge predictivity: the median over the features of Y of the correlation with the prediction
    by ridge regression with a given penalty.

    .. math:: \operatorname{median}_j \; r\big(Y_j, (X B)_j\big), \qquad
        B = (X^\top X + \lambda I)^{-1} X^\top Y \qquad (X, Y \text{ centred})

    X is (n, d), Y is (n, e), :math:`\lambda` = ``penalty`` in the squared units of X, as ``alpha``
    of ``Ridge`` of scikit-learn, and the result is a number from -1 to 1. Penalty 0 is least
    squares with the smallest map. Constant features and constant predictions count as in
    :func:`pls`. Raises ``UndefinedError`` for a constant representation, and for a Y that is
    constant over the scored samples.

    Use it with ``held_out=``, when a study fixes the penalty:
    ``rs.compare(models, areas, measures="ridge[penalty=1.0]", held_out=10)``.

    Beware. The value depends on the units of X. ``linear_predictivity`` chooses the penalty.

    Reference: Hoerl and Kennard 1970; Schrimpf et al. 2018 (the median over units, the mean over
    folds). The penalty of Brain-Score is 1.
    """
    return _fitted_score(ridge.with_parameters(penalty=penalty), x, y)


def _fitted_score(m: Measure, x: Representation, y: Representation) -> Any:
    """Return the score of the measure ``m`` with maps fitted to all samples of x and y, on the
    same samples."""
    points = float64_points(x), float64_points(y)
    assert m.fit is not None
    return m.fit(*points).score(*points)


HELD_OUT_MEASURES = {"pls": pls, "ridge": ridge}
