"""Dissimilarities as representations: given ones, and those between noisy responses."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .arrays import as_float64, full_precision, scalar, to_numpy
from .inputs import array_file, check_labels, open_array
from .representation import Representation, Signed, Undefined, as_representation, finite, title
from .significance.labels import numbers_of
from .views.distances import dissimilarity_matrix
from .views.points import size

LARGEST = 4096  # conditions: the points take O(n^3) time
SYMMETRIC = 1e-8  # of the largest dissimilarity: what two halves of a matrix may differ by
SMALLEST = 1e-140  # size of features whose squares keep their digits
RESOLUTION = 1e-14  # of the largest eigenvalue: smaller ones are rounding

Kind = Literal["sqeuclidean", "euclidean", "correlation", "cosine", "poisson"]
Shrinkage = Literal["diagonal", "identity", "only"]
KINDS = ("sqeuclidean", "euclidean", "correlation", "cosine", "poisson")


def from_dissimilarities(
    values: Any, name: str = "", *, ids: Sequence[Hashable] | None = None
) -> Representation:
    r"""Return the representation whose dissimilarities are given, such as an RDM of a recording.

    .. math:: D_{ij} = \sum_a s_a (p_{ia} - p_{ja})^2, \qquad -\tfrac{1}{2} H D H = U \Lambda
        U^\top, \quad P = U |\Lambda|^{1/2}, \; s = \operatorname{sign} \Lambda

    Its values are points P (n, r) whose differences count with signs s, which gives back any
    symmetric D with a zero diagonal, negative entries included. Its rows can be chosen, reordered
    and saved like those of any other. ``rsa`` compares it with features or other dissimilarities;
    its ``rdm=`` says what is computed of the features. Measures of features raise ``Undefined``.

    ``values``: (n, n), or (n (n - 1) / 2,) row by row above the diagonal, as SciPy and rsatoolbox
    have them; an array, a tensor, a DataFrame, whose index gives the ``ids``, or the path of a
    ``.npy`` file.

    Raises ``ValueError`` for a matrix that is not square, not symmetric within 1e-8 (in single
    precision 2e-6) or has a diagonal, for a length that is no n (n - 1) / 2, and for more than 4096
    conditions, since it takes O(n^3) time; ``Undefined`` for a dissimilarity that is NaN or
    infinite.

    Reference: Goldfarb 1984.
    """
    if isinstance(values, str | Path):
        path = array_file(values)
        name, values = name or path.stem, open_array(path)
    if np.ndim(values) == 3:
        raise ValueError(
            f"from_dissimilarities: one matrix at a time; got {np.shape(values)}; make a "
            "representation of each matrix"
        )
    if np.ndim(values) == 1:
        values = _square(as_float64(to_numpy(values)))
    x = Representation(values, name, ids=ids, dtype=None)
    matrix = as_float64(to_numpy(x.source))
    n = len(matrix)
    if matrix.shape != (n, n):
        raise ValueError(
            f"from_dissimilarities: {title(x)} must be (n, n) or (n (n - 1) / 2,); got "
            f"{matrix.shape}; make a representation of each matrix or vector; for features write "
            "rs.dissimilarities(X)"
        )
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise Undefined(
            f"from_dissimilarities: {title(x)} has no dissimilarity between conditions {i} and "
            f"{j}; leave one of the two conditions out"
        )
    slack = max(SYMMETRIC, 16 * _precision(x)) * np.abs(matrix).max()
    if np.abs(np.diagonal(matrix)).max() > slack:
        raise ValueError(
            f"from_dissimilarities: {title(x)} has a diagonal that is not zero; pass "
            "dissimilarities, not similarities"
        )
    if np.abs(matrix - matrix.T).max() > slack:
        raise ValueError(
            f"from_dissimilarities: {title(x)} is not symmetric; average both halves, (D + D.T) / 2"
        )
    return _signed((matrix + matrix.T) / 2, "given", x.name, x.ids)


def dissimilarities(
    X: Any,
    conditions: Any = None,
    *,
    kind: Kind = "sqeuclidean",
    noise: Any = None,
    runs: Any = None,
    prior: tuple[float, float] = (1.0, 0.1),
    name: str = "",
) -> Representation:
    r"""Return the dissimilarities between mean responses to conditions, divided by the number of
    features.

    .. math:: \delta_{ij} = \tfrac{1}{d} (m_i - m_j)^\top \Sigma^{-1} (m_i - m_j), \qquad
        \delta_{ij} = \tfrac{1}{d R} \sum_r (m_i - m_j)_{-r}^\top \Sigma^{-1} (m_i - m_j)_r

    ``X`` is (trials, d) and ``conditions`` has a label for each trial; the result has one row for
    each condition, sorted, and the labels for ids. Without ``conditions`` each row is one. With
    ``noise``, a covariance (d, d) such as :func:`noise_covariance`, ``"sqeuclidean"`` is the
    squared Mahalanobis distance. With ``runs``, a label for each trial, it is cross-validated (the
    second formula, crossnobis): one factor is from a run and the other from the other runs, so
    noise adds nothing on average, and dissimilarities without a difference are negative as often as
    positive.

    ``"euclidean"`` is the root; ``"correlation"`` (1 - Pearson over features) and ``"cosine"`` are
    not divided by d, and a mean without direction has 1 to all others. ``"poisson"`` is for counts:
    the symmetric Kullback-Leibler divergence :math:`\sum_f (a_f - b_f)(\ln a_f - \ln b_f) / d` of
    rates a = (m + λ w) / (1 + w) with ``prior`` = (λ, w); with ``runs``, rates of the other runs
    times logarithms of one.

    Raises ``ValueError`` for labels of another length, for a condition without a trial in a run or
    in the others, for ``runs`` with kinds that have no unbiased form, for ``noise`` that is not
    (d, d) or not positive definite or with another kind than the Euclidean ones, for negative
    counts, and for more than 4096 conditions; ``Undefined`` for NaN.

    Reference: Walther et al. 2016; Schütt et al. 2019 for counts.
    """
    x = _trials("dissimilarities", X, name)
    if runs is not None and conditions is None:
        raise ValueError("dissimilarities: runs need conditions, a label for each trial")
    check_labels("dissimilarities", title(x), x.order, conditions=conditions, runs=runs)
    points, (ids, numbers) = _values(x), _conditions(x, conditions)
    _check_kind(kind, points, noise, runs, prior)
    points, unit = _in_range(points, kind, noise)
    factors = _factors(kind, points, noise, prior)
    if runs is None:
        means = _means(points, numbers)
        label: str = "mahalanobis" if noise is not None and kind == "sqeuclidean" else kind
        if kind in ("correlation", "cosine"):
            matrix = 1 - _cosines(means - means.mean(1, keepdims=True) * (kind == "correlation"))
        else:
            matrix = _between(*factors(means))
    else:
        folds = _folds(points, numbers, ids, _numbers(runs, len(points), "runs"), runs)
        label = "crossnobis" if kind == "sqeuclidean" else "poisson_cv"
        matrix = np.mean([_between(factors(a)[0], factors(b)[1]) for a, b in folds], axis=0)
    matrix = unit * np.sqrt(np.maximum(matrix, 0)) if kind == "euclidean" else matrix
    np.fill_diagonal(matrix, 0)
    return _signed(matrix, label, name or x.name, ids)


@full_precision()
def rdm(X: Any, kind: str = "correlation") -> np.ndarray:
    """Return the dissimilarities between the samples of a representation, (n, n), float64.

    ``kind`` is ``"correlation"`` (1 - Pearson over features), ``"cosine"``, ``"euclidean"`` or
    ``"sqeuclidean"``, in the units of the features and not divided by their number; of given
    dissimilarities (:func:`from_dissimilarities`, :func:`dissimilarities`) the result is these,
    whatever ``kind``. The diagonal is zero.

    Raises ``ValueError`` for another kind and ``Undefined`` for values that are not finite and for
    distances in a constant representation.
    """
    x = as_representation(X)
    if kind not in KINDS[:4]:
        raise ValueError(f"rdm: kind is one of {', '.join(KINDS[:4])}; got {kind!r}")
    finite(x)
    power = {"euclidean": 1, "sqeuclidean": 2}.get("sqeuclidean" if x.signed else kind, 0)
    matrix: np.ndarray = dissimilarity_matrix(x, kind) * scalar(size(x)) ** power
    return matrix


def noise_covariance(
    X: Any, conditions: Any = None, *, shrink: Shrinkage | None = "diagonal", dof: int | None = None
) -> np.ndarray:
    r"""Return the covariance of the noise of responses, (d, d): of trials around the mean of their
    condition.

    .. math:: S = \tfrac{1}{\mathrm{dof}} \sum_k e_k e_k^\top, \qquad \hat S = (1 - \lambda) S +
        \lambda T

    ``X`` is (trials, d); without ``conditions`` residuals are from the mean of all. ``dof`` is by
    default trials minus conditions; give it for residuals of a model that has taken more.
    ``shrink``: ``"diagonal"`` shrinks correlations and leaves variances (target T the diagonal of
    S; Schäfer and Strimmer 2005), ``"identity"`` shrinks to the mean variance (Ledoit and Wolf
    2004), both by the weight λ that the data give; ``"only"`` is the diagonal alone, and ``None``
    is S.

    Raises ``ValueError`` for labels of another length, for ``dof`` below 1 (as many conditions as
    trials) and for another ``shrink``; ``Undefined`` for NaN.

    Reference: Ledoit and Wolf 2004; Schäfer and Strimmer 2005.
    """
    x = _trials("noise_covariance", X)
    points = _values(x)
    n, d = points.shape
    numbers = np.zeros(n, int)
    if conditions is not None:
        numbers = numbers_of("noise_covariance", conditions, n, "conditions")
        check_labels("noise_covariance", title(x), x.order, conditions=conditions)
    dof = n - int(numbers.max()) - 1 if dof is None else dof
    if not isinstance(dof, Real) or dof < 1:
        raise ValueError(
            f"noise_covariance: {n} trials leave {dof!r} degrees of freedom; noise needs "
            "conditions that are repeated"
        )
    if shrink not in (None, "diagonal", "identity", "only"):
        raise ValueError("noise_covariance: shrink is diagonal, identity, only or None")
    residuals = points - _means(points, numbers)[numbers]
    products = residuals.T @ residuals
    variances = np.diagonal(products)
    if shrink is None or d == 1:
        return np.asarray(products / dof)
    if shrink == "only":
        return np.diag(variances) / dof
    squares = (residuals**2).T @ (residuals**2)  # sums of the squares of the products of a trial
    if shrink == "identity":
        target = variances.mean() / n * np.eye(d)
        distance = float(((products / n - target) ** 2).sum())
        error = float((squares / n - (products / n) ** 2).sum()) / n
        weight = min(error / distance, 1.0) if distance else 1.0
        return np.asarray((weight * target * n + (1 - weight) * products) / dof)
    weight = _weight_of_diagonal(products, squares, n)
    return np.asarray(np.where(np.eye(d, dtype=bool), products, (1 - weight) * products) / dof)


def _weight_of_diagonal(products: np.ndarray, squares: np.ndarray, n: int) -> float:
    """Return Σ Var(r) / Σ r² over the correlations r of different features."""
    scale = np.sqrt(np.diagonal(products))
    scale = np.where(scale > 0, scale, 1.0)
    correlation = products / np.outer(scale, scale)
    variance = n / (n - 1) * (squares / np.outer(scale, scale) ** 2 - correlation**2 / n)
    different = ~np.eye(len(scale), dtype=bool)
    total = float((correlation[different] ** 2).sum())
    return float(np.clip(variance[different].sum() / total, 0, 1)) if total else 1.0


# ------------------------------------------------------------------------------------------ trials


def _trials(called: str, X: Any, name: str = "") -> Representation:
    """Return a representation of trials; ``ValueError`` for an array that also has time bins."""
    if np.ndim(X) == 3:
        raise ValueError(
            f"{called}: X must be (trials, features); got {np.shape(X)}; average over time, "
            'rs.from_trials(X, axes="trials units time", pool="mean"), or choose a bin, X[:, :, 0];'
            " for (runs, conditions, features) write X.reshape(-1, X.shape[2]), with "
            "conditions=np.tile(labels, len(X)) and runs=np.repeat(range(len(X)), X.shape[1])"
        )
    return as_representation(X, name)


def _precision(x: Representation) -> float:
    """Return the rounding of the numbers that were given."""
    dtype = to_numpy(x.source).dtype
    return float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0


def _values(x: Representation) -> np.ndarray:
    """Return the features in double precision; ``ValueError`` for given dissimilarities."""
    if x.signed or x.origin:
        raise ValueError(f"{title(x)} must hold features of trials")
    finite(x)
    return as_float64(to_numpy(x.array))


def _numbers(labels: Any, n: int, called: str) -> np.ndarray:
    return np.asarray(numbers_of("dissimilarities", labels, n, called))


def _conditions(x: Representation, labels: Any) -> tuple[tuple[Hashable, ...] | None, np.ndarray]:
    """Return the sorted labels and the number of the label of each trial."""
    n = x.shape[0]
    if labels is None:
        return x.ids, np.arange(n)
    numbers = _numbers(labels, n, "conditions")
    first = np.unique(numbers, return_index=True)[1]
    return tuple(np.asarray(labels, dtype=object)[first]), numbers


def _means(points: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the mean of the rows of each number, (conditions, d)."""
    total = np.zeros((int(numbers.max()) + 1, points.shape[1]))
    np.add.at(total, numbers, points)
    return np.asarray(total / np.bincount(numbers)[:, None])


def _folds(
    points: np.ndarray, numbers: np.ndarray, ids: Any, runs: np.ndarray, labels: Any
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the means over all runs but one and those in that one."""
    if runs.max() == 0:
        raise ValueError("dissimilarities: runs must be two or more; without them leave runs out")
    conditions = np.arange(numbers.max() + 1)
    for run in range(runs.max() + 1):
        inside = runs == run
        for part, words in ((inside, ""), (~inside, "any run but ")):
            missing = np.setdiff1d(conditions, numbers[part])
            if len(missing):
                condition = ids[missing[0]] if ids else missing[0]
                raise ValueError(
                    f"dissimilarities: condition {condition} has no trial in {words}run "
                    f"{np.asarray(labels)[inside][0]}; leave the condition or the run out"
                )
        yield _means(points[~inside], numbers[~inside]), _means(points[inside], numbers[inside])


# --------------------------------------------------------------------------------- dissimilarities


def _check_kind(kind: str, points: np.ndarray, noise: Any, runs: Any, prior: Any) -> None:
    if kind not in KINDS:
        raise ValueError(
            f"dissimilarities: kind is one of {', '.join(KINDS)}; got {kind!r}; a Mahalanobis "
            "distance is sqeuclidean with noise=, crossnobis that with runs="
        )
    if runs is not None and kind not in ("sqeuclidean", "poisson"):
        raise ValueError(
            f"dissimilarities: {kind} has no unbiased form; runs take sqeuclidean or poisson"
        )
    if noise is not None and kind not in ("sqeuclidean", "euclidean"):
        raise ValueError(f"dissimilarities: noise takes sqeuclidean or euclidean, not {kind}")
    if kind == "poisson" and (points < 0).any():
        raise ValueError("dissimilarities: poisson takes counts; some are negative")
    if kind == "poisson" and (np.shape(prior) != (2,) or min(prior) <= 0):
        raise ValueError(f"dissimilarities: prior is two positive numbers; got {prior}")


def _in_range(points: np.ndarray, kind: str, noise: Any) -> tuple[np.ndarray, float]:
    """Return points whose squares neither overflow nor underflow, and their unit.

    Raises ``ValueError`` where the dissimilarities themselves are out of range.
    """
    largest = float(np.abs(points).max(initial=0.0))
    if SMALLEST <= largest <= 1 / SMALLEST or largest == 0:
        return points, 1.0
    if kind in ("sqeuclidean", "poisson") or noise is not None:
        raise ValueError(
            f"dissimilarities: the squares of numbers as large as {largest:.0e} are out of the "
            f"range of float64; divide X by its size first, X / {largest:.0e}"
        )
    return points / largest, largest


def _factors(
    kind: str, points: np.ndarray, noise: Any, prior: tuple[float, float]
) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return a function from means to the two factors of their dissimilarities."""
    if kind == "poisson":
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
    root = _root_of_noise(as_float64(to_numpy(noise)), points.shape[1])

    def whitened(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from scipy.linalg import solve_triangular

        rows = solve_triangular(root, means.T, lower=True).T
        return rows, rows

    return whitened


def _root_of_noise(noise: np.ndarray, d: int) -> np.ndarray:
    """Return the Cholesky factor of a covariance."""
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
        if not np.allclose(noise, noise.T, rtol=0, atol=SYMMETRIC * np.abs(noise).max()):
            raise np.linalg.LinAlgError
        return np.linalg.cholesky(noise)
    except np.linalg.LinAlgError:
        raise ValueError(
            "dissimilarities: noise is no covariance that can be inverted; shrink it, as "
            "rs.noise_covariance does"
        ) from None


def _between(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the mean over features of the products of differences, (n, n)."""
    products = one @ other.T / one.shape[1]
    diagonal = np.diagonal(products)
    return np.asarray(diagonal[:, None] + diagonal - products - products.T)


def _cosines(means: np.ndarray) -> np.ndarray:
    """Return the cosines between rows, 0 with a row of zeros."""
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    rows = means / np.where(lengths > 0, lengths, 1.0)
    return np.asarray(rows @ rows.T)


def _square(vector: np.ndarray) -> np.ndarray:
    """Return the matrix of a vector of the entries above its diagonal."""
    from scipy.spatial.distance import squareform

    n = round((1 + (1 + 8 * len(vector)) ** 0.5) / 2)
    if n * (n - 1) // 2 != len(vector) or n < 2:
        raise ValueError(
            f"from_dissimilarities: {len(vector)} is no number of pairs, n (n - 1) / 2"
        )
    return np.asarray(squareform(vector, checks=False))


def _signed(
    matrix: np.ndarray, kind: str, name: str, ids: Sequence[Hashable] | None
) -> Representation:
    """Return the points with signs that have these dissimilarities."""
    n = len(matrix)
    if n > LARGEST:
        raise ValueError(f"dissimilarities of {n} conditions are too many: at most {LARGEST}")
    means = matrix.mean(axis=0)
    gram = (means + means[:, None] - matrix - means.mean()) / 2
    values, vectors = np.linalg.eigh(gram)
    largest = np.abs(values).argmax()
    is_kept = np.abs(values) > RESOLUTION * np.abs(values[largest])
    is_kept[largest] = True  # a column of zeros where all are equal to 0
    values = values[is_kept]
    x = Representation(vectors[:, is_kept] * np.sqrt(np.abs(values)), name, ids=ids)
    x.signed = Signed(np.where(values < 0, -1.0, 1.0), kind)
    return x
