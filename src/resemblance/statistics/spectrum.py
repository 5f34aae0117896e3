"""Statistics of the spectrum: over how many directions does the variance spread?"""

from __future__ import annotations

import numpy as np

from ..base.arrays import as_float64
from ..contracts._statistic import statistic
from ..contracts.claims import SHAPE_INVARIANCES
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
