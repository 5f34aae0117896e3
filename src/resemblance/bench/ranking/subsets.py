"""Subsets of a leaderboard: select tasks and measures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from resemblance.base.text import did_you_mean

from ..answers import BASELINE, Answer, answer_questions
from .ranking import Board
from .trivial import TRIVIAL_SPECS

ALL_TASKS_KEY = "all"
# A task belongs to a domain if its name contains the word.
MODEL_DOMAINS = ("vision", "language", "graphs")


class TaskSubset(NamedTuple):
    """A selection of tasks of a leaderboard. ``key``: the name of the selection. ``suites``: the
    names of the suites. ``domain``, ``test``: "" selects all domains, or all tests."""

    key: str
    suites: tuple[str, ...]
    domain: str = ""
    test: str = ""

    def has(self, suite: str, test: str, cell: str) -> bool:
        """Return whether the selection contains the task called ``cell``, of a test of a suite."""
        is_in_tests = suite in self.suites and self.test in ("", test)
        return is_in_tests and self.domain in ("", domain_of_task(cell))


class MeasureSubset(NamedTuple):
    """A selection of measures of a leaderboard: the name of the selection, and the specifications
    of the measures."""

    key: str
    specs: frozenset[str]


Chosen = TypeVar("Chosen", TaskSubset, MeasureSubset)


def domain_of_task(cell: str) -> str:
    """Return the domain of the models of a task, given its name ``cell``, such as "vision"; "" for
    a task without models."""
    words = set(re.split(r"[/, :]", cell))
    return next((domain for domain in MODEL_DOMAINS if domain in words), "")


def cpu_seconds_on_packs(board: Board, spec: str) -> float:
    """Return the CPU seconds of a measure, summed over the packs on which it has scores."""
    return sum(files[spec].seconds for files in board.scores.values() if spec in files)


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
            for suite, result in board.results.items()
            for test in dict.fromkeys(test for test, _ in result.scores())
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
    first; trivial measures are in none.

    A selection with fewer than two measures or with all measures is not offered again.
    """
    specs = frozenset(board.cards) - frozenset(TRIVIAL_SPECS)
    families: dict[str, set[str]] = {}
    for spec in sorted(specs):
        families.setdefault(board.cards[spec].family, set()).add(spec)
    metrics = frozenset(spec for spec in specs if board.cards[spec].metric)
    sets = [
        MeasureSubset("metrics", metrics),
        *(MeasureSubset(family, frozenset(families[family])) for family in sorted(families)),
    ]
    subsets = (s for s in sets if 1 < len(s.specs) < len(specs))
    return (MeasureSubset(ALL_TASKS_KEY, specs), *subsets)


# ------------------------------------------------------------------------------------------ subsets


def answers_of_subset(
    board: Board,
    tasks: TaskSubset,
    measures: MeasureSubset,
    baseline: str = BASELINE,
    unit: str = "seeds",
) -> tuple[Answer, ...]:
    """Return the answers of the selected tasks of a leaderboard about the selected measures, best
    measures first. ``baseline``: the specification of the measure to compare with."""
    return answer_questions(
        board.results.values(),
        baseline=baseline,
        unit=unit,
        among=measures.specs,
        trivial=TRIVIAL_SPECS,
        is_chosen=tasks.has,
    )


def select_task_subset(
    board: Board, benchmark: str | None = None, domain: str | None = None, test: str | None = None
) -> TaskSubset:
    """Return the tasks of a benchmark, of a domain, or of a test of a benchmark; all tasks without
    arguments.

    Raises ``ValueError`` for an unknown selection.
    """
    if domain and (benchmark or test):
        raise ValueError("choose the tasks of a domain or the tasks of a benchmark, not both")
    if test and not benchmark:
        raise ValueError(f"{test!r} is a test of a benchmark: name the benchmark as well")
    key = domain or (f"{benchmark}/{test}" if test else benchmark) or ALL_TASKS_KEY
    return _find_subset(key, task_subsets(board), "tasks")


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
