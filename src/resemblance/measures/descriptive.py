"""Descriptive measures: differences of one number per representation, and distances between
distributions that ignore the correspondence of samples."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ..base.arrays import Array, clip_above_one, epsilon, frobenius_inner, safe_quotient, scalar
from ..base.exceptions import UndefinedError
from ..contracts._measure import measure
from ..contracts.claims import (
    COSINE_INVARIANCES,
    RIGID_INVARIANCES,
    SAMPLE_ROTATION,
    SHAPE_INVARIANCES,
)
from ..data.representation import Representation
from ..intermediates.pooled import mean_kernels, pooled_median_distance, pooled_squares
from ..intermediates.summaries import (
    concentricity,
    mean_row_norm_difference,
    padded_spectra,
    random_projections,
    uniformity,
)
from .leave_one_out.descriptive import leave_one_out_concentricity, leave_one_out_magnitude_diff


@measure(
    label="ConcDiff", family="descriptive", citation="wang2020towards", version=3,
    larger_is_more_similar=False, range=(0, 2), metric=True, invariant_to=COSINE_INVARIANCES,
    needs_pairing=False, streams_with="directions", leave_one_out=leave_one_out_concentricity,
)  # fmt: skip
def concentricity_difference(x: Representation, y: Representation) -> Array:
    r"""Concentricity difference: the difference of how tightly samples point in the direction of
    their mean.

    .. math:: \left| c(X) - c(Y) \right|, \qquad c(X) = \frac{1}{n} \sum_i \cos(x_i, \bar{x})

    X is (n, d), Y is (n, e). A zero row contributes cosine 0. When the mean is zero up to rounding,
    as for centred data, every row contributes cosine 0.

    Use it when you ask whether the cone of the samples is narrower in one representation than in
    the other.

    Beware. The measure compares one number per representation, so a small value does not mean that
    samples agree. Unrelated data may score as equal.

    Reference: Wang et al. 2022.
    """
    return x.xp.abs(concentricity(x) - concentricity(y))


@measure(
    label="MagDiff", family="descriptive", citation="wang2020towards", version=2,
    larger_is_more_similar=False, range=(0, np.inf), metric=True,
    needs_pairing=False, invariant_to={"orthogonal"} | SAMPLE_ROTATION,
    leave_one_out=leave_one_out_magnitude_diff,
)  # fmt: skip
def magnitude_difference(x: Representation, y: Representation) -> Array:
    r"""Magnitude difference: the difference of the lengths of the mean rows.

    .. math:: \left| \lVert \bar{x} \rVert_2 - \lVert \bar{y} \rVert_2 \right|

    X is (n, d), Y is (n, e). The value is in the units of the activations. Defined for all finite
    data.

    Use it when you ask whether the mean activation has moved.

    Beware. The measure compares one number per representation and depends on scale.

    Reference: Wang et al. 2022.
    """
    return x.xp.abs(mean_row_norm_difference(x, y))


@measure(
    label="UnifDiff",
    family="descriptive",
    citation="wang2020understanding",
    version=3,
    larger_is_more_similar=False,
    needs_pairing=False,
    range=(0, np.inf),
    metric=True,
    rows_of_maps="positions",
    claims_for=lambda rows: {
        "invariant_to": RIGID_INVARIANCES if rows == "raw" else COSINE_INVARIANCES
    },
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

    ``rows="unit"`` scales every sample to unit length first, as in the definition of the uniformity
    loss. ``"raw"`` does not scale (the ReSi code): for representations of ordinary scale all terms
    but i = j vanish, u(X) and u(Y) are -log n, and the difference is exactly 0.
    ``self_pairs=False`` leaves out i = j and averages over the other pairs.

    X is (n, d), Y is (n, e). O(n^2 d) time, memory of one block of rows. A zero row stays at the
    origin.

    Use it when you compare how evenly normalised embeddings cover the sphere, as in contrastive
    learning.

    Beware. The measure compares one number per representation. A common offset decides the value.

    Reference: Wang and Isola 2020, Eq. 2 (t = 2); Klabunde et al. 2025 for the sum over all i, j.
    """
    u, v = (uniformity(r, unit=rows == "unit", self_pairs=self_pairs) for r in (x, y))
    return x.xp.abs(u - v)


@uniformity_difference.claim("uninformative")
def uninformative_far_samples(
    x: Representation, y: Representation, rows: str, self_pairs: bool
) -> str:
    """Fixed with ``rows="raw"`` when all samples are so far apart that each one sees only itself.

    In this case the value of the pair is the same for all data. The function then returns a warning
    as text, otherwise "", and always "" for ``rows="unit"`` or without ``self_pairs``.
    """
    if rows == "unit" or not self_pairs:
        return ""
    is_isolated = all(
        scalar(uniformity(r, unit=False, self_pairs=True)) + math.log(r.n_samples) < 1e-6
        for r in (x, y)
    )
    return (
        "fixed by the scale of the data: all samples are so far apart that the kernel is zero "
        "between different samples"
        if is_isolated
        else ""
    )


@measure(
    label="MMD", family="descriptive", citation="gretton2012kernel", version=3,
    larger_is_more_similar=False, range=(0, 2**0.5), differentiable=False,
    needs_pairing=False, limits={"bandwidth": (1e-3, 1e3), "width": (1e-100, 1e100)},
    excludes={"width": ("bandwidth",)}, needs_equal_columns=True,
)  # fmt: skip
def mmd(
    x: Representation, y: Representation, *, bandwidth: float = 1.0, width: float | None = None
) -> float:
    r"""Maximum mean discrepancy: how far the clouds of samples are apart as distributions, seen by
    a Gaussian kernel.

    .. math:: \sqrt{\max(0, M)}, \qquad M = \frac{1}{n(n-1)} \sum_{i \neq j} \left( k(x_i, x_j) +
        k(y_i, y_j) \right)
        - \frac{2}{n^2} \sum_{i,j} k(x_i, y_j)

    with k(a, b) = exp(-‖a - b‖²/(2 σ²)), σ = ``bandwidth`` times the median distance between all 2n
    samples. M is the unbiased estimate of the squared discrepancy; if M is negative, the value is
    0. ``width``: σ itself, in the units of the activations, instead of ``bandwidth``: k(a, b) =
    exp(-‖a - b‖²/(2 width²)). ``gamma`` of scikit-learn is 1/(2 width²).

    X and Y are (n, d), with the same columns. The correspondence between the samples of X and Y
    does not matter. The data are not centred: rotating or moving X or Y alone changes the value.
    Not a metric, because negative M is cut off at 0, and because σ depends on the pair unless
    ``width`` is given. O(n^2 d) time, memory of 4 million numbers for any n. Raises
    ``UndefinedError`` for different numbers of columns, when σ is a multiple of the median and more
    than half of the samples coincide, and when ``width`` is so far above all distances that only
    rounding errors distinguish the kernel values. Raises ``ValueError`` for ``width`` together with
    ``bandwidth``.

    Use it when you compare two point clouds as distributions in the same coordinates, as in tests
    for drift.

    Beware. A rotation or permutation of the columns changes the value, so the measure suits
    versions of one model, not two models. The pairing of samples has no effect.

    Reference: Gretton et al. 2012, Eq. 3. The code of Raju 2026 uses exp(-‖a - b‖²/median²), the
    same kernel as ``bandwidth=0.5**0.5``.
    """
    squares = pooled_squares(x, y)
    if width is None:
        sigma = bandwidth * pooled_median_distance(x, y)
    else:
        sigma = float(safe_quotient(width, np.float64(squares.scale), x.array))
    if sigma == 0:
        raise UndefinedError(
            "mmd: the median distance between samples is zero, so the kernel has no width"
        )
    within, between = mean_kernels(squares, sigma)
    if 1 - between <= epsilon(x.array) ** 0.5:
        raise UndefinedError(
            f"mmd: the kernel is so much wider than the distances between samples of X {x.shape} "
            f"and Y {y.shape} that its values are 1 up to rounding; take a smaller width"
        )
    if within == between == 0:
        raise UndefinedError(
            "mmd: the kernel is so much narrower than the distances between samples of X "
            f"{x.shape} and Y {y.shape} that its values are 0; take a larger width"
        )
    return float(np.sqrt(max(0.0, within - 2 * between)))


@measure(
    label="SlicedW", family="descriptive", citation="bonneel2015sliced", version=2,
    larger_is_more_similar=False, range=(0, np.inf), limits={"projections": (1, 100_000)},
    needs_pairing=False, needs_equal_columns=True, metric=True,
)  # fmt: skip
def sliced_wasserstein(
    x: Representation, y: Representation, *, projections: int = 100, seed: int = 0
) -> Array:
    r"""Sliced Wasserstein distance: how far samples have to be carried, on average over random
    directions.

    .. math:: \frac{1}{P n} \sum_{p=1}^{P} \sum_{i=1}^{n}
        \left| (X \theta_p)_{(i)} - (Y \theta_p)_{(i)} \right|

    where :math:`\theta_p` are ``projections`` random unit vectors drawn from ``seed``, and (i) is
    the i-th smallest value. For d = 1 the value is the Wasserstein distance.

    X and Y are (n, d), with the same columns. The correspondence between the samples of X and Y
    does not matter. The value is in the units of the activations, and decreases with the dimension:
    a shift by v moves the projections by about ‖v‖ (2/(πd))^½. A metric, as a mean of distances
    along fixed directions. O(P n (d + log n)) time. Raises ``UndefinedError`` for different widths;
    defined for all other finite data.

    Use it when you ask how far samples must travel between two point clouds in the same
    coordinates.

    Beware. Columns must correspond, and the value has the units of the data. The directions are
    drawn at random from ``seed``.

    Reference: Bonneel et al. 2015 with exponent 1, as in the code of Raju 2026, which draws with
    NumPy's ``default_rng``.
    """
    a, b = random_projections(x, y, projections=projections, seed=seed)
    return x.xp.mean(x.xp.abs(a - b))


@measure(
    label="EigenSim", family="descriptive", citation="raju2026geometric", version=3,
    larger_is_more_similar=True, range=(0, 1), invariant_to=SHAPE_INVARIANCES | SAMPLE_ROTATION,
    needs_pairing=False,
)  # fmt: skip
def eigenspectrum_similarity(x: Representation, y: Representation) -> Array:
    r"""Eigenspectrum similarity: the cosine of the lists of singular values, largest first.

    .. math:: \frac{\sum_i s_i t_i}{\sqrt{\sum_i s_i^2 \sum_i t_i^2}}, \qquad
        s, t = \text{singular values of the centered } X, Y

    X is (n, d), Y is (n, e); the shorter list is padded with zeros. The measure tells whether
    variance spreads over equally many directions, not whether over the same directions. The value
    is never far from 1: 0.7 is a large difference. Raises ``UndefinedError`` for a constant
    representation.

    Use it when you compare how variance is spread over dimensions, whatever the directions.

    Beware. Any two decaying spectra are similar, and the pairing of samples has no effect.

    Reference: Raju 2026, Section 10. Like the author's code, the measure compares singular values,
    not eigenvalues (squared singular values).
    """
    s, t = padded_spectra(x, y)
    return clip_above_one(frobenius_inner(s, t))
