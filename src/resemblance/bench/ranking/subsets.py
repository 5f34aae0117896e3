"""Subsets of a leaderboard: select tasks and measures, and rank the selected measures among each
other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias, TypeVar

from resemblance.base.text import did_you_mean
from resemblance.sections.ranks import average_readings
from resemblance.significance import Places, places

from ..joint import MeasureRanksByTask, share_tied_ranks
from .ranking import Board

ALL_TASKS_KEY = "all"
# A task belongs to a domain if its name contains the word.
MODEL_DOMAINS = ("vision", "language", "graphs")
COST_REFERENCE = "cka"  # CPU times are multiples of the CPU time of this measure
# By suite, ranks among the selected measures.
RanksBySuite: TypeAlias = dict[str, MeasureRanksByTask]
# Whether to select a task, given suite, test and task name.
TaskPredicate: TypeAlias = Callable[[str, str, str], bool]


class TaskSubset(NamedTuple):
    """A selection of tasks of a leaderboard: all tasks, or the tasks of suites, of a domain or of a
    test. ``key``: the name of the selection."""

    key: str
    suites: tuple[str, ...]
    domain: str = ""
    test: str = ""

    def has(self, suite: str, test: str, cell: str) -> bool:
        """Whether the selection contains a task."""
        is_in_tests = suite in self.suites and self.test in ("", test)
        return is_in_tests and self.domain in ("", domain_of_task(cell))


class MeasureSubset(NamedTuple):
    """A selection of measures of a leaderboard, by specification."""

    key: str
    specs: frozenset[str]


Chosen = TypeVar("Chosen", TaskSubset, MeasureSubset)


class RankedSubset(NamedTuple):
    """The ranks of selected measures among each other in selected tasks.

    ``counts``: by suite, the number of tasks in which the measures differ. With too few tasks for a
    reliable order, no measure has a rank. ``unranked``: the number of further tasks that are shown
    and not ranked, because their expected differences are mostly noise.
    """

    cells: TaskSubset
    measures: MeasureSubset
    places: Places
    counts: Mapping[str, int]
    unranked: int

    @property
    def is_settled(self) -> bool:
        """Whether the subset has enough tasks and measures for an order."""
        return self.places.is_settling and len(self.places.rows) > 1


def domain_of_task(cell: str) -> str:
    """Return the domain of the models of a task; "" for a task without models."""
    words = set(re.split(r"[/, :]", cell))
    return next((domain for domain in MODEL_DOMAINS if domain in words), "")


def suite_tests(board: Board, suite: str) -> tuple[str, ...]:
    """Return the tests of a suite, in the order of the suite."""
    return tuple(dict.fromkeys(test for test, _ in board.results[suite].scores()))


def cpu_seconds_on_packs(board: Board, spec: str) -> float:
    """Return the CPU seconds of a measure, summed over the packs on which it has scores."""
    return sum(files[spec].seconds for files in board.scores.values() if spec in files)


def leaderboard_labels(board: Board) -> dict[str, str]:
    """Return the labels of all measures of a leaderboard, unranked measures included."""
    labels = {spec: card.label for spec, card in board.cards.items()}
    return labels | dict(board.ranks.labels)


# ---------------------------------------------------------------------------------- what to choose


def task_subsets(board: Board) -> tuple[TaskSubset, ...]:
    """Return the possible selections of tasks of a leaderboard, the selection of all tasks
    first."""
    return (
        TaskSubset(ALL_TASKS_KEY, tuple(board.results)),
        *(TaskSubset(suite, (suite,)) for suite in board.results),
        *_domain_subsets(board),
        *(
            TaskSubset(f"{suite}/{test}", (suite,), test=test)
            for suite in board.results
            for test in suite_tests(board, suite)
        ),
    )


def _domain_subsets(board: Board) -> Iterator[TaskSubset]:
    domains_by_suite = {
        suite: {domain_of_task(cell) for _, cell in result.scores()}
        for suite, result in board.results.items()
    }
    for domain in MODEL_DOMAINS:
        suites = tuple(suite for suite, domains in domains_by_suite.items() if domain in domains)
        if suites:
            yield TaskSubset(domain, suites, domain)


def measure_subsets(board: Board) -> tuple[MeasureSubset, ...]:
    """Return the possible selections of measures of a leaderboard, the selection of all measures
    first.

    A selection with fewer than two measures or with all measures is not offered again.
    """
    specs = frozenset(board.cards)
    families: dict[str, set[str]] = {}
    for spec, card in sorted(board.cards.items()):
        families.setdefault(card.family, set()).add(spec)
    metrics = frozenset(spec for spec, card in board.cards.items() if card.metric)
    sets = [
        MeasureSubset("metrics", metrics),
        *(MeasureSubset(family, frozenset(families[family])) for family in sorted(families)),
    ]
    subsets = (s for s in sets if 1 < len(s.specs) < len(specs))
    return (MeasureSubset(ALL_TASKS_KEY, specs), *subsets)


# ------------------------------------------------------------------------------------------ subsets


def ranks_in_tasks(board: Board, measures: Iterable[str], is_chosen: TaskPredicate) -> RanksBySuite:
    """Rank measures among each other in the selected tasks of a leaderboard, by suite.

    Tasks of the same experiment are averaged. Ties share their mean rank. Tasks in which all
    measures tie are left out, and so are tasks with unreliable expected differences.
    """
    specs = frozenset(measures)
    ranks = {
        suite: average_readings(share_tied_ranks(result.ranks(specs, partial(is_chosen, suite))))
        for suite, result in board.results.items()
    }
    return {suite: suite_ranks for suite, suite_ranks in ranks.items() if suite_ranks}


def resampled_rank_intervals(board: Board, ranks: RanksBySuite) -> Places:
    """Return the bootstrap rank intervals of measures; tasks of the same models form a stratum, and
    all suites have the same weight."""
    return places(ranks, strata={suite: board.results[suite].models() for suite in ranks})


def rank_subset(board: Board, cells: TaskSubset, measures: MeasureSubset) -> RankedSubset:
    """Return the ranks of selected measures in selected tasks of a leaderboard."""
    noise = sum(cells.has(suite, *key) for suite, keys in board.unranked.items() for key in keys)
    # The ranking of all measures in all tasks is already known.
    if cells.key == measures.key == ALL_TASKS_KEY:
        ranks, standing = board.ranks.cells, board.ranks.places
    else:
        names = measures.specs.intersection(*(board.results[s].labels for s in cells.suites))
        ranks = ranks_in_tasks(board, names, cells.has)
        standing = resampled_rank_intervals(board, ranks)
    counts = {suite: len(suite_ranks) for suite, suite_ranks in ranks.items()}
    return RankedSubset(cells, measures, standing, counts, noise)


def select_task_subset(
    board: Board, benchmark: str | None = None, domain: str | None = None, test: str | None = None
) -> TaskSubset:
    """Return the tasks of a benchmark, of a domain, or of a test of a benchmark; all tasks without
    arguments.

    Raises ``ValueError`` for an unknown selection.
    """
    if domain and (benchmark or test):
        raise ValueError("choose the cells of a domain, or those of a benchmark, not both")
    if test and not benchmark:
        raise ValueError(f"a test is one of a benchmark: name the benchmark of {test!r} as well")
    key = domain or (f"{benchmark}/{test}" if test else benchmark) or ALL_TASKS_KEY
    return _find_subset(key, task_subsets(board), "cells")


def select_measure_subset(
    board: Board, family: str | None = None, metrics: bool = False
) -> MeasureSubset:
    """Return the measures of a family, or the measures that are metrics; all measures without
    arguments.

    Raises ``ValueError`` for an unknown selection.
    """
    if family and metrics:
        raise ValueError("choose the measures of a family, or the metrics, not both")
    key = family or ("metrics" if metrics else ALL_TASKS_KEY)
    return _find_subset(key, measure_subsets(board), "measures")


def _find_subset(key: str, choices: Iterable[Chosen], kind: str) -> Chosen:
    by_key = {choice.key: choice for choice in choices}
    if key not in by_key:
        raise ValueError(f"the leaderboard has no {kind} {key!r}{did_you_mean(key, by_key)}")
    return by_key[key]
