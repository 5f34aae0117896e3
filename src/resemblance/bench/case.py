"""Cases: what a suite compares, and what it expects of the differences. A suite is a list of them.

One case is one cell of a suite: one number for every measure, by one :class:`~..grounding.Rule`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..contracts._measure import Measure
from ..data.model_features import MapShape
from ..data.representation import Representation
from .grounding import Rule, apply


class Part(NamedTuple):
    """Representations that are compared with each other, and what is expected of them.

    ``rows`` are compared with ``columns``, or all ``rows`` with each other. ``expected``: what the
    blocks of the rule take, such as the group of each representation. ``name``: of the model whose
    layers the rows are; empty where they are of several. ``weight``: of the part in the score.
    ``maps``: the shapes of those rows that are maps of channels. ``draws``: where the columns are
    of several draws, how many each has; differences are rounded draw by draw.
    """

    rows: Mapping[str, Representation]
    expected: Any
    columns: Mapping[str, Representation] | None = None
    name: str = ""
    weight: float = 1.0
    maps: Mapping[str, MapShape] = {}
    draws: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[tuple[Representation, ...], ...]:
        """What is compared: parts of several cases that share it are compared once."""
        sides = (self.rows,) if self.columns is None else (self.rows, self.columns)
        return tuple(tuple(side.values()) for side in sides)


class Case(NamedTuple):
    """What the measures are scored by in one cell of a suite.

    ``cell``: the words that name it in its ``test``. ``parts``: compared each by itself; a score is
    the mean of their values. ``models``: that it is of; cells of the same models are resampled
    together. ``left_out``: the names of measures that take too long here. ``is_by_part``: measures
    are ranked in every part, and their ranks averaged. ``reliability``: how far what is expected
    repeats on other inputs of the same kind, 1 for entirely, as where it follows from how inputs
    were made; None where it follows from how models were made, or is not known. ``measures``: by
    which it is compared where these are not those of the run, such as one at several parameters.
    """

    test: str
    cell: tuple[str, ...]
    rule: Rule
    parts: tuple[Part, ...]
    models: str = ""
    left_out: frozenset[str] = frozenset()
    is_by_part: bool = False
    reliability: float | None = None
    measures: tuple[Measure, ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        """The test and the words of the cell."""
        return task_key(self.test, self.cell)


class Score(NamedTuple):
    """How well a measure does in a cell; larger is better.

    ``value``: the mean of ``parts``; NaN with a ``reason`` where there is none. ``pairs``: how many
    it rests on; ``failed``: for how many more the measure has no value. ``pvalue``: of a
    correlation with what is predicted. ``reliability``: that of the case.
    """

    test: str
    cell: tuple[str, ...]
    measure: str
    label: str
    value: float
    parts: tuple[float, ...] = ()
    pvalue: float | None = None
    pairs: int = 0
    failed: int = 0
    reason: str | None = None
    reliability: float | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """The test and the words of the cell."""
        return task_key(self.test, self.cell)


def task_key(test: str, cell: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a cell with its test before them, where they do not begin with it."""
    return cell if cell[:1] == (test,) else (test, *cell)


def task_name(words: Iterable[str]) -> str:
    """Return the name of a cell: its words between slashes."""
    return "/".join(word.replace("%", "%25").replace("/", "%2F") for word in words)


def score_against_reference(rule: Rule, differences: np.ndarray, expected: Any) -> float:
    """Return the value of a reference that is compared with others, by its differences from
    them."""
    if rule.rounded is not None:
        differences = rule.rounded(differences)
    if rule.is_complete and np.isnan(differences).any():
        return np.nan
    return apply(rule, differences[None], rule.blocks(expected))
