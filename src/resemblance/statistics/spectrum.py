"""Statistics of the spectrum: over how many directions does the variance spread?"""

from __future__ import annotations

import numpy as np

from ..base.arrays import as_float64
from ..base.exceptions import UndefinedError
from ..contracts._statistic import statistic
from ..contracts.claims import COSINE_INVARIANCES, SHAPE_INVARIANCES
from ..data.representation import Representation
from ..intermediates.spectra import decomposition


def explained_variance_shares(x: Representation) -> np.ndarray:
    """Return the share of the total variance in each principal component, decreasing, with sum
    1."""
    squares = as_float64(decomposition(x).singular) ** 2
    return squares / squares.sum()


@statistic(
    label="Anisotropy", family="spectrum", citation="raju2026geometric", version=2,
    larger_is_more_stable=None, range=(0, 1), invariant_to=SHAPE_INVARIANCES,
)  # fmt: skip
def anisotropy(x: Representation) -> float:
    r"""Anisotropy: the share of the variance in the first principal component.

    .. math:: \frac{\sigma_1^2}{\sum_i \sigma_i^2}

    where σ are the singular values of the centred points. X is (n, d). The value is between 1 /
    min(n - 1, d) and 1. Raises ``UndefinedError`` for a constant representation.

    Reference: Raju 2026, Section 8, where anisotropy accompanies the stability statistics.
    """
    return float(explained_variance_shares(x)[0])


@statistic(
    label="Participation ratio", family="spectrum", citation="gao2017theory", version=2,
    larger_is_more_stable=None, range=(1, np.inf), invariant_to=SHAPE_INVARIANCES,
)  # fmt: skip
def participation_ratio(x: Representation) -> float:
    r"""Participation ratio: how many principal components hold the variance, counted by squares.

    .. math:: \frac{\bigl(\sum_i \sigma_i^2\bigr)^2}{\sum_i \sigma_i^4}

    where σ are the singular values of the centred points. X is (n, d). The value is between 1 and
    min(n - 1, d). Raises ``UndefinedError`` for a constant representation.

    Reference: Gao et al. 2017; Raju 2026, Section 10.
    """
    return max(float(1 / (explained_variance_shares(x) ** 2).sum()), 1.0)


@statistic(
    label="Effective rank", family="spectrum", citation="roy2007effective", version=2,
    larger_is_more_stable=None, range=(1, np.inf), invariant_to=SHAPE_INVARIANCES,
)  # fmt: skip
def effective_rank(x: Representation) -> float:
    r"""Effective rank: how many principal components hold the variance, counted by entropy.

    .. math:: \exp\Bigl(-\sum_i p_i \log p_i\Bigr), \qquad p_i = \frac{\sigma_i^2}{\sum_j
        \sigma_j^2}

    where σ are the singular values of the centred points. X is (n, d). The value is between 1 and
    min(n - 1, d). Raises ``UndefinedError`` for a constant representation.

    Reference: Roy and Vetterli 2007, who compute p from the singular values; computing p from the
    squared singular values, the variances, follows Raju 2026, Section 10.
    """
    shares = explained_variance_shares(x)
    return max(float(np.exp(-(shares * np.log(shares)).sum())), 1.0)


@statistic(
    label="RankMe", family="spectrum", citation="garrido2023rankme",
    larger_is_more_stable=None, range=(1, np.inf), invariant_to=COSINE_INVARIANCES,
)  # fmt: skip
def rankme(x: Representation) -> float:
    r"""RankMe: how many directions the points fill, counted by the entropy of the singular values.

    .. math:: \exp\Bigl(-\sum_i p_i \log p_i\Bigr), \qquad p_i = \frac{\sigma_i}{\sum_j \sigma_j}

    where σ are the singular values of the points, without centring: a common offset of all samples
    is one direction. X is (n, d). The value is between 1 and min(n, d). For
    self-supervised encoders, a larger value foretells a better linear probe; the paper takes at
    least 25,600 samples.

    Raises ``UndefinedError`` for a representation of zeros.

    Reference: Garrido et al. 2023, equations 1 and 2. The paper adds 1e-7 to every p; here
    singular values at the level of rounding count as 0 instead.
    """
    singular = as_float64(decomposition(x, centered=False).singular)
    shares = singular / singular.sum()
    return max(float(np.exp(-(shares * np.log(shares)).sum())), 1.0)


@statistic(
    label="Spectral decay", family="spectrum", citation="stringer2019high",
    larger_is_more_stable=None, range=(-np.inf, np.inf), invariant_to=SHAPE_INVARIANCES,
    limits={"first": (1, np.inf), "last": (3, np.inf)},
)  # fmt: skip
def spectral_decay(x: Representation, *, first: int = 1, last: int | None = None) -> float:
    r"""Spectral decay: the exponent α of the power law of the variances, :math:`\lambda_i \propto
    i^{-\alpha}`.

    .. math:: (\alpha, c) = \arg\min \sum_{i = \text{first}}^{\text{last}} \frac{1}{i}
        \bigl(\log \lambda_i + \alpha \log i - c\bigr)^2

    where :math:`\lambda_i` is the i-th largest variance of a principal component. The weights 1 / i
    give every decade of i equal weight. ``last=None`` uses all components with variance; few
    samples distort the smallest variances, so compare at the same ``first``, ``last`` and
    number of samples. X is (n, d). The value is usually positive: 1 marks the border of smooth
    codes in the paper, and larger values mean fewer dominant directions.

    Raises ``UndefinedError`` for fewer than three components in the range, or a constant
    representation.

    Reference: Stringer et al. 2019 (components 11 to 500, weights as in the authors' code); Agrawal
    et al. 2022, who call the exponent α-ReQ.
    """
    variances = explained_variance_shares(x)[first - 1 : last]
    if len(variances) < 3:
        raise UndefinedError(
            f"spectral_decay: {len(variances)} principal components with variance lie from {first} "
            f"to {last or 'the last'}; at least 3 are needed"
        )
    ranks = np.log(np.arange(first, first + len(variances)))
    return -float(np.polyfit(ranks, np.log(variances), 1, w=np.exp(-ranks / 2))[0])
