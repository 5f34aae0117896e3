"""What evidence holds for each pair: the null of its value, and its values on parts of the
samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..comparison import Failure
from ..measure import Measure
from ..representation import Representation
from ..significance.parts import Kind

EXACT = "exact moments"
FIXED = "does not depend on the pairing"
SMALLEST = 1e-4  # p-values of exact moments are not trusted below


class NullCells(NamedTuple):
    """What a measure is if the samples of two representations are unrelated, for each pair.

    ``chance`` and ``spread`` are the mean and the standard deviation, ``p`` the p-values, also
    those of exact moments that are too small to be trusted, all (rows, columns); ``drawn`` are the
    values in each order, (rows, columns, draws), or empty along the last axis where exact moments
    or shifts took their place; ``how`` says for each pair how it was computed. ``observed`` are the
    values that chance is for: those of the comparison, but of shifted windows that of the unshifted
    ones, which have fewer samples.
    """

    chance: np.ndarray
    spread: np.ndarray
    p: np.ndarray
    drawn: np.ndarray
    how: tuple[tuple[str, ...], ...]
    observed: np.ndarray


class PartCells(NamedTuple):
    """The values without each part of the samples, (rows, columns, parts).

    ``reasons``: why pairs lack one, and so have no interval.
    """

    kind: Kind
    values: np.ndarray
    reasons: tuple[Failure, ...] = ()


class EvidenceOrigin(NamedTuple):
    """What evidence was computed from: representations by name, and measures by specification."""

    rows: Mapping[str, Representation]
    columns: Mapping[str, Representation]
    measures: Mapping[str, Measure]


class Best(NamedTuple):
    """The pair furthest above chance; its p-value pays for the search among all pairs."""

    row: str
    column: str
    value: float
    p: float
