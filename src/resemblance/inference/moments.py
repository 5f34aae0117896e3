"""Mean, variance and skewness of <A, B> over all orders of the samples of B, exactly."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from ..measure import Measure
from ..representation import Representation

Side = Literal["left", "right"]


class Profile(NamedTuple):
    """What the moments need of one matrix: sums over distinct samples for each graph of at most
    three edges, the sum of its squares, and the largest share of these that one sample has."""

    sums: np.ndarray
    square: float
    share: float


class Moments(NamedTuple):
    """Mean, variance and skewness over all orders of the samples."""

    mean: float
    variance: float
    skewness: float


class ExactNull(NamedTuple):
    """A measure under the null hypothesis: mean and standard deviation of its value, p-value."""

    chance: float
    spread: float
    p: float


def profile(x: Representation, measure: Measure, side: Side) -> Profile:
    """Return the profile of the matrix that a measure has of a representation."""
    raise NotImplementedError


def product_moments(left: Profile, right: Profile, n: int, symmetric: bool) -> Moments:
    """Return the moments of <A, P B P'> over all permutations P."""
    raise NotImplementedError


def is_trusted(left: Profile, right: Profile, n: int) -> bool:
    """Say whether three moments describe the tail: no sample dominates both matrices."""
    raise NotImplementedError


def exact_null(measure: Measure, value: float, left: Profile, right: Profile, n: int) -> ExactNull:
    """Return chance, spread and p-value of a value of a measure with a product."""
    raise NotImplementedError
