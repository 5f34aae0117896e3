"""Perturbed samples against controls: do all samples move the same way, and how far? For an encoder
called on noisy inputs: does the representation stay the same?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ..base.arrays import euclidean_norm, row_blocks, to_numpy
from ..base.exceptions import UndefinedError
from ..base.rng import generator
from ..contracts._statistic import statistic
from ..contracts.claims import COSINE_INVARIANCES, RIGID_INVARIANCES, SHAPE_INVARIANCES
from ..data.representation import Representation, cached, check_all_finite
from ..intermediates.points import unit_rows_of_array
from .rdm import RANK_TIE_ROUNDING, cosine_distances, double_precision_rows, rdm_agreement

COSINE_NEIGHBOR_CONTROLS = ("neighbors", "cosine")  # parameters ``controls``, ``neighbors``
ControlMethod = Literal["mean", "whitened", "neighbors"]
ControlMetric = Literal["euclidean", "cosine"]


def _coherence_claims(
    controls: ControlMethod, ridge: float, neighbors: ControlMetric
) -> dict[str, Any]:
    """Return {"invariant_to": the invariances of the coherence}, which depend on the controls."""
    if controls == "whitened":
        return {"invariant_to": RIGID_INVARIANCES if ridge else {"affine"}}
    return {
        "invariant_to": COSINE_INVARIANCES
        if (controls, neighbors) == COSINE_NEIGHBOR_CONTROLS
        else SHAPE_INVARIANCES
    }


def _spread_claims(
    controls: ControlMethod, ridge: float, neighbors: ControlMetric
) -> dict[str, Any]:
    """Return {"invariant_to": the invariances of the spread}, which depend on the controls."""
    if controls == "whitened" and ridge == 0:
        return {"invariant_to": {"affine"}}
    return {
        "invariant_to": {"orthogonal"}
        if (controls, neighbors) == COSINE_NEIGHBOR_CONTROLS
        else RIGID_INVARIANCES
    }


@statistic(
    label="Perturbation coherence", family="perturbation", citation="raju2026geometric", version=2,
    larger_is_more_stable=True, range=(-1, 1), invariant_to=SHAPE_INVARIANCES, min_samples=2,
    limits={"k": (1, np.inf), "ridge": (0, np.inf)}, claims_for=_coherence_claims,
)  # fmt: skip
def perturbation_coherence(
    x: Representation,
    control: Representation,
    *,
    controls: ControlMethod = "mean",
    form: Literal["cosine", "spread"] = "cosine",
    k: int = 50,
    neighbors: ControlMetric = "euclidean",
    ridge: float = 1e-6,
) -> float:
    r"""Perturbation coherence: do all perturbed samples move in the same direction?

    .. math:: \frac{1}{n} \sum_{j=1}^{n} \cos(v_j, \bar{v}), \qquad v_j = x_j - c_j

    The reference point :math:`c_j` depends on ``controls``. ``"mean"``: the mean of all controls.
    ``"whitened"``: also the mean of all controls, after samples and controls were whitened by the
    covariance of the controls, (Σ + ``ridge`` I)^(-1/2). ``"neighbors"``: the mean of the ``k``
    controls nearest to :math:`x_j` by the metric ``neighbors`` (all controls if fewer than ``k``
    exist). ``form="spread"`` returns 1 - E‖v - v̄‖² / E‖v‖² instead, the share of the squared shift
    that all samples have in common. X contains the (n, d) perturbed samples, ``control`` has shape
    (m, d). The value is in [-1, 1]; a sample that does not move counts as 0.

    Without a common shift the mean cosine is about n^(-1/2), not 0, since the mean shift contains
    the sample. Raises ``UndefinedError`` when the mean shift is zero, or when ``ridge=0`` and the
    covariance is singular.

    Reference: Raju 2026, Sections 12.1-12.3, and shesha-geometry 0.3.0
    (``perturbation_coherence``). That package finds neighbours by cosine unless told otherwise and
    silently uses at most 1000 perturbed samples; here all samples are used. The author's script
    leaves out samples that hardly move.
    """
    shifts, scale = _shifts_from_controls(x, control, controls, k, neighbors, ridge)
    return _shift_coherence(shifts, form, scale)


def _shifts_from_controls(
    x: Representation, control: Representation, controls: str, k: int, neighbors: str, ridge: float
) -> tuple[np.ndarray, float]:
    """Return the shift of every sample of ``x`` (n, d) from its controls, shape (n, d), and a scale
    of the points.

    ``control``: the controls (m, d). ``controls``: "mean" or "whitened" for shifts from the mean of
    all controls, "neighbors" for shifts from the mean of the ``k`` controls nearest by
    ``neighbors``, "cosine" or "euclidean". ``ridge``: added to the covariance before whitening. The
    shifts of whitened controls are in whitened units. The scale is the largest absolute entry of
    the samples minus the mean of the controls.
    """
    points, baseline = double_precision_rows(x), double_precision_rows(control)
    offset = baseline.mean(axis=0)
    if controls == "whitened":
        whiten, size = _whitening_matrix(control, ridge=ridge)
        with np.errstate(over="ignore", invalid="ignore"):
            points, offset = np.ldexp(points, -size) @ whiten, np.ldexp(offset, -size) @ whiten
        if not np.isfinite(points).all():
            raise UndefinedError(
                f"controls='whitened': X {x.shape} is too far from the controls {control.shape}, "
                "measured in their standard deviations; pass both in the same unit, or "
                "controls='mean'"
            )
    reference = nearest_means(points, baseline, k, neighbors) if controls == "neighbors" else offset
    return points - reference, float(np.abs(points - offset).max())


def _shift_coherence(shifts: np.ndarray, form: str, scale: float) -> float:
    common = shifts.mean(axis=0)
    if euclidean_norm(common) <= RANK_TIE_ROUNDING * scale:
        raise UndefinedError(
            "perturbation_coherence: the samples do not move on average, so there is no direction "
            "to share"
        )
    if form == "cosine":
        return float(np.mean(unit_rows_of_array(shifts) @ unit_rows_of_array(common[None, :])[0]))
    shifts = shifts / np.abs(shifts).max()
    return float(np.sum(shifts.mean(axis=0) ** 2) / np.mean(np.sum(shifts**2, axis=1)))


def _magnitude_exponent(*arrays: np.ndarray) -> int:
    """Return the exponent e for which 2^e is just above all magnitudes in the arrays.

    Dividing by 2^e is exact, and afterwards squares are in range.
    """
    return int(np.frexp(max(float(np.abs(array).max()) for array in arrays))[1])


@cached("d d", "scalar")
def _whitening_matrix(control: Representation, *, ridge: float) -> tuple[np.ndarray, int]:
    """Return the inverse symmetric root (d, d) of the covariance of the controls plus ``ridge``
    times the identity, for points in a new unit, and an exponent e.

    The unit is 2^e: divide points by 2^e before multiplying by the matrix. Raises ``ValueError``
    for a single control, and ``UndefinedError`` for a singular covariance.
    """
    baseline = double_precision_rows(control)
    if len(baseline) < 2:
        raise ValueError("controls='whitened' needs at least 2 controls; use controls='mean'")
    centered = baseline - baseline.mean(axis=0)
    size = _magnitude_exponent(centered, np.sqrt(ridge))
    centered = np.ldexp(centered, -size)
    variances, axes = np.linalg.eigh(centered.T @ centered / (len(centered) - 1))
    variances = np.maximum(variances, 0) + np.ldexp(ridge, -2 * size)
    if variances[0] <= len(variances) * np.finfo(float).eps * variances[-1]:
        raise UndefinedError(
            "controls='whitened': the covariance of the controls is singular; raise ridge above 0"
        )
    whiten: np.ndarray = axes / np.sqrt(variances) @ axes.T
    return whiten, size


def nearest_means(points: np.ndarray, baseline: np.ndarray, k: int, kind: str) -> np.ndarray:
    """Return, for every row of ``points`` (n, d), the mean of the k controls in ``baseline``, (m,
    d), that are nearest to the row, shape (n, d); of all controls if there are fewer.

    ``kind`` of distance: "cosine" or "euclidean". Distances are computed in blocks of rows.
    """
    from scipy.spatial.distance import cdist

    size = _magnitude_exponent(points, baseline)
    k = min(k, len(baseline))
    means = np.empty_like(points)
    queries, controls = (
        unit_rows_of_array(a) if kind == "cosine" else np.ldexp(a, -size)
        for a in (points, baseline)
    )
    for start, stop in row_blocks(len(points)):
        block = queries[start:stop]
        distances = (
            cosine_distances(block, controls) if kind == "cosine" else cdist(block, controls)
        )
        means[start:stop] = _nearest_entries_mask(distances, k).astype(float) @ baseline / k
    return means


def _nearest_entries_mask(distances: np.ndarray, k: int) -> np.ndarray:
    """Return a mask of the k smallest entries of every row, shape of ``distances``; of tied
    entries, the first count."""
    last = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    is_nearer, is_tied = distances < last, distances == last
    # Among entries that tie for the last place, the first entries are chosen.
    missing = k - is_nearer.sum(axis=1, keepdims=True)
    return is_nearer | (is_tied & (np.cumsum(is_tied, axis=1) <= missing))


@statistic(
    label="Perturbation magnitude", family="perturbation", citation="raju2026geometric",
    larger_is_more_stable=None, range=(0, np.inf), invariant_to=RIGID_INVARIANCES, min_samples=2,
    claims_for=lambda unit: {"invariant_to": SHAPE_INVARIANCES} if unit == "deviations" else {},
)  # fmt: skip
def perturbation_magnitude(
    x: Representation, control: Representation, *, unit: Literal["data", "deviations"] = "data"
) -> float:
    r"""Perturbation magnitude: how far the mean of the perturbed samples is from the controls'.

    .. math:: \lVert \bar{x} - \bar{c} \rVert

    ``unit="deviations"`` divides the distance by the root of the mean over the features of (s_x² +
    s_c²) / 2, like Cohen's d. X is (n, d), ``control`` (m, d). The value is 0 or larger. With
    ``unit="deviations"``, raises ``UndefinedError`` when neither samples nor controls vary beyond
    rounding, and ``ValueError`` for a single control.

    Reference: Raju 2026, Section 12, and ``perturbation_effect_size`` of shesha-geometry 0.3.0.
    """
    points, baseline = double_precision_rows(x), double_precision_rows(control)
    length = float(euclidean_norm(points.mean(axis=0) - baseline.mean(axis=0)))
    if unit == "data":
        return length
    if len(baseline) < 2:
        raise ValueError(
            "perturbation_magnitude: deviations need at least 2 controls; use unit='data'"
        )
    deviations = np.stack([_standard_deviations(points), _standard_deviations(baseline)])
    # Relative to the size of the feature, so that a large constant feature hides no variation.
    largest = np.maximum(np.abs(points).max(axis=0), np.abs(baseline).max(axis=0))
    deviation = (
        euclidean_norm(np.where(deviations > RANK_TIE_ROUNDING * largest, deviations, 0))
        / deviations.size**0.5
    )
    if deviation == 0:
        raise UndefinedError(
            "perturbation_magnitude: neither samples nor controls vary; use unit='data'"
        )
    return float(length / deviation)


def _standard_deviations(points: np.ndarray) -> np.ndarray:
    """Return the standard deviation of every feature of ``points`` (n, d), (d,), with divisor n -
    1."""
    return euclidean_norm(points - points.mean(axis=0), axis=0) / (len(points) - 1) ** 0.5


@statistic(
    label="Perturbation spread", family="perturbation", citation="raju2026geometric",
    larger_is_more_stable=None, range=(0, np.inf), invariant_to=RIGID_INVARIANCES, min_samples=2,
    limits={"k": (1, np.inf), "ridge": (0, np.inf)}, claims_for=_spread_claims,
)  # fmt: skip
def perturbation_spread(
    x: Representation,
    control: Representation,
    *,
    controls: ControlMethod = "mean",
    k: int = 50,
    neighbors: ControlMetric = "euclidean",
    ridge: float = 1e-6,
) -> float:
    r"""Perturbation spread: how far the shifts of the perturbed samples are from their mean shift.

    .. math:: \frac{1}{n} \sum_{j=1}^{n} \lVert v_j - \bar{v} \rVert

    The shifts :math:`v_j` and the parameters are the same as in :func:`perturbation_coherence`.
    With ``controls="mean"`` the value is the mean distance of the samples from their own mean. X is
    (n, d), ``control`` (m, d). The value is 0 or larger. The author calls magnitude divided by
    spread the signal-to-noise ratio.

    Reference: Raju 2026, Section 12.10; the author's script leaves out samples that hardly move.
    """
    shifts, _ = _shifts_from_controls(x, control, controls, k, neighbors, ridge)
    return float(np.mean(euclidean_norm(shifts - shifts.mean(axis=0), axis=1)))


@statistic(
    label="Perturbation reproducibility",
    family="perturbation",
    citation="raju2026geometric",
    version=2,
    larger_is_more_stable=True,
    range=(-1, 1),
    invariant_to=SHAPE_INVARIANCES,
    min_samples=4,
    limits={"k": (1, 10_000)},
)
def perturbation_reproducibility(
    x: Representation,
    control: Representation,
    *,
    k: int = 50,
    controls: Literal["shared", "halved"] = "shared",
    seed: int = 0,
) -> float:
    r"""Split-half reproducibility: do two halves of the perturbed samples move the same way?

    .. math:: \frac{1}{K} \sum_{s=1}^{K} \cos(\bar{x}(A_s) - c_s, \; \bar{x}(B_s) - c_s')

    :math:`A_s` and :math:`B_s` are disjoint random halves, ⌊n / 2⌋ samples each, of K = ``k``
    splits. With ``controls="shared"``, as published, c and c' are the same mean of all controls.
    The error of this mean is then common to the two halves and looks like an effect: with as many
    controls as samples and no effect at all, the value is 1/3 rather than 0. ``"halved"`` compares
    the halves of the samples with disjoint halves of the controls, and the value without an effect
    is 0. X is (n, d), ``control`` (m, d). The value is in [-1, 1].

    Raises ``UndefinedError`` when a half does not move, and ``ValueError`` for a single control,
    which cannot be halved.

    Reference: ``split_half_reproducibility`` of shesha-geometry 0.3.0, where a half that does not
    move counts as 0.
    """
    points, baseline = double_precision_rows(x), double_precision_rows(control)
    shifts = [part - baseline.mean(axis=0) for part in (points, baseline)]
    one_stratum = (np.zeros(len(part), dtype=int) for part in shifts)
    halved = controls == "halved"
    return split_half_cosine(*shifts, *one_stratum, k=k, halved=halved, seed=seed)


def split_half_cosine(
    points: np.ndarray,
    baseline: np.ndarray,
    stratum: np.ndarray,
    control_stratum: np.ndarray,
    *,
    k: int,
    halved: bool,
    seed: int,
) -> float:
    """Return the mean cosine, over ``k`` splits, between the mean shifts of two random halves of
    the points, from -1 to 1.

    The mean of the controls is already subtracted from ``points``, (n, d), and from the controls
    ``baseline``, (m, d). ``stratum`` (n,) and ``control_stratum`` (m,): the stratum of every point
    and control, numbered from 0. If ``halved``, halves of the controls are drawn in every stratum,
    and a half of controls has the weight of the points of the stratum in the compared half. Raises
    ``ValueError`` for a stratum with a single control, and ``UndefinedError`` for a half that does
    not move.
    """
    weights = _half_weights(np.zeros(len(points), dtype=int), k, seed, "samples")
    shifts = weights @ points
    if halved:
        if np.bincount(control_stratum).min() < 2:
            raise ValueError(
                "perturbation_reproducibility: controls='halved' needs at least 2 controls"
            )
        parts = weights @ np.eye(control_stratum.max() + 1)[stratum]
        halves = _half_weights(control_stratum, k, seed, "control")
        shifts = shifts - (halves * parts[:, :, control_stratum]) @ baseline
    if (euclidean_norm(shifts, axis=2) <= RANK_TIE_ROUNDING * np.abs(points).max()).any():
        raise UndefinedError(
            "perturbation_reproducibility: a half of the samples does not move, so it has no "
            "direction"
        )
    return float(
        np.mean(np.sum(unit_rows_of_array(shifts[0]) * unit_rows_of_array(shifts[1]), axis=1))
    )


def _half_weights(groups: np.ndarray, k: int, seed: int, role: str) -> np.ndarray:
    """Return weights for the means of both halves of every group in k random splits, (2, k, n). A
    sample outside both halves has weight 0. ``groups``: the group of every sample, (n,). ``role``:
    a word that makes the draws independent."""
    members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    weights = np.zeros((2, k, len(groups)))
    for split in range(k):
        random = generator(seed, "perturbation_reproducibility", role, split)
        for group in members:
            order, half = random.permutation(group), len(group) // 2
            weights[0, split, order[:half]] = weights[1, split, order[half : 2 * half]] = 1 / half
    return weights


@statistic(
    label="Input noise", family="perturbation", citation="raju2026geometric",
    larger_is_more_stable=True, range=(0, 1), min_samples=3,
    limits={"k": (1, 10_000), "noise": (0, np.inf)},
    claims_for=lambda score: {"range": (-1, 1)} if score == "rdm" else {},
)  # fmt: skip
def input_noise_stability(
    x: Representation,
    encoder: Callable[[np.ndarray], Any],
    *,
    noise: float = 0.1,
    k: int = 10,
    score: Literal["distance", "rdm"] = "distance",
    seed: int = 0,
) -> float:
    r"""Input-noise stability: how little noise in the inputs moves a representation.

    .. math:: \frac{1}{1 + \bar{d}}, \qquad \bar{d} = \frac{1}{K n} \sum_{s, i}
        \lVert f(x_i + \sigma \varepsilon_{s, i}) - f(x_i) \rVert, \quad \varepsilon \sim
        \mathcal{N}(0, I)

    σ is ``noise`` times the standard deviation of all entries of the inputs. ``score="rdm"``
    returns the mean Spearman correlation between the cosine dissimilarities of f(x) and of f(x +
    σε) instead; the correlation does not depend on the scale of the representation. X contains the
    (n, d) inputs. ``encoder`` is a function from an (n, d) array to an (n, e) array; an encoder of
    images must reshape its input first. The value is in (0, 1], for ``"rdm"`` in [-1, 1].

    No invariance is claimed, because invariances depend on the encoder. Raises ``ValueError`` for
    an encoder that does not return one row per input and ``UndefinedError`` for NaN in the output
    of the encoder.

    Reference: Raju 2026 (latent-space perturbation; no code of the author computes it). The scale
    of the noise and the score by dissimilarities are ours.
    """
    inputs = double_precision_rows(x)
    # Divided by two to this power, the inputs have squares in range.
    size = int(np.frexp(np.abs(inputs).max())[1])
    encoding = _encode_inputs(encoder, inputs)
    scale = noise * float(np.ldexp(np.ldexp(inputs, -size).std(), size))
    draws = (
        generator(seed, "input_noise_stability", s).standard_normal(inputs.shape) for s in range(k)
    )
    encodings = (_encode_inputs(encoder, inputs + scale * noise_draw) for noise_draw in draws)
    if score == "rdm":
        return float(
            np.mean(
                [
                    rdm_agreement(encoding, noisy_points, "cosine", "spearman")
                    for noisy_points in encodings
                ]
            )
        )
    movement = np.mean(
        [euclidean_norm(noisy_points - encoding, axis=1).mean() for noisy_points in encodings]
    )
    return float(1 / (1 + movement))


def _encode_inputs(encoder: Callable[[np.ndarray], Any], inputs: np.ndarray) -> np.ndarray:
    # A copy, because an encoder may write into its input.
    encoding = Representation(encoder(inputs.copy()), "encoder(X)")
    if encoding.shape[0] != len(inputs):
        raise ValueError(
            f"input_noise_stability: the encoder returned {encoding.shape[0]} rows for "
            f"{len(inputs)} inputs"
        )
    check_all_finite(encoding)
    return np.array(to_numpy(encoding.array), dtype=np.float64)
