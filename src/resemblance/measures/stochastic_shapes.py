"""Shape distances between networks with noisy responses: repeats of a stimulus are rows with the
same id."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base.arrays import as_float64, to_numpy
from ..base.exceptions import UndefinedError
from ..base.rng import generator
from ..base.text import check_choice
from ..contracts._measure import measure
from ..data.inputs import stimulus_of_each_row
from ..data.representation import Representation, cached, check_all_finite, representation_title

Alignment = Literal["orthogonal", "permutation", "none"]


@measure(
    label="GaussShape", family="alignment", citation="duong2023representational", version=3,
    larger_is_more_similar=False, range=(0, np.inf), metric=True, differentiable=False,
    takes="repeats", limits={"alpha": (0, 2), "starts": (2, 1000)}, min_samples=4,
    invariant_to=frozenset({"orthogonal"}),
)  # fmt: skip
def gaussian_stochastic_shape(
    x: Representation,
    y: Representation,
    *,
    alpha: float = 1.0,
    alignment: Alignment = "orthogonal",
    starts: int = 16,
    seed: int = 0,
) -> float:
    r"""Gaussian stochastic shape distance: how far means and covariances of noisy responses are
    apart after the best rotation.

    .. math:: d^2 = \min_Q \frac{1}{n} \sum_i \alpha \lVert \mu_i - \nu_i Q \rVert^2 + (2 - \alpha)
        B^2(\Sigma_i, Q^\top \Gamma_i Q), \quad B^2(\Sigma, \Gamma) = \operatorname{tr} \Sigma +
        \operatorname{tr} \Gamma - 2 \operatorname{tr} (\Sigma^{1/2} \Gamma \Sigma^{1/2})^{1/2}

    with means :math:`\mu_i, \nu_i` and covariances :math:`\Sigma_i, \Gamma_i` (divided by repeats
    minus 1) of the responses to stimulus i of n. ``alpha=1`` is the 2-Wasserstein distance of
    normal responses, 2 compares means alone, 0 covariances alone. X is (trials, d), Y (trials, e),
    and the narrower array is padded with zeros. Rows with equal ids are repeats of one stimulus;
    for ids (stimulus, trial), as from :func:`from_conditions`, only the stimulus counts. The data
    are not centred over stimuli: subtract the mean of all rows where an offset should not count.

    ``alignment``: Q is orthogonal, a permutation, or the identity ("none"). The algorithm
    alternates between Q and the rotations of the roots of the covariances, where each step is exact
    given the other rotation. There are ``starts`` starts: the means, the covariances, the axes of
    sums of covariances with random weights, which find the Q of a rotated copy, and random starts
    in pairs of a matrix and its transpose (by ``seed``), so that d(X, Y) = d(Y, X). There are local
    minima wherever covariances count. The function returns the smallest value found, which is a
    metric where the minimum is global. A rotated copy of X, or another order of the stimuli, may
    end in another local minimum: with 16 starts, values of six columns differ by up to 3 % for
    ``alpha=0``, and by rounding for 1. Columns of zeros also change the starts. A step takes O(n d²
    k + d³) time for k repeats, and a start at most 300 steps.

    Raises ``UndefinedError`` without ids, for a stimulus without a repeat, for NaN, and for
    responses so far from the origin that rounding decides on the rotation.

    Use it when a stimulus was shown several times, and the noise of the responses is part of what
    you compare.

    Beware. The measure needs repeats of every stimulus. With fewer repeats than columns,
    covariances have few directions, and the noise of the covariances makes equal networks differ.

    Reference: Duong et al. 2023. netrep weighs the covariances by (2 - alpha)² during the alignment
    and by 2 - alpha in the score, so the distance of netrep is larger for alpha other than 0, 1 and
    2, by up to 0.05 of 2.9.
    """
    (a, b), unit = _both_moments(x, y, alignment)
    spread = alpha * (_scatter_around_mean(a.means) + _scatter_around_mean(b.means))
    spread += (2 - alpha) * (_squared_trial_lengths(a.roots) + _squared_trial_lengths(b.roots))
    turns = [alpha * b.means.T @ a.means]
    if alignment != "none" and alpha != 2:  # without covariances, the first turn is exact
        covariances = _covariances_from_roots(a.roots), _covariances_from_roots(b.roots)
        turns.extend(islice(_starting_turns(*covariances, seed), int(starts) - 1))
    smallest = min(_turn(start, a, b, alpha, alignment, spread) for start in turns)
    if alignment != "none":
        lengths = alpha * (_squared_trial_lengths(a.means) + _squared_trial_lengths(b.means))
        _require_certain_turn("gaussian_stochastic_shape", lengths, spread, smallest)
    return float(unit * np.sqrt(max(smallest, 0.0) / len(a.means)))


@measure(
    label="EnergyShape",
    family="alignment",
    citation="duong2023representational",
    larger_is_more_similar=False,
    range=(0, np.inf),
    differentiable=False,
    takes="repeats",
    min_samples=4,
    invariant_to=frozenset({"orthogonal"}),
)
def energy_stochastic_shape(
    x: Representation, y: Representation, *, alignment: Alignment = "orthogonal"
) -> float:
    r"""Energy stochastic shape distance: how far all trials of noisy responses are apart after the
    best rotation.

    .. math:: d^2 = \min_Q \frac{1}{n} \sum_i E \lVert x - y Q \rVert - \tfrac{1}{2} E \lVert x - x'
        \rVert - \tfrac{1}{2} E \lVert y - y' \rVert

    over trials x, x' of X and y, y' of Y for stimulus i of n: all pairs between X and Y, and all
    different pairs within X and within Y. X is (trials, d), Y (trials, e), the narrower array
    padded with zeros, with ids as in :func:`gaussian_stochastic_shape`; all stimuli have equally
    many repeats. ``alignment``: Q is orthogonal, a permutation, or the identity ("none"). The
    algorithm is iteratively reweighted least squares, with the inverse distances of the previous
    step as weights, and ends in a local minimum.

    The measure does not claim to be a metric. The energy distance between two distributions is a
    metric. This d² is an unbiased estimate of the squared energy distance: the means within X and
    within Y leave out the distance 0 of a trial from itself. With r repeats the means are r / (r -
    1) times the means over all pairs, so d² is too small for the triangle inequality, and a
    negative d² counts as 0.

    Raises ``UndefinedError`` without ids, for a stimulus without a repeat, for repeats that are
    unequal in number, for NaN, and for responses so far from the origin that rounding decides on
    the rotation.

    Use it when the noise is not normal: the distance detects differences of any kind between
    distributions.

    Beware. The measure needs equally many repeats of every stimulus. With few repeats, noise
    decides whether similar networks have the distance 0.

    Reference: Duong et al. 2023.
    """
    a, b, unit = _both_trials(x, y, alignment)
    within = sum(
        _trial_distances(z, z).sum() / (len(z) * z.shape[1] * (z.shape[1] - 1)) for z in (a, b)
    )
    last, smallest = _turn_of_trials(a, b, alignment)
    if alignment != "none":
        lengths, spread = (
            sum(form(z) for z in (a, b)) for form in (_squared_trial_lengths, _scatter_around_mean)
        )
        _require_certain_turn("energy_stochastic_shape", lengths, spread, last**2 * a[..., 0].size)
    return float(np.sqrt(unit * max(smallest - within / 2, 0.0)))


@energy_stochastic_shape.claim("claims_for")
def _alignment_claims(alignment: str) -> Mapping[str, Any]:
    transformations = {"orthogonal": {"orthogonal"}, "permutation": {"permutation"}, "none": set()}
    return {"invariant_to": frozenset(transformations.get(alignment, set()))}


@gaussian_stochastic_shape.claim("claims_for")
def _claims_of_moments(alignment: str, alpha: float) -> Mapping[str, Any]:
    """Return the invariances of ``gaussian_stochastic_shape``: those of the alignment, and
    translation if ``alpha`` is 0, because an offset does not change covariances."""
    offset = {"translation"} if alpha == 0 else set()
    return {"invariant_to": _alignment_claims(alignment)["invariant_to"] | offset}


MAX_ALIGNMENT_TURNS = 300
AXIS_STARTS = 3  # number of starts from the axes of covariances
# A turn that gains less than this share of the sum of squares is the last turn.
ALIGNMENT_TOLERANCE = 1e-12
TURN_EPSILON = float(np.finfo(float).eps)
MAX_TURN_ERROR = 1e-2  # with a larger error, rounding decides on the turn
# Trials nearer than this share of the mean distance have no larger weight.
MIN_TRIAL_DISTANCE = 1e-9


class Moments(NamedTuple):
    """Means of the stimuli, (n, d), and roots R of the covariances R'R, (n, k, d)."""

    means: np.ndarray
    roots: np.ndarray


def _turn(
    start: np.ndarray, a: Moments, b: Moments, alpha: float, alignment: str, spread: float
) -> float:
    """Return the sum of squared distances between the moments ``a`` and ``b`` after the last of
    alternating turns of ``b``, from one start.

    ``start``: (d, d), any matrix, whose nearest allowed turn is the first turn of ``b``. ``alpha``
    weighs the means, 2 - alpha the covariances. ``alignment``: the allowed turns, "orthogonal",
    "permutation" or "none". The turns end when a turn gains no more than rounding of ``spread``,
    the sum of the squares.
    """
    mean_product = alpha * b.means.T @ a.means
    q, previous = _nearest_allowed_turn(start, alignment), np.inf
    for _ in range(MAX_ALIGNMENT_TURNS):
        products = a.roots @ q.T @ b.roots.transpose(0, 2, 1)
        u, _, vt = np.linalg.svd(products, full_matrices=False)
        rotations = u @ vt
        value = alpha * ((a.means - b.means @ q) ** 2).sum()
        value += (2 - alpha) * ((a.roots - rotations @ (b.roots @ q)) ** 2).sum()
        if previous - value <= max(ALIGNMENT_TOLERANCE * spread, 8 * TURN_EPSILON * value):
            break
        previous = value
        root_products = b.roots.transpose(0, 2, 1) @ (rotations.transpose(0, 2, 1) @ a.roots)
        q = _nearest_allowed_turn(mean_product + (2 - alpha) * root_products.sum(axis=0), alignment)
    return float(value)


def _turn_of_trials(a: np.ndarray, b: np.ndarray, alignment: str) -> tuple[float, float]:
    """Return the mean distance of trials of equal stimuli after the last turn, and the smallest
    mean distance of the last two turns.

    ``a``, ``b``: the trials, (n, repeats, d); a turn rotates b. A turn is a least-squares fit; the
    weights are the inverse distances after the turn before.
    """
    weights, previous = np.ones((len(a), a.shape[1], b.shape[1])), np.inf
    for _ in range(MAX_ALIGNMENT_TURNS):
        q = _nearest_allowed_turn(
            np.einsum("nsi,nrs,nrj->ij", b, weights, a, optimize=True), alignment
        )
        distances = _trial_distances(a, b @ q)
        value = float(distances.mean())
        if previous - value <= ALIGNMENT_TOLERANCE * value:
            break
        previous, weights = value, 1 / np.maximum(distances, MIN_TRIAL_DISTANCE * (value or 1.0))
    return value, min(value, previous)


def _starting_turns(a: np.ndarray, b: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """Yield starting matrices, (d, d), without end. The matrices need not be orthogonal.

    ``a``, ``b``: covariances of the stimuli, (n, d, d). The starts are the products of the
    covariances, the axes of ``AXIS_STARTS`` randomly weighted sums of covariances, and pairs of a
    random matrix and its transpose.
    """
    random = generator(seed, "starts", len(a[0]))
    yield np.einsum("nij,njk->ik", b, a)
    for _ in range(AXIS_STARTS):
        weights = random.standard_normal((2, len(a)))
        (s, other_s), (t, other_t) = (np.einsum("wn,nij->wij", weights, z) for z in (a, b))
        u, v = np.linalg.eigh(s)[1], np.linalg.eigh(t)[1]
        # Axes have no sign. If b is a rotated a, the right signs give equal entries.
        agreement = (u.T @ other_s @ u) * (v.T @ other_t @ v)
        yield v * np.sign(np.linalg.eigh(agreement)[1][:, -1] + 1e-300) @ u.T
    while True:
        turn = random.standard_normal(a[0].shape)
        yield turn
        yield turn.T


def _squared_trial_lengths(rows: np.ndarray) -> float:
    return float((rows**2).sum())


def _scatter_around_mean(rows: np.ndarray) -> float:
    """Return the sum of the squared distances of the rows, along the last axis of an array of any
    shape, from their common mean."""
    return _squared_trial_lengths(rows - rows.mean(axis=tuple(range(rows.ndim - 1))))


def _require_certain_turn(caller: str, lengths: float, spread: float, smallest: float) -> None:
    """Raise :class:`~resemblance.UndefinedError` if a common offset leaves the best turn to
    rounding.

    ``lengths``: the sum of the squares of all rows; their products have an error of ``lengths``
    times the machine epsilon. ``smallest``: the smallest sum of squared distances, which a turn
    changes by at most ``spread``, the sum of squares around the means. The error begins with
    ``caller``.
    """
    if TURN_EPSILON * lengths > MAX_TURN_ERROR * spread > MAX_TURN_ERROR**2 * smallest:
        raise UndefinedError(
            f"{caller}: the responses are so far from the origin that rounding decides on the best "
            "rotation: centre first (subtract the mean of all rows from each representation)"
        )


# ------------------------------------------------------------------------------------------ repeats


def _rows_by_stimulus(x: Representation) -> list[np.ndarray]:
    """Return the row indices of every stimulus, stimuli in the order of the first occurrence.

    Raises ``UndefinedError`` without repeats, and for a stimulus with one row.
    """
    names = stimulus_of_each_row(x.ids)
    if not names:
        raise UndefinedError(
            f"{representation_title(x)} has no repeats: give the rows of a stimulus one id, "
            "rs.Representation(x, ids=stimuli)"
        )
    places: dict[Hashable, list[int]] = {}
    for row, name in enumerate(names):
        places.setdefault(name, []).append(row)
    label = next((name for name, rows in places.items() if len(rows) < 2), None)
    if label is not None:
        raise UndefinedError(
            f"{representation_title(x)} has one row of {label!r}; noise needs two repeats or more"
        )
    return [np.array(rows) for rows in places.values()]


@cached("anew")
def responses(x: Representation) -> tuple[np.ndarray, ...]:
    """Return an array (repeats, d) in float64 for every stimulus; numbers of repeats may differ.

    Raises ``UndefinedError`` without repeats, and for a stimulus with one row.
    """
    check_all_finite(x)
    values = as_float64(to_numpy(x.array))
    return tuple(values[rows] for rows in _rows_by_stimulus(x))


@cached("anew")
def stimulus_moments(x: Representation) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of every stimulus, (n, d), and a root R of every covariance R'R, (n, k, d).

    k is min(d, the largest number of repeats), enough rows for all stimuli; unused rows are 0.
    """
    means = np.array([trials.mean(axis=0) for trials in responses(x)])
    max_trials = max(len(trials) for trials in responses(x))
    roots = np.zeros((len(means), min(max_trials, means.shape[1]), means.shape[1]))
    for root, trials, mean in zip(roots, responses(x), means):
        _, s, vt = np.linalg.svd((trials - mean) / (len(trials) - 1) ** 0.5, full_matrices=False)
        root[: len(s)] = s[:, None] * vt
    return means, roots


def _both_moments(
    x: Representation, y: Representation, alignment: str
) -> tuple[tuple[Moments, Moments], float]:
    """Return the moments (a, b) of x and y, padded to the same width and divided by a unit, and
    the unit: ((a, b), unit).

    The unit is the largest absolute number of the moments; 1 if all numbers are 0. Raises
    ``ValueError`` for different numbers of stimuli.
    """
    shapes = [stimulus_moments(r)[1].shape[1:] for r in (x, y)]
    moments = [_padded_moments(r, *map(max, zip(*shapes))) for r in (x, y)]
    _check_stimuli("gaussian_stochastic_shape", moments[0].means, moments[1].means)
    _check_alignment("gaussian_stochastic_shape", alignment)
    unit = max(float(np.abs(part).max(initial=0.0)) for side in moments for part in side) or 1.0
    a, b = (Moments(side.means / unit, side.roots / unit) for side in moments)
    return (a, b), unit


def _padded_moments(x: Representation, height: int, width: int) -> Moments:
    """Return the moments of x with zeros up to ``width`` columns and ``height`` rows of each root.

    A rotation of the roots of both sides keeps all of the variance if both have as many rows.
    """
    means, roots = stimulus_moments(x)
    rows, columns = (0, height - roots.shape[1]), (0, width - means.shape[1])
    return Moments(np.pad(means, [(0, 0), columns]), np.pad(roots, [(0, 0), rows, columns]))


def _covariances_from_roots(roots: np.ndarray) -> np.ndarray:
    return np.asarray(roots.transpose(0, 2, 1) @ roots)


def _both_trials(
    x: Representation, y: Representation, alignment: str
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the trials of x and of y, (n, repeats, width) each, divided by a unit, and the unit:
    (a, b, unit).

    The unit is the largest absolute number of x and y; 1 if all numbers are 0. Raises
    ``ValueError`` for different numbers of stimuli.
    """
    a, b = (_padded_trials(r, max(x.shape[1], y.shape[1])) for r in (x, y))
    _check_stimuli("energy_stochastic_shape", a, b)
    _check_alignment("energy_stochastic_shape", alignment)
    unit = max(float(np.abs(part).max(initial=0.0)) for part in (a, b)) or 1.0
    return a / unit, b / unit, unit


def _padded_trials(x: Representation, width: int) -> np.ndarray:
    """Return the trials of all stimuli, (n, repeats, ``width``), with columns of zeros after the d
    columns of x.

    Raises ``UndefinedError`` for different numbers of repeats.
    """
    counts = sorted({len(trials) for trials in responses(x)})
    if len(counts) > 1:
        raise UndefinedError(
            f"energy_stochastic_shape: {representation_title(x)} has {counts[0]} to {counts[-1]} "
            "repeats of a stimulus; it takes equally many of each"
        )
    return np.pad(np.array(responses(x)), [(0, 0), (0, 0), (0, width - x.shape[1])])


# ---------------------------------------------------------------------------------------- alignment


def _check_stimuli(caller: str, a: np.ndarray, b: np.ndarray) -> None:
    if len(a) != len(b):
        raise ValueError(f"{caller}: X has {len(a)} stimuli and Y has {len(b)}")


def _check_alignment(caller: str, alignment: str) -> None:
    check_choice(f"{caller}: alignment", alignment, ("orthogonal", "permutation", "none"))


def _nearest_allowed_turn(products: np.ndarray, alignment: str) -> np.ndarray:
    """Return the Q (d, d) with the largest tr(Q' products), as ``alignment`` allows: "orthogonal",
    "permutation", or "none" for the identity."""
    if alignment == "none":
        return np.eye(len(products))
    if alignment == "permutation":
        from scipy.optimize import linear_sum_assignment

        return np.eye(len(products))[linear_sum_assignment(products, maximize=True)[1]]
    u, _, vt = np.linalg.svd(products)
    return np.asarray(u @ vt)


def _trial_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the Euclidean distances between the trials of every stimulus in a and in b, (n,
    repeats of a, repeats of b).

    ``a``, ``b``: (n, repeats, d). The mean trial of a is subtracted before, which keeps more
    digits.
    """
    middle = a.mean(axis=1, keepdims=True)
    a, b = a - middle, b - middle
    squares = (a**2).sum(-1)[:, :, None] + (b**2).sum(-1)[:, None]
    return np.asarray(np.sqrt(np.maximum(squares - 2 * a @ b.transpose(0, 2, 1), 0)))
