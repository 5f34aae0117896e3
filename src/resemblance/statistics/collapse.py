"""Neural collapse, NC1 to NC4: do the classes shrink to points, spread evenly, and agree with the
classifier?"""

from __future__ import annotations

import numpy as np

from ..base.exceptions import UndefinedError
from ..contracts._statistic import Readout, statistic
from ..contracts.claims import SHAPE_INVARIANCES
from ..data.representation import Representation
from .rdm import RANK_TIE_ROUNDING, center_and_scale_rows, double_precision_rows
from .supervised import class_mean_rows, class_members


@statistic(
    label="NC1", family="collapse", citation="papyan2020prevalence",
    larger_is_more_stable=False, range=(0, np.inf), invariant_to=SHAPE_INVARIANCES, min_samples=4,
)  # fmt: skip
def nc1(x: Representation, labels: np.ndarray) -> float:
    r"""NC1, collapse of variability: the scatter within the classes, in units of the scatter of
    class means.

    .. math:: \frac{1}{C} \operatorname{tr}\bigl(\Sigma_W \Sigma_B^{+}\bigr)

    :math:`\Sigma_W = \frac{1}{n} \sum_i (x_i - \mu_{y_i})(x_i - \mu_{y_i})^\top`, and
    :math:`\Sigma_B = \frac{1}{C} \sum_c (\mu_c - \mu_G)(\mu_c - \mu_G)^\top` with the mean
    :math:`\mu_G` of the class means. X is (n, d), labels are (n,) in C classes. The value is 0 when
    the classes are points. The pseudo-inverse has the rank C - 1, or less where class means are
    dependent.

    Raises ``ValueError`` for one class only or a class of one sample, and ``UndefinedError`` when
    all class means coincide.

    Reference: Papyan, Han and Donoho 2020, who have classes of equal sizes; with unequal sizes,
    :math:`\mu_G` is the mean of the class means here, as in later work, not the mean of the
    samples.
    """
    points, groups = center_and_scale_rows(double_precision_rows(x)), class_members(labels, "nc1")
    means = class_mean_rows(points, groups)
    within = np.concatenate([points[rows] - mean for rows, mean in zip(groups, means)])
    _, singular, directions = np.linalg.svd(_centered_means(means, "nc1"), full_matrices=False)
    is_kept = singular > RANK_TIE_ROUNDING * len(points) * singular[0]
    scaled = within @ directions[is_kept].T / singular[is_kept]
    # Sigma_B = V S^2 V^T / C, so the factor C of the inverse cancels 1 / C.
    return float(np.square(scaled).sum()) / len(points)


@statistic(
    label="NC2 norms", family="collapse", citation="papyan2020prevalence",
    larger_is_more_stable=None, range=(0, np.inf), invariant_to=SHAPE_INVARIANCES, min_samples=4,
)  # fmt: skip
def nc2_norms(x: Representation, labels: np.ndarray) -> float:
    r"""NC2, equal norms: the variation of the distances from the class means to the global mean.

    .. math:: \frac{\operatorname{std}_c \lVert \mu_c - \mu_G \rVert}
        {\operatorname{mean}_c \lVert \mu_c - \mu_G \rVert}

    with the standard deviation over C classes (divisor C), and the mean :math:`\mu_G` of the class
    means. X is (n, d), labels are (n,). The value is 0 when all class means are equally far from
    the global mean, as in a simplex.

    Raises ``ValueError`` for one class only or a class of one sample, and ``UndefinedError`` when
    all class means coincide.

    Reference: Papyan, Han and Donoho 2020, Figure 2.
    """
    points, groups = double_precision_rows(x), class_members(labels, "nc2_norms")
    means = class_mean_rows(center_and_scale_rows(points), groups)
    norms = np.linalg.norm(_centered_means(means, "nc2_norms"), axis=1)
    return float(norms.std() / norms.mean())


@statistic(
    label="NC2 angles", family="collapse", citation="papyan2020prevalence",
    larger_is_more_stable=None, range=(0, 2), invariant_to=SHAPE_INVARIANCES, min_samples=4,
)  # fmt: skip
def nc2_angles(x: Representation, labels: np.ndarray) -> float:
    r"""NC2, maximal angles: the mean difference between cosines of class means and the cosine of a
    simplex.

    .. math:: \operatorname{mean}_{c \ne c'} \Bigl\lvert \cos(\mu_c - \mu_G, \mu_{c'} - \mu_G)
        + \frac{1}{C - 1} \Bigr\rvert

    with the mean :math:`\mu_G` of the C class means. X is (n, d), labels are (n,). The value is 0
    when the class means are the corners of a regular simplex. Two classes always have the value 0.

    Raises ``ValueError`` for one class only or a class of one sample, and ``UndefinedError`` when a
    class mean is the global mean.

    Reference: Papyan, Han and Donoho 2020, Figure 4.
    """
    points, groups = double_precision_rows(x), class_members(labels, "nc2_angles")
    means = class_mean_rows(center_and_scale_rows(points), groups)
    means = _centered_means(means, "nc2_angles")
    norms = np.linalg.norm(means, axis=1, keepdims=True)
    if norms.min() <= RANK_TIE_ROUNDING * len(points):
        raise UndefinedError("nc2_angles: the mean of a class is the mean of all class means")
    cosines = (means / norms) @ (means / norms).T
    between = ~np.eye(len(means), dtype=bool)
    return float(np.abs(cosines[between] + 1 / (len(means) - 1)).mean())


@statistic(
    label="NC3", family="collapse", citation="papyan2020prevalence",
    larger_is_more_stable=None, range=(0, 4), invariant_to={"isotropic_scaling", "translation"},
    min_samples=4,
)  # fmt: skip
def nc3(x: Representation, labels: np.ndarray, classifier: Readout) -> float:
    r"""NC3, self-duality: the squared distance between the classifier and the class means.

    .. math:: \Bigl\lVert \frac{W}{\lVert W \rVert_F} - \frac{M}{\lVert M \rVert_F}
        \Bigr\rVert_F^2

    W is the (C, d) weight matrix of the last layer, and M has the rows :math:`\mu_c - \mu_G` with
    the mean :math:`\mu_G` of the class means. X is (n, d), the input of the last layer; labels are
    (n,); ``classifier`` is a ``torch.nn.Linear``, a weight matrix, or the pair (weights, biases),
    with the classes in the order of the sorted labels. The value is between 0 (the classifier
    points to the class means) and 4 (to the opposite directions).

    Raises ``ValueError`` for one class only, a class of one sample or a classifier of another
    shape, and ``UndefinedError`` when all class means coincide.

    Reference: Papyan, Han and Donoho 2020, Figure 5.
    """
    points, groups = double_precision_rows(x), class_members(labels, "nc3")
    means = _centered_means(class_mean_rows(center_and_scale_rows(points), groups), "nc3")
    weights = _weights_of_classes(classifier, len(groups), points.shape[1], "nc3")
    weights = weights / np.abs(weights).max()
    difference = weights / np.linalg.norm(weights) - means / np.linalg.norm(means)
    return float(np.square(difference).sum())


@statistic(
    label="NC4", family="collapse", citation="papyan2020prevalence",
    larger_is_more_stable=None, range=(0, 1), min_samples=4,
)  # fmt: skip
def nc4(x: Representation, labels: np.ndarray, classifier: Readout) -> float:
    r"""NC4, nearest class centre: the share of samples for which the classifier and the nearest
    class mean disagree.

    .. math:: \frac{1}{n} \Bigl\lvert \Bigl\{ i : \arg\max_c (w_c^\top x_i + b_c) \ne
        \arg\min_c \lVert x_i - \mu_c \rVert \Bigr\} \Bigr\rvert

    X is (n, d), the input of the last layer; labels are (n,); ``classifier`` is a
    ``torch.nn.Linear``, a weight matrix, or the pair (weights, biases), with the classes in the
    order of the sorted labels. Of equal logits or distances, the first class counts. The value is
    in [0, 1].

    Raises ``ValueError`` for one class only, a class of one sample or a classifier of another
    shape.

    Reference: Papyan, Han and Donoho 2020, Figure 7.
    """
    points, groups = double_precision_rows(x), class_members(labels, "nc4")
    weights = _weights_of_classes(classifier, len(groups), points.shape[1], "nc4")
    decisions = (points @ weights.T + classifier.biases).argmax(axis=1)
    scaled = center_and_scale_rows(points)
    means = class_mean_rows(scaled, groups)
    distances = np.square(means).sum(axis=1) - 2 * scaled @ means.T
    return float(np.mean(decisions != distances.argmin(axis=1)))


def _centered_means(means: np.ndarray, caller: str) -> np.ndarray:
    """Return the class means (classes, d) minus the mean of the class means.

    Raises :class:`UndefinedError`, naming ``caller``, if all class means are equal up to rounding.
    """
    centered = means - means.mean(axis=0)
    if np.abs(centered).max() <= RANK_TIE_ROUNDING:
        raise UndefinedError(f"{caller}: the means of all classes are equal")
    return centered


def _weights_of_classes(classifier: Readout, classes: int, d: int, caller: str) -> np.ndarray:
    """Return the weights of ``classifier`` unchanged, checked to be (``classes``, d).

    Raises ``ValueError``, naming ``caller``, if the classifier has another number of classes or
    features.
    """
    if classifier.weights.shape != (classes, d):
        raise ValueError(
            f"{caller}: the classifier has weights of shape {classifier.weights.shape}; "
            f"{classes} classes (the sorted labels) and {d} features need ({classes}, {d}). "
            "Give X as the input of the last layer, and one row of weights per class in the labels"
        )
    return classifier.weights
