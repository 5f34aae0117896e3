"""Perturbed samples against controls: do all of them move the same way, and how far?"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..measure import when
from ..representation import Representation, Undefined
from ..statistic import statistic
from .comparing import rows, unit

RIGID = {"orthogonal", "translation"}
SHAPE = RIGID | {"isotropic_scaling"}


@statistic(
    label="Perturbation coherence", family="perturbation", larger_is_more_stable=True, range=(-1, 1),
    reference="raju2026geometric", invariant_to=SHAPE, min_samples=2, limits={"k": (1, np.inf), "ridge": (0, np.inf)},
    changes=(
        when({"controls": "whitened"}, invariant_to=RIGID),
        when({"controls": "whitened", "ridge": 0}, invariant_to={"affine"}),
        when({"controls": "neighbours", "neighbours": "cosine"}, invariant_to={"orthogonal", "isotropic_scaling"}),
    ),
)  # fmt: skip
def perturbation_coherence(
    x: Representation,
    control: Representation,
    *,
    controls: Literal["mean", "whitened", "neighbours"] = "mean",
    form: Literal["cosine", "spread"] = "cosine",
    k: int = 50,
    neighbours: Literal["euclidean", "cosine"] = "euclidean",
    ridge: float = 1e-6,
) -> float:
    r"""Perturbation coherence: do all perturbed samples move away from the controls in the same direction?

    .. math:: \frac{1}{n} \sum_{j=1}^{n} \cos(v_j, \bar{v}), \qquad v_j = x_j - c_j

    ``controls="mean"``: :math:`c_j` is the mean of all controls. ``"whitened"``: the same after both were whitened by
    the covariance of the controls, (Σ + ``ridge`` I)^(-1/2). ``"neighbours"``: the mean of the ``k`` controls nearest
    to :math:`x_j` (all where there are fewer), by ``neighbours``. ``form="spread"`` gives 1 - E‖v - v̄‖² / E‖v‖²
    instead, the share of the squared shift that is common. X is the (n, d) perturbed samples, ``control`` (m, d). The
    value is in [-1, 1]; a sample that does not move counts as 0.

    Without a common shift the mean cosine is about n^(-1/2), not 0, since the mean contains the sample.
    Raises ``Undefined`` when nothing moves on average, or when ``ridge=0`` and the covariance is singular.

    Reference: Raju 2026, Sections 12.1-12.3, and shesha-geometry 0.3.0 (``perturbation_coherence``), where the
    neighbours are by cosine unless called otherwise and at most 1000 perturbed samples are used without saying so;
    here all are. The author's script leaves out samples that hardly move.
    """
    points, baseline = rows(x), rows(control)
    offset = baseline.mean(axis=0)
    if controls == "whitened":
        whiten = _whitening(baseline - offset, ridge)
        points, baseline, offset = points @ whiten, baseline @ whiten, offset @ whiten
    reference = _nearest_means(points, baseline, k, neighbours) if controls == "neighbours" else offset
    return _coherence(points - reference, form, float(np.abs(points - offset).max()))


def _coherence(shifts: np.ndarray, form: str, scale: float) -> float:
    common = shifts.mean(axis=0)
    if np.linalg.norm(common) <= 16 * np.finfo(float).eps * scale:
        raise Undefined("perturbation_coherence: the samples do not move on average, so there is no direction to share")
    if form == "cosine":
        return float(np.mean(unit(shifts) @ unit(common[None, :])[0]))
    shifts = shifts / np.abs(shifts).max()
    return float(np.sum(shifts.mean(axis=0) ** 2) / np.mean(np.sum(shifts**2, axis=1)))


def _whitening(centred: np.ndarray, ridge: float) -> np.ndarray:
    """Inverse symmetric root of the covariance of centred rows plus a multiple of the identity."""
    if len(centred) < 2:
        raise ValueError("perturbation_coherence: whitening needs at least 2 controls; use controls='mean'")
    variances, axes = np.linalg.eigh(centred.T @ centred / (len(centred) - 1))
    variances = np.maximum(variances, 0) + ridge
    if variances[0] <= len(variances) * np.finfo(float).eps * variances[-1]:
        raise Undefined("perturbation_coherence: the covariance of the controls is singular; raise ridge above 0")
    whiten: np.ndarray = axes / np.sqrt(variances) @ axes.T
    return whiten


def _nearest_means(points: np.ndarray, baseline: np.ndarray, k: int, kind: str) -> np.ndarray:
    """Mean of the k controls nearest to every point, shape (n, d)."""
    from scipy.spatial.distance import cdist

    distances = -unit(points) @ unit(baseline).T if kind == "cosine" else cdist(points, baseline)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
    means: np.ndarray = baseline[nearest].mean(axis=1)
    return means


@statistic(
    label="Perturbation magnitude", family="perturbation", larger_is_more_stable=None, range=(0, np.inf),
    reference="raju2026geometric", invariant_to=RIGID, min_samples=2,
    changes=(when({"unit": "deviations"}, invariant_to=SHAPE),),
)  # fmt: skip
def perturbation_magnitude(
    x: Representation, control: Representation, *, unit: Literal["data", "deviations"] = "data"
) -> float:
    r"""Perturbation magnitude: how far the mean of the perturbed samples is from the mean of the controls.

    .. math:: \lVert \bar{x} - \bar{c} \rVert

    ``unit="deviations"`` divides it by the root of the mean over the features of (s_x² + s_c²) / 2, like Cohen's d. X
    is (n, d), ``control`` (m, d). The value is 0 or larger. Raises ``Undefined`` when nothing varies and deviations
    are asked for, and ``ValueError`` for a single control then.

    Reference: Raju 2026, Section 12, and ``perturbation_effect_size`` of shesha-geometry 0.3.0.
    """
    points, baseline = rows(x), rows(control)
    length = float(np.linalg.norm(points.mean(axis=0) - baseline.mean(axis=0)))
    if unit == "data":
        return length
    if len(baseline) < 2:
        raise ValueError("perturbation_magnitude: deviations need at least 2 controls; use unit='data'")
    deviation = float(np.mean((points.var(axis=0, ddof=1) + baseline.var(axis=0, ddof=1)) / 2)) ** 0.5
    if deviation == 0:
        raise Undefined("perturbation_magnitude: neither samples nor controls vary; use unit='data'")
    return float(length / deviation)
