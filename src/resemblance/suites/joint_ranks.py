"""The ranks of measures that several suites have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from ..catalogue import get_measure
from ..grounding import spearman
from ..results.result import Result
from ..results.values import distinct
from ..significance import DECIMALS, Places, places, ranks_of_rows

CellRanks: TypeAlias = Mapping[tuple[str, str], Mapping[str, float]]  # by test, and cell of it


class JointRanks(NamedTuple):
    """The measures that studies have in common, ranked among each other.

    ``is_trial``: all studies are only for trying out, or all but one. ``labels``: of the measures,
    by specification. ``cells``: by suite and cell, the rank of every measure, equal ones sharing
    the mean of their ranks; cells without any order are left out. ``tied``: how many of these there
    were.
    """

    studies: tuple[Result, ...]
    is_trial: bool
    labels: Mapping[str, str]
    cells: Mapping[str, CellRanks]
    tied: Mapping[str, int]
    places: Places

    def agreement(self, one: str, other: str) -> float:
        """Return Spearman's correlation of the mean ranks that two suites give."""
        means = self.places.by_group
        sides = (np.array([means[s][p.measure] for p in self.places.rows]) for s in (one, other))
        return float(spearman(*sides).value)


def joint_ranks(studies: Sequence[Result]) -> JointRanks:
    """Return the ranks of the measures that all studies have, without trials unless there are too
    few other studies; ``ValueError`` when there is nothing to rank."""
    _check(studies)
    serious = tuple(study for study in studies if not study.is_trial)
    is_trial = len(serious) < 2
    ranked = tuple(studies) if is_trial else serious
    among = set.intersection(*(set(study.labels) for study in ranked))
    ranks = {study.suite: study.ranks(among) for study in ranked}
    cells = {suite: _ordered(suite, of_suite) for suite, of_suite in ranks.items()}
    tied = {suite: len(of_suite) - len(cells[suite]) for suite, of_suite in ranks.items()}
    standing = places(cells, strata={study.suite: study.models() for study in ranked})
    return JointRanks(ranked, is_trial, _labels(ranked, among), cells, tied, standing)


def _check(studies: Sequence[Result]) -> None:
    suites = [study.suite for study in studies]
    if len(suites) < 2:
        raise ValueError("a joint ranking needs the studies of at least two suites")
    for suite in suites:
        if suites.count(suite) > 1:
            raise ValueError(f"two studies are of {suite!r}; give one of each suite")
    if len(set.intersection(*(set(study.labels) for study in studies))) < 2:
        raise ValueError(
            "fewer than two measures take part in all suites: run them again with common --measures"
        )


def shared_ranks(ranks: CellRanks) -> CellRanks:
    """Return ranks of which equal ones share their mean, so that chance is in the middle, of the
    cells that have any order."""
    cells = {}
    for cell, of_cell in ranks.items():
        shared = ranks_of_rows(np.round(list(of_cell.values()), DECIMALS))
        if np.ptp(shared) > 0:
            cells[cell] = dict(zip(of_cell, shared.tolist()))
    return cells


def _ordered(suite: str, ranks: CellRanks) -> CellRanks:
    cells = shared_ranks(ranks)
    if not cells:
        raise ValueError(
            f"no cell of the {suite} study tells the measures apart that all suites have in common"
        )
    return cells


def _labels(studies: Sequence[Result], among: set[str]) -> dict[str, str]:
    labels = {spec: label for s in studies for spec, label in s.labels.items() if spec in among}
    return distinct({spec: _label(spec, label) for spec, label in labels.items()})


def _label(spec: str, label: str) -> str:
    """Return what the catalogue calls a measure, since suites differ, or what a suite calls one
    that is not in it."""
    try:
        return get_measure(spec).label
    except ValueError:
        return label
