"""Tasks of a suite: the representations to compare, the expected differences and the scoring rule.

A suite is a list of ``Case`` objects. A ``Case`` is a task: a :class:`~..grounding.Rule` turns the
differences of every measure into a score.
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
    """Representations to compare with each other, and the expected differences between the
    representations.

    ``rows`` are compared with ``columns``, or all ``rows`` with each other if ``columns`` is None.
    ``expected``: the argument of the block function of the rule, for example the group of every
    representation. ``name``: the name of the model behind the rows, if the rows are layers of a
    single model; otherwise empty. ``weight``: the weight of the part in the score of the task.
    ``maps``: by row name, the shapes of feature maps. ``draws``: the number of columns per random
    draw, if the columns come from several draws; differences are rounded draw by draw.
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
        """The compared representations. Parts of several tasks with the same key are compared
        once."""
        sides = (self.rows,) if self.columns is None else (self.rows, self.columns)
        return tuple(tuple(side.values()) for side in sides)


class Case(NamedTuple):
    """A task of a suite: the parts to compare and the rule that scores a measure.

    ``cell``: the words that name the task within ``test``. ``parts``: compared separately; a score
    is the mean over parts. ``models``: the models behind the task; tasks of the same models form a
    stratum of the bootstrap. ``left_out``: names of measures that are too slow for the task.
    ``is_by_part``: rank the measures within every part and average the ranks. ``reliability``: how
    well the expected differences repeat on other inputs of the same kind. 1 is perfect, for example
    if the construction of the inputs fixes the expectation. None: the expectation follows from how
    models were made, or the reliability is unknown. ``measures``: the measures of the task, if
    different from the measures of the run, such as a measure with several parameters.
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
        """The test and the words of the task."""
        return task_key(self.test, self.cell)


class Score(NamedTuple):
    """The score of a measure in a task; larger is better.

    ``value``: the mean of ``parts``; NaN with a ``reason`` if the measure has no score. ``pairs``:
    the number of pairs behind the score. ``failed``: the number of further pairs for which the
    measure has no value. ``pvalue``: of the correlation with the predicted differences.
    ``reliability``: the reliability of the task.
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
        """The test and the words of the task."""
        return task_key(self.test, self.cell)


def task_key(test: str, cell: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a task, preceded by the test unless the words already begin with the
    test."""
    return cell if cell[:1] == (test,) else (test, *cell)


def task_name(words: Iterable[str]) -> str:
    """Return the name of a task: its words joined by slashes; a slash or percent sign within a word
    is percent-encoded."""
    return "/".join(word.replace("%", "%25").replace("/", "%2F") for word in words)


def score_against_reference(rule: Rule, differences: np.ndarray, expected: Any) -> float:
    """Score a reference against n other representations, given the vector of n differences."""
    if rule.rounded is not None:
        differences = rule.rounded(differences)
    if rule.is_complete and np.isnan(differences).any():
        return np.nan
    return apply(rule, differences[None], rule.blocks(expected))
