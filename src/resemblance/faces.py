"""Optional faces of a measure: other ways to its values.

Tests prove them equal to the plain function, but for ``left_out`` of ranks and of kernels whose
width is a median, which are approximations: their docstrings say how close.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from .representation import Representation


def cosine(product: float, x_square: float, y_square: float) -> float:
    """Return the value of a measure that is the cosine of two matrices."""
    return product / math.sqrt(x_square * y_square)


class Product(NamedTuple):
    """The claim that a value is a linear function of an inner product of two (n, n) matrices.

    ``left`` and ``right`` (by default the same) are functions of one representation and the
    parameters of the measure. They return its matrix, a float64 array whose rows and columns move
    with the samples; ``symmetric`` says whether all these are symmetric. ``value`` returns the
    value, or with ``root=True`` its square, from the inner product <A, B> and from <A, A> and <B,
    B>. It is linear in the first, and the more similar, the larger that is. So the mean, the
    variance and the skewness of the value over all orders of the samples are known exactly (see
    :mod:`resemblance.inference`). ``scale``, if there is one, is a function of one representation
    and the parameters: a number that ``value`` takes in place of <A, A> and <B, B>.
    """

    left: Callable[..., np.ndarray]
    right: Callable[..., np.ndarray] | None = None
    symmetric: bool = True
    value: Callable[[float, float, float], float] = cosine
    root: bool = False
    scale: Callable[..., float] | None = None

    def bound(self, parameters: Mapping[str, Any]) -> Product:
        """Return the claim for these parameters: functions of a representation alone."""
        return self._replace(
            left=partial(self.left, **parameters),
            right=self.right and partial(self.right, **parameters),
            scale=self.scale and partial(self.scale, **parameters),
        )

    def matrix(self, x: Representation, side: Literal["left", "right"]) -> np.ndarray:
        """Return the matrix of a representation on the left or on the right."""
        return self.left(x) if side == "left" or self.right is None else self.right(x)


class Scores(NamedTuple):
    """What a measure computes of many pairs together.

    ``values`` has shape (rows, columns), as have the numbers that it records with them, by name,
    NaN where a pair has none. ``caveats``: why values mean little, by row and column; None if each
    pair is to be asked.
    """

    values: np.ndarray
    diagnostics: Mapping[str, np.ndarray] = {}
    caveats: Mapping[tuple[int, int], str] | None = None


class AllPairs(NamedTuple):
    """The claim that many pairs can be computed together, from blocks of samples.

    ``function`` takes the representations of the rows, those of the columns, and the parameters of
    the measure; it returns :class:`Scores`. Nothing of shape (n, n) is in memory at a time. A value
    does not depend, to the last bit, on which other pairs there are. Where it raises, the caller
    asks for one pair at a time, so that each pair without a value has its own reason. Where both
    lists are the same object and the measure is symmetric, half of the pairs are enough.

    It takes the place of the plain function for more than ``above`` samples, in a single call as in
    a comparison, and equals it at 1e-10, or within the bound that it records. With ``above=None``
    it equals it to the last bit for NumPy arrays, and is for comparisons of many pairs.
    """

    function: Callable[..., Scores]
    above: int | None = None

    def bound(self, parameters: Mapping[str, Any]) -> AllPairs:
        """Return the claim for these parameters: a function of representations alone."""
        return self._replace(function=partial(self.function, **parameters))

    def __call__(self, xs: Sequence[Representation], ys: Sequence[Representation]) -> Scores:
        """Return the scores of all pairs of rows and columns."""
        return self.function(xs, ys)
