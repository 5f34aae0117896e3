"""Distances between samples: correlation and difference of the distances in two representations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from ..base.arrays import (
    Array,
    clip_above_one,
    clip_below_zero,
    epsilon,
    frobenius_inner,
    row_blocks,
    safe_sqrt,
    scalar,
    to_numpy,
)
from ..base.exceptions import UndefinedError
from ..base.rng import generator
from ..contracts._measure import measure
from ..contracts.claims import RIGID_INVARIANCES, SHAPE_INVARIANCES, AllPairs, Product, Scores
from ..data.representation import Representation, as_representation
from ..intermediates.distances import (
    MAX_GATHERED_NUMBERS,
    deviation_norm,
    distance_deviation,
    distance_deviations,
    distances,
    double_centered_inner,
    mean_distance,
    u_centered_inner,
    u_centered_norm,
)
from ..intermediates.exact_differences import unit_size_distances
from ..intermediates.matrices import (
    distance_pair_matrix,
    u_centered_distance_matrix,
    unscaled_distance_matrix,
)
from ..intermediates.pair_matrix import expected_cosine
from ..intermediates.points import size
from ..intermediates.rectangles import (
    MAX_STORED_SAMPLES,
    BlockFunction,
    ExactSum,
    UniquePairs,
    all_row_column_pairs,
    distance_function,
    matrix_inner_products,
    upper_blocks,
)
from .inner_products import squared_distance, warn_near_ceiling
from .leave_one_out.distances import (
    leave_one_out_debiased_distance_corr,
    leave_one_out_distance_corr,
    leave_one_out_rsm_norm,
)


@measure(
    label="DistCorr", family="similarity_matrix", citation="szekely2007measuring", version=3,
    larger_is_more_similar=True, range=(0, 1), invariant_to=SHAPE_INVARIANCES,
    leave_one_out=leave_one_out_distance_corr,
)  # fmt: skip
def distance_correlation(
    x: Representation,
    y: Representation,
    *,
    squared: bool = False,
    estimator: Literal["biased", "debiased"] = "biased",
) -> Array:
    r"""Distance correlation: the correlation of two double-centred matrices of Euclidean distances.

    .. math:: \sqrt{\frac{\langle A, B \rangle_F}{\lVert A \rVert_F \lVert B \rVert_F}}, \qquad
        A = H D_X H, \; B = H D_Y H, \quad (D_X)_{ij} = \lVert x_i - x_j \rVert

    X is (n, d), Y is (n, e). In the population the value is 0 only for independent variables; this
    (biased) sample version is well above 0 for independent data in many dimensions.
    ``squared=True`` leaves out the root.

    ``estimator="debiased"`` is the bias-corrected statistic R* of Székely and Rizzo 2013, which
    estimates the *squared* distance correlation and is 0 on average for independent data: the
    correlation of the U-centred matrices

    .. math:: U_{ij} = d_{ij} - \frac{\sum_k d_{ik} + \sum_k d_{kj}}{n - 2}
        + \frac{\sum_{kl} d_{kl}}{(n - 1)(n - 2)} \quad (i \ne j), \qquad U_{ii} = 0

    for n of at least 4, from -1 to 1. R* has no root, because half of the values of independent
    data are negative, so ``squared`` has no effect on the debiased value.

    O(n^2 d) time, n^2/2 numbers per representation. For more
    than 4096 samples the distances are not stored, and the code makes two passes over the pairs.
    Raises ``UndefinedError`` for a constant representation.

    Use it when you want to detect any dependence between all pairwise distances, not only linear
    dependence.

    Beware. The biased estimate is well above 0 for unrelated data with many features. Compare the
    value with the chance level, or use the debiased estimator.

    Reference: Székely et al. 2007; Székely and Rizzo 2013, 2014 (debiased). The debiased value is
    ``u_distance_correlation_sqr`` of dcor and ``bcdcor`` of the R package energy. Eq. 20 of the
    ReSi paper is the squared version; the ReSi code takes the root, like this function.
    """
    if estimator == "debiased":
        value = u_centered_inner(x, y) / (u_centered_norm(x) * u_centered_norm(y))
        return clip_above_one(value)
    value = double_centered_inner(x, y) / (distance_deviation(x) * distance_deviation(y))
    value = clip_above_one(clip_below_zero(value))  # negative values are rounding errors
    return value if squared else safe_sqrt(value)


@distance_correlation.claim("uninformative")
def uninformative_distances(
    x: Representation, y: Representation, squared: bool, estimator: str
) -> str:
    """Near an extreme when the distances between samples are nearly equal, as for few samples of
    many features, but not with ``estimator="debiased"``.

    In this case the value of the pair is near the value of equal data, whatever the data. The
    function then returns a warning as text, otherwise "", and always "" for
    ``estimator="debiased"``.
    """
    if estimator == "debiased":
        return ""
    share = expected_cosine(distance_pair_matrix(x), distance_pair_matrix(y))
    return warn_near_ceiling(x.n_samples, share if squared else math.sqrt(max(share, 0.0)))


@distance_correlation.claim("claims_for")
def _distance_correlation_claims(squared: bool, estimator: str) -> dict[str, Any]:
    """Return the claims of ``distance_correlation`` that depend on the root and on the
    estimator."""
    if estimator == "biased":
        return {"compares": Product(distance_pair_matrix, root=not squared, blocks=True)}
    compared = Product(u_centered_distance_matrix, blocks=True)
    return {
        "compares": compared,
        "range": (-1, 1),
        "min_samples": 4,
        "leave_one_out": leave_one_out_debiased_distance_corr,
    }


def partial_distance_correlation(X: Any, Y: Any, Z: Any) -> Any:
    r"""Return the partial distance correlation of X and Y, with the dependence on Z removed.

    .. math:: \frac{R_{XY} - R_{XZ} R_{YZ}}{\sqrt{1 - R_{XZ}^2} \sqrt{1 - R_{YZ}^2}}

    with the debiased :func:`distance_correlation` R: the cosine between the U-centred distances of
    X and of Y, after the part along the U-centred distances of Z is removed from both. X is (n, d),
    Y (n, e) and Z (n, f), with the same n >= 4 samples as rows. The result, from -1 to 1, is a
    ``float`` for NumPy input and a 0-d tensor of the same library otherwise.

    Use it when you ask whether X and Y share more than both share with Z, such as the classes or
    low-level features of the stimuli.

    Beware. The value is 0 for a dependence of distances through Z alone, which is not the same as
    conditional independence.

    Raises ``ValueError`` for different samples, and ``UndefinedError`` for a constant
    representation, and where the distances of X or Y equal those of Z up to scale and margins.

    Reference: Székely and Rizzo 2014, Definition 3. dcor's ``partial_distance_correlation`` is 0
    where this function raises ``UndefinedError``.
    """
    x, y, z = (as_representation(data, name) for data, name in zip((X, Y, Z), "XYZ"))
    if len({x.n_samples, y.n_samples, z.n_samples}) > 1:
        raise ValueError(
            f"partial_distance_correlation: X {x.shape}, Y {y.shape} and Z {z.shape} must have the "
            "same number of samples (rows); leave out the samples that one of them lacks"
        )
    debiased = distance_correlation.with_parameters(estimator="debiased")
    xy, xz, yz = debiased(x, y), debiased(x, z), debiased(y, z)
    remainder = (1 - xz**2) * (1 - yz**2)
    if scalar(remainder) <= 1e-12:
        raise UndefinedError(
            "partial_distance_correlation: Z has the distances of X or of Y, so nothing is left to "
            "correlate; leave Z out"
        )
    return (xy - xz * yz) / remainder**0.5


@measure(
    label="RSMDiff",
    family="similarity_matrix",
    citation="shahbazi2021using",
    version=2,
    larger_is_more_similar=False,
    range=(0, np.inf),
    metric=True,
    invariant_to=RIGID_INVARIANCES,
    compares=Product(unscaled_distance_matrix, value=squared_distance, root=True),
    claims_for=lambda norm: (
        {"differentiable": False, "compares": None, "leave_one_out": None}
        if norm == "spectral"
        else {}
    ),
    leave_one_out=leave_one_out_rsm_norm,
)
def rsm_norm_difference(
    x: Representation, y: Representation, *, norm: Literal["frobenius", "spectral"] = "frobenius"
) -> Array:
    r"""RSM norm difference: the norm of the difference of two matrices of Euclidean distances.

    .. math:: \lVert D_X - D_Y \rVert, \qquad (D_X)_{ij} = \lVert x_i - x_j \rVert

    ``norm="frobenius"`` is the root of the summed squares over all n x n entries. ``"spectral"`` is
    the largest absolute eigenvalue, as in the ReSi code.

    X is (n, d), Y is (n, e). The value is in the units of the activations and grows with n. O(n^2
    d) time, n^2/2 numbers per representation, n^2 for ``"spectral"``. For more than 4096 samples
    the distances are not stored, and the code makes one pass over the pairs, or ten to twenty for
    the spectral norm. Defined for all finite data (all distances of a constant representation are
    zero). A metric between distance matrices.

    Use it when you want the plain difference between two distance matrices, sizes included.

    Beware. The value grows with n and with scale. The largest distances decide, so outliers do too.

    Reference: Shahbazi et al. 2021; Yin and Shen 2018 for matrices of inner products instead of
    distances.
    """
    a, b = size(x), size(y)
    if scalar(a) == 0 or scalar(b) == 0:
        return sum(
            s * _distance_norm(r, norm) for r, s in ((x, a), (y, b)) if scalar(s) > 0
        ) + 0.0 * (a + b)
    scale = x.xp.where(a > b, a, b)
    return scale * _difference_norm(x, y, a / scale, b / scale, norm)


def _difference_norm(x: Representation, y: Representation, a: Array, b: Array, norm: str) -> Array:
    """Return the ``norm`` ("spectral" or "frobenius") of a D_X - b D_Y, where D_X and D_Y are the
    distances of x and y in unit size (centred, Frobenius norm 1)."""
    if norm == "spectral":
        return _largest_eigenvalue(
            _scaled_difference(to_numpy(distances(x)), to_numpy(distances(y)), scalar(a), scalar(b))
        )
    pairs = distance_deviations(x).shape[0]
    means = a * mean_distance(x) - b * mean_distance(y)
    return safe_sqrt(2 * (_squared_deviation_difference(x, y, a, b) + pairs * means**2))


def _squared_deviation_difference(
    x: Representation, y: Representation, a: Array, b: Array
) -> Array:
    """Return |a d - b e|^2, where d and e are the deviations of the distances of the pairs i < j in
    x and y, in unit size (centred, Frobenius norm 1), from their means."""
    d, e = distance_deviations(x), distance_deviations(y)
    p, q = a * deviation_norm(x), b * deviation_norm(y)
    squared = (p - q) ** 2 + 2 * (p * q - a * b * frobenius_inner(d, e))
    if scalar(squared) > 1e-6 * scalar(p * q):
        return squared
    # The formula above loses digits for nearly equal matrices.
    blocks = (a * d[i:j] - b * e[i:j] for i, j in row_blocks(d.shape[0], MAX_GATHERED_NUMBERS))
    return sum(frobenius_inner(block, block) for block in blocks)


def _scaled_difference(p: np.ndarray, q: np.ndarray, a: float, b: float) -> np.ndarray:
    """Return a new matrix a P - b Q, for ``p`` and ``q`` (n, n), with one temporary matrix instead
    of three."""
    difference = a * p
    for start, stop in row_blocks(len(p)):
        difference[start:stop] -= b * q[start:stop]
    return difference


def _distance_norm(x: Representation, norm: str) -> Array:
    if norm == "spectral":
        return _largest_eigenvalue(to_numpy(distances(x)))
    pairs = distance_deviations(x).shape[0]
    return safe_sqrt(2 * (deviation_norm(x) ** 2 + pairs * mean_distance(x) ** 2))


def _largest_eigenvalue(symmetric: np.ndarray) -> float:
    """Return the largest absolute eigenvalue, the 2-norm of a symmetric matrix; 0 for a matrix of
    zeros.

    Uses the Lanczos process with a fixed start, and all eigenvalues for n below 20 or without
    convergence.
    """
    from scipy.sparse.linalg import ArpackError, eigsh

    n = symmetric.shape[0]
    if not symmetric.any():
        return 0.0
    if n < 20:
        return float(np.abs(np.linalg.eigvalsh(symmetric)).max())
    # A simple start can be orthogonal to the eigenvector of structured data, a random start is not.
    start: Any = generator(0, "largest eigenvalue", n).standard_normal(n)
    try:
        # The error of an eigenvalue is quadratic in the error of the eigenvector, so a tolerance
        # of 1e-8 gives all digits.
        values = eigsh(
            symmetric, k=1, which="LM", v0=start, ncv=8, tol=1e-8, return_eigenvectors=False
        )
    except ArpackError:  # did not converge
        values = np.linalg.eigvalsh(symmetric)
    return float(np.abs(values).max())


# ------------------------------------------------------------------------------------- many samples


# Below this share of the squares, the difference of squares is computed entry by entry.
MIN_RELATIVE_DIFFERENCE = 1e-6


@rsm_norm_difference.claim("all_pairs")
@partial(AllPairs, above=MAX_STORED_SAMPLES)
def rsm_norm_differences(
    xs: Sequence[Representation], ys: Sequence[Representation], norm: str
) -> Scores:
    """Return the values of ``rsm_norm_difference`` for all pairs of ``xs`` and ``ys``, (rows,
    columns).

    A Frobenius norm takes one pass over the distances, and a second pass for nearly equal
    distances. A spectral norm takes one pass per step of the Lanczos process, ten to twenty passes.
    O(n^2 d) time per representation and O(n^2) per pair, O(n d) memory.
    """
    grid = all_row_column_pairs(xs, ys)
    a, b = grid.ends([scalar(size(r)) for r in grid.representations])
    scale = np.maximum(a, b)
    divisor = np.where(scale > 0, scale, 1)
    find = largest_eigenvalues if norm == "spectral" else _frobenius_norms
    values = scale * find(_distances_in_unit_size(grid), grid, a / divisor, b / divisor)
    return Scores(values[grid.places])


def _distances_in_unit_size(grid: UniquePairs) -> list[BlockFunction]:
    """Return, for every representation of ``grid``, a function that computes blocks of the
    distances in unit size (centred, Frobenius norm 1); zeros for a constant representation."""
    return [
        unit_size_distances(r) if scalar(size(r)) > 0 else distance_function(0 * r.array)
        for r in grid.representations
    ]


def _frobenius_norms(
    matrices: list[BlockFunction], grid: UniquePairs, a: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """Return the Frobenius norm of a P - b Q for every pair of ``grid``, (pairs,).

    ``matrices``: a function per representation that computes blocks of the (n, n) distances; P and
    Q are the matrices of the pair. ``a``, ``b``: a factor per pair.
    """
    diagonal = [(i, i) for i in range(len(matrices))]
    sums = matrix_inner_products(matrices, [*diagonal, *grid.pairs], grid.samples)
    norms, product = np.sqrt(sums[: len(diagonal)]), sums[len(diagonal) :] * a * b
    p, q = (c * end for c, end in zip((a, b), grid.ends(norms)))
    squares = (p - q) ** 2 + 2 * (p * q - product)
    for k in np.flatnonzero(squares <= MIN_RELATIVE_DIFFERENCE * p * q):
        squares[k] = _squared_difference(matrices, grid, int(k), float(a[k]), float(b[k]))
    return np.sqrt(squares)


def _squared_difference(
    matrices: list[BlockFunction], grid: UniquePairs, k: int, a: float, b: float
) -> float:
    """Return the sum of the squares of the entries of a P - b Q for pair ``k`` of the grid,
    computed entry by entry, where the general formula loses digits; 0 for a representation with
    itself.

    ``matrices``: a function per representation that computes blocks of the (n, n) distances; P and
    Q are the matrices of the pair. ``a``, ``b``: the factors of the pair.
    """
    i, j = grid.pairs[k]
    if i == j:
        return 0.0
    total = ExactSum()
    for tile in upper_blocks(grid.samples):
        difference = a * matrices[i](tile) - b * matrices[j](tile)
        total.add(tile.weight * scalar(frobenius_inner(difference, difference)))
    return float(total.value)


MAX_LANCZOS_STEPS = 500
MAX_LANCZOS_NUMBERS = 2**25  # numbers in all Lanczos vectors in memory at the same time
EIGENVALUE_TOLERANCE = 1e-13  # largest relative error of an eigenvalue
# Largest relative residual. The error of the eigenvalue is quadratic in the residual.
MAX_LANCZOS_RESIDUAL = 1e-6


class Lanczos:
    """The Lanczos process of a symmetric matrix A (n, n), from a random start, without stored
    vectors: the caller computes A ``vector`` and passes the image to ``take``, until ``is_done``.

    Rounding can produce copies of the extreme eigenvalues, but no wrong eigenvalue (Paige 1976). An
    eigenvalue with an absolute error of at most ``rounding`` is exact enough.
    """

    def __init__(self, n: int, rounding: float):
        self._rounding = rounding
        start = generator(0, "largest eigenvalue", n).standard_normal(n)
        self.vector, self._before = start / np.linalg.norm(start), np.zeros(n)
        self._diagonal: list[float] = []
        self._beside: list[float] = []
        self.value, self.is_done = 0.0, False

    def take(self, image: np.ndarray) -> None:
        """Make a step with ``image`` = A v, for the current ``vector`` v: update ``value``, the
        largest absolute eigenvalue so far, ``is_done``, and ``vector`` unless done."""
        alpha = float(self.vector @ image)
        image = image - alpha * self.vector
        if self._beside:
            image -= self._beside[-1] * self._before
        beta = float(np.linalg.norm(image))
        self._diagonal.append(alpha)
        matrix = np.diag(self._diagonal) + np.diag(self._beside, 1) + np.diag(self._beside, -1)
        values, vectors = np.linalg.eigh(matrix)
        largest = int(np.argmax(np.abs(values)))
        self.value = float(abs(values[largest]))
        gaps = np.abs(np.delete(values, largest) - values[largest])
        residual = beta * abs(vectors[-1, largest])
        self.is_done = residual <= self._rounding or _is_converged(residual, gaps, self.value)
        if not self.is_done:
            self._before, self.vector = self.vector, image / beta
            self._beside.append(beta)


def _is_converged(residual: float, gaps: np.ndarray, value: float) -> bool:
    """Return whether an eigenvalue of magnitude ``value`` is exact to a relative error of
    ``EIGENVALUE_TOLERANCE``.

    ``gaps``: the distances to the other eigenvalues. ``residual``: the norm |A v - value v|. The
    error of an eigenvalue is at most the residual, and at most the squared residual over the
    distance to the next eigenvalue.
    """
    error = residual * min(1.0, residual / max(gaps.min(initial=value), 1e-300))
    return bool(residual <= MAX_LANCZOS_RESIDUAL * value and error <= EIGENVALUE_TOLERANCE * value)


def largest_eigenvalues(
    matrices: list[BlockFunction], grid: UniquePairs, a: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """Return the largest absolute eigenvalue of a P - b Q for every pair of ``grid``, (pairs,); 0
    for a representation with itself.

    ``matrices``: a function per representation that computes blocks of the (n, n) distances; P and
    Q are the matrices of the pair. ``a``, ``b``: a factor per pair, (pairs,). Every Lanczos step of
    all pairs in a batch takes one pass over the distances.
    """
    values = np.zeros(len(grid.pairs))
    different = [k for k, (i, j) in enumerate(grid.pairs) if i != j]
    step = max(1, MAX_LANCZOS_NUMBERS // (3 * grid.samples))
    for start in range(0, len(different), step):
        batch = different[start : start + step]
        values[batch] = _largest_eigenvalues_of_pairs(matrices, grid, batch, a, b)
    return values


def _largest_eigenvalues_of_pairs(
    matrices: list[BlockFunction],
    grid: UniquePairs,
    positions: list[int],
    a: np.ndarray,
    b: np.ndarray,
) -> list[float]:
    """Return the largest absolute eigenvalues of a P - b Q for the pairs at ``positions`` of
    ``grid.pairs``.

    ``a``, ``b``: the factors of all pairs of the grid. The matrix of distances in unit size has the
    norm sqrt(2 n). If the distances of a pair are equal, the difference is only the rounding error
    of matrices with that norm. Raises ``UndefinedError`` after ``MAX_LANCZOS_STEPS`` steps.
    """
    rounding = epsilon(grid.representations[0].array) * (2 * grid.samples) ** 0.5 * (a + b)
    processes = {k: Lanczos(grid.samples, float(rounding[k])) for k in positions}
    for _ in range(MAX_LANCZOS_STEPS):
        active = {k: p for k, p in processes.items() if not p.is_done}
        if not active:
            return [p.value for p in processes.values()]
        images = _apply_difference(matrices, grid, {k: p.vector for k, p in active.items()}, a, b)
        for k, process in active.items():
            process.take(images[k])
    raise UndefinedError(
        f"rsm_norm_difference: the largest eigenvalue was not found in {MAX_LANCZOS_STEPS} steps; "
        "norm='frobenius' has a value"
    )


def _apply_difference(
    matrices: list[BlockFunction],
    grid: UniquePairs,
    vectors: dict[int, np.ndarray],
    a: np.ndarray,
    b: np.ndarray,
) -> dict[int, np.ndarray]:
    """Return (a P - b Q) v for the vector v (n,) of every pair in ``vectors``. Keys of argument and
    result are positions in ``grid.pairs``.

    ``matrices``: a function per representation that computes blocks of the (n, n) distances; P and
    Q are the matrices of the pair. ``a``, ``b``: the factors of all pairs of the grid.
    """
    images = {k: np.zeros(len(v)) for k, v in vectors.items()}
    users: dict[int, list[int]] = {}
    for k in vectors:
        for i in grid.pairs[k]:
            users.setdefault(i, []).append(k)
    for tile in upper_blocks(grid.samples):
        for i, pairs in users.items():
            block = to_numpy(matrices[i](tile))
            for k in pairs:
                factor = a[k] if grid.pairs[k][0] == i else -b[k]
                images[k][tile.rows] += factor * (block @ vectors[k][tile.columns])
                if not tile.is_square:
                    images[k][tile.columns] += factor * (vectors[k][tile.rows] @ block)
    return images
