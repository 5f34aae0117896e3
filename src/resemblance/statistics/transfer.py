"""Transferability scores: how well a representation serves a task, and how separate its classes
are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from ..base.arrays import row_blocks
from ..base.exceptions import UndefinedError
from ..contracts._statistic import statistic
from ..contracts.claims import COLUMN_INVARIANCES, COSINE_INVARIANCES, SHAPE_INVARIANCES
from ..data.representation import Representation
from ..intermediates.digits import resolution
from ..intermediates.distances import squared_distance_blocks
from ..intermediates.points import unit_rows_of_array
from ..intermediates.predictions import predicted_distributions
from .rdm import (
    RANK_TIE_ROUNDING,
    center_and_scale_rows,
    cosine_distances,
    double_precision_rows,
    rdm_invariance_claims,
)
from .supervised import class_mean_rows, class_members

SourceOutputs = Literal["logits", "probabilities"]


@statistic(
    label="Fisher", family="supervised", citation="raju2026geometric", larger_is_more_stable=True,
    range=(0, np.inf), invariant_to=SHAPE_INVARIANCES, min_samples=4,
    claims_for=lambda form: {"invariant_to": {"affine"}} if form == "eigenvalues" else {},
)  # fmt: skip
def fisher_discriminant(
    x: Representation, labels: np.ndarray, *, form: Literal["trace", "eigenvalues"] = "trace"
) -> float:
    r"""Fisher discriminant: the scatter between the classes relative to the scatter within them.

    .. math:: \frac{\operatorname{tr} S_B}{\operatorname{tr} S_W}, \qquad
        S_B = \sum_c n_c (\mu_c - \mu)(\mu_c - \mu)^\top, \quad
        S_W = \sum_c \sum_{i \in c} (x_i - \mu_c)(x_i - \mu_c)^\top

    ``form="eigenvalues"`` returns tr(S_W⁻¹ S_B) / (C - 1) instead, which is invariant to invertible
    linear maps. X is (n, d), labels are (n,). The value is 0 or larger.

    Raises ``ValueError`` for one class only or a class of one sample, and ``UndefinedError`` when
    nothing varies within the classes, or, for eigenvalues, when S_W is singular.

    Reference: Raju 2026, Section 8 (trace) and 11 (eigenvalues, where the author's code adds 1e-8
    to S_W).
    """
    groups = class_members(labels, "fisher_discriminant")
    points = center_and_scale_rows(double_precision_rows(x))
    within, between = _within_and_between(points, groups)
    if form == "trace":
        spread = float((within**2).sum())
        if spread <= RANK_TIE_ROUNDING**2 * len(points):
            raise UndefinedError("fisher_discriminant: nothing varies within the classes")
        return float((between**2).sum()) / spread
    _, s, axes = np.linalg.svd(within, full_matrices=False)
    if len(s) < points.shape[1] or s[-1] <= max(within.shape) * np.finfo(float).eps * s[0]:
        raise UndefinedError(
            "fisher_discriminant: the scatter within the classes is singular; use form='trace'"
        )
    return float(((between @ axes.T / s) ** 2).sum()) / (len(groups) - 1)


def _within_and_between(
    points: np.ndarray, groups: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows minus class means, (n, d), class after class, and class means times the roots of
    the class sizes, (C, d).

    The points must be centred. ``groups``: the row numbers of every class.
    """
    means = class_mean_rows(points, groups)
    within = np.concatenate([points[group] - mean for group, mean in zip(groups, means)])
    return within, means * np.sqrt([len(group) for group in groups])[:, None]


@statistic(
    label="Silhouette",
    family="supervised",
    citation="rousseeuw1987silhouettes",
    larger_is_more_stable=True,
    range=(-1, 1),
    invariant_to=COSINE_INVARIANCES,
    min_samples=3,
    claims_for=rdm_invariance_claims,
)
def silhouette(
    x: Representation, labels: np.ndarray, *, rdm: Literal["cosine", "euclidean"] = "cosine"
) -> float:
    r"""Silhouette: is every sample closer to its own class than to the nearest other one?

    .. math:: \frac{1}{n} \sum_i \frac{b_i - a_i}{\max(a_i, b_i)}

    :math:`a_i` is the mean distance from i to the other samples of the class of i, and :math:`b_i`
    the smallest mean distance from i to another class; a class of one sample counts 0. X is (n, d),
    labels are (n,). The value is in [-1, 1].

    Raises ``ValueError`` for one class only or as many classes as samples.

    Reference: Rousseeuw 1987, as computed by scikit-learn; Raju 2026, Section 8 (cosine).
    """
    count = int(labels.max()) + 1
    if not 2 <= count < len(labels):
        raise ValueError(
            f"silhouette needs from 2 to {len(labels) - 1} classes of {len(labels)} samples; got "
            f"{count}"
        )
    blocks: Iterable[np.ndarray]
    if rdm == "euclidean":
        points = center_and_scale_rows(double_precision_rows(x))
        blocks = map(np.sqrt, squared_distance_blocks(points))
    else:
        points = unit_rows_of_array(double_precision_rows(x))
        blocks = (cosine_distances(points[i:j], points) for i, j in row_blocks(len(points)))
    classes, widths = labels[:, None] == np.arange(count), np.zeros(len(points))
    for (start, stop), distances in zip(row_blocks(len(points)), blocks):
        distances[np.arange(stop - start), np.arange(start, stop)] = 0
        widths[start:stop] = _silhouettes(distances @ classes, labels[start:stop], classes)
    return float(widths.mean())


def _silhouettes(sums: np.ndarray, labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the silhouette of each sample in a block, (block,), from ``sums``, the sums of
    distances to the samples of every class, (block, C). ``labels``: the classes of the block;
    ``classes``: the memberships of all samples, (n, C)."""
    class_of, sizes = (np.arange(len(sums)), labels), classes.sum(axis=0)
    own_means = sums[class_of] / np.maximum(sizes[labels] - 1, 1)
    means = sums / sizes
    means[class_of] = np.inf
    nearest_means = means.min(axis=1)
    largest = np.maximum(own_means, nearest_means)
    is_defined = (sizes[labels] > 1) & (largest > 0)
    return np.where(is_defined, (nearest_means - own_means) / np.where(largest > 0, largest, 1), 0)


@statistic(
    label="H-score", family="transfer", citation="bao2019information", larger_is_more_stable=True,
    range=(0, np.inf), invariant_to={"affine"}, min_samples=4,
)  # fmt: skip
def h_score(x: Representation, labels: np.ndarray) -> float:
    r"""H-score: how much of the whitened variance of the features depends on the class.

    .. math:: \operatorname{tr}\bigl(\operatorname{cov}(X)^{+} \operatorname{cov}(\operatorname{E}[X
        \mid y])\bigr)

    with the covariance of the class means, weighted by the class sizes, and the pseudo-inverse of
    the covariance of the features. X is (n, d), labels are (n,). The value is between 0 and min(C -
    1, d). With d near n the value is uninformative: the value is C - 1 for any labels once d >= n -
    1.

    Raises ``ValueError`` for one class only or a class of one sample, and ``UndefinedError`` for a
    constant representation.

    Reference: Bao et al. 2019. Here the two covariances divide by n; the author of Raju 2026
    divides the covariance of the features by n - 1 and adds 1e-10 to its diagonal, so his value is
    (n - 1) / n times ours.
    """
    points = center_and_scale_rows(double_precision_rows(x))
    groups = class_members(labels, "h_score")
    u, s, _ = np.linalg.svd(points, full_matrices=False)
    if s[0] == 0:
        raise UndefinedError("h_score: the representation is constant (all its rows are equal)")
    basis = u[:, s > max(points.shape) * np.finfo(float).eps * s[0]]
    _, between = _within_and_between(basis, groups)
    return float((between**2).sum())


@statistic(
    label="GBC",
    family="transfer",
    citation="pandy2022transferability",
    larger_is_more_stable=True,
    range=(-np.inf, 0),
    invariant_to=COLUMN_INVARIANCES,
    min_samples=4,
    claims_for=lambda covariance: (
        {"invariant_to": SHAPE_INVARIANCES} if covariance == "spherical" else {}
    ),
)
def gbc(
    x: Representation,
    labels: np.ndarray,
    *,
    covariance: Literal["diagonal", "spherical"] = "diagonal",
) -> float:
    r"""Gaussian Bhattacharyya coefficient: how little Gaussians fitted to the classes overlap.

    .. math:: -\sum_{c \ne c'} \exp\bigl(-D_B(c, c')\bigr), \qquad
        D_B = \tfrac{1}{8} \sum_j \frac{(\mu_{cj} - \mu_{c'j})^2}{v_j}
        + \tfrac{1}{2} \sum_j \log \frac{v_j}{\sqrt{v_{cj} v_{c'j}}}, \quad v_j = \frac{v_{cj} +
        v_{c'j}}{2}

    with variances per class and feature, or (``"spherical"``) one variance per class, the mean over
    the features. The sum is over ordered pairs. X is (n, d), labels are (n,). The value is 0 or
    less: 0 when no two classes overlap, and -C (C - 1) when all classes are alike.

    Raises ``ValueError`` for one class only or a class of one sample, and ``UndefinedError`` when a
    feature does not vary in a class (choose ``"spherical"``, or remove the feature).

    Reference: Pándy et al. 2022, who first reduce the features to 64 principal components and
    recommend the spherical form. The author of Raju 2026 uses D_B itself, for two classes.
    """
    points, groups = center_and_scale_rows(double_precision_rows(x)), class_members(labels, "gbc")
    means = class_mean_rows(points, groups)
    spread = np.stack([points[group].var(axis=0) for group in groups])
    if covariance == "spherical":
        spread = np.broadcast_to(spread.mean(axis=1, keepdims=True), spread.shape)
    if (spread <= 16 * np.finfo(float).eps ** 2).any():
        raise UndefinedError(
            "gbc: a feature does not vary within a class; remove it, or use covariance='spherical'"
        )
    pairs = [(a, b) for a in range(len(groups)) for b in range(a)]
    return -2 * float(np.sum([np.exp(-_bhattacharyya(means, spread, a, b)) for a, b in pairs]))


def _bhattacharyya(means: np.ndarray, spread: np.ndarray, a: int, b: int) -> float:
    mean_spread = (spread[a] + spread[b]) / 2
    distance = float(((means[a] - means[b]) ** 2 / mean_spread).sum()) / 8
    return (
        distance
        + float((np.log(mean_spread) - (np.log(spread[a]) + np.log(spread[b])) / 2).sum()) / 2
    )


@statistic(
    label="LEEP", family="transfer", citation="nguyen2020leep", larger_is_more_stable=True,
    range=(-np.inf, 0), invariant_to={"permutation"}, min_features=2,
)  # fmt: skip
def leep(x: Representation, labels: np.ndarray, *, outputs: SourceOutputs = "logits") -> float:
    r"""LEEP: the log-likelihood of the labels given the outputs of a source classifier.

    .. math:: \frac{1}{n} \sum_i \log \sum_z \hat{P}(y_i \mid z)\, \theta_z(x_i), \qquad
        \hat{P}(y, z) = \frac{1}{n} \sum_{i : y_i = y} \theta_z(x_i)

    θ are the probabilities of the source classes z: the softmax of X (n, z) if
    ``outputs="logits"``. Labels are (n,), the classes of the target. The value is 0 or less, and
    apart from rounding at least minus the entropy of the labels.

    Raises ``ValueError`` for one class only, and ``UndefinedError`` for probabilities that are
    negative or do not sum to 1, give or take 0.001.

    Reference: Nguyen et al. 2020.
    """
    class_members(labels, "leep", fewest=1)
    outcomes = Representation(double_precision_rows(x), x.name)
    theta: np.ndarray = predicted_distributions("leep", outcomes, outputs, resolution(x))
    joint_counts = np.stack([theta[labels == y].sum(axis=0) for y in range(int(labels.max()) + 1)])
    total = joint_counts.sum(axis=0)
    conditional = joint_counts / np.where(total > 0, total, 1)
    return min(float(np.log((conditional[labels] * theta).sum(axis=1)).mean()), 0.0)


@statistic(
    label="NCE", family="transfer", citation="tran2019transferability", larger_is_more_stable=True,
    range=(-np.inf, 0), invariant_to={"permutation", "isotropic_scaling"}, min_features=2,
)  # fmt: skip
def nce(x: Representation, labels: np.ndarray) -> float:
    r"""Negative conditional entropy: what a source classifier leaves unknown of the labels.

    .. math:: -H(y \mid z) = \sum_{y, z} \hat{P}(y, z) \log \hat{P}(y \mid z), \qquad
        z_i = \operatorname*{arg\,max}_j X_{ij}

    X contains the (n, z) logits or probabilities of the source classifier, labels are (n,). The
    value, in nats, is between -log C and 0. Raises ``ValueError`` for one class only.

    Reference: Tran et al. 2019, who use true source labels; here the source labels are the
    predictions of the source classifier. Raju 2026 uses the name NCE for another quantity, the mean
    log-softmax of cosine similarities to the class means.
    """
    class_members(labels, "nce", fewest=1)
    points = double_precision_rows(x)
    joint_shares = np.zeros((points.shape[1], int(labels.max()) + 1))
    np.add.at(joint_shares, (points.argmax(axis=1), labels), 1 / len(points))
    source = joint_shares.sum(axis=1, keepdims=True)
    conditional = joint_shares / np.where(source > 0, source, 1)
    return float((joint_shares * np.log(np.where(joint_shares > 0, conditional, 1))).sum())


@statistic(
    label="LogME", family="transfer", citation="you2021logme", larger_is_more_stable=True,
    range=(-np.inf, np.inf), invariant_to=COSINE_INVARIANCES, min_samples=4,
)  # fmt: skip
def logme(x: Representation, labels: np.ndarray) -> float:
    r"""LogME: the largest log evidence per sample of Bayesian linear models of the classes.

    .. math:: \frac{1}{C n} \sum_c \max_{\alpha, \beta} \log p(y^{(c)} \mid X, \alpha, \beta),
        \qquad
        y^{(c)} \sim \mathcal{N}(X w, \beta^{-1} I), \quad w \sim \mathcal{N}(0, \alpha^{-1} I)

    where :math:`y^{(c)}` is 1 for the samples of class c and 0 for all other samples. X is (n, d),
    not centred and without an intercept, labels are (n,). The value is any number, larger for
    better features; compare values of different representations for the same labels only. One
    singular value decomposition, O(n d min(n, d)) time.

    Raises ``ValueError`` for one class only or a class of one sample, and ``UndefinedError`` for an
    all-zero representation or a representation that explains a class without error, because then
    the evidence has no bound.

    Reference: You et al. 2021, with the iteration of α and β to its fixed point; the code of the
    authors stops earlier, at a change of α / β of 1e-3 or after 11 rounds, and is smaller by up to
    5e-4 in our tests.
    """
    groups = class_members(labels, "logme")
    points = double_precision_rows(x)
    scale = np.abs(points).max()
    if scale == 0:
        raise UndefinedError("logme: the representation is all zero")
    u, s, _ = np.linalg.svd(points / scale, full_matrices=False)
    is_spanned = s > max(points.shape) * np.finfo(float).eps * s[0]
    return float(
        np.mean(
            [
                _log_evidence_of_class(u[:, is_spanned], s[is_spanned] ** 2, labels == c)
                for c in range(len(groups))
            ]
        )
    )


def _log_evidence_of_class(u: np.ndarray, variances: np.ndarray, target: np.ndarray) -> float:
    """Return the largest log evidence per sample for one class.

    ``u``: the left singular vectors of X, (n, r). ``variances``: the eigenvalues of XᵀX, (r,), in
    any unit. ``target``: the mask of the class, (n,). Raises ``UndefinedError`` if X explains the
    class without error.
    """
    n = len(u)
    projections = (u.T @ target.astype(float)) ** 2
    residual = max(float(target.sum() - projections.sum()), 0.0)
    if residual <= 1e-12 * n:
        raise UndefinedError(
            "logme: the features explain a class without error, so the evidence has no bound"
        )
    ratio = 1.0  # alpha / beta; the fit depends only on the ratio
    for _ in range(1000):
        dimensions = float((variances / (variances + ratio)).sum())
        weights = float((variances * projections / (variances + ratio) ** 2).sum())
        error = float((ratio**2 * projections / (variances + ratio) ** 2).sum()) + residual
        if dimensions * error > 1e8 * variances[0] * weights * (n - dimensions):
            # The best weights are zero, so the evidence is the evidence of noise alone.
            return float(np.log(n / (2 * np.pi * target.sum())) - 1) / 2
        previous, ratio = ratio, dimensions * error / (weights * (n - dimensions))
        if abs(ratio - previous) <= 1e-12 * previous:
            break
    beta, alpha = (n - dimensions) / error, dimensions / weights
    log_determinant = float(np.log(alpha + beta * variances).sum()) - len(variances) * np.log(alpha)
    return float(
        n * np.log(beta / (2 * np.pi)) - beta * error - alpha * weights - log_determinant
    ) / (2 * n)
