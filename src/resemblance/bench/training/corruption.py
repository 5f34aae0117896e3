"""What corruptions and shifts of all domains share: labels that are drawn, severities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

SEVERITIES = (1, 2, 3, 4, 5)
DrawLabels = Callable[[np.ndarray], np.ndarray]  # of new labels for some


class Shift(NamedTuple):
    """``change``, a function of inputs, an amount and a random generator, and its amounts at the
    severities 1 to 5."""

    change: Callable[..., Any]
    amounts: tuple[float, float, float, float, float]


def check_shift(
    function: str, kind: str, name: str, shifts: Mapping[str, Shift], severity: object
) -> None:
    """Raise ``ValueError`` unless a shift is known and its severity is a whole number from 0 to
    5."""
    if name not in shifts:
        raise ValueError(f"{function}: no {kind} {name!r}; known: {', '.join(shifts)}")
    is_whole = isinstance(severity, int | np.integer) and not isinstance(severity, bool)
    if not is_whole or severity not in (0, *SEVERITIES):
        raise ValueError(f"{function}: severity must be 0 to 5; got {severity!r}")


def draw_any_class(classes: int, random: np.random.Generator) -> DrawLabels:
    """Return what draws labels uniformly from all classes, the true ones among them: they carry no
    information. Without the true ones, they would still tell what an input is not."""
    return lambda labels: random.integers(classes, size=len(labels))


def draw_wrong_class(classes: int, random: np.random.Generator) -> DrawLabels:
    """Return what draws labels uniformly from all classes but the true ones."""
    return lambda labels: (labels + random.integers(1, classes, len(labels))) % classes


def replace_labels(
    labels: np.ndarray, share: float, draw: DrawLabels, random: np.random.Generator
) -> np.ndarray:
    """Return labels, (n,), of which exactly ``int(share * n)``, drawn without replacement, are
    drawn anew."""
    result = labels.copy()
    rows = random.permutation(len(labels))[: int(share * len(labels))]
    result[rows] = draw(labels[rows])
    return result


def redraw_labels(
    labels: np.ndarray, share: float, draw: DrawLabels, random: np.random.Generator
) -> np.ndarray:
    """Return labels, (n,), each drawn anew with probability ``share``."""
    return np.where(random.random(len(labels)) < share, draw(labels), labels)


def shortcut_labels(
    labels: np.ndarray, rate: float, draw: DrawLabels, random: np.random.Generator
) -> np.ndarray:
    """Return the classes, (n,), that shortcuts show: each the true one with probability ``rate``,
    otherwise one that is drawn."""
    return np.where(random.random(len(labels)) < rate, labels, draw(labels))
