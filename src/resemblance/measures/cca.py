"""Canonical correlation analysis: correlations between the best linear maps of two
representations, and overlap of the column spaces."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..base.arrays import (
    Array,
    clip_above_one,
    frobenius_inner,
    namespace,
    singular_values,
    svd,
    to_numpy,
)
from ..contracts._measure import measure
from ..contracts.claims import (
    COLUMN_INVARIANCES,
    RIGID_INVARIANCES,
    SAMPLE_ROTATION,
    SHAPE_INVARIANCES,
    Product,
)
from ..contracts.folds import Fit
from ..contracts.streamed import (
    column_whitening_error,
    component_whitening_error,
    variance_whitening_error,
    whitening_error,
)
from ..data.representation import Representation
from ..intermediates.matrices import leading_projection, projection, uncentered_projection
from ..intermediates.pairs import (
    basis_overlap,
    canonical_decomposition,
    leading_overlap,
    squared_overlap,
)
from ..intermediates.resi_code import resi_pwcca, resi_svcca_components
from ..intermediates.spectra import (
    basis_coordinates,
    component_count_with_ties,
    components_for_variance,
    numerical_rank,
)
from .fits import canonical_maps
from .inner_products import (
    MIN_CEILING_SHARE,
    feature_count,
    has_few_columns,
    product_over_max,
    product_over_min,
    warn_full_rank,
)
from .leave_one_out.cca import leave_one_out_eigenspace, leave_one_out_squared_cca


@measure(
    label="MeanCCA",
    family="cca",
    citation="raghu2017svcca",
    version=3,
    larger_is_more_similar=True,
    range=(0, 1),
    invariant_to={"affine"} | SAMPLE_ROTATION,
    min_samples=3,
    diagnostics=whitening_error,
    fit=Fit(canonical_maps, (-1, 1)),
)
def mean_cca(
    x: Representation,
    y: Representation,
    *,
    aggregation: Literal["mean", "mean_squared"] = "mean",
    divisor: Literal["rank", "width"] = "rank",
) -> Array:
    r"""Mean canonical correlation: the average cosine between the column spaces of two centred
    representations.

    .. math:: \frac{1}{r} \sum_{i=1}^{r} \rho_i^p, \qquad
        \rho = \text{singular values of } U_X^\top U_Y, \quad r = \min(\operatorname{rank} X,
        \operatorname{rank} Y)

    with :math:`U` an orthonormal basis of the centred columns and :math:`p = 1` (``"mean"``) or
    :math:`p = 2` (``"mean_squared"``, :math:`R^2_{CCA}`; for equal ranks Yanai's generalised
    coefficient of determination).

    X is (n, d), Y is (n, e). If X or Y has n - 1 independent columns, its column space contains the
    other column space, and the value is 1 whatever the data. Raises ``UndefinedError`` for a
    constant representation.

    Use it when you ask whether two layers hold the same linear information, whatever the scale, and
    have many more samples than features.

    Beware. All directions count alike, so directions of tiny variance, which are often noise,
    decide the mean. Reduce the dimension first, or use SVCCA.

    Reference: Raghu et al. 2017; mean squared: Kornblith et al. 2019, Section 4. This package
    averages over the common rank r, so dead units do not lower the value; no covariance is
    inverted. ``divisor="width"`` divides the sum by min(d, e) instead, like the code of Ding et al.
    2021 (Section 2 of the paper divides by d).
    """
    rho = canonical_correlations(basis_overlap(x, y))
    total = x.xp.sum(rho if aggregation == "mean" else rho**2)
    return total / (rho.shape[0] if divisor == "rank" else min(x.shape[1], y.shape[1]))


@mean_cca.claim("uninformative")
def uninformative_spans(x: Representation, y: Representation) -> str:
    """Fixed when one side has n - 1 independent columns (n <= d + 1 or n <= e + 1); near an extreme
    for 0.8 (n - 1) of them.

    In these cases the value of the pair is fixed, or near the value of equal data, whatever the
    data. The function then returns a warning as text, otherwise "".
    """
    if has_few_columns(x, y):
        return ""
    return warn_full_rank(x.n_samples, x.n_samples - 1, numerical_rank(x), numerical_rank(y))


@mean_cca.claim("claims_for")
def _cca_claims(aggregation: str, divisor: str) -> dict[str, Any]:
    """Return the claims of ``mean_cca`` that differ from the declared claims, for values of the
    two parameters."""
    claims: dict[str, Any] = {"identity": divisor == "rank"}
    if (aggregation, divisor) != ("mean", "rank"):
        claims["fit"] = None
    if aggregation == "mean_squared":
        scale = feature_count if divisor == "width" else None
        claims["compares"] = Product(projection, value=product_over_min, scale=scale)
        claims["leave_one_out"] = leave_one_out_squared_cca
    return claims


@measure(
    label="SVCCA",
    family="cca",
    citation="raghu2017svcca",
    version=3,
    larger_is_more_similar=True,
    range=(0, 1),
    min_samples=3,
    limits={"explained_variance": (0, 1)},
    invariant_to=SHAPE_INVARIANCES | SAMPLE_ROTATION,
    diagnostics=variance_whitening_error,
    claims_for=lambda truncation: (
        {"invariant_to": RIGID_INVARIANCES | SAMPLE_ROTATION} if truncation == "resi" else {}
    ),
)
def svcca(
    x: Representation,
    y: Representation,
    *,
    explained_variance: float = 0.99,
    truncation: Literal["variance", "resi"] = "variance",
) -> Array:
    r"""Singular vector CCA: mean canonical correlation of the leading principal components.

    .. math:: \frac{1}{\min(k, l)} \sum_i \rho_i, \qquad \rho = \text{singular values of }
        U_{X,1:k}^\top U_{Y,1:l}

    where :math:`U_{X,1:k}` are the first k left singular vectors of the centred X. Here k is the
    smallest number for which the k largest squared singular values sum to at least
    ``explained_variance`` of the total; l likewise for Y. Components tied with the last component
    are included.

    X is (n, d), Y is (n, e). Raises ``UndefinedError`` for a constant representation.

    Use it when you want canonical correlations without the directions of least variance.

    Beware. The variance threshold decides how many components remain, and codes define the
    threshold differently: see the page on implementations that disagree.

    Reference: Raghu et al. 2017. Implementations disagree most on this measure: some cut at a
    fraction of the summed singular values, some at a fixed k. ``truncation="resi"`` is the rule of
    the ReSi code, which compares the *fraction* explained with 0.99 times the *total variance*.
    Above a total variance of 1/0.99 no fraction passes and the code keeps exactly one component, so
    SVCCA in ReSi is the absolute correlation of the two first principal components.
    """
    if truncation == "variance":
        k, l = (components_for_variance(r, explained_variance=explained_variance) for r in (x, y))
    else:
        k, l = (resi_svcca_components(r, explained_variance=explained_variance) for r in (x, y))
    k, l = component_count_with_ties(x, count=k), component_count_with_ties(y, count=l)
    return x.xp.mean(canonical_correlations(leading_overlap(x, y, k, l)))


@svcca.claim("uninformative")
def uninformative_leading_spans(
    x: Representation, y: Representation, explained_variance: float, truncation: str
) -> str:
    """Fixed when n - 1 components of one side are kept, with those tied with the last; near an
    extreme for 0.8 (n - 1) of them.

    In these cases the value of the pair is fixed, or near the value of equal data, whatever the
    data. The function then returns a warning as text, otherwise "", and always "" for
    ``truncation="resi"``.
    """
    if truncation == "resi" or has_few_columns(x, y):
        return ""
    counts = (
        component_count_with_ties(
            r, count=components_for_variance(r, explained_variance=explained_variance)
        )
        for r in (x, y)
    )
    return warn_full_rank(x.n_samples, x.n_samples - 1, *counts)


@measure(
    label="PWCCA",
    family="cca",
    citation="morcos2018insights",
    version=3,
    larger_is_more_similar=True,
    range=(0, 1),
    symmetric=False,
    min_samples=3,
    invariant_to=COLUMN_INVARIANCES | SAMPLE_ROTATION,
    diagnostics=whitening_error,
)
def pwcca(
    x: Representation,
    y: Representation,
    *,
    weights: Literal["first", "second", "symmetric"] = "first",
    directions: Literal["canonical", "all", "resi"] = "canonical",
) -> Array:
    r"""Projection-weighted CCA: canonical correlations weighted by how much of one representation
    they account for.

    .. math:: \frac{\sum_i \alpha_i \rho_i}{\sum_i \alpha_i}, \qquad
        \alpha_i = \sum_j \left| \langle h_i, x_j \rangle \right|

    where :math:`h_i` is the i-th canonical variate (unit norm) and :math:`x_j` the j-th centred
    column of the weighting representation: X (``weights="first"``) or Y (``"second"``).
    ``"symmetric"`` returns the mean of the two values.

    X is (n, d), Y is (n, e); any widths. Not invariant to rotations of the weighting
    representation, because the weights depend on single columns. Where canonical correlations
    coincide, as for n <= d and for shared columns, the variates are not unique; the code then takes
    the principal directions of the columns within the span of the tied variates. Raises
    ``UndefinedError`` for a constant representation.

    Use it when you want canonical correlations that emphasise the directions that matter for X or
    for Y.

    Beware. The value depends on the order of the arguments. Published codes differ in the weights.

    Reference: Morcos et al. 2018. The weighting representation may have directions without a
    partner, because the other representation spans fewer directions. ``directions="all"`` also
    weighs the unpaired directions, with a correlation of 0, like the code of Ding et al. 2021 (the
    distance there is 1 minus this value). For unpaired directions that code takes any basis that
    LAPACK returns, and the weights depend on the basis; here the basis consists of the principal
    directions. ``directions="resi"`` reproduces the ReSi code: directions without the whitening
    factor, with the column means added back, orthonormalised by QR and projected on the uncentred
    columns. The ReSi value therefore depends on translation and, by up to a hundredth, on the signs
    that LAPACK happens to choose. This variant accepts only ``weights="first"``, and is undefined
    for d > e and for n <= d.
    """
    if directions == "resi":
        if weights != "first":
            raise ValueError(
                f"pwcca: directions='resi' takes its weights from X, not weights={weights!r}"
            )
        return resi_pwcca(x, y)
    unpaired = directions == "all"
    if weights == "symmetric":
        return (
            _weighted_mean_correlation(x, y, unpaired) + _weighted_mean_correlation(y, x, unpaired)
        ) / 2
    if weights == "first":
        return _weighted_mean_correlation(x, y, unpaired)
    return _weighted_mean_correlation(y, x, unpaired)


@pwcca.claim("uninformative")
def uninformative_weighted_spans(
    x: Representation, y: Representation, weights: str, directions: str
) -> str:
    """Fixed when one side has n - 1 independent columns; with ``directions="all"`` the side that
    gives no weights must have so many, and with ``weights="symmetric"`` both sides.

    In these cases the value of the pair is fixed, or near the value of equal data (from 0.8 (n - 1)
    columns on), whatever the data. The function then returns a warning as text, otherwise "". The
    side without weights is y for ``weights="first"`` and x for "second".
    """
    if directions != "all":
        return uninformative_spans(x, y)
    partners = {"first": (y,), "second": (x,), "symmetric": (x, y)}[weights]
    n, widest = x.n_samples, min(r.shape[1] for r in partners)
    if widest < MIN_CEILING_SHARE * (n - 1):
        return ""
    return warn_full_rank(n, n - 1, min(map(numerical_rank, partners)))


@pwcca.claim("claims_for")
def _pwcca_claims(weights: str, directions: str) -> dict[str, Any]:
    """Return the claims of ``pwcca`` for values of the two parameters: symmetry,
    differentiability, and the invariances for ``directions="resi"``."""
    if directions == "resi":
        return {"invariant_to": {"isotropic_scaling"} | SAMPLE_ROTATION, "differentiable": False}
    return {"symmetric": weights == "symmetric", "differentiable": directions == "canonical"}


@measure(
    label="SubspaceOv", family="cca", citation="raju2026geometric", version=3,
    larger_is_more_similar=True, range=(0, 1), invariant_to=SHAPE_INVARIANCES | SAMPLE_ROTATION,
    limits={"k": (1, np.inf)}, compares=Product(leading_projection, value=product_over_max),
    diagnostics=component_whitening_error,
)  # fmt: skip
def subspace_overlap(x: Representation, y: Representation, *, k: int = 5) -> Array:
    r"""Subspace overlap: how much the k leading principal components of the samples span the same
    space.

    .. math:: \frac{1}{\max(k_X, k_Y)} \left\lVert U_{X,1:k_X}^\top U_{Y,1:k_Y} \right\rVert_F^2,
        \qquad
        k_X \ge \min(k, \operatorname{rank} X)

    with :math:`U` the left singular vectors of the centred representation, in sample space. X is
    (n, d), Y is (n, e), of any widths. :math:`k_X` is ``k``, or more where later singular values
    equal the k-th up to rounding: all components tied with the last component are included, since
    the order of ties is arbitrary. For independent representations the value is about k/n. From k
    >= rank on, the measure compares the whole column spaces, and no invertible linear map changes
    the value. Raises ``UndefinedError`` for a constant representation.

    Use it when you ask whether the k leading principal components of two layers span the same
    space.

    Beware. The result depends on k. If the spectrum has no gap after component k, small changes
    exchange components and lower the value.

    Reference: Raju 2026, Section 10. The author's code takes as many components of X and Y as the
    narrower representation has. Here all k components of the wider representation count, so that
    lost dimensions lower the value.
    """
    leading = leading_overlap(x, y, *(component_count_with_ties(r, count=k) for r in (x, y)))
    return clip_above_one(frobenius_inner(leading, leading) / max(leading.shape))


@subspace_overlap.claim("uninformative")
def uninformative_components(x: Representation, y: Representation, k: int) -> str:
    """Fixed when k components of one side, with those tied with the last, are n - 1; near an
    extreme for 0.8 (n - 1).

    In these cases the value of the pair is fixed, or near the value of equal data, whatever the
    data. The function then returns a warning as text, otherwise "".
    """
    if has_few_columns(x, y):
        return ""
    return warn_full_rank(
        x.n_samples, x.n_samples - 1, *(component_count_with_ties(r, count=k) for r in (x, y))
    )


@measure(
    label="EOS", family="similarity_matrix", citation="may2019downstream", version=3,
    larger_is_more_similar=True, range=(0, 1), invariant_to={"invertible_linear"} | SAMPLE_ROTATION,
    identity=False, rows_of_maps="positions",
    compares=Product(uncentered_projection, value=product_over_max, scale=feature_count),
    diagnostics=column_whitening_error, leave_one_out=leave_one_out_eigenspace,
)  # fmt: skip
def eigenspace_overlap(x: Representation, y: Representation) -> Array:
    r"""Eigenspace overlap score: how much of the column spaces two representations share.

    .. math:: \frac{1}{\max(d, e)} \lVert U_X^\top U_Y \rVert_F^2

    with :math:`U` an orthonormal basis of the uncentred columns. X is (n, d), Y is (n, e). The
    divisor is the number of columns, not the rank, so a representation with dead units has the
    value rank/d when compared with itself. Raises ``UndefinedError`` for an all-zero
    representation.

    Use it when you ask whether two embeddings span the same column space, as in work on compressed
    word embeddings.

    Beware. All directions count alike, and columns are not centred. With n at or below d the value
    depends on the shapes alone.

    Reference: May et al. 2019. The numerical rank follows the rule of NumPy, as in the ReSi code.
    """
    return clip_above_one(squared_overlap(x, y, centered=False) / max(x.shape[1], y.shape[1]))


@eigenspace_overlap.claim("uninformative")
def uninformative_column_spaces(x: Representation, y: Representation) -> str:
    """Fixed when one side has n independent columns, not centred (n <= d or n <= e); near an
    extreme for 0.8 n of them.

    In these cases the value of the pair is fixed, or near the value of equal data, whatever the
    data. The function then returns a warning as text, otherwise "".
    """
    if has_few_columns(x, y):
        return ""
    return warn_full_rank(
        x.n_samples, x.n_samples, *(numerical_rank(r, centered=False) for r in (x, y))
    )


def canonical_correlations(overlap: Array) -> Array:
    """Return the canonical correlations, largest first, clipped to at most 1: the singular values
    of ``overlap`` = Q_x' Q_y, the products of two orthonormal bases."""
    return clip_above_one(singular_values(overlap))


def _weighted_mean_correlation(x: Representation, y: Representation, unpaired: bool) -> Array:
    """Return the mean of the canonical correlations of x and y, weighted by the projections of the
    columns of x.

    ``unpaired``: whether directions of x without a partner in y also have weights, with correlation
    0.
    """
    xp = x.xp
    # The variates are in the coordinates of the basis of x.
    variates, rho, _ = canonical_decomposition(x, y)
    columns = basis_coordinates(x)
    projections = xp.matrix_transpose(variates) @ columns
    alpha = _variate_weights(projections, to_numpy(rho))
    total = xp.sum(alpha)
    if unpaired and variates.shape[0] > variates.shape[1]:
        total = total + xp.sum(xp.abs(_principal_projections(columns - variates @ projections)))
    return xp.sum(alpha * rho) / total


def _variate_weights(projections: Array, rho: np.ndarray) -> Array:
    """Return the weight of every variate, (variates,): the sum of the magnitudes of the
    projections of all columns on the variate.

    ``projections``: (variates, columns). ``rho``: the correlation of every variate, largest first.
    Variates with the same correlation are first replaced by the principal directions of their
    projections.
    """
    xp, parts, end = namespace(projections), [], 0
    for start, stop in _tied_correlation_ranges(rho):
        parts += [projections[end:start, :], _principal_projections(projections[start:stop, :])]
        end = stop
    return xp.sum(xp.abs(xp.concat([*parts, projections[end:, :]])), axis=1)


def _principal_projections(projections: Array) -> Array:
    """Return the projections of several variates, rotated to the principal directions of the
    projections: diag(s) V' of the SVD.

    ``projections`` is (variates, columns). A row of the result is a principal direction times its
    singular value, the largest first; the shape is (min(variates, columns), columns).
    """
    _, s, vt = svd(projections)
    return s[:, None] * vt


def _tied_correlation_ranges(rho: np.ndarray) -> list[tuple[int, int]]:
    """Return the index ranges of two or more correlations that are equal up to rounding.

    ``rho`` is sorted, the largest correlation first. A range is (start, stop), without ``stop``; a
    correlation unequal to both neighbours is in no range.
    """
    ends = np.flatnonzero(rho[:-1] - rho[1:] > 1e-7) + 1
    ranges = zip([0, *ends], [*ends, len(rho)])
    return [(start, stop) for start, stop in ranges if stop - start > 1]
