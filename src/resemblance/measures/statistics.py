"""Statistics: differences of one number per representation."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import Array
from ..declared import when
from ..measure import measure
from ..representation import Representation
from ..views.scalars import concentricity, magnitude, uniformity
from .chance import of_far_samples


@measure(
    label="ConcDiff",
    family="statistic",
    larger_is_more_similar=False,
    range=(0, 2),
    symmetric=True,
    metric=True,
    reference="wang2020towards",
    invariant_to={"orthogonal", "isotropic_scaling"},
)
def concentricity_difference(x: Representation, y: Representation) -> Array:
    r"""Concentricity difference: the difference of how tightly samples point in the direction of
    their mean.

    .. math:: \left| c(X) - c(Y) \right|, \qquad c(X) = \frac{1}{n} \sum_i \cos(x_i, \bar{x})

    X is (n, d), Y is (n, e). A zero row contributes cosine 0; so does every row when the mean is
    zero.

    Reference: Wang et al. 2022.
    """
    return x.xp.abs(concentricity(x) - concentricity(y))


@measure(
    label="MagDiff",
    family="statistic",
    larger_is_more_similar=False,
    range=(0, np.inf),
    symmetric=True,
    metric=True,
    reference="wang2020towards",
    invariant_to={"orthogonal"},
)
def magnitude_difference(x: Representation, y: Representation) -> Array:
    r"""Magnitude difference: the difference of the lengths of the mean rows.

    .. math:: \left| \lVert \bar{x} \rVert_2 - \lVert \bar{y} \rVert_2 \right|

    X is (n, d), Y is (n, e). In the units of the activations. Defined for all finite data.

    Reference: Wang et al. 2022.
    """
    return x.xp.abs(magnitude(x) - magnitude(y))


@measure(
    label="UnifDiff",
    family="statistic",
    larger_is_more_similar=False,
    range=(0, np.inf),
    symmetric=True,
    metric=True,
    version=2,
    reference="wang2020understanding",
    invariant_to={"orthogonal", "isotropic_scaling"},
    changes=(when({"rows": "raw"}, invariant_to={"orthogonal", "translation"}),),
    uninformative=of_far_samples,
)
def uniformity_difference(
    x: Representation,
    y: Representation,
    *,
    rows: Literal["unit", "raw"] = "unit",
    self_pairs: bool = True,
) -> Array:
    r"""Uniformity difference: the difference of how evenly the samples spread over the sphere.

    .. math:: \left| u(X) - u(Y) \right|, \qquad
        u(X) = \log \frac{1}{n^2} \sum_{i,j} e^{-2 \lVert x_i - x_j \rVert^2}

    ``rows="unit"`` scales every sample to unit length first, as the uniformity loss is defined;
    ``"raw"`` does not (the ReSi code): for representations of ordinary scale all terms but i = j
    vanish, both values are -log n, and the difference is exactly 0. ``self_pairs=False`` leaves out
    i = j and averages over the other pairs.

    X is (n, d), Y is (n, e). O(n^2 d) time, memory of one block of rows. A zero row stays at the
    origin.

    Reference: Wang and Isola 2020, Eq. 2 (t = 2); Klabunde et al. 2025 for the sum over all i, j.
    """
    u, v = (uniformity(r, unit=rows == "unit", self_pairs=self_pairs) for r in (x, y))
    return x.xp.abs(u - v)
