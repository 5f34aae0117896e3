"""Sample sizes for a study: to detect a similarity, to narrow an interval, to keep chance low."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from statistics import NormalDist

import numpy as np

# Samples times similarity: the value for a power of 50 %, and the slope in the normal quantile.
POWER_INTERCEPT, POWER_SLOPE = (2.7, 2.14)
POWER_RANGE = (0.5, 0.95)
MIN_RECOMMENDED_SAMPLES = 10  # with fewer samples, some permutations often score as high


def sample_size(
    *,
    min_similarity: float | None = None,
    max_chance: float | None = None,
    dimensions: Sequence[float] | None = None,
    power: float = 0.8,
) -> int:
    r"""Return the number of samples for a comparison, before there are data.

    .. math:: n = \frac{2.7 + 2.14 \, z_{\text{power}}}{s}, \qquad
        n = 1 + \frac{\sqrt{D_X D_Y}}{c}

    ``min_similarity``: the smallest similarity s, measured with debiased linear CKA or RSA, that a
    one-sided permutation test at 5 % should detect with probability ``power``, from 0.5 to 0.95.
    The first formula, with the normal quantile z of the power, is 4.5 / s for 80 %; at least 10.
    Without similarity the standard deviation of debiased CKA and of RSA is :math:`\sqrt{2} / n`
    whatever the widths and spectra, so the test rejects from about 2.3 / n on; the additional
    samples for a power were fitted. In simulations of 1 to 10 common directions among 30 to 200
    features, s from 0.03 to 0.27, the power for debiased CKA was 44 to 57, 76 to 92, 91 to 93 and
    94 to 97 % where 50, 80, 90 and 95 % were asked for, and the power for RSA was 57 to 65, 85 to
    92, 93 to 97 and 97 to 99 %. Data of fewer dimensions need more samples: where 80 % were asked
    for, the power was 69 % with one common direction (s = 0.27) and 67 % with two features on each
    side (s = 0.09).

    ``max_chance``: the upper bound c for biased linear CKA of unrelated representations.
    ``dimensions``: the participation ratios :math:`D = (\sum \lambda)^2 / \sum \lambda^2` of the
    eigenvalues of both covariances, in the population of samples. The second formula is exact for
    the ratios of the samples themselves, which are smaller. With both options, the larger number
    counts. Other measures need a pilot: see :meth:`Evidence.sample_size`.

    Raises ``ValueError`` without ``min_similarity`` and ``max_chance``, for ``max_chance`` without
    ``dimensions`` or the other way round, and for numbers out of range.
    """
    _check_sample_size_options(min_similarity, max_chance, dimensions, power)
    counts = [2]
    if min_similarity is not None:
        quantile = NormalDist().inv_cdf(power)
        counts += [
            MIN_RECOMMENDED_SAMPLES,
            _ceil_with_rounding((POWER_INTERCEPT + POWER_SLOPE * quantile) / min_similarity),
        ]
    if max_chance is not None and dimensions is not None:
        counts.append(
            _ceil_with_rounding(1 + math.sqrt(dimensions[0] * dimensions[1]) / max_chance)
        )
    return max(counts)


def samples_for_width(n: int, width_now: float, width: float) -> int:
    r"""Return the number of samples for an interval of width w', from the width w with n samples.

    .. math:: n' = n \left( \frac{w}{w'} \right)^2

    because standard errors fall with the square root of the number of samples; at least 2. For
    debiased CKA the standard error with 400 samples was 0.96 of half the standard error with 100.
    The width w is itself an estimate: with a pilot of 100 samples w varies by 11 %, so n' varies by
    22 %; with heavy tails by far more (Student's t with 3 degrees of freedom: n' from 93 to 3323 in
    12 pilots).

    Raises ``ValueError`` unless n is at least 2 and both widths are positive.
    """
    if n < 2 or not all(0 < w < math.inf for w in (width_now, width)):
        raise ValueError(
            "samples_for_width: n must be at least 2 and both widths positive; got "
            f"n={n}, width_now={width_now}, width={width}"
        )
    return max(2, _ceil_with_rounding(n * (width_now / width) ** 2))


def _check_sample_size_options(
    min_similarity: float | None,
    max_chance: float | None,
    dimensions: Sequence[float] | None,
    power: float,
) -> None:
    if min_similarity is None and max_chance is None:
        raise ValueError(
            "sample_size: give min_similarity=, max_chance= with dimensions=, or all three"
        )
    if (max_chance is None) != (dimensions is None):
        raise ValueError(
            "sample_size: max_chance= and dimensions= go together: dimensions=(D_X, D_Y) are the "
            f"participation ratios of both sides; got max_chance={max_chance}, "
            f"dimensions={dimensions}"
        )
    for name, value in (("min_similarity", min_similarity), ("max_chance", max_chance)):
        if value is not None and not (isinstance(value, Real) and 0 < value < 1):
            raise ValueError(f"sample_size: {name} must be between 0 and 1; got {value!r}")
    low, high = POWER_RANGE
    if not (isinstance(power, Real) and low <= power <= high):
        raise ValueError(f"sample_size: power must be from {low} to {high}; got {power!r}")
    widths = dimensions if np.ndim(dimensions) == 1 else ()
    are_ratios = len(widths) == 2 and all(isinstance(d, Real) and 1 <= d < math.inf for d in widths)
    if dimensions is not None and not are_ratios:
        raise ValueError(
            "sample_size: dimensions must be two participation ratios, each at least 1; got "
            f"{dimensions!r}"
        )


def _ceil_with_rounding(number: float) -> int:
    """Return ``number`` rounded up to a whole number; a relative excess of 1e-12 from rounding
    errors is ignored."""
    return math.ceil(number * (1 - 1e-12))
