"""Maps of training samples and their scores on other samples: rotations, matchings, canonical
correlations and regressions."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..base.exceptions import UndefinedError
from ..contracts.folds import Maps

MIN_CORRELATION = 1e-10  # canonical correlations below are rounding errors


def rotation_maps(x: np.ndarray, y: np.ndarray) -> Maps:
    """Return the best rotation of x (n, d) onto y (n, e); the score is the distance |X Q - Y| of
    the rotated points, by :func:`rotated_distance`.

    The rotation is the one of least norm: training samples that span fewer directions than the
    features leave the other directions without a counterpart.
    """
    u, v = _rotation_bases(x, y)
    return Maps(u, v, partial(rotated_distance, u=u, v=v), "rotated")


def unit_rotation_maps(x: np.ndarray, y: np.ndarray, squared: bool = False) -> Maps:
    """Return the best rotation of x (n, d) onto y (n, e); the score is the distance of the rotated
    points after division of x and of y by the Frobenius norm, or with ``squared`` the squared
    distance."""
    require_variation(x, y)
    u, v = _rotation_bases(x, y)
    return Maps(u, v, partial(_unit_distance, u=u, v=v, power=2 if squared else 1), "rotated")


def angle_maps(x: np.ndarray, y: np.ndarray) -> Maps:
    """Return the best rotation of x (n, d) onto y (n, e); the score is the angle in radians
    between the rotated points and y, as vectors of n e numbers."""
    require_variation(x, y)
    u, v = _rotation_bases(x, y)
    return Maps(u, v, partial(_angle, u=u, v=v), "rotated")


def whitened_angle_maps(x: np.ndarray, y: np.ndarray, alpha: float) -> Maps:
    """Return the best rotation of partly whitened points; the score is the angle, in radians,
    between the whitened points of x and of y after the rotation.

    ``alpha`` is the parameter of ``shape_distance``: 0 whitens fully, and 1 only scales.
    """
    require_variation(x, y)
    whiten = [_partial_whitening(points, alpha) for points in (x, y)]
    u, v = _rotation_bases(*(points @ w for points, w in zip((x, y), whiten)))
    return Maps(
        whiten[0] @ u, whiten[1] @ v, partial(_whitened_angle, whiten=whiten, u=u, v=v), "shared"
    )


def direction_maps(x: np.ndarray, y: np.ndarray) -> Maps:
    """Return the best rotation of x (n, d) onto y (n, e); the score is the mean cosine of
    corresponding rows.

    The rotation may reflect. The rotation minimises the squared distance of the points, as in
    ``aligned_cosine``; long rows therefore weigh more in the rotation than in the score. The score
    leaves out samples with a zero row in x or y, and raises ``UndefinedError`` if no sample is
    left.
    """
    u, v = _rotation_bases(x, y)
    return Maps(u, v, partial(_mean_cosine, u=u, v=v), "rotated")


def canonical_maps(x: np.ndarray, y: np.ndarray) -> Maps:
    """Return the maps of centred x (n, d) and y (n, e) to the r canonical variates with a
    correlation above ``MIN_CORRELATION``, (d, r) and (e, r).

    ``score(x, y)`` of other samples is the cosine between all variates of x and all variates of y,
    as two vectors. Raises :class:`UndefinedError` if r is 0.
    """
    require_variation(x, y)
    (a, s, at), (b, t, bt) = (_spanning_svd(points) for points in (x, y))
    u, rho, vt = np.linalg.svd(a.T @ b, full_matrices=False)
    rank = int((rho > MIN_CORRELATION).sum())
    if rank == 0:
        raise UndefinedError("no direction of X correlates with Y over the training samples")
    maps = (at.T / s) @ u[:, :rank], (bt.T / t) @ vt[:rank].T
    return Maps(*maps, partial(_cosine_of_variates, maps=maps), "shared")


def regression_maps(x: np.ndarray, y: np.ndarray) -> Maps:
    """Return the least-squares maps of centred x (n, d) to centred y (n, e), without intercept.

    The prediction is ``x @ maps.x @ maps.y.T``. ``score(x, y)`` of other samples is 1 minus the
    squared error over the squared norm of y, all features together; below 0 for a bad prediction.
    """
    require_variation(x, y)
    basis, singular, axes = _spanning_svd(x)
    maps = axes.T / singular, y.T @ basis
    return Maps(*maps, partial(explained_share, maps=maps), "y")


def penalized_maps(x: np.ndarray, y: np.ndarray, penalty: float) -> tuple[np.ndarray, np.ndarray]:
    """Return A (d, r) and B (e, r), with x A B' the ridge regression of centred y (n, e) on
    centred x (n, d), without intercept. ``penalty``: in the squared units of x."""
    require_variation(x, y)
    basis, singular, axes = _spanning_svd(x)
    length = np.hypot(singular, np.sqrt(penalty))  # its square may overflow
    return axes.T * (singular / length / length), y.T @ basis


def pls_weights(x: np.ndarray, y: np.ndarray, components: int) -> tuple[np.ndarray, np.ndarray]:
    """Return A (d, k) and B (e, k), with x A B' the regression of centred y (n, e) on the first k
    partial least squares components of centred x (n, d), by NIPALS.

    k is ``components``, or less if the rest of x does not covary with y. Raises ``UndefinedError``
    for more components than features of x or than n - 1, and if no direction covaries.
    """
    require_variation(x, y)
    n, d = x.shape
    if components > min(n - 1, d):
        raise UndefinedError(
            f"{components} components of PLS need {components} features of X and {components + 1} "
            f"training samples; got X {x.shape}; give pls[components={min(n - 1, d)}] or fewer"
        )
    residual, axes = _coordinates(x)
    rounding = max(x.shape) * np.finfo(float).eps * np.linalg.norm(x) * np.linalg.norm(y)
    found: list[tuple[np.ndarray, ...]] = []
    for _ in range(components):
        covariance = residual.T @ y
        if np.linalg.norm(covariance) <= rounding:
            break
        weight = np.linalg.svd(covariance, full_matrices=False)[0][:, 0]
        scores = residual @ weight
        loading, target = (points.T @ scores / np.vdot(scores, scores) for points in (residual, y))
        residual = residual - np.outer(scores, loading)
        found.append((weight, loading, target))
    if not found:
        raise UndefinedError("no direction of X covaries with Y over the training samples")
    w, p, q = (np.array(vectors).T for vectors in zip(*found))
    return axes @ w @ np.linalg.inv(p.T @ w), q


# ------------------------------------------------------------------------------------------- scores


def rotated_distance(x: np.ndarray, y: np.ndarray, u: np.ndarray, v: np.ndarray) -> float:
    r"""Return :math:`\sqrt{|X|^2 + |Y|^2 - 2 \langle X u, Y v \rangle}` for x (n, d), y (n, e), and
    u (d, r), v (e, r) with orthonormal columns, computed from residuals, which keep the digits of a
    small distance."""
    a, b = x @ u, y @ v
    parts = a - b, x - a @ u.T, y - b @ v.T
    return float(np.sqrt(sum(np.vdot(part, part) for part in parts)))


def _unit_distance(x: np.ndarray, y: np.ndarray, u: np.ndarray, v: np.ndarray, power: int) -> float:
    return rotated_distance(unit_points(x), unit_points(y), u, v) ** power


def _angle(x: np.ndarray, y: np.ndarray, u: np.ndarray, v: np.ndarray) -> float:
    chord = rotated_distance(unit_points(x), unit_points(y), u, v)
    return float(2 * np.arcsin(min(chord / 2, 1.0)))


def _whitened_angle(
    x: np.ndarray, y: np.ndarray, whiten: list[np.ndarray], u: np.ndarray, v: np.ndarray
) -> float:
    return _angle(x @ whiten[0], y @ whiten[1], u, v)


def _mean_cosine(x: np.ndarray, y: np.ndarray, u: np.ndarray, v: np.ndarray) -> float:
    lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    has_direction = lengths > 0
    if not has_direction.any():
        raise UndefinedError("no test sample has a direction (a non-zero row) in both")
    products = np.vecdot((x @ u)[has_direction], (y @ v)[has_direction])
    return float((products / lengths[has_direction]).mean())


def _cosine_of_variates(x: np.ndarray, y: np.ndarray, maps: tuple[np.ndarray, np.ndarray]) -> float:
    a, b = (unit_points(points @ m) for points, m in zip((x, y), maps))
    return float(np.vdot(a, b))


def explained_share(x: np.ndarray, y: np.ndarray, maps: tuple[np.ndarray, np.ndarray]) -> float:
    """Return 1 minus the squared error of the prediction x A B' over the squared norm of y, below
    0 for a bad prediction; raise :class:`UndefinedError` if y is all 0. ``maps``: A (d, r) and B
    (e, r)."""
    total = np.vdot(y, y)
    if total == 0:
        raise UndefinedError("Y is constant over the test samples")
    residual = y - (x @ maps[0]) @ maps[1].T
    return float(1 - np.vdot(residual, residual) / total)


def median_correlation(x: np.ndarray, y: np.ndarray, maps: tuple[np.ndarray, np.ndarray]) -> float:
    """Return the median, over the features of y, of the correlation between the feature and its
    prediction by x A B'.

    ``maps``: A (d, r) and B (e, r). A constant feature of y is left out; a constant prediction
    counts as 0. Raises ``UndefinedError`` if all features are constant.
    """
    varies = np.ptp(y, axis=0) > 0
    if not varies.any():
        raise UndefinedError("Y is constant over the test samples")
    predicted = (x @ maps[0]) @ maps[1].T
    a, b = (_unit_columns(points[:, varies]) for points in (predicted, y))
    return float(np.median((a * b).sum(axis=0)))


# ----------------------------------------------------------------------------------- linear algebra


def unit_points(points: np.ndarray) -> np.ndarray:
    """Return new points divided by the Frobenius norm; raise :class:`UndefinedError` if all points
    are zero."""
    largest = np.abs(points).max(initial=0.0)
    if largest == 0:
        raise UndefinedError("the test samples do not differ from the mean of the training samples")
    points = points / largest
    return np.asarray(points / np.linalg.norm(points))


def _unit_columns(points: np.ndarray) -> np.ndarray:
    """Return new points with every column centred and divided by its length; a constant column
    becomes zeros."""
    points = points - points[0]
    points = points / np.where(points.any(axis=0), np.abs(points).max(axis=0), 1)
    points = points - points.mean(axis=0)
    lengths = np.linalg.norm(points, axis=0)
    return np.asarray(points / np.where(lengths, lengths, 1))


def require_variation(x: np.ndarray, y: np.ndarray) -> None:
    """Raise :class:`UndefinedError` if x or y, centred points of training samples, is all 0."""
    for points, side in ((x, "X"), (y, "Y")):
        if not points.any():
            raise UndefinedError(f"{side} is constant over the training samples")


def _spanning_svd(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the thin singular value decomposition u (n, r), s (r,), vt (r, d) of points (n, d),
    without the singular values that are rounding."""
    u, s, vt = np.linalg.svd(points, full_matrices=False)
    rank = int((s > max(points.shape) * np.finfo(float).eps * s[0]).sum())
    return u[:, :rank], s[:rank], vt[:rank]


def _rotation_bases(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return u (d, r) and v (e, r) with orthonormal columns such that X u is nearest to Y v, for x
    (n, d) and y (n, e). r is the rank of X' Y, so u v' is the best rotation of X onto Y."""
    (a, x_axes), (b, y_axes) = map(_coordinates, (x, y))
    u, s, vt = np.linalg.svd(a.T @ b, full_matrices=False)
    rank = int((s > max(x.shape + y.shape) * np.finfo(float).eps * s[0]).sum())
    return x_axes @ u[:, :rank], y_axes @ vt[:rank].T


def _coordinates(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates C (n, k) and orthonormal axes A (d, k) with points = C A'; k = min(n, d).
    For d <= n these are the points and the identity."""
    n, d = points.shape
    if d <= n:
        return points, np.eye(d)
    axes, coordinates = np.linalg.qr(points.T)
    return coordinates.T, axes


def _partial_whitening(points: np.ndarray, alpha: float) -> np.ndarray:
    """Return the map W (d, d) of centred points P (n, d) to partly whitened points P W, as
    ``shape_distance`` does: ``alpha`` 0 whitens fully, 1 only scales."""
    _, s, axes = _spanning_svd(points)
    scale = np.sqrt(len(s)) / np.linalg.norm(s)
    return np.asarray(alpha * scale * np.eye(points.shape[1]) + (1 - alpha) * (axes.T / s) @ axes)
