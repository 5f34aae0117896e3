"""Matching: similarity of two representations after matching neurons across representations."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Literal

import numpy as np

from ..base.arrays import (
    Array,
    as_array_like,
    clip_below_zero,
    detach,
    device,
    epsilon,
    euclidean_norm,
    frobenius_inner,
    namespace,
    safe_sqrt,
    scalar,
    to_numpy,
)
from ..contracts._measure import measure
from ..contracts.claims import COLUMN_INVARIANCES, SAMPLE_ROTATION
from ..contracts.folds import Fit, Maps
from ..data.representation import Representation
from ..intermediates._transport import transport_plan
from ..intermediates.digits import uncentered_norm
from ..intermediates.pairs import correlations, max_weight_assignment
from ..intermediates.points import (
    centered,
    column_norms,
    comparable_columns,
    feature_products,
    size,
)
from ..intermediates.rectangles import MatrixBlock, squared_distance_function
from .alignment import size_and_shape_distance
from .fits import rotated_distance
from .inner_products import MIN_CEILING_SHARE, warn_near_ceiling


@measure(
    label="HardCorr",
    family="alignment",
    citation="li2015convergent",
    version=3,
    larger_is_more_similar=True,
    range=(-1, 1),
    invariant_to=COLUMN_INVARIANCES | SAMPLE_ROTATION,
    identity=False,
)
def hard_correlation_match(
    x: Representation, y: Representation, *, matching: Literal["optimal", "greedy"] = "optimal"
) -> Array:
    r"""Hard correlation match: mean correlation of neurons matched one to one.

    .. math:: \frac{1}{\min(d, e)} \max_{\pi} \sum_i \operatorname{corr}\left( x_i, y_{\pi(i)}
        \right)

    X is (n, d), Y is (n, e); with different widths the surplus neurons of the wider representation
    remain unmatched. A constant (dead) column has correlation 0 with every column, including
    itself. ``matching="optimal"`` solves the assignment problem; ``"greedy"`` repeatedly takes the
    largest remaining correlation (ties: first in row-major order). Raises ``UndefinedError`` for a
    constant representation.

    Use it when you ask whether single neurons have a one-to-one counterpart.

    Beware. A rotation of the neurons changes the value, so two networks with the same geometry may
    score low. Correlations are signed, and few samples create false matches.

    Reference: Li et al. 2015. The ReSi paper describes the greedy matching, but the ReSi code
    solves the assignment problem.
    """
    c = correlations(x, y)
    rows, columns = (
        max_weight_assignment(c) if matching == "optimal" else _greedy_matching(to_numpy(c))
    )
    return _sum_of_entries(c, rows, columns) / len(rows)


@measure(
    label="SoftCorr",
    family="alignment",
    citation="li2015convergent",
    version=3,
    larger_is_more_similar=True,
    range=(-1, 1),
    invariant_to=COLUMN_INVARIANCES | SAMPLE_ROTATION,
    identity=False,
)
def soft_correlation_match(x: Representation, y: Representation) -> Array:
    r"""Soft correlation match: mean of every neuron's best correlation on the other side, over both
    sides.

    .. math:: \frac{1}{2} \left( \frac{1}{d} \sum_i \max_j \operatorname{corr}(x_i, y_j)
        + \frac{1}{e} \sum_j \max_i \operatorname{corr}(x_i, y_j) \right)

    X is (n, d), Y is (n, e). Correlations are signed. A constant (dead) column has correlation 0
    with every column. Raises ``UndefinedError`` for a constant representation.

    Use it when you ask whether every neuron has at least one similar neuron in the other
    representation.

    Beware. Several neurons may share a partner, so redundant neurons raise the value. A rotation
    changes the value.

    Reference: Li et al. 2015. Not the "soft matching" distance of Khosla and Williams (2024), which
    has the same name in some packages.
    """
    xp, c = x.xp, correlations(x, y)
    return (xp.mean(xp.max(c, axis=1)) + xp.mean(xp.max(c, axis=0))) / 2


@hard_correlation_match.claim("uninformative")
@soft_correlation_match.claim("uninformative")
def uninformative_matched_columns(x: Representation, y: Representation, matching: str = "") -> str:
    """Near an extreme when n is so small that among unrelated columns some correlate: about a dozen
    for a thousand columns.

    In these cases the value of the pair is fixed, or near the value of equal data, whatever the
    data. The function then returns a warning as text, otherwise "". ``matching`` is "" for
    many-to-one matching.
    """
    # With one-to-one matching, few neurons get their best partner.
    n, columns = x.n_samples, min(x.shape[1], y.shape[1]) / (2 if matching else 1)
    if n > 64 or columns < 2:
        return ""
    if n == 2:
        return warn_near_ceiling(n, MIN_CEILING_SHARE)
    from scipy.special import stdtrit

    # Typical largest t statistic among the correlations with ``columns`` unrelated columns.
    quantile = float(stdtrit(n - 2, 1 - 1 / columns))
    return warn_near_ceiling(n, quantile / math.sqrt(n - 2 + quantile**2))


@measure(
    label="PermProc", family="alignment", citation="williams2021generalized", version=3,
    larger_is_more_similar=False, range=(0, np.inf), metric=True,
    invariant_to={"permutation"} | SAMPLE_ROTATION,
)  # fmt: skip
def permutation_procrustes(x: Representation, y: Representation) -> Array:
    r"""Permutation Procrustes distance: how far two representations are apart after the best
    matching of neurons.

    .. math:: \min_{P \in \text{permutations}} \lVert XP - Y \rVert_F

    X is (n, d), Y is (n, e); the narrower array is padded with zero columns. The data are not
    centred or scaled, so the value is in the units of the activations. Defined for all finite data.

    Use it when you ask how far two sets of neurons are apart after the best renumbering, with units
    and offsets.

    Beware. Compare representations of equal width: surplus columns are matched to columns of zeros.
    Scale and offset count; standardise the data if scale and offset should not count.

    Reference: Williams et al. 2021.
    """
    sizes = uncentered_norm(x), uncentered_norm(y)
    if 0 in map(scalar, sizes):
        return sum(sizes)
    products = feature_products(x, y, centered=False)
    squared = 2 - 2 * _sum_of_entries(products, *max_weight_assignment(products))
    if scalar(squared) < epsilon(squared) ** 0.25:
        return _distance_after_matching(x, y)
    return size_and_shape_distance(safe_sqrt(squared), *sizes)


@measure(
    label="SoftMatch",
    family="alignment",
    citation="khosla2024soft",
    version=3,
    larger_is_more_similar=False,
    range=(0, np.inf),
    metric=True,
    invariant_to={"permutation"} | SAMPLE_ROTATION,
)
def soft_matching(
    x: Representation, y: Representation, *, units: Literal["raw", "unit"] = "raw"
) -> Array:
    r"""Soft matching distance: how far neurons must move to become those of the other
    representation.

    .. math:: \min_{P \ge 0} \sqrt{\sum_{ij} P_{ij} \lVert x_i - y_j \rVert^2}
        \quad \text{with} \quad \sum_j P_{ij} = \tfrac{1}{d}, \quad \sum_i P_{ij} = \tfrac{1}{e}

    with columns :math:`x_i, y_j`: optimal transport between neurons, where the plan may split a
    neuron among several partners. For d = e the best plan is a permutation, and the value is
    :func:`permutation_procrustes` divided by :math:`\sqrt{d}`.

    X is (n, d), Y is (n, e). ``units="raw"`` uses the columns unchanged, in the units of the
    activations. ``"unit"`` first centres the columns and scales the columns to length 1; a constant
    column becomes 0. Exact: an assignment for d = e, otherwise a linear program with d e unknowns
    (0.4 s for 256 and 300, 3 s for 512 and 768; from about 512 x 512 on in a fortieth of the time
    with POT, the extra ``transport``). Defined for all finite data.

    Use it when you compare the neurons of layers of different widths with a metric.

    Beware. Scale and offset count, as in permutation Procrustes. A rotation changes the value.

    Reference: Khosla and Williams 2024. Not :func:`soft_correlation_match`.
    """
    a, b, scale = _safely_scaled_columns(x, y, units)
    if scalar(scale) == 0:
        return scale
    rows, columns, masses = _precise_plan(to_numpy(_squared_column_distances(detach(a), detach(b))))
    difference = x.xp.take(a, as_array_like(rows, a), axis=1) - x.xp.take(
        b, as_array_like(columns, b), axis=1
    )
    # At the minimum, a small change of the plan changes the distance only to second order.
    return scale * euclidean_norm(difference * as_array_like(masses**0.5, a)[None, :])


@permutation_procrustes.claim("fit")
@partial(Fit, range=(0, np.inf), centers=False, keeps_units=True, identity=True)
def permutation_maps(x: np.ndarray, y: np.ndarray) -> Maps:
    """Return the best one-to-one matching of the columns of x (n, d) and y (n, e), training
    samples, as maps; the score is the distance of the matched columns, with unmatched columns
    against 0."""
    d, e = x.shape[1], y.shape[1]
    rows, columns = _min_cost_assignment(_squared_column_distances(x, y, width=max(d, e)))
    is_pair = (rows < d) & (columns < e)
    u, v = np.eye(d)[:, rows[is_pair]], np.eye(e)[:, columns[is_pair]]
    return Maps(u, v, partial(rotated_distance, u=u, v=v), "y")


@soft_matching.claim("fit")
@partial(Fit, range=(0, np.inf), centers=False, keeps_units=True, identity=True)
def plan_maps(x: np.ndarray, y: np.ndarray, units: str = "raw") -> Maps:
    """Return the transport plan of the columns of x (n, d) and y (n, e), training samples, as maps;
    the score is the distance that the plan moves the columns. A column of y is predicted by the
    mean of its partners, weighted by the plan.

    ``units``: "raw" for the columns unchanged, "unit" for columns of length 1.
    """
    lengths = [
        np.ones(a.shape[1]) if units == "raw" else _replace_zero_lengths(np.linalg.norm(a, axis=0))
        for a in (x, y)
    ]
    plan = _precise_plan(_squared_column_distances(x / lengths[0], y / lengths[1]))
    shares = np.zeros((x.shape[1], y.shape[1]))
    shares[plan[0], plan[1]] = plan[2] * y.shape[1]
    maps = shares / lengths[0][:, None], np.diag(lengths[1])
    return Maps(*maps, partial(_moved_distance, plan=plan, units=units), "y")


@soft_matching.claim("claims_for")
def _soft_matching_claims(units: str) -> dict[str, Any]:
    """Return the claims that differ from the declared claims for ``units="unit"``: invariances,
    range and fit."""
    if units == "raw":
        return {}
    fit = plan_maps._replace(range=(0, 2), centers=True, keeps_units=False)
    return {"invariant_to": COLUMN_INVARIANCES | SAMPLE_ROTATION, "range": (0, 2), "fit": fit}


def _moved_distance(
    x: np.ndarray, y: np.ndarray, plan: tuple[np.ndarray, np.ndarray, np.ndarray], units: str
) -> float:
    r"""Return the distance :math:`\sqrt{\sum_k m_k |x_{r_k} - y_{c_k}|^2}` between the columns of x
    and y that a plan matches.

    ``plan``: columns r of x, columns c of y, and masses m. ``units="unit"`` first divides every
    column by its length.
    """
    if units == "unit":
        x, y = (a / _replace_zero_lengths(np.linalg.norm(a, axis=0)) for a in (x, y))
    rows, columns, masses = plan
    return float(np.linalg.norm((x[:, rows] - y[:, columns]) * masses**0.5))


def _distance_after_matching(x: Representation, y: Representation) -> Array:
    """Return the permutation Procrustes distance of x and y, computed from differences of matched
    columns.

    Slower than the formula with products, but accurate if the products of all columns are alike.
    """
    a, b, scale = comparable_columns(x, y)
    costs = _squared_column_distances(detach(a), detach(b), width=max(a.shape[1], b.shape[1]))
    rows, columns = _min_cost_assignment(to_numpy(costs))
    is_pair = (rows < a.shape[1]) & (columns < b.shape[1])
    return scale * _matched_residual(a, b, rows[is_pair], columns[is_pair])


def _min_cost_assignment(costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and the columns of the one-to-one assignment with the lowest total cost.
    ``costs``: square, (m, m).

    No pair of the best assignment costs more than a whole assignment. Larger costs would take
    digits from smaller costs, so costs are capped at the total cost of a first assignment.
    """
    rows, columns, _ = transport_plan(costs)
    limit = costs[rows, columns].sum()
    return transport_plan(np.minimum(costs, limit))[:2] if limit > 0 else (rows, columns)


def _safely_scaled_columns(
    x: Representation, y: Representation, units: str
) -> tuple[Array, Array, Array]:
    """Return columns of x and of y, (n, d) and (n, e), without overflow and underflow, and the
    factor of the distance that undoes the scaling.

    ``units="raw"``: the columns divided by a common factor. ``"unit"``: centred columns of length
    1, and the factor 1.
    """
    if units == "raw":
        return comparable_columns(x, y)
    a, b = (centered(r) / _replace_zero_lengths(column_norms(r)) for r in (x, y))
    return a, b, x.xp.ones_like(size(x))


def _replace_zero_lengths(lengths: Array) -> Array:
    xp = namespace(lengths)
    return xp.where(lengths > 0, lengths, xp.ones_like(lengths))


def _precise_plan(costs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the best transport plan as rows, columns and masses, solved a second time with capped
    costs. ``costs``: (d, e); every row has mass 1/d, every column 1/e.

    No pair of the best plan costs more than the cap, and larger costs would take digits.
    """
    rows, columns, masses = transport_plan(costs)
    limit = float(costs[rows, columns] @ masses) * costs.size
    return transport_plan(np.minimum(costs, limit)) if limit > 0 else (rows, columns, masses)


def _squared_column_distances(a: Array, b: Array, width: int = 0) -> Array:
    """Return the squared Euclidean distances between the columns of a (n, d) and of b (n, e): (d,
    e), or (``width``, ``width``) with columns of zeros appended to a and b up to ``width``.

    The median column is subtracted first, because the median lies among most columns. Distances
    that lost digits are computed from differences.
    """
    xp = namespace(a, b)
    columns = xp.matrix_transpose(
        xp.concat([_append_zero_features(a, width), _append_zero_features(b, width)], axis=1)
    )
    middle = xp.sort(detach(columns), axis=0)[columns.shape[0] // 2, :]
    columns, count = columns - middle[None, :], max(a.shape[1], width)
    left, right = columns[:count, :], columns[count:, :]
    tile = MatrixBlock(slice(0, left.shape[0]), slice(0, right.shape[0]))
    return clip_below_zero(squared_distance_function(left, right)(tile))


def _append_zero_features(a: Array, width: int) -> Array:
    xp, missing = namespace(a), max(0, width - a.shape[1])
    zeros = xp.zeros((a.shape[0], missing), dtype=a.dtype, device=device(a))
    return xp.concat([a, zeros], axis=1)


def _greedy_matching(c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    c, pairs = c.copy(), []
    for _ in range(min(c.shape)):
        row, column = np.unravel_index(np.argmax(c), c.shape)
        pairs.append((row, column))
        c[row, :], c[:, column] = -np.inf, -np.inf
    rows, columns = zip(*pairs, strict=True)
    return np.asarray(rows), np.asarray(columns)


def _sum_of_entries(matrix: Array, rows: np.ndarray, columns: np.ndarray) -> Array:
    """Return the sum of the entries ``matrix[rows[k], columns[k]]``, by a mask so that gradients
    pass."""
    mask = np.zeros(tuple(matrix.shape))
    mask[rows, columns] = 1
    return frobenius_inner(matrix, as_array_like(mask, matrix))


def _matched_residual(a: Array, b: Array, rows: np.ndarray, columns: np.ndarray) -> Array:
    """Return the Frobenius norm of the differences a[:, rows] - b[:, columns] of matched columns,
    together with the unmatched columns of the wider side."""
    xp = namespace(a, b)
    difference = xp.take(a, as_array_like(rows, a), axis=1) - xp.take(
        b, as_array_like(columns, b), axis=1
    )
    wider, matched_columns = (a, rows) if a.shape[1] > b.shape[1] else (b, columns)
    left_over = np.setdiff1d(np.arange(wider.shape[1]), matched_columns)
    return euclidean_norm(
        xp.concat([difference, xp.take(wider, as_array_like(left_over, wider), axis=1)], axis=1)
    )
