"""Dissimilarities as representations: given matrices, and dissimilarities of noisy responses."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..base.arrays import as_float64, full_precision, scalar, to_numpy
from ..base.exceptions import UndefinedError
from ..base.text import check_choice
from ..data.array_files import npy_path, open_npy
from ..data.inputs import check_label_order
from ..data.representation import (
    PseudoEuclidean,
    Representation,
    as_representation,
    check_all_finite,
    representation_title,
)
from ..intermediates.distances import dissimilarity_matrix
from ..intermediates.missing_pairs import gap_columns
from ..intermediates.noise import (
    as_trial_representation,
    check_noise,
    mean_rows_by_number,
    noise_cholesky_factor,
    trial_features,
)
from ..intermediates.points import size
from ..significance.labels import label_codes

MAX_CONDITIONS = 4096  # computing the points takes O(n^3) time
# Allowed difference between the halves of a matrix, relative to the largest dissimilarity.
MAX_RDM_ASYMMETRY = 1e-8
MIN_FEATURE_SIZE = 1e-140  # smallest size of features with accurate squares
# Eigenvalues below this share of the largest eigenvalue are rounding errors.
MIN_EIGENVALUE_SHARE = 1e-14

# With fewer conditions, all cross-validated dissimilarities may be negative by chance.
MIN_CONDITIONS_FOR_SIGNS = 4

DissimilarityKind = Literal["sqeuclidean", "euclidean", "correlation", "cosine", "poisson"]
FactorFunction = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
DISSIMILARITY_KINDS = ("sqeuclidean", "euclidean", "correlation", "cosine", "poisson")


def from_dissimilarities(
    values: Any, name: str = "", *, ids: Sequence[Hashable] | None = None
) -> Representation:
    r"""Return a representation with the given dissimilarities, such as the RDM of a recording.

    .. math:: D_{ij} = \sum_a s_a (p_{ia} - p_{ja})^2, \qquad -\tfrac{1}{2} H D H = U \Lambda
        U^\top, \quad P = U |\Lambda|^{1/2}, \; s = \operatorname{sign} \Lambda

    The values of the representation are points P (n, r), and differences of points count with signs
    s. The points reproduce any symmetric D with a zero diagonal, negative entries included. You can
    select, reorder and save the rows as in any representation. ``rsa`` compares the representation
    with features or with other dissimilarities; ``rdm=`` of ``rsa`` applies to the features.
    Measures of features raise ``UndefinedError``.

    ``values``: (n, n), or (n (n - 1) / 2,) row by row above the diagonal, as in SciPy and
    rsatoolbox; an array, a tensor, a DataFrame, whose index gives the ``ids``, or the path of a
    ``.npy`` file. NaN marks a pair without a dissimilarity, in both halves of a matrix; ``rsa``
    compares the pairs that have a dissimilarity on both sides.

    Raises ``ValueError`` for a matrix that is not square, that is not symmetric within 1e-8 (2e-6
    in single precision) or that has a non-zero diagonal; for a length that is not n (n - 1) / 2;
    and for more than 4096 conditions, because the time is O(n^3). Raises ``UndefinedError`` for an
    infinite dissimilarity and for a matrix without any dissimilarity.

    Reference: Goldfarb 1984.
    """
    if isinstance(values, str | Path):
        path = npy_path(values)
        name, values = name or path.stem, open_npy(path)
    if np.ndim(values) == 3:
        raise ValueError(
            f"from_dissimilarities: one matrix at a time; got {np.shape(values)}; make a "
            "representation of each matrix"
        )
    if np.ndim(values) == 1:
        values = _symmetric_from_condensed(as_float64(to_numpy(values)))
    x = Representation(values, name, ids=ids, dtype=None)
    matrix = as_float64(to_numpy(x.source))
    n = len(matrix)
    if matrix.shape != (n, n):
        raise ValueError(
            f"from_dissimilarities: {representation_title(x)} must be (n, n) or (n (n - 1) / 2,); "
            "got "
            f"{matrix.shape}; make a representation of each matrix or vector; for features write "
            "rs.dissimilarities(X)"
        )
    gaps, matrix = _fill_missing_pairs(x, matrix)
    slack = max(MAX_RDM_ASYMMETRY, 16 * _input_rounding(x)) * np.abs(matrix).max()
    if np.abs(np.diagonal(matrix)).max() > slack:
        raise ValueError(
            f"from_dissimilarities: {representation_title(x)} has a non-zero diagonal, which is "
            "not used; for dissimilarities between runs set the diagonal to 0, "
            "np.fill_diagonal(D, 0), and average both halves, (D + D.T) / 2; for similarities S "
            "pass 1 - S"
        )
    if n >= MIN_CONDITIONS_FOR_SIGNS and matrix.max() <= slack and matrix.min() < -slack:
        raise ValueError(
            f"from_dissimilarities: no entry of {representation_title(x)} is positive; pass "
            "dissimilarities D, which are larger for less similar conditions, not -D"
        )
    if np.abs(matrix - matrix.T).max() > slack:
        raise ValueError(
            f"from_dissimilarities: {representation_title(x)} is not symmetric; average both "
            "halves, (D + D.T) / 2"
        )
    return _pseudo_euclidean_points((matrix + matrix.T) / 2, "given", x.name, x.ids, gaps)


def _fill_missing_pairs(x: Representation, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mask (n, n) of pairs without a dissimilarity, and a matrix with the gaps filled.

    ``matrix``: (n, n) dissimilarities of ``x``, with NaN for a missing pair; without NaN the
    function returns ``matrix`` itself. The filling is the mean of the given dissimilarities, and 0
    on the diagonal. No result depends on the filling. Raises ``UndefinedError`` for infinity and
    for a matrix without any pair, and ``ValueError`` for NaN in one half of the matrix alone. ``x``
    gives the name for errors.
    """
    if np.isinf(matrix).any():
        i, j = np.argwhere(np.isinf(matrix))[0]
        raise UndefinedError(
            f"from_dissimilarities: {representation_title(x)} has an infinite dissimilarity "
            f"between conditions {i} and {j}; where a pair was not measured write NaN, "
            "np.where(np.isinf(D), np.nan, D)"
        )
    gaps, pairs = np.isnan(matrix), ~np.eye(len(matrix), dtype=bool)
    if not gaps.any():
        return gaps, matrix
    if len(matrix) > 1 and gaps[pairs].all():
        raise UndefinedError(
            f"from_dissimilarities: {representation_title(x)} has no dissimilarity of any pair"
        )
    if (gaps != gaps.T).any():
        i, j = np.argwhere(gaps & ~gaps.T)[0]
        raise ValueError(
            f"from_dissimilarities: {representation_title(x)} has NaN between conditions {i} and "
            f"{j}, and a number"
            f" between {j} and {i}; take the number of the other half, np.fmax(D, D.T)"
        )
    filling = np.where(pairs, matrix[~gaps & pairs].mean(), 0.0)
    return gaps & pairs, np.where(gaps, filling, matrix)


def dissimilarities(
    X: Any,
    conditions: Any = None,
    *,
    rdm: DissimilarityKind = "sqeuclidean",
    noise: Any = None,
    runs: Any = None,
    prior: tuple[float, float] = (1.0, 0.1),
    name: str = "",
) -> Representation:
    r"""Return the dissimilarities between mean responses to conditions, divided by the number of
    features.

    .. math:: \delta_{ij} = \tfrac{1}{d} (m_i - m_j)^\top \Sigma^{-1} (m_i - m_j), \qquad
        \delta_{ij} = \tfrac{1}{d R} \sum_r (m_i - m_j)_{-r}^\top \Sigma^{-1} (m_i - m_j)_r

    ``X`` is (trials, d) and ``conditions`` has one label per trial. The result has one row per
    condition, sorted, with the labels as ids. Without ``conditions`` every row of ``X`` is a
    condition. With ``noise``, a covariance (d, d) such as :func:`noise_covariance`,
    ``"sqeuclidean"`` is the squared Mahalanobis distance.

    With ``runs``, one label per trial, the dissimilarity is cross-validated (the second formula,
    crossnobis): one factor comes from a run and the other factor from the other runs. Noise then
    adds nothing on average, and dissimilarities without a true difference are negative as often as
    positive. If a condition lacks a trial in some run, every pair of conditions uses the R runs
    that contain both conditions.

    If trials have NaN, a mean is over the trials that have a number, and the function warns. A
    trial without any number is a missing trial. Without ``runs``, if all trials of a condition are
    missing, the condition has no dissimilarity to other conditions (NaN).

    ``"euclidean"`` is the square root. ``"correlation"`` (1 - Pearson over features) and
    ``"cosine"`` are not divided by d; a mean without direction (zero, or constant for correlations)
    has dissimilarity 1 to all other means. ``"poisson"`` is for counts: the symmetric
    Kullback-Leibler divergence :math:`\sum_f (a_f - b_f)(\ln a_f - \ln b_f) / d` of rates
    a = (m + λ w) / (1 + w) with ``prior`` = (λ, w). With ``runs``, the rates come from the other
    runs and the logarithms from one run.

    Raises ``ValueError`` for labels of another length, for two conditions that share fewer than two
    runs, for ``runs`` with kinds that have no unbiased form, for ``noise`` that is not (d, d), that
    is not positive definite or that comes with a kind other than the two Euclidean kinds, for
    negative counts, for correlations over one feature, and for more than 4096 conditions. Raises
    ``UndefinedError`` for infinite values, for a condition without a number of some feature (in a
    run, with ``runs``), and if the trials differ by less than rounding.

    Reference: Walther et al. 2016; Schütt et al. 2019 for counts.
    """
    x = as_trial_representation("dissimilarities", X, name)
    if runs is not None and conditions is None:
        raise ValueError("dissimilarities: runs need conditions, a label for each trial")
    check_label_order(
        "dissimilarities", representation_title(x), x.order, conditions=conditions, runs=runs
    )
    points, (ids, numbers) = trial_features("dissimilarities", x), _condition_numbers(x, conditions)
    _check_kind(rdm, points, noise, runs, prior)
    if noise is not None:
        check_noise(noise, points, numbers)
    is_missing = np.isnan(points).all(axis=1)
    if is_missing.all():
        raise UndefinedError(f"dissimilarities: {representation_title(x)} has no number at all")
    points, unit = _rescale_into_range(points, rdm, noise)
    if rdm in ("sqeuclidean", "euclidean"):
        points = _subtract_feature_means(points)
    factors = _dissimilarity_factors(rdm, points, noise, prior)
    missing_conditions = np.setdiff1d(np.unique(numbers), numbers[~is_missing])
    if runs is None:
        # The gaps mask below hides these conditions, so any number will do.
        points = np.where(np.isin(numbers, missing_conditions)[:, None], 0.0, points)
        means = _complete_mean_rows(points, numbers, "in any trial", ids)
        label: str = "mahalanobis" if noise is not None and rdm == "sqeuclidean" else rdm
        if rdm in ("correlation", "cosine"):
            matrix = dissimilarity_matrix(Representation(means, x.name), rdm)
        else:
            matrix = _mean_difference_products(*factors(means))
    else:
        label = "crossnobis" if rdm == "sqeuclidean" else "poisson_cv"
        labels_of_runs = _label_numbers(runs, len(points), "runs")[~is_missing]
        matrix = _cross_validated_products(
            points[~is_missing], numbers[~is_missing], labels_of_runs, factors, ids
        )
    matrix = unit * np.sqrt(np.maximum(matrix, 0)) if rdm == "euclidean" else matrix
    np.fill_diagonal(matrix, 0)
    gaps = np.isin(np.arange(len(matrix)), missing_conditions)
    gaps = (gaps[:, None] | gaps) & ~np.eye(len(matrix), dtype=bool)
    if gaps.any():
        has_value = ~gaps & ~np.eye(len(matrix), dtype=bool)
        matrix[gaps] = matrix[has_value].mean() if has_value.any() else 0.0
    y = _pseudo_euclidean_points(matrix, label, name or x.name, ids, gaps)
    first = np.unique(numbers, return_index=True)[1]
    y.is_sorted = bool((np.diff(first) < 0).any())
    return y


@full_precision()
def rdm(X: Any, rdm: str = "correlation") -> np.ndarray:
    """Return the dissimilarities between the samples of a representation, (n, n), float64.

    ``rdm`` is ``"correlation"`` (1 - Pearson over features), ``"cosine"``, ``"euclidean"`` or
    ``"sqeuclidean"``, in the units of the features and not divided by the number of features. For
    given dissimilarities (:func:`from_dissimilarities`, :func:`dissimilarities`) the function
    ignores ``rdm`` and returns the given matrix, with NaN for a missing pair. The diagonal is zero.
    A row without direction (zero, or constant for ``"correlation"``) has cosine and correlation
    dissimilarity 1 to all other rows, equal rows included.

    Raises ``ValueError`` for another kind and for correlations over one feature. Raises
    ``UndefinedError`` for values that are not finite and for distances in a constant
    representation.
    """
    x = as_representation(X)
    check_choice("rdm: kind", rdm, DISSIMILARITY_KINDS[:4])
    check_all_finite(x)
    if x.signed and scalar(size(x)) == 0:
        return np.zeros((x.n_samples, x.n_samples))
    if rdm == "correlation" and not x.signed:
        _require_several_features("rdm", x.shape[1])
    power = {"euclidean": 1, "sqeuclidean": 2}.get("sqeuclidean" if x.signed else rdm, 0)
    matrix: np.ndarray = dissimilarity_matrix(x, rdm) * scalar(size(x)) ** power
    return matrix


# ------------------------------------------------------------------------------------------ trials


def _input_rounding(x: Representation) -> float:
    """Return the machine epsilon of the dtype in which a user gave the values of ``x``; 0 for
    integers."""
    dtype = to_numpy(x.source).dtype
    return float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0


def _label_numbers(labels: Any, n: int, role: str) -> np.ndarray:
    return np.asarray(label_codes("dissimilarities", labels, n, role))


def _condition_numbers(
    x: Representation, labels: Any
) -> tuple[tuple[Hashable, ...] | None, np.ndarray]:
    """Return the sorted distinct labels, and the position of the label of every trial among the
    sorted labels, (trials,).

    ``labels``: a label per row of ``x``. If None: the ids of x (None without ids), and the row
    numbers.
    """
    n = x.shape[0]
    if labels is None:
        return x.ids, np.arange(n)
    numbers = _label_numbers(labels, n, "conditions")
    first = np.unique(numbers, return_index=True)[1]
    return tuple(np.asarray(labels, dtype=object)[first]), numbers


def _cross_validated_products(
    points: np.ndarray, numbers: np.ndarray, runs: np.ndarray, factors: FactorFunction, ids: Any
) -> np.ndarray:
    """Return the cross-validated products of differences, (conditions, conditions), with a
    diagonal of 0.

    One factor is the difference in one run, the other factor the difference in the other runs. The
    entry of a pair of conditions is the mean over the runs that contain both conditions.
    ``points``: the trials, (trials, d). ``numbers``, ``runs``: the condition and the run of every
    trial, as integers from 0. ``factors``: maps means (conditions, d) to the two factors. ``ids``:
    the names of the conditions, or None.
    """
    count = len(ids) if ids else int(numbers.max()) + 1
    trials = np.zeros((int(runs.max()) + 1, count), dtype=np.int64)
    np.add.at(trials, (runs, numbers), 1)
    first, second = np.triu_indices(count, 1)
    shared = (trials[:, first] > 0) & (trials[:, second] > 0)
    _check_shared(shared, first, second, ids)
    matrix = np.zeros((count, count))
    for pattern, pairs in _shared_run_sets(shared):
        conditions = np.flatnonzero((trials[pattern] > 0).all(axis=0))
        mask = np.isin(numbers, conditions) & np.isin(runs, pattern)
        subset = points[mask], np.searchsorted(conditions, numbers[mask]), runs[mask]
        names = [ids[k] if ids else k for k in conditions]
        folds = _leave_one_run_out_means(*subset, names)
        part = np.mean(
            [_mean_difference_products(factors(a)[0], factors(b)[1]) for a, b in folds], axis=0
        )
        i, j = first[pairs], second[pairs]
        matrix[i, j] = part[np.searchsorted(conditions, i), np.searchsorted(conditions, j)]
    return matrix + matrix.T


def _shared_run_sets(shared: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield every distinct set of runs that pairs of conditions share, as run numbers, with the
    column indices in ``shared`` of the pairs that share exactly the set.

    ``shared``: (runs, pairs), True if a run contains both conditions of a pair.
    """
    if shared.all():
        yield np.arange(len(shared)), np.arange(shared.shape[1])
        return
    patterns, pattern_numbers = np.unique(shared, axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        yield np.flatnonzero(pattern), np.flatnonzero(pattern_numbers.ravel() == number)


def _check_shared(shared: np.ndarray, first: np.ndarray, second: np.ndarray, ids: Any) -> None:
    """Raise ``ValueError`` for fewer than two runs, and if two conditions share fewer than two
    runs.

    ``shared``: (runs, pairs), True if a run contains both conditions of a pair. ``first``,
    ``second``: the numbers of the conditions of every pair. ``ids``: the names of the conditions,
    or None.
    """
    if len(shared) < 2:
        raise ValueError("dissimilarities: runs must be two or more; without them leave runs out")
    n_runs = shared.sum(axis=0)
    rare = np.flatnonzero(n_runs < 2)
    if len(rare):
        a, b = (ids[k] if ids else k for k in (first[rare[0]], second[rare[0]]))
        raise ValueError(
            f"dissimilarities: conditions {a} and {b} are together in "
            f"{int(n_runs[rare[0]])} of {len(shared)} runs, and cross-validation needs two "
            f"({len(rare)} of {len(first)} pairs of conditions have fewer); leave one of the two "
            "conditions out"
        )


def _subtract_feature_means(points: np.ndarray) -> np.ndarray:
    """Return new points (trials, d) minus the mean of each feature; NaN is left out of the mean
    and stays NaN.

    Euclidean distances do not change. Products of points far from the origin would lose digits.
    """
    for _ in range(2):
        is_finite = ~np.isnan(points)
        total = np.where(is_finite, points, 0.0).sum(axis=0)
        points = points - total / np.maximum(is_finite.sum(axis=0), 1)
    return points


def _complete_mean_rows(
    points: np.ndarray, numbers: np.ndarray, context: str, ids: Any
) -> np.ndarray:
    """Return the mean row per condition, (conditions, d), over the trials that have a number.

    ``points``: (trials, d). ``numbers``: the condition of every trial, from 0. ``ids``: the names
    of the conditions, or None. Raises ``UndefinedError`` for a condition without a number of some
    feature; ``context`` says in the error where ("in a run").
    """
    means = mean_rows_by_number(points, numbers)
    gaps = np.isnan(means)
    if not gaps.any():
        return means
    condition, feature = (int(k) for k in np.argwhere(gaps)[0])
    raise UndefinedError(
        f"dissimilarities: condition {ids[condition] if ids else condition} has no number of "
        f"feature {feature} {context}; a dissimilarity is over all features, so leave the feature "
        "out, or write NaN in all features of the trial, which is then missing"
    )


def _leave_one_run_out_means(
    points: np.ndarray, numbers: np.ndarray, runs: np.ndarray, ids: Sequence[Hashable]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield, for every run, the mean row per condition over all other runs and over the run, each
    (conditions, d).

    ``points``: (trials, d). ``numbers``, ``runs``: the condition, from 0, and the run of every
    trial. ``ids``: the names of the conditions. Raises ``UndefinedError`` for a condition without a
    number of some feature.
    """
    for run in np.unique(runs):
        in_run = runs == run
        training, test = (
            _complete_mean_rows(points[part], numbers[part], f"in {words}", ids)
            for part, words in ((~in_run, "all runs but one"), (in_run, "a run"))
        )
        yield training, test


# --------------------------------------------------------------------------------- dissimilarities


def _check_kind(rdm: str, points: np.ndarray, noise: Any, runs: Any, prior: Any) -> None:
    if rdm not in DISSIMILARITY_KINDS:
        raise ValueError(
            f"dissimilarities: rdm is one of {', '.join(DISSIMILARITY_KINDS)}; got {rdm!r}; a "
            "Mahalanobis distance is sqeuclidean with noise=, crossnobis that with runs="
        )
    if runs is not None and rdm not in ("sqeuclidean", "poisson"):
        raise ValueError(
            f"dissimilarities: {rdm} has no unbiased form; runs take sqeuclidean or poisson"
        )
    if noise is not None and rdm not in ("sqeuclidean", "euclidean"):
        raise ValueError(f"dissimilarities: noise takes sqeuclidean or euclidean, not {rdm}")
    if rdm == "correlation":
        _require_several_features("dissimilarities", points.shape[1])
    if rdm == "poisson" and (points < 0).any():
        raise ValueError("dissimilarities: poisson takes counts; some are negative")
    if rdm == "poisson" and (np.shape(prior) != (2,) or min(prior) <= 0):
        raise ValueError(f"dissimilarities: prior is two positive numbers; got {prior}")


def _require_several_features(caller: str, d: int) -> None:
    """Raise ``ValueError`` if the number of features ``d`` is 1: a single feature has no
    correlation. The error begins with ``caller``."""
    if d < 2:
        raise ValueError(
            f'{caller}: X has one feature, over which there is no correlation; take rdm="euclidean"'
        )


def _rescale_into_range(points: np.ndarray, rdm: str, noise: Any) -> tuple[np.ndarray, float]:
    """Return points whose squares neither overflow nor underflow, and the divisor of the points:
    1.0, or the largest magnitude.

    Raises ``ValueError`` for points out of range if ``rdm`` is "sqeuclidean" or "poisson", or with
    ``noise``: the dissimilarities would be out of range.
    """
    largest = float(np.nanmax(np.abs(points), initial=0.0))
    if MIN_FEATURE_SIZE <= largest <= 1 / MIN_FEATURE_SIZE or largest == 0:
        return points, 1.0
    if rdm in ("sqeuclidean", "poisson") or noise is not None:
        raise ValueError(
            f"dissimilarities: the squares of numbers as large as {largest:.0e} are out of the "
            f"range of float64; divide X by its size first, X / {largest:.0e}"
        )
    return points / largest, largest


def _dissimilarity_factors(
    rdm: str, points: np.ndarray, noise: Any, prior: tuple[float, float]
) -> FactorFunction:
    """Return a function that maps means (conditions, d) to the two factors of the dissimilarities,
    (conditions, d) each.

    The factors are the rates and the log rates for "poisson", with ``prior`` = (rate, weight).
    Otherwise both factors are the means, whitened if ``noise`` (d, d) is given. ``points``: only
    the number of columns d counts. Raises ``ValueError`` for ``noise`` that is no covariance.
    """
    if rdm == "poisson":
        rate, weight = prior

        def of_rates(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            rates = (means + rate * weight) / (1 + weight)
            return rates, np.log(rates)

        return of_rates
    if noise is None:
        return lambda means: (means, means)
    if isinstance(noise, str):
        raise ValueError(
            f"dissimilarities: noise is a matrix, such as rs.noise_covariance(X, conditions); got "
            f"{noise!r}"
        )
    root = noise_cholesky_factor(as_float64(to_numpy(noise)), points.shape[1])

    def whitened(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from scipy.linalg import solve_triangular

        rows = solve_triangular(root, means.T, lower=True).T
        return rows, rows

    return whitened


def _mean_difference_products(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the mean over features f of :math:`(l_{if} - l_{jf}) (r_{if} - r_{jf})`, (n, n), for
    ``left`` l and ``right`` r, (n, d) each."""
    products = left @ right.T / left.shape[1]
    diagonal = np.diagonal(products)
    return np.asarray(diagonal[:, None] + diagonal - products - products.T)


def _symmetric_from_condensed(vector: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix (n, n) with the entries ``vector`` above the diagonal, row by
    row, and a diagonal of 0.

    Raises ``ValueError`` if the length of ``vector`` is not n (n - 1) / 2 for an n of 2 or more.
    """
    from scipy.spatial.distance import squareform

    n = round((1 + (1 + 8 * len(vector)) ** 0.5) / 2)
    if n * (n - 1) // 2 != len(vector) or n < 2:
        raise ValueError(
            f"from_dissimilarities: {len(vector)} is no number of pairs, n (n - 1) / 2"
        )
    return np.asarray(squareform(vector, checks=False))


def _pseudo_euclidean_points(
    matrix: np.ndarray,
    rdm: str,
    name: str,
    ids: Sequence[Hashable] | None,
    gaps: np.ndarray | None = None,
) -> Representation:
    """Return a representation called ``name``, points with signs, that has the dissimilarities
    ``matrix`` (n, n).

    ``rdm``: the kind of the dissimilarities, which results name, such as "given" or "crossnobis".
    ``ids``: of the samples, or None. ``gaps``: (n, n), True for a pair without a dissimilarity.
    Raises ``ValueError`` for more than ``MAX_CONDITIONS`` conditions.
    """
    n = len(matrix)
    if n > MAX_CONDITIONS:
        raise ValueError(
            f"dissimilarities of {n} conditions are too many: at most {MAX_CONDITIONS}"
        )
    means = matrix.mean(axis=0)
    gram = (means + means[:, None] - matrix - means.mean()) / 2
    values, vectors = np.linalg.eigh(gram)
    largest = np.abs(values).argmax()
    is_kept = np.abs(values) > MIN_EIGENVALUE_SHARE * np.abs(values[largest])
    is_kept[largest] = True  # if all eigenvalues are 0, keep one column of zeros
    values = values[is_kept]
    points, signs = vectors[:, is_kept] * np.sqrt(np.abs(values)), np.where(values < 0, -1.0, 1.0)
    if gaps is not None and gaps.any():
        codes = gap_columns(gaps, float(np.abs(points).max()) or 1.0)
        points = np.concatenate([points, codes], axis=1)
        signs = np.append(signs, np.zeros(codes.shape[1]))
    x = Representation(points, name, ids=ids)
    x.signed = PseudoEuclidean(signs, rdm)
    return x
