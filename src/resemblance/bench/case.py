"""Tasks of a suite: the representations to compare, the expected differences and the scoring rule.

A suite is a list of ``Case`` objects. A ``Case`` is a task: a :class:`~..grounding.Rule` turns the
differences of every measure into a score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..contracts._measure import Measure
from ..data.model_features import MapShape
from ..data.representation import Representation
from ..sections.ranks import is_ranked_reading
from .grounding import Rule, apply


class ReducedPart(NamedTuple):
    """A part without the models of one seed.

    ``rows`` and ``columns``: positions of the remaining representations in the matrix of
    differences. ``expected``: the argument of the block function for the remaining representations.
    """

    rows: Sequence[int]
    columns: Sequence[int]
    expected: Any


class Part(NamedTuple):
    """Representations to compare with each other, and the expected differences between the
    representations.

    ``rows`` are compared with ``columns``, or all ``rows`` with each other if ``columns`` is None.
    ``expected``: the argument of the block function of the rule, for example the group of every
    representation. ``name``: the name of the model behind the rows, if the rows are layers of a
    single model; otherwise empty. ``weight``: the weight of the part in the score of the task.
    ``maps``: by row name, the shapes of feature maps. ``draws``: the number of columns per random
    draw, if the columns come from several draws; differences are rounded draw by draw. ``units``:
    the seed of the model behind every row, if known. ``without``: by seed, the part without the
    models of the seed; None if no model remains.
    """

    rows: Mapping[str, Representation]
    expected: Any
    columns: Mapping[str, Representation] | None = None
    name: str = ""
    weight: float = 1.0
    maps: Mapping[str, MapShape] = {}
    draws: tuple[int, ...] = ()
    units: tuple[str, ...] = ()
    without: Mapping[str, ReducedPart | None] = {}

    @property
    def key(self) -> tuple[tuple[Representation, ...], ...]:
        """The compared representations: a tuple of the rows, and a second tuple of the columns if
        the part has columns. Parts of several tasks with the same key are compared once."""
        sides = (self.rows,) if self.columns is None else (self.rows, self.columns)
        return tuple(tuple(side.values()) for side in sides)


class Case(NamedTuple):
    """A task of a suite: the parts to compare and the rule that scores a measure.

    ``cell``: the words that name the task within ``test``. ``parts``: compared separately; a score
    is the mean over parts. ``models``: the name of the models behind the task, for example of a
    network; a seed is left out of all tasks of the same models. ``left_out``: names of measures
    that are too slow for the task. ``is_by_part``: rank the measures within every part and average
    the ranks. ``reliability``: how well the expected differences repeat on other inputs of the same
    kind. 1 is perfect, for example if the construction of the inputs fixes the expectation. None:
    the expectation follows from how models were made, or the reliability is unknown. ``measures``:
    the measures of the task, if different from the measures of the run, such as a measure with
    several parameters.
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
        """The words that identify the task: the test, then the words of ``cell``. Equal to the key
        of its scores."""
        return task_key(self.test, self.cell)


class Score(NamedTuple):
    """The score of a measure in a task; larger is better.

    ``measure``: the specification. ``value``: the mean of ``parts``; NaN with a ``reason`` if the
    measure has no score. ``parts``: the score of every part, NaN if undefined. ``pairs``: the
    number of pairs behind the score. ``failed``: the number of further pairs for which the measure
    has no value. ``pvalue``: of the correlation with the predicted differences; None if the rule
    has no p-value. ``reliability``: the reliability of the task. ``without``: by seed, the score
    without the models of the seed.
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
    without: Mapping[str, float] = {}

    @property
    def key(self) -> tuple[str, ...]:
        """The words that identify the task of the score: the test, then the words of ``cell``."""
        return task_key(self.test, self.cell)


def add_reduced_parts(part: Part) -> Part:
    """Return a copy of the part with the reduced part of every seed in ``units``. ``columns`` must
    be None: all rows are compared with each other.

    ``expected`` of the part: a matrix (rows, rows) of pairs, or a group of every row. A part of a
    single seed, such as the layers of one model, has nothing left without the seed.
    """
    reduced: dict[str, ReducedPart | None] = {}
    for unit in dict.fromkeys(part.units):
        kept = [i for i, other in enumerate(part.units) if other != unit]
        if not kept:
            reduced[unit] = None
        elif isinstance(part.expected, np.ndarray):
            reduced[unit] = ReducedPart(kept, kept, part.expected[np.ix_(kept, kept)])
        else:
            reduced[unit] = ReducedPart(kept, kept, [part.expected[i] for i in kept])
    return part._replace(without=reduced)


def seeds_of_case(case: Case) -> tuple[str, ...]:
    """Return the seeds in ``without`` of the parts of a task, without duplicates; () for a task
    that never ranks measures."""
    if not is_ranked_reading(case.key):
        return ()
    return tuple(dict.fromkeys(unit for part in case.parts for unit in part.without))


def task_key(test: str, cell: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words ``cell`` of a task, preceded by the test unless the words already begin with
    the test."""
    return cell if cell[:1] == (test,) else (test, *cell)


def task_name(words: Iterable[str]) -> str:
    """Return the name of a task: its words joined by slashes; a slash or percent sign within a word
    is percent-encoded."""
    return "/".join(word.replace("%", "%25").replace("/", "%2F") for word in words)


def score_against_reference(rule: Rule, differences: np.ndarray, expected: Any) -> float:
    """Return the score of the differences (n,) between a reference and n other representations.

    ``expected``: the argument of the block function of the rule, such as n expected differences.
    NaN if a difference is missing and the rule needs all differences.
    """
    if rule.rounded is not None:
        differences = rule.rounded(differences)
    if rule.is_complete and np.isnan(differences).any():
        return np.nan
    return apply(rule, differences[None], rule.blocks(expected))
