"""The leaderboard: the answers of the benchmarks about the measures, question by question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from resemblance.base.formatting import count_with_noun
from resemblance.base.results import BaseResult
from resemblance.citations import CITATIONS_BY_NAME
from resemblance.report.terminal import plain_table, row_blocks
from resemblance.sections.result import Result

from .. import SUITES
from ..answer_tables import (
    MEASURES_NOTE,
    conclusion_of_answers,
    differences_sentence,
    largest_shortfall,
    measure_order,
    measure_records,
    missing_measures,
    networks_sentence,
    question_records,
    questions_table,
)
from ..answers import BASELINE, Answer, Interval, MeasureAnswer
from ..joint import combined_result
from ..reliability import LEAST_RELIABILITY
from .ranking import (
    ARCHITECTURES_PACK,
    ARCHITECTURES_SERIES,
    DEFAULT_PACK_SERIES,
    SHIPPED_ARCHITECTURES,
    Board,
    pack_series,
    read_board,
)
from .score_file import MeasureCard
from .subsets import (
    ALL_TASKS_KEY,
    MeasureSubset,
    TaskSubset,
    answers_of_subset,
    cpu_seconds_on_packs,
    select_measure_subset,
    select_task_subset,
)


class MissingAnswer(NamedTuple):
    """A measure without an answer to a question, and the reason."""

    measure: str
    question: str
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(BaseResult):
    """What the benchmarks answer about measures, returned by :func:`resemblance.leaderboard`.

    ``answers``: an answer per question. ``rows``: a record per measure. ``labels``: of the
    measures, by specification. ``seconds``: by specification, the CPU time on all packs. ``cells``
    and ``measures``: keys of the selected tasks and measures. ``packs``: by pack, the SHA-256 of
    its manifest. ``page``: the content of the page; None for a subset, where the page shows the
    records.
    """

    answers: tuple[Answer, ...]
    rows: tuple[Mapping[str, Any], ...]
    labels: Mapping[str, str]
    seconds: Mapping[str, float]
    cells: str
    measures: str
    packs: Mapping[str, str]
    caveats: tuple[str, ...] = ()
    page: Result | None = None

    @property
    def failures(self) -> tuple[MissingAnswer, ...]:
        """The measures without an answer to a question, and the reasons."""
        return tuple(
            MissingAnswer(spec, answer.question.name, reason)
            for answer in self.answers
            for spec, reason in answer.missing.items()
        )

    def summary(self) -> str:
        """Return which measures may be the best, a line per question."""
        return "\n".join((conclusion_of_answers(self.answers, self.labels), *self.caveats))

    def records(self) -> list[dict[str, Any]]:
        """Return a record per measure: scores, whether the measure may be the best and the
        difference from the baseline, by question; and declared properties."""
        return [dict(row) for row in self.rows]

    def _document(self) -> dict[str, Any]:
        return {
            "cells": self.cells,
            "measures": self.measures,
            "packs": dict(self.packs),
            "caveats": list(self.caveats),
            "questions": question_records(self.answers, self.labels),
            "missing": [missing._asdict() for missing in self.failures],
            "ranking": self.records(),
        }

    def _table_parts(self) -> list[Any]:
        questions = questions_table(self.answers, self.labels)
        parts = [*row_blocks(questions), questions.note]
        specs = [row["spec"] for row in self.rows]
        ranked = [answer for answer in self.answers if answer.has_intervals] or self.answers
        records = measure_records(ranked, self.labels, specs, seconds=self.seconds.get)
        if sentence := networks_sentence(self.answers, self.labels):
            parts.append(sentence)
        if records:
            header = tuple(records[0])
            cells = [[str(entry or "–") for entry in record.values()] for record in records]
            table = plain_table(header, cells, right=range(1, len(header)))
            parts += ["", table, "", MEASURES_NOTE]
        for (words, reason), names in missing_measures(self.answers, self.labels).items():
            parts.append(f"No answer to {words}: {', '.join(names)} ({reason}).")
        return [*parts, *self.caveats]

    def _page(self) -> Result | None:
        return self.page


def leaderboard(
    *files: str | Path,
    packs: str = DEFAULT_PACK_SERIES,
    baseline: str = BASELINE,
    unit: str = "seeds",
) -> Leaderboard:
    """Return the answers of the benchmarks about all measures, question by question.

    The tasks are fixed, and the models are random: an answer holds for other seeds of the same
    networks, or with ``unit="networks"`` for other networks. ``answers``: for
    every question the measures that may be the best, and the differences from the ``baseline`` with
    intervals that hold together. ``records()`` has a record per measure: ``spec``, ``label``,
    ``version``, ``family``; for every question, such as "layers", ``layers`` (the mean score),
    ``layers_may_be_best`` and ``layers_difference``, ``layers_low``, ``layers_high`` (from the
    baseline); ``largest_shortfall``: the largest distance from the best score of a question.
    ``own_suites``: suites from the paper of the measure. ``cpu_seconds``: on all packs. The
    remaining columns are the declared properties of the measure.

    ``files``: score files to add to the scores that ship with the library, such as the scores of
    your own measures, which :func:`resemblance.bench.ranking.write_scores` writes. ``packs``: the
    series of the packs: "compact" (three networks) for "resi-compact@1" and so on, or
    "architectures" for the ten networks of "resi-architectures@1".

    Raises ``ValueError`` for files of another kind, for scores that cannot be combined, for an
    unknown unit, and for a baseline without scores.
    """
    board = read_board(*files, packs=packs)
    return leaderboard_of_subset(
        board, select_task_subset(board), select_measure_subset(board), baseline, unit
    )


def leaderboard_of_subset(
    board: Board,
    tasks: TaskSubset,
    measures: MeasureSubset,
    baseline: str = BASELINE,
    unit: str = "seeds",
) -> Leaderboard:
    """Return the answers of the selected tasks of a leaderboard about the selected measures.
    ``baseline``: the specification of the measure to compare with. ``unit``: the random unit of the
    intervals, "seeds" or "networks"."""
    answers = answers_of_subset(board, tasks, measures, baseline, unit)
    specs = measure_order(answers, measures.specs)
    cards = [board.cards[spec] for spec in specs]
    is_whole = tasks.key == measures.key == ALL_TASKS_KEY
    notes = (
        own_suites_note(cards, board.labels),
        unranked_tasks_sentence(board, tasks),
        _ten_networks_sentence(board, baseline) if is_whole else "",
    )
    caveats = tuple(filter(None, notes))
    return Leaderboard(
        answers,
        tuple(_measure_record(board, answers, spec) for spec in specs),
        board.labels,
        {spec: cpu_seconds_on_packs(board, spec) for spec in board.cards},
        tasks.key,
        measures.key,
        {f.pack: f.manifest for by_measure in board.scores.values() for f in by_measure.values()},
        caveats,
        page_of_board(board, answers, remarks=caveats) if is_whole else None,
    )


def _ten_networks_sentence(board: Board, baseline: str) -> str:
    """Return which measures differ from the baseline on the pack of ten networks, with networks as
    the random unit, and how many networks each question has; "" for a leaderboard of
    other packs, or without scores of the baseline."""
    series = {pack_series(f.pack) for files in board.scores.values() for f in files.values()}
    if series != {DEFAULT_PACK_SERIES} or not SHIPPED_ARCHITECTURES.is_file():
        return ""
    other = read_board(packs=ARCHITECTURES_SERIES)
    if baseline not in other.cards:
        return ""
    subsets = select_task_subset(other), select_measure_subset(other)
    answers = answers_of_subset(other, *subsets, baseline, "networks")
    counts = ", ".join(f"{len(a.models)} for {a.question.name}" for a in answers)
    differences = differences_sentence(answers, other.labels)
    return (
        f"On {ARCHITECTURES_PACK}, with networks as the random unit ({counts}): "
        f"{differences[:1].lower()}{differences[1:]} All answers: resemblance leaderboard --packs "
        "architectures --unit networks."
    )


def page_of_board(
    board: Board,
    answers: tuple[Answer, ...],
    own: Mapping[str, str] = {},
    remarks: Iterable[str] = (),
) -> Result:
    """Return the page of a leaderboard with these answers. ``own``: by specification, the verdicts
    on the measures to mark as yours. ``remarks``: the caveats."""
    studies = list(board.results.values())
    return combined_result(studies, answers, board.labels, remarks=tuple(remarks), own=own)


def _measure_record(board: Board, answers: Iterable[Answer], spec: str) -> dict[str, Any]:
    card = board.cards[spec]
    record: dict[str, Any] = {"spec": spec, "label": board.labels[spec]}
    record |= {"version": card.version, "family": card.family}
    for answer in answers:
        record |= _answer_entries(answer.question.name, answer.of(spec))
    record["largest_shortfall"] = largest_shortfall(answers, spec)
    record["own_suites"] = ", ".join(own_suites(card))
    record["cpu_seconds"] = cpu_seconds_on_packs(board, spec)
    return record | {
        "larger_is_more_similar": card.larger_is_more_similar,
        "smallest": card.range[0],
        "largest": card.range[1],
        "symmetric": card.symmetric,
        "metric": card.metric,
        "differentiable": card.differentiable,
        "invariant_to": ", ".join(card.invariant_to),
        "citation": card.citation,
    }


def _answer_entries(question: str, line: MeasureAnswer | None) -> dict[str, Any]:
    interval = line.joint if line else None
    values = interval or Interval(*(None,) * 3)  # type: ignore[arg-type]
    return {
        question: line.score if line else None,
        f"{question}_may_be_best": line.may_be_best if line else None,
        f"{question}_difference": values.value,
        f"{question}_low": values.low,
        f"{question}_high": values.high,
    }


def unranked_tasks_sentence(board: Board, tasks: TaskSubset) -> str:
    """Return a sentence with the number of unranked tasks in the selection ``tasks``, and the
    reason; "" if all tasks are ranked."""
    count = sum(tasks.has(suite, *key) for suite, keys in board.unranked.items() for key in keys)
    if not count:
        return ""
    return (
        f"Not counted: {count_with_noun(count, 'task')} whose expected differences do not repeat "
        f"on other inputs (reliability below {LEAST_RELIABILITY})."
    )


def own_suites(card: MeasureCard) -> tuple[str, ...]:
    """Return the names of the suites from the paper of a measure, where the measure may have an
    advantage."""
    return tuple(suite for suite in SUITES if card.citation in CITATIONS_BY_NAME[suite])


def own_suites_note(cards: Iterable[MeasureCard], labels: Mapping[str, str]) -> str:
    """Return a sentence that lists the measures with a suite from their own paper; "" without such
    measures. ``labels``: by specification."""
    names = [
        f"{labels[card.spec]} ({', '.join(suites)})"
        for card in cards
        if (suites := own_suites(card))
    ]
    return f"A suite is from the measure's own paper: {', '.join(names)}." if names else ""
