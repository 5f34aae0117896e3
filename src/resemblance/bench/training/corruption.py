"""Label corruption and shift severities, shared by all domains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

SEVERITIES = (1, 2, 3, 4, 5)
DrawLabels = Callable[[np.ndarray], np.ndarray]  # returns a random label for every given label


class Shift(NamedTuple):
    """A shift of the inputs at five severities.

    ``change``: a function of the inputs, an amount and a random generator; the arguments depend on
    the domain. ``amounts``: the amounts at the severities 1 to 5.
    """

    change: Callable[..., Any]
    amounts: tuple[float, float, float, float, float]


def check_shift(
    function: str, kind: str, name: str, shifts: Mapping[str, Shift], severity: object
) -> None:
    """Raise ``ValueError`` unless a shift is known and the severity is an integer from 0 to 5.

    ``function``, ``kind``: the function and the noun for a shift, in errors. ``name``: the shift, a
    key of ``shifts``.
    """
    if name not in shifts:
        raise ValueError(f"{function}: no {kind} {name!r}; known: {', '.join(shifts)}")
    is_whole = isinstance(severity, int | np.integer) and not isinstance(severity, bool)
    if not is_whole or severity not in (0, *SEVERITIES):
        raise ValueError(f"{function}: severity must be 0 to 5; got {severity!r}")


def draw_any_class(classes: int, random: np.random.Generator) -> DrawLabels:
    """Return a function that maps labels (n,) to labels drawn uniformly from all ``classes``
    classes, including the true class.

    Uniform labels carry no information. Labels without the true class would still tell you a class
    that the input does not have.
    """
    return lambda labels: random.integers(classes, size=len(labels))


def draw_wrong_class(classes: int, random: np.random.Generator) -> DrawLabels:
    """Return a function that maps labels (n,) to labels drawn uniformly from all ``classes``
    classes except the true class."""
    return lambda labels: (labels + random.integers(1, classes, len(labels))) % classes


def replace_labels(
    labels: np.ndarray, share: float, draw: DrawLabels, random: np.random.Generator
) -> np.ndarray:
    """Return a copy of the labels, (n,), after replacing exactly ``int(share * n)`` labels, chosen
    without replacement, by labels from ``draw``.

    ``draw``: maps labels (m,) to random classes (m,).
    """
    result = labels.copy()
    rows = random.permutation(len(labels))[: int(share * len(labels))]
    result[rows] = draw(labels[rows])
    return result


def redraw_labels(
    labels: np.ndarray, share: float, draw: DrawLabels, random: np.random.Generator
) -> np.ndarray:
    """Return labels, (n,), with every label replaced by a label from ``draw`` with probability
    ``share``.

    ``draw``: maps labels (n,) to random classes (n,).
    """
    return np.where(random.random(len(labels)) < share, draw(labels), labels)


def shortcut_labels(
    labels: np.ndarray, rate: float, draw: DrawLabels, random: np.random.Generator
) -> np.ndarray:
    """Return the classes, (n,), shown by shortcuts: the true class with probability ``rate``,
    otherwise a class from ``draw``.

    ``draw``: maps labels (n,) to random classes (n,).
    """
    return np.where(random.random(len(labels)) < rate, labels, draw(labels))
