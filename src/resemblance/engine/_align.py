"""Fit a map from one representation to another on some samples, and score it on other samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..contracts._measure import Measure
from ..contracts.folds import FittedMaps, float64_points
from ..contracts.streamed import require_features
from ..data.joining import align_columns_to
from ..data.representation import (
    Representation,
    as_representation,
    check_all_finite,
    representation_title,
)
from .arguments import measures_with_fit


@dataclass(frozen=True, eq=False, repr=False)
class Alignment:
    """A map from one representation to another, fitted to some samples: the result of
    :func:`align`.

    ``method`` is the measure, ``n_samples`` the number of fitted samples, and ``x_mean`` (d,) and
    ``y_mean`` (e,) are the means of the fitted samples (zero for a method without centring).
    """

    method: Measure
    n_samples: int
    _x: Representation  # the means, with the name and the feature names of X
    _y: Representation
    _fitted: FittedMaps

    @property
    def x_mean(self) -> np.ndarray:
        """The mean of the fitted samples of X, shape (d,)."""
        return self._fitted.x_mean

    @property
    def y_mean(self) -> np.ndarray:
        """The mean of the fitted samples of Y, shape (e,)."""
        return self._fitted.y_mean

    @property
    def map(self) -> np.ndarray:
        """The linear map: (d, e), or (d, r) for a method with a space of its own."""
        maps, fitted = self._fitted.maps, self._fitted
        if maps.space == "shared":
            return maps.x / fitted.x_scale
        ratio = fitted.y_scale / fitted.x_scale if maps.space == "y" else 1.0
        return np.asarray(maps.x @ maps.y.T * ratio)

    def transform(self, X: Any) -> Representation:
        r"""Return samples of X in the space of Y, :math:`(X - \bar X) M + \bar Y`, shape (n, e), as
        float64.

        For ``shape_distance`` and ``mean_cca`` the space is shared, and the result is
        :math:`(X - \bar X) M`, shape (n, r): partly whitened points, or canonical variates.
        :meth:`transform_target` maps Y to the same space. The result has the name and the ids of
        X. Raises ``ValueError`` for another number or other names of features, and for samples
        that are not finite.
        """
        x = self._samples(X, self._x, "transform")
        points = (float64_points(x) - self.x_mean) @ self.map
        points = points if self._fitted.maps.space == "shared" else points + self.y_mean
        return Representation(points, x.name, ids=x.ids)

    def transform_target(self, Y: Any) -> Representation:
        """Return samples of Y in the space of :meth:`transform`, as float64: unchanged, or mapped
        to the shared space of ``shape_distance`` and ``mean_cca``."""
        y, maps = self._samples(Y, self._y, "transform_target"), self._fitted.maps
        points = float64_points(y)
        if maps.space == "shared":
            points = (points - self.y_mean) / self._fitted.y_scale @ maps.y
        return Representation(points, y.name, ids=y.ids)

    def score(self, X: Any, Y: Any) -> float:
        """Return the value of the measure for samples of X (m, d) and Y (m, e), with the fitted
        maps and means.

        For the fitted samples the score is the value of the measure (for ``linear_predictivity``
        the score is larger, because the measure leaves every sample out). Raises ``ValueError`` for
        another number or other names of features, for samples that are not finite, and for
        different samples of X and Y; :class:`UndefinedError` for samples without a value, such as
        samples that equal the mean.
        """
        x = self._samples(X, self._x, "score")
        y = self._samples(Y, self._y, "score")
        self.method.check_pair(x, y)
        return self._fitted.score(float64_points(x), float64_points(y))

    def _samples(self, data: Any, fitted: Representation, caller: str) -> Representation:
        """Return ``data`` as samples, checked, with the features in the order of the fitted
        samples ``fitted``; ``caller``: the function in errors."""
        x = as_representation(data, fitted.name)
        require_features(caller, x)
        if x.shape[1] != fitted.shape[1]:
            raise ValueError(
                f"{caller}: {representation_title(x)} {x.shape} has {x.shape[1]} features, and the "
                f"alignment was fitted to {fitted.shape[1]}; pass samples of the same features"
            )
        check_all_finite(x)
        return align_columns_to(caller, fitted, x, is_one_model=True)

    def __repr__(self) -> str:
        d, e = self._x.shape[1], self._y.shape[1]
        widths = f"{representation_title(self._x)} ({d} features) to "
        widths += f"{representation_title(self._y)} ({e} features)"
        return f"<Alignment {self.method}: {widths}, fitted to {self.n_samples} samples>"


def align(X: Any, Y: Any, *, method: str | Measure = "procrustes") -> Alignment:
    r"""Fit the map of a measure from X to Y: a rotation, a matching or a regression.

    X is (n, d) and Y is (n, e), with the same samples as rows. The result maps and scores any
    other samples with the same features:

    .. code-block:: python

        alignment = rs.align(X[:80], Y[:80], method="linear_predictivity")
        alignment.transform(X[80:])  # Y[80:], predicted
        alignment.score(X[80:], Y[80:])  # the explained share of the variance

    Parameters
    ----------
    X, Y : the representations, as for a measure. X and Y are centred by the means of the n
        samples, except for ``aligned_cosine``, ``permutation_procrustes`` and ``soft_matching`` in
        raw units.
    method : a measure that fits a map. ``"procrustes"``, ``"angular_shape"``,
        ``"procrustes_size_shape"`` and ``"aligned_cosine"``: the best rotation of X onto Y.
        ``"shape_distance"``: the best rotation after partial whitening with its ``alpha``.
        ``"mean_cca"``: the canonical variates. ``"linear_regression"``: least squares.
        ``"linear_predictivity"``: ridge regression, with the penalty of the smallest error of
        left-out samples. ``"permutation_procrustes"`` and ``"soft_matching"``: the matching of
        neurons. ``"pls"``: partial least squares with 25 components, ``"pls[components=10]"`` with
        10. ``"ridge[penalty=1.0]"``: ridge regression with a given penalty. A specification such as
        ``"shape_distance[alpha=0.2]"`` sets a parameter.

    Returns
    -------
    :class:`Alignment`, with ``transform(X)``, ``score(X, Y)`` and ``map``.

    The score of samples uses the means, the map and the penalty of the fitted samples, and the
    sizes of the scored samples:

    - rotations and shapes: the distance, angle or mean cosine after the fitted map. Directions
      without a counterpart among the fitted samples, as for n below d, count as orthogonal to the
      other representation;
    - ``mean_cca``: the cosine of all variates together, :math:`\langle A, B \rangle_F / (\lVert A
      \rVert_F \lVert B \rVert_F)`, which no choice among equal correlations changes;
    - regressions: :math:`1 - \lVert Y - \hat Y \rVert_F^2 / \lVert Y - \bar Y \rVert_F^2` with the
      mean :math:`\bar Y` of the fitted samples. ``r2_score`` of scikit-learn with
      ``multioutput="variance_weighted"`` subtracts the mean of the scored samples and is lower;
    - ``pls`` and ``ridge``: the median over the features of Y of the Pearson correlation with the
      prediction, as in Brain-Score. A feature that is constant over the scored samples is left out,
      and a constant prediction counts as 0;
    - matchings: the distance between matched neurons.

    Raises ``ValueError`` for a measure without a fit, with the names of the measures that have
    one, for a measure with folds, and for representations that cannot be compared;
    :class:`UndefinedError` for a constant representation, and for more components than features of
    X or than samples minus 1.

    Reference: Schönemann 1966 (rotation), Williams et al. 2021 (whitening), Wold 1975 (partial
    least squares), Schrimpf et al. 2018 (the median correlation). netrep fits the same
    rotations, with an arbitrary rotation of the directions that the fitted samples leave open.
    """
    (measure,) = measures_with_fit("align", [method])
    if measure.held_out is not None:
        plain = measure.with_parameters(held_out=None)
        raise ValueError(
            f"align: {measure} scores folds, and align fits one map to all samples; write "
            f"method='{plain}', or rs.compare([X, Y], measures='{plain}', held_out=...)"
        )
    x, y = as_representation(X), as_representation(Y)
    measure.check_pair(x, y)
    y = measure.in_order_of(x, y)
    assert measure.fit is not None
    fitted = measure.fit(float64_points(x), float64_points(y))
    x_mean, y_mean = (
        Representation(mean[None, :], r.name, features=r.features)
        for r, mean in ((x, fitted.x_mean), (y, fitted.y_mean))
    )
    return Alignment(measure, x.n_samples, x_mean, y_mean, fitted)
