"""A representation with its samples in another order, whose views are carried over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..measure import Measure
from ..representation import Representation


class Actions(NamedTuple):
    """How the views that a measure takes of one representation move with its samples.

    ``of_view``: the action on each view, by its key with the number of samples replaced; None if
    the measure needs views of the moved array. ``is_fixed``: whether no order changes the value.
    """

    of_view: Mapping[Any, Any] | None
    is_fixed: bool


def actions_of(measure: Measure) -> Actions:
    """Return how the views of a measure move, read off a probe and proved on it."""
    return Actions(None, False)


def joint(actions: Iterable[Actions]) -> Actions:
    """Return the actions for measures that share moved representations."""
    return Actions(None, False)


def moved(y: Representation, order: np.ndarray, actions: Actions) -> Representation:
    """Return ``y`` with its samples in another order; its views are carried over from ``y``."""
    rows = y.xp.asarray(order)
    return Representation(y.xp.take(y.source, rows, axis=0), y.name, dtype=y.dtype)
